"""Other people's clients on our broker: each lists, produces and reads back."""
import subprocess

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from lib import jars, java, versions
from lib.producer import kcat_produce, kcat_read
from lib.testing import quick
from lib.waiting import wait_for

LEGACY = versions.LEGACY


def cluster_with_topic(t, partitions=2, brokers=1, **options):
    cluster = t.zk_cluster(brokers=brokers, **options)
    cluster.create_topic("t", partitions)
    return cluster


# ---- librdkafka ----

def kcat(cluster, *words, stdin=b""):
    """kcat with no settings of ours: it asks for ApiVersions."""
    return subprocess.run(["kcat", "-b", cluster.bootstrap, *map(str, words)], input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)


@quick
def test_kcat_with_0_8_settings(t):
    cluster = cluster_with_topic(t)
    for number, codec in enumerate((None, "gzip", "snappy", "lz4")):
        kcat_produce(cluster, "t", [b"%d-%d" % (number, i) for i in range(100)], number % 2, codec)
    rows = kcat_read(cluster, "t")
    assert sorted(value for _, _, value in rows) == sorted(
        "%d-%d" % (n, i) for n in range(4) for i in range(100)), rows[:5]
    for partition in (0, 1):
        offsets = [offset for number, offset, _ in rows if number == partition]
        assert offsets == list(range(200)), offsets[:5]


@quick
def test_kcat_asks_for_versions(t):
    cluster = cluster_with_topic(t)
    done = kcat(cluster, "-P", "-t", "t", "-p", 0, stdin=b"one\ntwo\n")
    assert done.returncode == 0, done.stderr
    done = kcat(cluster, "-C", "-t", "t", "-p", 0, "-e", "-q", "-f", "%o %s\n")
    assert done.stdout == b"0 one\n1 two\n", (done.stdout, done.stderr)
    listing = kcat(cluster, "-L").stdout.decode()
    assert 'topic "t" with 2 partitions' in listing, listing
    for when, offset in ((-1, 2), (-2, 0)):
        query = kcat(cluster, "-Q", "-t", "t:0:%d" % when).stdout
        assert query == b"t [0] offset %d\n" % offset, query


@quick
def test_a_topic_is_created_by_asking(t):
    cluster = t.zk_cluster(properties={"auto.create.topics.enable": "true", "num.partitions": 3})
    kcat_produce(cluster, "new", [b"a", b"b", b"c"])
    assert sorted(value for _, _, value in kcat_read(cluster, "new")) == ["a", "b", "c"]
    assert cluster.zk.get("/brokers/topics/new")[0] == (
        b'{"version":1,"partitions":{"2":[0],"1":[0],"0":[0]}}'), cluster.zk.get("/brokers/topics/new")
    assert cluster.zk.exists("/config/topics/new")


# ---- kafka-python ----

def python_settings(cluster):
    return {"bootstrap_servers": cluster.bootstrap, "api_version": (0, 8, 2)}


@quick
def test_kafka_python(t):
    cluster = cluster_with_topic(t)
    producer = KafkaProducer(acks="all", **python_settings(cluster))
    t.defer(producer.close)
    sent = [producer.send("t", b"v%d" % i, key=b"k%d" % i, partition=i % 2) for i in range(50)]
    producer.flush(30)
    assert {future.get(1).offset for future in sent} == set(range(25))
    consumer = KafkaConsumer(group_id=None, auto_offset_reset="earliest", **python_settings(cluster))
    t.defer(consumer.close)
    assert consumer.topics() == {"t"}
    both = [TopicPartition("t", 0), TopicPartition("t", 1)]
    consumer.assign(both)
    consumer.seek_to_beginning(*both)
    got = []
    wait_for(lambda: got.extend(message for messages in consumer.poll(500).values()
                                for message in messages) or len(got) == 50, "50 messages")
    assert {(m.partition, m.offset, m.key, m.value) for m in got} == {
        (i % 2, i // 2, b"k%d" % i, b"v%d" % i) for i in range(50)}
    assert consumer.end_offsets(both) == {both[0]: 25, both[1]: 25}


# ---- Kafka 0.8.2.2's own ----

def tool(t, name, *words, stdin=b"", timeout_s=120):
    """A Java tool of Kafka, to its end; its output."""
    jars.require(LEGACY)
    folder = t.folder / "tools"
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        java.command(jars.classpath(LEGACY), name, *map(str, words), heap_mb=128,
                     properties=java.log4j_file(folder, "WARN")),
        input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout_s)
    assert done.returncode == 0, "%s: %d\n%s" % (name, done.returncode, done.stderr.decode())
    return done.stdout.decode()


def test_java_topic_command(t):
    cluster = t.zk_cluster(brokers=2)
    where = ["--zookeeper", cluster.zookeeper_connect]
    command = "kafka.admin.TopicCommand"
    tool(t, command, *where, "--create", "--topic", "j", "--partitions", 4, "--replication-factor", 1)
    cluster.wait_for_topic("j", 4)
    assert tool(t, command, *where, "--list").split() == ["j"]
    described = tool(t, command, *where, "--describe", "--topic", "j")
    assert "PartitionCount:4" in described, described
    for line in described.splitlines()[1:]:
        fields = dict(word.split(": ") for word in line.strip().split("\t"))
        assert fields["Leader"] == fields["Replicas"] == fields["Isr"], line
    tool(t, command, *where, "--alter", "--topic", "j", "--partitions", 6)
    cluster.wait_for_topic("j", 6)
    tool(t, command, *where, "--delete", "--topic", "j")
    wait_for(lambda: not cluster.zk.exists("/brokers/topics/j"), "topic j to be gone")
    for broker in cluster.brokers.values():
        wait_for(lambda: not list((broker.folder / "logs").glob("j-*")), "its folders to be gone")


def test_java_producers_and_consumers(t):
    cluster = cluster_with_topic(t, brokers=2)
    lines = ["line %d" % i for i in range(300)]
    text = "".join(line + "\n" for line in lines).encode()
    producer = ["kafka.tools.ConsoleProducer", "--broker-list", cluster.bootstrap, "--topic", "t"]
    tool(t, *producer, "--sync", "--request-required-acks", 1, stdin=text)
    tool(t, *producer, "--compress", "gzip", stdin=text)
    tool(t, *producer, "--new-producer", "--request-required-acks", -1, stdin=text)
    got = tool(t, "kafka.tools.ConsoleConsumer", "--zookeeper", cluster.zookeeper_connect,
               "--topic", "t", "--from-beginning", "--max-messages", 900).splitlines()
    assert sorted(got) == sorted(lines * 3), len(got)
    offsets = tool(t, "kafka.tools.GetOffsetShell", "--broker-list", cluster.bootstrap,
                   "--topic", "t", "--time", -1).split()
    assert sum(int(row.split(":")[2]) for row in offsets) == 900, offsets
    earliest = tool(t, "kafka.tools.GetOffsetShell", "--broker-list", cluster.bootstrap,
                    "--topic", "t", "--time", -2).split()
    assert sorted(earliest) == ["t:0:0", "t:1:0"], earliest
    count = int(next(row for row in offsets if row.startswith("t:0:")).split(":")[2])
    shell = tool(t, "kafka.tools.SimpleConsumerShell", "--broker-list", cluster.bootstrap,
                 "--topic", "t", "--partition", 0, "--offset", -2, "--no-wait-at-logend").splitlines()
    assert len([line for line in shell if line.startswith("line ")]) == count, shell[:5]


def test_java_high_level_consumers(t):
    cluster = cluster_with_topic(t, partitions=4)
    members = t.java_members(cluster, "g")
    members.join("a", "t")
    members.join("b", "t")
    group = t.group(cluster, "g")
    producer = t.producer(cluster)
    produced = producer.send_numbered("t", 4, 50)
    wait_for(lambda: {(m.partition, m.offset) for m in members.messages()} == produced,
             "all messages at the Java members", 60)
    group.wait_for_offsets("t", {partition: 50 for partition in range(4)})
