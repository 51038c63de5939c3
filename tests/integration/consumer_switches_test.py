"""The ablation switches of zookeeper.mode=compat in real runs: what passes between a member and
ZooKeeper, and that a fence holds deliveries back."""
import time

from lib.group import range_layout
from lib.members import Account
from lib.waiting import wait_for

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "rebalance.backoff.ms": 1500,
            "auto.commit.interval.ms": 200}
TICK = {"tickTime": 500}
SWITCHES = {"zookeeper.coalesce": "false", "zookeeper.watch.owners": "true",
            "zookeeper.claim": "multi", "zookeeper.release": "session",
            "zookeeper.commit": "session", "zookeeper.fence": "lease",
            "zookeeper.sync.before.read": "true", "zookeeper.give.up": "never"}


def small_cluster(t):
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 4)
    return cluster


def transactions(proxy, path):
    """The operations of each multi of a's whose first one is below this path."""
    multis = [r["fields"]["ops"] for r in proxy.requests("a", op="multi")]
    return [ops for ops in multis if ops[0]["path"].startswith(path)]


def test_all_switches(t):
    """A group whose members have all of them shares, hands over and loses nothing; and the requests
    are those of the switches."""
    cluster = small_cluster(t)
    group, producer, proxy = t.group(cluster, "g"), t.producer(cluster), t.zookeeper_proxy(cluster)
    members = t.our_members(cluster, "g")
    settings = {**SETTINGS, **SWITCHES}
    members.open("a", settings, zookeeper=proxy.listen("a"))
    members.streams("a", t=1)
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]))
    produced = producer.send_numbered("t", 4, 10)
    members.wait_for_messages(40)
    group.wait_for_offsets("t", {p: 10 for p in range(4)})
    produced |= producer.send_numbered("t", 4, 10)
    members.wait_for_messages(80)
    group.wait_for_offsets("t", {p: 20 for p in range(4)})
    mark = proxy.mark("join")
    members.open("b", settings)
    members.streams("b", t=1)
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0", "g_b-0"]))
    produced |= producer.send_numbered("t", 4, 10)
    members.wait_for_messages(120)
    Account(produced, members.messages()).check()

    assert not [r for r in proxy.requests("a", op="create") if "/owners/t/" in (r["path"] or "")]
    claims, probes = transactions(proxy, "/consumers/g/owners/t/"), "/consumers/g/ids/g_a"
    assert claims and {len(ops) for ops in claims} <= {2, 4}, claims
    wait_for(lambda: transactions(proxy, probes), "a probe of the lease")
    assert all(ops[0]["op"] == "check" for ops in transactions(proxy, probes))
    released = [(r["op"], r["path"]) for r in proxy.requests("a", mark)
                if r["op"] in ("exists", "delete") and "/owners/t/" in r["path"]]
    assert released[:2] == [("exists", "/consumers/g/owners/t/0"),
                            ("delete", "/consumers/g/owners/t/0")], released
    versions = [r["fields"]["version"] for r in proxy.requests("a", op="setData")
                if "/offsets/" in r["path"]]
    assert versions and -1 not in versions, versions
    assert [r for r in proxy.requests("a", mark, op="sync")]
    members.close_wait("a")
    group.wait_for_exact_owners("t", range_layout(4, ["g_b-0"]))
    members.finish()


def test_watched_owner(t):
    """A contested partition is claimed as soon as its owner goes, far sooner than the backoff."""
    cluster = small_cluster(t)
    group = t.group(cluster, "g")
    group.zk.ensure_path("/consumers/g/owners/t")
    group.zk.create("/consumers/g/owners/t/0", b"g_ghost-0", ephemeral=True)
    members = t.our_members(cluster, "g")
    members.open("a", {**SETTINGS, "rebalance.backoff.ms": 600000, "zookeeper.watch.owners": "true"})
    members.streams("a", t=1)
    wait_for(lambda: [line for _, _, line in members.log_lines("a") if "attempt failed" in line],
             "a's first attempt to fail")
    group.zk.delete("/consumers/g/owners/t/0")
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]), 20)
    members.finish()


def deliveries_during_a_cut(t, fence):
    """How many messages a member hands out that were produced after its session must have ended."""
    cluster = small_cluster(t)
    group, producer, proxy = t.group(cluster, "g"), t.producer(cluster), t.zookeeper_proxy(cluster)
    members = t.our_members(cluster, "g")
    members.open("a", {**SETTINGS, "zookeeper.fence": fence}, zookeeper=proxy.listen("a"))
    members.streams("a", t=1)
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]))
    produced = producer.send_numbered("t", 4, 5)
    members.wait_for_messages(20)
    # in compat a message counts when it is taken, whatever the fence: there is none to acknowledge
    members.command("ack", "a")
    assert members.wait_for_event("acknowledged", "a") == []
    proxy.refuse("a")
    proxy.cut("a")
    wait_for(lambda: not group.members(), "the session to end", 30)
    produced |= producer.send_numbered("t", 4, 5)
    time.sleep(2)  # for what must not come, or has come long before
    seen = len(members.messages()) - 20
    proxy.heal("a")
    group.wait_for_exact_owners("t", range_layout(4, ["g_a-0"]), 30)
    members.wait_for_messages(40)
    Account(produced, members.messages()).check(20)
    members.finish()
    return seen


def test_without_a_fence(t):
    assert deliveries_during_a_cut(t, "none") == 20


def test_fence_by_the_connection(t):
    assert deliveries_during_a_cut(t, "disconnect") == 0


def test_fence_by_a_lease(t):
    assert deliveries_during_a_cut(t, "lease") == 0
