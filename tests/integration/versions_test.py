"""The library reads from every broker that has ZooKeeper: all codecs that the release has (newer
brokers convert what they store to the old message format), as a member of a group and from single
partitions; its commits are taken up by the next member. And Kafka's own members of those releases that
had them, beside ours in one group."""
import concurrent.futures

from lib import versions
from lib.group import range_layout
from lib.members import Account
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


# ---- members of the release ----

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "rebalance.backoff.ms": 1000,
            "auto.commit.interval.ms": 200}


class Beside:
    """A group of Kafka's members of this release (one JVM) and ours, on brokers of this release."""

    def __init__(self, t, version):
        self.cluster = t.cluster(version, zookeeper_properties={"tickTime": 500})
        self.cluster.create_topic("t", 4)
        self.group = t.group(self.cluster, "g")
        self.java = t.java_members(self.cluster, "g", version)
        self.ours = t.our_members(self.cluster, "g")
        self.written = set()

    def produce(self):
        for partition in range(4):
            first = sum(p == partition for p, _ in self.written)
            kcat_produce(self.cluster, "t", [b"%d" % n for n in range(25)], partition)
            self.written |= {(partition, first + n) for n in range(25)}

    def delivered(self):
        return [m for m in [*self.java.messages(), *self.ours.messages()] if m.topic == "t"]

    def flows(self, *names):
        """Each partition is owned as range gives it, by sessions of those that say so, and what is
        written comes to somebody, once."""
        self.group.wait_for_exact_owners("t", range_layout(4, ["g_%s-0" % name for name in names]))
        self.produce()
        wait_for(lambda: self.written <= {(m.partition, m.offset) for m in self.delivered()},
                 "all messages at %r" % (names,))
        self.group.wait_for_offsets("t", {p: len(self.written) // 4 for p in range(4)})
        Account(self.written, self.delivered()).check()

    def join_ours(self, name, properties=None):
        self.ours.open(name, {**SETTINGS, **(properties or {})})
        self.ours.streams(name, t=1)


def beside_members_of(t, version):
    """Each side reads the other's registrations, gives and takes by its owner nodes, and goes on at
    its offsets."""
    world = Beside(t, version)
    world.java.join("a", "t", properties=SETTINGS)
    world.flows("a")
    world.join_ours("b")
    world.flows("a", "b")
    world.java.close_wait("a")
    world.flows("b")
    world.java.open("c", SETTINGS)
    world.java.filter("c", "white_list", 1, "t|u")
    world.flows("b", "c")
    world.ours.close_wait("b")
    world.flows("c")
    return world


def no_offsets_in_kafka(world):
    """Its brokers close the connection on the question for the offset manager: who has offsets.storage=kafka
    waits for one before it joins, as 0.8.2's members do, and says so."""
    world.ours.open("d", {**SETTINGS, "offsets.storage": "kafka", "log.level": 6}, group="h")
    world.ours.streams("d", t=1)

    wait_for(lambda: sum("Failed to fetch consumer metadata from" in text
                         for _, _, text in world.ours.log_lines("d")) >= 3,
             "three questions for the offset manager", 30)
    assert world.ours.events("streams", "d") == [], "it has joined"
    world.ours.close("d")  # and its wait for the first rebalance ends with an error
    wait_for(lambda: world.ours.events("closed", "d"), "the end of d")
    world.ours.finish()


@long
def test_members_of_0_8_0(t):
    no_offsets_in_kafka(beside_members_of(t, "0.8.0"))


def test_members_of_0_8_1_1(t):
    no_offsets_in_kafka(beside_members_of(t, "0.8.1.1"))


def test_members_of_0_9_0_1(t):
    """KAFKA-1387: 0.9's registration is told by its session, so one of another session is an error at
    once; ours waits for it to go, as 0.8.2's."""
    world = beside_members_of(t, "0.9.0.1")
    world.java.open("twin", {**SETTINGS, "consumer.id": "c"})
    world.java.streams("twin", t=1)
    error = wait_for(lambda: world.java.events("error", "twin"), "an error of the namesake")[0]
    assert "NodeExists" in " ".join(error), error
    world.join_ours("c")
    wait_for(lambda: any("g_c" in text and "ids" in text for _, _, text in world.ours.log_lines("c")),
             "our namesake to say that it waits")
    assert world.ours.events("streams", "c") == [], "it has joined under an id that is taken"
    session = world.group.member_session("g_c")
    world.flows("c")
    world.java.close_wait("c")
    world.ours.wait_for_event("streams", "c")
    assert world.group.member_session("g_c") != session
    world.flows("c")
    world.ours.close_wait("c")
    world.ours.finish()
