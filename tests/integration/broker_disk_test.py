"""What our broker keeps: folders that it shares with Kafka 0.8.2.2, crashes, and disks that fail."""
import os
import random
import signal
import socket
import threading
import time

from lib import brokerwire as wire
from lib import versions
from lib.members import program
from lib.producer import kcat_produce, kcat_read
from lib.testing import Skip, long, quick, timeout
from lib.waiting import wait_for
from lib.zkbroker import ZkBroker

FAST = {"tickTime": 100}
FAST_SESSION = {"zookeeper.session.timeout.ms": 400}


# ---- one folder, two brokers ----

def fill(cluster, seen, mark):
    """A message set of each codec to each partition; adds what is there now to `seen`."""
    for partition in (0, 1):
        for codec in (None, "gzip", "snappy"):
            kcat_produce(cluster, "t", [b"%s %s %d" % (mark, str(codec).encode(), i) for i in range(40)],
                         partition, codec)
    rows = kcat_read(cluster, "t")
    assert rows[:0] == [] and set(seen) <= set(rows), "messages changed"
    assert len(rows) == len(seen) + 240, (len(rows), len(seen))
    seen[:] = rows


def hand_over(t, end):
    """Kafka, ours, Kafka and ours again, on one folder; `end` ends each before the next begins."""
    cluster = t.cluster(zookeeper_properties={"tickTime": 500},
                        properties={"log.segment.bytes": 20000, "log.index.interval.bytes": 200})
    kafka = cluster.brokers[0]
    cluster.create_topic("t", 2)
    ours = ZkBroker(t.folder / "ours", versions.LEGACY, 0, cluster.zookeeper_connect,
                    {"log.dirs": kafka.folder / "logs", "log.segment.bytes": 20000,
                     "log.index.interval.bytes": 200, "auto.create.topics.enable": "false"})
    t.defer(ours.kill)
    seen = []
    fill(cluster, seen, b"first")
    for number, broker in enumerate((ours, kafka, ours)):
        getattr(cluster.brokers[0], end)()
        cluster.wait_until_unregistered(0)
        cluster.brokers[0] = broker
        broker.start()
        cluster.wait_for_topic("t", 2)
        assert kcat_read(cluster, "t") == seen, "turn %d" % number
        fill(cluster, seen, b"turn %d" % number)
    assert ours.stop() == 0


def test_a_folder_of_kafka_and_back(t):
    hand_over(t, "stop")


def test_a_folder_of_kafka_that_was_killed_and_back(t):
    hand_over(t, "kill")


# ---- kill -9 ----

class Load:
    """Produces without end, and remembers what was acknowledged. Each value is sent once."""

    def __init__(self, broker, topic, partition):
        self.broker, self.topic, self.partition = broker, topic, partition
        self.sent, self.acknowledged = set(), {}  # {offset: value}
        self._number = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self):
        self._stop.set()
        self._thread.join(30)

    def _run(self):
        while not self._stop.is_set():
            try:
                link = wire.Link(self.broker.port, timeout_s=5)
            except OSError:
                time.sleep(0.01)
                continue
            try:
                while not self._stop.is_set():
                    self._send(link)
            except (OSError, wire.Closed):
                pass
            link.close()

    def _send(self, link):
        values = []
        for _ in range(random.randint(1, 5)):
            self._number += 1
            values.append(b"%d-%d-%s" % (self.partition, self._number,
                                         b"x" * random.randint(0, 3000)))
        self.sent.update(values)
        error, offset = wire.produced(link.ask(wire.produce(
            self.topic, self.partition, [wire.message(value) for value in values])))
        if error == 0:
            self.acknowledged.update((offset + i, value) for i, value in enumerate(values))
        else:
            time.sleep(0.02)  # it has just begun and knows no partition yet


def read_all(broker, topic, partition):
    """[(offset, value)] of everything."""
    link = wire.Link(broker.port)
    found = []
    while True:
        error, watermark, records = wire.fetched(
            link.ask(wire.fetch(topic, partition, len(found))), topic)
        assert error == 0, error
        found += wire.entries(records)
        if len(found) >= watermark:
            link.close()
            return found


def kill_loop(t, rounds):
    cluster = t.zk_cluster(zookeeper_properties=FAST,
                           properties={"log.flush.interval.messages": 1, "log.segment.bytes": 200000,
                                       **FAST_SESSION})
    cluster.create_topic("t", 2)
    broker = cluster.brokers[0]
    loads = [Load(broker, "t", partition) for partition in (0, 1)]
    for number in range(rounds):
        before = [len(load.acknowledged) for load in loads]
        wait_for(lambda: all(len(load.acknowledged) > count for load, count in zip(loads, before)),
                 "messages to be acknowledged in round %d" % number, alive=[broker.process])
        time.sleep(random.uniform(0, 0.2))
        broker.kill()
        broker.start()
    for load in loads:
        load.stop()
    cluster.wait_for_topic("t", 2)
    for load in loads:
        found = read_all(broker, "t", load.partition)
        assert [offset for offset, _ in found] == list(range(len(found))), "offsets have gaps"
        lost = [offset for offset, value in load.acknowledged.items()
                if offset >= len(found) or found[offset][1] != value]
        invented = [offset for offset, value in found if value not in load.sent]
        print("%d acknowledged, %d there" % (len(load.acknowledged), len(found)))
        assert not lost and not invented, (lost[:5], invented[:5])


def test_kill_loop(t):
    kill_loop(t, 20)


@long
@timeout(1200)
def test_long_kill_loop(t):
    kill_loop(t, 200)


# ---- stops ----

@quick
def test_an_orderly_stop(t):
    cluster = t.zk_cluster()
    cluster.create_topic("t", 1)
    broker = cluster.brokers[0]
    link = wire.Link(broker.port)
    for i in range(10):
        link.ask(wire.produce("t", 0, [wire.message(b"%d" % i)]))
    assert broker.stop() == 0
    logs = broker.folder / "logs"
    assert (logs / ".kafka_cleanshutdown").exists()
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        assert (logs / name).read_text() == "0\n1\nt 0 10\n", name
    assert not cluster.zk.exists("/brokers/ids/0")
    broker.start()
    cluster.wait_for_topic("t", 1)
    assert "checked after an unclean stop" not in broker.log_text()
    assert read_all(broker, "t", 0) == [(i, b"%d" % i) for i in range(10)]


@quick
def test_a_second_signal_ends_it_at_once(t):
    cluster = t.zk_cluster()
    broker = cluster.brokers[0]
    cluster.zookeeper.process.pause()  # the end of the session is not confirmed
    t.defer(cluster.zookeeper.process.resume)
    broker.process.send_signal(signal.SIGTERM)
    broker.process.wait_for_line("stopping: ")
    broker.process.send_signal(signal.SIGTERM)
    assert broker.process.wait(10) in (128 + signal.SIGTERM, 0)


# ---- disks that fail ----

def own_disk(broker, size, options=""):
    """Its log folder is a file system of its own, which only it sees."""
    folder = broker.folder / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    mount = 'mount -t tmpfs -o size=%s%s tmpfs "$0" && exec "$@"' % (size, options)
    broker.wrapper = ["unshare", "-rm", "sh", "-c", mount, folder]
    if os.system('unshare -rm sh -c "mount -t tmpfs tmpfs %s" 2> /dev/null' % folder):
        raise Skip("file systems cannot be mounted here")
    return folder


def produce(broker, value):
    link = wire.Link(broker.port)
    answer = wire.produced(link.ask(wire.produce("t", 0, [wire.message(value)])))
    link.close()
    return answer


@quick
def test_a_full_disk(t):
    cluster = t.zk_cluster(start=False)
    broker = cluster.brokers[0]
    folder = own_disk(broker, "2m")
    cluster.start()
    cluster.create_topic("t", 1)
    there = []
    for i in range(100):
        value = b"%d %s" % (i, b"x" * 50000)
        error, offset = produce(broker, value)
        if error:
            break
        assert offset == len(there)
        there.append((offset, value))
    assert 20 < len(there) < 100 and (error, offset) == (-1, -1), (len(there), error, offset)
    assert "No space left on device" in broker.log_text()
    assert read_all(broker, "t", 0) == there  # and reading goes on
    assert produce(broker, b"y" * 50000)[0] == -1
    # there is room again
    seen = "/proc/%d/root%s" % (broker.process.pid, folder.resolve())
    os.system("nsenter -t %d -m -U --preserve-credentials mount -o remount,size=4m %s"
              % (broker.process.pid, folder.resolve()))
    assert produce(broker, b"z" * 50000) == (0, len(there)), (seen, broker.log_text())
    assert read_all(broker, "t", 0)[:-1] == there


@quick
def test_a_file_that_may_not_grow(t):
    cluster = t.zk_cluster(start=False)
    broker = cluster.brokers[0]
    broker.wrapper = ["prlimit", "--fsize=100000", "--"]
    cluster.start()
    cluster.create_topic("t", 1)
    assert produce(broker, b"a" * 60000) == (0, 0)
    assert produce(broker, b"b" * 60000) == (-1, -1)
    assert produce(broker, b"c" * 1000) == (0, 1)
    assert "File too large" in broker.log_text()
    broker.kill()
    broker.wrapper = []
    broker.start()
    cluster.wait_for_topic("t", 1)
    assert read_all(broker, "t", 0) == [(0, b"a" * 60000), (1, b"c" * 1000)]


@quick
def test_a_folder_that_is_read_only(t):
    cluster = t.zk_cluster(start=False)
    broker = cluster.brokers[0]
    own_disk(broker, "1m", ",ro")
    cluster.zookeeper.start()
    broker.start_without_waiting()
    assert broker.process.wait(20) == 1
    assert "cannot start: log.dirs: %s/.lock cannot be written: Read-only file system" % (
        broker.folder / "logs") in broker.log_text(), broker.log_text()


@quick
def test_two_brokers_in_one_folder(t):
    cluster = t.zk_cluster()
    second = ZkBroker(t.folder / "second", versions.LEGACY, 1, cluster.zookeeper_connect,
                      {"log.dirs": cluster.brokers[0].folder / "logs"})
    second.start_without_waiting()
    assert second.process.wait(20) == 1
    assert "is in use by another broker" in second.log_text(), second.log_text()


# ---- what is kept ----

@quick
def test_retention(t):
    """F47: what remains keeps its offsets, the earliest moves, the latest does not."""
    cluster = t.zk_cluster(properties={"log.segment.bytes": 10000, "log.retention.bytes": 30000,
                                       "log.retention.check.interval.ms": 200,
                                       "log.segment.delete.delay.ms": 100})
    cluster.create_topic("t", 1)
    broker = cluster.brokers[0]
    for i in range(100):
        assert produce(broker, b"%d %s" % (i, b"x" * 1000)) == (0, i)
    link = wire.Link(broker.port)

    def listed(time_ms):
        error, found = wire.offsets(link.ask(wire.list_offsets("t", 0, time_ms)), "t")
        assert error == 0
        return found[0]

    wait_for(lambda: listed(-2) > 0, "old segments to go")
    first = wait_for(lambda: listed(-2) == (time.sleep(0.5) or listed(-2)) and listed(-2),
                     "no more segments to go")
    assert 50 < first < 90 and listed(-1) == 100, first
    assert wire.fetched(link.ask(wire.fetch("t", 0, first - 1)), "t")[0] == 1
    error, watermark, records = wire.fetched(link.ask(wire.fetch("t", 0, first)), "t")
    assert error == 0 and watermark == 100
    assert [value.split()[0] for _, value in wire.entries(records)][0] == b"%d" % first
    folder = broker.folder / "logs" / "t-0"
    wait_for(lambda: not list(folder.glob("*.deleted")), "their files to go")
    assert sorted(path.name for path in folder.glob("*.log"))[0] == "%020d.log" % first


@quick
def test_hup_opens_the_log_again(t):
    cluster = t.zk_cluster(start=False)
    broker = cluster.brokers[0]
    path = t.folder / "own.log"
    cluster.zookeeper.start()
    broker.start_without_waiting("log.file=%s" % path)
    wait_for(lambda: path.exists() and "started: " in path.read_text(), "the broker to start")
    path.rename(t.folder / "moved.log")
    broker.process.send_signal(signal.SIGHUP)
    wait_for(path.exists, "a new file")
    assert broker.stop() == 0
    assert "stopped" in path.read_text()


@quick
def test_configuration_errors(t):
    folder = t.folder / "config"
    folder.mkdir()

    def refused(text, *overrides):
        file = folder / "server.properties"
        file.write_text(text)
        process = t.process("zkbroker", [program("zkbroker"), file,
                                         *(word for pair in overrides for word in ("--override", pair))])
        assert process.wait(20) == 1
        return "\n".join(process.text_lines())

    assert refused("broker.id=1\n") == (
        "zkbroker: zookeeper.connect is not set; expected host:port, or host:port/path")
    assert refused("broker.id=1\nport=x\n").endswith("server.properties:2: port=x: not a number of 0 .. 65535")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "cannot start: cannot listen on 127.0.0.1:%d: Address already in use" % port in refused(
            "broker.id=1\nzookeeper.connect=h:1\nhost.name=127.0.0.1\nport=%d\nlog.dirs=%s\n"
            % (port, folder / "logs"))
    assert "did you mean num.partitions?" in refused(
        "broker.id=1\nzookeeper.connect=h:1\nnum.partition=2\n", "strict.config=true")
