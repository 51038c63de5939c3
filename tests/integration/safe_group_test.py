"""Members with zookeeper.mode=safe: what they promise (docs/safe-mode.md), on a real ZooKeeper and a
real broker, while messages are written all the time."""
import json
import time

from kazoo.exceptions import NodeExistsError, NoNodeError

from lib.checks import check, were_checked
from lib.group import range_layout, rendezvous_layout
from lib.ledger import Traffic
from lib.members import Account, run
from lib.waiting import wait_for

SAFE = {"zookeeper.mode": "safe", "zookeeper.session.timeout.ms": 3000,
        "auto.commit.interval.ms": 200}
TICK = {"tickTime": 500}


def expect(what, seen, wanted):
    assert seen == wanted, "%s: %r, expected %r" % (what, seen, wanted)


def not_yet(seen):
    raise AssertionError("%r" % (seen,))


def told(process, name):
    """[[kind, partitions]] as the rebalance callback got them; calls of one kind in a row are one."""
    result = []
    for kind, owned in process.rebalances(name):
        partitions = {partition for _, partition in owned}
        if result and result[-1][0] == kind:
            result[-1][1] |= partitions
        else:
            result.append([kind, partitions])
    return result


class World:
    """A cluster with one topic and its traffic, and members of the group g by name."""

    def __init__(self, t, partitions=4, rate=20, zookeeper="3.8", cluster=None):
        self.t, self.partitions = t, partitions
        self.cluster = cluster or t.cluster(zookeeper=zookeeper, zookeeper_properties=TICK)
        self.cluster.create_topic("t", partitions)
        self.group = t.group(self.cluster, "g")
        self.proxy = self.make_proxy()
        self.traffic = Traffic(self.cluster, "t", rate)
        t.defer(self.traffic.close)
        self.gone = []      # processes that are no more, with what they received
        self.there = {}     # name -> its process
        self.traces = []

    def make_proxy(self):
        return self.t.zookeeper_proxy(self.cluster)

    def join(self, name, settings=None, process=None):
        process = process or self.t.our_members(self.cluster, "g", "ours-" + name)
        trace = self.t.folder / ("%s-%d.trace" % (name, len(self.traces)))
        self.traces.append(trace)
        traced = {"trace.path": trace, "trace.level": 2, "trace.member": trace.stem}
        process.open(name, {**SAFE, **traced, **(settings or {})}, zookeeper=self.proxy.listen(name))
        process.streams(name, t=1)
        self.there[name] = process
        return process

    def settled(self, names=None, rule=None):
        """Waits until each partition is owned as the rule gives it (range and ceil agree where these
        tests use them), by the session of its member, our applications are told of it (the owner nodes
        come first), and everybody delivers. The layout."""
        names = sorted(names or self.there)
        layout = (rule or range_layout)(self.partitions, ["g_%s-0" % name for name in names])
        self.group.wait_for_exact_owners("t", layout)
        for name in names:
            if not self.there[name].is_java:
                share = {p for p, owner in layout.items() if owner == "g_%s-0" % name}
                wait_for(lambda: self.held(name) == share or not_yet(self.held(name)),
                         "%s to be told of %r" % (name, share), 60)
        self.flows(names)
        return layout

    def held(self, name):
        return self.there[name].held(name, "t")

    def flows(self, names):
        counts = {name: self.count(name) for name in names}
        wait_for(lambda: all(self.count(name) > counts[name] for name in names),
                 "messages at each of %s" % names, 60)

    def first(self, name, partition):
        """Offset of the first message of the partition that this member gets."""
        def offsets():
            return [m.offset for m in self.there[name].messages(name) if m.partition == partition]
        return min(wait_for(offsets, "messages of %d at %s" % (partition, name), 60))

    def count(self, name):
        return len(self.there[name].messages(name))

    def leave(self, name):
        process = self.there.pop(name)
        expect("close of %s" % name, process.close_wait(name)[0], "ZKC_OK")
        process.finish()
        self.gone.append(process)

    def kill(self, name):
        process = self.there.pop(name)
        process.kill()
        self.gone.append(process)

    def messages(self):
        processes = {id(p): p for p in [*self.gone, *self.there.values()]}
        return [m for process in processes.values() for m in process.messages()]

    def written(self):
        """Ends the traffic; {(partition, offset)} of all there is."""
        return set(self.traffic.stop())

    def end(self, duplicates_max=0, **traces):
        """Everything is delivered, everybody leaves; the account."""
        written = self.written()
        wait_for(lambda: written <= {(m.partition, m.offset) for m in self.messages()},
                 "the last messages", 60)
        for name in sorted(self.there):
            self.leave(name)
        Account(written, self.messages()).check(duplicates_max)
        last = {p: max(o for q, o in written if q == p) + 1 for p in range(self.partitions)}
        expect("committed", self.group.offsets("t"), last)
        self.check_traces(**traces)

    def check_traces(self, except_for=()):
        """What the traces of all members say of the promises (study/check)."""
        were_checked(check(self.traces, except_for=except_for), "SF1", "SF2")


# ---- joining and leaving ----

def join_and_leave(t, zookeeper):
    """Nothing is delivered twice, and what does not move flows on: each member is told only of what
    comes and goes."""
    world = World(t, zookeeper=zookeeper)
    a = world.join("a")
    world.settled()
    b = world.join("b")
    world.settled()
    expect("what a was told", told(a, "a"), [["assign", {0, 1, 2, 3}], ["revoke", {2, 3}]])
    expect("what b was told", told(b, "b"), [["assign", {2, 3}]])
    world.leave("a")
    world.settled()
    expect("what b was told at last", told(b, "b"), [["assign", {0, 1, 2, 3}]])
    expect("reports", b.reports("b"), [])
    world.end()


def test_join_and_leave(t):
    join_and_leave(t, "3.8")


def test_join_and_leave_on_zookeeper_3_4(t):
    join_and_leave(t, "3.4")


# What the requests of a run show of a rule that is taken out: True with the key's other value, False with
# its default. A request is (who, [operation]): those of a transaction, or the one. What happens in between
# is there as (what, []).

def parts(requests, op, where):
    """The operations of these kinds on the node, or on those below it."""
    where = "/consumers/g/" + where
    return [one for _, ops in requests for one in ops if one["op"] in op.split()
            and ((one["path"] or "") + "/").startswith(where + "/")]


def since(what, requests):
    return requests[[who for who, _ in requests].index(what):] if (what, []) in requests else []


def claims_are_single(requests):
    claims = [ops for _, ops in requests if len(ops) > 1 and parts([("", ops)], "create", "owners/t")]
    return {len(ops) for ops in claims} == {2}  # create and set


SHOWN = {
    "zookeeper.claim": claims_are_single,
    "zookeeper.release": lambda requests: {
        one["version"] for one in parts(requests, "delete", "owners/t")} == {-1},
    "zookeeper.commit": lambda requests: {
        one["version"] for one in commits(requests)} == {-1},
    "zookeeper.watch.owners": lambda requests: not any(
        one["watch"] for one in parts(requests, "getData exists", "owners/t")),
    "zookeeper.keep.unmoved": lambda requests: bool(parts(
        [(who, ops) for who, ops in since("a leaves", requests) if who == "b"], "delete", "owners/t")),
    "zookeeper.coalesce": lambda requests: bool(parts(  # one more partition is no news of members
        since("grown", requests[:requests.index(("a leaves", []))]), "getChildren getChildren2", "ids")),
    "zookeeper.sync.before.read": lambda requests: bool(parts(requests, "sync", "ids")),
    "zookeeper.fence": lambda requests: not lease_probes(requests),
}


def lease_probes(requests):
    return [ops for _, ops in requests if parts([("", ops[:1])], "check", "ids")]


def commits(requests):
    """Those after a partition's first, which creates the node and so names no version."""
    return parts(requests, "setData", "offsets/t")


def asked(world, since=0):
    return [(r["who"], r["fields"]["ops"] if r["op"] == "multi"
             else [{"op": r["op"], "path": r["path"], **r["fields"]}])
            for r in world.proxy.requests(None, since)]


def without(t, key=None, value=None, grows=False):
    """A group without one of the rules of safe mode: its requests show that, and of no other rule; it
    works, and nothing is lost."""
    world = World(t)
    settings = {key: value} if key else {}
    world.join("a", settings)
    world.settled()
    world.join("b", settings)
    world.settled()
    wait_for(lambda: commits(asked(world)), "a commit over a commit")
    looked_at = set(SHOWN)
    if key == "zookeeper.fence":
        time.sleep(1.5)  # for what must not come: a probe each second
    elif key:
        looked_at.remove("zookeeper.fence")  # would take a second
    else:
        wait_for(lambda: lease_probes(asked(world)), "a probe of the lease")
    requests = asked(world)
    if grows:
        mark = world.proxy.mark("grown")
        world.cluster.add_partitions("t", 5)
        world.partitions = 5
        world.settled()
        wait_for(lambda: [m for m in world.messages() if m.partition == 4], "messages of the new one")
        requests += [("grown", []), *asked(world, mark)]
    mark = world.proxy.mark("leaves")
    world.leave("a")
    world.settled()
    requests += [("a leaves", []), *asked(world, mark)]
    expect("what the requests show", {name for name in looked_at if SHOWN[name](requests)}, {key} - {None})
    # a rule that is taken out may break what it is for
    world.end(except_for=("SF1", "SF2", "SF3", "SF5", "SF8") if key else ())


def test_with_all_rules(t):
    without(t, grows=True)


def test_claims_one_by_one(t):
    without(t, "zookeeper.claim", "single")


def test_blind_releases(t):
    without(t, "zookeeper.release", "blind")


def test_blind_commits(t):
    without(t, "zookeeper.commit", "blind")


def test_owners_that_are_not_watched(t):
    without(t, "zookeeper.watch.owners", "false")


def test_everything_is_given_back_at_each_change(t):
    without(t, "zookeeper.keep.unmoved", "false")


def test_each_event_is_a_round(t):
    without(t, "zookeeper.coalesce", "false", grows=True)


def test_sync_before_each_view(t):
    without(t, "zookeeper.sync.before.read", "true")


def test_no_fence(t):
    without(t, "zookeeper.fence", "none")


def test_a_filter_and_several_streams(t):
    """Topics that appear under a filter are claimed, several streams share them."""
    world = World(t)
    a = t.our_members(world.cluster, "g", "ours-a")
    a.open("a", SAFE)
    a.filter("a", "white_list", 2, "t|u.*")
    world.group.wait_for_exact_owners("t", range_layout(4, ["g_a-0", "g_a-1"]))
    world.cluster.create_topic("unheard", 3)
    owners = world.group.wait_until_owned("unheard", 3)
    assert set(owners.values()) == {"g_a-0", "g_a-1"}, owners
    sent = world.t.producer(world.cluster).send_numbered("unheard", 3, 5)
    wait_for(lambda: len([m for m in a.messages("a") if m.topic == "unheard"]) == len(sent), "its messages")
    written = set(world.traffic.stop())
    wait_for(lambda: written <= {(m.partition, m.offset) for m in a.messages("a") if m.topic == "t"},
             "the last messages")
    expect("close", a.close_wait("a")[0], "ZKC_OK")
    Account(written, [m for m in a.messages("a") if m.topic == "t"]).check()
    expect("committed", world.group.offsets("unheard"), {p: 5 for p in range(3)})
    a.finish()


def test_a_member_that_is_killed(t):
    """Its share goes to the others when its session ends; what it had not committed comes again."""
    world = World(t)
    world.join("a")
    world.join("b")
    world.settled()
    world.kill("b")
    world.settled()
    # twice: what b was given in one commit interval (and the last one, which it was not done with)
    world.end(duplicates_max=2 * 60)


def test_restart_with_the_same_id(t):
    """A process that is killed and started again with its id waits for its former session to end, and
    takes nothing that is of that session for its own."""
    world = World(t)
    world.join("a")
    world.settled()
    old = world.group.member_session("g_a")
    world.kill("a")
    world.join("a", process=t.our_members(world.cluster, "g", "again"))
    wait_for(lambda: world.group.member_session("g_a") not in (None, old), "a new registration", 30)
    world.settled()
    world.end(duplicates_max=4 * 60)


# ---- the lease: zombies, cuts ----

def times_of(process, name):
    return [at for at, _ in process.timed_messages(name)]


def test_a_process_that_is_stopped_for_longer_than_its_session(t):
    """SIGSTOP: when it goes on, its session is over and others own its partitions; it hands out
    nothing more of them, but what was in flight."""
    world = World(t)
    a, b = world.join("a"), world.join("b")
    world.settled()
    a.process.pause()
    world.settled(["b"])
    world.flows(["b"])
    before, stopped = world.count("a"), {(m.partition, m.offset) for m in b.messages("b")}
    a.process.resume()
    wait_for(lambda: any(kind == "lost" for kind, _ in told(a, "a")), "a to learn of it", 30)
    lost_at = [at for at, line in a.process.timed_lines() if line.startswith("rebalance a lost")][0]
    late = [m for at, m in a.timed_messages("a")[before:]
            if at <= lost_at and (m.partition, m.offset) in stopped]
    assert len(late) <= 1, "handed out after the lease: %r" % late
    world.settled()
    world.end(duplicates_max=2 * 60)


def test_a_silent_link(t):
    """What test_black_hole_shows_the_overlap shows of compat does not happen: a member that does not
    hear from ZooKeeper stops before its session can have ended."""
    world = World(t)
    a = world.join("a")
    world.join("b")
    world.settled()
    world.proxy.hole("a")
    world.group.wait_for_exact_owners("t", range_layout(4, ["g_b-0"]))
    after = len(world.proxy.events), world.count("a")
    world.flows(["b"])
    world.flows(["b"])
    expect("messages of a after its session", world.count("a"), after[1])
    a_had = {(m.partition, m.offset) for m in a.messages("a")}
    b_first = {p: world.first("b", p) for p in (0, 1)}
    twice = [(p, o) for p, o in a_had if p in b_first and o >= b_first[p]]
    world.proxy.heal("a")
    a.wait_for_report("a", "expired")
    world.settled()
    # twice: what a was given between its last commit and the end of its lease
    world.end(duplicates_max=len(twice))


def test_same_session_again(t):
    same_session_again(t, {}, "multi")


def test_same_session_again_fenced_by_the_connection(t):
    # SF2: the checker keeps fewer leases than the cuts of a second make here
    same_session_again(t, {"zookeeper.fence": "disconnect"}, None, except_for=("SF2",))


def test_same_session_again_with_probes_by_sync(t):
    same_session_again(t, {"zookeeper.lease.probe": "sync"}, "sync")


def same_session_again(t, settings, probe, except_for=()):
    """A link that breaks again and again, for less than the lease: no partition is given back, nothing
    is read again, nothing comes twice, and the session is the same."""
    world = World(t)
    a = world.join("a", {"zookeeper.session.timeout.ms": 10000, **settings})
    world.settled()
    session = world.group.member_session("g_a")
    for _ in range(15):
        world.proxy.cut("a")
        world.flows(["a"])
    expect("session", world.group.member_session("g_a"), session)
    expect("what a was told", told(a, "a"), [["assign", {0, 1, 2, 3}]])
    expect("claims", world.group.owner_sessions("t"), {p: session for p in range(4)})

    def probes():
        seen = {"multi": lease_probes(asked(world)), "sync": parts(asked(world), "sync", "ids")}
        return {what for what, requests in seen.items() if requests}

    wait_for(lambda: not probe or probes(), "a probe of the lease")
    expect("probes of the lease", probes(), {probe} - {None})
    world.end(except_for=except_for)


def test_delivery_resumes_in_the_same_session(t):
    """The link is silent for longer than the lease lasts, but comes back before the session ends: the
    member stands still and goes on where it stopped."""
    world = World(t)
    a = world.join("a", {"zookeeper.session.timeout.ms": 3000})
    world.settled()
    for tries in range(1, 11):
        session, before = world.group.member_session("g_a"), told(a, "a")
        world.proxy.hole("a", "down")  # requests and pings reach the server: the session lives on

        def stands_still():
            count = world.count("a")
            time.sleep(0.5)
            return world.count("a") == count

        wait_for(stands_still, "a to stand still", 20, 0.01)
        world.proxy.heal("a")
        world.flows(["a"])
        if world.group.member_session("g_a") == session:
            break
        world.settled()  # too late: the session has ended, once more
    expect("session", world.group.member_session("g_a"), session)
    expect("what a was told", told(a, "a"), before)
    # twice: what was not committed when a session ended
    world.end(duplicates_max=(tries - 1) * 4 * 60)


# ---- handing over ----

def test_a_slow_application_finishes_first(t):
    """The heir starts when the application has finished what it holds, and behind it."""
    world = World(t)
    a = world.join("a")
    world.settled()
    a.command("work", "a", 1000)
    b = world.join("b")
    world.settled()
    a.command("work", "a", 0)
    expect("reports", a.reports("a"), [])
    expect("what b was told", told(b, "b"), [["assign", {2, 3}]])
    world.end()


def test_an_application_that_does_not_finish(t):
    """After zookeeper.hand.over.ms what it holds does not count any more; the heir gets that again,
    and nothing else."""
    world = World(t)
    a = world.join("a", {"zookeeper.hand.over.ms": 500, "acknowledgement.mode": "next"})
    world.settled()
    a.take("a", 3)
    wait_for(lambda: (lambda n: (time.sleep(0.5), world.count("a") == n)[1])(world.count("a")),
             "a to stand still with one message in its hands", 20)
    last = a.messages("a")[-1]
    world.join("b")
    world.group.wait_for_exact_owners("t", range_layout(4, ["g_a-0", "g_b-0"]))
    said = [text for _, _, text in a.log_lines("a") if "time for handing over is up" in text]
    expect("warnings", len(said), 1 if last.partition in (2, 3) else 0)
    a.command("ack", "a")
    code = a.wait_for_event("acknowledged", "a")
    expect("the late acknowledgement", code, ["ZKC_ERR_NOT_OWNED" if said else "ZKC_OK"])
    a.take("a", -1)
    world.settled()
    world.end(duplicates_max=1)


def test_explicit_acknowledgement(t):
    """Asking for more commits nothing; what is acknowledged is committed; after a kill everything else
    comes again."""
    world = World(t, rate=5)
    a = world.join("a", {"acknowledgement.mode": "explicit"})
    world.settled()
    world.flows(["a"])
    world.group.wait_for_offsets("t", {p: 0 for p in range(4)})
    time.sleep(0.6)  # some commit intervals, for what must not come
    expect("committed", world.group.offsets("t"), {p: 0 for p in range(4)})
    a.take("a", 0)
    a.command("ack", "a")
    acknowledged = a.wait_for_event("acknowledged", "a")
    expect("acknowledged", acknowledged, ["ZKC_OK"])
    wait_for(lambda: any(world.group.offsets("t").values()), "the commit")
    (partition, offset), = [item for item in world.group.offsets("t").items() if item[1]]
    got = [m.offset for m in a.messages("a") if m.partition == partition]
    assert offset - 1 in got, (offset, got)
    world.kill("a")
    world.join("b")
    world.settled()
    expect("where b begins", world.first("b", partition), offset)
    world.end(duplicates_max=10000)


def test_close_with_a_message_in_hand(t):
    """Closing waits for what the application holds; what it finished is committed."""
    world = World(t)
    a = world.join("a", {"zookeeper.hand.over.ms": 20000})
    world.settled()
    a.command("work", "a", 700)
    count = world.count("a")
    wait_for(lambda: world.count("a") > count, "the next message", every_s=0.01)
    a.command("work", "a", 0)
    world.leave("a")
    world.join("b")
    world.settled()
    world.end()


def test_pause_resume_and_seek(t):
    """A pause loses and doubles nothing, also of a message that the application has in its hands; a
    seek begins there, and what is committed follows."""
    world = World(t, 1)
    a = world.join("a")
    world.settled()
    for _ in range(5):
        expect("pause", a.ask("pause", "a", "t", 0)[-1], "ZKC_OK")
        paused = world.count("a")
        time.sleep(0.2)
        assert world.count("a") <= paused + 1, "messages while it is paused"
        expect("resume", a.ask("resume", "a", "t", 0)[-1], "ZKC_OK")
        world.flows(["a"])
    offsets = [m.offset for m in a.messages("a")]
    expect("offsets", offsets, list(range(len(offsets))))
    expect("seek", a.ask("seek", "a", "t", 0, 3)[-1], "ZKC_OK")
    wait_for(lambda: [m.offset for m in a.messages("a")].count(3) == 2, "offset 3 once more")
    world.end(duplicates_max=10000)



# ---- eviction ----

def test_an_application_that_stops_polling(t):
    world = World(t)
    a = world.join("a", {"max.poll.interval.ms": 2000})
    world.join("b")
    world.settled()
    a.take("a", 1)
    text = a.wait_for_report("a", "max.poll.interval.ms", 30)
    assert "joins again" in text, text
    wait_for(lambda: world.group.members() == ["g_b"], "a to be gone", 10)
    world.settled(["b"])
    a.take("a", -1)
    world.settled()
    world.end(duplicates_max=1)


def test_an_application_that_never_polls(t):
    """It is given nothing that it could be done with: it is evicted all the same, and that nothing
    waits for it then is no asking for more. When it asks it is back."""
    world = World(t)
    b = world.join("b")
    world.settled()
    a = t.our_members(world.cluster, "g", "ours-a")
    a.open("a", {**SAFE, "max.poll.interval.ms": 1000}, zookeeper=world.proxy.listen("a"))
    a.take("a", 0)
    a.streams("a", t=1)
    a.wait_for_report("a", "max.poll.interval.ms", 30)
    wait_for(lambda: world.group.members() == ["g_b"], "a to be gone", 10)
    world.settled(["b"])
    world.flows(["b"])
    expect("who is in", world.group.members(), ["g_b"])
    expect("evictions", len(a.reports("a", "ZKC_ERR_EVICTED")), 1)
    a.take("a", -1)
    world.there["a"] = a
    world.settled()
    world.end(duplicates_max=0)


def test_close_of_an_evicted_member(t):
    """It has nothing to give back and no session: closing takes no time."""
    world = World(t)
    a = world.join("a", {"max.poll.interval.ms": 1000})
    world.settled()
    a.take("a", 1)
    a.wait_for_report("a", "max.poll.interval.ms", 30)
    wait_for(lambda: world.group.members() == [], "a to be gone", 10)
    code, took_ms = a.close_wait("a")
    expect("close", code, "ZKC_OK")
    assert took_ms < 3000, took_ms
    world.there.pop("a")
    world.gone.append(a)
    world.join("b")
    world.settled()
    world.end(duplicates_max=1)


# ---- foreigners ----

def test_a_foreigner_deletes_owner_nodes(t):
    """An owner node that somebody deletes is lost: its partition stops, and is claimed again."""
    world = World(t)
    a = world.join("a")
    world.settled()
    both = world.cluster.zk.transaction()  # else it may have the one again before the other goes
    for partition in (1, 2):
        both.delete("/consumers/g/owners/t/%d" % partition)
    expect("deleted", both.commit(), [True, True])
    wait_for(lambda: [kind for kind, _ in told(a, "a")] == ["assign", "lost", "assign"],
             "a to notice", 20)
    world.settled()
    expect("claims", {p: world.cluster.zk.exists("/consumers/g/owners/t/%d" % p).version
                      for p in range(4)}, {p: 1 for p in range(4)})
    world.end(duplicates_max=2 * 60)


def test_a_partition_that_another_keeps(t):
    """What the member has flows from the first; who holds the rest is reported, and it is claimed when it is
    deleted."""
    world = World(t)
    world.cluster.zk.create("/consumers/g/owners/t/1", b"g_nobody-0", makepath=True)
    a = world.join("a", {"statistics.interval.ms": 200})
    wait_for(lambda: world.held("a") == {0, 2, 3}, "a to be told of what is free")
    world.flows(["a"])
    expect("what a was told", told(a, "a"), [["assign", {0, 2, 3}]])

    text = a.wait_for_report("a", "1 of 4 partitions that are ours", 40)
    assert "[t,1] by g_nobody-0" in text, text
    wait_for(lambda: a.statistics("a")["member"]["trouble"] == "held-by-others", "trouble in the statistics")
    stats = a.statistics("a")
    expect("healthy", stats["member"]["healthy"], False)
    expect("overdue", stats["safe"]["overdue"], 1)
    expect("waiting", [(w["topic"], w["partition"], w["holder"]) for w in stats["safe"]["waiting"]],
           [("t", 1, "g_nobody-0")])
    world.cluster.zk.delete("/consumers/g/owners/t/1")
    world.settled()
    wait_for(lambda: a.statistics("a")["member"]["healthy"], "health")
    world.end()


def test_round_robin_of_uneven_subscriptions(t):
    """Who subscribes to something else stops nobody: 0.8.2's rule refuses such a group."""
    world = World(t)
    world.cluster.create_topic("u", 3)
    settings = {"partition.assignment.strategy": "roundrobin"}
    a = world.join("a", settings)
    world.settled()
    b = t.our_members(world.cluster, "g", "ours-b")
    trace = t.folder / "b-u.trace"
    world.traces.append(trace)
    b.open("b", {**SAFE, **settings, "trace.path": trace, "trace.level": 2, "trace.member": "b-u"},
           zookeeper=world.proxy.listen("b"))
    b.streams("b", t=1, u=1)
    world.there["b"] = b
    # t is dealt among both, u to whom has it
    owners = world.group.wait_until_owned("u", 3)
    assert set(owners.values()) == {"g_b-0"}, owners

    def dealt():
        threads = sorted(world.group.owners("t").values())
        return threads == ["g_a-0"] * 2 + ["g_b-0"] * 2
    wait_for(dealt, "two partitions of t for each", 60)
    world.flows(["a", "b"])
    world.leave("b")
    world.settled()
    assert not [text for _, _, text in a.log_lines("a") if "nothing changes" in text]
    world.end()


def by_rendezvous(partitions, threads):
    return rendezvous_layout("t", partitions, threads)


def revoked(process, name, since):
    """What it had to give back since it had been told so many times."""
    return {partition for kind, owned in process.rebalances(name)[since:] if kind == "revoke"
            for _, partition in owned}


def test_rendezvous(t):
    """Few partitions move at a join, each straight to its new owner; a member of Kafka's takes everybody
    back to range, and when it has left they return."""
    world = World(t, partitions=12, rate=60)
    settings = {"partition.assignment.strategy": "rendezvous"}
    first = ["a", "b", "c"]
    for name in first:
        world.join(name, settings)
    before = world.settled(rule=by_rendezvous)
    told_before = {name: len(world.there[name].rebalances(name)) for name in first}
    world.join("d", settings)
    after = world.settled(rule=by_rendezvous)
    moved = {name: {p for p in before if before[p] == "g_%s-0" % name != after[p]} for name in first}
    assert 3 <= sum(map(len, moved.values())) <= 5, (before, after)
    for name in first:
        expect("what %s gave back" % name, revoked(world.there[name], name, told_before[name]), moved[name])
    code, members, problems = described(world)
    expect("groups describe", (code, problems), (0, []))
    expect("declared", {m["strategy"] for m in members.values()}, {"rendezvous,ceil,range"})

    java = t.java_members(world.cluster, "g", name="java")
    java.open("j", {"zookeeper.session.timeout.ms": 3000, "auto.commit.interval.ms": 200,
                    "rebalance.backoff.ms": 1000}, zookeeper=world.proxy.listen("j"))
    java.streams("j", t=1)
    world.there["j"] = java
    world.settled()
    expect("groups describe beside Java", described(world)[0], 0)
    text = "g_j does not declare that it knows rendezvous: partitions are assigned by range"
    for name in "abcd":
        assert [line for _, _, line in world.there[name].log_lines(name) if text in line], name
    world.there.pop("j")
    java.close_wait("j")
    world.gone.append(java)
    world.settled(rule=by_rendezvous)
    world.end(duplicates_max=12 * 60)


def test_a_filter_without_translation(t):
    """A member whose filter Java reads and we do not: its id and what follows are told as an error."""
    world = World(t)
    a = world.join("a")
    world.settled()
    odd = {"version": 1, "subscription": {"(" * 90 + "t" + ")" * 90: 1}, "pattern": "white_list", "timestamp": "1"}
    world.cluster.zk.create("/consumers/g/ids/g_odd", json.dumps(odd).encode(), ephemeral=True)
    wait_for(lambda: [text for _, _, text in a.log_lines("a")
                      if "g_odd" in text and "its share is not known" in text], "a line with its id")
    world.flows(["a"])
    world.cluster.zk.delete("/consumers/g/ids/g_odd")
    world.end()


ODD = {
    "bytes": b"\xff{not json",
    "text": b"mytopic",
    "large": b"x" * 300000,
    "number": b'{"version":1,"subscription":{"u":1},"pattern":"static","timestamp":1424990000456}',
    "version": b'{"version":7,"subscription":{"u":1},"pattern":"static","timestamp":"1424990000456"}',
}


def test_odd_registrations(t):
    """Somebody registers what cannot be read: it is reported by its id, and the others go on. What only
    Java cannot read is a member as any."""
    world = World(t)
    a = world.join("a")
    world.settled()
    for name, data in ODD.items():
        world.cluster.zk.create("/consumers/g/ids/g_odd-" + name, data, ephemeral=True)

    def told(name):
        return [text for _, _, text in a.log_lines("a") if "g_odd-%s" % name in text]

    for name in ("bytes", "text", "large"):
        wait_for(lambda name=name: [text for text in told(name) if "without streams" in text],
                 "a line about g_odd-" + name)
    world.flows(["a"])
    world.join("b")
    world.settled()
    for name in ODD:
        world.cluster.zk.delete("/consumers/g/ids/g_odd-" + name)
    world.join("c")
    world.settled()
    assert not [text for text in told("version") + told("number") if "without streams" in text], told("number")
    world.leave("b")
    world.settled()
    world.end()


def test_a_partition_that_a_stranger_keeps(t):
    """It is waited for; joins and leaves meanwhile move everything else, and nobody gives up."""
    world = World(t)
    world.join("a")
    world.settled()
    stranger = "/consumers/g/owners/t/4"
    world.cluster.zk.create(stranger, b"nobody")
    world.cluster.add_partitions("t", 5)
    world.join("b")
    world.join("c")
    world.group.wait_for_owners("t", {0: "g_a-0", 1: "g_a-0", 2: "g_b-0", 3: "g_b-0", 4: "nobody"})
    world.leave("b")
    layout = range_layout(5, ["g_a-0", "g_c-0"])
    world.group.wait_for_owners("t", {**layout, 4: "nobody"})
    world.flows(["a", "c"])
    world.cluster.zk.delete(stranger)
    world.partitions = 5
    world.settled()
    wait_for(lambda: [m for m in world.messages() if m.partition == 4], "messages of the one")
    world.end()


def test_a_foreign_write_of_an_offset(t):
    """It is reported, and the next commit with progress overwrites it."""
    world = World(t)
    a = world.join("a")
    world.settled()
    wait_for(lambda: world.group.offsets("t").get(1, 0) > 0, "a commit")
    world.group.set_offset("t", 1, 7000000)
    a.wait_for_report("a", r"\[t,1\].* 7000000 instead of", 30)
    wait_for(lambda: world.group.offsets("t")[1] < 7000000, "the next commit")
    world.end()


def test_a_forced_reset_is_obeyed(t):
    """An offset with a leading zero is a request of a tool to a live owner: no error, the log has it."""
    world = World(t)
    a = world.join("a", {"log.level": 6})
    world.settled()
    wait_for(lambda: world.group.offsets("t").get(2, 0) > 20, "progress")
    world.group.set_offset("t", 2, "005")
    wait_for(lambda: [m.offset for m in a.messages("a") if m.partition == 2].count(5) == 2,
             "offset 5 once more", 30)
    world.flows(["a"])

    def is_plain():
        text = world.cluster.zk.get("/consumers/g/offsets/t/2")[0].decode()
        assert text == str(int(text)) and int(text) > 5, text
        return True
    wait_for(is_plain, "the next commit, written plainly")
    expect("errors", a.reports("a"), [])
    said = [(level, text) for level, _, text in a.log_lines("a") if "[t,2]" in text and level <= 6]
    assert any("forced reset by a tool is obeyed: from offset 5 on" in text for _, text in said), said
    assert not [text for level, text in said if level <= 4 or "handing over" in text], said
    # the checker does not know of the request: it lowers an offset, and stops what is still wanted
    world.end(duplicates_max=10000, except_for=("SF5", "SF8"))


# ---- beside others ----

def beside(t, others):
    """Members of ours in compat, or Java's: one owner node for each partition at each settled point,
    nothing lost."""
    world = World(t)
    world.join("a")
    world.settled()
    others(world, "b")
    world.settled()
    world.join("c")
    threads = ["g_%s-0" % name for name in "abc"]
    world.group.wait_for_exact_owners("t", range_layout(4, threads))
    world.leave("a")
    world.settled(["b", "c"])
    return world


def test_beside_compat(t):
    def compat(world, name):
        world.join(name, {"zookeeper.mode": "compat", "rebalance.backoff.ms": 1000})
    beside(t, compat).end(duplicates_max=4 * 60)


def test_beside_java(t):
    def java(world, name):
        members = t.java_members(world.cluster, "g", name="java")
        members.open(name, {"zookeeper.session.timeout.ms": 3000, "auto.commit.interval.ms": 200,
                            "rebalance.backoff.ms": 1000}, zookeeper=world.proxy.listen(name))
        members.streams(name, t=1)
        world.there[name] = members
    world = beside(t, java)
    java = world.there.pop("b")
    java.close_wait("b")
    world.gone.append(java)
    world.settled()
    world.end(duplicates_max=4 * 60)


def strangers(process, name):
    """What the member says of members without a lease: {id: counts}."""
    said = json.loads(" ".join(process.ask("stats", name)))
    return {one["member"]: one for one in said["safe"]["strangers"]}


def described(world):
    """(exit code, {member id: row}, problems) of groups describe."""
    done = run("zkconsumer", "groups", "describe", "-G", "g", "--zookeeper",
               world.cluster.zookeeper_connect, "--json")
    said = json.loads(done.stdout)
    return done.returncode, {m["id"]: m for m in said["members"]}, said["problems"]


def test_a_java_member_that_delivers_without_its_session(t):
    """Behind a black hole its session ends, its share is taken over, and it delivers on; when it is back
    it commits over our offsets, while our member, whose application still holds messages, owns them.
    Our member says that it came back, and of how many messages it knows, or must take it, that they
    were delivered twice."""
    world = World(t)
    java = t.java_members(world.cluster, "g", name="java")
    java.open("j", {"zookeeper.session.timeout.ms": 3000, "auto.commit.interval.ms": 200,
                    "rebalance.backoff.ms": 1000}, zookeeper=world.proxy.listen("j"))
    java.streams("j", t=1)
    world.there["j"] = java
    m = world.join("m", {"statistics.interval.ms": 100})
    world.settled()
    code, members, problems = described(world)
    expect("describe", (code, problems), (0, []))
    expect("claims", [(n["mode"], n["owned"], n["share"], n["unfenced"]) for n in
                      (members["g_j"], members["g_m"])], [("compat", 2, 2, 2), ("safe", 2, 2, 0)])
    world.proxy.hole("j")
    world.group.wait_for_exact_owners("t", {n: "g_m-0" for n in range(4)})
    world.flows(["j", "m"])  # both of them, the same partitions
    wait_for(lambda: len(shared(world)) > 20, "messages that both delivered", 60)
    expect("before it is back", strangers(m, "m"), {})
    m.take("m", 0)  # it keeps the last message: a release waits for it, up to zookeeper.hand.over.ms
    world.proxy.heal("j")
    text = m.wait_for_report("m", "member g_j, which has no lease, is back in another session", 60)
    assert "(2 partitions)" in text, text
    text = m.wait_for_report("m", "somebody else has written.*most likely g_j, which has no lease and had it "
                                  "before; it has consumed", 60)
    assert "[t,0]" in text or "[t,1]" in text, text
    m.take("m", -1)
    world.settled()
    said = strangers(m, "m")
    expect("who", list(said), ["g_j"])
    twice = shared(world)
    expect("returns", said["g_j"]["returns"], 1)
    assert said["g_j"]["offset_writes"] >= 1, said
    # what it takes in the end, and commits, we hand out as well, unless it has the partition before
    assert 1 <= said["g_j"]["doubled"] <= len(twice) + 20, (said, len(twice))
    assert 20 < said["g_j"]["doubtful"] <= len(twice), (said, len(twice))
    expect("free", (said["g_j"]["free"], said["g_j"]["gave_up_for_ms"]), (0, -1))
    world.there.pop("j").close_wait("j")
    world.gone.append(java)
    world.settled()
    # commits of the Java member lower offsets; what it does is in no trace
    world.end(duplicates_max=10000, except_for=("SF5", "SF8"))


def test_a_java_members_commit_behind_our_release(t):
    """Its commit is on its way when its link breaks, and its session ends. A member of ours takes over, gets
    further, commits, and releases to the next. Then the Java member is back, in another session, and its
    client sends the commit once more, without a condition: the offset goes back. Who owns the partition
    says so, goes on where it was, and overwrites it with its next commit that has progress, no sooner."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 1)
    group, producer, proxy = t.group(cluster, "g"), t.producer(cluster), t.zookeeper_proxy(cluster)
    java, ours = t.java_members(cluster, "g", name="java"), t.our_members(cluster, "g")
    java.open("z", {"zookeeper.session.timeout.ms": 3000, "auto.commit.enable": "false",
                    "rebalance.backoff.ms": 1000}, zookeeper=proxy.listen("z"))
    java.streams("z", t=1)
    group.wait_for_exact_owners("t", {0: "g_z-0"})
    producer.send_numbered("t", 1, 20)
    wait_for(lambda: len(java.messages("z")) == 20, "the messages")
    java.commit("z")
    producer.send_numbered("t", 1, 10)
    wait_for(lambda: len(java.messages("z")) == 30, "the messages")
    on_its_way = proxy.hold("z", "setData", "/consumers/g/offsets/t/0")
    java.process.send("commit z")
    assert on_its_way.wait(30), "no commit within 30 s"
    proxy.refuse("z")  # it has not reached the server
    proxy.go("z")
    ours.open("a", SAFE)
    ours.streams("a", t=1)
    group.wait_for_exact_owners("t", {0: "g_a-0"})
    producer.send_numbered("t", 1, 10)
    ours.wait_for_messages(20, "a")
    group.wait_for_offsets("t", {0: 40})
    ours.open("b", SAFE)
    ours.streams("b", t=1)
    group.wait_for_members(2)
    expect("close", ours.close_wait("a")[0], "ZKC_OK")
    group.wait_for_exact_owners("t", {0: "g_b-0"})
    expect("released with", group.offsets("t"), {0: 40})
    proxy.heal("z")
    ours.wait_for_report("b", r"\[t,0\] somebody else has written.* 30 instead of 40", 60)
    java.wait_for_event("committed", "z")
    group.wait_for_members(2)  # it is registered again, behind b
    expect("not overwritten yet", group.offsets("t"), {0: 30})
    producer.send_numbered("t", 1, 5)
    ours.wait_for_messages(25, None)
    group.wait_for_offsets("t", {0: 45})
    expect("a", [m.offset for m in ours.messages("a")], list(range(20, 40)))
    expect("b", [m.offset for m in ours.messages("b")], list(range(40, 45)))
    expect("told", len([text for text in ours.reports("b") if "somebody else" in text]), 1)
    group.wait_for_exact_owners("t", {0: "g_b-0"})
    expect("close", ours.close_wait("b")[0], "ZKC_OK")
    group.wait_for_exact_owners("t", {0: "g_z-0"})
    producer.send_numbered("t", 1, 1)
    wait_for(lambda: java.messages("z")[-1].offset == 45, "the next message, at the Java member")
    java.close_wait("z")
    ours.finish()


def shared(world):
    """What more than one has delivered: {(partition, offset)}."""
    seen, twice = set(), set()
    for message in world.messages():
        key = message.partition, message.offset
        (twice if key in seen else seen).add(key)
    return twice


def test_a_java_member_that_gives_up(t):
    """Somebody holds its share while it tries; when that is gone its share is with nobody, and nothing
    makes it try again. Our member names it, and so does describe, until the group changes."""
    world = World(t)
    m = world.join("m", {"statistics.interval.ms": 100})
    world.settled()
    for partition in (0, 1):  # j comes first
        path = "/consumers/g/owners/t/%d" % partition
        world.cluster.zk.delete(path)
        wait_for(lambda: world.cluster.zk.exists(path), "g_m to claim again")
    blockers = ["/consumers/g/owners/t/%d" % n for n in (0, 1)]
    java = t.java_members(world.cluster, "g", name="java")
    java.open("j", {"zookeeper.session.timeout.ms": 6000, "rebalance.backoff.ms": 300,
                    "rebalance.max.retries": 3}, zookeeper=world.proxy.listen("j"))

    def holder(path):
        try:
            return world.cluster.zk.get(path)[0]
        except NoNodeError:  # just given up
            return None

    def block():  # when m gives them up
        for path in blockers:
            try:
                world.cluster.zk.create(path, b"g_x-0", ephemeral=True)
            except NodeExistsError:
                pass
        return all(holder(path) == b"g_x-0" for path in blockers)
    claims = world.proxy.hold("j", "create", blockers[0])
    java.streams("j", t=1)
    wait_for(block, "the share of j to be blocked", 30, 0.01)
    assert claims.wait(30), "j did not claim within 30 s"
    world.proxy.go("j")
    wait_for(lambda: java.events("error", "j"), "j to give up", 60)
    for path in blockers:
        world.cluster.zk.delete(path)
    text = m.wait_for_report("m", "member g_j, which has no lease, has given up", 60)
    assert "2 of its share of 2" in text, text
    said = strangers(m, "m")["g_j"]
    expect("its share", (said["share"], said["free"]), (2, 2))
    assert said["gave_up_for_ms"] >= 0, said
    code, members, problems = described(world)
    expect("describe", (code, members["g_j"]["owned"], members["g_j"]["share"]), (2, 0, 2))
    expect("problems", [(p["kind"], p["member"], p["partition"]) for p in problems],
           [("gave_up", "g_j", None), ("unowned", None, 0), ("unowned", None, 1)])
    done = run("zkconsumer", "groups", "verify", "-G", "g", "--zookeeper", world.cluster.zookeeper_connect)
    assert done.returncode == 2 and "gave_up: member g_j has 0 of its share of 2" in done.stderr, done.stderr
    java.kill()
    world.settled(["m"])
    wait_for(lambda: strangers(m, "m")["g_j"]["free"] == 0, "the end of it")
    world.end(duplicates_max=10000, except_for=("SF3", "SF4", "SF5", "SF8"))


# ---- one observer for the process ----

def test_an_observer_of_the_process(t):
    """Its members read the group through one session; when its link is gone they read by themselves."""
    world = World(t, 6)
    shared = {"zookeeper.observer": "process"}
    connect = world.proxy.listen("all")
    process = t.our_members(world.cluster, "g", "ours")
    for name in "ab":
        process.open(name, {**SAFE, **shared}, zookeeper=connect)
        process.streams(name, t=1)
        world.there[name] = process
    world.settled()
    sessions = {event["session"] for event in world.proxy.events if event["k"] == "connected"}
    expect("sessions", len(sessions), 3)
    readers = {r["session"] for r in world.proxy.requests("all")
               if r["path"] == "/consumers/g/ids" and r["op"].startswith("getChildren")}
    expect("sessions that read the group", len(readers), 1)
    world.join("c")
    world.settled()
    world.proxy.cut("all")
    world.leave("c")
    world.settled()
    process_of_ab = world.there.pop("b")
    expect("close", process_of_ab.close_wait("b")[0], "ZKC_OK")
    world.settled()
    world.end()
