"""Keys of 0.8.2's consumer that shape how it fetches: what they do can be seen."""
from lib.testing import both_modes_long
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
        answers = members.statistics(name)["brokers"][0]["responses"]
        assert answers <= chunks + 2, "%s: %d answers for %d places" % (name, answers, chunks)
        for _ in range(5):
            expect("chunks that wait", queued(), chunks)
        expect("answers later", members.statistics(name)["brokers"][0]["responses"], answers)
        members.process.send("take %s -1" % name)
        got = members.wait_for_messages(400, name)
        expect("offsets", [m.offset for m in got], list(range(400)))
    members.finish()
