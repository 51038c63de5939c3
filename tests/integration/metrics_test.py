"""The numbers of Kafka 0.8.2.2's consumer by their names: the beans of a Java member in JMX beside what
our member's statistics have, on the same topic; and what no bean has."""
import json
import re

from lib.group import Group
from lib.waiting import wait_for
from lib.world import expect

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "auto.commit.interval.ms": 300,
            "statistics.interval.ms": 200}
TICK = {"tickTime": 500}

# Not a consumer's, though Kafka's consumer registers them: it has a producer's classes in its path.
NOT_OURS = re.compile("^kafka.producer:")


def statistics(members, name):
    return json.loads(" ".join(members.ask("stats", name)))


def beans(java, name):
    """{bean: {attribute: text}} of the JVM."""
    java.process.send("mbeans %s" % name)
    java.wait_for_event("mbeans", name)
    return {words[0]: dict(word.split("=", 1) for word in words[1:] if "=" in word)
            for words in java.events("mbean", name)}


def test_beans_of_kafka(t):
    """Three partitions with twenty messages each, two streams: our member in compat has each bean of the
    Java member's, under the same name, with about the same numbers."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 3)
    t.producer(cluster).send_numbered("t", 3, 20)
    java = t.java_members(cluster, "java")
    ours = t.our_members(cluster, "ours")
    for runner in (java, ours):
        runner.join("m", "t", 2, properties={**SETTINGS, "client.id": "c"} if runner is ours
                    else {"client.id": "c", "auto.commit.interval.ms": 300})
        runner.wait_for_messages(60)
        Group(cluster.zk, runner.group).wait_for_offsets("t", {0: 20, 1: 20, 2: 20})

    def has_ticked():  # the one-minute rate begins with the first five seconds
        return statistics(ours, "m")["jmx"]["kafka.consumer:type=ConsumerFetcherManager,name=MinFetchRate,"
                                            "clientId=c"]["Value"] > 0
    wait_for(has_ticked, "the rate of fetches", alive=[ours.process])
    theirs = {re.sub("groupId=java", "groupId=ours", bean): numbers
              for bean, numbers in beans(java, "m").items() if not NOT_OURS.match(bean)}
    mine = statistics(ours, "m")["jmx"]
    expect(sorted(mine), sorted(theirs))
    for bean, numbers in mine.items():
        assert numbers.keys() <= theirs[bean].keys(), (bean, numbers, theirs[bean])

    connector = "kafka.consumer:type=ZookeeperConsumerConnector,name=%s,clientId=c%s"
    topics = "kafka.consumer:type=ConsumerTopicMetrics,name=%s,clientId=c%s"
    exact = [(connector % ("OwnedPartitionsCount", ",groupId=ours"), "Value", 3),
             (connector % ("OwnedPartitionsCount", ",groupId=ours,topic=t"), "Value", 3),
             (connector % ("FetchQueueSize", ",topic=t,threadId=0"), "Value", 0),
             (connector % ("FetchQueueSize", ",topic=t,threadId=1"), "Value", 0),
             (connector % ("RebalanceRateAndTime", ""), "Count", 1),
             (connector % ("KafkaCommitsPerSec", ""), "Count", 0),
             ("kafka.consumer:type=ConsumerFetcherManager,name=MaxLag,clientId=c", "Value", 0),
             (topics % ("MessagesPerSec", ""), "Count", 60),
             (topics % ("MessagesPerSec", ",topic=t"), "Count", 60)]
    exact += [("kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=c,topic=t,partition=%d" % n,
               "Value", 0) for n in range(3)]
    for bean, attribute, want in exact:
        expect((bean, mine[bean][attribute], int(theirs[bean][attribute])), (bean, want, want))
    for tags in ("", ",topic=t"):  # what is fetched again or cut short may differ
        bean = topics % ("BytesPerSec", tags)
        got, want = mine[bean]["Count"], int(theirs[bean]["Count"])
        assert want <= got <= 2 * want, (bean, got, want)
    broker = "clientId=c,brokerHost=127.0.0.1,brokerPort=%d" % cluster.brokers[0].port
    requests = "kafka.consumer:type=FetchRequestAndResponseMetrics,name=%s,%s"
    for tags in ("clientId=c", broker):
        for attribute in ("Mean", "Max"):  # a fetch waits 100 ms for something to come
            bean = requests % ("FetchRequestRateAndTimeMs", tags)
            got, want = mine[bean][attribute], float(theirs[bean][attribute])
            assert 50 <= got < 5000 and 50 <= want < 5000, (bean, attribute, got, want)
        bean = requests % ("FetchResponseSize", tags)
        for attribute in ("Mean", "Min", "Max"):
            got, want = mine[bean][attribute], float(theirs[bean][attribute])
            assert want / 3 <= got <= want * 3, (bean, attribute, got, want)
    for name in ("RequestsPerSec", "BytesPerSec"):
        bean = "kafka.server:type=FetcherStats,name=%s,%s" % (name, broker)
        for attribute in ("Count", "MeanRate", "OneMinuteRate"):
            got, want = mine[bean][attribute], float(theirs[bean][attribute])
            assert want / 5 <= got <= want * 5 and got > 0, (bean, attribute, got, want)
    bean = connector % ("ZooKeeperCommitsPerSec", "")  # a partition may be committed halfway, too
    assert 3 <= mine[bean]["Count"] <= 12 and 3 <= int(theirs[bean]["Count"]) <= 12, (mine[bean], theirs[bean])
    bean = connector % ("RebalanceRateAndTime", "")
    assert 0 < mine[bean]["Mean"] == mine[bean]["Max"] < 5000, mine[bean]
    ours.finish()


def test_numbers_of_a_member(t):
    """What a consumer says of itself agrees with what it did: one member that keeps its offsets in both
    stores, then a second one that makes it rebalance."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 4)
    t.producer(cluster).send_numbered("t", 4, 10)
    ours = t.our_members(cluster, "g")
    both = {**SETTINGS, "offsets.storage": "kafka", "dual.commit.enabled": "true",
            "rebalance.backoff.ms": 500}
    ours.join("a", "t", properties=both)
    ours.wait_for_messages(40)
    group = Group(cluster.zk, "g")
    group.wait_for_offsets("t", {n: 10 for n in range(4)})

    def settled():
        said = statistics(ours, "a")
        assert [p["committed"] for p in said["partitions"]] == [10] * 4, said["partitions"]
        return said
    said = wait_for(settled, "the commits")
    expect([p["leader"] for p in said["partitions"]], [0] * 4)
    expect([p["committed_zookeeper"] for p in said["partitions"]], [10] * 4)
    expect(said["member"]["max_lag"], 0)
    expect(said["commits"], {
        "zookeeper": {"ok": said["member"]["zookeeper_commits"], "foreign": 0, "failed": 0},
        "kafka": {"ok": said["member"]["kafka_commits"], "foreign": 0, "failed": 0}})
    assert 4 <= said["member"]["zookeeper_commits"] <= 12, said["member"]  # when they change
    assert said["member"]["kafka_commits"] >= 4, said["member"]  # each time, as in 0.8.2
    expect(said["claims"], {"ok": 4, "conflict": 0, "failed": 0})
    expect(said["group"], {"members": 1, "topics": [{"topic": "t", "partitions": 4}]})
    expect(said["rebalancing"]["ended"]["start"], {"done": 1, "gave_up": 0, "failed": 0})

    ours.take("a", 0)
    t.producer(cluster).send_numbered("t", 4, 5)

    def lags():
        said = statistics(ours, "a")["member"]
        assert said["max_lag"] == 5, said
        return True
    wait_for(lags, "a lag")
    ours.take("a", -1)
    ours.wait_for_messages(60)
    ours.join("b", "t", properties=both)

    def shared():
        said = statistics(ours, "a")
        assert said["member"]["owned_partitions"] == 2 and said["group"]["members"] == 2, said["member"]
        return said
    said = wait_for(shared, "two members")
    rebalancing, member = said["rebalancing"], said["member"]
    expect(sum(n["done"] for n in rebalancing["ended"].values()), member["rebalances"])
    duration = rebalancing["duration"]
    expect(duration["count"], member["rebalances"])
    expect(duration["sum_us"] // 1000, member["rebalances_ms"])
    expect(sum(duration["buckets"]), duration["count"])
    expect(sum(p["sum_us"] for p in rebalancing["phases"].values()), duration["sum_us"])
    assert rebalancing["phases"]["release"]["count"] >= 1, rebalancing
    assert rebalancing["attempts"] >= member["rebalances"] >= 2, rebalancing
    expect(sum(sum(r["answers"].values()) for r in said["requests"]) <= said["zookeeper"]["operations"], True)
    for request in said["requests"]:
        expect((request["op"], sum(request["answers"].values())), (request["op"], request["time"]["count"]))
    assert said["watch_events"]["children"] >= 1, said["watch_events"]
    expect([u["now"] for u in said["unowned"]], [False] * len(said["unowned"]))
    assert max(u["ms"] for u in said["unowned"]) <= member["rebalances_ms"] + 1, said["unowned"]
    ours.finish()
