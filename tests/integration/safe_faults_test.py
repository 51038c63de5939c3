"""Faults from outside, and what members do in each mode (tests/known_faults.md, "Beyond the list"): in
safe nothing is delivered by two and nothing lost; in compat what Kafka 0.8.2 does."""
import json
import os
import socket
import struct
import subprocess
import time

from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from lib.clock import Clock
from lib.ensemble import Ensemble
from lib.group import Group, range_layout
from lib.members import Account, program, run
from lib.ports import free_port
from lib.testing import Skip, long
from lib.waiting import wait_for
from safe_group_test import SAFE, TICK, World, expect, told

COMPAT = {"zookeeper.mode": "compat", "zookeeper.session.timeout.ms": 3000,
          "rebalance.backoff.ms": 1500, "auto.commit.interval.ms": 200}
VARIABLE = "ZKCONSUMER_ZOOKEEPER_AUTH"


def client(t, address, credentials=None):
    zk = KazooClient(address, auth_data=[("digest", credentials)] if credentials else None)
    zk.start(30)
    t.defer(zk.close)
    t.defer(zk.stop)
    return zk


# ---- ACLs and digest authentication ----

RIGHT, WRONG = "anna:sesame", "anna:barley"
GROUP_NODES = ["/consumers/g" + below for below in ("", "/ids", "/owners", "/offsets")]


def close_one_that_never_joined(members, name):
    """Its call that waits for the first rebalance ends with that."""
    members.close(name)
    wait_for(lambda: members.events("closed", name), "%s to be closed" % name)


def protected_group(t, settings):
    """A group that only RIGHT may touch: who shows that takes part; who does not is told what to do,
    now and then, and takes part by itself as soon as the group is opened."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 2)
    produced = t.producer(cluster).send_numbered("t", 2, 5)
    anna = client(t, cluster.zookeeper.address, RIGHT)
    for path in GROUP_NODES:
        anna.create(path, acl=[make_digest_acl(*RIGHT.split(":"), all=True)], makepath=True)
    proxy = t.zookeeper_proxy(cluster)
    members, group = t.our_members(cluster, "g"), Group(anna, "g")

    def join(name, more):
        members.open(name, {**settings, **more}, zookeeper=proxy.listen(name))
        members.streams(name, t=1)

    join("a", {"zookeeper.auth": "digest:" + RIGHT})
    group.wait_for_exact_owners("t", range_layout(2, ["g_a-0"]))
    members.wait_for_messages(10)
    join("b", {"zookeeper.auth": "digest:" + WRONG})
    join("c", {})
    for name, advice in (("b", "correct them"), ("c", "set zookeeper.auth")):
        text = members.wait_for_report(name, "refuses create /consumers/g/ids/g_%s .*NoAuth" % name)
        assert advice in text and "sesame" not in text and "barley" not in text, text
        seen = len(proxy.requests(name))
        wait_for(lambda: len(proxy.requests(name)) > seen, "%s to try again" % name, 60)
    expect("who is in", group.members(), ["g_a"])
    for path in GROUP_NODES:
        anna.set_acls(path, OPEN_ACL_UNSAFE)
    close_one_that_never_joined(members, "b")
    group.wait_for_exact_owners("t", range_layout(2, ["g_a-0", "g_c-0"]))
    produced |= t.producer(cluster).send_numbered("t", 2, 5)
    Account(produced, members.wait_for_messages(20)).check()
    members.finish()


def test_a_protected_group(t):
    protected_group(t, SAFE)


@long
def test_a_protected_group_in_compat(t):
    protected_group(t, COMPAT)


def test_a_group_for_its_members_only(t):
    """zookeeper.acl=creator: what the members make for their group is for who shows the same
    credentials, everything above it for everybody; the tools get them from the environment."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 2)
    produced = t.producer(cluster).send_numbered("t", 2, 5)
    members = t.our_members(cluster, "g")
    for name in "ab":
        members.open(name, {**SAFE, "zookeeper.auth": "digest:" + RIGHT, "zookeeper.acl": "creator"})
        members.streams(name, t=1)
    anna = client(t, cluster.zookeeper.address, RIGHT)
    group = Group(anna, "g")
    group.wait_for_exact_owners("t", range_layout(2, ["g_a-0", "g_b-0"]))
    Account(produced, members.wait_for_messages(10)).check()
    group.wait_for_offsets("t", {0: 5, 1: 5})
    for path in nodes_below(anna, "/consumers/g"):
        expect("ACL of %s" % path, anna.get_acls(path)[0], [make_digest_acl(*RIGHT.split(":"), all=True)])
    expect("ACL of /consumers", anna.get_acls("/consumers")[0], OPEN_ACL_UNSAFE)
    words = ["groups", "describe", "--group=g", "--zookeeper=" + cluster.zookeeper_connect]
    done = run("zkconsumer", *words)
    assert done.returncode == 1 and "NoAuth" in done.stderr and VARIABLE in done.stderr, done
    with_secret = [program("zkconsumer"), *words]
    told = subprocess.run(with_secret, env={**os.environ, VARIABLE: "digest:" + RIGHT}, timeout=60,
                          capture_output=True, text=True, check=True)
    assert "g_a-0" in told.stdout and "g_b-0" in told.stdout, told
    for wrong, text in (("sesame", VARIABLE + ": expected scheme"), (RIGHT, "anna is no scheme")):
        done = subprocess.run(with_secret, env={**os.environ, VARIABLE: wrong}, timeout=60,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and text in done.stderr, done
        assert "sesame" not in done.stderr, done
    members.finish()


def nodes_below(zk, path):
    yield path
    for name in zk.get_children(path):
        yield from nodes_below(zk, "%s/%s" % (path, name))


def test_a_protected_cluster(t):
    """A chroot in which only RIGHT may make anything: our broker, our tools, a member."""
    server = t.zookeeper(properties=TICK)
    anna = client(t, server.address, RIGHT)
    anna.create("/kafka", acl=[make_digest_acl(*RIGHT.split(":"), all=True)])
    secret = "digest:" + RIGHT

    def cluster(properties):
        return t.zk_cluster(zookeeper_server=server, chroot="/kafka", start=False, properties=properties)

    without = cluster({}).brokers[0]
    without.start_without_waiting()
    without.process.wait_for_line("NoAuth")
    assert without.process.wait() != 0
    assert "cannot be created in ZooKeeper" in without.log_text(), without.log_text()
    with_it = cluster({"zookeeper.auth": secret}).start()
    env, where = {**os.environ, VARIABLE: secret}, "--zookeeper=" + with_it.zookeeper_connect

    def tool(*words, stdin=None):
        return subprocess.run([program("zkconsumer"), *words, where], env=env, input=stdin, timeout=60,
                              capture_output=True, text=True, check=True).stdout

    tool("topics", "create", "--topic=t", "--partitions=1")
    with_it.wait_for_topic("t", 1)
    tool("produce", "--topic=t", stdin="one\ntwo\n")
    expect("consumed", tool("consume", "--topic=t", "--group=g", "--from-beginning", "--exit-at-end"),
           "one\ntwo\n")


def test_credentials_of_a_scheme_that_the_server_does_not_know(t):
    """The server refuses them, for good: the member says so, once, and can be closed."""
    cluster = t.cluster(zookeeper_properties=TICK)
    members = t.our_members(cluster, "g")
    for name, settings in (("a", SAFE), ("b", COMPAT)):
        members.open(name, {**settings, "zookeeper.auth": "nosuch:x",
                            "zookeeper.connection.timeout.ms": 600000})
        members.streams(name, t=1)
        members.wait_for_report(name, "refuses the credentials: nosuch is no scheme")
        close_one_that_never_joined(members, name)
        expect("reports", len([x for x in members.reports(name) if "refuses" in x]), 1)
    members.finish()


# ---- ensembles ----

def on_ensemble(t, servers, n):
    """A world whose broker, and whose test, are at server n."""
    cluster = t.cluster(zookeeper_server=servers.servers[n], start=False)
    return World(t, cluster=cluster.start())


class At:
    """In the place of a proxy: who connects where."""

    def __init__(self, addresses):
        self.listen = addresses.get


@long
def test_rolling_restart_of_an_ensemble(t):
    """Three servers, one after the other, the leader too: nobody stops, nothing is lost or doubled."""
    servers = Ensemble(t, "3.8", 3)
    first_leader = servers.leader()
    world = on_ensemble(t, servers, 1)
    everywhere = ",".join("127.0.0.1:%d" % servers.port(n) for n in servers.numbers)
    world.proxy = At({name: everywhere for name in "ab"})
    for name in "ab":
        world.join(name, {"zookeeper.session.timeout.ms": 30000})
    world.settled()
    sessions = {name: world.group.member_session("g_" + name) for name in "ab"}
    before = {name: told(world.there[name], name) for name in "ab"}
    leaders = set()
    for n in servers.numbers:
        servers.servers[n].stop()
        servers.start(n)
        servers.wait_until_serving(list(servers.numbers))
        leaders.add(servers.leader())
        world.flows(["a", "b"])
    assert leaders - {first_leader}, "the leader was always %r" % leaders
    for name in "ab":
        expect("session of " + name, world.group.member_session("g_" + name), sessions[name])
        expect("what %s was told" % name, told(world.there[name], name), before[name])
    world.end()


class CutFollower:
    """a is at a follower, b at the leader, when the follower is cut from both others: for a syncLimit,
    a minute, it serves on, while the leader ends a's session."""

    def __init__(self, t, settings):
        self.servers = Ensemble(t, "3.8", 3, {"tickTime": 500, "syncLimit": 120}, can_cut=True)
        leader = self.servers.leader()
        self.follower = next(n for n in self.servers.numbers if n != leader)
        self.world = on_ensemble(t, self.servers, leader)
        self.link = t.zookeeper_proxy(self.servers.servers[self.follower])
        self.witness = Group(client(t, self.servers.servers[self.follower].address), "g")
        self.world.proxy = At({"a": self.link.listen("a"), "b": self.servers.servers[leader].address})
        self.world.join("a", settings)
        self.world.join("b", settings)
        self.world.settled()

    def cut(self):
        layout = self.witness.owners("t")
        for n in self.servers.numbers:
            if n != self.follower:
                self.servers.cut(self.follower, n)
        self.world.group.wait_for_exact_owners("t", range_layout(4, ["g_b-0"]))
        expect("what the follower tells of owners", self.witness.owners("t"), layout)


def test_a_follower_cut_from_its_leader(t):
    """That a server answers is no proof: a stops before its session can have ended, b begins where it
    stopped, and nothing is delivered by both."""
    story = CutFollower(t, {})
    world = story.world
    a, b = world.there["a"], world.there["b"]
    story.cut()
    count = world.count("a")
    world.flows(["b"])
    world.flows(["b"])
    expect("messages of a after its session", world.count("a"), count)
    story.servers.heal()
    a.wait_for_report("a", "expired")
    world.settled()
    # twice: what a was given between its last commit and the end of its lease
    got = {(m.partition, m.offset) for m in b.messages("b")}
    world.end(duplicates_max=len([m for m in a.messages("a")[:count] if (m.partition, m.offset) in got]))


def test_a_follower_cut_from_its_leader_in_compat(t):
    """As Kafka 0.8.2: the follower answers its pings (behind a write that is under way it would not), so
    a delivers on what b delivers, until it hears of the end."""
    story = CutFollower(t, {**COMPAT, "auto.commit.enable": "false", "auto.offset.reset": "smallest"})
    world = story.world
    a, b = world.there["a"], world.there["b"]
    mark = story.link.mark("cut")
    story.cut()

    def twice():
        of_b = {(m.partition, m.offset) for m in b.messages("b")}
        return [m for m in a.messages("a") if (m.partition, m.offset) in of_b]

    before = len(twice())
    wait_for(lambda: len(twice()) >= before + 20, "messages that both are given", 60)
    links = [event for event in story.link.events[mark:] if event["k"] in ("open", "close")]
    expect("connections of a that were opened or closed", links, [])
    story.servers.heal()
    text = a.wait_for_report("a", "expired")
    assert "delivered by others too" in text, text
    world.settled()
    written = set(world.traffic.stop())
    wait_for(lambda: written <= {(m.partition, m.offset) for m in world.messages()}, "the last messages")
    for name in "ab":
        world.leave(name)
    Account(written, world.messages()).check(duplicates_max=len(written))


@long
def test_a_read_only_server(t):
    """A server without a quorum that serves readers only (readonlymode.enabled): nobody here asks for
    that, so it takes no member on. safe stops with its lease, compat delivers on; both come back."""
    servers = Ensemble(t, "3.8", 3, TICK, system={"readonlymode.enabled": "true"})
    alone = servers.leader()
    others = [n for n in servers.numbers if n != alone]
    world = on_ensemble(t, servers, alone)
    server = servers.servers[alone]
    world.proxy = At({"a": server.address})
    a = world.join("a", {"statistics.interval.ms": 200})
    world.settled()
    compat = t.our_members(world.cluster, "h", "compat")
    compat.open("c", COMPAT)
    compat.streams("c", t=1)
    wait_for(lambda: compat.messages("c"), "messages of c")
    for n in others:
        servers.kill(n)
    wait_for(lambda: server.four_letter_word("isro") == "ro", "the server to be read-only", 60)
    expect("who is taken on", [takes_on(server, is_reader) for is_reader in (True, False)], [True, False])
    a.wait_for_report("a", "not serving")
    wait_for(lambda: stats(a, "a")["safe"]["lease_left_ms"] == 0, "the end of a's lease", 30)
    count, of_c = world.count("a"), len(compat.messages("c"))
    wait_for(lambda: len(compat.messages("c")) >= of_c + 20, "c to go on")
    expect("messages of a after its lease", world.count("a"), count)
    for n in others:
        servers.start(n)
    servers.wait_until_serving(list(servers.numbers))
    world.settled()
    got = {(m.partition, m.offset) for m in a.messages("a")[:count]}
    again = [m for m in a.messages("a")[count:] if (m.partition, m.offset) in got]
    world.end(duplicates_max=len(again))
    expect("close of c", compat.close_wait("c")[0], "ZKC_OK")
    compat.finish()


def takes_on(server, is_reader):
    """Whether the server answers a request for a session."""
    request = struct.pack(">iqiqi16s?", 0, 0, 10000, 0, 16, bytes(16), is_reader)
    with socket.create_connection(("127.0.0.1", server.port), 20) as link:
        link.sendall(struct.pack(">i", len(request)) + request)
        try:
            return bool(link.recv(1))
        except ConnectionResetError:
            return False


def stats(members, name):
    return json.loads(" ".join(members.ask("stats", name)))


# ---- clocks ----

def beside_compat(t, world, clock):
    """A member in compat of another group, on the same clock."""
    compat = t.our_members(world.cluster, "h", "compat", env=clock.env)
    proxy = t.zookeeper_proxy(world.cluster)
    compat.open("c", COMPAT, zookeeper=proxy.listen("c"))
    compat.streams("c", t=1)
    wait_for(lambda: compat.messages("c"), "messages of c")
    return compat, proxy


def test_clock_steps(t):
    """The wall clock is set an hour forward, and two back: nothing follows."""
    world, clock = World(t), Clock(t)
    a = world.join("a", process=t.our_members(world.cluster, "g", "ours-a", env=clock.env))
    world.settled()
    compat, _ = beside_compat(t, world, clock)
    sessions = world.group.member_session("g_a"), Group(world.cluster.zk, "h").member_session("h_c")
    for hours in (1, -1):
        clock.set(hours * 3600)
        for group, members, name in (("g", a, "a"), ("h", compat, "c")):
            count, before = len(members.messages(name)), Group(world.cluster.zk, group).offsets("t")
            wait_for(lambda: len(members.messages(name)) > count + 20, "messages of " + name)
            wait_for(lambda: Group(world.cluster.zk, group).offsets("t") != before, "commits of " + name)
    compat.open("w", SAFE, group="w")  # shows that the step was one
    compat.streams("w", t=1)
    compat.wait_for_event("streams", "w")
    stamp = int(Group(world.cluster.zk, "w").registration("w_w")["timestamp"]) / 1000
    assert abs(stamp - time.time()) > 1800, "registered at %d, now is %d" % (stamp, time.time())
    expect("close of w", compat.close_wait("w")[0], "ZKC_OK")
    expect("sessions", (world.group.member_session("g_a"),
                        Group(world.cluster.zk, "h").member_session("h_c")), sessions)
    expect("what a was told", told(a, "a"), [["assign", {0, 1, 2, 3}]])
    expect("what c was told", told(compat, "c"), [["assign", {0, 1, 2, 3}]])
    expect("reports", a.reports("a") + compat.reports("c"), [])
    expect("close of c", compat.close_wait("c")[0], "ZKC_OK")
    compat.finish()
    world.end()


def test_a_suspended_system(t):
    """A process that was suspended for an hour believes nothing of its lease, although no timer of its
    own has run meanwhile, and waits until ZooKeeper says that the session lives. Compat delivers on."""
    world, clock = World(t), Clock(t)
    settings = {"zookeeper.session.timeout.ms": 10000, "statistics.interval.ms": 200}
    a = world.join("a", settings, t.our_members(world.cluster, "g", "ours-a", env=clock.env))
    world.join("b", settings)
    world.settled()
    compat, proxy = beside_compat(t, world, clock)
    session, before = world.group.member_session("g_a"), told(a, "a")
    for members in (a, compat):
        members.process.pause()
    world.proxy.hole("a")
    proxy.hole("c")
    world.flows(["b"])  # and there is something for a, too
    count, of_c = world.count("a"), len(compat.messages("c"))
    clock.suspend(3600)
    for members in (a, compat):
        members.process.resume()
    expect("what is left of the lease", stats(a, "a")["safe"]["lease_left_ms"], 0)
    wait_for(lambda: len(compat.messages("c")) > of_c + 20, "c to go on")
    world.flows(["b"])
    late = world.count("a") - count
    assert late <= 1, "%d messages were handed out without a lease" % late
    world.proxy.heal("a")
    proxy.heal("c")
    world.settled()
    if world.group.member_session("g_a") == session:  # it was in time
        expect("what a was told", told(a, "a"), before)
        world.end(duplicates_max=0)
    else:
        world.end(duplicates_max=4 * 60)
    expect("close of c", compat.close_wait("c")[0], "ZKC_OK")
    compat.finish()


# ---- IPv6 ----

def test_addresses_of_ipv6(t):
    """[::1]:port in zookeeper.connect, alone or beside others, of members and tools."""
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError as error:
            raise Skip("no ::1 on this machine: %s" % error) from None
    world = World(t)
    six = world.proxy.listen("six", host="::1")
    world.proxy.addresses["a"] = six
    world.proxy.addresses["b"] = "%s,[::1]:%d" % (six, free_port())
    world.join("a")
    world.join("b", COMPAT)
    world.settled()
    done = run("zkconsumer", "groups", "describe", "--group=g", "--zookeeper=" + six)
    assert "g_a-0" in done.stdout and "g_b-0" in done.stdout, done
    seen = {event["who"] for event in world.proxy.events if event["k"] == "connected"}
    expect("who is connected", seen, {"six"})
    world.end(duplicates_max=4 * 60)
