"""A faulty, recording link between clients and one server.

    proxy = ZooKeeperProxy(cluster.zookeeper.address)
    m1 = proxy.listen("m1")             # an address; whoever connects there is called m1
    ...
    proxy.cut("m1")                     # connections close; m1 may come back at once
    proxy.refuse("m1")                  # ... and new ones are closed as well, until heal
    proxy.hole("m1")                    # connections stay, nothing passes (direction: both, up, down),
                                        # until heal, which closes them, as when the peer has gone
    proxy.release("m1")                 # ends a hole as if nothing had been: what waited passes
    proxy.delay("m1", 200)              # each request waits 200 ms (0: no more)
    proxy.hold("m1", "create", "/a")    # the next such request, and all behind it, wait for go
    proxy.cut_on("m1", "create", "/a", after=True)    # the next such request is carried out by the
                                        # server, but the connection ends before its answer passes;
                                        # after=False: it does not reach the server either
    proxy.heal("m1")                    # ends refuse and hole

`ZooKeeperProxy.events` records what passed; `counts` sums it up. `KafkaProxy` is the same for a broker,
which must advertise the proxy's port; operations are API names there, and nothing is recorded.
Both protocols are framed by a length of four bytes; frames pass whole. `ByteProxy` is for any other.
"""
import asyncio
import collections
import json
import struct
import threading
import time

from . import zkwire
from .ports import free_port
from .waiting import wait_for


class _Request:
    def __init__(self, op, path=None):
        self.op, self.path = op, path

    def matches(self, op, path):
        return op in (None, self.op) and path in (None, self.path)


class _Rule:
    """Which request something is to happen to."""

    def __init__(self, op, path, after=False):
        self.op, self.path, self.after = op, path, after
        self.reached = threading.Event()
        self.go = asyncio.Event()


class _Link:
    """One client connection and its twin to the server. Lives on the proxy's thread."""

    def __init__(self, proxy, label, number, reader, writer):
        self.proxy, self.label, self.number = proxy, label, number
        self.client_reader, self.client_writer = reader, writer
        self.server_writer = None
        self.closed = False
        self.cut_before_answer = False
        self.is_silent = False
        self.session = 0
        self.greeted_up = self.greeted_down = False
        self.pending = collections.deque()  # requests without an answer yet, oldest first

    async def run(self):
        proxy = self.proxy
        proxy.opened(self)
        try:
            await self._passable("up")
            if self.closed:  # by heal: it came into a hole
                return
            if self.label in proxy.refused or not proxy.server:
                return self.close("refused")
            server_reader, self.server_writer = await proxy.connect(self)
            if self.closed:  # meanwhile
                self.server_writer.close()
                return
            ways = [asyncio.ensure_future(self._up()), asyncio.ensure_future(self._down(server_reader))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass
        self.close("server")

    def close(self, why):
        if self.closed:
            return
        self.closed = True
        self.proxy.links.discard(self)
        self.proxy.gone(self, why)
        for writer in (self.client_writer, self.server_writer):
            if writer:
                writer.close()

    async def _passable(self, direction):
        while not self.closed and (
                self.is_silent or self.proxy.holes.get(self.label) in ("both", direction)):
            await asyncio.sleep(0.01)

    async def _up(self):
        try:
            while True:
                frame = await self.proxy.receive(self.client_reader)
                await self._passable("up")
                if self.closed or not await self._request(frame):
                    return
                self.server_writer.write(self.proxy.wrapped(frame))
                await self.server_writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            self.close("client")

    async def _request(self, frame):
        """False: this connection has ended."""
        proxy = self.proxy
        request = proxy.read_request(self, frame)
        pause_ms, op = proxy.delays.get(self.label, (0, None))
        if pause_ms and request.matches(op, None):
            await asyncio.sleep(pause_ms / 1000)
        hold = proxy.holds.get(self.label)
        if hold and request.matches(hold.op, hold.path):
            hold.reached.set()
            await hold.go.wait()
            if proxy.holds.get(self.label) is hold:
                del proxy.holds[self.label]
        cut = proxy.cuts.get(self.label)
        if cut and request.matches(cut.op, cut.path):
            del proxy.cuts[self.label]
            cut.reached.set()
            if not cut.after:
                self.close("cut")
            self.cut_before_answer = cut.after
        if not self.closed:
            proxy.passed_up(self, request)
        return not self.closed

    async def _down(self, reader):
        try:
            while True:
                frame = await self.proxy.receive(reader)
                await self._passable("down")
                if self.closed:
                    return
                if self.cut_before_answer and self.proxy.answers_last_request(self, frame):
                    return self.close("cut")
                self.proxy.passed_down(self, frame)
                self.client_writer.write(self.proxy.wrapped(frame))
                await self.client_writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            await self._passable("down")
            self.close("server")


class Proxy:
    """What both protocols share. Methods may be called from any thread and have taken effect when they
    return."""

    def __init__(self, server):
        self.server = server  # "host:port", read at each new connection; None: nobody is there
        self.links = set()
        self.refused, self.holes = set(), {}
        self.delays, self.holds, self.cuts = {}, {}, {}
        self.addresses = {}
        self._connections = 0
        self._servers = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def listen(self, label, port=None, host="127.0.0.1"):
        """Opens a port for this client (a free one, unless given) and returns its address."""
        if label not in self.addresses:
            port = port or free_port()
            self._servers.append(self._call(self._listen(label, port, host)))
            self.addresses[label] = "%s:%d" % ("[%s]" % host if ":" in host else host, port)
        return self.addresses[label]

    def port(self, label):
        return int(self.listen(label).rsplit(":", 1)[1])

    def close(self):
        if self._loop.is_closed():
            return
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    # ---- faults ----

    def cut(self, label):
        """The number of connections that were closed."""
        return self._do(lambda: self._close_links(label, "cut"))

    def refuse(self, label):
        self._do(lambda: (self.refused.add(label), self._close_links(label, "refused")))

    def hole(self, label, direction="both"):
        assert direction in ("both", "up", "down")
        self._do(lambda: self.holes.update({label: direction}))

    def heal(self, label):
        def mend():
            self.refused.discard(label)
            if label in self.holes:
                self._close_links(label, "heal")
                del self.holes[label]
        self._do(mend)

    def release(self, label):
        self._do(lambda: self.holes.pop(label, None))

    def delay(self, label, pause_ms, op=None):
        self._do(lambda: self.delays.update({label: (pause_ms, op)}))

    def hold(self, label, op=None, path=None):
        rule = self._do(lambda: self.holds.setdefault(label, _Rule(op, path)))
        return rule.reached  # an Event: set when the request is there

    def go(self, label):
        def release():
            if label in self.holds:
                self.holds.pop(label).go.set()
        self._do(release)

    def cut_on(self, label, op, path=None, after=False):
        rule = _Rule(op, path, after)
        self._do(lambda: self.cuts.update({label: rule}))
        return rule.reached  # an Event: set when it has happened, or, with after, is about to

    def connections(self, label):
        return self._do(lambda: sum(link.label == label for link in self.links))

    def silence_others(self, label, session):
        """Connections of the client with another session than this fall silent; how many. The next ones
        are not."""
        def silence():
            others = [link for link in self.links if link.label == label and link.session != session]
            for link in others:
                link.is_silent = True
            return len(others)
        return self._do(silence)

    def is_connected(self, label):
        return self._do(lambda: any(link.label == label for link in self.links))

    # ---- what a protocol adds; all on the proxy's thread ----

    async def connect(self, link):
        """To the server: (reader, writer)."""
        host, port = self.server.rsplit(":", 1)
        return await asyncio.open_connection(host, int(port))

    async def receive(self, reader):
        """What passes at once: a frame, without its length."""
        size = struct.unpack(">i", await reader.readexactly(4))[0]
        return await reader.readexactly(max(size, 0))

    def wrapped(self, frame):
        """As it goes on."""
        return struct.pack(">i", len(frame)) + frame

    def read_request(self, link, frame):
        raise NotImplementedError

    def answers_last_request(self, link, frame):
        """Whether this frame answers the request that was passed on last."""
        raise NotImplementedError

    def opened(self, link):
        pass

    def gone(self, link, why):
        pass

    def passed_up(self, link, request):
        pass

    def passed_down(self, link, frame):
        pass

    # ---- the thread ----

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    def _do(self, function):
        async def on_thread():
            return function()
        return self._call(on_thread())

    async def _listen(self, label, port, host):
        async def accepted(reader, writer):
            self._connections += 1
            link = _Link(self, label, self._connections, reader, writer)
            self.links.add(link)
            await link.run()
        return await asyncio.start_server(accepted, host, port, backlog=1024)

    async def _close(self):
        for server in self._servers:
            server.close()
        for link in list(self.links):
            link.close("proxy")
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _close_links(self, label, why):
        caught = [link for link in self.links if link.label == label]
        for link in caught:
            link.close(why)
        return len(caught)


class ZooKeeperProxy(Proxy):
    """Records, in `events`, one dict for each thing that passed:

        t        monotonic seconds                     who      label of the client
        link     number of the connection              session  id of its session (0: none yet)
        k        open, close (why), connect, connected (timeout, in ms),
                 request (op, path, xid, fields), answer (op, path, xid, err, zxid, fields),
                 event (type, state, path), mark (text)
    """

    def __init__(self, server):
        super().__init__(server)
        self.events = []

    def mark(self, text):
        """Notes something between the operations; returns its place, for `since`."""
        self._do(lambda: self.events.append({"t": time.monotonic(), "who": "", "k": "mark",
                                             "text": text}))
        return len(self.events)

    def requests(self, who=None, since=0, op=None):
        """Requests that passed, pings left out."""
        return [event for event in self.events[since:]
                if event["k"] == "request" and event["op"] != "ping"
                and who in (None, event["who"]) and op in (None, event["op"])]

    def counts(self, who=None, since=0):
        """{"reads", "writes", "watches", "events"}: watches are reads that set one, events what the
        server sent about them."""
        requests = self.requests(who, since)
        return {
            "reads": sum(request["op"] in zkwire.READS for request in requests),
            "writes": sum(request["op"] in zkwire.WRITES for request in requests),
            "watches": sum(bool(request["fields"].get("watch")) for request in requests),
            "events": sum(event["k"] == "event" and event["type"] != "None"
                          and who in (None, event["who"]) for event in self.events[since:]),
        }

    def wait_for_request(self, who, op, path=None, since=0, timeout_s=30.0):
        """The first request of this kind that passed."""
        def seen():
            for request in self.requests(who, since, op):
                if path in (None, request["path"]):
                    return request
            return None
        return wait_for(seen, "%s %s by %s" % (op, path or "", who), timeout_s, 0.01)

    def write_events(self, path):
        """As JSON lines, for a person to read."""
        with open(path, "w") as file:
            for event in list(self.events):
                file.write(json.dumps(event, ensure_ascii=False) + "\n")

    # ---- the protocol ----

    def _note(self, link, kind, **fields):
        self.events.append({"t": time.monotonic(), "who": link.label, "link": link.number,
                            "session": link.session, "k": kind, **fields})

    def opened(self, link):
        self._note(link, "open")

    def gone(self, link, why):
        self._note(link, "close", why=why)

    def read_request(self, link, frame):
        reader = zkwire.Reader(frame)
        try:
            if not link.greeted_up:
                link.greeted_up = True
                reader.int()
                request = _Request("connect")
                request.fields = {"zxid": reader.long(), "timeout": reader.int(),
                                  "session": reader.long()}
                return request
            xid, number = reader.int(), reader.int()
            op = zkwire.OPS.get(number, str(number))
            fields = zkwire.request_fields(op, reader)
        except (struct.error, IndexError):
            request = _Request("malformed")
            request.xid, request.fields = 0, {"hex": frame.hex()}
            return request
        request = _Request(op, fields.pop("path", None))
        request.xid, request.fields = xid, fields
        return request

    def passed_up(self, link, request):
        if request.op == "connect":
            return self._note(link, "connect", timeout=request.fields["timeout"],
                              wanted=request.fields["session"])
        if request.op not in ("ping", "auth", "setWatches", "malformed"):
            link.pending.append(request)
        self._note(link, "request", op=request.op, path=request.path, xid=request.xid,
                   fields=request.fields)

    def answers_last_request(self, link, frame):
        if not link.greeted_down or not link.pending:
            return not link.pending
        return zkwire.Reader(frame).int() == link.pending[-1].xid

    def passed_down(self, link, frame):
        reader = zkwire.Reader(frame)
        try:
            if not link.greeted_down:
                link.greeted_down = True
                reader.int()
                timeout, link.session = reader.int(), reader.long()
                return self._note(link, "connected", timeout=timeout)
            self._answer(link, reader)
        except (struct.error, IndexError):
            self._note(link, "answer", op="malformed", path=None, xid=0, err="", zxid=0,
                       fields={"hex": frame.hex()})

    def _answer(self, link, reader):
        xid, zxid, error = reader.int(), reader.long(), reader.int()
        if xid == zkwire.XID_EVENT:
            kind, state, path = reader.int(), reader.int(), reader.string()
            return self._note(link, "event", type=zkwire.EVENTS.get(kind, kind),
                              state=zkwire.STATES.get(state, state), path=path)
        if xid == zkwire.XID_PING:
            return None
        op, path = {zkwire.XID_AUTH: "auth", zkwire.XID_SET_WATCHES: "setWatches"}.get(xid, "?"), None
        if link.pending and link.pending[0].xid == xid:
            request = link.pending.popleft()
            op, path = request.op, request.path
        fields = {} if error and op != "multi" else zkwire.answer_fields(op, reader)
        return self._note(link, "answer", op=op, path=path, xid=xid, zxid=zxid, fields=fields,
                          err=zkwire.ERRORS.get(error, error) if error else "")


class KafkaProxy(Proxy):
    """Between clients and one broker. `seen`: all requests, in the order in which they came, held ones
    too; with `t` (monotonic seconds), `op`, `client`, and of a Fetch `wait_ms` and `bytes_min`."""

    _APIS = {0: "Produce", 1: "Fetch", 2: "ListOffsets", 3: "Metadata", 8: "OffsetCommit",
             9: "OffsetFetch", 10: "FindCoordinator", 11: "JoinGroup", 12: "Heartbeat",
             13: "LeaveGroup", 14: "SyncGroup", 18: "ApiVersions"}

    def __init__(self, server):
        super().__init__(server)
        self.seen = []

    def read_request(self, link, frame):
        api, _, correlation = struct.unpack_from(">hhi", frame) if len(frame) >= 8 else (-1, 0, 0)
        request = _Request(self._APIS.get(api, str(api)))
        request.correlation, request.t = correlation, time.monotonic()
        request.client, request.wait_ms, request.bytes_min = None, None, None
        if len(frame) >= 10:
            size = max(struct.unpack_from(">h", frame, 8)[0], 0)
            request.client = frame[10:10 + size].decode(errors="replace")
            if request.op == "Fetch" and len(frame) >= 22 + size:
                _, request.wait_ms, request.bytes_min = struct.unpack_from(">iii", frame, 10 + size)
        self.seen.append(request)
        return request

    def count(self, op):
        return len([request for request in self.seen if request.op == op])

    def passed_up(self, link, request):
        link.pending.append(request)
        while len(link.pending) > 1000:  # produce requests without acknowledgement have no answer
            link.pending.popleft()

    def answers_last_request(self, link, frame):
        return struct.unpack_from(">i", frame)[0] == link.pending[-1].correlation


class ByteProxy(Proxy):
    """For any protocol: bytes, of which nothing is known. No faults at a request. Whoever connects while
    the server is not there yet waits for it: a proxy cannot refuse as a closed port does."""

    async def connect(self, link):
        deadline = time.monotonic() + 10
        while True:
            try:
                return await super().connect(link)
            except OSError:
                if link.closed or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.02)

    async def receive(self, reader):
        data = await reader.read(65536)
        if not data:
            raise asyncio.IncompleteReadError(b"", 1)
        return data

    def wrapped(self, frame):
        return frame

    def read_request(self, link, frame):
        return _Request("bytes")

    def answers_last_request(self, link, frame):
        return False
