"""A ZooKeeper server and brokers of one Kafka release."""
import pathlib
import signal

from kazoo.client import KazooClient

from . import metadata, topics, versions
from .broker import Broker
from .waiting import wait_for
from .zookeeper import ZooKeeperServer


class Cluster:
    """Started by `start`, or given a running `zookeeper_server`. `chroot` ("/kafka") is where the
    cluster lives. `properties` are for every broker, `broker_properties` ({id: {...}}) and
    `advertised_ports` ({id: port}) for single ones. Topics are not created by asking for them."""

    _broker_class = Broker

    def __init__(self, folder, kafka=versions.LEGACY, brokers=1, zookeeper="3.8", chroot="",
                 properties=None, broker_properties=None, advertised_ports=None,
                 zookeeper_properties=None, zookeeper_server=None):
        self.folder = pathlib.Path(folder)
        self.chroot = chroot
        self.kafka = versions.KAFKA[kafka]
        self.zookeeper = zookeeper_server or ZooKeeperServer(
            self.folder / "zookeeper", zookeeper, zookeeper_properties)
        self._owns_zookeeper = zookeeper_server is None
        self._zk = None
        self.brokers = {
            number: self._broker_class(
                self.folder / ("broker-%d" % number), kafka, number, self.zookeeper_connect,
                {"auto.create.topics.enable": "false", **(properties or {}),
                 **(broker_properties or {}).get(number, {})},
                (advertised_ports or {}).get(number))
            for number in range(brokers)
        }

    @property
    def zookeeper_connect(self):
        """What `zookeeper.connect` is set to, chroot included."""
        return self.zookeeper.address + self.chroot

    @property
    def bootstrap(self):
        """What `bootstrap.servers` or `metadata.broker.list` is set to."""
        return ",".join(broker.address for broker in self.brokers.values())

    @property
    def zk(self):
        """A kazoo client on the cluster's root."""
        if self._zk is None:
            self._zk = KazooClient(self.zookeeper_connect, timeout=30)
            self._zk.start(30)
        return self._zk

    def start(self):
        if self._owns_zookeeper:
            self.zookeeper.start()
        if self.chroot:  # 0.8.0 and 0.8.1 do not make it
            root = KazooClient(self.zookeeper.address)
            root.start(30)
            root.ensure_path(self.chroot)
            root.stop()
            root.close()
        for broker in self.brokers.values():
            broker.start_without_waiting()
        for broker in self.brokers.values():
            broker.wait_until_serving()
        return self

    def stop(self):
        """The orderly way: brokers before ZooKeeper, or old ones do not end. Two brokers of 0.8.0 or
        0.8.1 that stop together hang (seen): there one after the other."""
        self._close_client()
        running = [broker for broker in self.brokers.values() if broker.is_running()]
        if self.kafka.at_least(0, 8, 2):
            for broker in running:
                broker.process.send_signal(signal.SIGTERM)
        for broker in running:
            broker.stop()
        if self._owns_zookeeper:
            self.zookeeper.stop()

    def kill(self):
        """At once, when the data does not matter."""
        self._close_client()
        for broker in self.brokers.values():
            broker.kill()
        if self._owns_zookeeper:
            self.zookeeper.kill()

    def _close_client(self):
        if self._zk is not None:
            self._zk.stop()
            self._zk.close()
            self._zk = None

    # ---- topics ----

    def create_topic(self, topic, partitions=1, replication=1, config=None, replicas=None):
        """`replicas` ({partition: [broker...]}) instead of the usual assignment."""
        replicas = replicas or topics.assignment(self._registered(), partitions, replication)
        topics.create(self.zk, topic, replicas, config)
        self.wait_for_topic(topic, len(replicas))

    def add_partitions(self, topic, total):
        replicas = topics.partitions(self.zk, topic)
        replication = len(replicas[0])
        replicas.update(topics.assignment(self._registered(), total, replication, len(replicas)))
        topics.set_partitions(self.zk, topic, replicas)
        self.wait_for_topic(topic, total)

    def delete_topic(self, topic, timeout_s=60.0):
        topics.request_deletion(self.zk, topic)
        wait_for(lambda: not topics.partitions(self.zk, topic), "topic %s to be deleted" % topic,
                 timeout_s)

    def wait_for_topic(self, topic, partitions, timeout_s=60.0):
        """Until every running broker names a leader for each partition."""
        for broker in self._running():
            def known():
                answer = metadata.ask(broker.port, [topic])
                leaders = answer.leaders(topic) if answer else None
                return leaders is not None and len(leaders) == partitions

            wait_for(known, "%d partitions of %s with leaders, by broker %d"
                     % (partitions, topic, broker.id), timeout_s, alive=[broker.process])

    def require_failover(self):
        """Skips the test where a partition has one replica."""

    def leader(self, topic, partition):
        return topics.leader(self.zk, topic, partition)

    def wait_for_leader(self, topic, partition, broker_id, timeout_s=60.0):
        wait_for(lambda: self.leader(topic, partition) == broker_id,
                 "broker %d to lead %s-%d" % (broker_id, topic, partition), timeout_s)

    def elect_preferred_leaders(self, topic, timeout_s=60.0):
        """Lets the first replica of each partition lead again, when all are in sync (as
        kafka.admin.PreferredReplicaLeaderElectionCommand)."""
        replicas = topics.partitions(self.zk, topic)

        def in_sync():
            for partition, ids in replicas.items():
                isr = topics.state(self.zk, topic, partition)["isr"]
                assert sorted(isr) == sorted(ids), "%s-%d: in sync %r" % (topic, partition, isr)
            return True

        wait_for(in_sync, "all replicas of %s to be in sync" % topic, timeout_s)
        topics.request_election(self.zk, topic, replicas)

    # ---- brokers ----

    def wait_until_unregistered(self, broker_id, timeout_s=60.0):
        """Until the session of a killed broker has ended. Before that 0.10 and later refuse to start
        again."""
        wait_for(lambda: broker_id not in self._registered(),
                 "the znode of broker %d to go" % broker_id, timeout_s)

    def restart_broker(self, broker_id):
        """Starts a broker that was stopped or killed, and waits for it."""
        self.wait_until_unregistered(broker_id)
        self.brokers[broker_id].start()

    def _running(self):
        return [broker for broker in self.brokers.values() if broker.is_running()]

    def _registered(self):
        return [int(name) for name in self.zk.get_children("/brokers/ids")]
