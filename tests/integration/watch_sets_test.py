"""Members that watch more than one packet of the server takes (jute.maxbuffer): after a reconnect a client
leaves all its watches in one packet, so further sessions carry what one has no room for. And what a member
does at other limits: no connection to be had, no descriptor, lists of children larger than a packet."""
import json
import os
import resource
import time

from kazoo.client import KazooClient

from lib.testing import long, timeout
from lib.waiting import wait_for
from lib.zookeeper import ZooKeeperServer

JUTE = 65536
SAFE = {"zookeeper.mode": "safe", "zookeeper.session.timeout.ms": 6000,
        "auto.commit.interval.ms": 200}
SMALL = {**SAFE, "zookeeper.jute.maxbuffer": JUTE}
TICK = {"tickTime": 500}


def topics_of(cluster, names, partitions=0):
    """Topics that no broker has: owners can be seen all the same."""
    data = {"version": 1, "partitions": {str(p): [0] for p in range(partitions)}}
    pending = [cluster.zk.create_async("/brokers/topics/" + name, json.dumps(data).encode(),
                                       makepath=True) for name in names]
    for one in pending:
        one.get(120)


def long_names(count):
    """About 250 bytes each, as znodes."""
    return ["m-%04d-%s" % (n, "x" * 224) for n in range(count)]


def give_partition(cluster, name, count=1):
    data = {"version": 1, "partitions": {str(p): [0] for p in range(count)}}
    cluster.zk.set("/brokers/topics/" + name, json.dumps(data).encode())


def connections(proxy, label):
    return proxy._do(lambda: sum(link.label == label for link in proxy.links))


def wait_for_connections(proxy, label, count, timeout_s=60):
    def seen():
        there = connections(proxy, label)
        assert there == count, there
        return True
    wait_for(seen, "%s to have %d connections" % (label, count), timeout_s)


def said(process, text, name=None):
    return [line for _, _, line in process.log_lines(name) if text in line]


def wait_until_said(process, text, timeout_s=60):
    wait_for(lambda: said(process, text), "a line of the log with %r" % text, timeout_s)


class World:
    """A ZooKeeper that takes small packets only, and members behind a proxy that join by a filter."""

    def __init__(self, t, names, properties=None, settings=None, brokers=0, jute=JUTE):
        self.t = t
        self.settings = settings or SMALL
        server = ZooKeeperServer(t.folder / "zookeeper", "3.8", {**TICK, **(properties or {})},
                                 {"jute.maxbuffer": jute})
        t.defer(server.kill)
        server.start()
        self.cluster = t.zk_cluster(brokers=brokers, zookeeper_server=server)
        self.names = names
        self.cluster.zk.ensure_path("/brokers/ids")
        topics_of(self.cluster, names)
        topics_of(self.cluster, ["m-last"], 1)
        self.group = t.group(self.cluster, "g")
        self.proxy = t.zookeeper_proxy(self.cluster)
        self.ours = t.our_members(self.cluster, "g")

    def open(self, name, settings=None):
        self.ours.open(name, {**self.settings, **(settings or {})}, zookeeper=self.proxy.listen(name))

    def join(self, name, settings=None):
        self.open(name, settings)
        self.ours.filter(name, "white_list", 1, "m-.*")

    def owned(self, topic, layout, timeout_s=60):
        self.group.wait_for_exact_owners(topic, layout, timeout_s)

    def not_owned(self, topic):
        wait_for(lambda: not self.group.owners(topic), "%s to have no owner" % topic, 60)


# ---- watches ----

def check_changes(w, suffix):
    """Everything is seen: topics of all sessions that get a partition, one that comes, one that goes."""
    for name in (w.names[0], w.names[len(w.names) // 2], w.names[-1]):
        give_partition(w.cluster, name)
        w.owned(name, {0: "g_o-0"})
        give_partition(w.cluster, name, 0)
        w.not_owned(name)
    topics_of(w.cluster, ["m-new" + suffix], 1)
    w.owned("m-new" + suffix, {0: "g_o-0"})
    w.cluster.zk.delete("/brokers/topics/m-new" + suffix)
    w.not_owned("m-new" + suffix)


def test_watches_are_spread_over_sessions(t):
    """A member with watches for two packets and a half: further sessions carry them. The link blips, for
    all of them and for each by itself: the session stays, and every change is seen."""
    w = World(t, long_names(600))
    w.join("o")
    w.owned("m-last", {0: "g_o-0"})
    wait_for_connections(w.proxy, "o", 4)
    session = w.group.member_session("g_o")
    check_changes(w, "-1")
    assert w.proxy.cut("o") == 4
    check_changes(w, "-2")
    for name in w.names[::60]:  # while it is away
        w.proxy.cut("o")
        give_partition(w.cluster, name)
        w.owned(name, {0: "g_o-0"})
    wait_for_connections(w.proxy, "o", 4)
    assert w.group.member_session("g_o") == session
    assert not said(w.ours, "is given up"), said(w.ours, "is given up")
    w.ours.finish()


def test_watch_sessions_that_end(t):
    """Further sessions that end are replaced, and what they carried is read again: a change of the time in
    between is seen. The member's own session and what it owns stay."""
    w = World(t, long_names(400))
    w.join("o")
    w.owned("m-last", {0: "g_o-0"})
    wait_for_connections(w.proxy, "o", 3)
    own = w.group.member_session("g_o")
    node = w.cluster.zk.exists("/consumers/g/owners/m-last/0").czxid
    for name in (w.names[1], w.names[-2]):
        for session in w.cluster.zookeeper.sessions():
            if session not in (own, w.cluster.zk.client_id[0]):
                w.cluster.zookeeper.end_session(session)
        give_partition(w.cluster, name)
        w.owned(name, {0: "g_o-0"})
        wait_for_connections(w.proxy, "o", 3)
    check_changes(w, "")
    assert w.group.member_session("g_o") == own
    assert w.cluster.zk.exists("/consumers/g/owners/m-last/0").czxid == node
    w.ours.finish()
