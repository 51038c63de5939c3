"""The program against a real ZooKeeper server, and brokers that are a few lines of Python: what it
prints, what it returns, and what it leaves behind."""
import json
import signal
import socket
import struct
import subprocess

from kazoo.security import make_digest_acl

from lib.members import program
from lib.ports import free_port
from lib.testing import quick
from lib.waiting import wait_for
from lib.world import REGISTRATION, World, client, expect, expect_in, run

# ---- the command line ----

@quick
def test_help_and_versions(t):
    code, out, err = run("--version")
    expect((code, err), (0, ""))
    assert out.startswith("zkconsumer "), out
    for words in (["--help"], ["help"], ["-h"]):
        code, out, err = run(*words)
        expect((code, err), (0, ""))
        for command in ("consume", "produce", "groups list", "groups describe"):
            expect_in("\n  %s " % command, out)
    for command in (["consume"], ["produce"], ["groups", "list"], ["groups", "describe"]):
        first = run("help", *command)
        expect(first, run(*command, "--help"))
        expect(first, run(*command, "--nonsense", "-h"))
        expect((first[0], first[2]), (0, ""))
        for part in ("Usage: zkconsumer %s" % " ".join(command), "Options:", "Examples:",
                     "Exit status:", "--zkconnect", "--zookeeper.connect"):
            expect_in(part, first[1])
        code, page, err = run("help", "--man", *command)
        expect((code, err), (0, ""))
        for part in (".TH ZKCONSUMER-", ".SH NAME", ".SH OPTIONS", ".SH EXAMPLES", ".SH EXIT STATUS"):
            expect_in(part, page)


@quick
def test_usage_errors(t):
    for words, part in (
            ([], "no command"),
            (["grups"], 'did you mean "groups"?'),
            (["groups", "descirbe"], 'did you mean "groups describe"?'),
            (["groups", "frobnicate"], 'unknown command "groups frobnicate"'),
            (["completion", "bsh"], 'unknown shell "bsh"; there are: bash, zsh, fish'),
            (["completion"], "for which shell?"),
            (["groups"], "zkconsumer groups list"),
            (["help", "frobnicate"], "unknown command"),
            (["groups", "list"], "--zookeeper is needed, e.g. zkconsumer groups list --zookeeper="),
            (["groups", "list", "--zookeper=x"], "did you mean --zookeeper?"),
            (["groups", "list", "--zookeeper=h:99999"], "99999"),
            (["groups", "list", "--zookeeper=h:1", "--timeout=soon"], "--timeout=soon"),
            (["groups", "list", "--zookeeper=h:1", "extra"], '"extra" is no option'),
            (["groups", "describe", "--zookeeper=h:1"], "--group is needed"),
            (["groups", "describe", "--zookeeper=h:1", "--group=a/b"], "--group: "),
            (["groups", "describe", "--zookeeper=h:1", "--group=g", "--strategy=rang"], "expected range"),
            (["produce", "--zookeeper=h:1"], "--topic is needed"),
            (["produce", "--topic=t"], "--zookeeper is needed"),
            (["produce", "--topic=a b", "--zookeeper=h:1"], "--topic: "),
            (["produce", "--topic=t", "--zookeeper=h:1", "-X", "nonsense=1"], "nonsense"),
            (["produce", "--topic=t", "--zookeeper=h:1", "-X", "acks"], "expected KEY=VALUE"),
            (["produce", "--topic=t", "--zookeeper=h:1", "-X", "bootstrap.servers=h:1"],
             "found through ZooKeeper"),
            (["produce", "--topic=t", "--zookeeper=h:1", "-D", "\\q"], "unknown escape"),
            (["produce", "--topic=t", "--zookeeper=h:1", "-F", "/nonexistent"], "/nonexistent"),
    ):
        code, out, err = run(*words)
        expect((words, code, out), (words, 1, ""))
        expect_in(part, err)


@quick
def test_zookeeper_that_is_not_there(t):
    nobody = "127.0.0.1:%d" % free_port()
    for words in (["groups", "list"], ["groups", "describe", "--group=g"], ["produce", "--topic=t"]):
        code, out, err = run(*words, "--zookeeper", nobody, stdin="a\n")
        expect((code, out), (3, ""))
        expect_in(nobody, err)


@quick
def test_zookeeper_that_says_nothing(t):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel takes the connection
        address = "127.0.0.1:%d" % silent.getsockname()[1]
        code, out, err = run("groups", "list", "--zookeeper", address, "--timeout=300")
        expect((code, out), (3, ""))
        expect_in(address, err)


# ---- consume ----

def consume(t, world, *words, zookeeper=None):
    """A running `zkconsumer consume` of topic t."""
    number = len(list(t.folder.glob("consume*.err")))
    return t.process("consume", [program("zkconsumer"), "consume", "-t", "t", "--zookeeper",
                                 zookeeper or world.connect, *words],
                     err=t.folder / ("consume%d.err" % number))


def told(process):
    with open(process.err_path) as file:
        return file.read()


def groups(world):
    return world.zk.get_children("/consumers") if world.zk.exists("/consumers") else []


@quick
def test_consume_usage_errors(t):
    config = t.folder / "c.properties"
    config.write_text("group.id=g\r\nauto.comit.enable=false\nzookeeper.connect : h:1\n"
                      "zookeeper.session.timeout.ms=abc\n")
    strict = t.folder / "strict.properties"
    strict.write_text("strict.config=true\nauto.comit.enable=false\n")
    binary = t.folder / "binary"
    binary.write_bytes(b"\x7fELF\0\n")
    for words, part in (
            ([], "--topic is needed"),
            (["-t", "t"], "--zookeeper is needed"),
            (["-t", "t:0"], "expected TOPIC or TOPIC:STREAMS"),
            (["-t", "a/b", "--zookeeper=h:1"], "--topic: "),
            (["-t", "t", "t", "--zookeeper=h:1"], "topic t is given twice"),
            (["-t", "t", "-o", "3", "--zookeeper=h:1"], "--offset needs --partition"),
            (["-t", "t", "-t", "u", "-p", "0", "--zookeeper=h:1"], "takes one topic, not 2"),
            (["-t", "t", "-p", "0", "-o", "stored", "--zookeeper=h:1"], "needs --group"),
            (["-t", "t", "-p", "0", "-o", "begin", "--zookeeper=h:1"], "expected beginning, end"),
            (["-t", "t", "-p", "0", "-o", "3", "--from-beginning", "--zookeeper=h:1"], "both say"),
            (["-t", "t", "-f", "%t %x", "--zookeeper=h:1"], "unknown token %x at position 4"),
            (["-t", "t", "-f", "%t", "-J", "--zookeeper=h:1"], "--format and --json"),
            (["-t", "t", "-c", "0", "--zookeeper=h:1"], "--max-messages=0"),
            (["-t", "t", "--exit-grace=5", "--zookeeper=h:1"], "without --exit-at-end"),
            (["-t", "t", "-G", "a b", "--zookeeper=h:1"], "group"),
            (["-t", "t", "-G", "..", "--zookeeper=h:1"], "--group: "),
            (["-t", "t", "-G", "", "--zookeeper=h:1"], "--group: group id is empty"),
            (["--whitelist=(", "-G", "g", "--zookeeper=h:1"], "--whitelist: regular expression"),
            (["-t", "t", "-F", str(binary)], "it is no properties file (binary)"),
            (["-t", "t", "--zookeeper=h:99999"], "99999"),
            (["-t", "t", "-X", "auto.comit.enable=false"], "did you mean auto.commit.enable?"),
            (["-t", "t", "-X", "rebalance.max.retries=-5"], "rebalance.max.retries"),
            (["-t", "t", "-X", "partition.assignment.strategy=rangee"], "rangee"),
            (["-t", "t", "-F", "/nonexistent"], "/nonexistent"),
            (["-t", "t", "-F", str(config)], "c.properties:4: "),
            (["-t", "t", "-F", str(config)], "c.properties:2: ignored: "),
            (["-t", "t", "-F", str(strict)], "strict.properties:2: "),
    ):
        code, out, err = run("consume", *words)
        expect((words, code, out), (words, 1, ""))
        expect_in(part, err)


@quick
def test_consume_without_zookeeper(t):
    nobody = "127.0.0.1:%d" % free_port()
    for words in (["-p", "0"], ["-X", "zookeeper.connection.timeout.ms=300"],
                  ["-G", "g", "-X", "zookeeper.connection.timeout.ms=300"]):
        code, out, err = run("consume", "-t", "t", "--zookeeper", nobody, *words)
        expect((code, out), (3, ""))
        expect_in("% ERROR: ", err)
        expect_in(nobody, err)
        assert "left in ZooKeeper" not in err, err


@quick
def test_credentials_that_are_refused(t):
    """ZooKeeper takes the session on first, and then refuses them for good."""
    world = World(t)
    for words in (["consume", "-e"], ["consume"], ["consume", "-X", "zookeeper.mode=compat", "-G", "g"],
                  ["consume", "-p", "0"]):
        code, out, err = run(*words, "-t", "t", "--zookeeper", world.connect,
                             "-X", "zookeeper.auth=foo:u:x")
        expect((words, code, out), (words, 1, ""))
        expect((words, err.count("refuses the credentials: foo is no scheme")), (words, 1))


@quick
def test_a_group_that_others_protect(t):
    """It is tried again every second, told once, and --exit-at-end ends."""
    world = World(t)
    world.zk.ensure_path("/consumers")
    world.zk.create("/consumers/g", acl=[make_digest_acl("u", "p", all=True)])
    for mode in ("safe", "compat"):
        code, out, err = run("consume", "-t", "t", "-e", "--exit-grace=2500", "-G", "g",
                             "--zookeeper", world.connect, "-X", "zookeeper.mode=" + mode)
        expect((mode, code, out), (mode, 0, ""))
        expect_in("no partition was assigned for 2500 ms", err)
        expect_in("set zookeeper.auth", err)
        lines = [line for line in err.splitlines() if "egister" in line and "NoAuth" in line]
        expect((mode, len(lines)), (mode, 1))


@quick
def test_groups_that_others_protect_are_left_out(t):
    """What is open is written; what is not is named, once, and the status is 2."""
    world = World(t)
    for group in ("a", "b", "c"):
        world.zk.create("/consumers/%s/offsets/t/0" % group, b"5", makepath=True)
    world.zk.ensure_path("/consumers/b/ids")
    acl = [make_digest_acl("u", "p", all=True)]
    world.zk.set_acls("/consumers/c/offsets/t/0", acl)  # a part of it
    world.zk.set_acls("/consumers/b/ids", acl)
    world.zk.set_acls("/consumers/b/offsets", acl)
    line = "/consumers/%s/offsets/t/0:5\n"
    code, out, err = run("offsets", "export", "--zookeeper", world.connect)
    expect((code, out), (2, line % "a"))
    for group in ("b", "c"):
        expect(err.count("group %s is left out, or a part of it" % group), 1)
    expect_in("/consumers/b/offsets", err)
    code, out, err = run("offsets", "export", "--zookeeper", world.connect, "-G", "b", "-G", "a")
    expect((code, out, "no offsets" in err), (2, line % "a", False))
    code, out, err = run("groups", "list", "--json", "--zookeeper", world.connect)
    expect((code, [json.loads(row)["members"] for row in out.splitlines()]), (2, [0, None, 0]))
    expect_in("the members of group b are not known", err)
    expect(run("groups", "list", "--zookeeper", world.connect)[:2], (0, "a\nb\nc\n"))


@quick
def test_a_made_up_group_goes_with_its_process(t):
    world = World(t)
    for number in (signal.SIGINT, signal.SIGTERM):
        process = consume(t, world)
        name = wait_for(lambda: groups(world), "the group")[0]
        assert name.startswith("console-consumer-"), name
        assigned = "%% Group %s: assigned: " % name
        wait_for(lambda: all(p in " ".join(line for line in told(process).splitlines()
                                           if line.startswith(assigned))
                             for p in ("t [0]", "t [1]")), "the assignment, in one or in pieces")
        world.zk.ensure_path("/consumers/%s/offsets/t/0" % name)
        expect(process.stop(number), 0)
        expect((groups(world), process.text_lines()), ([], []))
        expect_in("%% Joining group %s as %s_" % (name, name), told(process))
        expect_in("% Consumed 0 messages\n", told(process))


@quick
def test_named_groups_are_kept(t):
    world = World(t)
    config = t.folder / "c.properties"
    config.write_text("group.id=from-file\n")
    for words, name in ((["--group=g"], "g"), (["-F", str(config)], "from-file")):
        process = consume(t, world, *words)
        wait_for(lambda: "assigned" in told(process), "the assignment")
        member, = world.zk.get_children("/consumers/%s/ids" % name)
        wait_for(lambda name=name: world.zk.exists("/consumers/%s/owners/t/0" % name), "the claim, if they come singly")
        expect(world.zk.get("/consumers/%s/owners/t/0" % name)[0].decode(), member + "-0")
        expect(process.stop(signal.SIGTERM), 0)
        expect(world.zk.get_children("/consumers/%s/ids" % name), [])
        expect(world.zk.get_children("/consumers/%s/owners/t" % name), [])


@quick
def test_a_group_that_others_have_joined_is_left_to_them(t):
    world = World(t)
    process = consume(t, world)
    wait_for(lambda: "assigned" in told(process), "the assignment")
    name, = groups(world)
    world.a.create("/consumers/%s/ids/zzz" % name, (REGISTRATION % "{}").encode(), ephemeral=True)
    expect(process.stop(signal.SIGINT), 0)
    expect((groups(world), world.zk.get_children("/consumers/%s/ids" % name)), ([name], ["zzz"]))
    expect_in("others have joined", told(process))


@quick
def test_signals_that_come_together_are_one(t):
    """As of timeout(1), to the process and to its group."""
    world = World(t)
    for _ in range(3):
        process = consume(t, world, "-G", "g")
        wait_for(lambda: "assigned" in told(process), "the assignment")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        expect(process.wait(), 0)
        expect(world.zk.get_children("/consumers/g/ids"), [])


def end_again(process, number):
    if process.is_running():
        process.send_signal(number)
    return not process.is_running()


@quick
def test_a_second_signal_ends_it_at_once(t):
    world = World(t)
    proxy = t.zookeeper_proxy(world.server)
    for number in (signal.SIGINT, signal.SIGTERM):
        label = number.name
        process = consume(t, world, "-G", label, zookeeper=proxy.listen(label))
        wait_for(lambda: "assigned" in told(process), "the assignment")
        proxy.hole(label)  # so that it cannot leave in order
        process.send_signal(number)
        wait_for(lambda: "Leaving in order" in told(process), "the first signal to be seen")
        wait_for(lambda: end_again(process, number), "the second signal to end it")
        expect(process.wait(), 128 + number)
        assert world.zk.get_children("/consumers/%s/ids" % label), "it has left in order"


@quick
def test_the_first_rebalance_is_given_up(t):
    """Somebody holds a partition and does not let go."""
    world = World(t)
    world.own(world.a, 1, "g_other-0")
    code, out, err = run("consume", "-t", "t", "-G", "g", "--zookeeper", world.connect,
                         "-X", "zookeeper.mode=compat",
                         "-X", "rebalance.max.retries=2", "-X", "rebalance.backoff.ms=100")
    expect((code, out), (1, ""))
    expect_in("the first rebalance was given up after 2 attempts; zkconsumer groups describe --group=g",
              err)
    expect(world.zk.get_children("/consumers/g/ids"), [])


@quick
def test_exit_at_end_without_partitions(t):
    world = World(t)
    code, out, err = run("consume", "-t", "nosuch", "--zookeeper", world.connect, "-e",
                         "--exit-grace=200")
    expect((code, out), (2, ""))
    expect_in("no partition was assigned for 200 ms", err)
    expect_in("there is no topic nosuch", err)
    expect(groups(world), [])


@quick
def test_single_partitions_register_nothing(t):
    world = World(t)
    before = world.nodes()
    process = consume(t, world, "-p", "0-1")
    wait_for(lambda: world.broker.requests, "a request at the broker")
    expect(process.stop(signal.SIGINT), 0)
    code, out, err = run("consume", "-t", "t", "--zookeeper", world.connect, "-p", "2")
    expect((code, out), (1, ""))
    expect_in("topic t has no partition 2; it has 2, from 0", err)
    code, out, err = run("consume", "-t", "nosuch", "-p", "0", "--zookeeper", world.connect)
    expect((code, out), (1, ""))
    expect_in("there is no topic nosuch", err)
    expect(world.nodes(), before)


# ---- groups list ----

@quick
def test_groups_are_listed(t):
    world = World(t)
    code, out, err = run("groups", "list", "--zookeeper", world.connect)
    expect((code, out), (0, ""))
    expect_in("no /consumers", err)
    world.healthy()
    world.zk.create("/consumers/only-offsets/offsets/t/0", b"5", makepath=True)
    world.zk.create("/consumers/A", b"")
    before = world.nodes()
    code, out, err = run("groups", "list", "--zkconnect=%s" % world.connect)
    expect((code, out, err), (0, "A\ng\nonly-offsets\n", ""))
    code, out, err = run("groups", "list", "--zookeeper.connect", world.connect, "--json")
    expect([json.loads(line) for line in out.splitlines()],
           [{"group": "A", "members": 0}, {"group": "g", "members": 2},
            {"group": "only-offsets", "members": 0}])
    expect(world.nodes(), before)


@quick
def test_a_chroot_is_honoured(t):
    world = World(t, chroot="/kafka/one").healthy()
    expect(run("groups", "list", "--zookeeper", world.connect)[:2], (0, "g\n"))
    expect(world.describe()[0], 0)
    code, out, err = run("groups", "list", "--zookeeper", world.server.address + "/kafka/other")
    expect((code, out), (0, ""))
    expect_in("/kafka/other", err)
    expect(client(t, world.server.address).exists("/kafka/other"), None)


# ---- groups describe ----

@quick
def test_a_healthy_group(t):
    world = World(t).healthy()
    before = world.nodes()
    code, out, err = world.describe()
    expect((code, err), (0, ""))
    lines = [line.split() for line in out.splitlines()]
    expect(lines[:3], [
        ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "OWNER"],
        ["g", "t", "0", "10", "12", "2", "g_a-0"],
        ["g", "t", "1", "7", "7", "0", "g_b-0"]])
    expect(lines[5], ["g_a", hex(world.a.client_id[0]), "compat", "unknown", "1", "1", "1", "t:1"])
    code, out, err = world.describe("--json")
    expect((code, err), (0, ""))
    group = json.loads(out)
    expect(group["problems"], [])
    expect(group["partitions"][0], {"topic": "t", "partition": 0, "offset": 10, "offset_store": "zookeeper", "log_end": 12,
                                    "lag": 2, "leader": 0, "owner": "g_a-0",
                                    "session": hex(world.a.client_id[0]), "claim_version": 0})
    expect(world.nodes(), before)


@quick
def test_lag_grows_while_nobody_consumes(t):
    offsets = {("t", 0): 12, ("t", 1): 7}
    world = World(t, offsets)
    world.commit(0, 10)
    code, out, _ = world.describe("--json")
    group = json.loads(out)
    expect((code, [p["lag"] for p in group["partitions"]]), (2, [2, None]))
    expect([p["kind"] for p in group["problems"]], ["no_members"])
    offsets[("t", 0)] = 1012
    _, out, _ = world.describe("--json")
    expect([p["lag"] for p in json.loads(out)["partitions"]], [1002, None])


@quick
def test_what_is_wrong_with_a_group(t):
    world = World(t, {("t", p): 0 for p in range(6)}, partitions=6)
    other = client(t, world.connect)
    world.register(world.a, "g_a")
    world.register(world.b, "g_b")
    world.register(other, "g_odd", '{"version":1')
    world.own(world.a, 0, "g_a-0")
    world.own(other, 1, "g_a-0")    # an expired session's, say
    world.own(other, 3, "g_gone-0")  # of a member that is not registered
    world.own(world.a, 4, "g_a-0")   # b's by the rule
    world.own(world.b, 5, "g_b-0")
    world.commit(5, "12x")
    code, out, err = world.describe()
    expect((code, err), (2, ""))
    problems = [line[len("problem: "):] for line in out.splitlines() if line.startswith("problem: ")]
    expect(problems.pop(0), "member g_a has 2 of its share of 3, and 1 of it is with nobody: it has given "
           "up, or is about to try again")
    expect(problems[0][:30], "member g_odd cannot be read: n")
    expect(problems[1], "[t,1] names g_a-0, but session %s holds it and %s holds the member"
           % (hex(other.client_id[0]), hex(world.a.client_id[0])))
    expect(problems[2:5], ["[t,2] has no owner",
                           "[t,3] is owned by g_gone-0, which is not registered",
                           "[t,4] is owned by g_a-0, but range gives it to g_b-0"])
    expect_in("[t,5] has a committed offset that is none", problems[5])
    expect(len(problems), 6)
    expect([line.split() for line in out.splitlines() if line.startswith("g_odd ")],
           [["g_odd", hex(other.client_id[0]), "unknown", "unknown", "0", "0", "0", "cannot", "be", "read"]])
    code, out, _ = world.describe("--json")
    expect((code, [p["kind"] for p in json.loads(out)["problems"]]),
           (2, ["gave_up", "member", "session", "unowned", "unregistered", "wrong_owner", "offset"]))


@quick
def test_odd_members_are_listed(t):
    world = World(t).healthy()
    world.topic("mytopic", 1, leader=-1)
    odd = {"m1": b"", "m2": b"{}", "m3": b"mytopic", "m4": b'{"pattern":"static"',
           "m5": REGISTRATION.replace('"1424990000456"', "1424990000456") % '{"t":1}',
           "m6": b"x" * 300000, "m7": b'{"subscription":{"t":0},"pattern":"static"}',
           "m8": b'\xff\xfe"\n'}
    for name, data in odd.items():
        data = data if isinstance(data, bytes) else data.encode()
        world.zk.create("/consumers/g/ids/%s" % name, data)
    code, out, _ = world.describe("--json")
    group = json.loads(out)
    expect(code, 2)
    expect([m["id"] for m in group["members"]], ["g_a", "g_b", *sorted(odd)])
    told = {p["member"] for p in group["problems"] if p["kind"] == "member"}
    expect(told, set(odd))
    expect([m["subscription"] for m in group["members"] if m["id"] == "m5"], [{"t": 1}])
    code, out, _ = world.describe()
    expect(code, 2)
    assert "\xff" not in out and len(out) < 20000, out


@quick
def test_a_group_that_is_not_there(t):
    world = World(t).healthy()
    before = world.nodes()
    code, out, err = world.describe(group="nosuch")
    expect((code, out, err), (2, "problem: there is no group nosuch\n", ""))
    code, out, err = world.describe("--json", group="nosuch")
    expect((code, json.loads(out)["exists"]), (2, False))
    expect(world.nodes(), before)


@quick
def test_strategies(t):
    world = World(t, {("t", p): 0 for p in range(4)}, partitions=4)
    third = client(t, world.connect)
    for session, name in ((world.a, "g_a"), (world.b, "g_b"), (third, "g_c")):
        world.register(session, name)
    for partition, (session, thread) in enumerate((
            (world.a, "g_a-0"), (world.a, "g_a-0"), (world.b, "g_b-0"), (world.b, "g_b-0"))):
        world.own(session, partition, thread)
    expect(world.describe("--strategy=ceil")[0], 0)
    code, out, _ = world.describe("--strategy=range")
    expect(code, 2)
    expect_in("problem: [t,3] is owned by g_b-0, but range gives it to g_c-0\n", out)


@quick
def test_a_broker_that_is_gone(t):
    world = World(t).healthy()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    world.zk.set("/brokers/ids/0", b'{"host":"127.0.0.1","port":%d,"version":1}' % port)
    code, out, err = world.describe()
    expect(code, 3)
    expect_in("log end of [t,0] is not known: broker 0: ", err)
    expect(out.splitlines()[1].split()[3:], ["10", "unknown", "unknown", "g_a-0"])
    world.zk.delete("/brokers/ids/0")
    code, out, err = world.describe()
    expect(code, 3)
    expect_in("its leader, broker 0, is not registered", err)


@quick
def test_a_broker_that_says_nothing_or_nonsense(t):
    def silent(link, request):
        del link, request

    def nonsense(link, request):
        body = request[4:8] + b"\x7f\xff\xff\xff" + b"x" * 20  # a count that no frame could hold
        link.sendall(struct.pack(">i", len(body)) + body)

    world = World(t, answers=silent).healthy()
    code, out, err = world.describe("--timeout=1000")
    expect(code, 4)
    expect(out.splitlines()[1].split()[4:6], ["unknown", "unknown"])
    world = World(t, answers=nonsense).healthy()
    code, out, err = world.describe()
    expect(code, 4)
    expect_in("log end of [t,0] is not known: broker 0: topics", err)


@quick
def test_errors_of_brokers_are_named(t):
    world = World(t, {("t", 0): -6, ("t", 1): 7}).healthy()
    code, out, err = world.describe()
    expect(code, 4)
    expect_in("log end of [t,0] is not known: broker 0: NOT_LEADER", err)
    expect(out.splitlines()[2].split()[4:6], ["7", "0"])


@quick
def test_a_connection_that_breaks(t):
    """What was not answered is asked again on the next connection."""
    world = World(t).healthy()
    proxy = t.zookeeper_proxy(world.server)
    address = proxy.listen("r")
    for op, path, after in (("getData", "/consumers/g/ids/g_b", False),
                            ("getData", "/consumers/g/owners/t/1", False),
                            ("getChildren2", "/brokers/ids", False),
                            ("getChildren2", "/brokers/ids", True)):
        happened = proxy.cut_on("r", op, path, after=after)
        code, out, err = run("groups", "describe", "--group=g", "--zookeeper", address)
        expect((code, err, happened.is_set()), (0, "", True))
        expect([line.split()[-1] for line in out.splitlines()[1:3]], ["g_a-0", "g_b-0"])


@quick
def test_one_connection_that_is_closed(t):
    world = World(t).healthy()
    proxy = t.zookeeper_proxy(world.server)
    expect(run("groups", "describe", "--group=g", "--zookeeper", proxy.listen("r"))[0], 0)
    wait_for(lambda: not proxy.is_connected("r"), "the connection to be closed")
    expect(len([e for e in proxy.events if e["k"] == "open"]), 1)
    expect(len(proxy.requests("r", op="closeSession")), 1)
    writes = [e["op"] for e in proxy.requests("r") if e["op"].startswith(("create", "set", "delete"))]
    expect(writes, [])


@quick
def test_a_server_that_stops_answering(t):
    world = World(t).healthy()
    proxy = t.zookeeper_proxy(world.server)
    address = proxy.listen("r")
    reached = proxy.hold("r", "getData", "/consumers/g/owners/t/1")
    code, out, err = run("groups", "describe", "--group=g", "--zookeeper", address, "--timeout=1000")
    expect((code, out, reached.is_set()), (4, "", True))
    expect_in("did not answer everything within 1000 ms", err)


@quick
def test_a_group_that_changes_while_it_is_read(t):
    """It is read again, so that what is shown is of one moment."""
    world = World(t).healthy()
    proxy = t.zookeeper_proxy(world.server)
    address = proxy.listen("r")
    reached = proxy.hold("r", "getData", "/consumers/g/owners/t/1")
    process = t.process("describe", [program("zkconsumer"), "groups", "describe", "--group=g",
                                     "--zookeeper", address], err=t.folder / "describe.err")
    assert reached.wait(30)
    world.b.delete("/consumers/g/owners/t/1")
    world.b.delete("/consumers/g/ids/g_b")
    world.own(world.a, 1, "g_a-0")
    proxy.go("r")
    expect(process.wait(), 0)
    text = "\n".join(process.text_lines())
    assert "g_b" not in text and text.count("g_a-0") == 2, text
    expect(told(process), "")


@quick
def test_a_filter_member(t):
    world = World(t)
    world.register(world.a, "g_a", '{"version":1,"subscription":{"t.*":1},"pattern":"white_list"}')
    world.own(world.a, 0, "g_a-0")
    world.own(world.a, 1, "g_a-0")
    code, out, err = world.describe()
    expect(code, 0)
    expect_in("white_list t.*:1", out)
    assert "was not checked" not in err, err
    # it counts for the topics that its filter allows: with a second member, half of t is not its own
    world.register(world.b, "g_b", '{"version":1,"subscription":{"t":1},"pattern":"static"}')
    code, out, err = world.describe()
    expect(code, 2)
    expect_in("[t,1] is owned by g_a-0, but range gives it to g_b-0", out)


@quick
def test_a_filter_that_is_not_understood(t):
    world = World(t)
    world.register(world.a, "g_a", '{"version":1,"subscription":{"t(":1},"pattern":"white_list"}')
    world.own(world.a, 0, "g_a-0")
    world.own(world.a, 1, "g_a-0")
    code, out, err = world.describe()
    expect(code, 4)  # nothing bad is seen, but not everything could be checked
    expect_in("was not checked: the share of g_a is not known", err)
    expect_in("its share is not known", out)


@quick
def test_stdout_that_is_full(t):
    world = World(t).healthy()
    with open("/dev/full", "wb") as full:
        done = subprocess.run([program("zkconsumer"), "groups", "describe", "--group=g",
                               "--zookeeper", world.connect], stdout=full, stderr=subprocess.PIPE,
                              timeout=60, check=False)
    expect(done.returncode, 1)
    expect_in("No space left on device", done.stderr.decode())


# ---- produce ----

@quick
def test_produce_without_brokers(t):
    world = World(t)
    world.zk.delete("/brokers/ids/0")
    code, out, err = run("produce", "--topic=t", "--zookeeper", world.connect, stdin="a\n")
    expect((code, out), (3, ""))
    expect_in("no broker to write to: 0 are registered", err)
    world.zk.create("/brokers/ids/1", b'{"host":null,"port":-1,"version":2,"endpoints":["SSL://h:1"]}')
    code, out, err = run("produce", "--topic=t", "--zookeeper", world.connect, stdin="a\n")
    expect(code, 3)
    expect_in("broker 1: ", err)


@quick
def test_produce_without_stdin(t):
    world = World(t)
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", program("zkconsumer"), "produce",
                           "--topic=t", "--zookeeper", world.connect],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    expect(done.returncode, 1)
    expect_in("stdin, after line 0: Bad file descriptor", done.stderr.decode())


@quick
def test_produce_to_a_broker_that_is_gone(t):
    world = World(t)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    world.zk.set("/brokers/ids/0", b'{"host":"127.0.0.1","port":%d,"version":1}' % port)
    code, out, err = run("produce", "--topic=t", "--zookeeper", world.connect, "--timeout=1000",
                         stdin="a\nb\n")
    expect((code, out), (3, ""))
    expect_in("line 1 is not delivered: ", err)
    expect_in("2 lines read, 0 delivered, 2 not delivered", err)
