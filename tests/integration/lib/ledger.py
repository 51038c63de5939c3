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
    expired  its session ended while it lived: the same, delivered before the heir's claim
    unfenced it delivered on after that, though another one had the partition
    late     somebody whose session had ended has written a lower offset over its commit
    deleted  somebody whose session had ended has deleted its owner node

`Report.behind` says who was behind them: the heir of what is stale, the somebody, or the one
before. A member in safe mode (`member(..., begins=...)`) reads after its claim, begins at what is
committed then, and has committed what it delivered when it releases. So it may be behind "crash" and
"expired" alone; anything else is an error. That it does not hand out after its session its trace tells
(zkstudy check, SF2).
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
Tenure = collections.namedtuple("Tenure", "label start read_zxid claim_zxid claim_time end")
Tenure.__doc__ = """`claim_time`: nothing was delivered of it before. `end`: the label of who deleted the owner node;
EXPIRED: it went with its session, which nobody had closed; None: it stands, or went somehow else."""
EXPIRED = object()


class Report:
    def __init__(self):
        self.delivered = 0
        self.duplicates = collections.Counter()  # reason -> messages
        self.behind = collections.Counter()  # (reason, java, compat or safe, label) -> messages
        self.per_member = {}
        self.tenures = 0

    def add(self, kind, label, why, count):
        if count:
            self.duplicates[why] += count
            self.behind[why, kind, label] += count

    def __str__(self):
        twice = ", ".join("%d %s (%s: %s)" % (count, why, kind, label)
                          for (why, kind, label), count in sorted(self.behind.items()))
        return "%d delivered in %d tenures, twice: %s; %s" % (
            self.delivered, self.tenures, twice or "none", self.per_member)


class Ledger:
    def __init__(self, proxy, group, topic):
        self._proxy, self._group, self._topic = proxy, group, topic
        self._members = {}  # label -> (runner, name there)
        self._known = {}  # label -> (how many of its messages were looked at, [Delivery], {(partition, offset)})
        self._java, self._killed, self._shut_down = set(), set(), set()
        self._outlived, self._lost = set(), set()  # whose session ended: as is told, as is seen
        self._begins = {}  # label of a member in safe mode -> what it says of where it began

    def member(self, label, runner, name=None, begins=None):
        """Who is at the proxy by this label: a member of JavaMembers or OurMembers (by name), or a
        ZkConsumer. `begins`: it is in safe mode, and this gives [(monotonic seconds, partition, offset)]
        of each time it began to hand out, as far as that was written."""
        self._members[label] = (runner, name)
        self._known[label] = (0, [], set())
        if begins:
            self._begins[label] = begins
        elif getattr(runner, "is_java", False):
            self._java.add(label)

    def kind(self, label):
        return "safe" if label in self._begins else "java" if label in self._java else "compat"

    def killed(self, *labels):
        self._killed.update(labels)

    def shut_down(self, *labels):
        """Java members that were closed."""
        self._shut_down.update(labels)

    def outlived_session(self, *labels):
        """Members whose session ended before they were killed."""
        self._outlived.update(labels)

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
        claims, deletes = collections.defaultdict(list), collections.defaultdict(list)
        owners = "/consumers/%s/owners/%s/" % (self._group, self._topic)
        offsets = "/consumers/%s/offsets/%s/" % (self._group, self._topic)
        reads = collections.defaultdict(list)  # (label, partition) -> [(time, start, zxid)]
        for at, label, op, path, sent, answer, zxid in self._answered():
            if path and path.startswith(offsets):
                partition = int(path[len(offsets):])
                if op == "getData":
                    reads[label, partition].append((at, 0 if answer == "NoNode" else int(answer), zxid))
                elif op in ("setData", "create") and answer is None:
                    commits[partition].append((zxid, label, int(sent)))
            elif path and path.startswith(owners) and answer is None:
                partition = int(path[len(owners):])
                if op in ("delete", "expire"):
                    deletes[partition].append((zxid, label if op == "delete" else EXPIRED))
                elif op == "create":
                    claims[label, partition].append((at, zxid))
        for (label, partition), of_member in claims.items():
            make = self._safe_tenures if label in self._begins else self._tenures
            tenures[partition] += make(label, partition, of_member, reads[label, partition])
        for partition, of_partition in tenures.items():
            of_partition.sort(key=lambda one: (one.claim_zxid, one.claim_time))
            tenures[partition] = _with_ends(of_partition, deletes[partition])
            self._lost.update(one.label for one in tenures[partition] if one.end is EXPIRED)
        for of_partition in commits.values():
            of_partition.sort(key=lambda one: one[0])
        return tenures, commits

    def _tenures(self, label, _partition, claims, reads):
        """As 0.8.2 does: it has read where to start when it claims."""
        for at, zxid in claims:
            _, start, read_zxid = [read for read in reads if read[0] <= at][-1]
            yield Tenure(label, start, read_zxid, zxid, at, None)

    def _safe_tenures(self, label, partition, claims, reads):
        """Where it began, by its own words; a claim of which it has no word (it was killed before that
        was written): where it read after the claim. One claim may have several: its node was looked at
        again."""
        begins = [(at, max(0, offset)) for at, of, offset in self._begins[label]() if of == partition]
        for number, (claimed, zxid) in enumerate(claims):
            until = claims[number + 1][0] if number + 1 < len(claims) else float("inf")
            first = [read for read in reads if claimed <= read[0] < until][:1]
            own = [one for one in begins if claimed <= one[0] < until]
            for at, start in own or [(claimed, read[1]) for read in first]:
                yield Tenure(label, start, first[0][2] if first else zxid, zxid, at, None)

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
        again = report.delivered - len(delivered)
        assert again == sum(report.duplicates.values()), "delivered again: %d; explained: %s" % (again, report)
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
            by_tenure[message.partition, mine[place][0]].append((at, message.offset))

    def _check_partition(self, partition, tenures, by_tenure, commits, report):
        before = None  # (tenure, where it had come to, when it delivered what)
        for number, tenure in enumerate(tenures):
            deliveries = by_tenure[partition, number]
            offsets = [offset for _, offset in deliveries]
            expected = list(range(tenure.start, tenure.start + len(offsets)))
            assert offsets == expected, (
                "%s in tenure %d of %s-%d was given %r, expected %r" % (
                    tenure.label, number, self._topic, partition, _runs(offsets), _runs(expected)))
            if tenure.label in self._begins:
                self._check_start(partition, before, tenure, commits)
            if offsets and before and before[1] > tenure.start:
                self._explain(partition, before, tenure, commits, report)
            if offsets or not before or tenure.start > before[1]:
                before = (tenure, tenure.start + len(offsets), deliveries)

    def _check_start(self, partition, before, tenure, commits):
        """In safe mode: at what is committed, or where the member itself had come to."""
        committed = ([0] + [offset for zxid, _, offset in commits if zxid <= tenure.read_zxid])[-1]
        own = [before[1]] if before and before[0].label == tenure.label else []
        assert tenure.start in [committed, *own], (
            "%s-%d: %s, in safe mode, began at %d; committed was %d" % (
                self._topic, partition, tenure.label, tenure.start, committed))

    def _explain(self, partition, before, heir, commits, report):
        """Who is behind what the tenure before and the heir both delivered."""
        tenure, reached, deliveries = before
        kind, twice = self.kind(tenure.label), reached - heir.start
        late = [offset for zxid, label, offset in commits
                if heir.read_zxid < zxid < heir.claim_zxid and label == tenure.label]
        stale = max(0, min(reached, max(late, default=0)) - heir.start)
        rest = twice - stale
        report.add(self.kind(heir.label), heir.label, "stale", stale)
        rest -= self._explain_late(tenure, reached, heir, commits, rest, report)
        has_died = tenure.label in self._killed - self._outlived
        if rest and (tenure.end is EXPIRED or tenure.end is None and tenure.label in self._killed):
            self._check_heir(partition, tenure, heir, commits)
            late = 0 if kind == "safe" else sum(
                at > heir.claim_time and offset >= heir.start for at, offset in deliveries)
            report.add(kind, tenure.label, "unfenced", min(late, rest))
            report.add(kind, tenure.label, "crash" if has_died else "expired", rest - min(late, rest))
        elif rest and tenure.end != tenure.label and self._is_unfenced(tenure.end):
            report.add(self.kind(tenure.end), tenure.end, "deleted", rest)
        elif rest == 1 and tenure.label in self._java:
            report.add(kind, tenure.label, "pulled", rest)
        elif tenure.label in self._shut_down and rest <= CHUNK_MAX:
            report.add(kind, tenure.label, "chunk", rest)
        elif rest:
            raise AssertionError(
                "%s-%d: %d messages delivered by %s (%s, to %d; its owner node was %s) and again by %s (%s, from "
                "%d), %d of them because the offset was read too early; nothing explains the rest; commits (zxid, "
                "by, offset): %r, read at zxid %d" % (
                    self._topic, partition, twice, tenure.label, kind, reached,
                    "deleted by %s" % tenure.end if tenure.end else "not deleted", heir.label,
                    self.kind(heir.label), heir.start, stale, commits[-6:], heir.read_zxid))

    def _explain_late(self, tenure, reached, heir, commits, rest, report):
        """What was committed of them, before somebody who was not fenced wrote less; how many."""
        known = [(label, offset) for zxid, label, offset in commits if zxid <= heir.read_zxid]
        own = max((offset for label, offset in known if label == tenure.label), default=0)
        if not known or known[-1][0] == tenure.label or not self._is_unfenced(known[-1][0]):
            return 0
        count = min(rest, max(0, min(reached, own) - heir.start))
        report.add(self.kind(known[-1][0]), known[-1][0], "late", count)
        return count

    def _is_unfenced(self, label):
        return label in self._lost and self.kind(label) != "safe"

    def _check_heir(self, partition, tenure, heir, commits):
        """It begins at the last commit, of whoever lost its session, too."""
        last = [offset for zxid, _, offset in commits if zxid <= heir.read_zxid]
        may_be = {last[-1] if last else 0} | self._unanswered_commits(tenure.label, partition)
        assert heir.start in may_be, (
            "%s-%d: %s began at %d, committed was %r" % (self._topic, partition, heir.label, heir.start,
                                                        last[-1:]))

    def _lives(self, tenures, by_tenure, partitions):
        lines = []
        for partition in sorted(partitions)[:4]:
            for number, tenure in enumerate(tenures.get(partition, [])):
                lines.append("%s-%d: %s from %d, delivered %s" % (
                    self._topic, partition, tenure.label, tenure.start,
                    _runs([offset for _, offset in by_tenure[partition, number]])))
        return "\n".join(lines)


def _with_ends(tenures, deletes):
    """`deletes`: (zxid, label or EXPIRED) of the partition's owner node. In the order of zxids."""
    for number, tenure in enumerate(tenures):
        later = [one.claim_zxid for one in tenures[number + 1:] if one.claim_zxid > tenure.claim_zxid]
        until = later[0] if later else float("inf")
        ends = [end for end in deletes if tenure.claim_zxid < end[0] < until]
        tenures[number] = tenure._replace(end=min(ends, key=lambda end: end[0])[1] if ends else None)
    return tenures


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

