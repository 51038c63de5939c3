"""docs/migration.md, carried out with the commands that it prints: a group of Java members of Kafka 0.8.2.2 becomes one of
ours, member by member, and Java's again, while messages are written all the time; then the same with the whole group
stopped between. Each step of the page is a step here, with the check that it names; in safe, which is what the page's
commands start, and in compat."""
import os
import pathlib
import subprocess
from collections import Counter

from lib.kafka_tools import kafkas
from lib.ledger import Traffic
from lib.members import Account, ZkConsumer, program, run
from lib.testing import long, timeout
from lib.waiting import wait_for

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "migration.md"
SETTINGS = {"zookeeper.session.timeout.ms": 4000, "auto.commit.interval.ms": 500, "auto.offset.reset": "smallest",
            "rebalance.backoff.ms": 1000}
PARTITIONS = 4
SAFE, COMPAT = {}, {"zookeeper.mode": "compat"}  # lines of consumer.properties


def command(part):
    """The command of the page that contains this."""
    found = {line.strip() for line in PAGE.read_text().splitlines() if line.startswith("    ") and part in line}
    assert len(found) == 1, "%r: %r" % (part, found)
    return found.pop()


class Shell:
    """Where the page's commands run."""

    def __init__(self, folder, zookeeper):
        folders = [str(program(name).parent) for name in ("zkconsumer", "kafka-consumer-offset-checker")]
        self.folder = folder
        self.env = {"ZK": zookeeper, "PATH": ":".join([*folders, os.environ["PATH"]])}

    def run(self, part, timeout_s=90):
        """Its output; it must succeed."""
        done = subprocess.run(["bash", "-c", command(part)], cwd=self.folder, env={**os.environ, **self.env}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout_s)
        assert done.returncode == 0, "%s: %d\n%s%s" % (command(part), done.returncode, done.stdout, done.stderr)
        return done.stdout


class Ours(ZkConsumer):
    """The page's consume, with a format for its messages behind it."""

    def __init__(self, t, shell, name):
        self.name = name
        self.status_log = t.folder / ("%s.err" % name)
        self.process = t.process(name, ["bash", "-c", "exec %s \"$@\"" % command("zkconsumer consume -G"), "bash",
                                        "-f", self.FORMAT], err=self.status_log, cwd=shell.folder, env=shell.env)


class Group:
    def __init__(self, t, lines):
        self.t = t
        self.cluster = t.cluster(zookeeper_properties={"tickTime": 500})
        self.cluster.create_topic("orders", PARTITIONS)
        self.zk = t.group(self.cluster, "billing")
        self.shell = Shell(t.folder, self.cluster.zookeeper_connect)
        settings = {"zookeeper.connect": self.cluster.zookeeper_connect, "group.id": "billing", **SETTINGS, **lines}
        (t.folder / "consumer.properties").write_text("".join("%s=%s\n" % item for item in settings.items()))
        self.there = {}
        self.all = {}

    def java(self, name):
        member = self.t.java_members(self.cluster, "billing", name=name)
        member.join(name, "orders", properties=SETTINGS)
        self.there[name] = self.all[name] = member

    def ours(self, name):
        self.there[name] = self.all[name] = Ours(self.t, self.shell, name)

    def leave(self, name):
        member = self.there.pop(name)
        if hasattr(member, "leave"):
            assert member.leave() == 0, member.status_text()
        else:
            member.close_wait(name)

    def verify(self):
        """The page's check after every step. It holds while those who were there own everything and who has come
        nothing yet: everybody is to have its share first."""
        self.zk.wait_for_members(len(self.there))

        def is_shared():
            shares = Counter(self.zk.owners("orders").values())
            assert sum(shares.values()) == PARTITIONS and len(shares) == len(self.there), shares
            assert max(shares.values()) - min(shares.values()) <= 1, shares
            return True
        wait_for(is_shared, "%d members to have their shares" % len(self.there), 90)
        said = self.shell.run("until zkconsumer groups verify")
        assert said.splitlines()[-1] == "Rebalance operation successful !", said

    def delivered(self):
        return [message for name, member in self.all.items()
                for message in (member.messages(name) if hasattr(member, "close_wait") else member.messages())]

    def wait_until_consumed(self, produced):
        def ends():
            keys = {(message.partition, message.offset) for message in self.delivered()}
            return set(produced) <= keys
        wait_for(ends, "everything to be consumed", 90, every_s=0.2)


def one_by_one_and_back(t, lines):
    group = Group(t, lines)
    traffic = Traffic(group.cluster, "orders")
    t.defer(traffic.close)
    group.java("j1")
    group.java("j2")
    group.verify()
    group.shell.run("groups describe")
    group.shell.run("offsets export")
    assert (t.folder / "billing-before.txt").read_text()
    for comes, goes in (("c1", "j1"), ("c2", "j2")):  # there
        group.ours(comes)
        group.verify()
        group.leave(goes)
        group.verify()
    for comes, goes in (("j3", "c1"), ("j4", "c2")):  # and back
        group.java(comes)
        group.verify()
        group.leave(goes)
        group.verify()
    produced = traffic.stop()
    group.wait_until_consumed(produced)
    for name in list(group.there):
        group.leave(name)
    check(group, produced)
    checker = kafkas("ConsumerOffsetChecker", "--zookeeper", group.cluster.zookeeper_connect, "--group", "billing")
    mine = group.shell.run("kafka-consumer-offset-checker")
    assert mine == checker.out, (mine, checker.out)
    assert all(row.split()[5] == "0" for row in checker.out.splitlines()[1:]), checker.out


@timeout(420)
def test_one_by_one_and_back(t):
    one_by_one_and_back(t, SAFE)


@long
@timeout(420)
def test_one_by_one_and_back_in_compat(t):
    one_by_one_and_back(t, COMPAT)


def check(group, produced):
    """Nothing is lost; what came twice is what 0.8's own rebalances repeat: at most what was on its way when a
    partition moved (a member reads the offset before the owner has committed it)."""
    account = Account(produced, group.delivered())
    account.check(duplicates_max=len(produced) // 4)
    print("%d produced, %d came twice" % (len(produced), len(account.twice)))


def all_at_once_through_a_stop(t, lines):
    """The other way: stop all, look, start ours; back with the exported offsets."""
    group = Group(t, lines)
    produced = t.producer(group.cluster).send_numbered("orders", PARTITIONS, 50)
    group.java("j1")
    group.verify()
    group.wait_until_consumed(produced)
    group.leave("j1")
    said = run("zkconsumer", "groups", "verify", "-G", "billing", "--zookeeper", group.cluster.zookeeper_connect)
    assert said.returncode == 2 and "no_members" in said.stderr, (said.returncode, said.stderr)
    group.shell.run("offsets export")
    assert group.zk.offsets("orders") == {p: 50 for p in range(PARTITIONS)}
    produced |= t.producer(group.cluster).send_numbered("orders", PARTITIONS, 50, prefix="n")
    group.ours("c1")
    group.wait_until_consumed(produced)
    group.leave("c1")
    Account(produced, group.delivered()).check(duplicates_max=0)  # with nobody beside, nothing comes twice
    assert group.zk.offsets("orders") == {p: 100 for p in range(PARTITIONS)}
    group.shell.run("offsets import")  # back in time
    group.java("j2")
    wait_for(lambda: len(group.all["j2"].messages("j2")) == 50 * PARTITIONS, "Java to do the second half again", 60)
    group.leave("j2")
    assert group.zk.offsets("orders") == {p: 100 for p in range(PARTITIONS)}


@timeout(300)
def test_all_at_once_through_a_stop(t):
    all_at_once_through_a_stop(t, SAFE)


@long
@timeout(300)
def test_all_at_once_through_a_stop_in_compat(t):
    all_at_once_through_a_stop(t, COMPAT)
