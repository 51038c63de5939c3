"""The same machine, two worlds, and Kafka's own: members of Kafka 0.8.2.2, ours and simulated ones ask
ZooKeeper for the same number of operations, member by member and change by change. Real ones are behind
zkstudy record; zkstudy import counts what passed, and makes a trace of it that the checkers read."""
import json
import pathlib
import time

from lib.group import range_layout
from lib.members import run
from lib.recorder import Recorder
from lib.testing import long, timeout
from lib.waiting import wait_for

VECTORS = pathlib.Path(__file__).resolve().parents[1] / "vectors" / "zookeeper" / "counts.jsonl"
TOPIC_T = "/brokers/topics/t"
SETTINGS = {"auto.commit.interval.ms": 600000}  # only changes commit


class Recorded:
    """A group whose members are all behind the recorder. `kind`: java or ours."""

    def __init__(self, t, kind, names, topics, brokers=2):
        self.t, self.kind, self.topics, self.names = t, kind, topics, names
        self.cluster = t.cluster(brokers=brokers)
        for topic, partitions in topics.items():
            self.cluster.create_topic(topic, partitions, brokers)
        self.recorder = Recorder(t.folder, self.cluster.zookeeper.address, names)
        t.defer(self.recorder.process.kill)
        self.group = t.group(self.cluster, "g")
        self.processes = {}  # by member: all share one, but those that are to be killed
        self.shared = self.process(kind)
        self.held = {}
        self.expected = {}  # by mark

    def process(self, name):
        make = self.t.java_members if self.kind == "java" else self.t.our_members
        return make(self.cluster, "g", name=name)

    def of(self, name):
        return self.processes.get(name, self.shared)

    def start(self, name, **settings):
        self.of(name).open(name, {**SETTINGS, **settings}, zookeeper=self.recorder.listen(name))
        self.of(name).streams(name, **{topic: 1 for topic in self.topics})

    def leave(self, name):
        self.of(name).close_wait(name)

    def kill(self, name):
        self.of(name).kill()

    def store_offsets(self):
        """Makes the paths and stores where the partitions begin, by a member that is not recorded."""
        self.shared.open("c0", SETTINGS)
        self.shared.streams("c0", **{topic: 1 for topic in self.topics})
        self.shared.wait_for_event("streams", "c0")

        def all_stored():
            self.shared.commit("c0")
            return all(len(self.group.offsets(topic)) == n for topic, n in self.topics.items())

        wait_for(all_stored, "offsets of all partitions to be stored")
        self.shared.close_wait("c0")

    def change(self, act, name, there):
        """So that nobody meets a conflict: each member of `there` is held after it has released its
        partitions (it reads the topic next) until all have."""
        self.recorder.mark("%s %s" % (act.__name__, name))
        for one in there:
            self.held[one] = self.held.get(one, 0) + 1
            self.recorder.hold(one, "getData", TOPIC_T)
        act(name)
        for one in there:
            self.recorder.wait_until_held(one, 60, self.held[one])
        for one in there:
            self.recorder.go(one)
        threads = ["g_%s-0" % one for one in there]
        for topic, partitions in self.topics.items():
            self.group.wait_for_exact_owners(topic, range_layout(partitions, threads) if there else {})

    def expect(self, mark, wanted):
        """What was asked for from this mark to the next change, or to now: {member: [reads, writes,
        watches, events]}."""
        self.expected[mark] = wanted

        def as_wanted():
            seen = self.between(mark)
            assert seen == wanted, {name: (seen.get(name), wanted.get(name))
                                    for name in {*seen, *wanted}
                                    if seen.get(name) != wanted.get(name)}
            return True
        wait_for(as_wanted, "%s after %r" % (self.kind, mark), 20, 0.2)

    def between(self, mark):
        """The same as it is; holds have marks in the capture as well."""
        done = run("zkstudy", "import", "--counts", self.recorder.path)
        seen, is_on = {}, False
        for row in map(json.loads, done.stdout.splitlines()):
            if not row["mark"].startswith(("held ", "go ")):
                is_on = row["mark"] == mark
            for name, counts in row["members"].items() if is_on else ():
                seen[name] = [a + b for a, b in zip(counts, seen.get(name, [0, 0, 0, 0]))]
        return seen

    def check(self, *options):
        """The trace of the whole recording holds every MUST; its events and the check's results."""
        capture, trace = self.recorder.stop(), self.t.folder / "recorded.trace"
        for mark, wanted in self.expected.items():  # and nothing came after it was looked at
            assert self.between(mark) == wanted, (mark, self.between(mark), wanted)
        done = run("zkstudy", "import", *options, "--out", trace, capture)
        assert done.returncode == 0, done.stderr
        done = run("zkstudy", "check", "--json", trace)
        assert done.returncode == 0, done.stdout + done.stderr
        results = {row["id"]: row for row in json.loads(done.stdout)["results"]}
        return [json.loads(line) for line in trace.read_text().splitlines()], results


def golden_counts():
    rows = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    return {(row["what"], row["n"]): row["members"] for row in rows}


def joins_and_leaves(t, kind, most):
    names, table = ["m%d" % n for n in range(1, most + 1)], golden_counts()
    members = Recorded(t, kind, names, {"t": 12, "u": 4})
    members.store_offsets()
    for n in range(1, most + 1):
        members.change(members.start, "m%d" % n, names[:n])
        members.expect("start m%d" % n, table["join", n])
    for n in range(most, 0, -1):
        members.change(members.leave, "m%d" % n, names[:n - 1])
        members.expect("leave m%d" % n, table["leave", n])
    events, results = members.check()
    for must in ("Z1", "Z2", "Z3", "Z5", "Z7", "Z8", "Z9", "Z11", "C7"):
        assert results[must]["checked"] > 0 and "unknown" not in results[must], results[must]
    tries = [event for event in events if event["ev"] == "rb_try_end"]
    assert len(tries) == most * most and all(event["ok"] for event in tries), len(tries)


# ---- S01, S03, S04, with messages ----

PARTITIONS, BROKERS = 12, 2


# Quick stops and writes, and a newcomer that is far away: so that, as among the real members here, all
# have released before anybody claims. Times do not change what is asked for.
TIMES = ("app.stop=0s", "zk.fsync=50us", "zk.link=50us", "link=100us")
FAR_AWAY = "fault.2=at 29s delay m4 zk* by 50ms for 5s"


def simulated(t, scenario, members, change):
    """What members of the scenario ask for after its change: {member: [...]}, of the first seed in which
    nobody meets a conflict. Each partition has messages, so that all who stop have offsets to write."""
    trace = t.folder / "simulated.trace"
    settings = ["members=%d" % members, "ids=numbered", "run=45s", "brokers=%d" % BROKERS,
                "topic.t=%d rate 20" % PARTITIONS, "fault.1=at 30s %s" % change, *TIMES]
    if change == "join late":
        settings.append(FAR_AWAY)
    words = [word for setting in settings for word in ("--set", setting)]
    for seed in range(1, 21):
        done = run("zkstudy", "sim", "--scenario", scenario, "--seed", seed, "--level=2", "--trace", trace,
                   *words)
        assert done.returncode == 0, done.stdout + done.stderr
        events = [json.loads(line) for line in trace.read_text().splitlines()]
        after = [event for event in events if 30e9 <= event["t"] < 45e9]
        if all(event["ok"] for event in after if event["ev"] == "rb_try_end"):
            return counted(after)
    raise AssertionError("a conflict in each seed")


def counted(events):
    """{member: [reads, writes, watches, events]} of a trace of level 2."""
    seen = {}
    for event in events:
        row = seen.setdefault(event.get("m"), [0, 0, 0, 0])
        if event["ev"] == "zk_op":
            is_read = event["op"] in ("exists", "getData", "getChildren")
            row[0] += is_read
            row[1] += not is_read
            row[2] += event["watch"]
        elif event["ev"] == "zk_watch":
            row[3] += 1
    return {name: row for name, row in seen.items() if name and any(row)}


def named_as(counts, names):
    """The counts of simulated members m1, m2 ... under the names of real ones, in their order."""
    return {names[int(name[1:]) - 1]: row for name, row in counts.items()}


def scenarios(t, kind):
    names = ["m1", "m2", "m3", "m4"]
    members = Recorded(t, kind, names, {"t": PARTITIONS}, BROKERS)
    members.processes["m3"] = members.process("%s-m3" % kind)  # to be killed
    producer = t.producer(members.cluster)
    taken = 0

    def feed():
        """Each partition gets a message, and its owner takes it: all have something to commit."""
        nonlocal taken
        producer.send_numbered("t", PARTITIONS, 1)
        taken += PARTITIONS
        wait_for(lambda: sum(len(one.messages()) for one in {members.shared, members.of("m3")}) == taken,
                 "%d messages to be taken" % taken, 60)

    members.store_offsets()
    for n in (1, 2, 3):
        members.change(members.start, names[n - 1], names[:n])
    feed()
    members.change(members.start, "m4", names)
    members.expect("start m4", named_as(simulated(t, "S01", 3, "join late"), names))
    feed()
    members.change(members.leave, "m2", ["m1", "m3", "m4"])
    wanted = named_as(simulated(t, "S03", 4, "leave m2"), names)
    wanted["m2"][3] += 1  # of its own node: it is on the wire, and a client that closes does not tell
    members.expect("leave m2", wanted)
    feed()
    members.change(members.kill, "m3", ["m1", "m4"])
    members.expect("kill m3", named_as(simulated(t, "S04", 3, "crash m2"), ["m1", "m3", "m4"]))
    events, results = members.check("--settled")
    exits = [(event["m"], event["clean"]) for event in events if event["ev"] == "m_exit"]
    assert exits == [("m2", True), ("m3", False)], exits
    closes = {event.get("m"): event["n"] for event in events
              if event["ev"] == "zk_txn" and event["what"] == "close"}
    assert closes == {"m2": 4, "m3": 5}, closes  # a registration, and its partitions
    assert results["orphans"]["found"] == 0 and "unknown" not in results["orphans"], results["orphans"]
    assert results["commit_regressions"]["found"] == 0, results


@timeout(400)
def test_s01_s03_s04_java_members(t):
    scenarios(t, "java")


@timeout(400)
def test_s01_s03_s04_our_members(t):
    scenarios(t, "ours")


@timeout(400)
def test_java_members_up_to_4(t):
    joins_and_leaves(t, "java", 4)


@timeout(400)
def test_our_members_up_to_4(t):
    joins_and_leaves(t, "ours", 4)


@long
@timeout(900)
def test_java_members_up_to_10(t):
    joins_and_leaves(t, "java", 10)


@long
@timeout(900)
def test_our_members_up_to_10(t):
    joins_and_leaves(t, "ours", 10)


# ---- the control: what the import derives is what our members say of themselves ----

ATTEMPT_KEYS = ("rb", "i", "ok", "ops")


def by_attempt(events, member):
    """What the trace says of each attempt, and of what it led to."""
    told = []
    for event in events:
        if event.get("m") != member:
            continue
        kind = event["ev"]
        if kind == "rb_try_end":
            told.append((kind, *(event[key] for key in ATTEMPT_KEYS)))
        elif kind in ("view", "decide", "claim", "release", "own_begin", "own_end", "offset_read", "commit"):
            keys = ("rb", "i", "h", "nm", "np", "want", "p", "rc", "holder", "o", "prev", "why")
            told.append((kind, *(event[key] for key in keys if key in event)))
    return told


def the_import_says_what_our_members_say(t, settings, *options):
    names, folder = ["m1", "m2", "m3"], t.folder
    members = Recorded(t, "ours", names, {"t": 8}, brokers=1)
    producer = t.producer(members.cluster)
    traces = {name: folder / ("%s.trace" % name) for name in names}
    origin = time.monotonic_ns()

    def start(name):
        members.start(name, **{"trace.path": traces[name], "trace.member": name, "trace.level": 2,
                               "trace.origin.ns": origin, **settings})
        members.shared.wait_for_event("streams", name)

    def settle(*there):
        members.group.wait_for_exact_owners("t", range_layout(8, ["g_%s-0" % one for one in there]))

    start("m1")
    settle("m1")
    producer.send_numbered("t", 8, 5)
    members.shared.wait_for_messages(40, "m1")
    start("m2")  # whether they meet conflicts is as it comes
    settle("m1", "m2")
    members.recorder.command("cut", "m1")
    start("m3")
    settle("m1", "m2", "m3")
    members.leave("m2")
    settle("m1", "m3")
    members.leave("m3")
    settle("m1")
    members.leave("m1")
    members.shared.finish()
    derived, _ = members.check(*options)
    for name in names:
        own = [json.loads(line) for line in traces[name].read_text().splitlines()]
        assert own[-1]["ev"] == "end" and own[-1]["drops"] == 0
        for kind in ("rb_try_end", "view", "decide", "claim", "release", "own_begin", "own_end",
                     "offset_read", "commit"):
            mine = [row for row in by_attempt(own, name) if row[0] == kind]
            theirs = [row for row in by_attempt(derived, name) if row[0] == kind]
            assert sorted(map(repr, mine)) == sorted(map(repr, theirs)), (
                name, kind, [x for x in mine if x not in theirs], [x for x in theirs if x not in mine])
    # The writes alone, beside the members' own traces: what only the ensemble knows is decided too.
    truth = folder / "writes.trace"
    done = run("zkstudy", "import", "--writes-only", "--origin-ns", origin, "-o", truth,
               members.recorder.path)
    assert done.returncode == 0, done.stderr
    done = run("zkstudy", "check", "--json", *traces.values(), truth)
    assert done.returncode == 0, done.stdout + done.stderr
    results = {row["id"]: row for row in json.loads(done.stdout)["results"]}
    for must in ("C3", "C4", "C5", "C7", "C10", "Z1", "Z2", "Z3", "Z4", "Z5", "Z7", "Z8", "Z9", "Z11"):
        assert results[must]["checked"] > 0 and "unknown" not in results[must], results[must]
    assert results["stale_commits"]["found"] == 0 and "unknown" not in results["stale_commits"]


def test_the_import_says_what_our_members_say(t):
    the_import_says_what_our_members_say(t, {})


@long
def test_the_import_says_what_members_of_0_7_say(t):
    the_import_says_what_our_members_say(t, {"zookeeper.variant": "0.7"}, "--variant=0.7")


def test_the_import_says_what_members_of_the_documented_algorithm_say(t):
    """They release before they read, read offsets when they have claimed, and watch brokers."""
    the_import_says_what_our_members_say(
        t, {"zookeeper.variant": "documented", "partition.assignment.strategy": "ceil"},
        "--variant=documented", "--strategy=ceil")


def test_members_behind_one_port_are_told_apart(t):
    """By their sessions and what they register; one that is killed and comes back is the same one."""
    cluster = t.cluster()
    cluster.create_topic("t", 4)
    recorder = Recorder(t.folder, cluster.zookeeper.address, [""])
    t.defer(recorder.process.kill)
    group = t.group(cluster, "g")
    first, second = (t.our_members(cluster, "g", name=name) for name in ("first", "second"))
    for members, name in ((first, "m1"), (second, "m2")):
        members.open(name, SETTINGS, zookeeper=recorder.listen(""))
        members.streams(name, t=1)
        members.wait_for_event("streams", name)
    group.wait_for_exact_owners("t", range_layout(4, ["g_m1-0", "g_m2-0"]))
    recorder.command("mark", "kill m2")
    second.kill()
    group.wait_for_exact_owners("t", range_layout(4, ["g_m1-0"]))
    recorder.command("mark", "m2 comes back")
    second = t.our_members(cluster, "g", name="again")
    second.open("m2", SETTINGS, zookeeper=recorder.listen(""))
    second.streams("m2", t=1)
    second.wait_for_event("streams", "m2")
    group.wait_for_exact_owners("t", range_layout(4, ["g_m1-0", "g_m2-0"]))
    for members, name in ((first, "m1"), (second, "m2")):
        members.close_wait(name)
        members.finish()
    done = run("zkstudy", "import", recorder.stop(), "-o", t.folder / "one.trace")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in (t.folder / "one.trace").read_text().splitlines()]
    lives = [(event["ev"], event["m"], event.get("clean")) for event in events
             if event["ev"] in ("m_start", "m_exit")]
    assert lives == [("m_start", "g_m1", None), ("m_start", "g_m2", None), ("m_exit", "g_m2", False),
                     ("m_start", "g_m2", None), ("m_exit", "g_m1", True), ("m_exit", "g_m2", True)], lives
    assert run("zkstudy", "check", t.folder / "one.trace").returncode == 0
    story = run("zkstudy", "story", t.folder / "one.trace")
    assert story.returncode == 0 and "g_m2 is dead" in story.stdout, story.stdout
