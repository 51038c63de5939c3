"""Our members and Kafka 0.8.2.2's in one group, on a real cluster of two brokers with a replicated
topic, while messages are written all the time. At each settled point the layout is exactly Kafka's
range, every claim is of the session of the member it names; at the end nothing is lost, and what was
delivered twice is explained by the record of what each member said to ZooKeeper (lib/ledger.py)."""
from lib.broker import FAST_FAILOVER
from lib.group import range_layout
from lib.ledger import Ledger, Traffic
from lib.members import ZkConsumer
from lib.our_members import OurMembers
from lib.testing import long
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
        self.proxy = self.make_proxy()
        self.ledger = Ledger(self.proxy, "g", "t")
        self.traffic = Traffic(self.cluster, "t")
        t.defer(self.traffic.close)
        self.there = {}  # name -> its runner

    def make_proxy(self):
        return self.t.zookeeper_proxy(self.cluster)

    def java(self, name, jvm=None, **how):
        """A Java member, in a JVM of its own unless one is given; the JVM."""
        jvm = jvm or self.t.java_members(self.cluster, "g", name="java-%s" % name)
        return self._join(name, jvm, **how)

    def ours(self, name, **how):
        return self._join(name, self.t.our_members(self.cluster, "g", name="ours-%s" % name), **how)

    def program(self, name, properties=None, **how):
        """zkconsumer consume."""
        consumer = self.t.zkconsumer(self.cluster, name, "g", "t", {**SETTINGS, **(properties or {})},
                                     zookeeper=self.proxy.listen(name))
        self._there(name, consumer, **how)
        return consumer

    def _join(self, name, runner, properties=None, **how):
        runner.open(name, {**SETTINGS, **(properties or {})}, zookeeper=self.proxy.listen(name))
        runner.streams(name, t=1)
        self._there(name, runner, **how)
        return runner

    def _there(self, name, runner, wait=True, begins=None):
        self.ledger.member(name, runner, name, begins)
        self.there[name] = runner
        if wait:
            self.settled()

    def settled(self):
        """Waits until each partition is owned as range gives it, by the session of its member, and
        everybody delivers."""
        threads = ["g_%s-0" % name for name in self.there]
        layout = range_layout(self.partitions, threads)
        self.group.wait_for_exact_owners("t", layout)
        members = sorted("g_%s" % name for name in self.there)  # who owns nothing may come after that
        wait_for(lambda: self.group.members() == members, "the members %r" % members)
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
        if isinstance(runner, ZkConsumer):
            status = runner.leave()
            assert status == 0, "%s ended with %d:\n%s" % (name, status, runner.status_text()[-4000:])
        elif isinstance(runner, OurMembers):
            code, _ = runner.close_wait(name)
            assert code == "ZKC_OK", "close of %s: %s" % (name, code)
            runner.finish()
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
        report = self.account(written)
        print(report)
        return report

    def account(self, written):
        return self.ledger.check(self.cluster, written)


def join_and_leave(t, zookeeper):
    world = World(t, 6, zookeeper)
    world.java("c2")
    world.program("c1")           # ours beside Java's, before it in the order
    jvm = world.java("c4")          # Java's beside ours
    world.ours("c3")                # in the middle
    world.java("c5", jvm)
    world.cluster.add_partitions("t", 9)
    world.partitions = 9
    world.settled()
    world.leave("c1")
    world.leave("c4")
    world.leave("c3")
    report = world.end()
    assert not report.duplicates["crash"], report


def test_join_and_leave_on_zookeeper_3_8(t):
    join_and_leave(t, "3.8")


def test_join_and_leave_on_zookeeper_3_4(t):
    join_and_leave(t, "3.4")


def crashes(t, zookeeper):
    world = World(t, 7, zookeeper)
    world.java("c2")
    world.ours("c4")
    world.java("c1")
    world.ours("c3")
    world.kill("c1")
    world.kill("c3")
    world.program("c5")
    world.kill("c2")  # nobody but ours is left
    world.java("c6")
    world.kill("c5")
    world.kill("c4")  # nobody but Java's is left
    report = world.end()
    assert report.duplicates["crash"] < report.delivered / 2, report


def test_crashes_on_zookeeper_3_8(t):
    crashes(t, "3.8")


@long
def test_crashes_on_zookeeper_3_4(t):
    crashes(t, "3.4")


def stale_offset(t, owner, heir):
    """The race of 3.3, made to happen (golden stale-offset): the heir reads its offset, then the owner
    commits and releases, then the heir claims. Delivered twice is just what lies between."""
    world = World(t, 2)
    rarely = {"auto.commit.interval.ms": 60000}
    owner(world, "c1", properties=rarely)
    wait_for_progress(world)  # in both: there is something to commit
    commits = world.proxy.hold("c1", None, "/consumers/g/offsets/t/0")
    claims = world.proxy.hold("c2", "create", "/consumers/g/owners/t/1")
    heir(world, "c2", properties=rarely, wait=False)
    assert commits.wait(30), "c1 did not commit within 30 s of the join"
    assert claims.wait(30), "c2 did not claim within 30 s"
    world.proxy.go("c1")
    world.group.wait_for_exact_owners("t", {0: "g_c1-0"})
    committed = world.group.offsets("t")[1]
    world.proxy.go("c2")
    world.settled()
    report = world.end()
    assert report.duplicates["stale"] == committed > 0, "%s; committed were %d" % (report, committed)
    assert set(+report.duplicates) <= {"stale", "chunk"}, report


def test_stale_offset_of_our_heir(t):
    stale_offset(t, World.java, World.ours)


def test_stale_offset_of_their_heir(t):
    stale_offset(t, World.ours, World.java)


def wait_for_progress(world):
    """Until each partition has delivered something that was written from now on."""
    ends = {}
    for partition, offset in world.ledger.delivered():
        ends[partition] = max(offset, ends.get(partition, -1))

    def seen():
        now = {}
        for partition, offset in world.ledger.delivered():
            now[partition] = max(offset, now.get(partition, -1))
        standing = [p for p in range(world.partitions) if now.get(p, -1) <= ends.get(p, -1) + 5]
        assert not standing, "partitions %r stand still" % standing
        return True

    wait_for(seen, "every partition to go on", 60)


def test_broker_killed_and_back(t):
    """Leaders move there and back; in a group of 0.8 that is nobody's rebalance (golden
    broker-added-removed)."""
    world = World(t, 6, properties=FAST_FAILOVER)
    world.cluster.require_failover()
    world.java("c1")
    world.ours("c2")
    cluster, mark = world.cluster, world.proxy.mark("the broker goes")
    led = {p: cluster.leader("t", p) for p in range(6)}
    assert sorted(led.values()) == [0, 0, 0, 1, 1, 1], led
    cluster.brokers[0].kill()
    for partition in range(6):
        cluster.wait_for_leader("t", partition, 1)
    wait_for_progress(world)
    cluster.restart_broker(0)
    cluster.elect_preferred_leaders("t")
    for partition, broker in led.items():
        cluster.wait_for_leader("t", partition, broker)
    wait_for_progress(world)
    cluster.brokers[1].stop()
    for partition in range(6):
        cluster.wait_for_leader("t", partition, 0)
    wait_for_progress(world)
    for member in ("c1", "c2"):
        claims = [r for r in world.proxy.requests(member, mark) if "/owners/" in (r["path"] or "")]
        assert not claims, "%s rebalanced: %r" % (member, claims)
    cluster.restart_broker(1)  # so that the account finds it
    report = world.end()
    assert not +report.duplicates, report


def test_thread_order(t):
    """Threads are sorted by their whole ids: those of h1 and of h1-2 interleave (4.4, R10)."""
    world = World(t, 7)
    world.cluster.create_topic("u", 3, 2)
    java = t.java_members(world.cluster, "g")
    java.open("h1", SETTINGS)
    java.streams("h1", t=11, u=1)
    ours = t.our_members(world.cluster, "g")
    ours.open("h1-1", SETTINGS)
    ours.streams("h1-1", t=3, u=2)
    threads = ["g_h1-%d" % n for n in range(11)] + ["g_h1-1-%d" % n for n in range(3)]
    world.group.wait_for_exact_owners("t", range_layout(7, threads))
    world.group.wait_for_exact_owners("u", range_layout(3, ["g_h1-0", "g_h1-1-0", "g_h1-1-1"]))
    owners = world.group.owners("t")
    assert [owners[p] for p in (1, 2, 5, 6)] == ["g_h1-1", "g_h1-1-0", "g_h1-10", "g_h1-2"], owners
    java.close_wait("h1")
    world.group.wait_for_exact_owners("t", range_layout(7, threads[11:]))
    wait_for(lambda: {m.partition for m in ours.messages() if m.topic == "t"} == set(range(7)),
             "messages of every partition")
    world.traffic.stop()
    ours.finish()


def test_offsets_are_taken_over(t):
    """Without timer commits: each begins exactly where the other's explicit commit says."""
    cluster = t.cluster(brokers=2, zookeeper_properties=TICK)
    cluster.create_topic("t", 1, 2)
    group = t.group(cluster, "g")
    producer = t.producer(cluster)
    settings = {**SETTINGS, "auto.commit.enable": "false"}
    ours, java = t.our_members(cluster, "g"), t.java_members(cluster, "g")

    def offsets(messages):
        return [message.offset for message in messages]

    producer.send_numbered("t", 1, 30)
    ours.open("o1", settings)
    ours.take("o1", 12)
    ours.streams("o1", t=1)
    ours.wait_for_messages(12, "o1")
    ours.commit("o1")
    ours.take("o1", 3)  # and these are not committed
    ours.wait_for_messages(15, "o1")
    ours.close_wait("o1")
    assert group.offsets("t") == {0: 12}, group.offsets("t")
    java.join("j1", "t", properties=settings)
    java.wait_for_messages(18, "j1")
    assert offsets(java.messages("j1")) == list(range(12, 30)), offsets(java.messages("j1"))
    java.commit("j1")
    java.close_wait("j1")
    assert group.offsets("t") == {0: 30}, group.offsets("t")
    producer.send_numbered("t", 1, 10)
    ours.open("o2", settings)
    ours.take("o2", 4)
    ours.streams("o2", t=1)
    ours.wait_for_messages(4, "o2")
    ours.commit("o2")
    java.open("j2", settings)  # while o2 is there: the first thread gets the partition
    java.streams("j2", t=1)
    group.wait_for_exact_owners("t", {0: "g_j2-0"})
    java.wait_for_messages(6, "j2")
    assert offsets(ours.messages("o2")) == [30, 31, 32, 33], ours.messages("o2")
    assert offsets(java.messages("j2")) == list(range(34, 40)), offsets(java.messages("j2"))
    ours.finish()
