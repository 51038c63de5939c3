"""offsets.storage=kafka on a real Kafka 0.8.2.2 cluster: beside Kafka's own members, moving a group
from ZooKeeper to Kafka and back, an offset manager that dies; and the same in safe mode, where a lease
stands for the condition that Kafka's commits do not have."""
import json

from lib.broker import FAST_FAILOVER
from lib.waiting import wait_for

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "rebalance.backoff.ms": 1000,
            "auto.commit.interval.ms": 200, "offsets.channel.backoff.ms": 200}
KAFKA = {**SETTINGS, "offsets.storage": "kafka", "dual.commit.enabled": "false"}
DUAL = {**SETTINGS, "offsets.storage": "kafka"}
BY_HAND = {"auto.commit.enable": "false"}
SAFE = {"zookeeper.mode": "safe"}
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
    moves_to_kafka_and_back(t, {})


def test_a_safe_group_moves_to_kafka_and_back(t):
    moves_to_kafka_and_back(t, SAFE)


def moves_to_kafka_and_back(t, mode):
    cluster, group, producer = single_partition(t)
    ours, java = t.our_members(cluster, "g"), t.java_members(cluster, "g")
    zookeeper, both, kafka = {**SETTINGS, **mode}, {**DUAL, **mode}, {**KAFKA, **mode}
    steps = [(ours, zookeeper, True), (java, DUAL, True), (ours, both, True), (ours, kafka, False),
             (java, KAFKA, False), (ours, both, True), (ours, zookeeper, True)]
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


def outlives_a_rebalance(t, settings, other_is_java):
    """Committed before the release, fetched by the heir: a join and a leave lose and repeat nothing, but for
    what a Java heir repeats that has read the offset before it was committed, and claims after the release
    (docs/compat.md)."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 4)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    ours = t.our_members(cluster, "g")
    other = t.java_members(cluster, "g") if other_is_java else t.our_members(cluster, "g", "others")

    def of(members, partition):
        return [m.offset for m in members.messages() if m.partition == partition]

    def all_taken(end):
        return all(set(of(ours, p) + of(other, p)) >= set(range(end)) for p in range(4))

    # ours commits at its releases only
    ours.open("a", {**KAFKA, **settings, "auto.commit.interval.ms": 60000})
    ours.streams("a", t=1)
    producer.send_numbered("t", 4, 20)
    ours.wait_for_messages(80, "a")
    other.open("b", KAFKA if other_is_java else {**KAFKA, **settings})
    other.streams("b", t=1)
    group.wait_for_owners("t", {0: "g_a", 1: "g_a", 2: "g_b", 3: "g_b"})
    producer.send_numbered("t", 4, 20)
    wait_for(lambda: all_taken(40), "the messages after the join")
    other.close_wait("b")
    group.wait_for_owners("t", {p: "g_a" for p in range(4)})
    producer.send_numbered("t", 4, 20)
    wait_for(lambda: all_taken(60), "the messages after the leave")
    for partition in range(4):
        mine, its = of(ours, partition), of(other, partition)
        if partition < 2:
            assert (mine, its) == (list(range(60)), []), (partition, mine, its)
        else:
            assert mine == [*range(20), *range(40, 60)], (partition, mine)
            repeated = max(0, len(its) - 20) if other_is_java else 0
            assert its == list(range(20 - repeated, 40)), (partition, its)
    assert group.offsets("t") == {}, group.offsets("t")
    ours.close_wait("a")
    producer.send_numbered("t", 4, 1)
    last = t.our_members(cluster, "g", "last")
    last.open("c", {**KAFKA, **settings})
    last.streams("c", t=1)
    last.wait_for_messages(4, "c")
    assert set(offsets(last.messages("c"))) == {60}, last.messages("c")  # a's commit at its close
    for members in (ours, last) + (() if other_is_java else (other,)):
        members.finish()


def test_offsets_outlive_a_rebalance(t):
    outlives_a_rebalance(t, {}, True)


def test_safe_members_hand_over(t):
    outlives_a_rebalance(t, SAFE, False)


def test_safe_beside_java(t):
    outlives_a_rebalance(t, SAFE, True)


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
    offset_manager_dies(t, {})


def test_the_offset_manager_of_a_safe_group_dies(t):
    offset_manager_dies(t, SAFE)


def offset_manager_dies(t, mode):
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
    ours.open("a", {**KAFKA, **mode, "auto.commit.interval.ms": 1000000})
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


def test_a_safe_member_is_killed(t):
    """kill -9, and again under its name: who goes on begins at what Kafka has; nothing is lost."""
    cluster = t.cluster(zookeeper_properties=TICK)
    cluster.create_topic("t", 2)
    group, producer = t.group(cluster, "g"), t.producer(cluster)
    a, b = t.our_members(cluster, "g", "ours-a"), t.our_members(cluster, "g", "ours-b")
    for name, members in (("a", a), ("b", b)):
        members.open(name, {**KAFKA, **SAFE})
        members.streams(name, t=1)
    group.wait_for_owners("t", {0: "g_a", 1: "g_b"})
    producer.send_numbered("t", 2, 50)
    wait_for(lambda: len(a.messages("a")) + len(b.messages("b")) >= 100, "the messages")
    b.kill()
    group.wait_for_owners("t", {0: "g_a", 1: "g_a"})
    producer.send_numbered("t", 2, 50)
    again = t.our_members(cluster, "g", "again")
    again.open("b", {**KAFKA, **SAFE})
    again.streams("b", t=1)
    group.wait_for_owners("t", {0: "g_a", 1: "g_b"})
    producer.send_numbered("t", 2, 50)
    everything = [(p, o) for p in range(2) for o in range(150)]

    def taken():
        return [(m.partition, m.offset)
                for m in a.messages("a") + b.messages("b") + again.messages("b")]

    wait_for(lambda: set(taken()) == set(everything), "all messages")
    twice = [at for at in taken() if taken().count(at) > 1]
    # only what b had been given since its last commit, and only once more
    assert all(p == 1 and o < 50 for p, o in twice) and len(taken()) - 300 <= 50, sorted(twice)
    a.close_wait("a")
    again.close_wait("b")
    count = len(producer.send_numbered("t", 2, 3))
    seen = read(t.java_members(cluster, "g"), "j", KAFKA, count)
    assert sorted(seen) == [150, 150, 151, 151, 152, 152], seen
    a.finish()
    again.finish()


def test_no_commit_to_kafka_after_the_lease(t):
    """A member whose link to ZooKeeper is silent can reach Kafka all the time. When its lease is over
    it commits nothing any more: not late, not in its next session."""
    cluster, group, producer = single_partition(t)
    proxy = t.zookeeper_proxy(cluster)
    a, b = t.our_members(cluster, "g", "ours-a"), t.our_members(cluster, "g", "ours-b")
    producer.send_numbered("t", 1, 10)
    a.open("a", {**KAFKA, **BY_HAND, **SAFE}, zookeeper=proxy.listen("a"))
    a.streams("a", t=1)
    a.wait_for_messages(10, "a")
    a.commit("a")
    producer.send_numbered("t", 1, 5)
    a.wait_for_messages(15, "a")
    b.open("b", {**KAFKA, **SAFE})
    proxy.hole("a")
    b.streams("b", t=1)
    group.wait_for_exact_owners("t", {0: "g_b-0"})  # a's session is over
    b.wait_for_messages(5, "b")
    assert offsets(b.messages("b")) == list(range(10, 15)), b.messages("b")
    producer.send_numbered("t", 1, 15)
    b.wait_for_messages(20, "b")
    b.close_wait("b")
    a.command("commit", "a")    # 15, were it carried out
    proxy.heal("a")
    code = wait_for(lambda: a.events("committed", "a")[1:], "an answer to the commit")[0]
    assert code == ["ZKC_ERR_NOT_OWNED"], code
    a.wait_for_messages(15, "a")
    producer.send_numbered("t", 1, 3)
    a.wait_for_messages(18, "a")  # in its next session it begins where b ended
    assert offsets(a.messages("a"))[15:] == [30, 31, 32], a.messages("a")
    a.close_wait("a")
    seen = read(t.java_members(cluster, "g"), "j", KAFKA, 3)
    assert seen == [30, 31, 32], seen  # a has committed nothing more: by hand
    a.finish()
    b.finish()


def test_a_safe_hand_over_does_not_wait_for_an_offset_manager(t):
    """The only broker stops for good: what is owned is given back in the time for handing over, and
    what could not be committed is said."""
    cluster, group, producer = single_partition(t)
    ours = t.our_members(cluster, "g")
    producer.send_numbered("t", 1, 10)
    ours.open("a", {**KAFKA, **SAFE, "auto.commit.interval.ms": 1000000,
                    "zookeeper.hand.over.ms": 1500})
    ours.streams("a", t=1)
    ours.wait_for_messages(10, "a")
    cluster.brokers[0].kill()
    code, took_ms = ours.close_wait("a", timeout_ms=30000)
    assert code == "ZKC_OK" and 1400 <= took_ms < 15000, (code, took_ms)
    ours.wait_for_report("a", "Kafka has not confirmed the offset 10 ")
    assert group.owners("t") == {}, group.owners("t")
    ours.finish()


def test_an_offset_manager_that_does_not_answer(t):
    """The question is put again, and offsets.commit.max.retries is how often the commit at close is. The
    only broker is the one that was asked for the manager: its channel is kept, with the 3 s of that
    question and not offsets.channel.socket.timeout.ms, as in 0.8.2 (ClientUtils.channelToOffsetManager)."""
    cluster, proxy = t.cluster_behind_proxy(zookeeper_properties=TICK)
    cluster.create_topic("t", 1)
    t.producer(cluster).send_numbered("t", 1, 5)
    members = t.our_members(cluster, "g")
    keys = {**KAFKA, "auto.offset.reset": "smallest", "offsets.channel.socket.timeout.ms": 300,
            "offsets.channel.backoff.ms": 50, "auto.commit.interval.ms": 3600000,
            "zookeeper.mode": "compat"}
    for name, retries in (("two", 2), ("none", 0)):
        members.open(name, {**keys, "offsets.commit.max.retries": retries}, group="g-" + name)
        proxy.hold("b0", op="OffsetFetch")
        before = proxy.count("OffsetFetch")
        members.streams(name, t=1)
        wait_for(lambda: proxy.count("OffsetFetch") >= before + 2, "a second question of " + name, 9)
        proxy.go("b0")
        members.wait_for_messages(5, name)
        late = [text for _, _, text in members.log_lines(name) if "no answer to OffsetFetch" in text]
        assert late and all("within 3000 ms" in text for text in late), late
        proxy.hold("b0", op="OffsetCommit")
        before = proxy.count("OffsetCommit")
        members.close_wait(name)
        assert proxy.count("OffsetCommit") - before == 1 + retries, (name, proxy.count("OffsetCommit") - before)
        proxy.go("b0")
    members.finish()


def test_the_keys_of_the_channel_act(t):
    """A manager that is not the broker that was asked for it, and that takes requests and is silent: after
    offsets.channel.socket.timeout.ms its channel is closed, after offsets.channel.backoff.ms more it is
    looked for again and asked again, for as long as that takes."""
    cluster, proxy = t.cluster_behind_proxy(zookeeper_properties=TICK)
    cluster.create_topic("t", 1)
    t.producer(cluster).send_numbered("t", 1, 5)
    broker = json.loads(cluster.zk.get("/brokers/ids/0")[0])
    # The manager's address is compared with that of the broker that was asked, as text: it is another.
    assert broker["host"] == "127.0.0.1", broker
    cluster.zk.set("/brokers/ids/0", json.dumps({**broker, "host": "localhost"}).encode())
    members = t.our_members(cluster, "g")
    for mode in ("compat", "safe"):
        for timeout_ms, backoff_ms in ((700, 50), (700, 1400)):
            name = "%s-%d" % (mode, backoff_ms)
            members.open(name, {**KAFKA, "zookeeper.mode": mode, "auto.offset.reset": "smallest",
                                "offsets.channel.socket.timeout.ms": timeout_ms,
                                "offsets.channel.backoff.ms": backoff_ms}, group="g-" + name)
            before = len(proxy.seen)
            proxy.hold("b0", op="OffsetFetch")
            members.streams(name, t=1)
            wait_for(lambda: len(offset_requests(proxy, "OffsetFetch", before)) >= 3,
                     "a third question of " + name, 60)
            seen = offset_requests(proxy, "", before)
            proxy.go("b0")
            members.wait_for_messages(5, name)
            ops = [request.op for request in seen]
            fetches = [at for at, op in enumerate(ops) if op == "OffsetFetch"]
            # its channel was closed: it is looked for before it is asked again
            assert all("FindCoordinator" in ops[a:b] for a, b in zip([0, *fetches], fetches)), ops
            late = [text for _, _, text in members.log_lines(name) if "no answer to OffsetFetch" in text]
            assert late and all("within %d ms" % timeout_ms in text for text in late), late
            gaps_ms = [1000 * (seen[b].t - seen[a].t) for a, b in zip(fetches, fetches[1:])]
            # both times are counted where they begin, which here is seen a little later
            assert min(gaps_ms) > 0.75 * (timeout_ms + backoff_ms), gaps_ms
            members.close_wait(name)
    members.finish()


def offset_requests(proxy, op, begin=0):
    """Those for offsets and their manager, or of one kind, from this one on."""
    return [request for request in proxy.seen[begin:]
            if request.op in ("FindCoordinator", "OffsetFetch") and op in ("", request.op)]
