"""The program on real clusters: produce speaks to every release, describe tells what Java members
do."""
import json
import subprocess

from lib.members import program
from lib.producer import kcat_read
from lib.waiting import wait_for


def run(*words, stdin=b"", timeout_s=120):
    done = subprocess.run([program("zkconsumer"), *words], input=stdin, capture_output=True,
                          timeout=timeout_s, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def produce_and_read_back(t, version, *words):
    cluster = t.cluster(version)
    cluster.create_topic("t", partitions=3)
    lines = [b"line %d" % i for i in range(5000)]
    code, out, err = run("produce", "--topic=t", "--partition=1", "--zookeeper",
                         cluster.zookeeper_connect, *words, stdin=b"\n".join(lines))
    assert (code, out) == (0, ""), (code, err)
    assert "5000 lines read, 5000 delivered, 0 not delivered" in err, err
    assert kcat_read(cluster, "t") == [(1, i, line.decode()) for i, line in enumerate(lines)]
    code, out, err = run("produce", "--topic=t", "--zookeeper", cluster.zookeeper_connect,
                         "--partition=7", stdin=b"a\nb\n")
    assert code == 1 and "line 1 is not delivered: " in err, (code, err)


def test_produce_0_8_0(t):
    produce_and_read_back(t, "0.8.0")


def test_produce_0_8_1_1(t):
    produce_and_read_back(t, "0.8.1.1", "-z", "gzip")


def test_produce_0_8_2_2(t):
    produce_and_read_back(t, "0.8.2.2", "-z", "snappy")


def test_produce_0_9_0_1(t):
    produce_and_read_back(t, "0.9.0.1")


def test_produce_1_1_1(t):
    produce_and_read_back(t, "1.1.1")


def test_produce_3_9_2(t):
    produce_and_read_back(t, "3.9.2", "-z", "lz4")


def test_produce_keys_and_failures(t):
    cluster = t.cluster()
    cluster.create_topic("t", partitions=1)
    produce = ["produce", "-t", "t", "--zkconnect", cluster.zookeeper_connect]
    code, _, err = run(*produce, "-K", ":", "-Z", stdin=b"a:1\nb:\nc:x:y\n")
    assert code == 0, err
    code, _, err = run(*produce, "-K", ":", stdin=b"d:\ne\nf:1\n")
    assert code == 1 and "line 2 has no key separator" in err, (code, err)
    assert "1 lines read, 1 delivered, 0 not delivered" in err, err
    code, _, err = run(*produce, "-X", "parse.key=true", "-X", "key.separator=|",
                       "-X", "message.max.bytes=1000", stdin=b"g|1\nh|" + b"x" * 2000 + b"\ni|2")
    assert code == 4, (code, err)
    assert "line 2 is not delivered: " in err and "MSG_SIZE_TOO_LARGE" in err, err
    assert "3 lines read, 2 delivered, 1 not delivered" in err, err
    command = ["kcat", "-C", "-e", "-q", "-b", cluster.bootstrap, "-t", "t", "-o", "beginning",
               "-f", "%k=%s %S\n", "-X", "api.version.request=false", "-X", "broker.version.fallback=0.8.2"]
    out = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True,
                         timeout=60).stdout.decode()
    assert out == "a=1 1\nb= -1\nc=x:y 3\nd= 0\ng=1 1\ni=2 1\n", out


def describe(cluster, group, *words):
    code, out, err = run("groups", "describe", "--group", group, "--zookeeper",
                         cluster.zookeeper_connect, "--json", *words)
    return code, json.loads(out), err


def test_describe_java_members(t):
    cluster = t.cluster(brokers=2)
    cluster.create_topic("t", partitions=5, replication=2)
    producer = t.producer(cluster)
    producer.send_numbered("t", 5, each=20)
    members = t.java_members(cluster, "g")
    group = t.group(cluster, "g")
    for name in ("a", "b"):
        members.join(name, "t")
    group.wait_for_owners("t", {0: "g_a", 1: "g_a", 2: "g_a", 3: "g_b", 4: "g_b"})
    wait_for(lambda: group.offsets("t") == {p: 20 for p in range(5)}, "all offsets to be committed")

    code, told, err = describe(cluster, "g")
    assert code == 0 and err == "", (code, told, err)
    assert [p["owner"][:3] for p in told["partitions"]] == ["g_a", "g_a", "g_a", "g_b", "g_b"], told
    assert [(p["offset"], p["log_end"], p["lag"]) for p in told["partitions"]] == [(20, 20, 0)] * 5
    assert [(m["pattern"], m["subscription"]) for m in told["members"]] == [("static", {"t": 1})] * 2
    code, told, err = describe(cluster, "g", "--strategy=ceil")  # 3 and 2 as well
    assert code == 0, (code, told)

    members.kill()
    group.wait_for_members(0)
    producer.send_numbered("t", 5, each=3)
    code, told, err = describe(cluster, "g")
    assert code == 2 and [p["kind"] for p in told["problems"]] == ["no_members"], (code, told)
    assert [p["lag"] for p in told["partitions"]] == [3] * 5, told

    cluster.brokers[1].stop()
    cluster.wait_for_leader("t", 1, 0)
    code, told, err = describe(cluster, "g")
    assert code == 2 and [p["lag"] for p in told["partitions"]] == [3] * 5, (told, err)
