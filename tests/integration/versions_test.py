"""The library reads from every broker that has ZooKeeper: all codecs that the release has (newer
brokers convert what they store to the old message format), as a member of a group and from single
partitions; its commits are taken up by the next member."""
import concurrent.futures

from lib import versions
from lib.group import range_layout
from lib.producer import kcat_produce, kcat_read
from lib.testing import long
from lib.waiting import wait_for

PARTITIONS = 2
EACH = 400
LINE = b"%d " + b"all work and no play " * 8


def codecs(kafka):
    return ["none", "gzip", "snappy", *(["lz4"] if kafka.at_least(0, 8, 2) else [])]


def at_once(function, items):
    """kcat mostly waits."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(function, items))


class Version:
    def __init__(self, t, version):
        self.t = t
        self.cluster = t.cluster(version)
        self.topics = ["%s-topic" % codec for codec in codecs(versions.KAFKA[version])]
        self.next_line = 0
        for topic in self.topics:
            self.cluster.create_topic(topic, PARTITIONS)
        self.group = t.group(self.cluster, "g")
        self.members = t.our_members(self.cluster, "g")

    def produce(self):
        lines = [LINE % number for number in range(self.next_line, self.next_line + EACH)]
        self.next_line += EACH

        def to_partition(one):
            topic, partition = one
            codec = topic.split("-")[0]
            kcat_produce(self.cluster, topic, lines, partition, None if codec == "none" else codec)

        at_once(to_partition, [(topic, p) for topic in self.topics for p in range(PARTITIONS)])

    def check_codecs(self):
        """That the files are as small as compression makes them."""
        raw = PARTITIONS * EACH * len(LINE)
        for topic in self.topics:
            size = sum(file.stat().st_size
                       for file in self.cluster.folder.rglob("%s-[0-9]/*.log" % topic))
            if topic == "none-topic":
                assert size >= raw, "%s: %d bytes are stored of %d" % (topic, size, raw)
            else:
                assert 0 < size < raw / 2, "%s: %d bytes are stored of %d" % (topic, size, raw)

    def log(self):
        """{topic: {(partition, offset): value}} as librdkafka reads it."""
        rows = at_once(lambda topic: kcat_read(self.cluster, topic), self.topics)
        return {topic: {(p, o): value for p, o, value in of_topic}
                for topic, of_topic in zip(self.topics, rows)}

    def expect(self, name, log, first=0):
        """The member is given just what the log holds from offset `first` on, each partition in
        order."""
        wanted = {(topic, p, o): value for topic, rows in log.items()
                  for (p, o), value in rows.items() if o >= first}
        got = self.members.wait_for_messages(len(wanted), name)
        assert len(got) == len(wanted), "%s: %d messages, expected %d" % (name, len(got), len(wanted))
        seen = {(m.topic, m.partition, m.offset): m.value for m in got}
        wrong = [key for key in wanted if seen.get(key) != wanted[key]]
        assert not wrong, "%s: %r is %r, the log has %r" % (
            name, wrong[0], seen.get(wrong[0]), wanted[wrong[0]])
        for topic in log:
            for partition in range(PARTITIONS):
                offsets = [m.offset for m in got if (m.topic, m.partition) == (topic, partition)]
                assert offsets == list(range(first, first + len(offsets))), (name, topic, offsets[:9])

    def expect_offsets(self, offset):
        for topic in self.topics:
            seen = self.group.offsets(topic)
            wanted = {partition: offset for partition in range(PARTITIONS)}
            assert seen == wanted, "offsets of %s are %r, expected %r" % (topic, seen, wanted)


def reads_and_reads_on(t, version):
    world = Version(t, version)
    members = world.members
    topics = {topic: 1 for topic in world.topics}
    world.produce()
    world.check_codecs()
    log = world.log()
    sizes = {topic: len(rows) for topic, rows in log.items()}
    assert set(sizes.values()) == {PARTITIONS * EACH}, "messages in the topics: %r" % sizes

    members.open("a", {"auto.commit.enable": "false"})
    members.streams("a", **topics)
    world.expect("a", log)
    members.commit("a")
    world.expect_offsets(EACH)

    world.produce()
    log = world.log()
    members.open("b")  # joins beside a, which has all that is committed and perhaps more
    members.streams("b", **topics)
    for topic in world.topics:
        world.group.wait_for_exact_owners(topic, range_layout(PARTITIONS, ["g_a-0", "g_b-0"]))
    wanted = {(topic, 1, o): value for topic, rows in log.items()
              for (p, o), value in rows.items() if p == 1 and o >= EACH}
    got = members.wait_for_messages(len(wanted), "b")
    seen = {(m.topic, m.partition, m.offset): m.value for m in got}
    assert seen == wanted and len(got) == len(wanted), "b was given %d messages, expected %d; %r" % (
        len(got), len(wanted), sorted(set(seen) ^ set(wanted))[:5])
    members.close_wait("a")
    members.close_wait("b")

    # single partitions: from the beginning, from the middle of a compressed set, from the end
    single = [(topic, partition, "beginning")
              for topic in world.topics for partition in range(PARTITIONS)]
    members.open("c", {"group.id": ""})
    members.assign("c", *single)
    world.expect("c", log)
    assert world.group.members() == [], world.group.members()
    members.open("d", {"group.id": ""})
    members.assign("d", *((topic, partition, EACH - 7) for topic, partition, _ in single))
    world.expect("d", log, EACH - 7)
    members.open("e", {"group.id": ""})
    members.assign("e", *((topic, partition, "end") for topic, partition, _ in single))
    wait_for(lambda: all(members.position("e", topic, partition) == ("ZKC_OK", 2 * EACH)
                         for topic, partition, _ in single), "e to know the ends")
    world.produce()
    log = world.log()
    world.expect("e", log, 2 * EACH)
    world.members.finish()


def test_0_8_1_1(t):
    reads_and_reads_on(t, "0.8.1.1")


def test_0_8_2_2(t):
    reads_and_reads_on(t, "0.8.2.2")


def test_0_9_0_1(t):
    reads_and_reads_on(t, "0.9.0.1")


def test_1_1_1(t):
    reads_and_reads_on(t, "1.1.1")


def test_3_9_2(t):
    reads_and_reads_on(t, "3.9.2")


@long
def test_0_8_0(t):
    reads_and_reads_on(t, "0.8.0")


@long
def test_0_10_2_2(t):
    reads_and_reads_on(t, "0.10.2.2")


@long
def test_2_8_2(t):
    reads_and_reads_on(t, "2.8.2")
