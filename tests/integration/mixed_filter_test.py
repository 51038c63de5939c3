"""Filters of our members and of Kafka 0.8.2.2's in one group: each evaluates the other's expression."""
from lib.group import range_layout
from lib.waiting import wait_for

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


def test_a_topic_goes_and_comes_back_under_a_filter(t):
    goes_and_comes_back(t, SETTINGS)


def test_a_topic_goes_and_comes_back_under_a_filter_in_safe_mode(t):
    goes_and_comes_back(t, {**SETTINGS, "zookeeper.mode": "safe"})


def goes_and_comes_back(t, settings):
    """A deleted topic is given up; made again it is joined again. Its stored offsets are of the log
    before and lie behind its end: the position is reset (12.3, point 7), and they follow it."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("m.a", 1)
    cluster.create_topic("m.b", 1)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    ours = t.our_members(cluster, "g")
    ours.open("o", settings)
    ours.filter("o", "white_list", 1, "m.*")
    group.wait_for_exact_owners("m.b", {0: "g_o-0"})
    producer.send_numbered("m.b", 1, 9)
    ours.wait_for_messages(9, "o")
    group.wait_for_offsets("m.b", {0: 9})
    cluster.delete_topic("m.b")
    group.wait_for_exact_owners("m.b", {})
    group.wait_for_exact_owners("m.a", {0: "g_o-0"})
    cluster.create_topic("m.b", 2)
    group.wait_for_exact_owners("m.b", {0: "g_o-0", 1: "g_o-0"})
    fresh = t.producer(cluster)
    fresh.send_numbered("m.b", 2, 4)
    wait_for(lambda: offsets_of(ours.messages("o")[9:], "m.b") == {0: [0, 1, 2, 3], 1: [0, 1, 2, 3]},
             "the messages of the new log")
    group.wait_for_offsets("m.b", {0: 4, 1: 4})
    assert ours.close_wait("o")[0] == "ZKC_OK"
    again = t.our_members(cluster, "g", "again")  # which begins at what is stored
    again.open("o", settings)
    again.filter("o", "white_list", 1, "m.*")
    group.wait_for_exact_owners("m.b", {0: "g_o-0", 1: "g_o-0"})
    fresh.send_numbered("m.b", 2, 2)
    wait_for(lambda: offsets_of(again.messages("o"), "m.b") == {0: [4, 5], 1: [4, 5]},
             "what was written since")
    ours.finish()
    again.finish()


def test_filters_beside_kafkas_members(t):
    """A white list of ours, a black list of theirs, a fixed subscription of ours; a topic that both
    filters allow appears, and one for theirs only."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("m-a", 4)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    ours, java = t.our_members(cluster, "g"), t.java_members(cluster, "g")
    ours.open("o", SETTINGS)
    ours.filter("o", "white_list", 1, r"m-(?!bad\b)[\w]+")
    java.open("j", SETTINGS)
    java.filter("j", "black_list", 2, "other|__.*")
    ours.open("s", SETTINGS)
    ours.streams("s", **{"m-a": 1})
    everybody = ["g_j-0", "g_j-1", "g_o-0", "g_s-0"]
    group.wait_for_exact_owners("m-a", range_layout(4, everybody))
    cluster.create_topic("m-b", 3)
    cluster.create_topic("m-bad", 2)
    cluster.create_topic("other", 1)
    group.wait_for_exact_owners("m-b", range_layout(3, ["g_j-0", "g_j-1", "g_o-0"]))
    group.wait_for_exact_owners("m-bad", range_layout(2, ["g_j-0", "g_j-1"]))
    group.wait_for_exact_owners("m-a", range_layout(4, everybody))
    for topic, partitions in (("m-a", 4), ("m-b", 3), ("m-bad", 2), ("other", 1)):
        producer.send_numbered(topic, partitions, 6)

    def taken():
        return {(m.topic, m.partition, m.offset) for m in ours.messages() + java.messages()}

    wait_for(lambda: len(taken()) == 54, "all messages but those of other")
    assert group.owners("other") == {}, group.owners("other")
    java.close_wait("j")
    group.wait_for_exact_owners("m-b", range_layout(3, ["g_o-0"]))
    ours.finish()
