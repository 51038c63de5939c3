"""A real Kafka broker from its released jars."""
import pathlib
import re

from . import jars, java, metadata, versions
from .ports import free_port
from .processes import Process
from .waiting import wait_for

# For tests that kill brokers: the dead one is noticed after 4 s instead of 6 (18 from 2.5 on), and
# producers that want every replica's acknowledgement wait 2 s for it instead of 10.
FAST_FAILOVER = {"zookeeper.session.timeout.ms": 4000, "replica.lag.time.max.ms": 2000}

_STARTED = re.compile(r"tarted \(kafka\.server\.Kafka")


class Broker:
    """One broker. Port, id and data stay across stop, kill and start. `advertised_port`: where clients
    and other brokers are sent instead of `port`, e.g. a proxy's (0.8.1 and later)."""

    def __init__(self, folder, version, broker_id, zookeeper, properties=None, advertised_port=None,
                 heap_mb=64):
        self.kafka = versions.KAFKA[version]
        self.folder = pathlib.Path(folder)
        self.id = broker_id
        self.port = free_port()
        self.listen_address = "127.0.0.1:%d" % self.port
        self.address = "127.0.0.1:%d" % (advertised_port or self.port)
        self.process = None
        self.jvm_flags = []  # for the next start; they win over the harness's own
        self._heap_mb = heap_mb
        self._log_start = 0
        self._properties = self._defaults(zookeeper, advertised_port)
        self._properties.update(properties or {})

    def _defaults(self, zookeeper, advertised_port):
        values = {
            "broker.id": self.id,
            "zookeeper.connect": zookeeper,
            "log.dirs": self.folder / "logs",
            "num.network.threads": 1,
            "num.io.threads": 2,
            "offsets.topic.num.partitions": 4,
            "offsets.topic.replication.factor": 1,
            "log.cleaner.dedupe.buffer.size": 4194304,  # 128 MB and more by default
            "controlled.shutdown.enable": "false",  # else the last broker waits 15 s
            "delete.topic.enable": "true",
        }
        if self.kafka.has_listeners:
            values["listeners"] = "PLAINTEXT://127.0.0.1:%d" % self.port
            if advertised_port:
                values["advertised.listeners"] = "PLAINTEXT://127.0.0.1:%d" % advertised_port
        else:
            values["host.name"] = "127.0.0.1"
            values["port"] = self.port
            if advertised_port:
                values["advertised.host.name"] = "127.0.0.1"
                values["advertised.port"] = advertised_port
        if self.kafka.at_least(0, 11):
            values["group.initial.rebalance.delay.ms"] = 0
            values["transaction.state.log.num.partitions"] = 2
            values["transaction.state.log.replication.factor"] = 1
            values["transaction.state.log.min.isr"] = 1
        return values

    @property
    def version(self):
        return self.kafka.version

    @property
    def log_file(self):
        return self.folder / "broker.log"

    def start(self):
        self.start_without_waiting()
        self.wait_until_serving()

    def start_without_waiting(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "server.properties"
        config.write_text("".join("%s=%s\n" % item for item in self._properties.items()))
        self._log_start = self.log_file.stat().st_size if self.log_file.exists() else 0
        self.process = Process(
            "Kafka %s broker %d" % (self.version, self.id),
            java.command(jars.classpath(self.version), "kafka.Kafka", config, heap_mb=self._heap_mb,
                         properties=java.log4j_file(self.folder), flags=self.jvm_flags),
            out=self.log_file)

    def wait_until_serving(self, timeout_s=90.0, every_s=0.05):
        """Serving: its log says started (the znode and the open port come earlier, too early to rely
        on), it answers Metadata and, from 0.9 on, knows of itself."""
        wait_for(self._is_serving, "%s to serve on port %d" % (self.process.name, self.port), timeout_s,
                 every_s, [self.process])

    def _is_serving(self):
        with open(self.log_file, errors="replace") as log:
            log.seek(self._log_start)
            if not _STARTED.search(log.read()):
                return False
        answer = metadata.ask(self.port)
        if answer is None:
            return False
        return self.id in answer.brokers or not self.kafka.lists_brokers_without_topics

    def is_running(self):
        return self.process is not None and self.process.is_running()

    def stop(self):
        """The orderly way; ZooKeeper must still be there."""
        if self.process:
            self.process.stop()

    def kill(self):
        """kill -9. Its znode stays until its session ends (cluster.wait_until_unregistered)."""
        if self.process:
            self.process.kill()
