"""What a test gets: makers of everything above, in a folder of its own, all ended when the test ends."""
import os
import pathlib
import shutil

from . import jars, processes, versions
from .cluster import Cluster
from .group import Group
from .java_members import JavaMembers
from .members import ZkConsumer
from .our_members import OurMembers, of_mode
from .processes import Process
from .producer import Producer
from .proxy import KafkaProxy, ZooKeeperProxy
from .zkbroker import ZkCluster
from .zookeeper import ZooKeeperServer


class Context:
    def __init__(self, folder, mode="compat"):
        """`mode`: zookeeper.mode of our members, unless a test says otherwise (run.py --mode)."""
        self.mode = mode
        self.folder = pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._undo = []

    def defer(self, function, *arguments):
        """To be called at the end, the latest first."""
        self._undo.append((function, arguments))

    def by_mode(self, compat, safe):
        """What differs between the two."""
        return safe if self.mode == "safe" else compat

    # ---- servers ----

    def zookeeper(self, release="3.8", properties=None):
        if release == "3.4":
            jars.require(versions.ZOOKEEPER_34_FROM)
        server = ZooKeeperServer(self._new_folder("zookeeper"), release, properties)
        self.defer(server.kill)
        server.start()
        return server

    def cluster(self, kafka=versions.LEGACY, brokers=1, zookeeper="3.8", start=True, **options):
        """A running cluster (see Cluster); the test is skipped when the jars are not there. With
        start=False it is for the test to start, when all proxies know their brokers. A test of
        the legacy release runs on our own brokers when $ZKC_ON says zkbroker (run.py --on)."""
        if kafka == versions.LEGACY and os.environ.get("ZKC_ON") == "zkbroker":
            return self.zk_cluster(brokers, zookeeper, start, **options)
        jars.require(kafka)
        if zookeeper == "3.4":
            jars.require(versions.ZOOKEEPER_34_FROM)
        cluster = Cluster(self._new_folder("cluster"), kafka, brokers, zookeeper, **options)
        self.defer(cluster.kill)
        return cluster.start() if start else cluster

    def zk_cluster(self, brokers=1, zookeeper="3.8", start=True, **options):
        """The same of our own brokers; needs no jars."""
        if zookeeper == "3.4":
            jars.require(versions.ZOOKEEPER_34_FROM)
        cluster = ZkCluster(self._new_folder("cluster"), versions.LEGACY, brokers, zookeeper, **options)
        self.defer(cluster.kill)
        return cluster.start() if start else cluster

    def zookeeper_proxy(self, server):
        """A proxy before a server or a cluster's; what it saw is kept when the test fails."""
        server = getattr(server, "zookeeper", server)
        proxy = ZooKeeperProxy(server.address)
        self.defer(proxy.close)
        self.defer(lambda: proxy.write_events(self._new_folder("proxy").with_suffix(".jsonl")))
        return proxy

    def kafka_proxy(self, address=None):
        """A proxy before a broker. A broker must be told the proxy's port and the proxy the broker's:

            proxy = t.kafka_proxy()
            cluster = t.cluster(advertised_ports={0: proxy.port("b0")}, start=False)
            proxy.server = cluster.brokers[0].listen_address
            cluster.start()
        """
        proxy = KafkaProxy(address)
        self.defer(proxy.close)
        return proxy

    def cluster_behind_proxy(self, **options):
        """A cluster of one broker that clients reach through a proxy, "b0" to it; (cluster, proxy)."""
        proxy = self.kafka_proxy()
        cluster = self.cluster(advertised_ports={0: proxy.port("b0")}, start=False, **options)
        proxy.server = cluster.brokers[0].listen_address
        cluster.start()
        return cluster, proxy

    # ---- members and peers ----

    def group(self, cluster, name):
        return Group(cluster.zk, name)

    def producer(self, cluster, compression=None):
        producer = Producer(cluster, compression)
        self.defer(producer.close)
        return producer

    def java_members(self, cluster, group, version=versions.LEGACY, name="java"):
        members = JavaMembers(self._new_folder(name), cluster.zookeeper_connect, group, version, name)
        self.defer(members.kill)
        return members

    def our_members(self, cluster, group, name="ours", env=None):
        """Members of our library in a process of their own."""
        members = OurMembers(self._new_folder(name), cluster.zookeeper_connect, group, name, env,
                             self.mode)
        self.defer(members.kill)
        return members

    def zkconsumer(self, cluster, name, group, topic, properties=None, extra=(), zookeeper=None):
        """A running `zkconsumer consume`; `zookeeper`: another address, e.g. a proxy's."""
        settings = {**of_mode(self.mode), "auto.offset.reset": "smallest", "zookeeper.session.timeout.ms": 6000,
                    "auto.commit.interval.ms": 1000, "consumer.id": name, **(properties or {})}
        consumer = ZkConsumer(self.folder, name, zookeeper or cluster.zookeeper_connect, group, topic,
                              settings, extra)
        self.defer(consumer.kill)
        return consumer

    def process(self, name, command, **options):
        """Any other program; lines of its output are collected."""
        process = Process(name, command, **options)
        self.defer(process.kill)
        return process

    # ---- the end ----

    def close(self):
        """Ends everything; the first error on the way is raised at the end."""
        first = None
        while self._undo:
            function, arguments = self._undo.pop()
            try:
                function(*arguments)
            except Exception as error:  # the others must be ended all the same
                first = first or error
        processes.kill_all()
        if first:
            raise first

    def remove_folder(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def _new_folder(self, name):
        path, number = self.folder / name, 1
        while path.exists() or path.with_suffix(".jsonl").exists():
            number += 1
            path = self.folder / ("%s-%d" % (name, number))
        return path
