"""Offsets of members on a real broker: what is written, how often, and what is done with those that
cannot be right."""
import time

from lib.group import range_layout
from lib.members import Account
from lib.testing import both_modes, both_modes_long, long, timeout
from lib.waiting import wait_for

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "rebalance.backoff.ms": 1500}
TICK = {"tickTime": 500}
OFFSETS = "/consumers/g/offsets/"


def expect(what, seen, wanted):
    assert seen == wanted, "%s: %r, expected %r" % (what, seen, wanted)


class World:
    def __init__(self, t, partitions, **options):
        self.cluster = t.cluster(zookeeper_properties=TICK, **options)
        self.cluster.create_topic("t", partitions)
        self.partitions = partitions
        self.group = t.group(self.cluster, "g")
        self.producer = t.producer(self.cluster)
        self.proxy = t.zookeeper_proxy(self.cluster)
        self.members = t.our_members(self.cluster, "g")

    def join(self, name, **settings):
        self.members.open(name, {**SETTINGS, **settings}, zookeeper=self.proxy.listen(name))
        self.members.streams(name, t=1)
        self.members.wait_for_event("streams", name)

    def settled(self, *names):
        threads = ["g_%s-0" % name for name in names]
        self.group.wait_for_exact_owners("t", range_layout(self.partitions, threads))

    def writes(self, since=0):
        """[(member, operation, path)] below offsets."""
        return [(r["who"], r["op"], r["path"]) for r in self.proxy.requests(None, since)
                if r["op"] in ("create", "setData", "delete") and (r["path"] or "").startswith(OFFSETS)]

    def store(self, offset):
        for partition in range(self.partitions):
            self.group.set_offset("t", partition, offset)


# ---- F22: off means off ----

@both_modes
def test_no_commits_without_auto_commit(t):
    """Joining, sharing, being cut off until the session ends, joining again, leaving: not one write."""
    world = World(t, 4)
    off = {"auto.commit.enable": "false"}
    world.producer.send_numbered("t", 4, 10)
    world.join("a", **off)
    world.members.wait_for_messages(40, "a")
    world.join("b", **off)
    world.settled("a", "b")
    world.members.wait_for_messages(20, "b")  # nothing was committed: all over again
    world.proxy.hole("b")
    world.settled("a")
    world.proxy.heal("b")
    world.members.wait_for_report("b", "expired")
    world.settled("a", "b")
    for name in ("a", "b"):
        expect("close", world.members.close_wait(name)[0], "ZKC_OK")
    expect("writes of offsets", world.writes(), [])
    expect("stored offsets", world.group.offsets("t"), {})
    world.members.finish()


# ---- F23: no commit storm ----

def idle_partitions(t, seconds):
    world = World(t, 64)
    world.store(0)
    world.producer.send_numbered("t", 64, 1)
    world.join("a", **{"auto.commit.interval.ms": 100})
    world.settled("a")
    world.group.wait_for_offsets("t", {p: 1 for p in range(64)})  # all flow: nothing is left to look up
    mark = world.proxy.mark("idle")
    time.sleep(seconds)
    expect("writes of %d idle seconds" % seconds, world.writes(mark), [])
    # in safe the lease is probed, by transactions that change nothing
    said = [(one["op"], one["path"]) for r in world.proxy.requests("a", mark)
            for one in r["fields"].get("ops", [r])]
    expect("all requests of them", {op for op, _ in said}, t.by_mode(compat=set(), safe={"check"}))
    world.producer.send_numbered("t", 1, 1)
    world.group.wait_for_offsets("t", {p: 1 + (p == 0) for p in range(64)})
    expect("writes for one message", world.writes(mark), [("a", "setData", OFFSETS + "t/0")])
    world.members.finish()


@both_modes
def test_idle_partitions_write_nothing(t):
    idle_partitions(t, 3)


@both_modes
@long
@timeout(300)
def test_idle_partitions_write_nothing_for_a_minute(t):
    idle_partitions(t, 60)


@both_modes_long
def test_commits_on_request_write_what_changed(t):
    """More requests than messages: no offset is written twice, none is left out at the end."""
    world = World(t, 2)
    world.store(0)
    world.members.open("a", {**SETTINGS, "auto.commit.enable": "false"},
                       zookeeper=world.proxy.listen("a"))
    world.members.print_every("a", 0)
    world.members.streams("a", t=1)
    world.members.wait_for_event("streams", "a")
    mark = world.proxy.mark("messages")
    for number in range(10):
        world.producer.send_numbered("t", 2, 50, "m%d" % number)
        for _ in range(40):
            world.members.command("commit", "a")
    wait_for(lambda: len(world.members.events("committed", "a")) == 400, "all commits to be answered")
    expect("their results", set(map(tuple, world.members.events("committed", "a"))), {("ZKC_OK",)})
    wait_for(lambda: sum(n for n, _ in world.members.counts("a").values()) == 1000, "all messages")
    world.members.commit("a")
    expect("stored offsets", world.group.offsets("t"), {0: 500, 1: 500})
    written = [(r["path"], r["fields"]["data"]) for r in world.proxy.requests("a", mark, "setData")]
    assert len(written) == len(set(written)), "written twice: %r" % [
        one for one in written if written.count(one) > 1][:3]
    expect("creates", [r["path"] for r in world.proxy.requests("a", mark, "create")], [])
    world.members.finish()


# ---- F24: a broker restarts ----

@both_modes
def test_broker_restart_does_not_replay(t):
    world = World(t, 2)
    world.join("a", **{"auto.commit.enable": "false"})
    produced = world.producer.send_numbered("t", 2, 10)
    world.members.wait_for_messages(20)
    broker = world.cluster.brokers[0]
    for how in (broker.kill, broker.stop):
        how()
        world.cluster.restart_broker(0)
        world.cluster.wait_for_topic("t", 2)
        before = len(world.members.messages())
        produced |= world.producer.send_numbered("t", 2, 10)
        world.members.wait_for_messages(before + 20)
    Account(produced, world.members.messages()).check()
    expect("stored offsets", world.group.offsets("t"), {})
    world.members.finish()


# ---- F21, F25: where to start ----

@both_modes
def test_offset_zero_is_an_offset(t):
    world = World(t, 1)
    produced = world.producer.send_numbered("t", 1, 10)
    world.store(0)
    world.join("a", **{"auto.offset.reset": "largest"})
    Account(produced, world.members.wait_for_messages(10)).check()
    world.members.finish()


SEGMENT = {"segment.bytes": "512", "segment.index.bytes": "4096"}


def remove_first_segment(cluster, topic):
    """As retention does, but at once (the broker is down); the offset where the log begins now."""
    folder = next(cluster.brokers[0].folder.glob("logs/%s-0" % topic))
    first, second = sorted(int(file.stem) for file in folder.glob("*.log"))[:2]
    for file in folder.glob("%020d.*" % first):
        file.unlink()
    return second


@both_modes
def test_what_is_moved_back_is_committed_back(t):
    """An offset beyond the log's end (a topic that was made again) is reset, and a seek goes back: the
    offset in ZooKeeper follows, or the next owner would leave out what is written up to where it stood."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 1)
    producer = t.producer(cluster)
    producer.send_numbered("t", 1, 20)
    group = t.group(cluster, "g")
    group.set_offset("t", 0, 5000)
    settings = {**SETTINGS, "auto.commit.interval.ms": 100}
    a = t.our_members(cluster, "g", "a")
    a.open("a", settings)
    a.streams("a", t=1)
    wait_for(lambda: group.offsets("t") == {0: 20}, "the offset to follow the reset")
    a.take("a", 2)
    expect("seek", a.ask("seek", "a", "t", 0, 3)[-1], "ZKC_OK")
    wait_for(lambda: group.offsets("t")[0] in (4, 5, 6), "the offset to follow the seek")
    a.kill()
    wait_for(lambda: not group.members(), "the session's end", 30)
    stored = group.offsets("t")[0]
    producer.send_numbered("t", 1, 30)
    b = t.our_members(cluster, "g", "b")
    b.open("b", settings)
    b.streams("b", t=1)
    wait_for(lambda: len(b.messages("b")) >= 50 - stored, "all that was not committed")
    assert stored == min(m.offset for m in b.messages("b")), stored
    wait_for(lambda: group.offsets("t") == {0: 50}, "the offset at the end")
    expect("close", b.close_wait("b")[0], "ZKC_OK")
    b.finish()


@both_modes
def test_offset_out_of_range(t):
    """Above the end, as when a topic was made again, and below the start, as after retention; beside
    them a partition in order, which flows. One report each, one jump, and none with `error`."""
    topics = ("above", "below", "good")
    cluster = t.cluster(zookeeper_properties=TICK)
    for topic in topics:
        cluster.create_topic(topic, 1, config=SEGMENT)
    producer = t.producer(cluster)
    for topic in topics:
        for _ in range(5):
            producer.send_numbered(topic, 1, 10)
    cluster.brokers[0].stop()
    start = {topic: remove_first_segment(cluster, topic) for topic in topics}
    assert 0 < start["above"] < 50, start
    cluster.restart_broker(0)
    for topic in topics:
        cluster.wait_for_topic(topic, 1)
    producer = t.producer(cluster)
    stored = {"above": 1000, "below": 0, "good": 48}
    members = t.our_members(cluster, "g")

    def about(name, topic):
        """Warnings, and reports to the application, about offsets of this topic."""
        texts = [text for level, _, text in members.log_lines(name) if level <= 4]
        return [text for text in texts + members.reports(name)
                if "[%s,0]" % topic in text and "out of range" in text]

    for reset in ("smallest", "largest", "error"):
        group = t.group(cluster, "g-" + reset)
        for topic in topics:
            group.set_offset(topic, 0, stored[topic])
        members.open(reset, {**SETTINGS, "auto.offset.reset": reset, "auto.commit.enable": "false"},
                     group="g-" + reset)
        members.streams(reset, above=1, below=1, good=1)
        members.wait_for_event("streams", reset)
        for topic in ("above", "below"):
            text = wait_for(lambda r=reset, topic=topic: about(r, topic), "a warning about " + topic)[0]
            old, new = stored[topic], 50 if reset == "largest" else start[topic]
            assert " %d " % old in text, "the old position %d is not in: %s" % (old, text)
            assert reset == "error" or " %d " % new in text, "the new position %d is not in: %s" % (
                new, text)
    for topic in topics:
        producer.send_numbered(topic, 1, 5, "late")
    for reset, first in (("smallest", start), ("largest", {"above": 50, "below": 50}), ("error", None)):
        wanted = [("good", o) for o in range(48, 55)]
        if first:
            wanted += [(topic, o) for topic in ("above", "below") for o in range(first[topic], 55)]
        got = members.wait_for_messages(len(wanted), reset)
        expect("given with %s" % reset, sorted((m.topic, m.offset) for m in got), sorted(wanted))
        for topic in ("above", "below"):  # to the application only what stands still
            expect("told of %s with %s" % (topic, reset), len(about(reset, topic)),
                   2 if reset == "error" else 1)
        expect("reports with %s" % reset, len(members.reports(reset)), 2 if reset == "error" else 0)
        for topic in topics:
            expect("the stored offset of %s with %s" % (topic, reset),
                   t.group(cluster, "g-" + reset).offsets(topic), {0: stored[topic]})
    for topic in ("above", "below"):
        code, offset = members.position("error", topic, 0)
        expect("position with error", (code, offset), ("ZKC_OK", stored[topic]))
        expect("seek", members.ask("seek", "error", topic, 0, 53), ["ZKC_OK"])
    wait_for(lambda: len(members.messages("error")) == 7 + 4, "messages after the seek")
    members.finish()
