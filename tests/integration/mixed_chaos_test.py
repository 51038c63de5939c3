"""For ten minutes, a mixed group whose members come, go, die, are stopped (SIGSTOP) and lose their links at
random, while brokers change and ZooKeeper is restarted; the account at the end as in mixed_group_test. Whoever
is stopped or cut off is back before its session ends: what 0.8.2 does after that is no account's, and has tests
of its own (docs/compat.md). MIXED_SEED=n repeats a story's choices (the seed is printed)."""
import os
import random
import time

from kazoo.exceptions import KazooException

from lib import topics
from lib.broker import FAST_FAILOVER
from lib.testing import long, timeout
from lib.waiting import wait_for
from mixed_group_test import World

SECONDS = 600
AWAY_MAX_S = 1.0  # a session lasts 3
MEMBERS_MAX = 6


class Chaos:
    def __init__(self, world, dice):
        self.world, self.dice, self.born = world, dice, 0

    def step(self):
        world, there = self.world, sorted(self.world.there)
        acts = [self.join] * 3 if len(there) < MEMBERS_MAX else []
        if len(there) > 2:
            acts += [self.leave, self.leave, self.kill, self.kill, self.cut, self.stop,
                     self.shut_out, self.bounce_broker, self.restart_zookeeper]
            acts += [self.grow] if world.partitions < 12 else []
        act = self.dice.choice(acts)
        what = act()
        print("%2d %s: %s" % (self.born, what, " ".join(sorted(world.there))), flush=True)
        world.settled()

    def join(self):
        self.born += 1
        kind = self.dice.choice(["java", "java", "ours", "program"])
        name = "%c%d-%s" % (self.dice.choice("abc"), self.born, kind)
        getattr(self.world, kind)(name)
        return "joins %s" % name

    def leave(self):
        name = self.dice.choice(sorted(self.world.there))
        self.world.leave(name)
        return "leaves %s" % name

    def kill(self):
        name = self.dice.choice(sorted(self.world.there))
        self.world.kill(name)
        return "dies %s" % name

    def cut(self):
        name = self.dice.choice(sorted(self.world.there))
        self.world.proxy.cut(name)
        return "is cut off %s" % name

    def stop(self):
        name = self.dice.choice(sorted(self.world.there))
        process = self.world.there[name].process
        process.pause()
        time.sleep(self.dice.uniform(0, AWAY_MAX_S))
        process.resume()
        return "is stopped %s" % name

    def shut_out(self):
        name = self.dice.choice(sorted(self.world.there))
        self.world.proxy.refuse(name)
        time.sleep(self.dice.uniform(0, AWAY_MAX_S))
        self.world.proxy.heal(name)
        return "is shut out %s" % name

    def restart_zookeeper(self):
        how = self.dice.choice(["stop", "kill"])
        server = self.world.cluster.zookeeper
        getattr(server, how)()
        server.start()
        wait_for(self.is_whole, "both brokers to be there and in sync", 120)
        return "ZooKeeper: %s, start" % how

    def is_whole(self):
        """Both brokers have every partition: one of them may go, and nothing is lost."""
        zk = self.world.cluster.zk
        try:
            for partition in range(self.world.partitions):
                state = topics.state(zk, "t", partition)
                assert state and len(state["isr"]) == 2, (partition, state)
            return sorted(zk.get_children("/brokers/ids")) == ["0", "1"]
        except KazooException as error:  # of the test's own client: its session may have ended, too
            raise AssertionError(repr(error)) from error

    def grow(self):
        self.world.cluster.add_partitions("t", self.world.partitions + 1)
        self.world.partitions += 1
        return "%d partitions" % self.world.partitions

    def bounce_broker(self):
        cluster, number = self.world.cluster, self.dice.choice([0, 1])
        wait_for(self.is_whole, "both brokers to be in sync", 120)
        cluster.brokers[number].kill()
        for partition in range(self.world.partitions):
            cluster.wait_for_leader("t", partition, 1 - number)
        cluster.restart_broker(number)
        cluster.elect_preferred_leaders("t")
        return "broker %d was away" % number


@long
@timeout(1500)
def test_at_random(t):
    seed = int(os.environ.get("MIXED_SEED") or random.randrange(1000000))
    print("MIXED_SEED=%d" % seed, flush=True)
    world = World(t, 5, properties=FAST_FAILOVER)
    chaos = Chaos(world, random.Random(seed))
    chaos.join()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        chaos.step()
    world.end()
