"""ZooKeeper servers that form an ensemble, whose links to each other can be cut.

    servers = Ensemble(t, "3.8", 3, can_cut=True)    # starts them; numbers from 1
    servers.cut(1, 3)                     # connections stay, nothing passes between 1 and 3, until heal
    servers.hold(1, 3)                    # what 1 sends to 3 waits, until release
    servers.kill(3); servers.start(3)
"""
from . import jars, versions
from .ports import free_port
from .proxy import ByteProxy
from .waiting import wait_for
from .zookeeper import ZooKeeperServer


class Ensemble:
    def __init__(self, t, release, count, properties=None, can_cut=False, system=None):
        if release == "3.4":
            jars.require(versions.ZOOKEEPER_34_FROM)
        self.numbers = range(1, count + 1)
        self._ports = {n: (free_port(), free_port()) for n in self.numbers}
        self._proxies = {n: [ByteProxy("127.0.0.1:%d" % port) for port in self._ports[n]]
                         for n in self.numbers if can_cut}  # towards n: for its followers, for elections
        self.servers = {}
        for pair in self._proxies.values():
            for proxy in pair:
                t.defer(proxy.close)
        for n in self.numbers:
            folder = t.folder / ("server-%d" % n)
            (folder / "data").mkdir(parents=True)
            (folder / "data" / "myid").write_text("%d\n" % n)
            self.servers[n] = ZooKeeperServer(folder, release, {
                "initLimit": 40, "syncLimit": 10, "quorumListenOnAllIPs": "false",
                **self._peers(n), **(properties or {})}, system)
            t.defer(self.servers[n].kill)
        for server in self.servers.values():
            server.start_without_waiting()
        self.wait_until_serving(list(self.numbers))

    def _peers(self, n):
        """As server n has them: the others behind proxies."""
        def ports(other):
            if other == n or other not in self._proxies:
                return self._ports[other]
            return tuple(proxy.port(str(n)) for proxy in self._proxies[other])
        return {"server.%d" % other: "127.0.0.1:%d:%d" % ports(other) for other in self.numbers}

    def port(self, n):
        return self.servers[n].port

    def mode(self, n):
        """"leader", "follower"; "" when it does not serve."""
        answer = self.servers[n].four_letter_word("srvr")
        return answer.split("Mode: ")[1].split()[0] if "Mode: " in answer else ""

    def leader(self):
        return next((n for n in self.numbers if self.mode(n) == "leader"), None)

    def _ways(self, a, b):
        return [(proxy, str(source)) for target, source in ((a, b), (b, a))
                for proxy in self._proxies[target]]

    def cut(self, a, b):
        for proxy, label in self._ways(a, b):
            proxy.hole(label)

    def hold(self, source, target):
        """It passes as one piece later, if there are pings to go before it."""
        self._proxies[target][0].hole(str(source), "up")

    def release(self, source, target):
        self._proxies[target][0].release(str(source))

    def heal(self):
        for pair in self._proxies.values():
            for proxy in pair:
                for n in self.numbers:
                    proxy.heal(str(n))

    def mend(self):
        """As it was at the start."""
        self.heal()
        for n in self.numbers:
            if not self.servers[n].process.is_running():
                self.start(n)
        self.wait_until_serving(list(self.numbers))

    def kill(self, n):
        self.servers[n].kill()

    def start(self, n):
        self.servers[n].start_without_waiting()

    def wait_until_serving(self, numbers):
        """With a leader among them."""
        wait_for(lambda: sorted(map(self.mode, numbers))
                 == ["follower"] * (len(numbers) - 1) + ["leader"],
                 "servers %s to serve" % numbers, 120,
                 alive=[self.servers[n].process for n in numbers])

    def wait_until_lost(self, n):
        """Server n does not serve, and no other counts it among its followers."""
        def is_lost():
            counts = [self.servers[k].four_letter_word("mntr") for k in self.numbers if k != n]
            return not self.mode(n) and not any(
                "zk_synced_followers\t%d" % (len(self.numbers) - 1) in text for text in counts)
        wait_for(is_lost, "server %d to be given up" % n, 60)
