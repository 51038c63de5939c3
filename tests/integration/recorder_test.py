"""zkstudy record between real clients and a real ZooKeeper: what passes is written, unchanged."""
import socket
import struct

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from lib.recorder import Recorder
from lib.testing import quick
from lib.waiting import wait_for


def recorder(t, *labels, release="3.8"):
    server = t.zookeeper(release)
    made = Recorder(t.folder, server.address, labels)
    t.defer(made.process.kill)
    return made


def client(t, address, **options):
    made = KazooClient(address, timeout=10, **options)
    made.start(30)
    t.defer(made.stop)
    return made


def kinds(lines, kind, *names):
    return [tuple(line.get(name) for name in names) for line in lines if line["k"] == kind]


def written(rec, kind, *names):
    """Of the requests or answers about /r."""
    return [row[1:] for row in kinds(rec.lines(), kind, "path", *names) if (row[0] or "").startswith("/r")]


@quick
def test_operations_answers_watches_and_sessions(t):
    rec = recorder(t, "a", "b")
    a, b = client(t, rec.listen("a")), client(t, rec.listen("b"))
    seen = []
    a.create("/r", b"one")
    a.get("/r", watch=lambda event: seen.append(event.path))
    b.set("/r", "zw\u00f6lf".encode())
    wait_for(lambda: seen, "the watch to fire", 20)
    a.create("/r/e", b"\xff\x00", ephemeral=True)
    try:
        b.get("/r/none")
    except NoNodeError:
        pass
    assert b.get_children("/r") == ["e"]
    parts = a.transaction()
    parts.check("/r", 1)
    parts.create("/r/t", b"")
    assert parts.commit()[1] == "/r/t"
    parts = a.transaction()
    parts.delete("/r/gone")
    parts.create("/r/never", b"")
    parts.commit()
    a.sync("/r")
    session = "%x" % a.client_id[0]
    a.stop()
    rec.mark("all done")
    rec.stop()
    lines = rec.lines()
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[0]["k"] == "capture" and lines[-1]["k"] == "end" and lines[-1]["drops"] == 0
    assert written(rec, "req", "who", "op", "data", "flags", "watch", "version") == [
        ("a", "create", "one", "", None, None), ("a", "getData", None, None, True, None),
        ("b", "setData", "zw\u00f6lf", None, None, -1), ("a", "create", {"hex": "ff00"}, "E", None, None),
        ("b", "getData", None, None, False, None), ("b", "getChildren", None, None, False, None),
        ("a", "sync", None, None, None, None)]
    answers = written(rec, "rsp", "who", "op", "err", "data", "created", "children")
    assert ("b", "getData", "NoNode", None, None, None) in answers, answers
    assert ("a", "getData", None, "one", None, None) in answers, answers
    assert ("a", "create", None, None, "/r/e", None) in answers, answers
    assert ("b", "getChildren", None, None, None, ["e"]) in answers, answers
    stats = kinds(lines, "rsp", "op", "path", "stat")
    got = [stat for op, path, stat in stats if op == "setData" and path == "/r"][0]
    assert got["version"] == 1 and got["ephemeralOwner"] == 0
    assert kinds(lines, "event", "who", "type", "path") == [("a", "NodeDataChanged", "/r")]
    multis = [line for line in lines if line["k"] == "req" and line["op"] == "multi"]
    assert [part["op"] for part in multis[0]["ops"]] == ["check", "create"], multis
    results = [line["results"] for line in lines if line["k"] == "rsp" and line["op"] == "multi"]
    assert [part.get("err") for part in results[0]] == [None, None], results
    assert [part.get("err") for part in results[1]] == ["NoNode", "RuntimeInconsistency"], results
    assert ("a", session) in kinds(lines, "connok", "who", "s")
    assert ("a", "closeSession") in kinds(lines, "rsp", "who", "op")
    assert [row for row in kinds(lines, "close", "who", "s") if row == ("a", session)]
    assert kinds(lines, "mark", "text") == [("all done",)]


@quick
def test_faults_on_command(t):
    rec = recorder(t, "a")
    a = client(t, rec.listen("a"))
    rec.hold("a", "create", "/r")
    pending = a.create_async("/r", b"")
    rec.wait_until_held("a")
    assert not pending.ready()
    rec.go("a")
    assert pending.get(20) == "/r"
    rec.command("cut", "a")
    assert a.retry(a.get_children, "/r") == []
    rec.command("refuse", "a")
    with socket.create_connection(rec.listen("a").split(":"), 10) as refused:
        refused.settimeout(20)
        assert refused.recv(1) == b""
    rec.command("heal", "a")
    assert a.retry(a.get_children, "/r") == []
    rec.stop()
    reasons = [why for why, in kinds(rec.lines(), "close", "why")]
    assert "cut" in reasons and "refused" in reasons and reasons[-1] == "recorder", reasons
    assert len({s for s, in kinds(rec.lines(), "connok", "s")}) == 1  # the session lived on


@quick
def test_hostile_bytes_are_written_and_end_only_their_connection(t):
    rec = recorder(t, "")
    for sent in (b"srvr", struct.pack(">i", -5) + b"abc", struct.pack(">i", 1 << 30)):
        with socket.create_connection(rec.listen("").split(":"), 10) as link:
            link.settimeout(20)
            link.sendall(sent)
            assert link.recv(1) == b""
    with socket.create_connection(rec.listen("").split(":"), 10) as link:
        link.sendall(struct.pack(">i", 3) + b"abc")  # a frame, and no request
        wait_for(lambda: kinds(rec.lines(), "conn", "raw"), "the frame", 20)
    a = client(t, rec.listen(""))
    a.create("/r")
    rec.stop()
    assert ("616263",) in kinds(rec.lines(), "conn", "raw")
    assert [why for why, in kinds(rec.lines(), "close", "why")].count("client sent no frame") == 3


def frame(data):
    return struct.pack(">i", len(data)) + data


def read_frame(link):
    def exactly(count):
        data = b""
        while len(data) < count:
            more = link.recv(min(count - len(data), 1 << 16))
            assert more, "the connection ended"
            data += more
        return data
    return exactly(struct.unpack(">i", exactly(4))[0])


def test_a_client_that_does_not_read_costs_no_memory(t):
    """60 MB of answers wait in ZooKeeper, not in the recorder, until the client takes them."""
    size, asked = 500000, 120
    rec = recorder(t, "slow", "a")
    a = client(t, rec.listen("a"))
    a.create("/r", b"x" * size)
    with socket.create_connection(rec.listen("slow").split(":"), 10) as link:
        link.settimeout(60)
        link.sendall(frame(struct.pack(">iqiq", 0, 0, 30000, 0) + struct.pack(">i", 16) + bytes(16)))
        read_frame(link)
        for xid in range(1, asked + 1):
            link.sendall(frame(struct.pack(">iii", xid, 4, 2) + b"/r" + b"\0"))
        wait_for(lambda: len([1 for row in kinds(rec.lines(), "req", "who") if row == ("slow",)]) == asked,
                 "the requests to pass", 30)
        assert a.get("/r")[0] == b"x" * size  # others are served meanwhile
        taken = kinds(rec.lines(), "rsp", "who").count(("slow",))
        assert taken < 60, taken
        for xid in range(1, asked + 1):
            answer = read_frame(link)
            assert struct.unpack_from(">i", answer)[0] == xid and len(answer) == 16 + 4 + size + 68, xid
    rec.stop()
    assert kinds(rec.lines(), "rsp", "who").count(("slow",)) == asked
