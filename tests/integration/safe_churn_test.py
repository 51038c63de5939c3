"""A group in safe mode whose members come, go, are killed and restarted, stopped (SIGSTOP), and lose their
links to ZooKeeper at random; in the long one ZooKeeper and the broker are restarted, too; the account at the
end is exact. What the members say and what ZooKeeper
was told are checked together (zkstudy check). CHURN_SEED=n repeats a story's choices (the seed is
printed)."""
import collections
import os
import random
import time

from kazoo.exceptions import KazooException

from lib.checks import check, import_writes, were_checked
from lib.producer import kcat_read
from lib.recorder import Recorder
from lib.testing import long, timeout
from lib.waiting import wait_for
from safe_group_test import World

NAMES = ["m%d" % number for number in range(1, 7)]
LIVES = ["life%d" % number for number in range(1, 401)]
MEMBERS_MIN, MEMBERS_MAX = 2, 4
PARTITIONS, RATE = 12, 5
SETTLE_EVERY_S = 15
SERVER_CHANCE, SERVER_AWAY_MAX_S = 0.04, 4
WOUND_MAX_S = 7  # a session lasts 3 s: some outlive it, some do not


class Links:
    """Members by name at the recorder. Each life of a member, from its start to its end, has a label of its
    own there, and writes its trace under it."""

    def __init__(self, recorder):
        self.recorder, self.labels, self.now = recorder, list(reversed(LIVES)), {}

    def listen(self, name):
        """For the next life of this member."""
        self.now[name] = self.labels.pop()
        return self.recorder.listen(self.now[name])

    def do(self, word, name):
        self.recorder.command(word, self.now[name])


class Churn(World):
    def __init__(self, t, seed, are_servers_restarted):
        self.are_servers_restarted = are_servers_restarted
        self.origin_ns = time.monotonic_ns()
        super().__init__(t, PARTITIONS, RATE)
        self.dice, self.wounds = random.Random(seed), {}  # name -> (when it is to end, how)
        self.did = collections.Counter()
        self.lives = {}  # label -> (name, process)
        self.begun = {}  # name -> the trace of its present life

    def make_proxy(self):
        recorder = Recorder(self.t.folder, self.cluster.zookeeper.address, LIVES)
        self.t.defer(recorder.process.kill)
        return Links(recorder)

    def join(self, name, settings=None, process=None):
        label = self.proxy.labels[-1]
        process = super().join(name, {
            "trace.origin.ns": self.origin_ns, "trace.member": label,
            "partition.assignment.strategy": "range", **(settings or {})}, process)
        self.lives[label], self.begun[name] = (name, process), self.traces[-1]
        return process

    # ---- what happens ----

    def churn(self, seconds):
        self.join("m1")
        self.join("m2")
        self.settled()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            quiet = min(end, time.monotonic() + SETTLE_EVERY_S)
            while time.monotonic() < quiet:
                self.act()
                time.sleep(self.dice.uniform(0.2, 2.0))
                self.heal(time.monotonic())
            self.heal(float("inf"))
            self.settled()
            if len(self.there) > MEMBERS_MIN and self.dice.random() < 0.5:
                self.done("leave", self.leave, self.dice.choice(sorted(self.there)))
                self.settled()

    def act(self):
        if self.are_servers_restarted and self.dice.random() < SERVER_CHANCE:
            self.restart_server()
            return
        sound = sorted(name for name in set(self.there) - set(self.wounds) if self.is_traced(name))
        acts = [self.kill, self.restart, self.stop, self.stop, self.cut, self.cut, self.silence,
                self.silence, self.shut_out, self.slow] if len(sound) > 1 else []
        if len(self.there) < MEMBERS_MAX:
            acts += [self.join, self.join]
        elif not acts:
            return
        act = self.dice.choice(acts)
        if act == self.kill and len(self.there) <= MEMBERS_MIN:
            act = self.restart
        absent = sorted(set(NAMES) - set(self.there))
        self.done(act.__name__, act, self.dice.choice(absent if act == self.join else sound))

    def restart_server(self):
        """ZooKeeper or the broker, in order or by force; away for less or more than a session lasts."""
        server = self.dice.choice(["ZooKeeper", "broker"])
        how = self.dice.choice(["stop", "kill"])
        self.done("%s %s" % (how, server), lambda _: None, "")
        getattr(self.cluster.zookeeper if server == "ZooKeeper" else self.cluster.brokers[0], how)()
        time.sleep(self.dice.uniform(0, SERVER_AWAY_MAX_S))
        if server == "ZooKeeper":
            self.cluster.zookeeper.start()
            wait_for(self.is_answered, "the test's own client to be back", 60)
        else:
            self.cluster.restart_broker(0)

    def is_answered(self):
        try:
            return self.cluster.zk.get_children("/")
        except KazooException as error:  # its session may have ended, too
            raise AssertionError(repr(error)) from error

    def is_traced(self, name):
        """Of who is killed before it has written a line the checkers would know nothing."""
        return self.begun[name].stat().st_size > 0

    def done(self, what, act, name):
        self.did[what] += 1
        print("%7.2f %s %s" % ((time.monotonic_ns() - self.origin_ns) / 1e9, what, name), flush=True)
        act(name)

    def wound(self, name, heal):
        self.wounds[name] = (time.monotonic() + self.dice.uniform(0.1, WOUND_MAX_S), heal)

    def heal(self, now):
        for name, (until, heal) in list(self.wounds.items()):
            if until <= now:
                del self.wounds[name]
                self.done("heal", heal, name)

    def restart(self, name):
        self.kill(name)
        self.join(name)

    def stop(self, name):
        process = self.there[name].process
        process.pause()
        self.wound(name, lambda _: process.resume())

    def cut(self, name):
        self.proxy.do("cut", name)

    def silence(self, name):
        self.proxy.do("hole", name)
        self.wound(name, lambda _: self.proxy.do("heal", name))

    def shut_out(self, name):
        self.proxy.do("refuse", name)
        self.wound(name, lambda _: self.proxy.do("heal", name))

    def slow(self, name):
        process = self.there[name]
        process.command("work", name, 300)
        self.wound(name, lambda _: process.command("work", name, 0))

    # ---- the account ----

    def written(self):
        """All that the log has: what the producer sent again after an error may be there twice."""
        sent = super().written()
        log = {(partition, offset) for partition, offset, _ in kcat_read(self.cluster, "t")}
        assert sent <= log, sorted(sent - log)[:5]
        return log

    def check_traces(self):
        truth = self.t.folder / "writes.trace"
        writes = import_writes(self.proxy.recorder, self.cluster.zookeeper, self.origin_ns, truth)
        again = self.check_tenures(writes)
        print("%s; %d messages delivered again" % (dict(self.did), again), flush=True)
        results = check(self.traces, [truth])
        were_checked(results, "SF1", "SF2", "SF3", "SF4", "SF5", "C3", "C4", "Z1", "Z2", "Z9", "Z10", "Z11")
        for count in ("dual_ps", "foreign_deletes", "commit_regressions"):
            assert results[count]["found"] == 0, results[count]

    def check_tenures(self, writes):
        """Whoever was given a partition began at what was committed when it claimed it, and got
        message by message from there: so what came twice was not committed. How many those are."""
        committed, claims = {}, collections.defaultdict(list)
        for write in writes:
            if write["what"] not in ("create", "set"):
                continue
            partition = int(write["path"].rsplit("/", 1)[1]) if write.get("cls") in ("owner", "offset") else None
            if write.get("cls") == "offset":
                assert int(write["val"]) >= committed.get(partition, 0), "a commit goes back: %r" % write
                committed[partition] = int(write["val"])
            elif write.get("cls") == "owner" and write["what"] == "create":
                claims[write["m"], partition].append(committed.get(partition, 0))
        counts = collections.Counter()
        for label, (name, process) in self.lives.items():
            self.follow(process, name, {p: starts for (who, p), starts in claims.items() if who == label},
                        counts)
        return sum(count - 1 for count in counts.values())

    def follow(self, process, name, claims, counts):
        """`claims`: {partition: [what was committed at each claim of this life]}."""
        tenures = collections.defaultdict(list)  # partition -> the next offset of its last tenure, and of
        for line in process.process.text_lines():  # those before
            words = line.split(" ")
            if words[:3] == ["rebalance", name, "assign"]:
                for partition, offset in (map(int, word.split(":")[1:]) for word in words[3:]):
                    start, starts = max(0, offset), claims.get(partition, [])  # -1: nothing is committed
                    assert start in starts, "%s was given %d from %d on; committed when it claimed: %r" % (
                        name, partition, start, starts)
                    del starts[:starts.index(start) + 1]
                    tenures[partition].insert(0, start)
            elif words[0] == "msg":
                partition, offset = int(words[4]), int(words[5])
                # of an earlier tenure: what was in flight when the partition was lost
                of = [n for n, expected in enumerate(tenures[partition]) if expected == offset]
                assert of, "%s was given %d of %d, expected %r" % (
                    name, offset, partition, tenures[partition])
                tenures[partition][of[0]] += 1
                counts[partition, offset] += 1


def churn(t, seconds, are_servers_restarted=False):
    seed = int(os.environ.get("CHURN_SEED") or random.randrange(1000000))
    print("CHURN_SEED=%d" % seed, flush=True)
    world = Churn(t, seed, are_servers_restarted)
    world.churn(seconds)
    world.end(duplicates_max=float("inf"))  # which are accounted for one by one


@timeout(400)
def test_a_minute(t):
    churn(t, 60)


@long
@timeout(1500)
def test_ten_minutes(t):
    churn(t, 600, are_servers_restarted=True)
