"""What an application does to a consumer in its process: closes it in callbacks, hangs, keeps messages,
calls too late, forks, runs out of descriptors."""
import os
import re
import subprocess

from lib.group import range_layout
from lib.members import Account, program
from lib.testing import both_modes, both_modes_long
from lib.waiting import wait_for

SETTINGS = {"zookeeper.session.timeout.ms": 3000, "rebalance.backoff.ms": 400,
            "auto.commit.interval.ms": 200}
TICK = {"tickTime": 500}


def expect(what, seen, wanted):
    assert seen == wanted, "%s: %r, expected %r" % (what, seen, wanted)


class World:
    def __init__(self, t, partitions=2, each=0):
        self.cluster = t.cluster(zookeeper_properties=TICK)
        self.cluster.create_topic("t", partitions)
        self.group = t.group(self.cluster, "g")
        self.producer = t.producer(self.cluster)
        self.produced = self.producer.send_numbered("t", partitions, each) if each else set()
        self.proxy = t.zookeeper_proxy(self.cluster)
        self.members = t.our_members(self.cluster, "g")
        self.partitions = partitions

    def join(self, name, properties=None, before=()):
        """`before`: commands between open and streams."""
        self.members.open(name, {**SETTINGS, **(properties or {})}, zookeeper=self.proxy.listen(name))
        for words in before:
            self.members.command(words[0], name, *words[1:])
        self.members.streams(name, t=1)

    def settled(self, *names):
        threads = ["g_%s-0" % name for name in names]
        self.group.wait_for_exact_owners("t", range_layout(self.partitions, threads))


# ---- F10: closing inside a callback ----

@both_modes
def test_close_in_callbacks(t):
    world = World(t, partitions=4, each=5)
    members = world.members
    world.join("witness")
    world.settled("witness")
    members.wait_for_messages(20)

    def closes(kind, cause, wanted="ZKC_OK"):
        name = "in-%s" % kind
        world.join(name, before=[("closein", kind)])
        cause(name)
        expect("close in %s" % kind, members.wait_for_event("closing", name, 30), [wanted])
        members.wait_for_event("end", name, 30)  # its stream; the consumer is closed soon after
        members.command("free", name)
        members.wait_for_event("freed", name, 30)
        world.settled("witness")

    def when_settled(act):
        def cause(name):
            world.settled("witness", name)
            act(name)
        return cause

    def another_joins(_name):
        world.join("a-third")
        wait_for(lambda: "g_a-third" in world.group.members(), "the third to join")
        members.close_wait("a-third")
        members.command("free", "a-third")

    def session_ends(name):
        world.proxy.hole(name)
        world.settled("witness")
        world.proxy.heal(name)

    closes("assign", lambda name: None)
    closes("message", when_settled(lambda name: world.producer.send_numbered("t", 4, 2)))
    closes("revoke", when_settled(another_joins))
    closes("lost", when_settled(session_ends))
    closes("error", when_settled(session_ends))
    members.finish()


@both_modes_long
def test_free_while_closing(t):
    """The last commit is under way when the consumer is freed: nothing of it is called any more."""
    world = World(t, partitions=1, each=5)
    members = world.members
    world.join("a", {"auto.commit.interval.ms": 60000}, before=[("take", 5)])
    members.wait_for_messages(5)
    reached = world.proxy.hold("a", *t.by_mode(compat=(None, "/consumers/g/offsets/t/0"), safe=("multi",)))
    members.command("closein", "a", "message")
    members.take("a", 1)
    produced = world.producer.send_numbered("t", 1, 1)
    expect("close", members.wait_for_event("closing", "a"), ["ZKC_OK"])
    assert reached.wait(30), "no commit at close within 30 s"
    members.command("free", "a")
    members.wait_for_event("freed", "a")
    world.proxy.go("a")
    Account(world.produced | produced, members.messages()).check()
    members.finish()


# ---- F35: callbacks that hang ----

@both_modes
def test_close_while_a_callback_hangs(t):
    """Close returns by its deadline and says that time was up; when the callback has returned,
    everything is given back without waiting for the session's end."""
    world = World(t)
    members = world.members
    world.join("a", {"zookeeper.session.timeout.ms": 10000}, before=[("hang", 5000)])
    world.settled("a")
    members.wait_for_event("streams", "a")
    code, took_ms = members.close_wait("a", timeout_ms=1000)
    expect("close", code, "ZKC_ERR_TIMED_OUT")
    assert took_ms < 4000, "close with a deadline of 1000 ms took %d" % took_ms
    assert not members.events("hung", "a"), "the callback had returned already"
    members.wait_for_event("hung", "a")
    wait_for(lambda: world.proxy.requests("a", op="closeSession"), "a to give everything back itself")
    wait_for(lambda: not world.group.members(), "the registration to be gone")
    expect("owners", world.group.owners("t"), {})
    members.finish()


@both_modes
def test_close_while_a_rebalance_hangs(t):
    world = World(t)
    members = world.members
    world.join("b", before=[("hang", 5000)])
    world.settled("b")
    members.wait_for_event("streams", "b")
    other = t.our_members(world.cluster, "g", "other")  # hangs nobody
    other.open("a", {**SETTINGS, "rebalance.max.retries": 20})
    other.streams("a", t=1)
    members.wait_for_event("rebalance", "b")
    wait_for(lambda: members.rebalances("b", "revoke"), "the revoke callback")
    code, took_ms = members.close_wait("b", timeout_ms=1000)
    expect("close", code, "ZKC_ERR_TIMED_OUT")
    assert took_ms < 4000, "close with a deadline of 1000 ms took %d" % took_ms
    world.settled("a")
    members.finish()
    other.finish()


# ---- F36: messages that outlive their consumer ----

@both_modes_long
def test_messages_outlive_the_consumer(t):
    world = World(t, partitions=1, each=20)
    members = world.members
    world.join("a", before=[("keep", 10)])
    Account(world.produced, members.wait_for_messages(20)).check()
    expect("close", members.close_wait("a")[0], "ZKC_OK")
    members.command("free", "a")
    members.wait_for_event("freed", "a")
    members.finish()
    kept = [(int(offset), value) for _, _, offset, value in members.events("kept", "a")]
    expect("kept messages", kept, [(o, "m-0-%d" % o) for o in range(10)])


# ---- F37: late calls ----

@both_modes_long
def test_late_calls(t):
    world = World(t)
    members = world.members
    world.join("a")
    world.settled("a")
    world.join("b")
    world.settled("a", "b")
    for words in (("position", "a", "t", 1), ("pause", "a", "t", 1), ("resume", "a", "t", 1),
                  ("seek", "a", "t", 1, 0), ("position", "a", "nosuch", 0)):
        answer = members.ask(*words)
        assert "ZKC_ERR_NOT_OWNED" in answer, "%r of another's partition: %r" % (words, answer)
    members.command("commit", "a", "t", 1, 5)
    expect("commit of another's partition", members.wait_for_event("committed", "a"),
           ["ZKC_ERR_NOT_OWNED"])
    assert 5 not in world.group.offsets("t").values(), world.group.offsets("t")
    expect("close", members.close_wait("a")[0], "ZKC_OK")
    wanted = {call: "ZKC_ERR_CLOSED" for call in (
        "subscribe", "subscribe_filter", "assign", "wait", "commit", "commit_wait", "position",
        "log_end", "seek", "offsets_before", "offset_at", "pause", "resume", "owned", "close",
        "close_wait")}
    wanted.update(next="ZKC_ERR_END", stream_next="ZKC_ERR_END")
    for _ in range(2):
        expect("calls after close", dict(word.split("=") for word in members.ask("late", "a")), wanted)
    members.finish()


# ---- F38: fork ----

@both_modes
def test_fork(t):
    """The child's calls are refused and touch nothing; a program that it becomes inherits no socket;
    the parent's session and streams go on."""
    world = World(t, each=5)
    members = world.members
    world.join("a")
    members.wait_for_messages(10)
    session, opened = world.group.member_session("g_a"), world.proxy.mark("fork")
    members.command("fork", "a")
    seen = dict(word.split("=") for word in members.wait_for_event("child", "a"))
    expect("calls in the child", {call: code for call, code in seen.items()
                                  if code != "ZKC_ERR_WRONG_PROCESS"}, {})
    assert len(seen) == 18, seen
    expect("sockets behind exec", members.wait_for_event("sockets", "a"), ["0"])
    produced = world.produced | world.producer.send_numbered("t", 2, 5)
    Account(produced, members.wait_for_messages(20)).check()
    world.group.wait_for_offsets("t", {0: 10, 1: 10})
    expect("the parent's session", world.group.member_session("g_a"), session)
    links = [e for e in world.proxy.events[opened:] if e["k"] in ("open", "close")]
    expect("connections opened or closed", links, [])
    members.finish()


# ---- F61: no descriptors ----

@both_modes_long
def test_few_descriptors(t):
    """With every limit it ends with an error and a text, or works: it neither hangs nor crashes."""
    world = World(t, each=5)
    outcomes = {}
    for limit in [*range(4, 18), 24]:
        done = subprocess.run(
            ["prlimit", "--nofile=%d" % limit, "--", program("zkconsumer"), "consume", "--topic=t",
             "--group=g-%d" % limit, "--from-beginning", "--exit-at-end", "--zookeeper",
             world.cluster.zookeeper_connect, "-X", "zookeeper.connection.timeout.ms=1000",
             "-X", "zookeeper.mode=%s" % t.mode, "--timeout-ms=%d" % (1000 if limit < 24 else 5000)],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})  # which needs descriptors itself
        lines, text = len(done.stdout.splitlines()), done.stderr.decode()
        outcomes[limit] = done.returncode, lines
        assert done.returncode in (0, 1, 3, 4), "with %d descriptors: status %d, %s" % (
            limit, done.returncode, text[-2000:])
        assert lines == 10 or re.search("descriptors|open files", text), (
            "with %d descriptors: %d lines, status %d, and no word of why:\n%s" % (
                limit, lines, done.returncode, text))
    assert outcomes[4] == (1, 0) and outcomes[24] == (0, 10), outcomes
