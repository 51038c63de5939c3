"""Our members and Kafka 0.8.2.2's in one group, on a real cluster of two brokers with a replicated
topic, while messages are written all the time. At each settled point the layout is exactly Kafka's
range, every claim is of the session of the member it names; at the end nothing is lost, and what was
delivered twice is explained by the record of what each member said to ZooKeeper (lib/ledger.py)."""
from lib.broker import FAST_FAILOVER
from lib.group import range_layout
from lib.ledger import Ledger, Traffic
from lib.testing import timeout
from lib.waiting import wait_for

# Members read and write, and are noticed to be dead, faster than with the defaults.
SETTINGS = {"zookeeper.session.timeout.ms": 3000, "rebalance.backoff.ms": 1000,
            "auto.commit.interval.ms": 500}
TICK = {"tickTime": 500}


class World:
    """A cluster, its traffic, and members that each go through a recorded link."""

    def __init__(self, t, partitions, zookeeper="3.8", **options):
        self.t = t
        self.cluster = t.cluster(brokers=2, zookeeper=zookeeper, zookeeper_properties=TICK, **options)
        self.cluster.create_topic("t", partitions, 2)
        self.partitions = partitions
        self.group = t.group(self.cluster, "g")
        self.proxy = t.zookeeper_proxy(self.cluster)
        self.ledger = Ledger(self.proxy, "g", "t")
        self.traffic = Traffic(self.cluster, "t")
        t.defer(self.traffic.close)
        self.there = {}  # name -> its runner

    def java(self, name, jvm=None):
        """A Java member, in a JVM of its own unless one is given; the JVM."""
        jvm = jvm or self.t.java_members(self.cluster, "g", name="java-%s" % name)
        return self._join(name, jvm)

    def ours(self, name, process=None):
        return self._join(name, process or self.t.our_members(self.cluster, "g", name="ours-%s" % name))

    def program(self, name):
        """zkconsumer consume."""
        consumer = self.t.zkconsumer(self.cluster, name, "g", "t", SETTINGS,
                                     zookeeper=self.proxy.listen(name))
        self._there(name, consumer)
        return consumer

    def _join(self, name, runner):
        runner.open(name, SETTINGS, zookeeper=self.proxy.listen(name))
        runner.streams(name, t=1)
        self._there(name, runner)
        return runner

    def _there(self, name, runner):
        self.ledger.member(name, runner, name)
        self.there[name] = runner
        self.settled()

    def settled(self):
        """Waits until each partition is owned as range gives it, by the session of its member, and
        everybody delivers."""
        threads = ["g_%s-0" % name for name in self.there]
        layout = range_layout(self.partitions, threads)
        self.group.wait_for_exact_owners("t", layout)
        assert self.group.members() == sorted("g_%s" % name for name in self.there)
        counts = {name: self._count(name) for name in self.there}
        wait_for(lambda: all(self._count(name) > counts[name] for name in self.there
                             if "g_%s-0" % name in layout.values()),
                 "messages at each of %s" % sorted(self.there), 60)

    def _count(self, name):
        return len(self.ledger.deliveries(name))

    def leave(self, name):
        self._leave(name)
        self.settled()

    def _leave(self, name):
        runner = self.there.pop(name)
        if hasattr(runner, "leave"):
            status = runner.leave()
            assert status == 0, "%s ended with %d" % (name, status)
        else:
            runner.close_wait(name)
            self.ledger.shut_down(name)

    def kill(self, name):
        """kill -9 of the process, of which nothing else is a member."""
        self.there.pop(name).kill()
        self.ledger.killed(name)
        self.settled()

    def end(self):
        """Everything is delivered, everybody leaves; the account."""
        written = self.traffic.stop()
        wait_for(lambda: set(written) <= self.ledger.delivered(), "the last messages to be delivered")
        while self.there:
            self._leave(sorted(self.there)[0])
        wait_for(lambda: not self.group.members(), "the last member to be gone")
        report = self.ledger.check(self.cluster, written)
        print(report)
        return report


def join_and_leave(t, zookeeper):
    world = World(t, 6, zookeeper)
    world.java("c2")
    world.ours("c1")             # ours beside Java's, before it in the order
    jvm = world.java("c4")          # Java's beside ours
    ours = world.ours("c3")         # in the middle
    world.java("c5", jvm)
    world.cluster.add_partitions("t", 9)
    world.partitions = 9
    world.settled()
    world.leave("c1")
    world.leave("c4")
    world.leave("c3")
    report = world.end()
    assert not report.duplicates["crash"], report
    ours.finish()


def test_join_and_leave_on_zookeeper_3_8(t):
    join_and_leave(t, "3.8")


def test_join_and_leave_on_zookeeper_3_4(t):
    join_and_leave(t, "3.4")
