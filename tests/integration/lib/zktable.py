"""Runs the table of ZooKeeper operations and answers (tests/vectors/sim/zookeeper.table, which says how
it is written) against real servers."""
import shlex
import socket
import struct
import time

from .zkwire import ERRORS, EVENTS, Reader

_OPS = {"create": 1, "delete": 2, "exists": 3, "get": 4, "set": 5, "sync": 9, "children": 12,
        "check": 13, "multi": 14}
_TIMEOUT_S = 20
_TICK_S = 0.4  # of an ensemble with faults
_PASSES_S = 0.1  # what was sent has come to where it is held
_ACL = struct.pack(">ii", 1, 31) + b"".join(struct.pack(">i", len(x)) + x
                                            for x in (b"world", b"anyone"))


def _buffer(data):
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def _string(text):
    return _buffer(text.encode())


class Session:
    def __init__(self, case):
        self.case = case
        self.id, self.password = 0, bytes(16)
        self.link = None
        self.xid = 0
        self.zxid = 0
        self.sent = set()  # without waiting for the answer
        self.events = []
        self.watches = {"data": [], "exist": [], "child": []}

    # ---- frames ----

    def _send(self, body):
        self.link.sendall(struct.pack(">i", len(body)) + body)

    def _frame(self):
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
            size = 4 if len(data) < 4 else 4 + struct.unpack(">i", data[:4])[0]
            chunk = self.link.recv(size - len(data))
            if not chunk:
                raise ConnectionError("the server has closed the connection")
            data += chunk
        return Reader(data[4:])

    def attach(self, server, timeout_ms):
        """"refused" while the server does not serve."""
        try:
            self.ask_to_attach(server, timeout_ms)
            reader = self._frame()
        except ConnectionError:
            return "refused"
        reader.int()
        timeout, session, password = reader.int(), reader.long(), reader.buffer()
        if timeout <= 0:
            self.id, self.password = 0, bytes(16)
            return "expired"
        was, self.id, self.password = self.id, session, password
        if was and any(self.watches.values()):
            lists = [struct.pack(">i", len(names)) + b"".join(_string(n) for n in names)
                     for names in (self.watches["data"], self.watches["exist"],
                                   self.watches["child"])]
            self._send(struct.pack(">iiq", -8, 101, self.zxid) + b"".join(lists))
        return "same" if was else "new"

    def ask_to_attach(self, server, timeout_ms):
        self.link = socket.create_connection(("127.0.0.1", self.case.port(server)), _TIMEOUT_S)
        self._send(struct.pack(">iqiq", 0, self.zxid, timeout_ms, self.id) + _buffer(self.password))

    def drop(self):
        self.link.close()

    # ---- operations ----

    def ask(self, number, body):
        """(error name or ok, zxid, reader) of the answer; events that come before are kept."""
        self.xid += 1
        self._send(struct.pack(">ii", self.xid, number) + body)
        while True:
            reader = self._frame()
            xid = reader.int()
            if xid == -1:
                self._event(reader)
            elif xid != -8 and xid not in self.sent:
                zxid, error = reader.long(), reader.int()
                assert xid == self.xid, (xid, self.xid)
                self.zxid = max(self.zxid, zxid)
                return ("ok" if error == 0 else ERRORS[error]), zxid, reader

    def ping(self):
        self._send(struct.pack(">ii", -2, 11))
        while True:
            reader = self._frame()
            xid = reader.int()
            if xid == -2:
                return "ok"
            assert xid == -1, xid
            self._event(reader)

    def send(self, number, body):
        """Without waiting for the answer."""
        self.xid += 1
        self.sent.add(self.xid)
        self._send(struct.pack(">ii", self.xid, number) + body)

    def wait_for_end(self):
        """Until the server ends the connection; what it sends before is an error, but for events."""
        try:
            while True:
                reader = self._frame()
                xid = reader.int()
                if xid != -1:
                    return "answer to %d" % xid
                self._event(reader)
        except ConnectionError:
            self.drop()
            return "closed"

    def wait_for_event(self):
        reader = self._frame()
        assert reader.int() == -1
        self._event(reader)

    def _event(self, reader):
        """Behind the xid."""
        reader.long(), reader.int()
        kind, _, path = reader.int(), reader.int(), reader.string()
        self._came(EVENTS[kind], path)

    def _came(self, kind, path):
        self.events.append("%s %s" % (kind, self.case.short(path)))
        lists = {"NodeChildrenChanged": ["child"], "NodeDeleted": ["data", "exist", "child"]}
        for name in lists.get(kind, ["data", "exist"]):
            if path in self.watches[name]:
                self.watches[name].remove(path)

    def watched(self, op, path, result):
        name = {"exists": "data" if result == "ok" else "exist", "get": "data",
                "children": "child"}[op]
        if (result == "ok" or op == "exists") and path not in self.watches[name]:
            self.watches[name].append(path)


class Case:
    """One case of the table. `ports` of the servers; the sessions are its own. `ensemble` for the lines
    that begin with zk; L, F and G are its leader and the others as they are now."""

    def __init__(self, name, ports, timeout_ms=30000, ensemble=None):
        self.root = "/" + name
        self.ports = ports
        self.timeout_ms = timeout_ms
        self.ensemble = ensemble
        self.sessions = {}
        self.last_zxid = 0
        self.names = {}
        if ensemble:
            leader = ensemble.leader()
            others = [n for n in ensemble.numbers if n != leader]
            self.names = {"L": leader, "F": others[0], "G": others[1]}
        first = Session(self)
        assert first.attach(self.server("L" if ensemble else "1"), timeout_ms) == "new"
        assert first.ask(1, _string(self.root) + _buffer(None) + _ACL + struct.pack(">i", 0))[0] == "ok"
        first.ask(-11, b"")
        first.drop()

    def server(self, word):
        return self.names.get(word) or int(word)

    def port(self, server):
        return self.ports[server - 1]

    def path(self, text):
        return self.root if text == "/" else self.root + text

    def short(self, path):
        return path[len(self.root):] or "/"

    def close(self):
        """Ends the sessions: their ends are not to come in the midst of another case."""
        for session in self.sessions.values():
            try:
                if session.link and session.link.fileno() >= 0:
                    session.ask(-11, b"")
                    session.drop()
            except OSError:
                pass

    # ---- words of a line ----

    def run(self, words):
        """What came of a line, as the table writes it."""
        name, op, *rest = words
        if name == "zk":
            return self._servers(op, [self.server(word) for word in rest])
        if op == "connect":
            self.sessions[name] = Session(self)
            return self._attach(name, rest)
        if op == "join":
            other, server = rest
            self.sessions[name] = Session(self)
            self.sessions[name].id = self.sessions[other].id
            self.sessions[name].password = self.sessions[other].password
            return self._attach(name, [server])
        session = self.sessions[name]
        if op == "reconnect":
            return self._attach(name, rest)
        if op == "ping":
            return session.ping()
        if op == "send":
            return self._sent(session, rest)
        if op == "try":
            session.ask_to_attach(self.server(rest[0]), self.timeout_ms)
            time.sleep(_PASSES_S)
            return "ok"
        if op == "wait":
            return session.wait_for_end()
        if op == "await":
            if not session.events:
                session.wait_for_event()
            return self._events(session)
        if op == "drop":
            session.drop()
            return "ok"
        if op == "expire":
            return self._expire(session)
        if op == "close":
            result, zxid, _ = session.ask(-11, b"")
            return self._written(result, zxid)
        if op == "events":
            session.ask(3, _string("/") + b"\0")
            return self._events(session)
        if op == "multi":
            return self._multi(session, rest)
        return self._single(session, op, rest)

    def _sent(self, session, words):
        if words[0].isdigit():
            times, words = int(words[0]), words[1:]
            part = struct.pack(">ibi", _OPS[words[0]], 0, -1) + self._body(words[0], words[1:])
            session.send(_OPS["multi"], part * times + struct.pack(">ibi", -1, 1, -1))
        else:
            session.send(_OPS[words[0]], self._body(words[0], words[1:]))
        time.sleep(_PASSES_S)
        return "ok"

    def _servers(self, op, numbers):
        if op == "cut":
            self.ensemble.cut(*numbers)
        elif op == "hold":
            self.ensemble.hold(*numbers)
            time.sleep(_TICK_S)  # a ping at least is to go before what comes now
        elif op == "pass":
            self.ensemble.release(*numbers)
        elif op == "heal":
            self.ensemble.heal()
        elif op == "kill":
            self.ensemble.kill(*numbers)
        elif op == "start":
            self.ensemble.start(*numbers)
        elif op == "lost":
            self.ensemble.wait_until_lost(*numbers)
        else:
            assert op == "serve", op
            self.ensemble.wait_until_serving(numbers)
        return "ok"

    @staticmethod
    def _events(session):
        text = ", ".join(session.events) or "none"
        session.events = []
        return text

    def _attach(self, name, rest):
        session = self.sessions[name]
        result = session.attach(self.server(rest[0] if rest else "1"),
                                int(rest[1]) if len(rest) > 1 else self.timeout_ms)
        if result in ("new", "same"):
            _, zxid, _ = session.ask(3, _string("/") + b"\0")
            self.last_zxid = max(self.last_zxid, zxid)
        return result

    def _expire(self, session):
        """Somebody else takes the session over and ends it."""
        other = Session(self)
        other.id, other.password = session.id, session.password
        result = other.attach(1, self.timeout_ms)
        if result == "same":
            _, zxid, _ = other.ask(-11, b"")
            self.last_zxid = zxid
            other.drop()
            return "ok"
        return result

    def _written(self, result, zxid, extra=""):
        text = "%s%s z+%d" % (result, extra, zxid - self.last_zxid)
        self.last_zxid = zxid
        return text

    def _stat(self, session, stat):
        owner = stat["ephemeralOwner"]
        return " v%d c%d n%d%s" % (stat["version"], stat["cversion"], stat["numChildren"],
                                   "" if not owner else " mine" if owner == session.id else " other's")

    def _body(self, op, words):
        """What an operation carries, and whether it watches."""
        path = self.path(words[0])
        flags = [w for w in words[1:] if w in ("watch", "ephemeral") or w.startswith("v=")]
        data = [w for w in words[1:] if w not in flags]
        version = next((int(f[2:]) for f in flags if f.startswith("v=")), -1)
        value = None if not data or data[0] == "null" else data[0].encode()
        if op == "create":
            return _string(path) + _buffer(value) + _ACL + struct.pack(">i", "ephemeral" in flags)
        if op in ("delete", "check"):
            return _string(path) + struct.pack(">i", version)
        if op == "set":
            return _string(path) + _buffer(value) + struct.pack(">i", version)
        if op == "sync":
            return _string(path)
        return _string(path) + (b"\1" if "watch" in flags else b"\0")

    def _single(self, session, op, words):
        result, zxid, reader = session.ask(_OPS[op], self._body(op, words))
        path = self.path(words[0])
        if "watch" in words:
            session.watched(op, path, result)
        if op in ("create", "delete"):
            return self._written(result, zxid)
        if op == "set":
            version = " v%d" % reader.stat()["version"] if result == "ok" else ""
            return self._written(result, zxid, version)
        if result != "ok" or op == "sync":
            return result
        if op == "exists":
            return "ok" + self._stat(session, reader.stat())
        if op == "get":
            data = reader.buffer()
            text = "null" if data is None else '"%s"' % data.decode()
            return "ok %s%s" % (text, self._stat(session, reader.stat()))
        return "ok [%s]%s" % (" ".join(reader.strings()), self._stat(session, reader.stat()))

    def _multi(self, session, words):
        body = b""
        parts = [[]]
        for word in words:
            if word == ";":
                parts.append([])
            else:
                parts[-1].append(word)
        for op, *rest in parts:
            body += struct.pack(">ibi", _OPS[op], 0, -1) + self._body(op, rest)
        result, zxid, reader = session.ask(14, body + struct.pack(">ibi", -1, 1, -1))
        errors = []
        if result != "ok":
            return self._written(result, zxid)
        while True:
            number, done, error = reader.int(), reader.bool(), reader.int()
            if done:
                break
            if number == -1:
                code = reader.int()
                errors.append("ok" if code == 0 else ERRORS[code])
            elif number == 1:
                reader.string()
            elif number == 5:
                reader.stat()
        if not errors:
            return self._written("ok", zxid)
        first = next(e for e in errors if e != "ok")
        return self._written(first, zxid, " (%s)" % " ".join(errors))


def read(path):
    """[(name, "1", "3" or "faults", [(line number, words, wanted)])] of the table."""
    cases = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        if line.startswith("case "):
            words = line.split()
            servers = words[2] if len(words) > 2 else "1"
            cases.append((words[1], servers, []))
            continue
        left, _, wanted = line.partition("->")
        cases[-1][2].append((number, shlex.split(left), wanted.strip()))
    return cases

