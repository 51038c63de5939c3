"""A mixed group whose members come, go, die and lose their links at random, while brokers change; the
account at the end as in mixed_group_test. MIXED_SEED=n repeats a story (the seed is printed)."""
import os
import random

from lib.broker import FAST_FAILOVER
from lib.testing import long, timeout
from mixed_group_test import World

STEPS = 30
MEMBERS_MAX = 6


class Chaos:
    def __init__(self, world, dice):
        self.world, self.dice, self.born = world, dice, 0

    def step(self):
        world, there = self.world, sorted(self.world.there)
        acts = [self.join] * 3 if len(there) < MEMBERS_MAX else []
        if len(there) > 2:
            acts += [self.leave, self.leave, self.kill, self.kill, self.cut, self.bounce_broker]
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

    def grow(self):
        self.world.cluster.add_partitions("t", self.world.partitions + 1)
        self.world.partitions += 1
        return "%d partitions" % self.world.partitions

    def bounce_broker(self):
        cluster, number = self.world.cluster, self.dice.choice([0, 1])
        cluster.brokers[number].kill()
        for partition in range(self.world.partitions):
            cluster.wait_for_leader("t", partition, 1 - number)
        cluster.restart_broker(number)
        cluster.elect_preferred_leaders("t")
        return "broker %d was away" % number


@long
@timeout(900)
def test_at_random(t):
    seed = int(os.environ.get("MIXED_SEED") or random.randrange(1000000))
    print("MIXED_SEED=%d" % seed, flush=True)
    world = World(t, 5, properties=FAST_FAILOVER)
    chaos = Chaos(world, random.Random(seed))
    chaos.join()
    for _ in range(STEPS):
        chaos.step()
    world.end()
