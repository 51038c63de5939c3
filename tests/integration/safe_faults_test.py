"""Faults from outside, and what members do in each mode (tests/known_faults.md, "Beyond the list"): in
safe nothing is delivered by two and nothing lost; in compat what Kafka 0.8.2 does."""
import os
import subprocess

from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from lib.group import Group, range_layout
from lib.ledger import Traffic
from lib.members import Account, program, run
from lib.waiting import wait_for

SAFE = {"zookeeper.mode": "safe", "zookeeper.session.timeout.ms": 3000,
        "auto.commit.interval.ms": 200}
COMPAT = {"zookeeper.mode": "compat", "zookeeper.session.timeout.ms": 3000,
          "rebalance.backoff.ms": 1500, "auto.commit.interval.ms": 200}
TICK = {"tickTime": 500}
VARIABLE = "ZKCONSUMER_ZOOKEEPER_AUTH"


def expect(what, seen, wanted):
    assert seen == wanted, "%s: %r, expected %r" % (what, seen, wanted)


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
