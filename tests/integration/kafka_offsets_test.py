"""offsets.storage=kafka on a real Kafka 0.8.2.2 cluster: beside Kafka's own members, moving a group
from ZooKeeper to Kafka and back, and an offset manager that dies."""
from lib.broker import FAST_FAILOVER
from lib.waiting import wait_for

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "rebalance.backoff.ms": 1000,
            "auto.commit.interval.ms": 200, "offsets.channel.backoff.ms": 200}
KAFKA = {**SETTINGS, "offsets.storage": "kafka", "dual.commit.enabled": "false"}
DUAL = {**SETTINGS, "offsets.storage": "kafka"}
BY_HAND = {"auto.commit.enable": "false"}
TICK = {"tickTime": 500}


def offsets(messages):
    return [message.offset for message in messages]


def single_partition(t):
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 1)
    return cluster, t.group(cluster, "g"), t.producer(cluster)


def read(members, name, settings, count):
    """A member that takes so many messages, and leaves; their offsets."""
    members.open(name, settings)
    members.streams(name, t=1)
    members.wait_for_messages(count, name)
    members.close_wait(name)
    return offsets(members.messages(name))


def test_offsets_in_kafka_are_taken_over_both_ways(t):
    """Ours, theirs, ours: each begins where the one before ended, and ZooKeeper knows of nothing."""
    cluster, group, producer = single_partition(t)
    ours, java = t.our_members(cluster, "g"), t.java_members(cluster, "g")
    producer.send_numbered("t", 1, 10)
    assert read(ours, "o1", KAFKA, 10) == list(range(10))
    producer.send_numbered("t", 1, 10)
    assert read(java, "j", KAFKA, 10) == list(range(10, 20))
    producer.send_numbered("t", 1, 10)
    assert read(ours, "o2", KAFKA, 10) == list(range(20, 30))
    assert group.offsets("t") == {}, group.offsets("t")
    ours.finish()


def test_a_group_moves_to_kafka_and_back(t):
    """The runbook of 0.8.2: dual commit on, then Kafka alone, and the same way back. Nothing is read
    twice, nothing is skipped, whichever software the member is of."""
    cluster, group, producer = single_partition(t)
    ours, java = t.our_members(cluster, "g"), t.java_members(cluster, "g")
    steps = [(ours, SETTINGS, True), (java, DUAL, True), (ours, DUAL, True), (ours, KAFKA, False),
             (java, KAFKA, False), (ours, DUAL, True), (ours, SETTINGS, True)]
    for number, (members, settings, in_zookeeper) in enumerate(steps):
        producer.send_numbered("t", 1, 5)
        first = 5 * number
        seen = read(members, "m%d" % number, settings, 5)
        assert seen == list(range(first, first + 5)), "step %d: %r" % (number, seen)
        if in_zookeeper:
            group.wait_for_offsets("t", {0: first + 5})
    ours.finish()


def test_the_larger_of_both_stores_counts(t):
    """With dual commit ZooKeeper set back has no effect, and set forward has; with Kafka alone it is
    not looked at."""
    cluster, group, producer = single_partition(t)
    ours = t.our_members(cluster, "g")
    producer.send_numbered("t", 1, 10)
    read(ours, "a", DUAL, 10)
    group.set_offset("t", 0, 3)
    producer.send_numbered("t", 1, 5)
    assert read(ours, "b", DUAL, 5) == list(range(10, 15))
    group.wait_for_offsets("t", {0: 15})
    group.set_offset("t", 0, 18)
    producer.send_numbered("t", 1, 5)
    assert read(ours, "c", DUAL, 2) == [18, 19]
    group.set_offset("t", 0, 0)
    producer.send_numbered("t", 1, 1)
    assert read(ours, "d", KAFKA, 1) == [20]
    ours.finish()


def test_offsets_outlive_a_rebalance(t):
    """Committed before the release, fetched by the heir: a join and a leave lose and repeat nothing."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 4)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    ours, java = t.our_members(cluster, "g"), t.java_members(cluster, "g")
    ours.open("a", {**KAFKA, "auto.commit.interval.ms": 60000})
    ours.streams("a", t=1)
    producer.send_numbered("t", 4, 20)
    ours.wait_for_messages(80, "a")
    java.open("b", KAFKA)
    java.streams("b", t=1)
    group.wait_for_owners("t", {0: "g_a", 1: "g_a", 2: "g_b", 3: "g_b"})
    producer.send_numbered("t", 4, 20)
    wait_for(lambda: len(ours.messages()) + len(java.messages()) >= 160, "the messages after the join")
    java.close_wait("b")
    group.wait_for_owners("t", {p: "g_a" for p in range(4)})
    producer.send_numbered("t", 4, 20)
    wait_for(lambda: len(ours.messages()) + len(java.messages()) >= 240, "the messages after the leave")
    taken = [(m.partition, m.offset) for m in ours.messages() + java.messages()]
    assert sorted(taken) == [(p, o) for p in range(4) for o in range(60)], "%d taken" % len(taken)
    ours.finish()


def test_explicit_commits_and_single_partitions(t):
    """A reader of single partitions stores offsets in Kafka and starts from them, in no group."""
    cluster, group, producer = single_partition(t)
    ours = t.our_members(cluster, "g")
    producer.send_numbered("t", 1, 20)
    ours.open("a", {**KAFKA, **BY_HAND})
    ours.take("a", 7)
    ours.assign("a", ("t", 0, "stored"))
    ours.wait_for_messages(7, "a")
    ours.commit("a")
    ours.close_wait("a")
    ours.open("b", {**KAFKA, **BY_HAND})
    ours.take("b", 3)
    ours.assign("b", ("t", 0, "stored"))
    ours.wait_for_messages(3, "b")
    assert offsets(ours.messages("b")) == [7, 8, 9], offsets(ours.messages("b"))
    assert group.members() == [] and group.offsets("t") == {}
    ours.finish()


def test_the_offset_manager_dies(t):
    """The broker that keeps the group's offsets is killed: commits fail and say so, the group's
    offsets move to the other broker (__consumer_offsets has two replicas), commits go on there, and
    the next member starts from them."""
    cluster = t.cluster(brokers=2, zookeeper_properties=TICK,
                        properties={**FAST_FAILOVER, "offsets.topic.replication.factor": 2,
                                    "offsets.topic.num.partitions": 1})
    cluster.require_failover()
    cluster.create_topic("t", 1, 2)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    ours, java = t.our_members(cluster, "g"), t.java_members(cluster, "g")
    producer.send_numbered("t", 1, 10)
    ours.open("a", {**KAFKA, "auto.commit.interval.ms": 1000000})
    ours.streams("a", t=1)
    ours.wait_for_messages(10, "a")
    ours.commit("a")
    manager = cluster.leader("__consumer_offsets", 0)
    cluster.brokers[manager].kill()
    cluster.wait_for_leader("__consumer_offsets", 0, 1 - manager)
    cluster.wait_for_leader("t", 0, 1 - manager)
    t.producer(cluster).send_numbered("t", 1, 5)
    ours.wait_for_messages(15, "a")

    def commit():
        before = len(ours.events("committed", "a"))
        ours.command("commit", "a")
        wait_for(lambda: len(ours.events("committed", "a")) > before, "an answer to the commit", 30,
                 0.01)
        return ours.events("committed", "a")[-1] == ["ZKC_OK"]

    wait_for(commit, "a commit at the other broker", 60)
    ours.close_wait("a")
    t.producer(cluster).send_numbered("t", 1, 3)
    seen = read(java, "j", KAFKA, 3)
    assert seen == [15, 16, 17], seen
    ours.finish()
