"""The program against a real ZooKeeper server, and brokers that are a few lines of Python."""
import contextlib
import json
import socket
import struct
import subprocess
import threading

from kazoo.client import KazooClient

from .members import program

REGISTRATION = '{"version":1,"subscription":%s,"pattern":"static","timestamp":"1424990000456"}'


def run(*words, stdin="", timeout_s=60):
    """The program to its end: (exit status, stdout, stderr)."""
    done = subprocess.run([program("zkconsumer"), *words], input=stdin.encode(), capture_output=True,
                          timeout=timeout_s, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def client(t, address):
    zk = KazooClient(address, timeout=20)
    zk.start(30)
    t.defer(zk.close)
    t.defer(zk.stop)
    return zk


class FakeBroker:
    """Answers ListOffsets version 0 from a table {(topic, partition): offset or -error}, and nothing
    else. `answers` may be a function instead: it gets the connection and each request."""

    def __init__(self, t, offsets=None, answers=None):
        self._offsets = offsets or {}
        self._answers = answers or self._answer
        self.requests = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        t.defer(self._listener.close)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                link, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link):
        with contextlib.suppress(OSError, ConnectionError), link:
            while True:
                size, = struct.unpack(">i", _exactly(link, 4))
                request = _exactly(link, size)
                self.requests.append(request)
                self._answers(link, request)

    def _answer(self, link, request):
        key, version, correlation = struct.unpack_from(">hhi", request)
        if (key, version) != (2, 0):
            raise ConnectionError  # as old brokers do with what they do not know
        at = _Cursor(request, 8)
        at.string()  # client id
        assert at.number("i") == -1  # replica id
        body = b""
        topics = at.number("i")
        for _ in range(topics):
            topic, count = at.string(), at.number("i")
            parts = b""
            for _ in range(count):
                partition, time, most = at.number("i"), at.number("q"), at.number("i")
                assert (time, most) == (-1, 1), (time, most)
                value = self._offsets[(topic, partition)]
                parts += struct.pack(">ih", partition, -value if value < 0 else 0)
                parts += struct.pack(">iq", 1, value) if value >= 0 else struct.pack(">i", 0)
            body += struct.pack(">h", len(topic)) + topic.encode() + struct.pack(">i", count) + parts
        body = struct.pack(">ii", correlation, topics) + body
        link.sendall(struct.pack(">i", len(body)) + body)


class _Cursor:
    def __init__(self, data, at):
        self.data, self.at = data, at

    def number(self, kind):
        value, = struct.unpack_from(">" + kind, self.data, self.at)
        self.at += struct.calcsize(">" + kind)
        return value

    def string(self):
        length = self.number("h")
        self.at += length
        return self.data[self.at - length:self.at].decode()


def _exactly(link, size):
    data = b""
    while len(data) < size:
        chunk = link.recv(size - len(data))
        if not chunk:
            raise ConnectionError
        data += chunk
    return data


class World:
    """A cluster's znodes: broker 0 at a fake broker, topic t, and a healthy group g of a and b."""

    def __init__(self, t, offsets=None, answers=None, partitions=2, chroot=""):
        self.server = t.zookeeper()
        self.connect = self.server.address + chroot
        if chroot:
            client(t, self.server.address).ensure_path(chroot)
        self.zk = client(t, self.connect)
        self.broker = FakeBroker(t, offsets or {("t", 0): 12, ("t", 1): 7}, answers)
        self.zk.create("/brokers/ids/0", makepath=True, value=(
            '{"jmx_port":-1,"timestamp":"1424980000000","host":"127.0.0.1","version":1,"port":%d}'
            % self.broker.port).encode())
        self.topic("t", partitions)
        self.a, self.b = client(t, self.connect), client(t, self.connect)

    def topic(self, name, partitions, leader=0):
        replicas = {str(p): [0] for p in range(partitions)}
        self.zk.create("/brokers/topics/%s" % name, makepath=True, value=json.dumps(
            {"version": 1, "partitions": replicas}).encode())
        for p in range(partitions):
            self.zk.create("/brokers/topics/%s/partitions/%d/state" % (name, p), makepath=True,
                           value=json.dumps({"controller_epoch": 1, "leader": leader, "version": 1,
                                             "leader_epoch": 0, "isr": [0]}).encode())

    def register(self, session, consumer, data=REGISTRATION % '{"t":1}', ephemeral=True):
        session.create("/consumers/g/ids/%s" % consumer, data.encode(), makepath=True,
                       ephemeral=ephemeral)

    def own(self, session, partition, thread, topic="t"):
        session.create("/consumers/g/owners/%s/%d" % (topic, partition), thread.encode(),
                       makepath=True, ephemeral=True)

    def commit(self, partition, offset, topic="t"):
        self.zk.create("/consumers/g/offsets/%s/%d" % (topic, partition), str(offset).encode(),
                       makepath=True)

    def healthy(self):
        self.register(self.a, "g_a")
        self.register(self.b, "g_b")
        self.own(self.a, 0, "g_a-0")
        self.own(self.b, 1, "g_b-0")
        self.commit(0, 10)
        self.commit(1, 7)
        return self

    def describe(self, *words, group="g"):
        return run("groups", "describe", "--group", group, "--zookeeper", self.connect, *words)

    def nodes(self):
        """Every node with its version: what a reader must not change."""
        found = {}

        def walk(path):
            stat = self.zk.exists(path or "/")
            found[path] = (stat.mzxid, stat.cversion, stat.pzxid)
            for name in self.zk.get_children(path or "/"):
                if (path, name) != ("", "zookeeper"):
                    walk("%s/%s" % (path, name))

        walk("")
        return found


def expect(got, want):
    assert got == want, "got %r, expected %r" % (got, want)


def expect_in(part, text):
    assert part in text, "%r is missing in:\n%s" % (part, text)
