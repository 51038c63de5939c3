"""docs/delivery.md, counted: what kill -9 does to messages that are committed before their work, after it, and
together with it. The session ends fast (ticks of 100 ms), so that a killed member's successor need not wait."""
import collections
import contextlib
import os
import random
import signal
import sqlite3
import time

from lib.members import program, run
from lib.testing import timeout
from lib.waiting import wait_for

FAST = {"tickTime": 100, "minSessionTimeout": 300, "maxSessionTimeout": 60000}
SETTINGS = {"zookeeper.session.timeout.ms": 1000, "rebalance.backoff.ms": 100, "rebalance.max.retries": 100,
            "auto.offset.reset": "smallest"}


def cluster_with_messages(t, count):
    cluster = t.zk_cluster(zookeeper_properties=FAST)
    cluster.create_topic("t", 2)
    produced = {"m-%d" % i for i in range(count)}
    t.producer(cluster).send("t", [(i % 2, None, b"m-%d" % i) for i in range(count)])
    return cluster, produced


def children(pid):
    """Process ids below this one: a machine that dies takes them with it."""
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        return found
    return found + [below for child in found for below in children(child)]


def kill_with_all(process):
    process.send_signal(signal.SIGSTOP)  # so that it starts nothing more
    for pid in (*children(process.pid), process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.kill()


def exec_with_kills(t, commit, command, kills, count=400):
    """Runs consume --exec to the end of the topic, killed on the way; how often each message was logged."""
    cluster, produced = cluster_with_messages(t, count)
    log = t.folder / "log"
    log.write_text("")
    words = ["consume", "-G", "g", "-t", "t", "--zookeeper", cluster.zookeeper_connect, "--exec",
             command % {"log": log}, "--commit", commit, "-f", "%s\\n",
             *[word for item in SETTINGS.items() for word in ("-X", "%s=%s" % item)]]
    luck = random.Random(1)
    for number in range(kills):
        before = log.stat().st_size
        process = t.process("consume%d" % number, [program("zkconsumer"), *words],
                            err=t.folder / ("consume%d.err" % number))
        wait_for(lambda: log.stat().st_size > before, "something to be done", 60, every_s=0.002, alive=[process])
        wait_for(lambda until=time.monotonic() + luck.random() * 0.05: time.monotonic() > until, "a while",
                 every_s=0.002)
        kill_with_all(process)
    wait_for(lambda: not t.group(cluster, "g").members(), "the last session to end", 30)
    done = run("zkconsumer", *words, "-e", timeout_s=180)
    assert done.returncode == 0, done.stderr
    counts = collections.Counter(log.read_text().split())
    assert set(counts) <= produced
    return produced - set(counts), {value for value, number in counts.items() if number > 1}


@timeout(400)
def test_committed_before_the_work_some_are_lost_and_none_comes_twice(t):
    lost, twice = exec_with_kills(t, "before", "read -r m; sleep 0.02; echo $m >>%(log)s", kills=15)
    print("lost %d, twice %d" % (len(lost), len(twice)))
    assert lost and not twice, (lost, twice)


@timeout(400)
def test_committed_after_the_work_some_come_twice_and_none_is_lost(t):
    lost, twice = exec_with_kills(t, "after", "read -r m; echo $m >>%(log)s; sleep 0.02", kills=15)
    print("lost %d, twice %d" % (len(lost), len(twice)))
    assert twice and not lost, (lost, twice)


def rows(path):
    with contextlib.closing(sqlite3.connect(path, timeout=30)) as db:
        return db.execute("SELECT partition, offset, value FROM results").fetchall()


@timeout(600)
def test_results_and_offset_in_one_transaction_over_100_kills(t):
    """Two members with one database, one of them killed each time; messages keep coming. Now and then one is
    stopped for longer than its session lasts, and goes on where it was, as if nothing had happened."""
    cluster, produced = cluster_with_messages(t, 200)
    path = t.folder / "results.db"
    producer = t.producer(cluster)
    luck = random.Random(2)
    command = [program("exactly_once"), cluster.zookeeper_connect, "g", "t", path,
               *["%s=%s" % item for item in SETTINGS.items()]]

    def start(number):
        return t.process("member%d" % number, command, err=t.folder / ("member%d.err" % number))

    def pause(member):
        member.send_signal(signal.SIGSTOP)
        values = ["m-%d" % (len(produced) + i) for i in range(60)]
        producer.send("t", [(i % 2, None, value.encode()) for i, value in enumerate(values)])
        produced.update(values)
        until = time.monotonic() + 3  # it may hold the database's lock: then nobody can go on
        wait_for(lambda: stored() >= len(produced) or time.monotonic() > until, "the other one to do it all")
        member.send_signal(signal.SIGCONT)

    def stored():
        try:
            return len(rows(path)) if path.exists() else 0
        except sqlite3.OperationalError:  # the table comes with the first member
            return 0

    members = [start(0), start(1)]
    wait_for(lambda: stored() >= 200, "the first messages", 60)
    for kill in range(100):
        first = len(produced)
        values = ["m-%d" % (first + i) for i in range(60)]
        before = stored()
        producer.send("t", [(i % 2, None, value.encode()) for i, value in enumerate(values)])
        produced.update(values)
        if luck.random() < 0.7:  # in the middle of the work, most of the time
            wait_for(lambda: stored() > before, "something to be stored", 60, every_s=0.001)
        if kill % 7 == 6:
            pause(members[kill // 7 % 2])
        victim = kill % 2
        members[victim].kill()
        members[victim] = start(kill + 2)
    wait_for(lambda: stored() >= len(produced), "everything to be stored", 120)
    for member in members:
        status = member.stop(signal.SIGINT)
        assert status == 0, member.how_it_ended()
    found = rows(path)
    values = collections.Counter(value.decode() for _, _, value in found)
    twice = {value for value, number in values.items() if number > 1}
    print("%d messages, 100 kills: lost %d, twice %d" % (len(produced), len(produced - set(values)), len(twice)))
    assert set(values) == produced and not twice, (produced - set(values), twice)
    offsets = collections.Counter((partition, offset) for partition, offset, _ in found)
    assert max(offsets.values()) == 1
