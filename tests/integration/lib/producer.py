"""Producing test data, and reading it back with a peer."""
import subprocess

from kafka import KafkaProducer

from . import versions


class Producer:
    """kafka-python's producer, set for the brokers' release: acknowledged by all replicas."""

    def __init__(self, cluster, compression=None):
        self._producer = KafkaProducer(
            bootstrap_servers=cluster.bootstrap.split(","), acks="all", retries=20,
            api_version=cluster.kafka.python_api_version, compression_type=compression,
            max_block_ms=60000, request_timeout_ms=30000)

    def send(self, topic, messages):
        """Sends [(partition, key, value)] (bytes or None each) and waits; [(partition, offset)] in the
        same order."""
        futures = [self._producer.send(topic, value=value, key=key, partition=partition)
                   for partition, key, value in messages]
        self._producer.flush(60)
        results = [future.get(60) for future in futures]
        return [(result.partition, result.offset) for result in results]

    def send_numbered(self, topic, partitions, each, prefix="m"):
        """`each` messages to every partition, in turn, with values such as m-2-17 (partition, number);
        {(partition, offset)}."""
        return set(self.send(topic, [(partition, None, b"%s-%d-%d" % (prefix.encode(), partition, i))
                                     for i in range(each) for partition in range(partitions)]))

    def close(self):
        self._producer.close(10)


def kcat_options(version):
    """-X words for this release."""
    options = versions.KAFKA[version].client_options
    return [word for item in options.items() for word in ("-X", "%s=%s" % item)]


def kcat_produce(cluster, topic, lines, partition=None, compression=None, timeout_s=120):
    """One message for each line (bytes, without newline), by librdkafka."""
    command = ["kcat", "-P", "-b", cluster.bootstrap, "-t", topic, *kcat_options(cluster.kafka.version)]
    if partition is not None:
        command += ["-p", str(partition)]
    if compression:
        command += ["-z", compression]
    subprocess.run(command, input=b"".join(line + b"\n" for line in lines), check=True,
                   timeout=timeout_s)


def kcat_read(cluster, topic, timeout_s=120):
    """All that is there: [(partition, offset, value as text)], sorted."""
    command = ["kcat", "-C", "-e", "-q", "-b", cluster.bootstrap, "-t", topic, "-f", "%p %o %s\n",
               "-o", "beginning", *kcat_options(cluster.kafka.version)]
    out = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
                         timeout=timeout_s).stdout.decode("utf-8", "replace")
    rows = [line.split(" ", 2) for line in out.splitlines()]
    return sorted((int(partition), int(offset), value) for partition, offset, value in rows)
