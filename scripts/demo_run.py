"""The demo behind scripts/demo: groups of consumers on real input, with a join and a crash, and the
account of what became of every message. Numbers of the account come from what the members wrote and
from their traces (docs/trace.md)."""
import argparse
import collections
import glob
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from lib import jars, processes  # noqa: E402
from lib.waiting import WaitFailed, wait_for  # noqa: E402

TOPIC, PARTITIONS = "lines", 8
QUEUE, QUEUE_PARTITIONS = "jobs", 2
SESSION_MS = 6000

# Where real text is found on a Debian machine, until there is enough of it.
SOURCES = ("/var/lib/dpkg/status", "/var/lib/dpkg/info/*.list", "/usr/include/*.h",
           "/usr/share/perl/5*/*.pm", "/usr/lib/python3*/*.py", "/usr/share/doc/*/copyright")


def say(text=""):
    print(text, flush=True)


def real_lines(count):
    """Non-empty lines of files of this machine."""
    lines = []
    for pattern in SOURCES:
        for name in sorted(glob.glob(pattern)):
            try:
                with open(name, "rb") as file:
                    lines += [line.rstrip(b"\n")[:900] for line in file if line.strip()]
            except OSError:
                continue
            if len(lines) >= count:
                return lines[:count]
    if not lines:
        raise SystemExit("demo: no text found in %s" % ", ".join(SOURCES))
    return (lines * (count // len(lines) + 1))[:count]


class Member:
    """One `zkconsumer consume` of a group: partition and offset of each message go to a file."""

    def __init__(self, demo, name, group, topic, properties=()):
        self.name, self.topic = name, topic
        self.out = demo.folder / (name + ".out")
        self.trace = demo.folder / (name + ".trace")
        settings = {"consumer.id": name, "zookeeper.session.timeout.ms": SESSION_MS,
                    "auto.commit.interval.ms": 1000, "partition.assignment.strategy": "ceil",
                    "trace.path": self.trace, "trace.level": 2, **dict(properties)}
        command = [demo.program, "consume", "-G", group, "-t", topic, "--zookeeper",
                   demo.cluster.zookeeper_connect, "--from-beginning", "-f", "%p %o\\n"]
        for key, value in settings.items():
            command += ["-X", "%s=%s" % (key, value)]
        self.process = processes.Process(name, command, out=self.out,
                                         err=demo.folder / (name + ".err"))
        self.killed_ns = None

    def delivered(self):
        """(partition, offset) in the order of delivery; an unfinished last line does not count."""
        with open(self.out) as file:
            text = file.read()
        return [tuple(map(int, line.split()))
                for line in text[:text.rfind("\n") + 1].splitlines()]

    def kill(self):
        self.killed_ns = time.monotonic_ns()
        self.process.kill()

    def events(self):
        """The trace; a killed member's may end in half a line."""
        with open(self.trace) as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    return


class Owners(threading.Thread):
    """Shows who owns what, whenever that changes."""

    def __init__(self, demo, group, topic, partitions):
        super().__init__(daemon=True)
        self.demo, self.partitions = demo, partitions
        self.path = "/consumers/%s/owners/%s" % (group, topic)
        self.prefix = group + "_"
        self.now = {}
        self.stopped = threading.Event()

    def read(self):
        owners = {}
        zk = self.demo.cluster.zk
        try:
            for partition in zk.get_children(self.path):
                thread = zk.get("%s/%s" % (self.path, partition))[0].decode()
                owners[int(partition)] = thread[len(self.prefix):].rsplit("-", 1)[0]
        except Exception:  # a node that vanished while it was read: the next look sees it
            return None
        return owners

    def run(self):
        while not self.stopped.wait(0.05):
            owners = self.read()
            if owners is None or owners == self.now:
                continue
            self.now = owners
            self.demo.tell("owners  " + " ".join(
                "%d:%s" % (p, owners.get(p, "-")) for p in range(self.partitions)))

    def settled(self, members):
        """True when every partition has an owner and exactly these members own some."""
        return len(self.now) == self.partitions and set(self.now.values()) == set(members)


class Demo:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.program = arguments.program
        # Not before: scripts/setup installs what they need, and --help is there without.
        from lib.cluster import Cluster
        from lib.zkbroker import ZkCluster
        if arguments.kafka:
            self.cluster = Cluster(folder / "kafka", arguments.kafka, brokers=2)
            self.replication = 2
        else:
            self.cluster = ZkCluster(folder / "zkbroker", brokers=2)
            self.replication = 1  # a partition is on one of them
        self.members = {}
        self.changes = []  # (what, begin ns, settled ns)
        self.began = time.monotonic()

    def tell(self, text):
        say("%6.1f s  %s" % (time.monotonic() - self.began, text))

    def start(self, name, group, topic, **properties):
        self.members[name] = Member(self, name, group, topic, properties.items())

    def change(self, what, act, owners, members, timeout_s=60):
        self.tell("--- " + what)
        begin = time.monotonic_ns()
        act()
        wait_for(lambda: owners.settled(members), "%s to settle" % what, timeout_s, 0.02)
        self.changes.append((what, begin, time.monotonic_ns()))

    def create_topic(self, name, partitions):
        subprocess.run([self.program, "topics", "create", "-t", name, "-p", str(partitions), "-r",
                        str(self.replication), "--zookeeper", self.cluster.zookeeper_connect],
                       stderr=subprocess.DEVNULL, check=True)
        self.cluster.wait_for_topic(name, partitions)

    def produce(self, lines, seconds):
        """Feeds the lines to `zkconsumer produce`, spread over the time given."""
        child = subprocess.Popen(
            [self.program, "produce", "-t", TOPIC, "--zookeeper", self.cluster.zookeeper_connect,
             "-q"], stdin=subprocess.PIPE)
        steps = max(1, int(seconds * 20))
        for step in range(steps):
            child.stdin.write(b"".join(line + b"\n" for line in lines[step::steps]))
            child.stdin.flush()
            time.sleep(seconds / steps)
        child.stdin.close()
        if child.wait() != 0:
            raise SystemExit("demo: zkconsumer produce ended with %d" % child.returncode)

    def produce_jobs(self, count):
        subprocess.run([self.program, "produce", "-t", QUEUE, "--zookeeper",
                        self.cluster.zookeeper_connect, "-q"],
                       input=b"".join(b"job %d\n" % i for i in range(count)), check=True)

    def run(self):
        lines = real_lines(self.arguments.lines)
        self.tell("starting ZooKeeper and two brokers" +
                  (" of Kafka %s" % self.arguments.kafka if self.arguments.kafka else " (zkbroker)"))
        self.cluster.start()
        self.create_topic(TOPIC, PARTITIONS)
        self.create_topic(QUEUE, QUEUE_PARTITIONS)
        self.tell("serving at ZooKeeper %s, brokers %s"
                  % (self.cluster.zookeeper_connect, self.cluster.bootstrap))
        owners = Owners(self, "workers", TOPIC, PARTITIONS)
        owners.start()
        self.tell("topic %s: %d partitions; group workers: a, b and c share it by the ceil rule"
                  % (TOPIC, PARTITIONS))
        self.tell("group audit gets every message, too (publish-subscribe)")
        self.start("audit", "audit", TOPIC)

        def start_three():
            for name in ("a", "b", "c"):
                self.start(name, "workers", TOPIC)

        self.change("a, b and c start at once", start_three, owners, {"a", "b", "c"})
        producer = threading.Thread(target=self.produce, args=(lines, self.arguments.seconds))
        self.tell("producing %d lines, for %d s" % (len(lines), self.arguments.seconds))
        producer.start()
        time.sleep(self.arguments.seconds * 0.15)
        self.change("d joins", lambda: self.start("d", "workers", TOPIC), owners,
                    {"a", "b", "c", "d"})
        time.sleep(self.arguments.seconds * 0.15)
        self.change("b is killed (kill -9); its session has %.0f s to end" % (SESSION_MS / 1000),
                    self.members["b"].kill, owners, {"a", "c", "d"})
        self.queue()
        producer.join()
        self.tell("all lines are produced; waiting for the last of them")
        ends = self.log_ends()
        self.wait_for_deliveries(("a", "b", "c", "d"), ends)
        self.wait_for_deliveries(("audit",), ends)
        owners.stopped.set()
        owners.join()
        for member in self.members.values():
            if member.killed_ns is None:
                member.process.stop()
        return self.account(ends)

    def queue(self):
        """More members than partitions: a queue with somebody in reserve."""
        self.tell("group queue: three members on the %d partitions of topic %s"
                  % (QUEUE_PARTITIONS, QUEUE))
        owners = Owners(self, "queue", QUEUE, QUEUE_PARTITIONS)
        names = ("q1", "q2", "q3")
        for name in names:
            self.start(name, "queue", QUEUE)
            wait_for(lambda: self.cluster.zk.exists("/consumers/queue/ids/queue_" + name),
                     "%s to register" % name, 30, 0.02)

        def two_own():
            owners.now = owners.read() or {}
            return len(owners.now) == QUEUE_PARTITIONS and len(set(owners.now.values())) == 2

        wait_for(two_own, "group queue to settle", 60, 0.1)
        idle = sorted(set(names) - set(owners.now.values()))
        self.tell("queue   " + " ".join("%d:%s" % item for item in sorted(owners.now.items())) +
                  "   idle, in reserve: " + ", ".join(idle))
        self.produce_jobs(1000)

    def log_ends(self):
        out = subprocess.run([self.program, "groups", "describe", "--group", "workers", "--json",
                              "--strategy", "ceil", "--zookeeper", self.cluster.zookeeper_connect],
                             stdout=subprocess.PIPE, check=False).stdout
        rows = json.loads(out)["partitions"]
        return {row["partition"]: row["log_end"] for row in rows if row["topic"] == TOPIC}

    def wait_for_deliveries(self, names, ends):
        total = sum(ends.values())

        def complete():
            seen = set()
            for name in names:
                seen.update(self.members[name].delivered())
            return len(seen) >= total

        wait_for(complete, "%s to get all %d messages" % (", ".join(names), total), 90, 0.5)

    # ---- the account ----

    def account(self, ends):
        total = sum(ends.values())
        say()
        say("Account")
        say("  produced            %8d" % total)
        lost = self.count("group workers", ("a", "b", "c", "d"), ends)
        lost += self.count("group audit", ("audit",), ends)
        jobs = self.jobs()
        say()
        say("Partitions of %s stood still, from the old owner's stop (or its kill) to the new owner's "
            "first fetch" % TOPIC)
        for what, begin, settled in self.changes[1:]:
            gaps = self.gaps(begin, settled + 10**9)
            if gaps:
                say("  %-44s %s" % (what.split(";")[0], "  ".join(
                    "%d: %.2f s" % (p, s) for p, s in sorted(gaps.items()))))
        say()
        say("What each change cost group workers: reads of ZooKeeper, watches they left, claims and "
            "releases of partitions")
        say("  %-44s %6s %7s %7s %9s %8s" % ("", "reads", "watches", "claims", "releases", "settled"))
        for what, begin, settled in self.changes:
            say("  %-44s %6d %7d %7d %9d %6.2f s" % (what.split(";")[0], *self.operations(begin, settled + 10**9),
                                                     (settled - begin) / 1e9))
        say()
        say("lost: %d" % (lost + jobs))
        return 0 if lost + jobs == 0 else 2

    def count(self, group, names, ends):
        seen = collections.Counter()
        for name in names:
            mine = self.members[name].delivered()
            seen.update(mine)
            say("  delivered to %-7s %8d" % (name, len(mine)))
        lost = sum(1 for p, end in ends.items() for o in range(end) if (p, o) not in seen)
        twice = sum(n - 1 for n in seen.values())
        say("  %-11s: %d delivered once, %d delivered again, %d lost"
            % (group, len(seen), twice, lost))
        return lost

    def jobs(self):
        seen = set()
        for name in ("q1", "q2", "q3"):
            seen.update(self.members[name].delivered())
        say("  group queue: %d of 1000 jobs delivered" % len(seen))
        return 1000 - len(seen)

    def workers(self):
        return [self.members[name] for name in ("a", "b", "c", "d")]

    def gaps(self, begin, end):
        """Partition to seconds in which nobody fetched it, in the time of a change."""
        ends, starts = {}, {}
        for member in self.workers():
            held = set()
            for event in member.events():
                at = event["t"]
                if at > end:
                    break
                if event["ev"] == "own_begin":
                    held.add(event["p"])
                elif event["ev"] == "own_end":
                    held.discard(event["p"])
                    if at >= begin:
                        ends.setdefault(event["p"], at)
                elif event["ev"] == "fetch_start" and at >= begin:
                    for p in event["ps"]:
                        starts.setdefault(p, []).append(at)
            if member.killed_ns and begin <= member.killed_ns <= end:
                ends.update((p, member.killed_ns) for p in held)
        gaps = {}
        for p, stopped in ends.items():
            later = [at for at in starts.get(p, []) if at >= stopped]
            if later:
                gaps[int(p.split("/")[1])] = (min(later) - stopped) / 1e9
        return gaps

    def operations(self, begin, end):
        """Reads, watches left by them, and partitions claimed and released (in safe mode many in one
        transaction; a release commits, too)."""
        reads = watches = claims = releases = 0
        for member in self.workers():
            for event in member.events():
                if not begin <= event["t"] <= end:
                    continue
                claims += event["ev"] == "claim"
                releases += event["ev"] == "release"
                if event["ev"] == "zk_op" and event["op"] in ("exists", "getData", "getChildren"):
                    reads += 1
                    watches += bool(event.get("watch"))
        return reads, watches, claims, releases


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="demo", description="Starts a private ZooKeeper and two brokers, produces real "
        "lines, and shows a group of consumers through a join and a crash, beside a second group that "
        "gets every message and a third with a member in reserve. Ends with the account; exit code 2 "
        "when a message was lost. Leaves nothing running.")
    parser.add_argument("--kafka", metavar="VERSION",
                        help="run this real Kafka release, from its jars, instead of zkbroker")
    parser.add_argument("--lines", type=int, default=200000, help="how many lines (200000)")
    parser.add_argument("--seconds", type=int, default=24, help="how long to produce them (24)")
    parser.add_argument("--keep", action="store_true", help="keep outputs and traces")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    if "--help" in sys.argv or "-h" in sys.argv:
        sys.argv += ["--program", "-"]
    arguments = parse_arguments()
    try:
        if arguments.kafka:
            jars.fetch(arguments.kafka, lambda text: print("demo: " + text, file=sys.stderr))
    except jars.Unavailable as error:
        print("demo: %s" % error, file=sys.stderr)
        return 3
    os.environ["ZKC_BUILD_DIR"] = str(pathlib.Path(arguments.program).parent.parent.parent)
    processes.exit_on_signals()
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="zkconsumer-demo-"))
    demo = Demo(arguments, folder)
    try:
        return demo.run()
    except WaitFailed as error:
        print("demo: %s" % error, file=sys.stderr)
        return 4
    finally:
        demo.cluster.kill()
        processes.kill_all()
        if arguments.keep:
            say("outputs and traces are in %s" % folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
