"""zkconsumer topics and offsets on real clusters, old and new."""
import json

from lib.members import run
from lib.waiting import wait_for


def zkconsumer(cluster, *words, stdin=b""):
    done = run("zkconsumer", *words, "--zookeeper", cluster.zookeeper_connect, stdin=stdin)
    return done.returncode, done.stdout, done.stderr


def expect(got, wanted):
    assert got == wanted, "got %r, expected %r" % (got, wanted)


def check(t, kafka):
    cluster = t.cluster(kafka, brokers=2, properties={"delete.topic.enable": "true"})
    code, out, err = zkconsumer(cluster, "topics", "create", "-t", "orders", "-p", "3", "-r", "2",
                                "--config", "retention.ms=3600000")
    expect((code, out), (0, ""))
    cluster.wait_for_topic("orders", 3)
    expect(json.loads(cluster.zk.get("/config/topics/orders")[0])["config"],
           {"retention.ms": "3600000"})
    replicas = json.loads(cluster.zk.get("/brokers/topics/orders")[0])["partitions"]
    expect({p: sorted(ids) for p, ids in replicas.items()}, {str(p): [0, 1] for p in range(3)})
    expect(sorted(ids[0] for ids in replicas.values()) in ([0, 0, 1], [0, 1, 1]), True)

    code, out, err = zkconsumer(cluster, "topics", "create", "-t", "orders")
    expect(code, 1)
    assert "exists already" in err, err
    for setting in ("retention.ms=abc", "segment.bytes=1", "retentio.ms=1", "min.insync.replicas=x"):
        code, out, err = zkconsumer(cluster, "topics", "create", "-t", "bad", "--config", setting)
        expect((code, out, setting.split("=")[0] in err), (1, "", True))
    expect(cluster.zk.exists("/config/topics/bad"), None)
    expect(cluster.zk.exists("/brokers/topics/bad"), None)
    code, out, err = zkconsumer(cluster, "topics", "create", "-t", "wide", "-r", "3")
    expect(code, 1)
    assert "larger than available brokers: 2" in err, err
    expect(cluster.zk.exists("/brokers/topics/wide"), None)

    code, out, err = zkconsumer(cluster, "topics", "list")
    expect((code, "orders" in out.split("\n")), (0, True))
    code, out, err = zkconsumer(cluster, "topics", "describe", "-t", "orders")
    expect(code, 0)
    lines = out.splitlines()
    expect(lines[0], "Topic:orders\tPartitionCount:3\tReplicationFactor:2\t"
                     "Configs:retention.ms=3600000")
    expect([line.split("\t")[1:3] for line in lines[1:]],
           [["Topic: orders", "Partition: %d" % p] for p in range(3)])
    expect(zkconsumer(cluster, "topics", "describe", "-t", "nope")[0], 1)

    expect(zkconsumer(cluster, "topics", "alter", "-t", "orders", "--config", "flush.ms=77777")[0], 0)
    for broker in cluster.brokers.values():  # each release has its form of telling them
        wait_for(lambda: "flush.ms=77777" in broker.log_file.read_text(), "broker %d to hear of it" % broker.id)
    expect(json.loads(cluster.zk.get("/config/topics/orders")[0])["config"],
           {"retention.ms": "3600000", "flush.ms": "77777"})
    expect(zkconsumer(cluster, "topics", "alter", "-t", "orders", "--delete-config", "flush.ms")[0], 0)
    expect(json.loads(cluster.zk.get("/config/topics/orders")[0])["config"], {"retention.ms": "3600000"})
    code, out, err = zkconsumer(cluster, "topics", "list", "-t", "orders", "-t", "nope")
    expect((code, out, "no topic nope" in err), (1, "orders\n", True))

    before = json.loads(cluster.zk.get("/brokers/topics/orders")[0])
    expect(zkconsumer(cluster, "topics", "alter", "-t", "orders", "-p", "3")[0], 1)
    expect(zkconsumer(cluster, "topics", "alter", "-t", "orders", "-p", "5")[0], 0)
    cluster.wait_for_topic("orders", 5)
    after = json.loads(cluster.zk.get("/brokers/topics/orders")[0])
    for key, value in before.items():  # a topic's id, for one, stays
        if key != "partitions":
            expect((key, after.get(key)), (key, value))
    expect({p: after["partitions"][p] for p in before["partitions"]}, before["partitions"])

    code, out, err = zkconsumer(cluster, "produce", "-t", "orders", "-p", "4", "-q", stdin=b"a\nb\nc\n")
    expect(code, 0)
    offsets(cluster)

    expect(zkconsumer(cluster, "topics", "delete", "-t", "nope")[0], 1)
    expect(zkconsumer(cluster, "topics", "delete", "-t", "orders")[0], 0)
    wait_for(lambda: not cluster.zk.exists("/brokers/topics/orders"), "orders to be deleted", 60)


def offsets(cluster):
    expect(zkconsumer(cluster, "offsets", "set", "-G", "g", "-t", "orders", "-o", "end")[0], 0)
    code, out, err = zkconsumer(cluster, "offsets", "get", "-G", "g")
    expect((code, out), (0, "orders:0:0\norders:1:0\norders:2:0\norders:3:0\norders:4:3\n"))
    expect(zkconsumer(cluster, "offsets", "set", "-G", "g", "-t", "orders", "-p", "4", "-o", "1")[0], 0)
    expect(cluster.zk.get("/consumers/g/offsets/orders/4")[0], b"1")
    code, out, err = zkconsumer(cluster, "consume", "-G", "g", "-t", "orders", "-e", "-q")
    expect((code, out), (0, "b\nc\n"))
    expect(zkconsumer(cluster, "offsets", "set", "-G", "g", "-t", "orders", "-o", "beginning")[0], 0)
    expect(cluster.zk.get("/consumers/g/offsets/orders/4")[0], b"0")
    expect(zkconsumer(cluster, "offsets", "set", "-G", "g", "-t", "nope", "-o", "1")[0], 1)
    expect(zkconsumer(cluster, "offsets", "set", "-G", "g", "-t", "orders", "-o", "-5")[0], 1)
    cluster.zk.create("/consumers/g/ids/g_x", b"{}", makepath=True)
    code, out, err = zkconsumer(cluster, "offsets", "set", "-G", "g", "-t", "orders", "-o", "2")
    expect(code, 1)
    assert "g_x" in err and "--force" in err, err
    expect(cluster.zk.get("/consumers/g/offsets/orders/4")[0], b"0")
    expect(zkconsumer(cluster, "offsets", "set", "-G", "g", "-t", "orders", "-o", "2", "--force")[0], 0)
    expect(cluster.zk.get("/consumers/g/offsets/orders/4")[0], b"2")


def test_kafka_0_8_2_2(t):
    check(t, "0.8.2.2")


def test_kafka_3_9_2(t):
    check(t, "3.9.2")
