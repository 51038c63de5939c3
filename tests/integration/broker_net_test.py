"""Our broker's port: requests that no client sends, many connections, slow ones, and no descriptors."""
import concurrent.futures
import json
import pathlib
import resource
import socket
import struct
import time

from lib import brokerwire as wire
from lib.testing import quick
from lib.waiting import wait_for

ODD_INPUT = pathlib.Path(__file__).resolve().parents[1] / "vectors" / "broker" / "odd-input.json"


def started(t, properties=None, wrapper=(), topic="t"):
    """A cluster of one broker with one topic of one partition; the broker."""
    cluster = t.zk_cluster(start=False, properties=properties)
    broker = cluster.brokers[0]
    broker.wrapper = list(wrapper)
    cluster.start()
    cluster.create_topic(topic, 1)
    return broker


def link(t, broker, **options):
    made = wire.Link(broker.port, **options)
    t.defer(made.close)
    return made


def is_serving(broker):
    ask = wire.Link(broker.port, timeout_s=10)
    body = ask.ask(wire.metadata("t"))
    ask.close()
    return len(body) > 20


@quick
def test_requests_are_answered_in_order(t):
    broker = started(t)
    client = link(t, broker)
    requests = [wire.produce("t", 0, [wire.message(b"%d" % i)], correlation=i) if i % 3 else
                wire.metadata("t", correlation=i) for i in range(200)]
    client.send(b"".join(requests))
    assert [client.receive()[0] for _ in requests] == list(range(200))
    # byte by byte
    for byte in wire.fetch("t", 0, 0, correlation=7):
        client.send(bytes([byte]))
    number, body = client.receive()
    error, watermark, records = wire.fetched(body, "t")
    assert (number, error) == (7, 0) and watermark == len(wire.entries(records)) == 133, watermark


@quick
def test_records_stand_in_their_answers(t):
    """Answers that wait together: each has its own records, from the file, in its place."""
    broker = started(t)
    client = link(t, broker)
    for i in range(100):
        client.ask(wire.produce("t", 0, [wire.message(b"%d" % i * 50)]))
    requests = []
    for i in range(100):
        requests += [wire.metadata("t"), wire.fetch("t", 0, i, max_bytes=300 if i % 2 else 100000)]
    client.send(b"".join(requests))
    for i in range(100):
        client.receive()
        error, watermark, records = wire.fetched(client.receive()[1], "t")
        found = wire.entries(records)
        assert (error, watermark, found[0]) == (0, 100, (i, b"%d" % i * 50)), (i, found[:1])
        assert i % 2 or len(found) == 100 - i


@quick
def test_produce_without_acknowledgement(t):
    broker = started(t)
    client = link(t, broker)
    client.send(wire.produce("t", 0, [wire.message(b"a")], acks=0, correlation=1)
                + wire.fetch("t", 0, 0, correlation=2))
    number, body = client.receive()
    assert number == 2 and wire.entries(wire.fetched(body, "t")[2]) == [(0, b"a")]
    client.send(wire.produce("none", 0, [wire.message(b"a")], acks=0))
    assert client.is_closed()  # the only way to tell


@quick
def test_answers_before_a_bad_request_are_sent(t):
    broker = started(t)
    for bad in (struct.pack(">i", -1), wire.frame(999, 0, 1, b""), wire.frame(wire.METADATA, 0, 1, b"\0")):
        client = link(t, broker)
        client.send(b"".join(wire.metadata("t", correlation=i) for i in range(5)) + bad)
        assert [client.receive()[0] for _ in range(5)] == list(range(5))
        assert client.is_closed()


@quick
def test_long_poll(t):
    broker = started(t)
    reader, writer = link(t, broker), link(t, broker)
    begin = time.monotonic()
    body = reader.ask(wire.fetch("t", 0, 0, max_wait_ms=300, min_bytes=1))
    assert 0.29 <= time.monotonic() - begin
    assert wire.fetched(body, "t") == (0, 0, b"")
    reader.send(wire.fetch("t", 0, 0, max_wait_ms=30000, min_bytes=1))
    assert wire.produced(writer.ask(wire.produce("t", 0, [wire.message(b"x")]))) == (0, 0)
    assert wire.entries(wire.fetched(reader.receive()[1], "t")[2]) == [(0, b"x")]
    # until there is enough
    reader.send(wire.fetch("t", 0, 1, max_wait_ms=30000, min_bytes=100))
    for i in range(4):
        writer.ask(wire.produce("t", 0, [wire.message(b"0123456789")]))
    assert len(wire.entries(wire.fetched(reader.receive()[1], "t")[2])) >= 3
    # what is waited for goes: an answer, not the end of the time
    reader.send(wire.fetch("none", 0, 0, max_wait_ms=30000, min_bytes=1))
    assert wire.fetched(reader.receive()[1], "none")[0] == 3


@quick
def test_long_poll_on_many_connections_does_not_spin(t):
    broker = started(t)
    readers = [link(t, broker) for _ in range(1000)]
    for reader in readers:
        reader.send(wire.fetch("t", 0, 0, max_wait_ms=60000, min_bytes=1))
    wait_for(lambda: cpu_s(broker) == (time.sleep(0.5) or cpu_s(broker)), "no processor time to be used")
    link(t, broker).ask(wire.produce("t", 0, [wire.message(b"x")]))
    for reader in readers:
        assert wire.entries(wire.fetched(reader.receive()[1], "t")[2]) == [(0, b"x")]


def cpu_s(broker):
    with open("/proc/%d/stat" % broker.process.pid) as file:
        words = file.read().rsplit(")", 1)[1].split()
    return int(words[11]) + int(words[12])


@quick
def test_odd_input(t):
    """What Kafka 0.8.2.2 and ours answer to the same bytes: closed where it closes, but versions that
    it does not look at are refused, and ApiVersions is answered."""
    broker = started(t, topic="t1")
    different = {}
    for case in json.loads(ODD_INPUT.read_text()):
        client = link(t, broker, timeout_s=2)
        client.send(bytes.fromhex(case["request_hex"]))
        try:
            client.receive()
            result = "answered"
        except wire.Closed:
            result = "closed"
        except socket.timeout:
            result = "no answer, connection stays open"
        client.close()
        theirs = case["by_broker"]["0.8.2.2"]["result"]
        if result != theirs:
            different[case["what"]] = [theirs, result]
    assert is_serving(broker)
    assert different == json.loads(ODD_INPUT.with_name("odd-input-ours.json").read_text()), (
        json.dumps(different, indent=1))


@quick
def test_hostile_sizes_take_no_memory(t):
    broker = started(t)
    before = broker.process.rss_kb()
    for size in (-1, 0, -2**31, 104857601, 2**31 - 1):
        client = link(t, broker)
        client.send(struct.pack(">i", size))
        assert client.is_closed(), size
    waiting = [link(t, broker) for _ in range(50)]  # announced, never sent
    for client in waiting:
        client.send(struct.pack(">i", 104857600) + b"\0" * 100)
    count = struct.pack(">i", 2**31 - 1)
    for body in (b"\0\1\0\0\0\0" + count, b"\0\1\0\0\0\0\0\0\0\1\0\1t" + count):
        client = link(t, broker)
        client.send(wire.frame(wire.PRODUCE, 0, 1, body))
        assert client.is_closed()
    assert is_serving(broker)
    assert broker.process.rss_kb() - before < 4000 or is_sanitized(broker), broker.process.rss_kb()


def is_sanitized(broker):
    """Then memory says nothing."""
    with open("/proc/%d/maps" % broker.process.pid) as file:
        return "san.so" in file.read()


@quick
def test_a_slow_reader_takes_no_memory(t):
    broker = started(t)
    writer = link(t, broker)
    value = b"v" * 900000
    for _ in range(20):
        assert wire.produced(writer.ask(wire.produce("t", 0, [wire.message(value)])))[0] == 0
    before = broker.process.rss_kb()
    slow = [link(t, broker, receive_buffer=4096) for _ in range(20)]
    for client in slow:
        client.send(b"".join(wire.fetch("t", 0, 0, max_bytes=18000000, correlation=i)
                             for i in range(50)))
    for client in slow:  # it has begun to answer
        assert client.socket.recv(1)
    assert is_serving(broker)
    assert broker.process.rss_kb() - before < 8000, (before, broker.process.rss_kb())
    # and is answered in the end
    rest = struct.unpack(">i", b"\1" + slow[0]._exactly(3))[0] & 0xffffff
    assert rest > 0


@quick
def test_connections_of_one_address_are_counted(t):
    broker = started(t, {"max.connections.per.ip": 5})

    def served():  # the harness' own connections may not be forgotten yet
        client = link(t, broker)
        try:
            client.ask(wire.metadata("t"))
        except wire.Closed:
            return None
        return client

    clients = [wait_for(served, "a connection that is served") for _ in range(5)]
    extra = link(t, broker)
    assert extra.is_closed()
    clients[0].close()
    wait_for(lambda: serves(t, broker), "a place to be free")
    assert "max.connections.per.ip=5" in broker.log_text()


def serves(t, broker):
    client = link(t, broker, timeout_s=5)
    try:
        client.ask(wire.metadata("t"))
    except (wire.Closed, OSError):
        return False
    finally:
        client.close()
    return True


@quick
def test_idle_connections_are_closed(t):
    broker = started(t, {"connections.max.idle.ms": 1000})
    idle, waiting = link(t, broker), link(t, broker)
    idle.ask(wire.metadata("t"))
    waiting.send(wire.fetch("t", 0, 0, max_wait_ms=2500, min_bytes=1))
    assert idle.is_closed()
    assert wire.fetched(waiting.receive()[1], "t") == (0, 0, b"")  # it waited for us


@quick
def test_five_thousand_connections(t):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(20000, resource.getrlimit(
        resource.RLIMIT_NOFILE)[1]),) * 2)
    broker = started(t)
    before = broker.process.rss_kb()
    clients = [wire.Link(broker.port) for _ in range(5000)]
    try:
        for client in clients:
            client.send(wire.metadata("t"))
        for client in clients:
            assert len(client.receive()[1]) > 20
        used = broker.process.rss_kb() - before
        print("%d KiB for 5000 connections" % used)
        assert used < 20000 or is_sanitized(broker), used
    finally:
        for client in clients:
            client.close()
    assert is_serving(broker)


@quick
def test_no_descriptors_left(t):
    """F61: accepting pauses, says why, and goes on; those who are connected are served."""
    broker = started(t, wrapper=["prlimit", "--nofile=64", "--"])
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = link(t, broker)
        clients = [link(t, broker, timeout_s=5) for _ in range(80)]
        wait_for(lambda: "no connection can be accepted for the moment: Too many open files"
                 in broker.log_text(), "a line about it")
        for _ in range(20):
            assert pool.submit(first.ask, wire.metadata("t")).result(10)
        for client in clients:
            client.close()
        wait_for(lambda: serves(t, broker), "a new connection to be served")
    used = cpu_s(broker)
    assert used < 300, "%d ticks of processor time" % used
