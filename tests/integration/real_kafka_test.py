"""scripts/real-kafka with every release it knows: starts, takes and gives a message, leaves nothing."""
import os
import pathlib
import signal
import subprocess

from lib import jars, producer
from lib.testing import quick
from lib.waiting import wait_for

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "real-kafka"


def round_trip(t, version, zookeeper="3.8", brokers=1):
    jars.require(version)
    if zookeeper == "3.4":
        jars.require("0.8.2.2")
    options = " ".join(producer.kcat_options(version))
    command = ("echo hello | kcat -P -b $BROKERS -t t -p 1 %s && "
               "kcat -C -e -q -b $BROKERS -t t -f '%%t %%p %%o %%s\\n' %s; exit 7" % (options, options))
    run = subprocess.run(
        [SCRIPT, version, "--zookeeper", zookeeper, "--brokers", str(brokers),
         "--topic", "t:2:%d" % brokers, "--", "sh", "-c", command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(t.folder)}, timeout=200)
    assert run.returncode == 7, (run.returncode, run.stderr)
    lines = run.stdout.splitlines()
    assert lines[0].startswith("ZOOKEEPER=127.0.0.1:") and lines[1].startswith("BROKERS="), lines
    assert lines[1].count(":") == brokers, lines
    assert lines[2:] == ["t 1 0 hello"], lines
    assert not list(t.folder.iterdir()), "it left files"


def test_0_8_0(t):
    round_trip(t, "0.8.0")


def test_0_8_1_1(t):
    round_trip(t, "0.8.1.1", brokers=2)  # two that stop together would hang


def test_0_8_2_2(t):
    round_trip(t, "0.8.2.2", zookeeper="3.4", brokers=2)


def test_0_9_0_1(t):
    round_trip(t, "0.9.0.1")


def test_0_10_2_2(t):
    round_trip(t, "0.10.2.2")


def test_1_1_1(t):
    round_trip(t, "1.1.1")


def test_2_8_2(t):
    round_trip(t, "2.8.2")


def test_3_9_2(t):
    round_trip(t, "3.9.2")


def test_stops_on_a_signal(t):
    jars.require("0.8.2.2")
    process = t.process("real-kafka", [SCRIPT, "0.8.2.2", "--chroot", "/k/a", "--topic", "t:2"],
                        env={"TMPDIR": str(t.folder)})
    zookeeper = process.wait_for_line("^ZOOKEEPER=(.*)$", 60).group(1)
    assert zookeeper.endswith("/k/a")
    process.wait_for_line("^BROKERS=127")
    servers = children(process.pid)
    assert len(servers) == 2, servers
    assert process.stop(signal.SIGTERM) == 0
    wait_for(lambda: not any(is_alive(pid) for pid in servers), "the servers to be gone")
    assert not list(t.folder.iterdir()), "it left files"


def test_killed_it_leaves_no_process(t):
    jars.require("0.8.2.2")
    process = t.process("real-kafka", [SCRIPT, "0.8.2.2"], env={"TMPDIR": str(t.folder)})
    process.wait_for_line("^BROKERS=127", 60)
    servers = children(process.pid)
    assert len(servers) == 2, servers
    os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: not any(is_alive(pid) for pid in servers), "the servers to be gone")


@quick
def test_usage(t):
    for words, wanted in (
            (["0.8.9"], "invalid choice: '0.8.9'"),
            (["0.8.2.2", "--topic", "a:1:2"], "--topic a: 2 replicas on 1 brokers"),
            (["0.8.2.2", "--topic", "a:x"], "is not NAME[:PARTITIONS[:REPLICATION]]"),
            (["0.8.2.2", "--property", "a"], "is not KEY=VALUE"),
            (["0.8.2.2", "--"], "nothing behind --"),
            ([], "VERSION")):
        run = subprocess.run([SCRIPT, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=30)
        assert run.returncode == 2 and wanted in run.stderr, (words, run.returncode, run.stderr)
        assert run.stdout == ""


@quick
def test_without_maven(t):
    """A clear text and exit code 3 where the jars cannot be had."""
    run = subprocess.run([SCRIPT, "0.8.2.2"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, timeout=30,
                         env={"PATH": "/nonexistent", "ZKC_JARS_DIR": str(t.folder)})
    assert run.returncode == 3 and "no mvn to get Kafka 0.8.2.2" in run.stderr, run.stderr


def children(pid):
    return [int(word) for task in pathlib.Path("/proc/%d/task" % pid).iterdir()
            for word in (task / "children").read_text().split()]


def is_alive(pid):
    try:
        state = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
