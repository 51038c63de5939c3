"""docs/migration.md, carried out: a group of Java members of Kafka 0.8.2.2 becomes one of ours, member by member,
and Java's again, while messages are written all the time; then the same with the whole group stopped between.
Each step of the page is a step here, with the check that it names."""
from lib.kafka_tools import kafkas
from lib.ledger import Traffic
from lib.members import Account, run
from lib.testing import timeout
from lib.waiting import wait_for

SETTINGS = {"zookeeper.session.timeout.ms": 4000, "auto.commit.interval.ms": 500, "auto.offset.reset": "smallest",
            "rebalance.backoff.ms": 1000}
PARTITIONS = 4


class Group:
    def __init__(self, t):
        self.t = t
        self.cluster = t.cluster(zookeeper_properties={"tickTime": 500})
        self.cluster.create_topic("t", PARTITIONS)
        self.zk = t.group(self.cluster, "g")
        self.there = {}
        self.all = {}

    def java(self, name):
        member = self.t.java_members(self.cluster, "g", name=name)
        member.join(name, "t", properties=SETTINGS)
        self.there[name] = self.all[name] = member

    def ours(self, name):
        self.there[name] = self.all[name] = self.t.zkconsumer(self.cluster, name, "g", "t",
                                                              {**SETTINGS, "consumer.id": name})

    def leave(self, name):
        member = self.there.pop(name)
        if hasattr(member, "leave"):
            assert member.leave() == 0
        else:
            member.close_wait(name)

    def verify(self):
        """The page's check after every step."""
        def is_settled():
            done = run("zkconsumer", "groups", "verify", "-G", "g", "--zookeeper", self.cluster.zookeeper_connect)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout == "Rebalance operation successful !\n" and len(
                set(self.zk.owners("t").values())) == len(self.there)
        wait_for(is_settled, "groups verify to succeed", 90, every_s=0.2)

    def delivered(self):
        return [message for name, member in self.all.items()
                for message in (member.messages(name) if hasattr(member, "close_wait") else member.messages())]

    def wait_until_consumed(self, produced):
        def ends():
            keys = {(message.partition, message.offset) for message in self.delivered()}
            return set(produced) <= keys
        wait_for(ends, "everything to be consumed", 90, every_s=0.2)


@timeout(420)
def test_one_by_one_and_back(t):
    group = Group(t)
    traffic = Traffic(group.cluster, "t")
    t.defer(traffic.close)
    group.java("j1")
    group.java("j2")
    group.verify()
    export = t.folder / "before.txt"
    done = run("zkconsumer", "offsets", "export", "-G", "g", "-o", export, "--zookeeper",
               group.cluster.zookeeper_connect)
    assert done.returncode == 0 and export.exists()
    for comes, goes in (("c1", "j1"), ("c2", "j2")):  # there
        group.ours(comes)
        group.verify()
        group.leave(goes)
        group.verify()
    for comes, goes in (("j3", "c1"), ("j4", "c2")):  # and back
        group.java(comes)
        group.verify()
        group.leave(goes)
        group.verify()
    produced = traffic.stop()
    group.wait_until_consumed(produced)
    for name in list(group.there):
        group.leave(name)
    check(group, produced)
    checker = kafkas("ConsumerOffsetChecker", "--zookeeper", group.cluster.zookeeper_connect, "--group", "g")
    mine = run("kafka-consumer-offset-checker", "--zookeeper", group.cluster.zookeeper_connect, "--group", "g")
    assert mine.stdout == checker.out, (mine.stdout, checker.out)
    assert all(row.split()[5] == "0" for row in checker.out.splitlines()[1:]), checker.out


def check(group, produced):
    """Nothing is lost; what came twice is what 0.8's own rebalances repeat: at most what was on its way when a
    partition moved (a member reads the offset before the owner has committed it)."""
    account = Account(produced, group.delivered())
    account.check(duplicates_max=len(produced) // 4)
    print("%d produced, %d came twice" % (len(produced), len(account.twice)))


@timeout(300)
def test_all_at_once_through_a_stop(t):
    """The other way: stop all, look, start ours; back with the exported offsets."""
    group = Group(t)
    produced = t.producer(group.cluster).send_numbered("t", PARTITIONS, 50)
    group.java("j1")
    group.verify()
    group.wait_until_consumed(produced)
    group.leave("j1")
    export = t.folder / "offsets.txt"
    words = ("--zookeeper", group.cluster.zookeeper_connect)
    assert run("zkconsumer", "offsets", "export", "-G", "g", "-o", export, *words).returncode == 0
    assert group.zk.offsets("t") == {p: 50 for p in range(PARTITIONS)}
    produced |= t.producer(group.cluster).send_numbered("t", PARTITIONS, 50, prefix="n")
    group.ours("c1")
    group.wait_until_consumed(produced)
    group.leave("c1")
    Account(produced, group.delivered()).check(duplicates_max=0)  # with nobody beside, nothing comes twice
    assert group.zk.offsets("t") == {p: 100 for p in range(PARTITIONS)}
    assert run("zkconsumer", "offsets", "import", "-i", export, *words).returncode == 0  # back in time
    group.java("j2")
    wait_for(lambda: len(group.all["j2"].messages("j2")) == 50 * PARTITIONS, "Java to do the second half again", 60)
    group.leave("j2")
    assert group.zk.offsets("t") == {p: 100 for p in range(PARTITIONS)}
