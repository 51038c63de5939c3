"""The simple consumer on real Kafka: single partitions in no group, leaders that move, offsets by time
of old and new brokers."""
import time

from lib import versions
from lib.broker import FAST_FAILOVER
from lib.waiting import wait_for

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "auto.commit.enable": "false"}
TICK = {"tickTime": 500}


def taken(members, name):
    return [(m.partition, m.offset) for m in members.messages(name)]


def test_leader_change(t):
    """Two partitions on two replicas each, read from explicit offsets: the leader of one is killed,
    and comes back as a follower, the other one is stopped; each time the new leader is found, nothing
    is lost and nothing read twice; no group is made."""
    cluster = t.cluster(brokers=2, zookeeper_properties=TICK, properties=FAST_FAILOVER)
    cluster.require_failover()
    cluster.create_topic("t", 2, 2)
    producer = t.producer(cluster)
    producer.send_numbered("t", 2, 20)
    ours = t.our_members(cluster, "g")
    ours.open("s", SETTINGS)
    ours.assign("s", ("t", 0, 5), ("t", 1, "beginning"))
    ours.wait_for_messages(35, "s")
    ended = {0: 20, 1: 20}
    for dead, ending in ((0, "kill"), (1, "stop")):
        getattr(cluster.brokers[dead], ending)()
        for partition in range(2):
            cluster.wait_for_leader("t", partition, 1 - dead)
        t.producer(cluster).send_numbered("t", 2, 10)
        for partition in range(2):
            ended[partition] += 10
        wait_for(lambda: len(taken(ours, "s")) >= sum(ended.values()) - 5,
                 "what was written after broker %d went" % dead, 60)
        assert ours.ask("at", "s", "t", 1, "end")[:2] == ["ZKC_OK", str(ended[1])]
        cluster.restart_broker(dead)
        wait_for(lambda: all(len(_isr(cluster, p)) == 2 for p in range(2)), "both replicas in sync", 60)
    expected = [(0, o) for o in range(5, ended[0])] + [(1, o) for o in range(ended[1])]
    assert sorted(taken(ours, "s")) == expected, "%d messages" % len(taken(ours, "s"))
    for partition in range(2):
        offsets = [o for p, o in taken(ours, "s") if p == partition]
        assert offsets == sorted(offsets), offsets
    assert not cluster.zk.exists("/consumers/g"), cluster.zk.get_children("/consumers/g")
    ours.finish()


def _isr(cluster, partition):
    from lib import topics
    return topics.state(cluster.zk, "t", partition)["isr"]


def offsets_by_time(t, version, exact):
    """Segments of a few messages each: beginning, end, the past, the future, and a moment between."""
    cluster = t.cluster(kafka=version, zookeeper_properties=TICK)
    cluster.create_topic("t", 1, config={"segment.bytes": "100"})
    producer = t.producer(cluster)
    for _ in range(10):  # a set is never cut by the end of a segment
        producer.send_numbered("t", 1, 2)
    time.sleep(1.2)  # mtimes of segments are whole seconds in some file systems' eyes
    between = int(time.time() * 1000)
    time.sleep(1.2)
    for _ in range(10):
        producer.send_numbered("t", 1, 2)
    ours = t.our_members(cluster, "g")
    ours.open("s", SETTINGS)
    ours.assign("s", ("t", 0, "end"))
    ours.wait_for_event("streams", "s")
    code, *starts = ours.ask("before", "s", "t", 0, "end", 64)
    starts = [int(start) for start in starts]
    assert code == "ZKC_OK" and starts[0] == 40 and starts[-1] == 0, (code, starts)
    assert starts == sorted(starts, reverse=True) and len(starts) > 3, starts
    assert ours.ask("before", "s", "t", 0, "end", 1) == ["ZKC_OK", "40"]
    assert ours.ask("before", "s", "t", 0, "beginning", 9) == ["ZKC_OK", "0"]
    assert ours.ask("before", "s", "t", 0, 1000, 9) == ["ZKC_OK"], "older than everything"
    code, *older = ours.ask("before", "s", "t", 0, between, 64)
    assert code == "ZKC_OK" and older and 0 < int(older[0]) <= 20, (code, older)
    kind = "exact" if exact else "segment"
    code, offset, seen_kind = ours.ask("at", "s", "t", 0, between)
    assert (code, seen_kind) == ("ZKC_OK", kind), (code, seen_kind)
    assert int(offset) == (20 if exact else int(older[0])), offset
    if exact:
        future = between + 3600000
        assert ours.ask("at", "s", "t", 0, future) == ["ZKC_OK", "-1", "exact"]
    assert ours.ask("at", "s", "t", 7, "end")[0] == "ZKC_ERR_NOT_OWNED"
    assert ours.ask("at", "s", "t", 0, -3)[0] == "ZKC_ERR_INVALID"
    ours.finish()


def test_offsets_by_time_of_segments(t):
    offsets_by_time(t, versions.LEGACY, exact=False)


def test_offsets_by_time_of_messages(t):
    offsets_by_time(t, "1.1.1", exact=True)
