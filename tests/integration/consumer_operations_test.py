"""The ZooKeeper operations of our members are, member by member and change by change, as many as those
of Kafka 0.8.2.2's (tests/vectors/zookeeper/counts.jsonl: reads, writes, watches set, events, for
joins and leaves of groups of 1 to 10; topics of 12 and 4 partitions on two brokers, nothing to commit,
no conflict)."""
import json
import pathlib

from lib.group import range_layout
from lib.testing import long, timeout
from lib.waiting import wait_for

VECTORS = pathlib.Path(__file__).resolve().parents[1] / "vectors" / "zookeeper" / "counts.jsonl"
KINDS = ("reads", "writes", "watches", "events")
TOPIC_T = "/brokers/topics/t"


def recorded():
    """{(what, n): {name: (reads, writes, watches, events)}}"""
    rows = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    return {(row["what"], row["n"]): {name.replace("m", "c"): tuple(counts)
                                      for name, counts in row["members"].items()} for row in rows}


class Counted:
    """A group whose members are all behind the recording proxy."""

    def __init__(self, t):
        self.cluster = t.cluster(brokers=2)
        self.cluster.create_topic("t", 12, 2)
        self.cluster.create_topic("u", 4, 2)
        self.proxy = t.zookeeper_proxy(self.cluster)
        self.group = t.group(self.cluster, "g")
        self.members = t.our_members(self.cluster, "g")
        self.there = []
        self.mark = 0

    def start(self, name):
        self.members.open(name, {"auto.commit.interval.ms": 60000}, zookeeper=self.proxy.listen(name))
        self.members.streams(name, t=1, u=1)

    def prepare(self):
        """Makes the paths and stores offsets, as members did before the recording: else the first
        change commits where the partitions begin."""
        self.start("c0")
        self.members.wait_for_event("streams", "c0")

        def all_stored():
            self.members.commit("c0")
            return len(self.group.offsets("t")) == 12 and len(self.group.offsets("u")) == 4

        wait_for(all_stored, "offsets of all partitions to be stored")
        self.members.close_wait("c0")

    def change(self, act, name, there):
        """Carries out a join or leave so that nobody meets a conflict: each member of `there` is held
        after it has released its partitions (it reads the topic next) until all have."""
        self.mark = self.proxy.mark("%s %s" % (act.__name__, name))
        reached = {one: self.proxy.hold(one, "getData", TOPIC_T) for one in there}
        act(name)
        for one, event in reached.items():
            assert event.wait(30), "%s did not rebalance within 30 s" % one
        for one in reached:
            self.proxy.go(one)
        self.there = there
        threads = ["g_%s-0" % one for one in there]
        for topic, partitions in (("t", 12), ("u", 4)):
            self.group.wait_for_exact_owners(topic, range_layout(partitions, threads) if there else {})

    def counts(self, names, since):
        return {name: tuple(self.proxy.counts(name, since)[kind] for kind in KINDS) for name in names}

    def expect(self, wanted):
        def as_recorded():
            seen = self.counts(wanted, self.mark)
            assert seen == wanted, "(reads, writes, watches, events) %r" % {
                name: seen[name] for name in wanted if seen[name] != wanted[name]}
            return True

        differing = "the recorded counts %r" % wanted
        wait_for(as_recorded, differing, 15)


def joins_and_leaves(t, most):
    counted, table = Counted(t), recorded()
    counted.prepare()
    begin, total = counted.proxy.mark("begin"), {}
    for what in ("join", "leave"):
        for n in range(1, most + 1) if what == "join" else range(most, 0, -1):
            name, others = "c%d" % n, ["c%d" % k for k in range(1, n)]
            act = counted.start if what == "join" else counted.members.close_wait
            counted.change(act, name, others + [name] if what == "join" else others)
            wanted = table[what, n]
            counted.expect(wanted)
            for one, numbers in wanted.items():
                total[one] = tuple(a + b for a, b in zip(total.get(one, (0, 0, 0, 0)), numbers))
    seen = counted.counts(total, begin)
    assert seen == total, "after all, operations more than recorded: %r instead of %r" % (seen, total)
    counted.members.finish()


def test_as_many_as_java_members_up_to_5(t):
    joins_and_leaves(t, 5)


@long
@timeout(600)
def test_as_many_as_java_members_up_to_10(t):
    joins_and_leaves(t, 10)
