"""The ledger itself: what it must not let pass."""
from lib.ledger import Ledger
from lib.members import Message
from lib.testing import quick

OWNER, OFFSET = "/consumers/g/owners/t/0", "/consumers/g/offsets/t/0"


class Story:
    """One partition, as a proxy would have recorded it."""

    def __init__(self):
        self.events, self.taken = [], {}
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

    def report(self, log=10, java=(), killed=(), shut_down=()):
        ledger = Ledger(self, "g", "t")
        for name in self.taken:
            ledger.member(name, _Java(self) if name in java else self, name)
        ledger.killed(*killed)
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
