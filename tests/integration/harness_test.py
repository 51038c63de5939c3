"""The harness itself: a test that stands on it must be able to trust it."""
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError

from lib import topics
from lib.broker import FAST_FAILOVER
from lib.group import range_layout
from lib.members import Account, Message
from lib.testing import quick
from lib.waiting import wait_for


def client(t, address):
    zk = KazooClient(address, timeout=4)
    zk.start(30)
    t.defer(zk.close)
    t.defer(zk.stop)
    return zk


@quick
def test_zookeeper_keeps_its_data(t):
    server = t.zookeeper()
    zk = client(t, server.address)
    zk.create("/a", b"1")
    server.kill()
    server.start()
    assert client(t, server.address).get("/a")[0] == b"1"


@quick
def test_proxy_records_and_counts(t):
    proxy = t.zookeeper_proxy(t.zookeeper())
    zk = client(t, proxy.listen("m1"))
    start = proxy.mark("start")
    seen = threading.Event()
    zk.exists("/a", watch=lambda event: seen.set())
    zk.create("/a", b"text")
    assert seen.wait(10)
    zk.get("/a")
    assert zk.get_children("/a") == []
    zk.set("/a", b"\xff")
    zk.delete("/a")
    ops = [(r["op"], r["path"]) for r in proxy.requests("m1", start)]
    assert ops == [("exists", "/a"), ("create", "/a"), ("getData", "/a"), ("getChildren", "/a"),
                   ("setData", "/a"), ("delete", "/a")], ops
    assert proxy.counts("m1", start) == {"reads": 3, "writes": 3, "watches": 1, "events": 1}
    assert proxy.counts("m2", start) == {"reads": 0, "writes": 0, "watches": 0, "events": 0}
    create = proxy.requests("m1", start, "create")[0]
    assert create["fields"]["data"] == "text" and create["fields"]["flags"] == ""
    assert proxy.requests("m1", start, "setData")[0]["fields"]["data"] == {"hex": "ff"}
    answers = [e for e in proxy.events[start:] if e["k"] == "answer"]
    assert answers[0]["err"] == "NoNode" and answers[2]["fields"]["data"] == "text", answers


@quick
def test_proxy_cuts_and_refuses(t):
    proxy = t.zookeeper_proxy(t.zookeeper())
    zk = client(t, proxy.listen("m1"))
    session = zk.client_id[0]
    assert proxy.cut("m1") == 1
    wait_for(lambda: zk.connected and proxy.is_connected("m1"), "the client to come back")
    assert zk.client_id[0] == session
    proxy.refuse("m1")
    wait_for(lambda: not zk.connected, "the client to notice")
    proxy.heal("m1")
    wait_for(lambda: zk.connected, "the client to come back")


@quick
def test_proxy_hole_ends_the_session(t):
    server = t.zookeeper(properties={"tickTime": 500})
    proxy = t.zookeeper_proxy(server)
    zk = client(t, proxy.listen("m1"))
    other = client(t, server.address)
    zk.create("/here", ephemeral=True)
    proxy.hole("m1")
    wait_for(lambda: not other.exists("/here"), "the session to end")
    proxy.heal("m1")
    wait_for(lambda: zk.connected, "the client to get a new session")


@quick
def test_proxy_cut_before_and_after(t):
    proxy = t.zookeeper_proxy(t.zookeeper())
    server = client(t, proxy.server)
    zk = client(t, proxy.listen("m1"))
    for after in (False, True):
        path = "/after" if after else "/before"
        happened = proxy.cut_on("m1", "create", path, after=after)
        result = zk.create_async(path, b"")
        assert happened.wait(10)
        result.wait(10)
        assert result.exception is not None, "the answer came"
        assert bool(server.exists(path)) == after
        wait_for(lambda: zk.connected, "the client to come back")
    try:
        zk.create("/after")
        raise AssertionError("created twice")
    except NodeExistsError:
        pass


@quick
def test_proxy_loses_answers(t):
    proxy = t.zookeeper_proxy(t.zookeeper())
    server = client(t, proxy.server)
    zk = client(t, proxy.listen("m1"))
    proxy.hole("m1", "down")
    result = zk.create_async("/done")
    wait_for(lambda: server.exists("/done"), "the request to pass")
    assert not result.ready()
    proxy.heal("m1")
    result.wait(10)
    assert result.exception is not None, "the answer came"


@quick
def test_proxy_hold_and_delay(t):
    proxy = t.zookeeper_proxy(t.zookeeper())
    server = client(t, proxy.server)
    zk = client(t, proxy.listen("m1"))
    reached = proxy.hold("m1", "create", "/held")
    first = zk.create_async("/free")
    held = zk.create_async("/held")
    behind = zk.create_async("/behind")
    assert reached.wait(10)
    assert first.get(10) == "/free"
    assert not server.exists("/held") and not server.exists("/behind")
    proxy.go("m1")
    assert held.get(10) == "/held" and behind.get(10) == "/behind"
    proxy.delay("m1", 300, "create")
    start = time.monotonic()
    zk.create("/slow")
    assert time.monotonic() - start >= 0.3  # never sooner, however busy the machine


@quick
def test_account_finds_what_is_wrong(t):
    produced = {(0, 0), (0, 1), (1, 0)}

    def message(partition, offset):
        return Message("t", partition, offset, None, "")

    good = [message(0, 0), message(0, 1), message(1, 0)]
    Account(produced, good).check()
    Account(produced, good + good[:1]).check(duplicates_max=1)
    for what, delivered in (("lost: 1", good[1:]), ("delivered twice: 1", good + good[:1]),
                            ("never produced: [(1, 1)]", good + [message(1, 1)])):
        try:
            Account(produced, delivered).check()
        except AssertionError as error:
            assert what in str(error), error
        else:
            raise AssertionError("not found: %s" % what)


@quick
def test_layouts(t):
    """The example of kafka.admin.AdminUtils, and that of range in 0.8's documentation."""
    layout = topics.assignment([0, 1, 2, 3, 4], 10, 3)
    assert layout == {0: [0, 1, 2], 1: [1, 2, 3], 2: [2, 3, 4], 3: [3, 4, 0], 4: [4, 0, 1],
                      5: [0, 2, 3], 6: [1, 3, 4], 7: [2, 4, 0], 8: [3, 0, 1], 9: [4, 1, 2]}, layout
    assert topics.assignment([7], 2, 1, first_partition=1) == {1: [7]}
    assert range_layout(5, ["b", "a"]) == {0: "a", 1: "a", 2: "a", 3: "b", 4: "b"}
    assert range_layout(1, ["b", "a"]) == {0: "a"}


def test_java_members_share_a_topic(t):
    cluster = t.cluster(brokers=2)
    cluster.create_topic("t", 4, 2)
    assert [cluster.leader("t", p) for p in range(4)] == [0, 1, 0, 1]
    group = t.group(cluster, "g")
    java = t.java_members(cluster, "g")
    java.join("c1", "t")
    group.wait_for_owners("t", range_layout(4, ["g_c1-0"]))
    java.join("c2", "t")
    group.wait_for_owners("t", range_layout(4, ["g_c1-0", "g_c2-0"]))
    assert group.members() == ["g_c1", "g_c2"]
    assert group.owner_sessions("t")[0] == group.member_session("g_c1")

    producer = t.producer(cluster)
    produced = producer.send_numbered("t", 4, 25)
    produced |= set(producer.send("t", [(0, b"k %", b""), (1, b"n", None), (1, b"-", "é\n".encode())]))
    java.wait_for_messages(len(produced))
    Account(produced, java.messages()).check()
    values = {(m.partition, m.offset): (m.key, m.value) for m in java.messages() if m.offset >= 25}
    assert values == {(0, 25): ("k %", ""), (1, 25): ("n", None), (1, 26): ("-", "é\n")}, values
    assert java.counts("c1") == {("t", 0): (26, 25), ("t", 1): (27, 26)}

    cluster.add_partitions("t", 6)
    group.wait_for_owners("t", range_layout(6, ["g_c1-0", "g_c2-0"]))
    java.close_wait("c1")
    group.wait_for_owners("t", range_layout(6, ["g_c2-0"]))
    java.commit("c2")
    assert group.offsets("t")[0] == 26 and group.offsets("t")[1] == 27, group.offsets("t")
    java.kill()
    wait_for(lambda: not group.members(), "the session of the killed member to end")
    assert group.owners("t") == {}


def test_broker_killed_and_back(t):
    cluster = t.cluster(brokers=2, properties=FAST_FAILOVER)
    cluster.create_topic("t", 2, 2)
    producer = t.producer(cluster)
    produced = producer.send_numbered("t", 2, 5)
    cluster.brokers[0].kill()
    cluster.wait_for_leader("t", 0, 1)
    produced |= producer.send_numbered("t", 2, 5)
    cluster.restart_broker(0)
    java = t.java_members(cluster, "g")
    java.join("c1", "t")
    java.wait_for_messages(len(produced))
    Account(produced, java.messages()).check()


def test_broker_behind_a_proxy(t):
    proxy = t.kafka_proxy()
    cluster = t.cluster(advertised_ports={0: proxy.port("b0")}, start=False)
    proxy.server = cluster.brokers[0].listen_address
    cluster.start()
    cluster.create_topic("t")
    producer = t.producer(cluster)
    java = t.java_members(cluster, "g")
    java.join("c1", "t")
    produced = producer.send_numbered("t", 1, 3)
    java.wait_for_messages(3)
    assert proxy.cut("b0") >= 2  # the producer's and the consumer's
    produced |= producer.send_numbered("t", 1, 3, "again")
    java.wait_for_messages(6)
    Account(produced, java.messages()).check()


def test_recorded_counts_are_those_of_the_captures(t):
    """A member joins an empty group whose paths exist; topics of 12 and 4 partitions, two brokers: the
    recorder counts what was captured from Kafka 0.8.2.2 by another (36 reads, 17 writes, 8 watches)."""
    cluster = t.cluster(brokers=2)
    cluster.create_topic("t", 12, 2)
    cluster.create_topic("u", 4, 2)
    proxy = t.zookeeper_proxy(cluster)
    java = t.java_members(cluster, "g")
    for name in ("c1", "c2"):
        java.open(name, {"auto.commit.interval.ms": 60000}, zookeeper=proxy.listen(name))
        java.streams(name, t=1, u=1)
        java.wait_for_event("streams", name)
        if name == "c1":
            java.close_wait(name)
    wanted = {"reads": 36, "writes": 17, "watches": 8, "events": 0}
    wait_for(lambda: proxy.counts("c2") == wanted or _not_yet(proxy.counts("c2")),
             "the leader finder's scan to end", 20)


def _not_yet(seen):
    raise AssertionError("%r" % seen)
