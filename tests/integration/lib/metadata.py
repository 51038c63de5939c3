"""Metadata version 0, by hand: what does this broker say about the cluster? All releases answer it."""
import socket
import struct


class Metadata:
    """brokers: {id: (host, port)}; topics: {name: (error, {partition: (error, leader, replicas, isr)})}"""

    def __init__(self):
        self.brokers = {}
        self.topics = {}

    def leaders(self, topic):
        """{partition: leader} when every partition known has one; else None."""
        error, partitions = self.topics.get(topic, (3, {}))
        if error or not partitions:
            return None
        if any(fault not in (0, 9) or leader < 0 for fault, leader, _, _ in partitions.values()):
            return None  # 9: ReplicaNotAvailable, a dead follower; the leader serves
        return {number: leader for number, (_, leader, _, _) in partitions.items()}


def ask(port, topics=(), timeout_s=2.0):
    """Asks the broker on this port of 127.0.0.1 (no topics: all); None when it does not answer. A topic
    that does not exist may be created by asking (auto.create.topics.enable)."""
    body = struct.pack(">i", len(topics)) + b"".join(_string(name) for name in topics)
    request = struct.pack(">hhi", 3, 0, 1) + _string("harness") + body
    try:
        with socket.create_connection(("127.0.0.1", port), timeout_s) as link:
            link.settimeout(timeout_s)
            link.sendall(struct.pack(">i", len(request)) + request)
            size = struct.unpack(">i", _exactly(link, 4))[0]
            return _decode(_exactly(link, size))
    except OSError:
        return None


def _string(text):
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _exactly(link, size):
    data = b""
    while len(data) < size:
        chunk = link.recv(size - len(data))
        if not chunk:
            raise ConnectionError("closed")
        data += chunk
    return data


def _decode(data):
    at = 4  # behind the correlation id

    def number(form):
        nonlocal at
        value = struct.unpack_from(form, data, at)[0]
        at += struct.calcsize(form)
        return value

    def string():
        nonlocal at
        size = max(number(">h"), 0)
        at += size
        return data[at - size:at].decode()

    def numbers():
        return [number(">i") for _ in range(number(">i"))]

    answer = Metadata()
    for _ in range(number(">i")):
        broker, host, port = number(">i"), string(), number(">i")
        answer.brokers[broker] = (host, port)
    for _ in range(number(">i")):
        error, name, partitions = number(">h"), string(), {}
        for _ in range(number(">i")):
            fault, partition, leader = number(">h"), number(">i"), number(">i")
            partitions[partition] = (fault, leader, numbers(), numbers())
        answer.topics[name] = (error, partitions)
    return answer
