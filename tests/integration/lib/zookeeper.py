"""A private ZooKeeper server."""
import pathlib
import re
import socket
import struct

from . import java, jars, versions
from .ports import free_port
from .processes import Process
from .waiting import wait_for

_DEBIAN_JARS = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"
_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


class ZooKeeperServer:
    """`release` is "3.4" (3.4.6, from Kafka 0.8.2.2's jars) or "3.8" (Debian's). The port and the data
    stay across stop, kill and start. `properties` go into zoo.cfg, e.g. {"tickTime": 500}: expiry comes
    in whole ticks, and session timeouts are held between 2 and 20 of them; `system` are Java's."""

    def __init__(self, folder, release="3.8", properties=None, system=None):
        if release not in versions.ZOOKEEPER:
            raise ValueError("no such ZooKeeper: %s (there are %s)"
                             % (release, ", ".join(versions.ZOOKEEPER)))
        self.folder = pathlib.Path(folder)
        self.release = release
        self.port = free_port()
        self.address = "127.0.0.1:%d" % self.port
        self.process = None
        self._system = system or {}
        self._properties = {
            "tickTime": 2000,
            "dataDir": self.folder / "data",
            "clientPort": self.port,
            "clientPortAddress": "127.0.0.1",
            "maxClientCnxns": 0,  # the default cuts the 61st connection of one address
            "clientPortListenBacklog": 4096,
            "forceSync": "no",  # the data need not survive the machine
            "preAllocSize": 1024,
            "4lw.commands.whitelist": "*",  # this and the next: 3.5 and later
            "admin.enableServer": "false",  # else it wants port 8080
            **(properties or {}),
        }

    @property
    def log_folder(self):
        """Where it writes its transactions."""
        return self.folder / "data" / "version-2"

    def start(self):
        self.start_without_waiting()
        self.wait_until_serving()

    def start_without_waiting(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "zoo.cfg"
        config.write_text("".join("%s=%s\n" % item for item in self._properties.items()))
        if self.release == "3.4":
            classpath = jars.classpath(versions.ZOOKEEPER_34_FROM)
            properties = java.log4j_file(self.folder, "WARN")
        else:
            classpath = _DEBIAN_JARS
            properties = {"org.slf4j.simpleLogger.defaultLogLevel": "warn"}
        properties.update(self._system)
        properties["zookeeper.jmx.log4j.disable"] = "true"
        # An ensemble: who has missed a vote asks again soon, not after up to a minute (3.6 and later).
        properties["zookeeper.fastleader.maxNotificationInterval"] = "1000"
        self.process = Process(
            "ZooKeeper %s" % self.release,
            java.command(classpath, _MAIN, config, heap_mb=256, properties=properties),
            out=self.folder / "zookeeper.log")

    def wait_until_serving(self, timeout_s=60.0):
        wait_for(lambda: "Mode" in self.four_letter_word("srvr"),
                 "ZooKeeper %s to serve on %s" % (self.release, self.address), timeout_s,
                 alive=[self.process])

    def four_letter_word(self, word, timeout_s=2.0):
        """The answer; "" when there is none (a server that is just starting may accept and say
        nothing)."""
        answer = b""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout_s) as link:
                link.settimeout(timeout_s)
                link.sendall(word.encode())
                while chunk := link.recv(65536):
                    answer += chunk
        except OSError:
            pass
        return answer.decode("utf-8", "replace")

    def sessions(self):
        """The ids of the sessions that are connected."""
        return [int(found, 16) for found in
                re.findall(r"sid=0x([0-9a-f]+)", self.four_letter_word("cons"))]

    def end_session(self, session):
        """As its owner would: the password comes from the id (SessionTrackerImpl, java.util.Random)."""
        mask, multiplier = (1 << 48) - 1, 0x5DEECE66D
        seed = ((session ^ 0xB3415C00) ^ multiplier) & mask
        password = b""
        for _ in range(4):
            seed = (seed * multiplier + 0xB) & mask
            password += struct.pack("<I", (seed >> 16) & 0xFFFFFFFF)
        with socket.create_connection(("127.0.0.1", self.port), 10) as link:
            link.sendall(struct.pack(">iiqiqi", 45, 0, 0, 6000, session, 16) + password + b"\0")
            assert link.recv(100), "no answer"
            link.sendall(struct.pack(">iii", 8, 1, -11))
            while link.recv(4096):
                pass

    def stop(self):
        if self.process:
            self.process.stop()

    def kill(self):
        if self.process:
            self.process.kill()
