"""Members whose servers or links fail: ZooKeeper, brokers, connection limits, chroots."""
import time

from kazoo.client import KazooClient

from lib.group import range_layout
from lib.ledger import Traffic
from lib.ensemble import Ensemble
from lib.members import Account, run
from lib.testing import both_modes, both_modes_long
from lib.waiting import wait_for

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "rebalance.backoff.ms": 1500,
            "auto.commit.interval.ms": 200}
TICK = {"tickTime": 500}


def expect(what, seen, wanted):
    assert seen == wanted, "%s: %r, expected %r" % (what, seen, wanted)


def small_cluster(t, partitions=4, **options):
    cluster = t.cluster(**{"zookeeper_properties": TICK, **options})
    cluster.create_topic("t", partitions)
    return cluster


# ---- F28: no broker, no leader ----

@both_modes
def test_no_broker_at_the_start(t):
    """The member waits, idle, and begins by itself when a broker appears (golden zero-brokers)."""
    cluster = t.cluster(start=False, zookeeper_properties=TICK)
    cluster.zookeeper.start()
    members = t.our_members(cluster, "g")
    members.open("a", SETTINGS)
    members.streams("a", t=1)
    members.wait_for_event("streams", "a")
    if t.mode == "compat":
        wait_for(lambda: [x for _, _, x in members.log_lines("a") if "no broker is registered" in x],
                 "the log to say that there is no broker", 20)
    time.sleep(1)  # some time without one
    cluster.brokers[0].start()
    cluster.create_topic("t", 2)
    produced = t.producer(cluster).send_numbered("t", 2, 10)
    Account(produced, members.wait_for_messages(20)).check()
    t.group(cluster, "g").wait_for_exact_owners("t", range_layout(2, ["g_a-0"]))
    members.finish()


@both_modes
def test_a_partition_without_a_leader(t):
    """One of 8: the others flow, the one is looked for with pauses, and flows when it has a leader."""
    cluster = t.cluster(brokers=2, zookeeper_properties=TICK)
    cluster.create_topic("t", replicas={p: [1 if p == 5 else 0] for p in range(8)})
    t.producer(cluster).send_numbered("t", 8, 5)
    cluster.brokers[1].kill()
    cluster.wait_until_unregistered(1)
    proxy = t.zookeeper_proxy(cluster)
    members = t.our_members(cluster, "g")
    members.open("a", SETTINGS, zookeeper=proxy.listen("a"))
    members.streams("a", t=1)
    got = members.wait_for_messages(35)
    expect("partitions that flow", sorted({m.partition for m in got}), [0, 1, 2, 3, 4, 6, 7])
    wait_for(lambda: [text for level, _, text in members.log_lines("a")
                      if level <= 4 and "[t,5]" in text and "without a leader" in text],
             "a warning that names the partition")
    mark, started = proxy.mark("looking"), time.monotonic()
    if t.mode == "compat":
        wait_for(lambda: len(scans(proxy, mark)) >= 5, "the leader to be looked for again")
        # refresh.leader.backoff.ms: at most one every 200 ms
        seen, lasted = len(scans(proxy, mark)), time.monotonic() - started
        assert seen <= lasted / 0.2 + 2, "the brokers were read %d times in %.1f s" % (seen, lasted)
    else:
        time.sleep(1)  # for what must not come: brokers that have not changed are not read again
        expect("reads of the brokers", scans(proxy, mark), [])
    cluster.restart_broker(1)
    got = members.wait_for_messages(40)
    expect("messages of the one", [m.offset for m in got if m.partition == 5], [0, 1, 2, 3, 4])
    said = [text for _, _, text in members.log_lines("a") if "without a leader" in text]
    assert len(said) <= 5, "the log is told again and again: %r" % said
    members.finish()


def scans(proxy, since):
    return [r for r in proxy.requests("a", since) if r["path"] == "/brokers/ids"]


# ---- F29: chroots ----

@both_modes
def test_chroots(t):
    cluster = small_cluster(t, partitions=1, chroot="/a/b")
    produced = t.producer(cluster).send_numbered("t", 1, 5)
    server = cluster.zookeeper.address
    members = t.our_members(cluster, "g")
    for name, connect in (("plain", server + "/a/b"), ("slash", server + "/a/b/"),
                          ("two", "%s,%s/a/b" % (server, server))):
        members.open(name, SETTINGS, group="g-" + name, zookeeper=connect)
        members.streams(name, t=1)
        Account(produced, members.wait_for_messages(5, name)).check()
        t.group(cluster, "g-" + name).wait_for_exact_owners("t", {0: "g-%s_%s-0" % (name, name)})
    members.open("wrong", SETTINGS, zookeeper="%s/a,%s/a" % (server, server))
    text = " ".join(wait_for(lambda: members.events("error", "wrong"), "an error")[0])
    assert "ZKC_ERR_CONFIG" in text and "chroot" in text and "last" in text, text

    root = KazooClient(server)
    root.start(30)
    t.defer(root.stop)
    for connect, where in ((server + "/", ""), (server, ""), (server + "/not/there", "/not/there")):
        name = "m%d" % len(members.events("opened"))
        members.open(name, SETTINGS, group="h-" + name, zookeeper=connect)
        members.streams(name, t=1)
        members.wait_for_event("streams", name)
        path = "%s/consumers/h-%s/ids/h-%s_%s" % (where, name, name, name)
        assert root.exists(path), "%s with %s: there is no %s" % (name, connect, path)
        said = [text for _, _, text in members.log_lines(name) if text.startswith("made the chroot %s of " % where)]
        expect("what %s says of its chroot" % name, len(said), 1 if where else 0)
    expect("the root", sorted(root.get_children("/")), ["a", "consumers", "not", "zookeeper"])
    done = run("zkconsumer", "groups", "list", "--zookeeper=%s/nor/there" % server)
    expect("groups list in a chroot that is not there", (done.returncode, done.stdout), (0, ""))
    assert "there is no /nor/there in ZooKeeper" in done.stderr, done.stderr
    for words in (("groups", "describe"), ("groups", "verify"), ("groups", "delete"), ("offsets", "check"),
                  ("offsets", "export"), ("offsets", "reset", "--to-earliest", "--force")):
        done = run("zkconsumer", *words, "-G", "g", "--zookeeper=%s/nor/there" % server)
        assert done.returncode != 0 and "there is no /nor/there in ZooKeeper" in done.stderr, (words, done.stderr)
    assert not root.exists("/nor"), "a tool that only reads has made the chroot"
    members.finish()


# ---- F31: the server's limit of connections ----

@both_modes
def test_connection_limit(t):
    server = t.zookeeper(properties={**TICK, "maxClientCnxns": 3})
    proxy = t.zookeeper_proxy(server)
    cluster = t.cluster(zookeeper_server=server, start=False)
    members = t.our_members(cluster, "g")
    for name in ("a", "b", "c"):
        members.open(name, SETTINGS, zookeeper=server.address)
        members.streams(name, t=1)
        members.wait_for_event("streams", name)
    started = time.monotonic()
    members.open("d", {**SETTINGS, "zookeeper.connection.timeout.ms": 2000},
                 zookeeper=proxy.listen("d"))
    members.streams("d", t=1)
    text = members.wait_for_report("d", "maxClientCnxns")
    members.wait_for_report("d", "zookeeper.connection.timeout.ms")
    tries = sum(event["k"] == "open" for event in list(proxy.events))
    lasted = time.monotonic() - started
    assert tries <= 3 + 5 * lasted, "%d connections in %.1f s: a storm (%s)" % (tries, lasted, text)
    expect("reports of those who are in", [members.reports(name) for name in "abc"], [[], [], []])
    expect("close", members.close_wait("a")[0], "ZKC_OK")
    members.wait_for_event("streams", "d", 60)  # now there is room
    members.finish()


# ---- ZooKeeper is not there ----

@both_modes_long
def test_zookeeper_is_down_at_the_start(t):
    cluster = t.cluster(start=False, zookeeper_properties=TICK)
    members = t.our_members(cluster, "g")
    members.open("a", {**SETTINGS, "zookeeper.connection.timeout.ms": 1000})
    members.streams("a", t=1)
    text = members.wait_for_report("a", "zookeeper.connection.timeout.ms = 1000")
    assert cluster.zookeeper.address in text, text
    cluster.start()
    cluster.create_topic("t", 2)
    produced = t.producer(cluster).send_numbered("t", 2, 10)
    Account(produced, members.wait_for_messages(20)).check()
    members.finish()


@both_modes_long
def test_zookeeper_outage(t):
    """Ten seconds without ZooKeeper (F52): messages flow on, in safe until the lease ends, few lines are
    logged, and afterwards all is as before. A member that is closed meanwhile says that it could not give
    back."""
    # the test's own session lasts through it
    cluster = small_cluster(t, zookeeper_properties={**TICK, "maxSessionTimeout": 60000})
    group = t.group(cluster, "g")
    members, other = t.our_members(cluster, "g"), t.our_members(cluster, "h", "other")
    members.open("a", SETTINGS)
    members.streams("a", t=1)
    other.open("b", SETTINGS)
    other.streams("b", t=1)
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]))
    other.wait_for_event("streams", "b")
    producer = t.producer(cluster)
    produced = producer.send_numbered("t", 4, 5)
    members.wait_for_messages(20)
    before = len(members.log_lines("a"))
    cluster.zookeeper.kill()
    down = time.monotonic()
    produced |= producer.send_numbered("t", 4, 5)
    if t.mode == "compat":
        members.wait_for_messages(40)
    code, took_ms = other.close_wait("b", timeout_ms=1000)
    expect("close without ZooKeeper", code, "ZKC_ERR_NOT_RELEASED")
    time.sleep(max(0, down + 4 - time.monotonic()))  # longer than a session
    produced |= producer.send_numbered("t", 4, 5)
    seen = len(members.messages())
    time.sleep(max(0, down + 10 - time.monotonic()))
    if t.mode == "compat":
        members.wait_for_messages(60)
    expect("messages in the end", len(members.messages()), t.by_mode(compat=60, safe=seen))
    lines = members.log_lines("a")[before:]
    causes = {(facility, text[:40]) for _, facility, text in lines}
    assert 1 <= len(lines) <= 11 * min(len(causes), 4), "%d lines in 10 s:\n%s" % (
        len(lines), "\n".join(map(str, lines)))
    cluster.zookeeper.start()
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]))
    produced |= producer.send_numbered("t", 4, 5)
    members.wait_for_messages(80)
    group.wait_for_offsets("t", {p: 20 for p in range(4)})
    wanted = {"opened", "streams", "msg", "rebalance", "report", "closed", "end"}
    odd = [line for line in members.process.text_lines() + other.process.text_lines()
           if line.split(" ")[0] not in wanted]
    expect("lines on standard output that are not of the driver", odd, [])
    Account(produced, members.messages()).check()
    members.finish()
    other.finish()


# ---- F6, the half of compat ----

def test_black_hole_shows_the_overlap(t):
    """A member whose link to ZooKeeper is silent delivers on while its heir delivers the same: the
    fault of 0.8.2 by design (golden expiry). It ends, and is told, when the link is back."""
    cluster = small_cluster(t)
    group = t.group(cluster, "g")
    proxy = t.zookeeper_proxy(cluster)
    members = t.our_members(cluster, "g")
    for name in ("a", "b"):
        members.open(name, SETTINGS, zookeeper=proxy.listen(name))
        members.streams(name, t=1)
        members.wait_for_event("streams", name)
    both = range_layout(4, ["g_a-0", "g_b-0"])
    group.wait_for_exact_owners("t", both)
    traffic = Traffic(cluster, "t")
    t.defer(traffic.close)
    members.wait_for_messages(20, "a")
    proxy.hole("a")
    group.wait_for_exact_owners("t", range_layout(4, ["g_b-0"]))
    owned_by_b = time.monotonic()

    def twice():
        of_b = {(m.partition, m.offset) for m in members.messages("b")}
        return sorted(of_b & {(m.partition, m.offset) for m in members.messages("a")})

    def given_to_a_too_late():
        of_both = set(twice())
        return [at - owned_by_b for at, m in members.timed_messages("a")
                if at > owned_by_b and (m.partition, m.offset) in of_both]

    wait_for(lambda: len(given_to_a_too_late()) >= 20, "messages that both are given")
    proxy.heal("a")
    text = members.wait_for_report("a", "expired")
    assert "delivered by others too" in text, text
    group.wait_for_exact_owners("t", both)
    ends = [kind for kind, _ in members.rebalances("a")]
    assert "lost" in ends, "the application was told %r" % ends
    overlap = twice()
    late = given_to_a_too_late()
    print("both were given %d messages; a %d of them while b was the owner, for %.1f s" % (
        len(overlap), len(late), max(late)))
    expect("partitions of the overlap", {p for p, _ in overlap}, {0, 1})
    counts = len(members.messages("a")), len(members.messages("b"))
    wait_for(lambda: len(members.messages("a")) > counts[0] + 20
             and len(members.messages("b")) > counts[1] + 20, "both to go on")
    written = traffic.stop()
    wait_for(lambda: set(written) <= {(m.partition, m.offset) for m in members.messages()},
             "the last messages")
    late = [one for one in twice() if one not in overlap and one[1] > max(o for _, o in overlap) + 20]
    expect("messages to both after the end of the overlap", late, [])
    Account(set(written), members.messages()).check(duplicates_max=len(written))
    members.finish()


# ---- F50, F9: links that break all the time ----

@both_modes
def test_links_that_break(t):
    """Both links are cut again and again, in the middle of frames and between them: the process lives,
    the session is kept, nothing is lost or delivered twice."""
    broker = t.kafka_proxy()
    cluster = t.cluster(advertised_ports={0: broker.port("b0")}, start=False,
                        zookeeper_properties=TICK)
    broker.server = cluster.brokers[0].listen_address
    cluster.start()
    cluster.create_topic("t", 4)
    proxy = t.zookeeper_proxy(cluster)
    group = t.group(cluster, "g")
    members = t.our_members(cluster, "g")
    settings = {"zookeeper.session.timeout.ms": 10000, "auto.commit.interval.ms": 20}
    members.open("a", {**SETTINGS, **settings}, zookeeper=proxy.listen("a"))
    members.streams("a", t=1)
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]))
    session = group.member_session("g_a")
    producer = t.producer(cluster)
    produced = set()
    for _ in range(25):
        produced |= producer.send_numbered("t", 4, 2)
        proxy.cut("a")
        broker.cut("b0")
    members.wait_for_messages(len(produced))
    group.wait_for_offsets("t", {p: 50 for p in range(4)})
    log = {(p, o) for p in range(4) for o in range(50)}
    Account(log, members.messages()).check()
    expect("session of the registration", group.member_session("g_a"), session)
    expect("rebalances", {kind for kind, _ in members.rebalances("a")}, {"assign"})
    expect("partitions told of", sum(len(owned) for _, owned in members.rebalances("a")), 4)
    members.finish()


# ---- F54: ZooKeeper is restarted server by server ----

@both_modes
def test_rolling_restart_of_an_ensemble(t):
    """Three servers, one after the other, each gone for less than a session timeout: no session is
    lost, nobody rebalances for it, nothing is lost or doubled."""
    servers = Ensemble(t, "3.8", 3)
    cluster = t.cluster(zookeeper_server=servers.servers[1], start=False,
                        properties={"zookeeper.session.timeout.ms": 20000})
    cluster.start()
    cluster.create_topic("t", 4)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    members = t.our_members(cluster, "g")
    connect = ",".join("127.0.0.1:%d" % servers.port(n) for n in servers.numbers)
    settings = {**SETTINGS, "zookeeper.session.timeout.ms": 30000}
    members.open("a", settings, zookeeper=connect)
    members.streams("a", t=1)
    members.open("b", settings, zookeeper=connect)
    members.streams("b", t=1)
    layout = range_layout(4, ["g_a-0", "g_b-0"])
    group.wait_for_exact_owners("t", layout)
    produced = producer.send_numbered("t", 4, 5)
    wait_for(lambda: len(members.messages()) == 20, "messages: the join is over")
    sessions = {name: group.member_session("g_%s" % name) for name in "ab"}
    rebalances = {name: len(members.rebalances(name)) for name in "ab"}
    for n in servers.numbers:
        servers.servers[n].stop()
        servers.start(n)
        servers.wait_until_serving(list(servers.numbers))
        produced |= producer.send_numbered("t", 4, 5)
    wait_for(lambda: len(members.messages()) == 80, "all messages")
    group.wait_for_offsets("t", {p: 20 for p in range(4)})
    for name in "ab":
        expect("session of %s" % name, group.member_session("g_%s" % name), sessions[name])
        expect("rebalances of %s" % name, len(members.rebalances(name)), rebalances[name])
    Account(produced, members.messages()).check()
    members.finish()
