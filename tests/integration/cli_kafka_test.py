"""The program on a real 0.8.2.2 cluster: what consume reads, counts and commits, what produce refuses,
and the examples."""
import json
import re
import signal
import subprocess

from kazoo.client import KazooClient

from lib.group import Group
from lib.members import program, run
from lib.waiting import wait_for


def cluster_with_topic(t, partitions=2, each=10, name="t", **options):
    """`each` messages in every partition, keys k0.., values m-<partition>-<number>."""
    cluster = t.cluster(**options)
    cluster.create_topic(name, partitions)
    messages = [(p, b"k%d" % i, b"m-%d-%d" % (p, i)) for i in range(each) for p in range(partitions)]
    if messages:
        t.producer(cluster).send(name, messages)
    return cluster


def zkconsumer(cluster, *words, stdin=b""):
    return run("zkconsumer", *words, "--zookeeper=" + cluster.zookeeper_connect, stdin=stdin)


def consume(cluster, *words):
    """`consume` to its end: sorted lines of stdout; stderr."""
    done = zkconsumer(cluster, "consume", *words)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return sorted(done.stdout.splitlines()), done.stderr


def offsets(cluster, group, topic="t"):
    return Group(cluster.zk, group).offsets(topic)


def groups(cluster):
    return cluster.zk.get_children("/consumers")


def test_everything_that_is_there(t):
    cluster = cluster_with_topic(t)
    cluster.create_topic("empty", 3)
    every = sorted("m-%d-%d" % (p, i) for p in range(2) for i in range(10))
    lines, told = consume(cluster, "-t", "t", "-t", "empty", "--from-beginning", "--exit-at-end")
    assert lines == every, lines
    for part in ("Reached end of topic t [0] at offset 10", "Reached end of topic t [1] at offset 10",
                 "Reached end of topic empty [2] at offset 0", "Consumed 20 messages"):
        assert part in told, told
    assert groups(cluster) == [], "the made-up group is left"

    lines, _ = consume(cluster, "-t", "t", "-G", "g", "-X", "auto.offset.reset=smallest", "-e", "-f",
                       "%t %p %o %k %K %s %S %T[%h]%g\\n")
    assert lines == sorted("t %d %d k%d 2 m-%d-%d 5 -1[]g" % (p, i, i, p, i)
                           for p in range(2) for i in range(10)), lines
    assert offsets(cluster, "g") == {0: 10, 1: 10}
    lines, told = consume(cluster, "-t", "t", "-G", "g", "--from-beginning", "-e")
    without = re.findall(r"--from-beginning has no effect on (\d) of (\d) partitions", told)  # as they come
    assert lines == [] and [sum(map(int, numbers)) for numbers in zip(*without)] == [2, 2], told

    lines, _ = consume(cluster, "-t", "t", "--from-beginning", "-e", "-J", "-q")
    assert json.loads(lines[0]) == {"topic": "t", "partition": 0, "offset": 0, "tstype": "unknown",
                                    "ts": 0, "broker": -1, "key": "k0", "payload": "m-0-0"}


def test_max_messages_counts_and_commits(t):
    cluster = cluster_with_topic(t, partitions=1, each=100)
    lines, told = consume(cluster, "-t", "t", "-G", "g", "--from-beginning", "--max-messages=30")
    assert len(lines) == 30 and "Consumed 30 messages" in told, told
    assert offsets(cluster, "g") == {0: 30}, offsets(cluster, "g")
    lines, _ = consume(cluster, "-t", "t", "-G", "g", "-c", "70")
    assert len(lines) == 70 and "m-0-29" not in lines, lines
    assert offsets(cluster, "g") == {0: 100}
    consume(cluster, "-t", "t", "--from-beginning", "-c", "5")
    assert groups(cluster) == ["g"], "the made-up group is left"


def test_a_partition_that_another_keeps(t):
    """In safe mode what the member has is consumed from the first, and who holds the rest is said."""
    cluster = cluster_with_topic(t, partitions=3)
    cluster.zk.create("/consumers/g/owners/t/1", b"g_other-0", makepath=True)
    lines, told = consume(cluster, "-t", "t", "-G", "g", "--from-beginning", "-c", "20")
    assert lines == sorted("m-%d-%d" % (p, i) for p in (0, 2) for i in range(10)), lines
    process = t.process("consume", [program("zkconsumer"), "consume", "-t", "t", "-G", "g", "--zookeeper",
                                    cluster.zookeeper_connect, "-X", "zookeeper.session.timeout.ms=4000",
                                    "-X", "zookeeper.hand.over.ms=100"], err=t.folder / "consume.err")
    wait_for(lambda: "1 of 3 partitions that are ours are held by others: [t,1] by g_other-0" in
             (t.folder / "consume.err").read_text(), "who holds it", 30)
    process.kill()


def test_single_partitions(t):
    cluster = cluster_with_topic(t, partitions=3)
    t.group(cluster, "g").set_offset("t", 1, 7)
    for words, want in (
            (["-p", "1", "-o", "beginning"], ["m-1-%d" % i for i in range(10)]),
            (["-p", "1", "--from-beginning"], ["m-1-%d" % i for i in range(10)]),
            (["-p", "1", "-G", "g", "--from-beginning"], ["m-1-%d" % i for i in range(10)]),
            (["-p", "0,2", "-o", "8"], ["m-0-8", "m-0-9", "m-2-8", "m-2-9"]),
            (["-p", "1", "-o", "-3"], ["m-1-7", "m-1-8", "m-1-9"]),
            (["-p", "1", "-o", "-1000"], ["m-1-%d" % i for i in range(10)]),
            (["-p", "1", "-o", "end"], []),
            (["-p", "1"], []),
            (["-p", "1", "-o", "stored", "-G", "g"], ["m-1-7", "m-1-8", "m-1-9"])):
        lines, _ = consume(cluster, "-t", "t", "-e", *words)
        assert lines == want, (words, lines)
    assert groups(cluster) == ["g"] and offsets(cluster, "g") == {1: 7}
    assert t.group(cluster, "g").members() == []


def test_a_signal_loses_nothing(t):
    """What was written before the signal is committed, what was not is for the next."""
    cluster = cluster_with_topic(t, partitions=2, each=50000)
    seen = []
    for number in (signal.SIGINT, signal.SIGTERM):
        process = t.process("consume", [program("zkconsumer"), "consume", "-t", "t", "-G", "g",
                                        "--zookeeper", cluster.zookeeper_connect, "--from-beginning",
                                        "-X", "fetch.message.max.bytes=20000"],
                            err=t.folder / ("%s.err" % number.name))
        wait_for(lambda process=process: len(process.text_lines()) > 2000, "some messages", every_s=0)
        assert process.stop(number) == 0
        seen += process.text_lines()
    lines, _ = consume(cluster, "-t", "t", "-G", "g", "-e")
    seen += lines
    assert len(seen) == len(set(seen)) == 100000, (len(seen), len(set(seen)))


def test_a_reader_that_goes_away(t):
    cluster = cluster_with_topic(t, partitions=1, each=20000)
    command = [program("zkconsumer"), "consume", "-t", "t", "-G", "g", "--from-beginning", "--zookeeper",
               cluster.zookeeper_connect]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"m-0-0\n"
        process.stdout.close()
        told = process.stderr.read().decode()
        assert process.wait(30) == 0, told
    assert "ERROR" not in told and "Consumed " in told, told
    assert t.group(cluster, "g").members() == []
    # also when nothing more is there to be written
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(lambda: t.group(cluster, "g").owners("t"), "the claim")
        process.stdout.close()
        told = process.stderr.read().decode()
        assert process.wait(30) == 0, told


def test_a_reader_that_is_slow(t):
    """A blocked stdout does not keep the session from being served."""
    cluster = cluster_with_topic(t, partitions=1, each=30000)
    proxy = t.zookeeper_proxy(cluster)
    dying = KazooClient(proxy.listen("dying"), timeout=4)
    dying.start(30)
    t.defer(dying.stop)
    dying.create("/dying", ephemeral=True)
    command = [program("zkconsumer"), "consume", "-t", "t", "-G", "g", "--from-beginning", "--zookeeper",
               cluster.zookeeper_connect, "-X", "zookeeper.session.timeout.ms=4000", "-e"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        group = t.group(cluster, "g")
        member, = wait_for(group.members, "the member")
        session = group.member_session(member)
        out = process.stdout.read(1000)
        proxy.hole("dying")
        wait_for(lambda: not cluster.zk.exists("/dying"), "a session that is as long to end")
        assert group.member_session(member) == session
        out += process.stdout.read()
        assert process.wait(30) == 0
    assert len(out.splitlines()) == 30000


def test_silence_and_kafkas_spellings(t):
    cluster = cluster_with_topic(t, partitions=1, each=3)
    config = t.folder / "consumer.properties"
    config.write_text("zookeeper.connect=%s\ngroup.id=g\nauto.offset.reset=largest\n"
                      % cluster.zookeeper_connect)
    done = run("zkconsumer", "consume", "--topic", "t", "--consumer.config", config, "--from-beginning",
               "--property", "print.key=true", "--property", "key.separator=|",
               "--property", "line.separator=;", "--timeout-ms=2000")
    assert (done.returncode, done.stdout) == (0, "k0|m-0-0;k1|m-0-1;k2|m-0-2;"), done
    assert "no message for 2000 ms" in done.stderr, done.stderr
    assert offsets(cluster, "g") == {0: 3}


def test_a_message_that_is_too_large(t):
    cluster = t.cluster()
    cluster.create_topic("t", 2)
    t.producer(cluster).send("t", [(0, None, b"x" * 5000), (1, None, b"small")])
    done = zkconsumer(cluster, "consume", "-t", "t", "-e", "--from-beginning", "-X",
                      "fetch.message.max.bytes=1000")
    assert (done.returncode, done.stdout) == (4, "small\n"), done
    assert "[t,0] at offset 0: " in done.stderr and "fetch.message.max.bytes" in done.stderr, done.stderr
    assert "1 partitions could not be read to their end" in done.stderr, done.stderr


def test_binary_messages(t):
    cluster = t.cluster()
    cluster.create_topic("t", 1)
    t.producer(cluster).send("t", [(0, b"\xff\x00", b"\x00\x01\xfe"), (0, None, b""), (0, b"", None)])
    done = zkconsumer(cluster, "consume", "-t", "t", "-e", "--from-beginning", "-J")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r.get("key"), r.get("key_base64"), r.get("payload"), r.get("payload_base64"))
            for r in rows] == [(None, "/wA=", None, "AAH+"), (None, None, "", None),
                               ("", None, None, None)], rows
    command = [program("zkconsumer"), "consume", "-t", "t", "-e", "--from-beginning", "-f", "%R%s%K;",
               "--zookeeper", cluster.zookeeper_connect]
    out = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True,
                         timeout=60).stdout
    assert out == b"\0\0\0\3\x00\x01\xfe2;" b"\0\0\0\0" b"-1;" b"\xff\xff\xff\xff0;", out


def test_produce_refuses_and_counts(t):
    cluster = t.cluster()
    cluster.create_topic("t", 1)
    words = ["produce", "-t", "t"]
    done = zkconsumer(cluster, *words, "-K", ":", stdin=b"d:\ne\nf:1\n")
    assert done.returncode == 1 and "line 2 has no key separator" in done.stderr, done
    assert "1 lines read, 1 delivered, 0 not delivered" in done.stderr, done.stderr
    done = zkconsumer(cluster, *words, "-X", "parse.key=true", "-X", "key.separator=|", "-X",
                      "message.max.bytes=1000", stdin=b"g|1\nh|" + b"x" * 2000 + b"\ni|2")
    assert done.returncode == 4, done
    assert "line 2 is not delivered: " in done.stderr and "MSG_SIZE_TOO_LARGE" in done.stderr, done.stderr
    assert "3 lines read, 2 delivered, 1 not delivered" in done.stderr, done.stderr
    lines, _ = consume(cluster, "-t", "t", "-e", "--from-beginning", "-f", "%k=%s %S\\n")
    assert lines == ["d= 0", "g=1 1", "i=2 1"], lines
    done = zkconsumer(cluster, *words, "-p", "7", stdin=b"a\n")
    assert done.returncode == 1 and "UNKNOWN_PARTITION" in done.stderr, done


def test_produce_until_interrupted(t):
    cluster = t.cluster()
    cluster.create_topic("t", 1)
    process = t.process("produce", [program("zkconsumer"), "produce", "-t", "t", "--zookeeper",
                                    cluster.zookeeper_connect], err=t.folder / "produce.err", stdin=True)
    process.send("one")
    process.send("two")
    group = ["-t", "t", "-p", "0", "-e", "--from-beginning"]
    wait_for(lambda: consume(cluster, *group)[0] == ["one", "two"], "both lines", every_s=0.2)
    assert process.stop(signal.SIGINT) == 0
    with open(process.err_path) as file:
        told = file.read()
    assert "2 lines read, 2 delivered, 0 not delivered" in told, told


def test_a_broker_is_stopped_while_its_group_is_described(t):
    cluster = t.cluster(brokers=2)
    cluster.require_failover()
    cluster.create_topic("t", 2, 2)
    t.producer(cluster).send_numbered("t", 2, 3)
    consume(cluster, "-t", "t", "-G", "g", "--from-beginning", "-e")
    t.producer(cluster).send_numbered("t", 2, 4)
    cluster.brokers[1].stop()
    cluster.wait_for_leader("t", 0, 0)
    cluster.wait_for_leader("t", 1, 0)
    done = zkconsumer(cluster, "groups", "describe", "-G", "g", "--json")
    view = json.loads(done.stdout)
    assert done.returncode == 2 and [p["kind"] for p in view["problems"]] == ["no_members"], done
    assert [(p["offset"], p["lag"], p["leader"]) for p in view["partitions"]] == [(3, 4, 0)] * 2, view


# ---- examples ----

def example(t, cluster, name, group):
    return t.process(name, [program(name), cluster.zookeeper_connect, group, "t"],
                     err=t.folder / ("%s.err" % name))


def run_example(t, name):
    """It gets every message, leaves in order, and what it got is committed."""
    cluster = cluster_with_topic(t, partitions=4, each=500)
    process = example(t, cluster, name, "g")
    wait_for(lambda: len(set(process.text_lines())) == 2000, "all messages", 60)
    assert process.stop(signal.SIGINT) == 0
    assert len(process.text_lines()) == 2000
    assert offsets(cluster, "g") == {p: 500 for p in range(4)}
    assert t.group(cluster, "g").members() == []
    return cluster


def test_example_group_consumer(t):
    cluster = run_example(t, "group_consumer")
    done = run("group_consumer", cluster.zookeeper_connect, "a b", "t")
    assert done.returncode == 1 and "settings: " in done.stderr, done


def test_example_own_loop(t):
    run_example(t, "own_loop")


def test_example_two_streams(t):
    run_example(t, "two_streams")
