"""join: a member joins a group whose partitions are all owned, with nothing to commit: how long until all
flow again, what stood still meanwhile, and what it asked ZooKeeper for. Kafka 0.8.2.2's Java members, ours
in compat and ours in safe mode, by range and by rendezvous, take turns: four groups on one ZooKeeper, each
behind a recorder.

All is read off the wire, so it is the same for everybody. A partition stops when its owner sends the
delete of its owner node: of Java and compat members all partitions of the member at its first delete.
It flows from the last claim of an attempt in which all succeeded (Java, compat), or from the answered
reads of owner and offset that follow the claim (safe). That Java members stop their fetchers before, and
look for leaders behind that, is not in it: their figures are too good, if anything."""
import collections
import json
import re
import statistics
import time

from figures import interleaved, parse_words, print_table
from lib.group import range_layout, rendezvous_layout
from lib.recorder import Recorder
from lib.waiting import wait_for

SIZES = (10, 100)
QUIET_S = 0.5  # nobody but probes and pings has asked for anything
PATIENCE_S = 300
SETTINGS = {"zookeeper.session.timeout.ms": 30000, "auto.commit.interval.ms": 600000}
PATIENT = {"rebalance.max.retries": 1000}  # or some would give up, and no figure would be finite
RANGE = {"partition.assignment.strategy": "range"}  # what Java members do
RENDEZVOUS = "safe, rendezvous"
KINDS = {"Java 0.8.2.2": PATIENT, "compat": {"zookeeper.mode": "compat", **RANGE, **PATIENT},
         "safe": {"zookeeper.mode": "safe", **RANGE},
         RENDEZVOUS: {"zookeeper.mode": "safe", "partition.assignment.strategy": "rendezvous"}}
NO_OPERATIONS = {"ping", "closeSession", "setWatches", "setWatches2", "auth"}
WHAT = (  # of the account: first that fits
    ("register", r"create ids/"), ("list of members", r"getChildren2? ids"),
    ("registrations", r"\w+ ids/"), ("topics", r"\w+ /brokers/topics"), ("brokers", r"\w+ /brokers/ids"),
    ("list of owners", r"getChildren2? owners"), ("claim", r"(create|setData) owners/"),
    ("look at an owner", r"(exists|getData) owners/"), ("read an offset", r"getData offsets/"),
    ("release", r"delete owners/"), ("check an offset", r"check offsets/"),
    ("commit", r"(create|setData) offsets/"))
CROWD, SMOKE_CROWD = 2000, 20
CROWD_AIM_S = 2


def run(context, arguments):
    sizes = (3,) if arguments.smoke else SIZES
    rows, accounts = [], {}
    for n in sizes:
        if arguments.only in ("", str(n)):
            figures = measure(context, arguments, n)
            rows += rows_of(figures, n)
            accounts.update({"%s, %d" % (kind, n): own["account"] for kind, own in figures.items()})
    if rows:
        print_table(
            "join: one member joins n; P = 4 n; %d joins each, in turns. Time until all partitions flow, in ms;\n"
            "means of the partition-seconds lost, the partitions moved and the operations (those in a multi one by\n"
            "one; those of lease probes apart). In brackets: ratio to Java's figure of the same run" % arguments.joins,
            ["n", "members", "p50", "p90", "lost", "moved", "operations", "probes", "most"], rows)
        print_accounts(accounts)
    if arguments.only in ("", "crowd"):
        join_a_crowd(context, arguments, SMOKE_CROWD if arguments.smoke else CROWD)


# ---- what passed ----

class Wire:
    """Follows a recording as it is written: who owns what, and, since begin(), what was asked for and
    when which partition flowed."""

    def __init__(self, path, is_safe):
        self.file, self.rest = open(path, "rb"), b""
        self.is_safe = is_safe
        self.owners = {}     # partition -> thread
        self.changed = {}    # partition -> zxid: answers on two links may pass in the wrong order
        self.requests = {}   # (connection, xid) -> line
        self.claims = {}     # connection -> {partition: ns}, of the attempt under way (Java, compat)
        self.failed = set()  # connections whose attempt met a conflict
        self.reads = {}      # (connection, partition) -> what is still to be answered (safe)
        self.flowing = {}    # (connection, partition) -> since when
        self.last_ns = 0     # when somebody last asked for anything
        self.begin()

    def begin(self):
        self.registered_ns, self.operations, self.probes = None, 0, 0
        self.account = collections.Counter()  # what the operations were for
        self.intervals = []  # (partition, from, to) that flowed, ended since

    def read(self):
        data = self.rest + self.file.read()
        *lines, self.rest = data.split(b"\n")
        for line in lines:
            self.take(json.loads(line))

    def take(self, line):
        if line["k"] == "req":
            self.requests[line["c"], line["xid"]] = line
            self.request(line)
        elif line["k"] == "rsp":
            request = self.requests.pop((line["c"], line["xid"]), None)
            if request:
                self.answer(request, line)
        elif line["k"] == "close":
            self.gone(line)

    def request(self, line):
        parts = line.get("ops", [line])
        if line["op"] in NO_OPERATIONS:
            return
        if all(part["op"] == "check" for part in parts):
            self.probes += len(parts)
            return
        self.operations += len(parts)
        self.last_ns = line["ns"]
        for part in parts:
            self.account[what_for(part)] += 1
            if part["op"] == "create" and "/ids/" in part["path"]:
                self.registered_ns = line["ns"]
            partition = of_partition(part, "owners")
            if part["op"] == "delete" and partition is not None:
                self.stop(line, partition)

    def stop(self, line, partition):
        if not self.is_safe:
            self.end_attempt(line["c"])
        for key in list(self.flowing):
            if key[0] == line["c"] and (not self.is_safe or key[1] == partition):
                self.intervals.append((key[1], self.flowing.pop(key), line["ns"]))

    def end_attempt(self, connection):
        claims = self.claims.pop(connection, {})
        if connection not in self.failed:
            for partition in claims:
                self.flowing.setdefault((connection, partition), max(claims.values()))
        self.failed.discard(connection)

    def answer(self, request, line):
        connection, parts = line["c"], request.get("ops", [request])
        failed = (any(part["op"] == "error" for part in line["results"]) if request["op"] == "multi"
                  else line.get("err"))
        if failed:
            for name in map(what_for, parts):
                if name in ("claim", "release", "check an offset", "commit"):
                    self.account[name] -= 1
                    self.account[name + ", refused"] += 1
            if request["op"] == "create" and of_partition(request, "owners") is not None:
                self.failed.add(connection)
        else:
            for part in parts:
                self.written(part, line)
        kind = {"exists": "owners", "getData": "offsets"}.get(request["op"])
        partition = of_partition(request, kind) if kind else None
        waiting = self.reads.get((connection, partition))
        if waiting is not None:
            waiting.discard(kind)
            if not waiting:
                del self.reads[connection, partition]
                self.flowing[connection, partition] = line["ns"]

    def written(self, part, line):
        partition, connection = of_partition(part, "owners"), line["c"]
        if partition is None or part["op"] not in ("create", "delete"):
            return
        is_claim = part["op"] == "create"
        if line["zxid"] > self.changed.get(partition, 0):
            self.changed[partition] = line["zxid"]
            self.owners.pop(partition, None)
            if is_claim:
                self.owners[partition] = part["data"]
        if not is_claim:
            self.claims.get(connection, {}).pop(partition, None)
        elif self.is_safe:
            self.reads[connection, partition] = {"owners", "offsets"}
        else:
            self.claims.setdefault(connection, {})[partition] = line["ns"]

    def gone(self, line):
        self.end_attempt(line["c"])
        for key in [key for key in self.flowing if key[0] == line["c"]]:
            self.intervals.append((key[1], self.flowing.pop(key), line["ns"]))

    def wait_until_settled(self, layout):
        """The owners are these, and nobody asks for anything any more."""
        def settled():
            self.read()
            if self.owners != layout:
                raise AssertionError("%d partitions are not owned as they should be"
                                     % sum(self.owners.get(p) != thread for p, thread in layout.items()))
            return time.monotonic_ns() - self.last_ns > QUIET_S * 1e9
        wait_for(settled, "%d partitions to be owned" % len(layout), PATIENCE_S, 0.02)
        for connection in list(self.claims):
            self.end_attempt(connection)

    def result(self, partitions):
        """After a join that has settled: what it was like, or None if that is not known."""
        begin = self.registered_ns
        starts = {partition: since for (_, partition), since in self.flowing.items()}
        assert len(starts) == partitions == len(self.flowing), (len(starts), len(self.flowing))
        end = max(begin, *starts.values())
        flowed = sum(end - max(begin, since) for since in starts.values())
        flowed += sum(max(0, to - max(begin, since)) for _, since, to in self.intervals)
        return {"ms": (end - begin) / 1e6, "lost": ((end - begin) * partitions - flowed) / 1e9,
                "operations": self.operations, "probes": self.probes, "account": self.account.copy()}


def what_for(part):
    path = re.sub(r"^/consumers/[^/]+/", "", part.get("path", ""))
    return next((name for name, what in WHAT if re.match(what, "%s %s" % (part["op"], path))), part["op"])


def of_partition(part, kind):
    match = re.match(r"/consumers/[^/]+/%s/[^/]+/(\d+)$" % kind, part.get("path", ""))
    return int(match.group(1)) if match else None


# ---- groups of n ----

class Fleet:
    """n members of one kind in one process, and the one that comes and goes."""

    def __init__(self, context, cluster, kind, n):
        self.n, self.group = n, kind.split()[-1].lower()
        self.is_safe = kind.startswith("safe")
        self.is_rendezvous = kind == RENDEZVOUS
        context.folder.mkdir(exist_ok=True)
        self.recorder = Recorder(context.folder, cluster.zookeeper.address, [""], "%s-%d" % (self.group, n))
        context.defer(self.recorder.process.kill)
        make = context.java_members if kind.startswith("Java") else context.our_members
        self.settings = {**SETTINGS, **KINDS[kind]}
        self.members = make(cluster, self.group, name="%s-%d" % (self.group, n))
        self.names = ["m%03d" % number for number in range(1, n + 1)]
        self.joins = 0
        group = context.group(cluster, self.group)
        for partition in range(4 * n):
            group.set_offset("t%d" % n, partition, 0)
        self.wire = Wire(self.recorder.path, self.is_safe)
        for name in self.names:
            self.start(name)
        self.settle(self.names)

    def start(self, name):
        self.members.open(name, self.settings, zookeeper=self.recorder.listen(""))
        self.members.streams(name, **{"t%d" % self.n: 1})

    def settle(self, names):
        threads = ["%s_%s-0" % (self.group, name) for name in names]
        layout = (rendezvous_layout("t%d" % self.n, 4 * self.n, threads) if self.is_rendezvous else
                  range_layout(4 * self.n, threads))
        self.wire.wait_until_settled(layout)
        return layout

    def join(self):
        """The newcomer's place in the order is another one each time, the same for all kinds."""
        place = self.joins * 7 % (self.n + 1)
        name = "m%03d+%d" % (place, self.joins)  # behind the member of that number
        self.joins += 1
        self.wire.begin()
        self.start(name)
        after = self.settle([*self.names, name])
        result = self.wire.result(4 * self.n)
        self.members.close(name)
        before = self.settle(self.names)
        result["moved"] = sum(before[partition] != thread for partition, thread in after.items())
        return result

    def end(self):
        self.members.kill()
        self.recorder.process.kill()
        self.recorder.path.unlink()


def measure(context, arguments, n):
    cluster = context.zk_cluster()
    cluster.create_topic("t%d" % n, 4 * n)
    fleets = {kind: Fleet(context, cluster, kind, n) for kind in KINDS}
    results = interleaved({kind: fleet.join for kind, fleet in fleets.items()}, arguments.joins)
    for fleet in fleets.values():
        fleet.end()
    cluster.kill()
    return {kind: summary(list_) for kind, list_ in results.items()}


def rows_of(figures, n):
    java = figures["Java 0.8.2.2"]
    return [[n, kind, *(cell(name, own[name], java[name], kind) for name in own if name != "account")]
            for kind, own in figures.items()]


def print_accounts(accounts):
    """What the operations of a join were for."""
    names = sorted({name for own in accounts.values() for name in own},
                   key=lambda name: -max(own[name] for own in accounts.values()))
    print_table("join: what the operations were for, means for a join",
                ["", *accounts], [[name, *("%.1f" % own[name] for own in accounts.values())] for name in names])


def summary(results):
    times = sorted(result["ms"] for result in results)
    return {"p50": statistics.median(times), "p90": times[(9 * len(times) + 9) // 10 - 1],
            **{name: statistics.mean(result[name] for result in results)
               for name in ("lost", "moved", "operations", "probes")},
            "most": times[-1],
            "account": collections.Counter({name: statistics.mean(result["account"][name] for result in results)
                                            for name in set().union(*(r["account"] for r in results))})}


def cell(name, own, java, kind):
    text = "%.3f" % own if name == "lost" else "%.1f" % own if name == "moved" else "%.0f" % own
    return text if kind.startswith("Java") or not java else "%s (%.3f)" % (text, own / java)


# ---- a crowd in one process ----

def join_a_crowd(context, arguments, count):
    cluster = context.zk_cluster(zookeeper_properties={"maxClientCnxns": 0})
    cluster.create_topic("crowd", count)
    process = context.process("members_bench", [
        arguments.programs / "members_bench", "--zookeeper=%s" % cluster.zookeeper_connect, "--topic=crowd",
        "--members=%d" % count, "--groups=1", "--observer=process"], stdin=True)

    def ask(word, answer, timeout_s):
        start = len(process.text_lines())
        process.send(word)
        process.wait_for_line("^%s" % answer, timeout_s, start)
        return parse_words(process.text_lines()[-1])

    process.wait_for_line("^ready", 60)
    ask("open", "opened", 1800)
    opened = ask("settle", "settled", 1800)
    joins = [ask("join %d" % (number * 7919 % (count + 1)), "joined", 600)
             for number in range(min(arguments.joins, 9))]
    times = sorted(join["wall_ns"] / 1e9 for join in joins)
    cpu = statistics.median(join["cpu_ns"] / 1e9 for join in joins)
    ask("close", "closed", 300)
    process.close_input()
    assert process.wait(60) == 0, process.how_it_ended()
    cluster.kill()
    print_table("join: one more in a process of %d safe members, each with a session, one observer, P = %d;\n"
                "%d joins at places all over the order (aim: %d s)" % (count, count, len(joins), CROWD_AIM_S),
                ["first settled s", "join p50 s", "most s", "CPU p50 s", "moved p50"],
                [["%.1f" % (opened["wall_ns"] / 1e9), "%.2f" % statistics.median(times),
                  "%.2f" % times[-1], "%.2f" % cpu,
                  "%.0f" % statistics.median(join["moved"] for join in joins)]])
