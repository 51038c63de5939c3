"""What befalls members of a group: restarts, closing, a stranger's broken nodes, more members than
partitions. F and a number is a fault that other clients had."""
import json
import time

from lib.group import range_layout
from lib.members import Account, run
from lib.testing import both_modes, both_modes_long, long, timeout
from lib.waiting import wait_for

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "rebalance.backoff.ms": 1500,
            "auto.commit.interval.ms": 200}
TICK = {"tickTime": 500}


def small_cluster(t, partitions=4, topic="t", **options):
    cluster = t.cluster(zookeeper_properties=TICK, **options)
    cluster.create_topic(topic, partitions)
    return cluster


def expect(what, seen, wanted):
    assert seen == wanted, "%s: %r, expected %r" % (what, seen, wanted)


def not_yet(seen):
    raise AssertionError("%r" % (seen,))


# ---- F3: killed and started again at once ----

def restart_after_kill(t, consumer_id):
    cluster = small_cluster(t)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    produced = producer.send_numbered("t", 4, 25)
    first, second = t.our_members(cluster, "g", "first"), t.our_members(cluster, "g", "second")
    settings = {**SETTINGS, "consumer.id": consumer_id}
    first.open("m", settings)
    first.streams("m", t=1)
    first.wait_for_messages(100)
    group.wait_for_offsets("t", {p: 25 for p in range(4)})
    old_session = group.member_session(group.members()[0])
    first.kill()
    second.open("m", settings)
    second.streams("m", t=1)
    produced |= producer.send_numbered("t", 4, 10)
    second.wait_for_event("streams", "m", 30)  # an error would end the wait
    name = second.events("opened", "m")[0][0]
    group.wait_for_exact_owners("t", range_layout(4, [name + "-0"]), 30)
    assert group.member_session(name) != old_session, "%x is still there" % old_session
    second.wait_for_messages(40)
    Account(produced, first.messages() + second.messages()).check()
    expect("reports to the application", second.reports("m"), [])
    second.finish()


def acknowledge(members, name):
    before = len(members.events("acknowledged", name))
    members.command("ack", name)
    wait_for(lambda: len(members.events("acknowledged", name)) > before, "%s to acknowledge" % name)
    return members.events("acknowledged", name)[before]


def test_a_rebalance_of_compat_gives_back_what_is_not_acknowledged(t):
    """acknowledgement.mode=explicit: neither the timer's commit nor that of a rebalance covers more; and
    nobody is waited for."""
    cluster = small_cluster(t, 1)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    producer.send_numbered("t", 1, 25)
    settings = {**SETTINGS, "acknowledgement.mode": "explicit"}
    members = t.our_members(cluster, "g", "ours")
    members.open("b", {**settings, "consumer.id": "b"})
    members.take("b", 10)
    members.streams("b", t=1)
    members.wait_for_messages(10)
    expect("the tenth", acknowledge(members, "b"), ["ZKC_OK"])
    group.wait_for_offsets("t", {0: 10})
    members.take("b", 5)
    members.wait_for_messages(15)
    members.open("a", {**settings, "consumer.id": "a"})  # the first of the two gets the partition
    members.streams("a", t=1)
    members.wait_for_messages(30)
    expect("where a begins", members.messages("a")[0].offset, 10)
    expect("too late", acknowledge(members, "b"), ["ZKC_ERR_NOT_OWNED"])
    expect("committed", group.offsets("t"), {0: 10})
    expect("all", acknowledge(members, "a"), ["ZKC_OK"])
    group.wait_for_offsets("t", {0: 25})
    members.finish()


@both_modes
def test_restart_after_kill_with_the_same_id(t):
    restart_after_kill(t, "m")


@both_modes
def test_restart_after_kill_with_a_generated_id(t):
    restart_after_kill(t, "")


# ---- F53: what others have left below the group ----

LEFTOVERS = {
    "ids/g_left": '{"version":1,"subscription":{"gone":1},"pattern":"static","timestamp":"1"}',
    "owners/gone/0": "g_left-0", "offsets/gone/0": "7",  # of a topic that is no more
    "owners/t/barrier": "", "offsets/t/barrier": "x", "owners/junk": "junk", "offsets/junk": "junk",
    "barriers/rebalance/1": "", "junk": "junk",
}


def tools_beside_leftovers(cluster):
    """Each shows the group whole, and names what would be in somebody's way."""
    def tool(*words):
        done = run("zkconsumer", *words, "--zookeeper", cluster.zookeeper_connect, "--group", "g")
        return done.returncode, done.stdout, done.stderr

    rows = [["g", "t", str(p), "10", "10", "0", "g_%s-0" % "aabb"[p]] for p in range(4)]
    code, out, err = tool("offsets", "check")
    expect("offsets check", (code, [line.split() for line in out.splitlines()[1:]]), (0, rows))
    code, out, err = tool("offsets", "export")
    expect("offsets export", (code, sorted(out.splitlines())),
           (0, ["/consumers/g/offsets/gone/0:7", *("/consumers/g/offsets/t/%d:10" % p for p in range(4))]))
    troubles = ("member g_left is a persistent node", "[gone,0] is owned by g_left-0")
    code, out, err = tool("groups", "describe")
    shown = [line.split() for line in out.splitlines()]
    assert code == 2 and all(row in shown for row in rows), (code, out)
    expect("problems", [any(trouble in line for trouble in troubles) for line in out.splitlines()
                        if line.startswith("problem:")], [True, True])
    code, out, err = tool("groups", "verify")
    assert code == 2 and all(trouble in err for trouble in troubles), (code, err)
    expect("troubles", len([line for line in err.splitlines() if line.startswith("% ")]), 2)


@both_modes
def test_leftovers_disturb_nobody(t):
    cluster = small_cluster(t)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    for path, text in LEFTOVERS.items():
        cluster.zk.create("/consumers/g/" + path, text.encode(), makepath=True)
    produced = producer.send_numbered("t", 4, 5)
    members = t.our_members(cluster, "g")
    for name in "ab":
        members.open(name, SETTINGS)
        members.streams(name, t=1)
        members.wait_for_event("streams", name)
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0", "g_b-0"]))
    produced |= producer.send_numbered("t", 4, 5)
    members.wait_for_messages(40)
    group.wait_for_offsets("t", {p: 10 for p in range(4)})
    tools_beside_leftovers(cluster)
    members.close_wait("a")
    group.wait_for_exact_owners("t", range_layout(4, ["g_b-0"]))
    members.close_wait("b")
    Account(produced, members.messages()).check()
    expect("reports", [members.reports(name) for name in "ab"], [[], []])
    there = {path: cluster.zk.get("/consumers/g/" + path)[0].decode() for path in LEFTOVERS}
    expect("what was left", there, LEFTOVERS)
    members.finish()


# ---- F11: closing ----

@both_modes
def test_close_gives_back_at_once(t):
    """With a session timeout that is far longer than the test waits: the heir does not wait for it."""
    cluster = small_cluster(t)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    proxy = t.zookeeper_proxy(cluster)
    members = t.our_members(cluster, "g")
    settings = {**SETTINGS, "zookeeper.session.timeout.ms": 10000, "auto.commit.interval.ms": 60000}
    members.open("a", settings, zookeeper=proxy.listen("a"))
    members.streams("a", t=1)
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]))
    members.open("b", settings)
    members.streams("b", t=1)
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0", "g_b-0"]))
    produced = producer.send_numbered("t", 4, 5)
    members.wait_for_messages(20)
    mark = proxy.mark("close")
    code, _ = members.close_wait("a")
    expect("close", code, "ZKC_OK")
    group.wait_for_exact_owners("t", range_layout(4, ["g_b-0"]), 8)
    said = [(one["op"], one["path"]) for r in proxy.requests("a", mark)
            for one in r["fields"].get("ops", [r])]
    commits = {"/consumers/g/offsets/t/%d" % p for p in (0, 1)}
    assert said[-1] == ("closeSession", None), said
    assert {path for op, path in said if op in ("setData", "create")} >= commits, said
    expect("deletes at the end", {path for op, path in said if op == "delete"},
           t.by_mode(compat=set(), safe={"/consumers/g/owners/t/%d" % p for p in (0, 1)}))
    produced |= producer.send_numbered("t", 4, 5)
    members.wait_for_messages(40)
    Account(produced, members.messages()).check()
    members.finish()


def close_while_the_link_is_down(t, fault):
    cluster = small_cluster(t)
    group = t.group(cluster, "g")
    proxy = t.zookeeper_proxy(cluster)
    members = t.our_members(cluster, "g")
    members.open("a", {**SETTINGS, "consumer.id": "same"}, zookeeper=proxy.listen("a"))
    members.streams("a", t=1)
    group.wait_for_exact_owners("t", range_layout(4, ["g_same-0"]))
    members.wait_for_event("streams", "a")
    fault(proxy)
    code, took_ms = members.close_wait("a", timeout_ms=1500)
    expect("close", code, "ZKC_ERR_NOT_RELEASED")
    assert took_ms < 10000, "close with a deadline of 1500 ms took %d" % took_ms
    members.command("free", "a")
    members.wait_for_event("freed", "a")
    members.open("b", {**SETTINGS, "consumer.id": "same"})  # the restart path
    members.streams("b", t=1)
    members.wait_for_event("streams", "b", 30)
    group.wait_for_exact_owners("t", range_layout(4, ["g_same-0"]), 30)
    members.finish()


@both_modes
def test_close_while_the_link_is_silent(t):
    close_while_the_link_is_down(t, lambda proxy: proxy.hole("a"))


@both_modes
def test_close_while_the_link_is_refused(t):
    close_while_the_link_is_down(t, lambda proxy: proxy.refuse("a"))


def test_close_in_a_rebalance_that_does_not_end(t):
    """The time for closing is up in the middle of it; the member is kept for a while before it is freed."""
    cluster = small_cluster(t)
    group = t.group(cluster, "g")
    members = t.our_members(cluster, "g")
    members.open("a", {**SETTINGS, "rebalance.max.retries": 1000, "rebalance.backoff.ms": 100})
    members.streams("a", t=1)
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]))
    members.wait_for_event("streams", "a")
    cluster.zk.create("/consumers/g/owners/t/4", b"nobody")
    cluster.add_partitions("t", 5)

    def attempts():
        return len([x for _, _, x in members.log_lines("a") if "Rebalancing attempt failed" in x])

    wait_for(attempts, "the first attempt to fail")
    expect("close", members.close_wait("a", timeout_ms=1000)[0], "ZKC_ERR_TIMED_OUT")
    after = attempts()
    time.sleep(0.5)  # some backoffs
    expect("attempts after the end", attempts(), after)
    members.command("free", "a")
    members.wait_for_event("freed", "a")
    members.finish()


# ---- F7: changes during a rebalance ----

def test_changes_during_a_rebalance(t):
    """Two joins and a leave while a member claims: it does one further rebalance, not one for each change
    and not none."""
    cluster = small_cluster(t)
    group = t.group(cluster, "g")
    proxy = t.zookeeper_proxy(cluster)
    members = t.our_members(cluster, "g")
    trace = t.folder / "a.trace"
    settings = {**SETTINGS, "zookeeper.session.timeout.ms": 10000, "rebalance.max.retries": 20,
                "rebalance.backoff.ms": 1000}
    members.open("a", {**settings, "trace.path": trace, "trace.level": 0}, zookeeper=proxy.listen("a"))
    members.streams("a", t=1)
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]))

    def begun():
        return [json.loads(line)["ev"] for line in trace.read_text().splitlines()].count("rb_begin")

    reached = proxy.hold("a", "create", "/consumers/g/owners/t/4")
    cluster.add_partitions("t", 5)
    assert reached.wait(30), "a did not claim the new partition within 30 s"
    members.open("b", {**settings, "rebalance.max.retries": 1, "rebalance.backoff.ms": 100})
    members.open("c", settings)
    for name in ("b", "c"):
        members.streams(name, t=1)
    group.wait_for_members(3)
    wait_for(lambda: members.events("error", "b"), "b to give up")  # its share is a's
    members.close("b")
    wait_for(lambda: members.events("closed", "b"), "b to be closed")
    group.wait_for_members(2)
    proxy.go("a")
    layout = range_layout(5, ["g_a-0", "g_c-0"])
    group.wait_for_exact_owners("t", layout)
    time.sleep(1)  # for what must not come: one more
    group.wait_for_exact_owners("t", layout)
    expect("close", members.close_wait("a")[0], "ZKC_OK")  # its trace is written to the end
    expect("rebalances that a has begun", begun(), 3)
    members.finish()


# ---- F27: more members than partitions ----

@both_modes
def test_more_members_than_partitions(t):
    cluster = small_cluster(t, partitions=1)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    owner = t.our_members(cluster, "g", "owner")
    idle = t.our_members(cluster, "g", "idle")
    owner.open("a", SETTINGS)
    owner.streams("a", t=1)
    owner.wait_for_event("streams", "a")
    for name in ("b", "c"):
        idle.open(name, SETTINGS)
        idle.streams(name, t=1)
        idle.wait_for_event("streams", name)
    group.wait_for_exact_owners("t", {0: "g_a-0"})
    # idle is told: an assignment of nothing; in safe members are told of what comes and goes
    told = t.by_mode(compat=[("assign", {})], safe=[])
    for name in ("b", "c"):
        wait_for(lambda name=name: idle.rebalances(name)[-1:] == told,
                 "%s to be told that it has no partition" % name)
    produced = producer.send_numbered("t", 1, 10)
    owner.wait_for_messages(10)
    group.wait_for_offsets("t", {0: 10})
    owner.kill()
    group.wait_for_exact_owners("t", {0: "g_b-0"})
    produced |= producer.send_numbered("t", 1, 10, "again")
    idle.wait_for_messages(10, "b")
    expect("messages of the idle member", idle.messages("c"), [])
    Account(produced, owner.messages() + idle.messages()).check()
    idle.finish()


# ---- what others write ----

def fails_until_it_is_gone(t, path, data, wanted):
    """A node that 0.8.2 fails on, beside a Java member: both make their attempts, both end with
    nothing, ours names the node; both revive when it goes."""
    cluster = small_cluster(t)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    settings = {**SETTINGS, "rebalance.backoff.ms": 300}
    java, members = t.java_members(cluster, "g"), t.our_members(cluster, "g")
    java.join("a", "t", properties=settings)
    proxy = t.zookeeper_proxy(cluster)
    members.open("b", settings, zookeeper=proxy.listen("b"))
    members.streams("b", t=1)
    members.wait_for_event("streams", "b")
    layout = range_layout(4, ["g_a-0", "g_b-0"])
    group.wait_for_exact_owners("t", layout)
    mark = proxy.mark("broken node")
    cluster.zk.create(path, data, makepath=True)
    report = members.wait_for_report("b", "4 (retries|attempts|tries)")
    wait_for(lambda: not group.owners("t") or not_yet(group.owners("t")), "nothing to be owned")
    said = "\n".join([report] + [text for _, _, text in members.log_lines("b")])
    assert path in said, "%s is not named in:\n%s" % (path, said)
    assert wanted in said, "%r is missing in:\n%s" % (wanted, said)
    attempts = len(proxy.requests("b", mark, "getData"))
    assert attempts >= 4, "only %d reads" % attempts
    cluster.zk.delete(path)
    group.wait_for_exact_owners("t", layout)
    produced = producer.send_numbered("t", 4, 5)
    wait_for(lambda: len(java.messages()) + len(members.messages()) >= 20, "messages to flow again")
    Account(produced, java.messages() + members.messages()).check()
    members.finish()


def test_registration_that_is_no_json(t):
    fails_until_it_is_gone(t, "/consumers/g/ids/g_odd", b"mytopic", "g_odd")


def test_registration_with_a_numeric_timestamp(t):
    fails_until_it_is_gone(
        t, "/consumers/g/ids/g_odd",
        b'{"version":1,"subscription":{"t":1},"pattern":"static","timestamp":1424990000456}',
        "1424990000456")


@both_modes
def test_offset_that_is_no_number(t):
    """In compat only the member that is to own the partition fails; in safe only the partition stands
    still, until the node is gone."""
    cluster = small_cluster(t)
    group = t.group(cluster, "g")
    settings = {**SETTINGS, "rebalance.backoff.ms": 300}
    path = "/consumers/g/offsets/t/3"
    cluster.zk.create(path, b"12\n", makepath=True)
    members = t.our_members(cluster, "g")
    members.open("a", settings)
    members.open("b", settings)
    members.streams("a", t=1)
    members.streams("b", t=1)
    produced = t.producer(cluster).send_numbered("t", 4, 5)
    members.wait_for_report("b", t.by_mode(compat="4 (retries|attempts|tries)", safe=r"\[t,3\]: offset"))
    good = t.by_mode(compat=[0, 1], safe=[0, 1, 2])
    members.wait_for_messages(5 * len(good))
    wait_for(lambda: [group.offsets("t").get(p) for p in (*good, 3)] == [5] * len(good) + ["12\n"],
             "commits of the others")
    said = "\n".join(text for _, _, text in members.log_lines("b"))
    assert t.by_mode(compat=path, safe="[t,3]") in said, "%s is not named in:\n%s" % (path, said)
    cluster.zk.delete(path)
    if t.mode == "compat":
        members.open("c", settings)  # any change wakes it
        members.streams("c", t=1)
        group.wait_for_exact_owners("t", range_layout(4, ["g_a-0", "g_b-0", "g_c-0"]))
    else:
        Account(produced, members.wait_for_messages(20)).check()
    members.finish()


# ---- F58: exit at the end ----

@both_modes
def test_exit_at_end_beside_others(t):
    """The end is the one that was seen at the assignment, of the partitions that are assigned."""
    cluster = small_cluster(t)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    producer.send_numbered("t", 4, 50)
    java = t.java_members(cluster, "g")
    java.join("a", "t", properties={**SETTINGS, "auto.commit.enable": "false"})
    java.wait_for_messages(200)
    done = t.zkconsumer(cluster, "b", "g", "t", SETTINGS, extra=["--exit-at-end"])
    expect("exit status", done.process.wait(60), 0)
    seen = sorted((m.partition, m.offset) for m in done.messages())
    expect("what it was given", seen, [(p, o) for p in (2, 3) for o in range(50)])
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]))


@both_modes_long
def test_exit_at_end_with_no_partition(t):
    cluster = small_cluster(t, partitions=1)
    java = t.java_members(cluster, "g")
    java.join("a", "t", properties=SETTINGS)
    done = t.zkconsumer(cluster, "b", "g", "t", SETTINGS, extra=["--exit-at-end", "--exit-grace=2000"])
    expect("exit status", done.process.wait(60), 0)
    expect("what it was given", done.messages(), [])


# ---- F8: mass start ----

def mass_start(t, count, partitions):
    """Within a second, of two processes: each partition has its owner in the end, nobody gives up (with
    the attempts that compat needs for it); then half of them are killed."""
    cluster = small_cluster(t, partitions)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    settings = {**SETTINGS, "rebalance.max.retries": 40, "rebalance.backoff.ms": 500}
    halves = [t.our_members(cluster, "g", "left"), t.our_members(cluster, "g", "right")]
    names = ["m%03d" % n for n in range(count)]
    for number, name in enumerate(names):
        halves[number % 2].open(name, settings)
        halves[number % 2].streams(name, t=1)
    group.wait_for_exact_owners("t", range_layout(partitions, ["g_%s-0" % name for name in names]), 240)
    group.wait_for_members(count)  # who owns nothing may come after that
    produced = producer.send_numbered("t", partitions, 5)
    wait_for(lambda: len(halves[0].messages()) + len(halves[1].messages()) == len(produced), "all messages")
    Account(produced, halves[0].messages() + halves[1].messages()).check()
    for number, name in enumerate(names):
        assert not halves[number % 2].reports(name, "ZKC_ERR_REBALANCE"), name
    halves[1].kill()
    left = ["g_%s-0" % name for name in names[::2]]
    group.wait_for_exact_owners("t", range_layout(partitions, left), 240)
    halves[0].finish()


@both_modes
def test_thirty_eight_members_at_once(t):
    mass_start(t, 38, 16)


@both_modes
@long
@timeout(900)
def test_two_hundred_members_at_once(t):
    mass_start(t, 200, 64)
