"""Console consumer and producer, perf tests and mirror under Kafka's names, beside Kafka's own where both can do
it."""
import re
import signal
import urllib.request

from lib.kafka_tools import kafkas, ours
from lib.members import program, run
from lib.producer import kcat_read
from lib.waiting import wait_for
from lib.world import expect, expect_in


def cluster_with_orders(t, **options):
    cluster = t.cluster(**options)
    cluster.create_topic("orders", 2)
    t.producer(cluster).send("orders", [(p, b"k%d" % i, b"m%d-%d" % (p, i)) for p in range(2)
                                        for i in range(5)])
    return cluster


def config(t, cluster, group):
    path = t.folder / ("%s.properties" % group)
    path.write_text("group.id=%s\nzookeeper.connect=%s\nconsumer.timeout.ms=3000\n"
                    % (group, cluster.zookeeper_connect))
    return path


def test_console_consumer(t):
    cluster = cluster_with_orders(t)
    zookeeper = ("--zookeeper", cluster.zookeeper_connect)
    every = sorted("m%d-%d" % (p, i) for p in range(2) for i in range(5))

    for number, words in enumerate((
            ("--topic", "orders"), ("--whitelist", "ord.*"), ("--blacklist", "clicks"),
            ("--topic", "orders", "--property", "print.key=true", "--property", "key.separator=|"),
            ("--topic", "orders", "--formatter", "kafka.tools.ChecksumMessageFormatter"))):
        words = (*zookeeper, "--from-beginning", *words)
        theirs = kafkas("ConsoleConsumer", *words, "--consumer.config", config(t, cluster, "theirs%d" % number))
        mine = ours("ConsoleConsumer", *words, "--consumer.config", config(t, cluster, "mine%d" % number))
        expect((words, mine.code, sorted(mine.out.splitlines())),
               (words, 0, sorted(theirs.out.splitlines())))
        expect(mine.err.splitlines()[-1], "Consumed 10 messages")
        expect_in("Consumed 10 messages", theirs.err)
        expect(t.group(cluster, "mine%d" % number).offsets("orders"), {0: 5, 1: 5})

    # a group that has been there
    words = (*zookeeper, "--topic", "orders", "--consumer.config", config(t, cluster, "mine0"))
    mine = ours("kafka-console-consumer", *words, "--from-beginning")
    theirs = kafkas("ConsoleConsumer", *words, "--from-beginning")
    expect((mine.code, mine.out), (theirs.code, theirs.out))
    expect_in(theirs.err.strip(), mine.err)
    mine = ours("kafka-console-consumer", *words, "--from-beginning", "--delete-consumer-offsets",
                "--max-messages", "3")
    expect((mine.code, len(mine.out.splitlines())), (0, 3))
    expect(sum(t.group(cluster, "mine0").offsets("orders").values()), 3)
    expect(sorted(ours("kafka-console-consumer", *words).out.splitlines() + mine.out.splitlines()), every)

    # usage
    for words in ((), ("--topic", "a", "--whitelist", "b"), (*zookeeper, "--topic", "orders", "--formatter", "X")):
        expect((words, ours("ConsoleConsumer", *words).code), (words, 1))
    process = t.process("made-up", [program("kafka-console-consumer"), *zookeeper, "--topic", "orders"],
                        err=t.folder / "made-up.err")
    wait_for(lambda: any(name.startswith("console-consumer-") and cluster.zk.exists(
        "/consumers/%s/owners/orders/1" % name) for name in cluster.zk.get_children("/consumers")),
             "the group to be there", alive=[process])
    assert process.stop() == 0
    assert not [name for name in cluster.zk.get_children("/consumers") if name.startswith("console-")]


def test_console_producer(t):
    cluster = t.cluster()
    cluster.create_topic("t", 1)
    for words in (("--broker-list", cluster.bootstrap), ("--zookeeper", cluster.zookeeper_connect)):
        done = ours("kafka-console-producer", "--topic", "t", *words, "--sync", stdin=b"a\nb\n")
        expect((done.code, done.out), (0, ""))
    expect([value for _, _, value in kcat_read(cluster, "t")], ["a", "b", "a", "b"])
    expect(ours("kafka-console-producer", "--topic", "t", "--broker-list", "127.0.0.1:1", "--timeout", "1500",
                stdin=b"a\n").code, 3)


TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"


def test_perf(t):
    cluster = t.cluster()
    cluster.create_topic("p", 2)
    words = ("--broker-list", cluster.bootstrap, "--topics", "p", "--messages", "1000", "--message-size", "50")
    theirs = kafkas("ProducerPerformance", *words)
    mine = ours("ProducerPerformance", *words)
    expect((mine.code, len(mine.out.splitlines())), (0, 2))
    expect(mine.out.splitlines()[0], theirs.out.splitlines()[0])
    pattern = TIME + ", " + TIME + r", 0, 50, 200, 0\.05, \d+\.\d{4}, 1000, \d+\.\d{4}$"
    for line in (theirs.out.splitlines()[1], mine.out.splitlines()[1]):
        assert re.match(pattern, line), line
    mine = ours("kafka-producer-perf-test", "--zookeeper", cluster.zookeeper_connect, "--topics", "p", "--messages",
                "100", "--initial-message-id", "7", "--compression-codec", "2", "--hide-header")
    assert re.match(TIME + ", " + TIME + ", 2, 100, 200, ", mine.out), mine.out
    values = [value for _, _, value in kcat_read(cluster, "p")]
    expect(len(values), 2100)
    assert any(value.startswith("Message:0000000007:x") for value in values)

    words = ("--zookeeper", cluster.zookeeper_connect, "--topic", "p", "--threads", "1")
    theirs = kafkas("ConsumerPerformance", *words)
    left = set(cluster.zk.get_children("/consumers"))  # Kafka's leaves its group behind
    mine = ours("ConsumerPerformance", *words)
    expect((mine.code, len(mine.out.splitlines())), (0, 2))
    expect(mine.out.splitlines()[0], theirs.out.splitlines()[0])
    mb = re.search(r", 1048576, (\d+\.\d{4}), ", theirs.out).group(1)
    pattern = TIME + ", " + TIME + r", 1048576, %s, \d+\.\d{4}, 2100, \d+\.\d{4}$" % re.escape(mb)
    assert re.match(pattern, mine.out.splitlines()[1]), mine.out
    mine = ours("kafka-consumer-perf-test", *words[:4], "--threads", "2", "--show-detailed-stats",
                "--reporting-interval", "500", "--timeout-ms", "2000")
    lines = mine.out.splitlines()
    expect(lines[0], "time, fetch.size, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec")
    expect(sum(int(line.split(", ")[5]) for line in
               {line.split(", ")[1]: line for line in lines[1:]}.values()), 2100)
    mine = ours("kafka-consumer-perf-test", *words, "--group", "g", "--messages", "100", "--hide-header")
    assert ", 100, " in mine.out, mine.out
    expect(mine.err, "")  # nothing is waited for, nothing comes again
    expect(sum(t.group(cluster, "g").offsets("p").values()), 100)
    expect(set(cluster.zk.get_children("/consumers")) - left, {"g"})


def test_mirror_loses_nothing(t):
    """To another cluster, with kill -9 in the middle, and the target away for a while: all is there, some of
    it twice."""
    source, target = t.cluster(), t.cluster(kafka="0.8.2.2")
    for cluster in (source, target):
        cluster.create_topic("orders", 2)
    source.create_topic("private", 1)
    send = t.producer(source).send
    send("private", [(0, None, b"secret")])
    consumer, producer = t.folder / "from.properties", t.folder / "to.properties"
    consumer.write_text("zookeeper.connect=%s\ngroup.id=mirror\nauto.offset.reset=smallest\nconsumer.id=m\n"
                        "fetch.message.max.bytes=2000\nzookeeper.session.timeout.ms=4000\n"
                        % source.zookeeper_connect)
    producer.write_text("metadata.broker.list=%s\nproducer.type=async\nserializer.class=x\n" % target.bootstrap)
    command = [program("kafka-mirror-maker"), "--consumer.config", consumer, "--producer.config", producer,
               "--whitelist", "orders", "--offset.commit.interval.ms", "300"]
    copied = t.group(source, "mirror")
    sent, runs = set(), 0

    def produce(count):
        values = [b"m-%d" % (len(sent) + i) for i in range(count)]
        send("orders", [(i % 2, b"key%d" % (i % 7), value) for i, value in enumerate(values)])
        sent.update(value.decode() for value in values)

    def start():
        nonlocal runs
        runs += 1
        return t.process("mirror%d" % runs, command, err=t.folder / ("mirror%d.err" % runs))

    def all_committed():
        return sum(copied.offsets("orders").values()) == len(sent)

    for _ in range(3):
        produce(1000)
        process = start()
        before = sum(copied.offsets("orders").values())
        wait_for(lambda: sum(copied.offsets("orders").values()) > before, "a commit", 60, alive=[process])
        process.kill()
    process = start()
    wait_for(all_committed, "all to be committed", 60, alive=[process])
    target.brokers[0].kill()
    produce(50)
    assert not all_committed(), "committed before the target has it"
    target.restart_broker(0)
    wait_for(all_committed, "the rest to be committed", 90, alive=[process])
    assert process.stop(signal.SIGTERM) == 0
    rows = kcat_read(target, "orders")
    expect({value for _, _, value in rows}, sent)
    assert target.zk.exists("/brokers/topics/private") is None
    source.create_topic("orders2", 1)  # nothing in it: where it starts is committed all the same
    command[command.index("orders")] = "orders2"
    consumer.write_text(consumer.read_text().replace("smallest", "largest"))
    process = start()
    wait_for(lambda: copied.offsets("orders2") == {0: 0}, "the start", alive=[process])
    assert process.stop(signal.SIGTERM) == 0
    for words in (("--whitelist", "a", "--blacklist", "b"), ("--whitelist", "orders"), ()):
        expect((words, run("zkconsumer", "mirror", *words).returncode), (words, 1))


def test_mirror_of_two_sources(t):
    """At least once from each of them: with kill -9 in the middle, and with what ends one of them."""
    sources, target = [t.zk_cluster() for _ in range(2)], t.zk_cluster()
    target.create_topic("orders", 2)
    files, sent = [], set()
    for number, cluster in enumerate(sources):
        cluster.create_topic("orders", 1 + number)
        files.append(t.folder / ("from%d.properties" % number))
        files[-1].write_text("zookeeper.connect=%s\ngroup.id=mirror\nauto.offset.reset=smallest\nconsumer.id=m\n"
                             "zookeeper.session.timeout.ms=2000\n" % cluster.zookeeper_connect)
    to = t.folder / "to.properties"
    to.write_text("metadata.broker.list=%s\nmessage.max.bytes=1500\n" % target.bootstrap)
    configs = [word for path in files for word in ("--consumer.config", path)]
    command = [program("kafka-mirror-maker"), *configs, "--producer.config", to, "--whitelist", "orders",
               "--num.producers", "3", "--offset.commit.interval.ms", "200"]
    err = t.folder / "mirror.err"

    def produce(number, values):
        t.producer(sources[number]).send("orders", [(i % (1 + number), b"key%d" % (i % 7), value)
                                                    for i, value in enumerate(values)])
        sent.update(value.decode() for value in values)

    def committed(number):
        return sum(t.group(sources[number], "mirror").offsets("orders").values())

    for number in range(2):
        produce(number, [b"%d-%d" % (number, i) for i in range(2000)])
    process = t.process("killed", command, err=err)
    wait_for(lambda: committed(0) and committed(1), "commits of both", 60, alive=[process])
    process.kill()
    for number in range(2):
        produce(number, [b"%d-late-%d" % (number, i) for i in range(100)])
    process = t.process("mirror", [*command, "--metrics=127.0.0.1:0"], err=err)
    wait_for(lambda: (committed(0), committed(1)) == (2100, 2100), "all to be committed", 60, alive=[process])
    url = re.search(r"Metrics at (http://127.0.0.1:\d+/metrics)", err.read_text()).group(1)
    names = ["mirror@" + cluster.zookeeper_connect for cluster in sources]
    wanted = {'zkconsumer_owned_partitions{source="%s",consumergroup="mirror",topic="orders"} %d' % (name, 1 + i)
              for i, name in enumerate(names)}
    wanted |= {'kafka_brokers{source="%s"} 1' % name for name in names}
    wanted |= {'zkconsumer_mirror_refused_total{source="%s"} 0' % name for name in names}

    def numbers():
        with urllib.request.urlopen(url, timeout=30) as answer:
            return set(answer.read().decode().splitlines())

    wait_for(lambda: wanted <= numbers(), "the numbers of both", alive=[process])
    copied = {line.split()[1] for line in numbers() if line.startswith("zkconsumer_mirror_delivered_total{")}
    assert copied and all(int(number) >= 100 for number in copied), copied
    for number in range(2):  # which source, in every line
        expect_in("%s, group mirror: assigned: " % sources[number].zookeeper_connect, err.read_text())

    produce(1, [b"x" * 2000])  # the target refuses it: that ends both, and neither loses anything
    wait_for(lambda: not process.is_running(), "the end")
    expect(process.stop(), 1)
    expect_in("%s, group mirror: the target has refused a message" % sources[1].zookeeper_connect, err.read_text())
    expect(err.read_text().count("messages copied"), 2)
    expect((committed(0), committed(1)), (2100, 2100))
    process = t.process("on", [*command, "--abort.on.send.failure", "false"], err=err)
    produce(0, [b"0-last"])
    wait_for(lambda: (committed(0), committed(1)) == (2101, 2101), "all to be committed", 60, alive=[process])
    expect(process.stop(), 2)
    expect_in("1 of them were not delivered", err.read_text())
    expect({value for _, _, value in kcat_read(target, "orders")}, sent - {"x" * 2000})

    for words, text in ((configs + configs[:2], "name the same source"),
                        (configs + ["--zookeeper", "127.0.0.1:1"], "--zookeeper names one source"),
                        (configs + ["--num.producers=0"], "--num.producers"),
                        (configs + ["--abort.on.send.failure=maybe"], "expected true or false"),
                        (configs[:2] + ["--consumer.config", to], "to.properties: from where?")):
        done = run("zkconsumer", "mirror", *words, "--whitelist=orders", "--producer.config", to)
        expect((words, done.returncode, text in done.stderr), (words, 1, True))
