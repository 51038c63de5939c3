"""The ledger itself: what it must not let pass."""
from lib.ledger import Ledger
from lib.members import Message
from lib.testing import quick

OWNER, OFFSET = "/consumers/g/owners/t/0", "/consumers/g/offsets/t/0"


class Story:
    """One partition, as a proxy would have recorded it."""

    def __init__(self):
        self.events, self.taken, self.begun = [], {}, {}
        self.now = self.zxid = 0

    def op(self, who, op, path, data=None, err="", got=None):
        self.now += 1
        self.zxid += op != "getData"
        common = {"t": self.now, "who": who, "link": who, "xid": self.now, "op": op, "path": path}
        self.events.append({**common, "k": "request", "fields": {"data": data}})
        self.events.append({**common, "k": "answer", "err": err, "zxid": self.zxid,
                            "fields": {} if got is None else {"data": got}})
        return self

    def claim(self, who, start):
        return self.read(who, start).create(who)

    def read(self, who, start):
        return self.op(who, "getData", OFFSET, got=str(start))

    def create(self, who):
        return self.op(who, "create", OWNER, data=who)

    def claim_first(self, who, start):
        """As a member in safe mode."""
        self.create(who).read(who, start)
        self.now += 1
        self.begun.setdefault(who, []).append((self.now, 0, start))
        return self

    def release(self, who):
        return self.op(who, "delete", OWNER)

    def expire(self, who):
        return self.op(who, "expire", OWNER)

    def commit(self, who, offset):
        return self.op(who, "setData", OFFSET, data=str(offset))

    def deliver(self, who, first, last):
        self.now += 1
        for offset in range(first, last + 1):
            message = Message("t", 0, offset, None, "v%d" % offset)
            self.taken.setdefault(who, []).append((self.now, message))
        return self

    def timed_messages(self, name):
        return self.taken.get(name, [])

    def report(self, log=10, java=(), killed=(), shut_down=(), outlived=()):
        ledger = Ledger(self, "g", "t")
        for name in {**self.taken, **self.begun}:
            begins = (lambda begun=self.begun[name]: begun) if name in self.begun else None
            ledger.member(name, _Java(self) if name in java else self, name, begins)
        ledger.killed(*killed)
        ledger.outlived_session(*outlived)
        ledger.shut_down(*shut_down)
        return ledger.check_log({(0, offset): "v%d" % offset for offset in range(log)})


class _Java:
    is_java = True

    def __init__(self, story):
        self.timed_messages = story.timed_messages


def refused(story, wanted, **how):
    try:
        report = story.report(**how)
    except AssertionError as error:
        assert wanted in str(error), "%r is not in: %s" % (wanted, error)
    else:
        raise AssertionError("%s was let pass: %s" % (wanted, report))


@quick
def test_what_is_in_order(t):
    report = (Story().claim("a", 0).deliver("a", 0, 4).commit("a", 5).claim("b", 5)
              .deliver("b", 5, 9)).report()
    assert (report.delivered, report.tenures, +report.duplicates) == (10, 2, {}), report


@quick
def test_what_is_wrong(t):
    refused(Story().claim("a", 0).deliver("a", 0, 8), "lost: 1")
    refused(Story().claim("a", 0).deliver("a", 0, 10), "not in the log")
    refused(Story().claim("a", 0).deliver("a", 0, 4).deliver("a", 4, 9), "in tenure 0")
    refused(Story().claim("a", 0).deliver("a", 0, 4).deliver("a", 6, 9).deliver("a", 5, 5),
            "in tenure 0")
    refused(Story().deliver("a", 0, 3).claim("a", 0).deliver("a", 4, 9), "before it claimed")
    wrong = Story().claim("a", 0).deliver("a", 0, 9)
    wrong.taken["a"][3] = (1, Message("t", 0, 3, None, "other"))
    refused(wrong, "the log has")


@quick
def test_duplicates_need_a_reason(t):
    def twice(offset_read_early, delivered=5, committed=5):
        story = Story().claim("a", 0).deliver("a", 0, delivered - 1).commit("a", 2)
        if offset_read_early:
            story.read("b", 2).commit("a", committed).create("b")
        else:
            story.claim("b", 2)
        return story.deliver("b", 2, 9)

    refused(twice(False), "nothing explains the rest")
    assert twice(True).report().duplicates == {"stale": 3}
    refused(twice(True, committed=4), "nothing explains the rest")  # one too many for ours
    report = twice(True, committed=4).report(java=["a"])
    assert report.duplicates == {"stale": 2, "pulled": 1}, report
    refused(twice(True, committed=3), "nothing explains the rest", java=["a"])
    report = twice(True, committed=3).report(java=["a"], shut_down=["a"])
    assert report.duplicates == {"stale": 1, "chunk": 2}, report
    assert twice(False).report(killed=["a"]).duplicates == {"crash": 3}
    refused(Story().claim("a", 0).deliver("a", 0, 4).commit("a", 4).claim("b", 2).deliver("b", 2, 9),
            "committed was", killed=["a"])
    story = Story().claim("a", 0).deliver("a", 0, 4).commit("a", 2).commit("a", 4)
    story.events.pop()  # it was killed before the answer came
    assert story.claim("b", 4).deliver("b", 4, 9).report(killed=["a"]).duplicates == {"crash": 1}


@quick
def test_who_is_behind(t):
    """Each message that came twice has somebody behind it, by kind and name."""
    def behind(story, **how):
        return dict(story.report(**how).behind)

    def begun(java=False):
        return (Story().claim if java else Story().claim_first)("a", 0).deliver("a", 0, 4).commit("a", 2)

    expired = begun().expire("a").claim_first("b", 2).deliver("b", 2, 9)
    assert behind(expired) == {("expired", "safe", "a"): 3}
    assert behind(expired, killed=["a"]) == {("crash", "safe", "a"): 3}
    expired = begun().expire("a").claim_first("b", 2).release("b").claim_first("c", 2).deliver("c", 2, 9)
    assert behind(expired) == {("expired", "safe", "a"): 3}  # not twice, for b
    handed_over = begun().commit("a", 5).release("a").claim_first("b", 5).deliver("b", 5, 9)
    assert behind(handed_over) == {}
    stale = Story().claim_first("a", 0).deliver("a", 0, 4).commit("a", 2).read("b", 2).commit("a", 5)
    assert behind(stale.release("a").create("b").deliver("b", 2, 9)) == {("stale", "compat", "b"): 3}
    crashed = begun(java=True).claim_first("b", 2).deliver("b", 2, 9)
    assert behind(crashed, java=["a"], killed=["a"]) == {("crash", "java", "a"): 3}
    late = begun(java=True).expire("a").claim_first("b", 2).deliver("b", 2, 6).commit("b", 7).release("b")
    late.commit("a", 3).claim_first("c", 3).deliver("c", 3, 9)
    assert behind(late, java=["a"]) == {("expired", "java", "a"): 3, ("late", "java", "a"): 4}
    deleted = Story().claim("b", 0).expire("b").claim_first("a", 0).deliver("a", 0, 4).commit("a", 2)
    deleted.release("b").claim("b", 2).deliver("b", 2, 9)
    assert behind(deleted, java=["b"]) == {("deleted", "java", "b"): 3}


@quick
def test_a_member_that_is_not_fenced_is_named(t):
    story = Story().claim("a", 0).deliver("a", 0, 4).commit("a", 2).expire("a")
    story.claim_first("b", 2).deliver("b", 2, 6).deliver("a", 5, 6).deliver("b", 7, 9)
    for how in ({}, {"outlived": ["a"], "killed": ["a"]}):
        report = story.report(java=["a"], **how)
        assert report.behind == {("unfenced", "java", "a"): 2, ("expired", "java", "a"): 3}, report


@quick
def test_what_no_member_in_safe_mode_does(t):
    def begun():
        return Story().claim_first("a", 0).deliver("a", 0, 4).commit("a", 2)

    released = begun().release("a").claim_first("b", 2).deliver("b", 2, 9)
    refused(released, "nothing explains the rest")          # and has not committed
    refused(released, "nothing explains the rest", killed=["a"])
    refused(begun().claim_first("b", 2).deliver("b", 2, 9), "nothing explains the rest")
    by_another = begun().release("b").claim_first("b", 2).deliver("b", 2, 9)
    refused(by_another, "deleted by b")
    deleted = begun().release("b").claim("b", 2).deliver("b", 2, 9)
    refused(deleted, "deleted by b", java=["b"])  # whose session has not ended: it knows better
    late = begun().expire("a").claim_first("b", 2).deliver("b", 2, 6).commit("b", 7).release("b")
    refused(late.commit("a", 3).claim_first("c", 3).deliver("c", 3, 9), "nothing explains the rest")
    refused(begun().claim_first("b", 1).deliver("b", 1, 9), "began at 1; committed was 2")
    early = Story().claim("a", 0).deliver("a", 0, 4).commit("a", 5).release("a").deliver("b", 5, 5)
    refused(early.claim_first("b", 6).deliver("b", 6, 9), "before it claimed")
    twice = begun().commit("a", 5).claim_first("a", 5).deliver("a", 4, 9)
    refused(twice, "in tenure")
