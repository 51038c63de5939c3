"""Our brokers in ZooKeeper: several of them, sessions that are lost, and groups on top."""
import json

from lib import brokerwire as wire
from lib import versions
from lib.group import range_layout
from lib.testing import quick
from lib.waiting import wait_for
from lib.zkbroker import ZkBroker

FAST = {"tickTime": 100}
FAST_SESSION = {"zookeeper.session.timeout.ms": 600}


@quick
def test_two_brokers_share_topics(t):
    cluster = t.zk_cluster(brokers=2)
    cluster.create_topic("t", 6)
    leaders = {partition: cluster.leader("t", partition) for partition in range(6)}
    assert set(leaders.values()) == {0, 1}, leaders
    producer = t.producer(cluster)
    assert len(producer.send_numbered("t", 6, 20)) == 120
    for partition, leader in leaders.items():
        for number, broker in cluster.brokers.items():
            link = wire.Link(broker.port)
            error = wire.fetched(link.ask(wire.fetch("t", partition, 0)), "t")[0]
            assert error == (0 if number == leader else 6), (partition, number, error)
            link.close()
            there = (broker.folder / "logs" / ("t-%d" % partition)).exists()
            assert there == (number == leader), (partition, number)


@quick
def test_a_broker_that_dies_and_comes_back(t):
    cluster = t.zk_cluster(brokers=2, zookeeper_properties=FAST, properties=FAST_SESSION)
    cluster.create_topic("t", 4)
    produced = t.producer(cluster).send_numbered("t", 4, 10)
    for number in (0, 1):  # the controller is one of them
        theirs = [p for p in range(4) if cluster.leader("t", p) == number]
        cluster.brokers[number].kill()
        cluster.wait_until_unregistered(number)
        link = wire.Link(cluster.brokers[1 - number].port)
        for partition in range(4):
            error = wire.fetched(link.ask(wire.fetch("t", partition, 0)), "t")[0]
            assert (error == 0) == (partition not in theirs), (partition, error)
        cluster.restart_broker(number)
        cluster.wait_for_topic("t", 4)
    assert len(produced) == 40
    for partition in range(4):
        broker = cluster.brokers[cluster.leader("t", partition)]
        body = wire.Link(broker.port).ask(wire.fetch("t", partition, 0))
        assert wire.fetched(body, "t")[:2] == (0, 10)


@quick
def test_two_brokers_with_one_id(t):
    cluster = t.zk_cluster()
    second = ZkBroker(t.folder / "second", versions.LEGACY, 0, cluster.zookeeper_connect)
    t.defer(second.kill)
    second.start_without_waiting()
    assert second.process.wait(30) == 1
    assert "a broker with id 0 is registered already" in second.log_text(), second.log_text()
    assert json.loads(cluster.zk.get("/brokers/ids/0")[0])["port"] == cluster.brokers[0].port


@quick
def test_a_session_that_is_lost(t):
    server = t.zookeeper(properties=FAST)
    proxy = t.zookeeper_proxy(server)
    cluster = t.zk_cluster(zookeeper_server=server, start=False, properties={
        **FAST_SESSION, "zookeeper.connect": proxy.listen("b0")})
    cluster.start()
    cluster.create_topic("t", 1)
    broker = cluster.brokers[0]
    first = cluster.zk.exists("/brokers/ids/0").ephemeralOwner
    link = wire.Link(broker.port)
    assert wire.produced(link.ask(wire.produce("t", 0, [wire.message(b"a")]))) == (0, 0)
    proxy.hole("b0")
    cluster.wait_until_unregistered(0)
    # what it has it serves all the same
    assert wire.produced(link.ask(wire.produce("t", 0, [wire.message(b"b")]))) == (0, 1)
    proxy.heal("b0")
    wait_for(lambda: cluster.zk.exists("/brokers/ids/0"), "the broker to register again")
    assert cluster.zk.exists("/brokers/ids/0").ephemeralOwner != first
    wait_for(lambda: json.loads(cluster.zk.get("/controller")[0])["brokerid"] == 0
             if cluster.zk.exists("/controller") else False, "a controller")
    cluster.create_topic("u", 1)
    assert wire.produced(link.ask(wire.produce("t", 0, [wire.message(b"c")]))) == (0, 2)


@quick
def test_zookeeper_that_is_not_there(t):
    server = t.zookeeper()
    broker = ZkBroker(t.folder / "b", versions.LEGACY, 0, server.address,
                      {"zookeeper.connection.timeout.ms": 500})
    server.kill()
    broker.start_without_waiting()
    assert broker.process.wait(30) == 3
    assert "is not reached within zookeeper.connection.timeout.ms=500" in broker.log_text()


@quick
def test_a_chroot_and_a_free_port(t):
    cluster = t.zk_cluster(start=False, chroot="/a/b", properties={"port": 0})
    cluster.zookeeper.start()
    broker = cluster.brokers[0]
    broker.start_without_waiting()
    port = wait_for(lambda: "started: " in broker.log_text() and broker.started_port(), "the start")
    assert json.loads(cluster.zk.get("/brokers/ids/0")[0])["port"] == port
    link = wire.Link(port)
    assert link.ask(wire.metadata())


@quick
def test_names_that_are_not_allowed(t):
    cluster = t.zk_cluster(properties={"auto.create.topics.enable": "true"})
    link = wire.Link(cluster.brokers[0].port)
    for name in ("a/b", "..", "", "x" * 250, "a b", "ä"):
        body = link.ask(wire.metadata(name))
        at = len(body) - 4 - len(name.encode()) - 2 - 2  # error, name, no partitions
        error = int.from_bytes(body[at:at + 2], "big", signed=True)
        assert error in (17, 3), (name, error)
    assert cluster.zk.get_children("/brokers/topics") == []


def test_a_group_of_ours_and_javas(t):
    cluster = t.zk_cluster(brokers=2, zookeeper_properties={"tickTime": 500})
    cluster.create_topic("t", 6)
    group = t.group(cluster, "g")
    java = t.java_members(cluster, "g")
    java.join("j1", "t")
    ours = t.zkconsumer(cluster, "o1", "g", "t")
    layout = range_layout(6, ["g_j1-0", "g_o1-0"])
    group.wait_for_exact_owners("t", layout)
    produced = t.producer(cluster).send_numbered("t", 6, 50)

    def delivered():
        return [(m.partition, m.offset) for m in java.messages() + ours.messages()]

    wait_for(lambda: set(delivered()) == produced, "all messages", 60)
    group.wait_for_offsets("t", {partition: 50 for partition in range(6)})
    java.close_wait("j1")
    group.wait_for_exact_owners("t", range_layout(6, ["g_o1-0"]))
    more = t.producer(cluster).send("t", [(p, None, b"later") for p in range(6)])
    wait_for(lambda: set(delivered()) == produced | set(more), "the rest", 60)
    assert len(delivered()) == len(set(delivered())), "delivered twice"
    assert ours.leave() == 0
