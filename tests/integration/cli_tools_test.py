"""Our tools under Kafka's names beside Kafka's own, on one live cluster: what people parse is equal; exit
statuses are honest where Kafka's are not."""
import json
import pathlib
import socket
import subprocess

from lib.kafka_tools import kafkas, ours
from lib.members import program, run
from lib.waiting import wait_for
from lib.world import expect, expect_in

RECORDED = pathlib.Path(__file__).parents[1] / "vectors" / "zookeeper" / "tools-znodes.jsonl"


class Billing:
    """Topics orders (2 partitions, 5 and 7 messages) and clicks (1, 3); group billing, one live member c1 of
    ours on both, which has consumed all but the last 2 of orders/1."""

    def __init__(self, t):
        self.cluster = t.cluster(brokers=2)
        self.cluster.create_topic("orders", 2)
        self.cluster.create_topic("clicks", 1)
        send = t.producer(self.cluster).send
        send("orders", [(p, None, b"m%d" % i) for p in range(2) for i in range(5)])
        send("clicks", [(0, b"k%d" % i, b"c%d" % i) for i in range(3)])
        self.zk, self.connect = self.cluster.zk, self.cluster.zookeeper_connect
        self.group = t.group(self.cluster, "billing")
        self.member = t.process(
            "c1", [program("zkconsumer"), "consume", "-G", "billing", "-t", "orders", "-t", "clicks",
                   "--zookeeper", self.connect, "-X", "zookeeper.mode=compat", "-X", "consumer.id=c1",
                   "-X", "auto.commit.interval.ms=200", "-X", "auto.offset.reset=smallest"], err=t.folder / "c1.err")
        wait_for(lambda: self.offsets() == {"orders": {0: 5, 1: 5}, "clicks": {0: 3}}, "all to be committed",
                 60, alive=[self.member])
        self.send = send

    def offsets(self):
        return {topic: self.group.offsets(topic) for topic in ("orders", "clicks")}

    def stop_member(self):
        assert self.member.stop() == 0
        wait_for(lambda: not self.group.members(), "the member to be gone")

    def both(self, tool, *words):
        """Kafka's run and ours."""
        return kafkas(tool, *words), ours(tool, *words)


def test_offset_checker(t):
    world = Billing(t)
    zookeeper = ("--zookeeper", world.connect)
    for words in (("--group", "billing"), ("--group", "billing", "--topic", "orders"),
                  ("--group", "billing", "--topic", "clicks,orders")):
        theirs, mine = world.both("ConsumerOffsetChecker", *zookeeper, *words)
        expect((theirs.code, mine.code), (0, 0))
        expect(mine.out, theirs.out)
    expect(ours("kafka-consumer-offset-checker", *zookeeper, *words).out, theirs.out)
    expect(len(theirs.out.splitlines()), 4)
    assert "billing_c1-0" in theirs.out

    theirs, mine = world.both("ConsumerOffsetChecker", *zookeeper, "--group", "billing", "--broker-info")
    expect(sorted(mine.out.splitlines()), sorted(theirs.out.splitlines()))

    world.stop_member()
    world.send("orders", [(1, None, b"more"), (1, None, b"more")])
    theirs, mine = world.both("ConsumerOffsetChecker", *zookeeper, "--group", "billing")
    expect(mine.out, theirs.out)
    expect_in("none", mine.out)
    for limit, code in ((1, 2), (2, 0)):
        done = run("zkconsumer", "offsets", "check", "-G", "billing", "--lag-max", limit, *zookeeper)
        expect(done.returncode, code)

    for words, code in ((("--group", "nogroup"), 2), (("--group", "billing", "--topic", "nope"), 2), ((), 1)):
        theirs, mine = world.both("ConsumerOffsetChecker", *zookeeper, *words)
        expect((words, mine.code), (words, code))
        if "nope" in words:  # the header only
            expect(mine.out, theirs.out)
    expect(ours("ConsumerOffsetChecker", "--group", "g", "--zookeeper", "127.0.0.1:1",
                "--timeout=2000").code, 3)


def test_offset_checker_of_offsets_in_kafka(t):
    world = Billing(t)
    words = ("--zookeeper", world.connect, "--group", "kafkas")
    settings = [word for item in {"zookeeper.mode": "compat", "offsets.storage": "kafka",
                                  "dual.commit.enabled": "false",
                                  "auto.offset.reset": "smallest"}.items() for word in ("-X", "%s=%s" % item)]
    done = run("zkconsumer", "consume", "-G", "kafkas", "-t", "orders", "-e", "-q", "--zookeeper", world.connect,
               *settings)
    expect(done.returncode, 0)
    theirs, mine = world.both("ConsumerOffsetChecker", *words)
    expect((mine.code, mine.out), (0, theirs.out))
    expect([row.split()[3] for row in mine.out.splitlines()[1:]], ["5", "5"])
    world.zk.create("/consumers/kafkas/offsets/orders/0", b"3", makepath=True)  # the stores differ
    theirs, mine = world.both("ConsumerOffsetChecker", *words)
    expect((mine.code, mine.out), (0, theirs.out))
    expect_in("[orders,0] has offset 5 in Kafka and 3 in ZooKeeper", mine.err)

    # the same in groups describe, which Kafka does not have
    done = run("zkconsumer", "groups", "describe", *words)
    expect([row.split()[:6] for row in done.stdout.splitlines()[1:3]],
           [["kafkas", "orders", "0", "5", "5", "0"], ["kafkas", "orders", "1", "5", "5", "0"]])
    expect_in("1 partitions have one offset in Kafka, which is shown, and another in ZooKeeper; the first "
              "is [orders,0]: 5 and 3", done.stderr)
    group = json.loads(run("zkconsumer", "groups", "describe", "--json", *words).stdout)
    expect([(p["offset"], p["offset_store"]) for p in group["partitions"]], [(5, "kafka")] * 2)

    # and in groups watch, which does not show ZooKeeper's instead when they are not to be had
    err = t.folder / "watch.err"
    watch = t.process("watch", [program("zkconsumer"), "groups", "watch", "--interval=200", *words], err=err)

    def shown():
        return [line.split(" ", 1)[1] for line in watch.text_lines() if "[orders,0]" in line]

    wait_for(lambda: "[orders,0] offset 5, log end 5, lag 0" in shown(), "the state at the start", alive=[watch])
    for broker in world.cluster.brokers.values():
        broker.kill()
    wait_for(lambda: "offsets in Kafka are not known" in err.read_text(), "them to be missed", alive=[watch])
    wait_for(lambda: "offset unknown" in shown()[-1], "the offset to go", alive=[watch])
    expect([line for line in shown() if "offset 3" in line], [])
    expect((watch.stop(), err.read_text().count("offsets in Kafka")), (0, 1))


def test_offsets_in_kafka_are_moved(t):
    """Of a group that keeps them there: refused until it is said where to write, then its next member
    begins where they were set; ZooKeeper's are written where there are some."""
    world = Billing(t)
    zookeeper = ("--zookeeper", world.connect)
    in_kafka = ("-X", "offsets.storage=kafka")

    def consume(count):
        done = run("zkconsumer", "consume", "-G", "kafkas", "-t", "orders", "-e", "-q", "-X",
                   "dual.commit.enabled=false", "-X", "auto.offset.reset=smallest", *in_kafka, *zookeeper)
        expect((done.returncode, len(done.stdout.splitlines())), (0, count))

    def offsets(*words):
        done = run("zkconsumer", "offsets", words[0], "-G", "kafkas", *zookeeper, *words[1:])
        return done.returncode, done.stdout, done.stderr

    def znodes():
        return t.group(world.cluster, "kafkas").offsets("orders")

    consume(10)
    expect(offsets("get")[:2], (0, "orders:0:5\norders:1:5\n"))
    expect_in("2 offsets of group kafkas are Kafka's", offsets("get")[2])
    expect(offsets("get", "-X", "offsets.storage=zookeeper")[:2], (0, ""))
    for words in (("reset", "-t", "orders", "--to-earliest"), ("reset", "--to-earliest"),
                  ("set", "-t", "orders", "-o", "2")):
        code, out, err = offsets(*words)
        expect((words, code, out), (words, 2, ""))
        expect_in("[orders,0]: 5 there, in ZooKeeper none", err)
        expect_in("offsets.storage=kafka", err)
    expect(znodes(), {})
    code, out, err = offsets("reset", "--shift-by=-3", *in_kafka)  # its topics are known by Kafka's
    expect((code, out), (0, "orders:0:2\norders:1:2\n"))
    expect_in("[orders,0] from 5 to 2", err)
    consume(6)
    expect(offsets("set", "-t", "orders", "-o", "4", "-p", "1", *in_kafka)[0], 0)
    expect((znodes(), offsets("get")[1]), ({}, "orders:0:5\norders:1:4\n"))
    config = t.folder / "kafkas.properties"
    config.write_text("group.id=kafkas\noffsets.storage=kafka\ndual.commit.enabled=true\nzookeeper.connect=%s\n"
                      % world.connect)
    expect(offsets("reset", "-t", "orders", "--to-earliest", "-F", config)[0], 0)
    expect(znodes(), {0: 0, 1: 0})
    expect(offsets("reset", "-t", "orders", "--to-latest", "-n", *in_kafka)[1], "orders:0:5\norders:1:5\n")
    consume(10)
    done = ours("UpdateOffsetsInZK", "latest", config, "orders")  # znodes only, as Kafka's: told
    expect((done.code, znodes()), (0, {0: 5, 1: 5}))
    expect_in("Kafka keeps offsets of 2 partitions of group kafkas", done.err)
    expect(offsets("set", "-t", "orders", "-o", "1", *in_kafka)[0], 0)  # a znode that is there is written, too
    expect(znodes(), {0: 1, 1: 1})
    expect(offsets("reset", "-t", "orders", "--to-earliest", "-X", "offsets.storage=zookeeper")[0], 0)
    expect((znodes(), offsets("get")[1]), ({0: 0, 1: 0}, "orders:0:1\norders:1:1\n"))
    expect(offsets("set", "-t", "orders", "-o", "1", "-X", "offsets.storage=disk")[0], 1)

    # out and in
    copy = t.folder / "kafkas.txt"
    expect(offsets("export", "-o", copy)[0], 0)
    expect(copy.read_text(), "/consumers/kafkas/offsets/orders/0:1\n/consumers/kafkas/offsets/orders/1:1\n")
    expect(ours("ExportZkOffsets", "--zkconnect", world.connect, "--group", "kafkas", "--output-file",
                t.folder / "znodes.txt").code, 0)
    expect((t.folder / "znodes.txt").read_text(), copy.read_text().replace(":1\n", ":0\n"))
    copy.write_text(copy.read_text().replace("1:1", "1:3"))
    for words, code in (((), 2), (in_kafka, 0)):
        done = run("zkconsumer", "offsets", "import", "-i", copy, *zookeeper, *words)
        expect((words, done.returncode), (words, code))
    expect((znodes(), offsets("get")[1]), ({0: 1, 1: 3}, "orders:0:1\norders:1:3\n"))
    checked = kafkas("ConsumerOffsetChecker", "--group", "kafkas", *zookeeper)
    expect([row.split()[3] for row in checked.out.splitlines()[1:]], ["1", "3"])
    done = ours("ImportZkOffsets", "--zkconnect", world.connect, "--input-file", t.folder / "znodes.txt")
    expect((done.code, znodes()), (0, {0: 0, 1: 0}))
    expect_in("Kafka keeps offsets of 2 partitions of group kafkas", done.err)
    done = run("zkconsumer", "perf", "consume", "--group", "kafkas", "--topic", "orders", "--messages", "1",
               "--threads", "1", *zookeeper)
    expect(done.returncode, 0)
    expect_in("Kafka keeps offsets of 2 partitions of group kafkas", done.stderr)
    done = run("zkconsumer", "groups", "delete", "-G", "kafkas", *zookeeper)
    expect((done.returncode, world.zk.exists("/consumers/kafkas")), (2, None))
    expect_in("Kafka keeps offsets of 2 partitions of group kafkas", done.stderr)
    expect_in("group kafkas is deleted", done.stderr)
    expect(offsets("get", "-t", "orders", *in_kafka)[:2], (0, "orders:0:1\norders:1:3\n"))
    done = run("zkconsumer", "consume", "-G", "console-consumer-99", "-t", "orders", "-e", "-q", *in_kafka,
               "-X", "auto.offset.reset=smallest", *zookeeper)
    expect((done.returncode, len(done.stdout.splitlines())), (0, 10))
    done = run("zkconsumer", "groups", "delete", "--console-groups", *zookeeper)
    expect((done.returncode, world.zk.exists("/consumers/console-consumer-99")), (2, None))
    expect_in("Kafka keeps offsets of 2 partitions of group console-consumer-99", done.stderr)


def test_offsets_out_and_in(t):
    world = Billing(t)
    out = [t.folder / "theirs.txt", t.folder / "mine.txt"]
    words = ("--zkconnect", world.connect, "--group", "billing")
    expect(kafkas("ExportZkOffsets", *words, "--output-file", out[0]).code, 0)
    expect(ours("ExportZkOffsets", *words, "--output-file", out[1]).code, 0)
    expect(sorted(out[1].read_text().splitlines()), sorted(out[0].read_text().splitlines()))
    expect(out[1].read_text(), "/consumers/billing/offsets/clicks/0:3\n/consumers/billing/offsets/orders/0:5\n"
                               "/consumers/billing/offsets/orders/1:5\n")
    expect(ours("ExportZkOffsets", "--zkconnect", world.connect, "--group", "nogroup", "--output-file",
                t.folder / "none.txt").code, 2)
    expect(ours("ExportZkOffsets", "--zkconnect", world.connect).code, 1)

    text = out[0].read_text().replace(":5", ":4")
    out[0].write_text(text)
    done = ours("ImportZkOffsets", "--zkconnect", world.connect, "--input-file", out[0])
    expect((done.code, "billing_c1" in done.err), (1, True))  # live: refused
    expect(world.offsets()["orders"], {0: 5, 1: 5})
    world.stop_member()
    for odd in ("no colon\n", "/consumers/billing/offsets/orders/0:x\n", "/brokers/ids/0:1\n"):
        out[1].write_text(text + odd)
        done = ours("ImportZkOffsets", "--zkconnect", world.connect, "--input-file", out[1])
        expect((done.code, "line 4" in done.err), (1, True))
    expect(world.offsets()["orders"], {0: 5, 1: 5})
    expect(ours("ImportZkOffsets", "--zkconnect", world.connect, "--input-file", out[0]).code, 0)
    expect(world.offsets(), {"orders": {0: 4, 1: 4}, "clicks": {0: 3}})
    again = run("zkconsumer", "offsets", "export", "--zookeeper", world.connect)
    expect(sorted(again.stdout.splitlines()), sorted(text.splitlines()))

    # what is no offset, and what is no partition: told and left out, or not looked at; the others come
    world.zk.set("/consumers/billing/offsets/orders/0", b"x")
    world.zk.create("/consumers/billing/offsets/orders/odd", b"1")
    for command, want in (("export", "/consumers/billing/offsets/%s/%d:%d"), ("get", "%s:%d:%d")):
        done = run("zkconsumer", "offsets", command, "-G", "billing", "--zookeeper", world.connect)
        expect((done.returncode, done.stdout.splitlines()), (0, [want % ("clicks", 0, 3), want % ("orders", 1, 4)]))
        expect_in("[orders,0]: ", done.stderr)
        assert "odd" not in done.stderr, done.stderr


def recorded_nodes(*tools):
    """{path: (data, version)} that these tools of 0.8.2.2 made, from the recording of their operations."""
    nodes, mark = {}, None
    for line in RECORDED.read_text().splitlines():
        done = json.loads(line)
        mark = done.get("mark", mark)
        if mark not in tools or "mark" in done or "err" in done:
            continue
        version = nodes[done["path"]][1] + 1 if done["op"] == "setData" else 0
        data = None if done["data"] is None else done["data"].encode()
        nodes[done["path"]] = (data, version)
    return nodes


def test_tools_make_the_nodes_of_kafkas(t):
    """ImportZkOffsets and UpdateOffsetsInZK leave what was recorded of Kafka's, down to versions; an
    empty line ends what is imported, which ours says."""
    world = Billing(t)
    world.stop_member()
    world.send("orders", [(1, None, b"6"), (1, None, b"7")])

    def nodes(group):
        paths, there = ["/consumers/" + group], {}
        for path in paths:
            data, stat = world.zk.get(path)
            there[path] = (data, stat.version)
            paths += [path + "/" + child for child in world.zk.get_children(path)]
        return there

    world.zk.create("/consumers/imp")
    line = "/consumers/imp/offsets/orders/%d:%d\n"
    path = t.folder / "in.txt"
    for text, told in ((line % (0, 3) + line % (1, 4), ""),
                       (line % (0, 8) + "\n" + line % (1, 9), "line 2 is empty and ends what is read")):
        path.write_text(text)
        done = ours("ImportZkOffsets", "--zkconnect", world.connect, "--input-file", path)
        expect((done.code, told in done.err), (0, True))
    expect(nodes("imp"), {"/consumers/imp": (b"", 0), **recorded_nodes("ImportZkOffsets")})
    config = t.folder / "upd.properties"
    config.write_text("zookeeper.connect=%s\ngroup.id=upd\n" % world.connect)
    for where in ("latest", "earliest"):
        expect(ours("UpdateOffsetsInZK", where, config, "orders").code, 0)
    expect(nodes("upd"), recorded_nodes("UpdateOffsetsInZK"))


def test_the_list_of_classes(t):
    for word in ("--help", "-h"):
        done = ours("kafka-run-class", word)
        expect((done.code, done.err), (0, ""))
        expect_in("kafka.tools.ImportZkOffsets", done.out)
    done = ours("kafka-run-class", "kafka.tools.Nothing")
    expect((done.code, done.out), (1, ""))
    expect_in("kafka.tools.ImportZkOffsets", done.err)


def test_reset(t):
    world = Billing(t)
    config = t.folder / "c.properties"
    config.write_text("group.id=billing\nzookeeper.connect=%s\n" % world.connect)

    def reset(*words):
        done = run("zkconsumer", "offsets", "reset", "-G", "billing", "--zookeeper", world.connect, *words)
        return done.returncode, done.stdout, done.stderr

    # a live group: refused; forced: a leading zero beside an owner, the same number to Java
    code, out, err = reset("--to-earliest")
    expect((code, out, "billing_c1" in err), (1, "", True))
    expect(ours("UpdateOffsetsInZK", "latest", config, "orders").code, 1)
    expect(reset("-t", "orders", "-p", "1", "--to-latest", "--force")[:2], (0, "orders:1:5\n"))
    expect(world.zk.get("/consumers/billing/offsets/orders/1")[0], b"05")
    checked = kafkas("ConsumerOffsetChecker", "--zookeeper", world.connect, "--group", "billing")
    expect_in("orders                         1   5 ", checked.out)
    world.stop_member()

    for where in ("earliest", "latest"):
        theirs, mine = world.both("UpdateOffsetsInZK", where, config, "orders")
        expect((theirs.code, mine.code, mine.out), (0, 0, theirs.out))
    expect(world.offsets()["orders"], {0: 5, 1: 5})
    for words in (("middle", config, "orders"), ("latest",)):
        theirs, mine = world.both("UpdateOffsetsInZK", *words)
        expect((theirs.code, mine.code), (1, 1))
    expect(ours("UpdateOffsetsInZK", "latest", config, "nope").code, 1)

    everything = "clicks:0:0\norders:0:0\norders:1:0\n"
    expect(reset("--to-earliest", "--dry-run")[:2], (0, everything))
    expect(world.offsets()["orders"], {0: 5, 1: 5})
    expect(reset("--shift-by=-2")[:2], (0, "clicks:0:1\norders:0:3\norders:1:3\n"))
    expect(reset("--shift-by", "100", "-t", "orders")[:2], (0, "orders:0:5\norders:1:5\n"))
    expect(reset("--to-earliest")[:2], (0, everything))
    expect(world.offsets(), {"orders": {0: 0, 1: 0}, "clicks": {0: 0}})
    expect(reset("--to-time=2100-01-01T00:00:00", "-t", "orders", "-p", "0")[:2], (0, "orders:0:5\n"))
    expect(reset("--to-time", "1000", "-t", "orders", "-p", "0")[:2], (0, "orders:0:0\n"))
    expect(reset("--to-time", "yesterday")[0], 1)
    expect(reset("--to-latest", "--to-earliest")[0], 1)
    expect(reset("--to-latest", "-t", "nope")[0], 1)

    # set: told when it is outside of the log; get of a group that is not there is a problem
    done = run("zkconsumer", "offsets", "set", "-G", "billing", "-t", "orders", "-o", "77", "--zookeeper",
               world.connect)
    expect(done.returncode, 0)
    expect_in("[orders,0] ends at 5", done.stderr)
    expect(world.offsets()["orders"], {0: 77, 1: 77})
    expect(run("zkconsumer", "offsets", "get", "-G", "none", "--zookeeper", world.connect).returncode, 2)


def test_ten_resets_at_once(t):
    """As when every member of a group is started with one: refused alike beside a live member; else all
    succeed, also those that make the nodes, and what is there in the end is what they asked for."""
    world = Billing(t)

    def ten(*wheres, group="billing"):
        """Ten processes at once, which take turns with `wheres`; (status, standard output) of each."""
        words = [program("zkconsumer"), "offsets", "reset", "-G", group, "--zookeeper", world.connect,
                 "-t", "orders", "-t", "clicks"]
        running = [subprocess.Popen([*words, *wheres[n % len(wheres)].split()], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE) for n in range(10)]
        said = [one.communicate(timeout=60) for one in running]
        return [(one.returncode, out, err) for one, (out, err) in zip(running, said)]

    before = world.offsets()
    for code, out, err in ten("--to-earliest"):
        expect((code, out, "billing_c1" in err), (1, "", True))
    expect(world.offsets(), before)
    lines = {"--to-earliest": "orders:0:0\norders:1:0\nclicks:0:0\n",
             "--to-latest": "orders:0:5\norders:1:5\nclicks:0:3\n"}
    expect([done[:2] for done in ten("--to-latest --force")], [(0, lines["--to-latest"])] * 10)
    expect(world.zk.get("/consumers/billing/offsets/orders/1")[0], b"05")  # asked of its owner once
    world.stop_member()
    for group in ("billing", "fresh"):  # of the second there is nothing yet
        expect([done[:2] for done in ten("--to-earliest", group=group)], [(0, lines["--to-earliest"])] * 10)
        seen = t.group(world.cluster, group)
        expect((seen.offsets("orders"), seen.offsets("clicks")), ({0: 0, 1: 0}, {0: 0}))
    for n, done in enumerate(ten("--to-earliest", "--to-latest")):
        expect(done[:2], (0, list(lines.values())[n % 2]))
    for topic, ends in (("orders", (0, 5)), ("clicks", (0, 3))):
        assert set(world.offsets()[topic].values()) <= set(ends), world.offsets()


def verify_what_cannot_be_checked(world, words):
    """With a member whose filter is not understood here nothing is called successful."""
    ids, orders = "/consumers/billing/ids/", "/consumers/billing/owners/orders/"
    odd = json.dumps({"version": 1, "subscription": {"(" * 90 + "orders" + ")" * 90: 1}, "pattern": "white_list",
                      "timestamp": "1"}).encode()
    world.zk.create(ids + "odd_a", odd, ephemeral=True)
    # nothing bad is seen, but who should own what is not known
    for partition in "01":
        world.zk.create(orders + partition, b"odd_a-0", ephemeral=True)
    mine = ours("VerifyConsumerRebalance", *words)
    expect((mine.code, mine.out), (4, "Rebalance operation could not be verified !\n"))
    expect_in("the share of odd_a is not known", mine.err)
    # an owner that nobody can be
    world.zk.set(orders + "1", b"odd_a-7")
    mine = ours("VerifyConsumerRebalance", *words)
    expect((mine.code, mine.out), (2, "Rebalance operation failed !\n"))
    expect_in("[orders,1] is owned by odd_a-7", mine.err)
    shown = run("zkconsumer", "groups", "describe", "-G", "billing", "--zookeeper", world.connect)
    expect_in("its share is not known", shown.stdout)
    for node in (ids + "odd_a", orders + "0", orders + "1"):
        world.zk.delete(node)


def test_verify_without_zookeeper(t):
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        connect = "127.0.0.1:%d" % nobody.getsockname()[1]
        done = run("zkconsumer", "groups", "verify", "-G", "billing", "--zookeeper", connect,
                   "--timeout", "2000")
    expect((done.returncode, done.stdout), (3, ""))
    expect_in(connect, done.stderr)


def test_verify_and_delete(t):
    world = Billing(t)
    words = ("--zookeeper.connect", world.connect, "--group", "billing")
    theirs, mine = world.both("VerifyConsumerRebalance", *words)
    expect((mine.code, mine.out), (0, "Rebalance operation successful !\n"))
    expect(theirs.out, "Rebalance operation failed !\n")  # Kafka's compares numbers with text

    def delete(*more):
        done = run("zkconsumer", "groups", "delete", "--zookeeper", world.connect, *more)
        return done.returncode, done.stderr

    code, err = delete("-G", "billing")
    expect((code, "has members" in err), (2, True))
    expect(world.offsets()["orders"], {0: 5, 1: 5})
    world.zk.delete("/consumers/billing/owners/orders/1")
    mine = ours("VerifyConsumerRebalance", *words)
    expect((mine.code, mine.out), (2, "Rebalance operation failed !\n"))
    expect_in("unowned: [orders,1] has no owner", mine.err)
    world.stop_member()
    verify_what_cannot_be_checked(world, words)
    mine = ours("VerifyConsumerRebalance", *words)
    expect((mine.code, "no_members" in mine.err), (2, True))
    mine = ours("VerifyConsumerRebalance", "--zookeeper.connect", world.connect, "--group", "nogroup")
    expect((mine.code, "no_group" in mine.err), (2, True))

    world.zk.create("/consumers/console-consumer-77/ids", makepath=True)
    world.zk.create("/consumers/console-consumer-mine/ids", makepath=True)
    expect(delete("-G", "billing", "--dry-run")[0], 0)
    expect(sorted(world.zk.get_children("/consumers")),
           ["billing", "console-consumer-77", "console-consumer-mine"])
    expect(delete("-G", "billing", "--console-groups")[0], 0)
    expect(world.zk.get_children("/consumers"), ["console-consumer-mine"])
    expect(delete("-G", "billing")[0], 2)


def test_kafka_consumer_groups(t):
    """The columns of Kafka 0.10.0's ConsumerGroupCommand, which no release here prints of ZooKeeper's groups; an
    honest exit status."""
    world = Billing(t)

    def tool(*words):
        return ours("kafka-consumer-groups", "--zookeeper", world.connect, *words)

    def table(offsets, owner, last=7):
        row = "%-30s %-30s %-10s %-15s %-15s %-15s %s"
        rows = [("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "OWNER")]
        rows += [("billing", topic, p, at, end, end - at, owner)
                 for (topic, p, end), at in zip((("clicks", 0, 3), ("orders", 0, 5), ("orders", 1, last)), offsets)]
        return "".join(row % fields + "\n" for fields in rows)

    world.send("orders", [(1, None, b"new")] * 2)  # compat reads them, and commits
    wait_for(lambda: world.offsets()["orders"] == {0: 5, 1: 7}, "both to be committed")
    expect(tool("--list"), (0, "billing\n", ""))
    expect(tool("--describe", "--group", "billing")[:2], (0, table((3, 5, 7), "billing_c1-0")))
    expect(tool("--delete", "--group", "billing")[:2],
           (2, "Delete for group billing failed because its consumers are still active.\n"))
    expect(tool("--reset-offsets", "--group", "billing", "--to-earliest", "--execute").code, 1)  # it is live
    world.stop_member()
    world.send("orders", [(1, None, b"unread")] * 2)
    done = tool("--describe", "--group", "billing")
    expect(done[:2], (2, table((3, 5, 7), "none", 9)))
    expect_in("problem: nobody is registered in group billing", done.err)
    plan = ["\n%-30s %-30s %-10s %-15s\n" % ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"),
            "%-30s %-30s %-10s %-15s\n" % ("billing", "orders", 0, 3),
            "%-30s %-30s %-10s %-15s\n" % ("billing", "orders", 1, 5)]
    reset = ("--reset-offsets", "--group", "billing", "--topic", "orders", "--shift-by", "-2")
    expect(tool(*reset)[:2], (0, "".join(plan)))
    expect(world.offsets()["orders"], {0: 5, 1: 7})
    expect(tool(*reset, "--dry-run")[:2], (0, "".join(plan)))
    expect(tool(*reset, "--execute")[:2], (0, "".join(plan)))
    expect(world.offsets()["orders"], {0: 3, 1: 5})
    expect(tool("--reset-offsets", "--group", "billing", "--all-topics", "--to-latest", "--execute").code, 0)
    expect(world.offsets(), {"orders": {0: 5, 1: 9}, "clicks": {0: 3}})
    csv = t.folder / "plan.csv"
    everything = ("--reset-offsets", "--group", "billing", "--all-topics")
    expect(tool(*everything, "--to-current", "--export")[:2], (0, "clicks,0,3\norders,0,5\norders,1,9\n"))
    for words, at in ((("--topic", "orders", "--to-offset", "4"), {0: 4, 1: 4}),
                      (("--topic", "orders:1", "--to-offset", "99"), {0: 4, 1: 9}),  # the end of the log
                      (("--topic", "orders:0,1", "--shift-by", "-1"), {0: 3, 1: 8}),
                      (("--topic", "orders", "--by-duration", "-PT1H"), {0: 5, 1: 9}),  # an hour ahead
                      (("--topic", "orders", "--by-duration", "P30000D"), {0: 0, 1: 0}),
                      (("--topic", "orders", "--to-datetime", "2100-01-01T00:00:00.000+01:00"), {0: 5, 1: 9})):
        expect((words, tool("--reset-offsets", "--group", "billing", *words, "--execute").code), (words, 0))
        expect((words, world.offsets()["orders"]), (words, at))
    csv.write_text("orders, 1, 7\r\n\nclicks,0,1\n")
    done = tool("--reset-offsets", "--group", "billing", "--from-file", csv, "--execute", "--export",
                "--command-config", "admin.properties")
    expect(done[:2], (0, "clicks,0,1\norders,1,7\n"))
    expect_in("--command-config=admin.properties is not read", done.err)
    expect(world.offsets(), {"orders": {0: 5, 1: 7}, "clicks": {0: 1}})

    def ids():
        return world.zk.exists("/consumers/billing/ids")

    expect(tool("--delete", "--group", "billing", "--topic", "clicks", "--dry-run").code, 0)
    expect(world.offsets()["clicks"], {0: 1})
    expect(tool("--delete", "--group", "billing", "--topic", "clicks")[:2],
           (0, "Deleted consumer group information for group billing topic clicks in zookeeper.\n"))
    expect((world.group.offsets("clicks"), world.offsets()["orders"], bool(ids())), ({}, {0: 5, 1: 7}, True))
    expect(tool("--delete", "--group", "billing", "--topic", "clicks")[:2], (2, ""))
    expect(tool("--delete", "--group", "billing")[:2],
           (0, "Deleted all consumer group information for group billing in zookeeper.\n"))
    expect(tool("--delete", "--group", "billing")[:2],
           (2, "Delete for group billing failed because group does not exist.\n"))
    expect(tool("--list"), (0, "", ""))
    for words, part in (((), "exactly one action: --list, --describe, --delete, --reset-offsets"),
                        (("--list", "--describe"), "exactly one action"),
                        (("--list", "--group", "g"), "--group does nothing with --list"),
                        (("--delete", "--group", "g", "--to-offset", "1"), "--to-offset does nothing with --delete"),
                        (("--reset-offsets", "--group", "g", "--to-offset", "-1"), "--to-offset"),
                        (("--reset-offsets", "--group", "g", "--by-duration", "1h"), "expected PnDTnHnMnS"),
                        (("--reset-offsets", "--group", "g", "--to-current", "--to-latest"), "exactly one of"),
                        (("--reset-offsets", "--group", "g", "--to-current", "--topic", "t:x"), "--topic=t:x"),
                        (("--reset-offsets", "--group", "g", "--from-file", "/nowhere"), "/nowhere: "),
                        (("--reset-offsets", "--group", "g", "--to-latest", "--execute", "--dry-run"), "one of them"),
                        (("--reset-offsets", "--group", "g", "--to-latest", "--topic", "t", "--all-topics"), "alone"),
                        (("--describe",), "--group is needed"),
                        (("--describe", "--group", "g", "--group", "h"), "--group is given twice"),
                        (("--describe", "--group", "g", "more"), '"more" is no option'),
                        (("--bootstrap-server", "h:1", "--list"), "unknown option --bootstrap-server")):
        done = tool(*words)
        expect((words, done.code, done.out), (words, 1, ""))
        expect_in(part, done.err)


def test_groups_forget_a_topic(t):
    """Beside Kafka 0.9's own: it says the same, and leaves the same but for what it forgets."""
    cluster = t.cluster(brokers=1)
    zk, zookeeper = cluster.zk, ("--zookeeper", cluster.zookeeper_connect, "--delete")
    groups = {"two": ["a", "b"], "one": ["a"], "other": ["b"], "live": ["a", "b"], "three": ["a", "b"]}

    def make():
        for group, topics in groups.items():
            zk.ensure_path("/consumers/%s/ids" % group)
            for topic in topics:
                zk.ensure_path("/consumers/%s/owners/%s" % (group, topic))
                zk.create("/consumers/%s/offsets/%s/0" % (group, topic), b"5", makepath=True)
        zk.create("/consumers/live/ids/live_x", b"{}")

    def tree(path="/consumers"):
        below = [node for name in sorted(zk.get_children(path)) for node in tree(path + "/" + name)]
        return below or [path]

    def theirs(*words):
        return kafkas("kafka.admin.ConsumerGroupCommand", *zookeeper, *words, version="0.9.0.1").out

    def tool(*words):
        return ours("kafka-consumer-groups", *zookeeper, *words)

    made = {}
    for name in ("theirs", "ours"):
        make()
        made[name] = []
        for words, code in ((("--group", "two", "--group", "live", "--topic", "a"), 2),
                            (("--group", "one", "--topic", "a"), 0), (("--group", "nope", "--topic", "a"), 2),
                            (("--topic", "b"), 0), (("--topic", "nope"), 0)):
            done = tool(*words) if name == "ours" else None
            made[name].append(done.out if done else theirs(*words))
            expect((words, done.code if done else code), (words, code))
        made[name].append(tree())
        zk.delete("/consumers", recursive=True)
    expect(made["ours"], made["theirs"])
    expect(len(made["ours"][0].splitlines()), 2)

    make()  # a partition that is owned, by a session whose registration is gone
    zk.create("/consumers/two/owners/a/0", b"two_x-0", ephemeral=True)
    expect(tool("--group", "two", "--topic", "a")[:2],
           (2, "Delete for group two topic a failed because its consumers are still active.\n"))
    expect(zk.get("/consumers/two/offsets/a/0")[0], b"5")
    zk.create("/consumers/four/offsets/a/0", b"5", makepath=True)  # which Kafka's overlooks
    expect(tool("--topic", "a").code, 0)
    expect(zk.exists("/consumers/four"), None)


def test_kafka_topics(t):
    """Beside Kafka's own, on one cluster: the same output."""
    cluster = t.cluster(kafka="0.8.2.2", brokers=2, properties={"delete.topic.enable": "true"})
    zookeeper = ("--zookeeper", cluster.zookeeper_connect)

    def theirs(*words):
        return kafkas("kafka.admin.TopicCommand", *words, *zookeeper)

    def tool(*words):
        return ours("kafka-topics", *words, *zookeeper)

    def both(*words):
        mine = tool(*words)
        expect((words, mine.code, mine.out), (words, 0, theirs(*words).out))
        return mine.out

    size = ("--partitions", "2", "--replication-factor", "2")
    expect(theirs("--create", "--topic", "one", *size).out, 'Created topic "one".\n')
    expect(tool("--create", "--topic", "two", *size, "--config", "retention.ms=3600000"),
           (0, 'Created topic "two".\n', ""))
    expect(tool("--create", "--topic", "two", *size)[:2], (1, ""))
    expect(tool("--create", "--topic", "two", *size, "--if-not-exists"), (0, "", ""))
    for topic in ("one", "two"):
        cluster.wait_for_topic(topic, 2)
    both("--list")
    expect(len(both("--describe").splitlines()), 6)
    expect(both("--describe", "--topic", "two").count("retention.ms=3600000"), 1)
    expect(both("--describe", "--topics-with-overrides").count("Topic:"), 1)
    expect(both("--describe", "--under-replicated-partitions"), "")
    expect(both("--describe", "--unavailable-partitions"), "")
    cluster.brokers[1].kill()
    wait_for(lambda: cluster.zk.get_children("/brokers/ids") == ["0"] and
             tool("--describe", "--under-replicated-partitions").out.count("Isr: 0\n") == 4, "the ISR to shrink", 60)
    expect(both("--describe", "--under-replicated-partitions").count("\n"), 4)
    expect(both("--describe", "--unavailable-partitions"), "")
    cluster.restart_broker(1)
    wait_for(lambda: tool("--describe", "--under-replicated-partitions").out == "", "the ISR to grow", 60)

    for words in (("--list", "--topic", "t.*"), ("--list", "--topic", "two,one"), ("--list", "--topic", "tw"),
                  ("--describe", "--topic", '"o[mn]e"')):
        both(*words)
    mine = tool("--alter", "--topic", "one", "--partitions", "3")
    expect((mine.code, mine.out), (0, theirs("--alter", "--topic", "two", "--partitions", "3").out))
    mine = tool("--delete", "--topic", "one")
    expect((mine.code, mine.out), (0, theirs("--delete", "--topic", "two").out.replace("two", "one")))
    wait_for(lambda: not cluster.zk.get_children("/brokers/topics"), "both to be deleted", 60)
    expect(tool("--alter", "--topic", "one", "--partitions", "5")[:2], (1, ""))
    mine = tool("--delete", "--topic", "one")
    expect((mine.code, mine.out), (1, theirs("--delete", "--topic", "one").out))
    for action in (("--delete",), ("--alter", "--partitions", "5")):
        expect(tool(*action, "--topic", "one", "--if-exists"), (0, "", ""))
    for words, part in (((), "exactly one action: --list, --describe, --create, --alter, --delete"),
                        (("--list", "--partitions", "3"), "--partitions does nothing with --list"),
                        (("--create", "--topic", "a", "--topic", "b"), "--topic is given twice"),
                        (("--create", "--topic", "a", "--replica-assignment", "0,1", "--partitions", "2"),
                         "neither --partitions"),
                        (("--create", "--topic", "a", "--replica-assignment", "0:0"), "broker 0 twice"),
                        (("--describe", "--topic", "(("), "--topic: "),
                        (("--alter", "--topic", "a"), "what shall be altered?"),
                        (("--alter", "--topic", "a", "--config", "x=1"), '"x" is no setting'),
                        (("--alter", "--topic", "a", "--config", "retention.ms"), "expected KEY=VALUE"),
                        (("--alter", "--topic", "a", "--delete-config", "x"), '"x" is no setting'),
                        (("--alter", "--topic", "a", "--replica-assignment", "0"), "does nothing with --alter"),
                        (("--describe", "--unavailable-partitions", "--topics-with-overrides"), "one of them")):
        done = tool(*words)
        expect((words, done.code, done.out), (words, 1, ""))
        expect_in(part, done.err)


def test_kafka_topics_settings(t):
    """Ours and Kafka's in turn: the same output, and the same in ZooKeeper; the brokers hear of it."""
    cluster = t.cluster(kafka="0.8.2.2", brokers=2)
    zk, zookeeper = cluster.zk, ("--zookeeper", cluster.zookeeper_connect)

    def theirs(*words):
        return kafkas("kafka.admin.TopicCommand", *words, *zookeeper)

    def tool(*words):
        return ours("kafka-topics", *words, *zookeeper)

    def data(topic):
        return (zk.get("/brokers/topics/" + topic)[0].decode(),
                json.loads(zk.get("/config/topics/" + topic)[0].decode()))

    def changes():
        """What brokers were told, by the number of the node."""
        return {name: zk.get("/config/changes/" + name)[0].decode() for name in zk.get_children("/config/changes")}

    placed = ("--replica-assignment", "1:0,0:1", "--config", "retention.ms=5000", "--config", "segment.bytes = 99999")
    for topic, run_one in (("theirs", theirs), ("ours", tool)):
        done = run_one("--create", "--topic", topic, *placed)
        expect((done.code, done.out), (0, 'Created topic "%s".\n' % topic))
        cluster.wait_for_topic(topic, 2)
    expect(data("ours"), data("theirs"))
    expect((cluster.leader("ours", 0), cluster.leader("ours", 1)), (1, 0))

    number = 0
    for words, wanted in (
            (("--config", "retention.ms=7000", "--config", "flush.ms=1"), {"retention.ms": "7000", "flush.ms": "1"}),
            (("--delete-config", "flush.ms", "--delete-config", "max.message.bytes"), {"retention.ms": "7000"}),
            (("--config", "flush.ms=3", "--delete-config", "flush.ms", "--partitions", "3"), {"retention.ms": "7000"})):
        for topic, run_one in (("theirs", theirs), ("ours", tool), ("(ours|t.eirs)", theirs)):
            if "--partitions" in words and "|" in topic:
                continue
            done = run_one("--alter", "--topic", topic, *words)
            names = ["ours", "theirs"] if "|" in topic else [topic]
            expect(done.code, 0)
            expect(done.out.splitlines()[:2 if "|" in topic else 1],
                   ['Updated config for topic "%s".' % name for name in names])
            told = changes()
            for name in names:  # one sequence, whoever writes
                expect(told.get("config_change_%010d" % number), '"%s"' % name)
                number += 1
        expect(data("ours")[1], data("theirs")[1])
        expect(data("ours")[1]["config"], dict(wanted, **{"segment.bytes": "99999"}))
    expect(len(changes()), number)
    for topic in ("ours", "theirs"):
        cluster.wait_for_topic(topic, 3)
        for broker in cluster.brokers.values():
            wait_for(lambda: "for topic %s, setting new config to" % topic in broker.log_file.read_text(),
                     "broker %d to hear of it" % broker.id)

    # several at once, each with a setting of its own: none is lost, and each is told
    settings = {"flush.ms": "11", "flush.messages": "12", "segment.ms": "13", "retention.bytes": "14",
                "segment.index.bytes": "15", "index.interval.bytes": "16"}
    running = [subprocess.Popen([program("kafka-topics"), "--alter", "--topic", "ours", *zookeeper,
                                 "--config", "%s=%s" % setting]) for setting in settings.items()]
    expect([one.wait(60) for one in running], [0] * len(settings))
    number += len(settings)
    expect(sorted(changes())[-1], "config_change_%010d" % (number - 1))
    expect(data("ours")[1]["config"], dict(settings, **{"segment.bytes": "99999", "retention.ms": "7000"}))

    expect(tool("--alter", "--topic", "none", "--config", "flush.ms=1")[:2], (1, ""))
    expect(tool("--alter", "--topic", ".*", "--partitions", "3")[:2], (1, ""))  # nothing is written of any
    expect(len(changes()), number)
    done = tool("--create", "--topic", "later", "--replica-assignment", "0:7")
    expect((done.code, done.out), (0, theirs("--create", "--topic", "late", "--replica-assignment", "0:7").out
                                   .replace("late", "later")))
    expect_in("broker 7, of partition 0, is not registered", done.err)


def test_offsets_and_messages_of_brokers(t):
    world = Billing(t)
    brokers = ("--broker-list", world.cluster.bootstrap)
    for words in (("--topic", "orders", "--time", "-1"), ("--topic", "orders", "--time", "-2"),
                  ("--topic", "orders", "--time", "-1", "--offsets", "5", "--partitions", "0,9"),
                  ("--topic", "clicks", "--time", "99999999999999")):
        theirs, mine = world.both("GetOffsetShell", *brokers, *words)
        expect((words, mine.out), (words, theirs.out))
        expect(mine.code, 2 if "0,9" in words else 0)
    expect_in("partition 9 does not exist", ours("GetOffsetShell", *brokers, "--topic", "orders", "--time=-1",
                                                 "--partitions=9").err)
    expect(ours("GetOffsetShell", *brokers, "--topic", "nope", "--time", "-1").code, 2)
    expect(world.zk.exists("/brokers/topics/nope"), None)  # asking made nothing
    expect(ours("GetOffsetShell", *brokers, "--topic", "orders").code, 1)
    expect(ours("GetOffsetShell", "--broker-list", "127.0.0.1:1", "--topic", "o", "--time=-1").code, 3)

    for words in (("--topic", "orders", "--partition", "0", "--no-wait-at-logend", "--print-offsets"),
                  ("--topic", "orders", "--partition", "1", "--no-wait-at-logend", "--offset", "2",
                   "--max-messages", "2"),
                  ("--topic", "clicks", "--partition", "0", "--no-wait-at-logend", "--property",
                   "print.key=true", "--property", "key.separator=:"),
                  ("--topic", "clicks", "--partition", "0", "--no-wait-at-logend", "--formatter",
                   "kafka.tools.ChecksumMessageFormatter", "--property", "topic=clicks"),
                  ("--topic", "orders", "--partition", "0", "--no-wait-at-logend", "--formatter",
                   "kafka.tools.NoOpMessageFormatter")):
        theirs, mine = world.both("SimpleConsumerShell", *brokers, *words)
        expect((words, mine.code, mine.out), (words, 0, theirs.out))
    for words, code, part in (
            (("--topic", "nope", "--partition", "0"), 1, "partition 0 does not exist for topic nope"),
            (("--topic", "orders", "--partition", "9"), 1, "partition 9 does not exist for topic orders"),
            (("--topic", "orders"), 1, "--partition is needed"),
            (("--topic", "orders", "--partition", "0", "--offset", "-3"), 1, "--offset=-3"),
            (("--topic", "orders", "--partition", "0", "--offset", "99"), 2, "OFFSET_OUT_OF_RANGE"),
            (("--topic", "orders", "--partition", "0", "--replica", "7"), 1, "replica 7")):
        mine = ours("SimpleConsumerShell", *brokers, *words, "--no-wait-at-logend")
        expect((words, mine.code, mine.out), (words, code, ""))
        expect_in(part, mine.err)
    expect(ours("kafka-simple-consumer-shell", "--broker-list", "127.0.0.1:1", "--topic", "o", "--partition",
                "0").code, 3)


def test_shell_follows_a_leader(t):
    """The leader dies in the middle: the shell finds the next one and misses nothing."""
    cluster = t.cluster(brokers=2)
    cluster.create_topic("t", 1, replication=2)
    producer = t.producer(cluster)
    producer.send("t", [(0, None, b"a%d" % i) for i in range(5)])
    first = cluster.leader("t", 0)
    others = [broker.address for number, broker in cluster.brokers.items()
              if number != first]
    process = t.process("shell", [program("zkconsumer"), "shell", "-b", ",".join(others), "-t", "t", "-p", "0"],
                        err=t.folder / "shell.err")
    wait_for(lambda: len(process.text_lines()) == 5, "the first messages", alive=[process])
    cluster.brokers[first].kill()
    cluster.wait_for_leader("t", 0, 1 - first)
    producer.send("t", [(0, None, b"b%d" % i) for i in range(5)])
    wait_for(lambda: len(process.text_lines()) == 10, "the others", 60, alive=[process])
    assert process.stop() == 0
    expect(process.text_lines(), ["a%d" % i for i in range(5)] + ["b%d" % i for i in range(5)])
