"""A client of Kafka's protocol by hand, for what no real client would do."""
import socket
import struct
import zlib

PRODUCE, FETCH, LIST_OFFSETS, METADATA = 0, 1, 2, 3


def text(value):
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def frame(key, version, correlation, body, client="test"):
    request = struct.pack(">hhi", key, version, correlation) + text(client) + body
    return struct.pack(">i", len(request)) + request


def message(value, key=None):
    """An entry of format 0 with offset 0."""
    part = b"\0\0" + _bytes(key) + _bytes(value)
    part = struct.pack(">I", zlib.crc32(part)) + part
    return struct.pack(">qi", 0, len(part)) + part


def _bytes(value):
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def produce(topic, partition, messages, acks=1, correlation=1, timeout_ms=1000):
    data = b"".join(messages)
    body = struct.pack(">hii", acks, timeout_ms, 1) + text(topic) + struct.pack(
        ">iii", 1, partition, len(data)) + data
    return frame(PRODUCE, 0, correlation, body)


def fetch(topic, partition, offset, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, correlation=1):
    body = struct.pack(">iiii", -1, max_wait_ms, min_bytes, 1) + text(topic) + struct.pack(
        ">iiqi", 1, partition, offset, max_bytes)
    return frame(FETCH, 0, correlation, body)


def list_offsets(topic, partition, time, count=1, correlation=1):
    body = struct.pack(">ii", -1, 1) + text(topic) + struct.pack(">iiqi", 1, partition, time, count)
    return frame(LIST_OFFSETS, 0, correlation, body)


def metadata(*topics, correlation=1):
    return frame(METADATA, 0, correlation,
                 struct.pack(">i", len(topics)) + b"".join(map(text, topics)))


class Closed(Exception):
    """The broker has closed the connection."""


class Link:
    """One connection."""

    def __init__(self, port, timeout_s=20.0, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout_s)
        self.socket.connect(("127.0.0.1", port))

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """The next answer: (correlation id, body)."""
        size = struct.unpack(">i", self._exactly(4))[0]
        data = self._exactly(size)
        return struct.unpack_from(">i", data)[0], data[4:]

    def ask(self, request):
        self.send(request)
        return self.receive()[1]

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            try:
                chunk = self.socket.recv(size - len(data))
            except ConnectionResetError:
                raise Closed from None
            if not chunk:
                raise Closed
            data += chunk
        return data

    def is_closed(self):
        """Whether the broker closes it, without a word, within the timeout."""
        try:
            self._exactly(1)
        except Closed:
            return True
        return False

    def close(self):
        self.socket.close()


def produced(body):
    """(error, offset) of an answer to produce()."""
    return struct.unpack(">hq", body[-10:])


def fetched(body, topic):
    """(error, high watermark, records) of an answer to fetch()."""
    at = 4 + 2 + len(topic) + 4 + 4
    error, watermark, size = struct.unpack_from(">hqi", body, at)
    return error, watermark, body[at + 14:at + 14 + size]


def offsets(body, topic):
    """(error, [offset]) of an answer to list_offsets()."""
    at = 4 + 2 + len(topic) + 4 + 4
    error, count = struct.unpack_from(">hi", body, at)
    return error, list(struct.unpack_from(">%dq" % count, body, at + 6))


def entries(records):
    """[(offset, value)] of whole entries of plain messages."""
    found, at = [], 0
    while at + 12 <= len(records):
        offset, size = struct.unpack_from(">qi", records, at)
        if at + 12 + size > len(records):
            break
        key_len = struct.unpack_from(">i", records, at + 18)[0]
        value_at = at + 22 + max(key_len, 0)
        value_len = struct.unpack_from(">i", records, value_at)[0]
        found.append((offset, records[value_at + 4:value_at + 4 + value_len]))
        at += 12 + size
    return found
