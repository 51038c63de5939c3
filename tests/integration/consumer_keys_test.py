"""Keys of 0.8.2's consumer that shape how it fetches: what they do can be seen."""
from lib.testing import both_modes, both_modes_long
from lib.waiting import wait_for

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "auto.commit.interval.ms": 200,
            "statistics.interval.ms": 100}
TICK = {"tickTime": 500}


def expect(what, seen, wanted):
    assert seen == wanted, "%s: %r, expected %r" % (what, seen, wanted)


@both_modes_long
def test_fetchers_of_one_broker(t):
    """num.consumer.fetchers: so many connections to a broker, each with its own partitions, which 0.8.2
    finds by the hash of topic and partition."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 12)
    t.producer(cluster).send_numbered("t", 12, 5)
    members = t.our_members(cluster, "g")
    for name, fetchers in (("one", 1), ("three", 3)):
        members.open(name, {**SETTINGS, "num.consumer.fetchers": fetchers}, group="g-" + name)
        members.streams(name, t=1)
        members.wait_for_messages(60, name)
        said = members.statistics(name)["brokers"]
        expect("partitions by fetcher with %d" % fetchers,
               sorted((b["fetcher"], b["partitions"], b["connected"]) for b in said),
               [(n, 12 // fetchers, True) for n in range(fetchers)])
    members.finish()


@both_modes_long
def test_queue_of_a_stream(t):
    """queued.max.message.chunks: nobody takes, so that many answers wait at the stream and no more is
    fetched; what is behind them comes when there is room."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 1)
    t.producer(cluster).send_numbered("t", 1, 400)
    members = t.our_members(cluster, "g")
    for name, chunks in (("one", 1), ("three", 3)):
        members.open(name, {**SETTINGS, "queued.max.message.chunks": chunks,
                            "fetch.message.max.bytes": 1000}, group="g-" + name)
        members.process.send("take %s 0" % name)
        members.streams(name, t=1)

        def queued():
            streams = members.statistics(name)["streams"]
            return streams[0]["queued_chunks"] if streams else 0

        wait_for(lambda: queued() == chunks, "a full queue of %s" % name)
        def answers_now():
            return members.statistics(name)["brokers"][0]["responses"]

        # one that was asked for before may still be on its way
        answers = wait_for(lambda: answers_now() == answers_now() and answers_now(), "answers to come no more")
        assert answers <= chunks + 2, "%s: %d answers for %d places" % (name, answers, chunks)
        for _ in range(5):
            expect("chunks that wait", queued(), chunks)
        expect("answers later", answers_now(), answers)
        members.process.send("take %s -1" % name)
        got = members.wait_for_messages(400, name)
        expect("offsets", [m.offset for m in got], list(range(400)))
    members.finish()


# ---- on the wire to the broker ----

def behind_a_proxy(t, partitions=1):
    """A cluster whose broker is reached through a proxy that sees all requests; and members of g."""
    cluster, proxy = t.cluster_behind_proxy(zookeeper_properties=TICK)
    cluster.create_topic("t", partitions)
    t.producer(cluster).send_numbered("t", partitions, 5)
    return proxy, t.our_members(cluster, "g")


@both_modes
def test_what_a_fetch_says(t):
    """client.id, fetch.min.bytes and fetch.wait.max.ms are in each fetch, as are their defaults."""
    proxy, members = behind_a_proxy(t)
    wanted = {"plain": ({}, ("g-plain", 100, 1)),  # the group
              "told": ({"client.id": "billing-7", "fetch.min.bytes": 7777, "fetch.wait.max.ms": 250},
                       ("billing-7", 250, 7777)),
              "zero": ({"fetch.min.bytes": 0}, ("g-zero", 100, 1))}
    for name, (keys, said) in wanted.items():
        before = len(proxy.seen)
        members.open(name, {**SETTINGS, **keys, "auto.offset.reset": "smallest"}, group="g-" + name)
        members.streams(name, t=1)
        members.wait_for_messages(5, name)
        mine = [r for r in proxy.seen[before:] if r.client == said[0]]
        fetches = {(r.client, r.wait_ms, r.bytes_min) for r in mine if r.op == "Fetch"}
        expect("fetches of " + name, fetches, {said})
        expect("metadata requests of " + name, "Metadata" in {r.op for r in mine}, True)
        members.close_wait(name)
    members.finish()


@both_modes
def test_a_broker_that_does_not_answer(t):
    """socket.timeout.ms: then the connection is given up, and another one made."""
    proxy, members = behind_a_proxy(t)
    members.open("a", {**SETTINGS, "socket.timeout.ms": 700, "auto.offset.reset": "smallest"})
    members.streams("a", t=1)
    members.wait_for_messages(5, "a")
    proxy.hold("b0", op="Fetch")
    before = proxy.count("Fetch")
    # each of them on a connection of its own: the default of 30 s is as long as we wait
    wait_for(lambda: proxy.count("Fetch") >= before + 3, "further fetches", 25)
    proxy.go("b0")
    members.finish()


@both_modes
def test_internal_topics(t):
    """exclude.internal.topics: a filter that matches everything has __consumer_offsets only without it."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 1)
    cluster.create_topic("__consumer_offsets", 2)
    members = t.our_members(cluster, "g")
    for name, keys, owned in (("default", {}, {"t"}),
                              ("true", {"exclude.internal.topics": "true"}, {"t"}),
                              ("false", {"exclude.internal.topics": "false"},
                               {"t", "__consumer_offsets"})):
        group = t.group(cluster, "g-" + name)
        members.open(name, {**SETTINGS, **keys}, group="g-" + name)
        members.filter(name, "white_list", 1, ".*")
        for topic in owned:
            group.wait_until_owned(topic, 1 if topic == "t" else 2)
        expect("owned with %s" % name,
               {topic for topic in ("t", "__consumer_offsets") if group.owners(topic)}, owned)
        members.close_wait(name)
    members.finish()
