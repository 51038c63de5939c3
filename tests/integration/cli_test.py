"""The program's produce and groups on real clusters, beside Kafka's own members and tools."""
import json

from lib import producer
from lib.group import range_layout
from lib.members import run
from lib.waiting import wait_for


def zkconsumer(cluster, *words, stdin=b""):
    return run("zkconsumer", *words, "--zookeeper=" + cluster.zookeeper_connect, stdin=stdin)


def described(cluster, group):
    """(exit status, the JSON object) of groups describe."""
    done = zkconsumer(cluster, "groups", "describe", "--group=" + group, "--json")
    assert done.returncode in (0, 2), (done.returncode, done.stderr)
    return done.returncode, json.loads(done.stdout)


def test_groups_of_java_members(t):
    cluster = t.cluster(brokers=2, zookeeper="3.4", chroot="/kafka")
    cluster.create_topic("t", 4, 2)
    group = t.group(cluster, "g")
    java = t.java_members(cluster, "g")
    java.join("c1", "t")
    java.join("c2", "t")
    group.wait_for_owners("t", range_layout(4, ["g_c1-0", "g_c2-0"]))
    produced = t.producer(cluster).send_numbered("t", 4, 10)
    java.wait_for_messages(len(produced))
    java.commit("c1")
    java.commit("c2")

    done = zkconsumer(cluster, "groups", "list")
    assert (done.returncode, done.stdout) == (0, "g\n"), done
    status, view = described(cluster, "g")
    rows = {row["partition"]: (row["offset"], row["lag"], row["owner"]) for row in view["partitions"]}
    assert status == 0, view
    assert rows == {0: (10, 0, "g_c1-0"), 1: (10, 0, "g_c1-0"), 2: (10, 0, "g_c2-0"),
                    3: (10, 0, "g_c2-0")}, rows

    # somebody else's claim, by a session that is nobody's
    path = "/consumers/g/owners/t/0"
    cluster.zk.delete(path)
    assert described(cluster, "g")[0] == 2
    cluster.zk.create(path, b"g_c1-0", ephemeral=True)
    status, view = described(cluster, "g")
    assert status == 2 and view["problems"], view

    java.kill()
    wait_for(lambda: not group.members(), "the killed members' session to end")
    assert described(cluster, "g")[0] == 2
    assert zkconsumer(cluster, "groups", "describe", "--group=none").returncode == 2


def test_groups_without_zookeeper(t):
    server = t.zookeeper()
    server.kill()
    done = run("zkconsumer", "groups", "list", "--zookeeper=" + server.address, "--timeout=1500")
    assert done.returncode == 3 and server.address in done.stderr, done


def produce_round_trip(t, version, codec):
    cluster = t.cluster(version)
    cluster.create_topic("t", 2)
    lines = [b"line %d " % i + b"x" * (i % 100) for i in range(200)]
    done = zkconsumer(cluster, "produce", "--topic=t", "--partition=1", "--compression=" + codec,
                      stdin=b"".join(line + b"\n" for line in lines))
    assert done.returncode == 0, done
    rows = producer.kcat_read(cluster, "t")
    assert rows == [(1, i, line.decode()) for i, line in enumerate(lines)], rows[:3]


def test_produce_to_0_8_0(t):
    produce_round_trip(t, "0.8.0", "gzip")


def test_produce_to_0_8_2_2(t):
    produce_round_trip(t, "0.8.2.2", "snappy")


def test_produce_to_0_9_0_1(t):
    produce_round_trip(t, "0.9.0.1", "none")


def test_produce_to_1_1_1(t):
    produce_round_trip(t, "1.1.1", "lz4")


def test_produce_to_3_9_2(t):
    produce_round_trip(t, "3.9.2", "none")


def test_produced_keys_reach_a_java_member(t):
    cluster = t.cluster()
    cluster.create_topic("t", 1)
    done = zkconsumer(cluster, "produce", "--topic=t", "--key-separator=:", "--null",
                      stdin=b"apple:12\npear:\n:x\n")
    assert done.returncode == 0, done
    java = t.java_members(cluster, "g")
    java.join("c1", "t")
    messages = java.wait_for_messages(3)
    assert [(m.key, m.value) for m in messages] == [("apple", "12"), ("pear", None), ("", "x")], messages
