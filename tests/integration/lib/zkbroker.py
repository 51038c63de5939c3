"""Our own brokers, with the interface of lib/broker.py and lib/cluster.py: what is written for Kafka
0.8.2.2 runs on them, too."""
import pathlib
import re

from . import metadata, versions
from .cluster import Cluster
from .members import program
from .ports import free_port
from .processes import Process
from .testing import Skip
from .waiting import wait_for

_STARTED = re.compile(r" started: broker (\d+) on port (\d+)")


class ZkBroker:
    """One broker; port, id and data stay across stop, kill and start. `wrapper`: words before its
    command line, such as prlimit's."""

    def __init__(self, folder, version=versions.LEGACY, broker_id=0, zookeeper="", properties=None,
                 advertised_port=None):
        self.kafka = versions.KAFKA[version]
        self.folder = pathlib.Path(folder)
        self.id = broker_id
        self.port = free_port()
        self.listen_address = "127.0.0.1:%d" % self.port
        self.address = "127.0.0.1:%d" % (advertised_port or self.port)
        self.wrapper = []
        self.process = None
        self._log_start = 0
        self._properties = {
            "broker.id": broker_id,
            "zookeeper.connect": zookeeper,
            "log.dirs": self.folder / "logs",
            "host.name": "127.0.0.1",
            "port": self.port,
            "num.network.threads": 2,
            "delete.topic.enable": "true",
        }
        if advertised_port:
            self._properties["advertised.port"] = advertised_port
        self._properties.update(properties or {})

    @property
    def version(self):
        return self.kafka.version

    @property
    def log_file(self):
        return self.folder / "broker.log"

    @property
    def config_file(self):
        return self.folder / "server.properties"

    def log_text(self):
        """What it said since its last start."""
        with open(self.log_file, errors="replace") as log:
            log.seek(self._log_start)
            return log.read()

    def start(self):
        self.start_without_waiting()
        self.wait_until_serving()

    def start_without_waiting(self, *overrides):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.config_file.write_text("".join("%s=%s\n" % item for item in self._properties.items()))
        self._log_start = self.log_file.stat().st_size if self.log_file.exists() else 0
        command = [*self.wrapper, program("zkbroker"), self.config_file]
        for text in overrides:
            command += ["--override", text]
        self.process = Process("zkbroker %d" % self.id, command, out=self.log_file)

    def wait_until_serving(self, timeout_s=30.0, every_s=0.02):
        wait_for(self._is_serving, "%s to serve on port %d" % (self.process.name, self.port),
                 timeout_s, every_s, [self.process])

    def _is_serving(self):
        if not _STARTED.search(self.log_text()):
            return False
        answer = metadata.ask(self.port)
        return answer is not None and self.id in answer.brokers

    def started_port(self):
        """The port that it said it listens on."""
        return int(_STARTED.search(self.log_text()).group(2))

    def is_running(self):
        return self.process is not None and self.process.is_running()

    def stop(self):
        """The orderly way; its exit status."""
        return self.process.stop() if self.process else None

    def kill(self):
        """kill -9."""
        if self.process:
            self.process.kill()


class ZkCluster(Cluster):
    """A ZooKeeper server and brokers of ours."""

    _broker_class = ZkBroker

    def require_failover(self):
        raise Skip("a partition has one replica on zkbroker")

    def restart_broker(self, broker_id):
        """A registration that is left from before is waited for by the broker itself."""
        self.brokers[broker_id].start()
