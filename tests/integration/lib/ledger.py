"""What a group delivered, checked against what its log holds and what its members told ZooKeeper.

    traffic = Traffic(cluster, "t")       # messages to every partition, all the time
    ledger = Ledger(proxy, "g", "t")
    ledger.member("c1", java, "c1")       # label at the proxy, who ran it, its name there
    ...
    traffic.stop()
    report = ledger.check(cluster)        # Report: lost and invented are empty, duplicates explained

The proxy saw when each member read an offset, claimed a partition and committed. So the life of a
partition falls into *tenures*: a member claims it, having read where to start. Within a tenure
each message is delivered once, in order, from there. Between two tenures messages may be delivered
twice, and each time the reason must be seen in the record:

    stale    the heir read the offset before the last commit of the one before was written
             (zookeeper-consumer 3.3: step 6 is before step 8)
    pulled   Java members: one message, taken from the queue before the fetchers were stopped, handed
             over after the commit (3.6)
    chunk    Java members that were shut down: they end the chunk they are at (3.8)
    crash    the member was killed: what it delivered after its last commit
"""
import bisect
import collections
import threading
import time

from kafka import KafkaProducer

from .producer import kcat_read

CHUNK_MAX = 200  # messages of one partition that the steady producer may put into one fetch


class Traffic:
    """A thread that writes to every partition of a topic in turn, at about `rate` messages a second
    for each partition. Values are unique."""

    def __init__(self, cluster, topic, rate=20):
        self._topic, self._pause_s = topic, 1.0 / rate
        self._producer = KafkaProducer(
            bootstrap_servers=cluster.bootstrap.split(","), acks="all", retries=100,
            retry_backoff_ms=50, max_in_flight_requests_per_connection=1, metadata_max_age_ms=500,
            api_version=cluster.kafka.python_api_version, max_block_ms=60000)
        self._stop = threading.Event()
        self._futures = []
        self._error = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            number = 0
            while not self._stop.wait(self._pause_s):
                for partition in sorted(self._producer.partitions_for(self._topic)):
                    value = b"%d-%d" % (partition, number)
                    self._futures.append(
                        (value, self._producer.send(self._topic, value=value, partition=partition)))
                number += 1
        except Exception as error:  # told by stop()
            self._error = error

    def stop(self):
        """{(partition, offset): value} of what was acknowledged."""
        self._stop.set()
        self._thread.join(90)
        assert not self._thread.is_alive(), "the producer did not stop within 90 s"
        self._producer.flush(60)
        if self._error:
            raise self._error
        written = {}
        for value, future in self._futures:
            done = future.get(60)
            written[done.partition, done.offset] = value.decode()
        return written

    def close(self):
        self._stop.set()
        self._producer.close(5)


Delivery = collections.namedtuple("Delivery", "time message")
Tenure = collections.namedtuple("Tenure", "label start read_zxid claim_zxid claim_time")


class Report:
    def __init__(self):
        self.delivered = 0
        self.duplicates = collections.Counter()  # reason -> messages
        self.per_member = {}
        self.tenures = 0

    def __str__(self):
        twice = ", ".join("%d %s" % (count, why) for why, count in sorted(self.duplicates.items()))
        return "%d delivered in %d tenures, twice: %s; %s" % (
            self.delivered, self.tenures, twice or "none", self.per_member)


class Ledger:
    def __init__(self, proxy, group, topic):
        self._proxy, self._group, self._topic = proxy, group, topic
        self._members = {}  # label -> (runner, name there)
        self._known = {}  # label -> (how many of its messages were looked at, [Delivery], {(partition, offset)})
        self._java, self._killed, self._shut_down = set(), set(), set()

    def member(self, label, runner, name=None):
        """Who is at the proxy by this label: a member of JavaMembers or OurMembers (by name), or a
        ZkConsumer."""
        self._members[label] = (runner, name)
        self._known[label] = (0, [], set())
        if getattr(runner, "is_java", False):
            self._java.add(label)

    def killed(self, *labels):
        self._killed.update(labels)

    def shut_down(self, *labels):
        """Java members that were closed."""
        self._shut_down.update(labels)

    # ---- what was delivered ----

    def deliveries(self, label):
        return self._look(label)[0]

    def delivered(self):
        """{(partition, offset)} by anybody."""
        return set().union(*(self._look(label)[1] for label in self._members))

    def _look(self, label):
        """Each message is looked at once, as who waits asks often."""
        runner, name = self._members[label]
        seen, deliveries, keys = self._known[label]
        messages = runner.timed_messages(name)
        for at, message in messages[seen:]:
            if message.topic == self._topic:
                deliveries.append(Delivery(at, message))
                keys.add((message.partition, message.offset))
        self._known[label] = len(messages), deliveries, keys
        return deliveries, keys

    # ---- what was said to ZooKeeper ----

    def _answered(self):
        """(time, label, op, path, data sent, data or error answered, zxid), in order."""
        requests = {}
        for event in list(self._proxy.events):
            if event["k"] == "request":
                requests[event["link"], event["xid"]] = event
            elif event["k"] == "answer" and (event["link"], event["xid"]) in requests:
                request = requests.pop((event["link"], event["xid"]))
                answer = event["err"] or event["fields"].get("data")
                yield (event["t"], event["who"], event["op"], event["path"],
                       request["fields"].get("data"), answer, event["zxid"])

    def _unanswered_commits(self, label, partition):
        """Offsets of commits that may have been written: whoever was killed did not wait for the answer."""
        path = "/consumers/%s/offsets/%s/%d" % (self._group, self._topic, partition)
        sent = {}
        for event in list(self._proxy.events):
            if event["who"] != label or event["k"] not in ("request", "answer"):
                continue
            key = event["link"], event["xid"]
            if event["k"] == "answer":
                sent.pop(key, None)
            elif event["path"] == path and event["op"] in ("setData", "create"):
                sent[key] = int(event["fields"]["data"])
        return set(sent.values())

    def _history(self):
        """({partition: [Tenure]}, {partition: [(zxid, label, offset)]})"""
        tenures, commits = collections.defaultdict(list), collections.defaultdict(list)
        owners = "/consumers/%s/owners/%s/" % (self._group, self._topic)
        offsets = "/consumers/%s/offsets/%s/" % (self._group, self._topic)
        read = {}
        for at, label, op, path, sent, answer, zxid in self._answered():
            if path and path.startswith(offsets):
                partition = int(path[len(offsets):])
                if op == "getData":
                    start = 0 if answer == "NoNode" else int(answer)
                    read[label, partition] = (start, zxid)
                elif op in ("setData", "create") and answer is None:
                    commits[partition].append((zxid, label, int(sent)))
            elif path and path.startswith(owners) and op == "create" and answer is None:
                partition = int(path[len(owners):])
                start, read_zxid = read[label, partition]
                tenures[partition].append(Tenure(label, start, read_zxid, zxid, at))
        for of_partition in (*tenures.values(), *commits.values()):
            of_partition.sort(key=lambda one: one.claim_zxid if isinstance(one, Tenure) else one[0])
        return tenures, commits

    # ---- the account ----

    def check(self, cluster, written=None):
        """Against what is in the cluster now. `written`: what the producer was told, which must be
        there."""
        log = {(partition, offset): value
               for partition, offset, value in kcat_read(cluster, self._topic)}
        return self.check_log(log, written)

    def check_log(self, log, written=None):
        """Nothing lost, nothing invented, what was delivered twice is explained."""
        for key, value in (written or {}).items():
            assert log.get(key) == value, "%r was written at %r, the log has %r" % (
                value, key, log.get(key))
        report = Report()
        delivered = set()
        by_tenure = collections.defaultdict(list)
        tenures, commits = self._history()
        for label in self._members:
            of_member = self.deliveries(label)
            report.per_member[label] = len(of_member)
            report.delivered += len(of_member)
            for delivery in of_member:
                message = delivery.message
                key = message.partition, message.offset
                assert key in log, "%s was given %r, which is not in the log" % (label, message)
                assert message.value == log[key], "%s: %r, the log has %r" % (label, message, log[key])
                delivered.add(key)
            self._sort_into(by_tenure, label, of_member, tenures)
        lost = sorted(set(log) - delivered)
        assert not lost, "lost: %d of %d, such as %r\n%s" % (
            len(lost), len(log), lost[:5], self._lives(tenures, by_tenure, {key[0] for key in lost}))
        for partition, of_partition in tenures.items():
            report.tenures += len(of_partition)
            self._check_partition(partition, of_partition, by_tenure, commits[partition], report)
        return report

    def _sort_into(self, by_tenure, label, deliveries, tenures):
        """Which tenure each delivery belongs to: the member's last one that began before it; one
        earlier when its offset lies before the start (the line came late)."""
        own = {partition: [(number, tenure) for number, tenure in enumerate(of_partition)
                           if tenure.label == label]
               for partition, of_partition in tenures.items()}
        for at, message in deliveries:
            mine = own.get(message.partition, [])
            place = bisect.bisect_right([tenure.claim_time for _, tenure in mine], at) - 1
            while place > 0 and message.offset < mine[place][1].start:
                place -= 1
            assert place >= 0, "%s was given %r before it claimed the partition" % (label, message)
            by_tenure[message.partition, mine[place][0]].append(message.offset)

    def _check_partition(self, partition, tenures, by_tenure, commits, report):
        before = None  # (tenure, where it had come to)
        for number, tenure in enumerate(tenures):
            offsets = by_tenure[partition, number]
            expected = list(range(tenure.start, tenure.start + len(offsets)))
            assert offsets == expected, (
                "%s in tenure %d of %s-%d was given %r, expected %r" % (
                    tenure.label, number, self._topic, partition, _runs(offsets), _runs(expected)))
            if before and before[1] > tenure.start:
                self._explain(partition, before, tenure, commits, report)
            if offsets or not before or tenure.start > before[1]:
                before = (tenure, tenure.start + len(offsets))

    def _explain(self, partition, before, heir, commits, report):
        tenure, reached = before
        twice = reached - heir.start
        if tenure.label in self._killed:
            last = [offset for zxid, _, offset in commits if zxid <= heir.read_zxid]
            may_be = {last[-1] if last else 0} | self._unanswered_commits(tenure.label, partition)
            assert heir.start in may_be, (
                "%s-%d: %s began at %d, committed was %r" % (self._topic, partition, heir.label,
                                                            heir.start, last[-1:]))
            report.duplicates["crash"] += twice
            return
        late = [offset for zxid, label, offset in commits
                if heir.read_zxid < zxid < heir.claim_zxid and label == tenure.label]
        stale = max(0, min(reached, max(late, default=0)) - heir.start)
        rest = twice - stale
        report.duplicates["stale"] += stale
        if rest == 0:
            return
        if rest == 1 and tenure.label in self._java:
            report.duplicates["pulled"] += rest
        elif tenure.label in self._shut_down and rest <= CHUNK_MAX:
            report.duplicates["chunk"] += rest
        else:
            raise AssertionError(
                "%s-%d: %d messages delivered by %s (to %d) and again by %s (from %d), %d of them "
                "because the offset was read too early; nothing explains the rest; commits (zxid, by, "
                "offset): %r, read at zxid %d" % (self._topic, partition, twice, tenure.label, reached, heir.label,
                                     heir.start, stale, commits[-6:], heir.read_zxid))

    def _lives(self, tenures, by_tenure, partitions):
        lines = []
        for partition in sorted(partitions)[:4]:
            for number, tenure in enumerate(tenures.get(partition, [])):
                lines.append("%s-%d: %s from %d, delivered %s" % (
                    self._topic, partition, tenure.label, tenure.start,
                    _runs(by_tenure[partition, number])))
        return "\n".join(lines)


def _runs(offsets):
    """[0, 1, 2, 5] as "0-2 5"."""
    runs = []
    for offset in offsets:
        if runs and offset == runs[-1][1] + 1:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset])
    return " ".join("%d-%d" % (first, last) if last > first else "%d" % first
                    for first, last in runs) or "nothing"

