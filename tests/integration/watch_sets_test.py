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
    cluster.zk.ensure_path("/brokers/topics")
    for at in range(0, len(names), 500):  # more at a time, and the client forgets to say that it lives
        pending = [cluster.zk.create_async("/brokers/topics/" + name, json.dumps(data).encode())
                   for name in names[at:at + 500]]
        for one in pending:
            one.get(60)


def long_names(count):
    """About 250 bytes each, as znodes."""
    return ["m-%04d-%s" % (n, "x" * 224) for n in range(count)]


def give_partition(cluster, name, count=1):
    data = {"version": 1, "partitions": {str(p): [0] for p in range(count)}}
    cluster.zk.set("/brokers/topics/" + name, json.dumps(data).encode())


def wait_for_connections(proxy, label, count, timeout_s=60):
    def seen():
        there = proxy.connections(label)
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


def test_watch_sessions_that_fall_silent(t):
    """Further sessions whose links fall silent notice it in time, as any session does."""
    w = World(t, long_names(400))
    w.join("o")
    w.owned("m-last", {0: "g_o-0"})
    wait_for_connections(w.proxy, "o", 3)
    own = w.group.member_session("g_o")
    assert w.proxy.silence_others("o", own) == 2
    for name in (w.names[0], w.names[150], w.names[-1]):
        give_partition(w.cluster, name)
        w.owned(name, {0: "g_o-0"})
    assert w.group.member_session("g_o") == own
    w.ours.finish()


def test_owner_watches_are_spread(t):
    """A member that owns more partitions than one session can watch: somebody deletes owner nodes, the
    first and the last of them, before and after the links blip; each is noticed and claimed again."""
    w = World(t, [], jute=131072, settings={**SAFE, "zookeeper.jute.maxbuffer": 131072})
    topic, count = "m-" + "o" * 100, 1500
    topics_of(w.cluster, [topic], count)
    w.join("o")
    w.owned(topic, {p: "g_o-0" for p in range(count)}, 120)
    wait_for_connections(w.proxy, "o", 3)
    session = w.group.member_session("g_o")
    for blip in (False, True):
        if blip:
            w.proxy.cut("o")
        for partition in (0, count // 2, count - 1):
            path = "/consumers/g/owners/%s/%d" % (topic, partition)
            before = w.cluster.zk.exists(path).czxid
            w.cluster.zk.delete(path)

            def again():
                stat = w.cluster.zk.exists(path)
                assert stat and stat.czxid != before and stat.ephemeralOwner == session, stat
                return True
            wait_for(again, "partition %d to be claimed again" % partition, 60)
    assert w.group.member_session("g_o") == session
    assert w.ours.close_wait("o")[0] == "ZKC_OK"
    w.not_owned(topic)
    w.ours.finish()


def test_another_member_beside(t):
    """Two members with such watches share: of contested partitions each waits by a watch, wherever it
    is, and has them when the other goes."""
    w = World(t, long_names(300))
    topics = w.names[::10]
    for name in topics:
        give_partition(w.cluster, name, 2)
    w.join("a")
    for name in topics:
        w.owned(name, {0: "g_a-0", 1: "g_a-0"})
    w.join("b", {"zookeeper.observer": "process"})
    for name in topics:
        w.owned(name, {0: "g_a-0", 1: "g_b-0"})
    wait_for(lambda: w.proxy.connections("a") >= 2, "a further session of a", 60)
    wait_for(lambda: w.proxy.connections("b") >= 3, "the observer's session and a further one", 60)
    w.proxy.cut("a")
    w.proxy.cut("b")
    give_partition(w.cluster, w.names[-1], 2)
    w.owned(w.names[-1], {0: "g_a-0", 1: "g_b-0"})
    assert w.ours.close_wait("b")[0] == "ZKC_OK"
    for name in topics:
        w.owned(name, {0: "g_a-0", 1: "g_a-0"})
    w.ours.finish()


def test_sessions_that_are_not_needed_are_closed(t):
    """Topics go, and the sessions that carried their watches after them."""
    w = World(t, long_names(400))
    w.join("o")
    w.owned("m-last", {0: "g_o-0"})
    wait_for_connections(w.proxy, "o", 3)
    for name in w.names[20:]:
        w.cluster.zk.delete("/brokers/topics/" + name)
    wait_for_connections(w.proxy, "o", 1, 90)
    give_partition(w.cluster, w.names[3])
    w.owned(w.names[3], {0: "g_o-0"})
    w.ours.finish()


def test_a_server_with_a_smaller_limit(t):
    """Nobody has told the member of the server's limit: at the first blip it says what is wrong, begins a
    new session, and goes on."""
    w = World(t, long_names(1000), settings=SAFE)
    w.join("o")
    w.owned("m-last", {0: "g_o-0"})
    session = w.group.member_session("g_o")
    w.proxy.cut("o")
    wait_until_said(w.ours, "its jute.maxbuffer, of which zookeeper.jute.maxbuffer should tell")
    give_partition(w.cluster, w.names[-1])
    w.owned(w.names[-1], {0: "g_o-0"})
    w.owned("m-last", {0: "g_o-0"})
    assert w.group.member_session("g_o") != session
    w.ours.finish()


# ---- no session to be had ----

def test_no_connection_for_watches(t):
    """maxClientCnxns is reached by the member's own session: it says so, works, and sees every change a
    little later. When there is room the watches are left."""
    w = World(t, long_names(300), {"maxClientCnxns": 6})
    fillers = []
    w.open("o", {"statistics.interval.ms": 200})
    wait_for_connections(w.proxy, "o", 1)
    while one_more_client(w, fillers):
        pass
    w.ours.filter("o", "white_list", 1, "m-.*")
    text = w.ours.wait_for_report("o", "a further session for watches cannot be had")
    assert "maxClientCnxns" in text and "zookeeper.jute.maxbuffer = %d" % JUTE in text, text
    assert "again every 10 s" in text, text
    w.owned("m-last", {0: "g_o-0"})
    give_partition(w.cluster, w.names[-1])
    w.owned(w.names[-1], {0: "g_o-0"})
    wait_for_connections(w.proxy, "o", 1)  # a further one may just be tried
    assert len(w.ours.reports("o")) <= 2, w.ours.reports("o")  # it may be cut, or not be answered
    seen = w.ours.statistics("o")
    assert seen["member"]["trouble"] == "unwatched" and not seen["member"]["healthy"], seen["member"]
    assert seen["safe"]["watches"]["unwatched"] > 100, seen["safe"]
    for filler in fillers:
        filler.stop()
        filler.close()
    wait_for_connections(w.proxy, "o", 2)
    check_changes(w, "")
    seen = w.ours.statistics("o")
    assert seen["member"]["healthy"], seen["member"]
    watches = seen["safe"]["watches"]
    assert (watches["sessions"], watches["unwatched"]) == (1, 0), watches
    assert watches["left"] > 300 and 0 < watches["own_bytes"] < JUTE, watches
    w.ours.finish()


def one_more_client(w, fillers):
    """False: there is no room for it."""
    client = KazooClient(w.cluster.zookeeper.address, timeout=10)
    try:
        client.start(2)
    except client.handler.timeout_exception:
        client.stop()
        client.close()
        return False
    fillers.append(client)
    return True


def test_no_further_sessions_wanted(t):
    """zookeeper.watch.sessions.max=0: nothing is opened; changes are seen all the same, later."""
    w = World(t, long_names(300))
    w.join("o", {"zookeeper.watch.sessions.max": 0})
    w.owned("m-last", {0: "g_o-0"})
    session = w.group.member_session("g_o")
    for name in (w.names[0], w.names[-1]):
        give_partition(w.cluster, name)
        w.owned(name, {0: "g_o-0"})
    w.proxy.cut("o")
    give_partition(w.cluster, w.names[-2])
    w.owned(w.names[-2], {0: "g_o-0"})
    assert w.proxy.connections("o") == 1
    assert w.group.member_session("g_o") == session
    w.ours.finish()


# ---- other limits ----

def test_more_than_a_packet(t):
    """What the server takes, and what it sends, are two things: a list of children that is larger than
    its jute.maxbuffer is read. A request that is larger is not sent: it would be cut, again and again."""
    w = World(t, long_names(400))
    assert sum(map(len, w.cluster.zk.get_children("/brokers/topics"))) > JUTE
    w.join("o")
    w.owned("m-last", {0: "g_o-0"})
    expression = "m-last|" + "|".join("y%d-%s" % (n, "z" * 200) for n in range(50))
    w.open("large", {"zookeeper.jute.maxbuffer": 8192})
    w.ours.filter("large", "white_list", 1, expression)
    text = w.ours.wait_for_report("large", "zookeeper.jute.maxbuffer = 8192")
    assert "create /consumers/g/ids/g_large has " in text, text
    assert w.group.members() == ["g_o"], w.group.members()
    assert w.proxy.connections("large") == 1
    w.ours.finish()


def cpu_s(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def no_descriptors(t, settings):
    """The links break when there is not one descriptor left: it says so, does not spin, and works again
    when there are some."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 2)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    proxy = t.zookeeper_proxy(cluster)
    ours = t.our_members(cluster, "g")
    ours.open("o", settings, zookeeper=proxy.listen("o"))
    ours.streams("o", t=1)
    group.wait_for_exact_owners("t", {0: "g_o-0", 1: "g_o-0"})
    producer.send_numbered("t", 2, 5)
    ours.wait_for_messages(10, "o")
    pid = ours.process.pid
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    proxy.cut("o")
    text = ours.wait_for_report("o", "cannot reach ZooKeeper")
    assert "open files" in text, text
    used_s, began = cpu_s(pid), time.monotonic()
    time.sleep(2)  # to see what it does, not to wait for it
    share = (cpu_s(pid) - used_s) / (time.monotonic() - began)
    assert share < 0.5, "it takes %.2f of a processor" % share
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    wait_for_connections(proxy, "o", 1)
    group.wait_for_exact_owners("t", {0: "g_o-0", 1: "g_o-0"})
    producer.send_numbered("t", 2, 5)
    ours.wait_for_messages(20, "o")
    ours.finish()


def test_no_descriptors(t):
    no_descriptors(t, SAFE)


def test_no_descriptors_in_compat(t):
    no_descriptors(t, {**SAFE, "zookeeper.mode": "compat"})


def test_no_descriptor_for_watches(t):
    """A further session cannot be had for want of a descriptor: the same as with any other limit."""
    w = World(t, long_names(300))
    w.open("o")
    wait_for_connections(w.proxy, "o", 1)
    pid = w.ours.process.pid
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    w.ours.filter("o", "white_list", 1, "m-.*")
    text = w.ours.wait_for_report("o", "a further session for watches cannot be had")
    assert "open files" in text, text
    w.owned("m-last", {0: "g_o-0"})
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    wait_for_connections(w.proxy, "o", 2)
    check_changes(w, "")
    w.ours.finish()


# ---- many ----

@long
@timeout(900)
def test_twenty_thousand_topics(t):
    """The servers' own limit, 1 MiB, and 20,000 topics under a filter: members join, links blip, topics
    come and go. Prints how long it takes."""
    names = ["m-%05d-%s" % (n, "topic" * 12) for n in range(20000)]
    w = World(t, names, settings={**SAFE, "zookeeper.jute.maxbuffer": 1048575}, jute=1048575)
    began = time.monotonic()

    def lap(what):
        print("%-40s %6.2f s" % (what, time.monotonic() - began), flush=True)
    w.join("o")
    w.owned("m-last", {0: "g_o-0"}, 120)
    lap("joined")
    wait_for_connections(w.proxy, "o", 3)
    session = w.group.member_session("g_o")
    check_changes(w, "-1")
    lap("changes were seen")
    for n in range(5):
        w.proxy.cut("o")
        give_partition(w.cluster, names[n * 4000 + 7], 2)
        w.owned(names[n * 4000 + 7], {0: "g_o-0", 1: "g_o-0"})
    lap("and after five blips")
    w.join("p")
    for n in range(5):
        w.owned(names[n * 4000 + 7], {0: "g_o-0", 1: "g_p-0"})
    lap("another member has joined")
    w.proxy.cut("p")
    give_partition(w.cluster, names[11], 2)
    w.owned(names[11], {0: "g_o-0", 1: "g_p-0"})
    assert w.ours.close_wait("p")[0] == "ZKC_OK"
    for n in range(5):
        w.owned(names[n * 4000 + 7], {0: "g_o-0", 1: "g_o-0"})
    lap("and has left")
    assert w.group.member_session("g_o") == session
    assert not said(w.ours, "is given up"), said(w.ours, "is given up")
    w.ours.finish()
