"""Members that subscribe by a topic filter: topics that appear, go and come back; several topics on
several streams; beside Kafka's members."""
from lib.group import range_layout
from lib.testing import both_modes, both_modes_long

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "rebalance.backoff.ms": 1000,
            "auto.commit.interval.ms": 200}
TICK = {"tickTime": 500}


def offsets_of(messages, topic):
    """{partition: [offsets]} in the order of their delivery."""
    result = {}
    for message in messages:
        if message.topic == topic:
            result.setdefault(message.partition, []).append(message.offset)
    return result


@both_modes
def test_topics_appear_under_a_filter(t):
    """A topic that matches is joined when it is made, one that does not is not; nothing is lost of the
    topics that were there before, and streams are shared by all topics."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("m.a", 2)
    cluster.create_topic("other", 1)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    producer.send_numbered("m.a", 2, 10)
    producer.send_numbered("other", 1, 10)
    ours = t.our_members(cluster, "g")
    ours.open("o", SETTINGS)
    ours.filter("o", "white_list", 2, r"m\..*")
    group.wait_for_exact_owners("m.a", range_layout(2, ["g_o-0", "g_o-1"]))
    ours.wait_for_messages(20, "o")
    registration = group.registration("g_o")
    assert registration["pattern"] == "white_list", registration
    assert registration["subscription"] == {r"m\..*": 2}, registration
    cluster.create_topic("m.b", 3)
    cluster.create_topic("unrelated", 1)
    group.wait_for_exact_owners("m.b", range_layout(3, ["g_o-0", "g_o-1"]))
    producer.send_numbered("m.b", 3, 7)
    producer.send_numbered("m.a", 2, 5)
    ours.wait_for_messages(20 + 21 + 10, "o")
    expected = {"m.a": {p: list(range(15)) for p in range(2)},
                "m.b": {p: list(range(7)) for p in range(3)}}
    for topic, offsets in expected.items():
        seen = offsets_of(ours.messages("o"), topic)
        assert seen == offsets, "%s: %r" % (topic, seen)
    assert not [m for m in ours.messages("o") if m.topic in ("other", "unrelated")]
    group.wait_for_offsets("m.b", {p: 7 for p in range(3)})
    assert ours.close_wait("o")[0] == "ZKC_OK"
    ours.finish()


@both_modes
def test_several_topics_on_several_streams(t):
    """Two topics with different numbers of streams, and a filter over both beside them: threads are
    numbered within each topic, and each stream gets its own partitions only."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("a", 6)
    cluster.create_topic("b", 3)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    ours = t.our_members(cluster, "g")
    ours.open("x", SETTINGS)
    ours.streams("x", a=2, b=1)
    ours.open("y", SETTINGS)
    ours.filter("y", "white_list", 2, "a,b")
    group.wait_for_exact_owners("a", range_layout(6, ["g_x-0", "g_x-1", "g_y-0", "g_y-1"]))
    group.wait_for_exact_owners("b", range_layout(3, ["g_x-0", "g_y-0", "g_y-1"]))
    producer.send_numbered("a", 6, 5)
    producer.send_numbered("b", 3, 5)
    ours.wait_for_messages(45)
    owners = {topic: group.owners(topic) for topic in ("a", "b")}
    for name in ("x", "y"):
        for words in ours.events("msg", name):
            stream, topic, partition = words[0], words[1], int(words[2])
            thread = "g_%s-%s" % (name, stream.rsplit("-", 1)[1])
            assert owners[topic][partition] == thread, "%s of %s: %r" % (words, name, owners)
    ours.finish()


# ---- F32: large watch sets ----

@both_modes_long
def test_many_topics_and_a_link_that_blips(t):
    """A filter over thousands of topics with long names: the watches that are set again after a blip
    of the link come to more than a server takes in one packet (jute.maxbuffer, 1 MB)."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("m-last", 1)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    names = ["m-%04d-%s" % (n, "x" * 230) for n in range(6000)]
    pending = [cluster.zk.create_async("/brokers/topics/" + name, b'{"version":1,"partitions":{}}')
               for name in names]
    for one in pending:
        one.get(60)
    proxy = t.zookeeper_proxy(cluster)
    ours = t.our_members(cluster, "g")
    ours.open("o", {**SETTINGS, "zookeeper.session.timeout.ms": 6000}, zookeeper=proxy.listen("o"))
    ours.filter("o", "white_list", 1, "m-.*")
    group.wait_for_exact_owners("m-last", {0: "g_o-0"}, 120)
    session = group.member_session("g_o")
    proxy.cut("o")
    cluster.create_topic("m-after", 1)
    group.wait_for_exact_owners("m-after", {0: "g_o-0"}, 120)
    producer.send_numbered("m-after", 1, 3)
    ours.wait_for_messages(3, "o")
    print("the session was %s" % ("kept" if group.member_session("g_o") == session else "lost"))
    ours.finish()
