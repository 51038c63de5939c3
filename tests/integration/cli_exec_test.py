"""consume --exec: what a command gets, when it is committed, and what its exit status does; and --metrics."""
import fcntl
import pathlib
import re
import signal
import struct
import subprocess
import termios
import urllib.error
import urllib.request

from lib.members import program, run
from lib.waiting import wait_for
from lib.world import expect, expect_in


def cluster_with_topic(t, partitions=1, each=6):
    cluster = t.zk_cluster()
    cluster.create_topic("t", partitions)
    t.producer(cluster).send("t", [(p, b"k%d" % i, b"m%d-%d" % (p, i)) for p in range(partitions)
                                   for i in range(each)])
    return cluster


def consume(cluster, *words, group="g"):
    done = run("zkconsumer", "consume", "-G", group, "-t", "t", "--from-beginning", "-e", "--zookeeper",
               cluster.zookeeper_connect, *words)
    return done.returncode, done.stdout, done.stderr


def offset(t, cluster, group="g"):
    return t.group(cluster, group).offsets("t").get(0)


def test_what_a_command_gets(t):
    cluster = cluster_with_topic(t, partitions=2, each=3)
    code, out, err = consume(cluster, "--exec",
                             'echo "$ZKCONSUMER_TOPIC/$ZKCONSUMER_PARTITION/$ZKCONSUMER_OFFSET '
                             '$ZKCONSUMER_COUNT $ZKCONSUMER_KEY [$(cat)]"')
    expect((code, sorted(out.splitlines())),
           (0, sorted("t/%d/%d 1 k%d [m%d-%d]" % (p, i, i, p, i) for p in range(2) for i in range(3))))
    expect(t.group(cluster, "g").offsets("t"), {0: 3, 1: 3})

    code, out, err = consume(cluster, "--exec", "cat; echo $ZKCONSUMER_COUNT $ZKCONSUMER_KEY.",
                             "--exec-messages=2", "-f", "%p %o %k\\n", group="batch")
    expect(code, 0)
    for part in ("0 0 k0\n0 1 k1\n2 .\n", "0 2 k2\n1 .\n", "1 0 k0\n1 1 k1\n2 .\n"):
        expect_in(part, out)

    code, out, err = consume(cluster, "--exec", "true", "-X", "auto.commit.enable=true", group="both")
    expect((code, err.count("auto.commit.enable=true has no effect: --exec commits")), (0, 1))
    code, out, err = consume(cluster, "--exec", "true", "-c", "2", group="two")  # it need not read
    expect("auto.commit.enable" in err, False)
    expect((code, sum(t.group(cluster, "two").offsets("t").values())), (0, 2))


def test_the_exit_status_decides(t):
    cluster = cluster_with_topic(t)
    log = t.folder / "log"
    command = 'read -r m; echo $m >>%s; [ "$m" != m0-3 ]' % log
    code, out, err = consume(cluster, "--exec", command, "--exec-tries", "2")
    expect((code, offset(t, cluster), log.read_text().split()), (2, 3, ["m0-0", "m0-1", "m0-2", "m0-3", "m0-3"]))
    expect_in("[t,0] offset 3: its exit status was 1", err)
    expect_in("not committed", err)
    expect_in("Consumed 3 messages", err)
    assert "zookeeper.hand.over.ms" not in err, err  # nothing is held any more: nothing to wait for
    log.write_text("")
    expect(consume(cluster, "--exec", "cat >>%s" % log)[0], 0)  # the rest, m0-3 again
    expect((offset(t, cluster), log.read_text()), (6, "m0-3m0-4m0-5"))

    code, out, err = consume(cluster, "--exec", command, "--commit", "before", group="b")
    expect((code, offset(t, cluster, "b")), (2, 4))  # m0-3 is lost: at most once
    code, out, err = consume(cluster, "--exec", "kill -9 $$", group="k")
    expect((code, "ended by signal 9" in err, offset(t, cluster, "k")), (2, True, 0))
    code, out, err = consume(cluster, "--exec", "sleep 300 & wait", "--exec-timeout=300", group="s")
    expect((code, "took longer than 300 ms" in err, offset(t, cluster, "s")), (2, True, 0))
    for words in (("--commit=after",), ("--exec=true", "--commit=never"), ("--exec-tries=2",),
                  ("--exec=true", "--exec-messages=0")):
        expect((words, consume(cluster, *words)[0]), (words, 1))


def test_a_signal_lets_the_command_finish(t):
    cluster = cluster_with_topic(t)
    gate, log = t.folder / "gate", t.folder / "log"
    command = 'cat >>%s; while [ ! -e %s ]; do sleep 0.05; done' % (log, gate)
    process = t.process("exec", [program("zkconsumer"), "consume", "-G", "g", "-t", "t", "--zookeeper",
                                 cluster.zookeeper_connect, "--from-beginning", "--exec", command],
                        err=t.folder / "exec.err")
    wait_for(lambda: log.exists() and log.read_text() == "m0-0", "the command to run", alive=[process])
    process.send_signal(signal.SIGINT)
    assert process.is_running()
    gate.write_text("")
    wait_for(lambda: not process.is_running(), "the end")
    expect((process.stop(), offset(t, cluster), log.read_text()), (0, 1, "m0-0"))


def shell(command):
    return subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                          check=False, text=True)


def bytes_in(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


MODES = ("safe", "compat")


def test_a_stranger_holds_partitions(t):
    """--exit-at-end does not call that read which somebody keeps who will never read it."""
    cluster = cluster_with_topic(t, partitions=2, each=3)
    for n in (1, 0):
        cluster.zk.create("/consumers/g/owners/t/%d" % n, b"x-0", makepath=True)
        code, out, err = consume(cluster, "--exit-grace=300", "-f", "%s ")
        expect((n, code, out), (n, 2, "m0-0 m0-1 m0-2 " if n else ""))
        expect_in("[t,%d] was not read: it is held by x-0, which is no member of the group" % n, err)
    for n in (1, 0):
        cluster.zk.delete("/consumers/g/owners/t/%d" % n)
    member = t.zkconsumer(cluster, "b", "g", "t")  # what a member has is read by that one
    wait_for(lambda: len(t.group(cluster, "g").owners("t")) == 2, "the claims")
    expect(consume(cluster)[0], 0)
    member.leave()


def test_where_a_group_starts(t):
    """With --exec the start is committed before anything is worked on: what comes while nobody is there is
    not lost to a group that has read nothing yet."""
    cluster = cluster_with_topic(t)
    words = ["--zookeeper", cluster.zookeeper_connect, "-t", "t", "--exec", "cat"]
    for n, mode in enumerate(MODES):
        with_mode = words + ["-G", mode, "-X", "zookeeper.mode=" + mode]
        process = t.process(mode, [program("zkconsumer"), "consume", *with_mode], err=t.folder / (mode + ".err"))
        wait_for(lambda mode=mode, n=n: offset(t, cluster, mode) == 6 + n, "the start", alive=[process])
        expect(process.stop(signal.SIGINT), 0)
        t.producer(cluster).send("t", [(0, None, b"late")])
        done = run("zkconsumer", "consume", *with_mode, "-e")
        expect((mode, done.returncode, done.stdout), (mode, 0, "late"))
        expect(offset(t, cluster, mode), 7 + n)


def test_what_was_not_written_is_not_committed(t):
    cluster = cluster_with_topic(t, each=5000)
    out = t.folder / "out"
    stuck = []
    for mode in MODES:
        command = "%s consume -G %s%%d -t t -X zookeeper.mode=%s --from-beginning --zookeeper %s" % (
            program("zkconsumer"), mode, mode, cluster.zookeeper_connect)
        done = shell("trap '' XFSZ; ulimit -f 32; exec %s -e >%s" % (command % 0, out))
        lines = out.read_text().count("\n")
        expect((mode, done.returncode, "File too large" in done.stderr), (mode, 1, True))
        expect((mode, 0 < lines < 5000, offset(t, cluster, mode + "0")), (mode, True, lines))
        expect_in("Consumed %d messages" % lines, done.stderr)
        assert "zookeeper.hand.over.ms" not in done.stderr, done.stderr

        done = shell("exec %s -e >/dev/full" % (command % 1))
        expect((mode, done.returncode, offset(t, cluster, mode + "1") or 0), (mode, 1, 0))
        expect_in("Consumed 0 messages", done.stderr)

        process = subprocess.Popen((command % 2).split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        t.defer(process.kill)
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        stuck.append((mode, process))
    for mode, process in stuck:
        wait_for(lambda out=process.stdout: bytes_in(out) == 4096, "a full pipe")
        process.send_signal(signal.SIGINT)
    for mode, process in stuck:
        expect((mode, process.wait(30)), (mode, 4))  # nobody reads before
        pipe, told = process.communicate()
        expect_in("its reader left ", told.decode())
        expect((mode, offset(t, cluster, mode + "2")), (mode, pipe.count(b"\n")))


def test_what_was_not_written_is_not_lost(t):
    """The timer's commit covers nothing that waits for stdout: kill -9 repeats, and loses nothing."""
    cluster = cluster_with_topic(t, each=5000)
    members = {}
    for mode in MODES:
        for name, words in (("buffer", []), ("single", ["-u"])):
            group = mode + "-" + name
            members[group] = [program("zkconsumer"), "consume", "-G", group, "-t", "t", "--from-beginning",
                              "-X", "auto.commit.interval.ms=20", "-X", "zookeeper.mode=" + mode, *words,
                              "--zookeeper", cluster.zookeeper_connect]
    processes = {}
    for group, command in members.items():
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        t.defer(process.kill)
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        processes[group] = process
    for group, process in processes.items():
        wait_for(lambda out=process.stdout: bytes_in(out) > 4080, "a full pipe")
        if group.endswith("single"):  # the timer has come by; where all waits there is nothing to commit
            wait_for(lambda group=group: (offset(t, cluster, group) or 0) > 0, "a commit")
    lines = {}
    for group, process in processes.items():
        process.kill()
        lines[group] = process.communicate(timeout=30)[0].decode().split("\n")[:-1]  # the last one is cut
    rest = {group: subprocess.Popen(command + ["-e", "--exit-grace=60000"], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL) for group, command in members.items()}
    messages = ["m0-%d" % i for i in range(5000)]
    for group, process in rest.items():
        left = process.communicate(timeout=60)[0].decode().split()
        assert lines[group] == messages[:len(lines[group])] and left == messages[5000 - len(left):], group
        assert len(lines[group]) + len(left) >= 5000, (group, len(lines[group]), len(left))


def fetch(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_metrics(t):
    """What is committed is told as that, whatever is handed out: one partition has been read up to 2
    before, the other never; commits are a minute away."""
    cluster = cluster_with_topic(t, partitions=2)
    t.group(cluster, "g").set_offset("t", 1, 2)
    err = t.folder / "consume.err"
    process = t.process("consume", [program("zkconsumer"), "consume", "-G", "g", "-t", "t", "--zookeeper",
                                    cluster.zookeeper_connect, "--from-beginning", "--metrics=127.0.0.1:0"], err=err)
    url = wait_for(lambda: re.search(r"Metrics at (http://127.0.0.1:\d+/metrics)", err.read_text()),
                   "the address", alive=[process]).group(1)

    def lines():
        return fetch(url)[1].splitlines()

    wanted = ['kafka_brokers 1', 'kafka_topic_partitions{topic="t"} 2',
              'kafka_consumergroup_members{consumergroup="g"} 1',
              'kafka_topic_partition_oldest_offset{topic="t",partition="0"} 0',
              'kafka_topic_partition_leader{topic="t",partition="1"} 0',
              'kafka_consumergroup_current_offset{consumergroup="g",topic="t",partition="1"} 2',
              'kafka_consumergroupzookeeper_lag_zookeeper{consumergroup="g",topic="t",partition="1"} 4',
              'kafka_consumergroup_lag{consumergroup="g",topic="t",partition="1"} 4',
              'kafka_consumergroup_lag_sum{consumergroup="g",topic="t"} 4',
              'zkconsumer_position{consumergroup="g",topic="t",partition="0"} 6',
              'zkconsumer_position_lag{consumergroup="g",topic="t",partition="1"} 0',
              'kafka_topic_partition_current_offset{topic="t",partition="0"} 6',
              'zkconsumer_owned_partitions{consumergroup="g",topic="t"} 2',
              'zkconsumer_messages_delivered_total 10', 'zkconsumer_zk_connected 1',
              'zkconsumer_claim_total{result="ok"} 2', 'zkconsumer_claim_total{result="conflict"} 0',
              'zkconsumer_commit_total{store="zookeeper",result="failed"} 0',
              'zkconsumer_fenced_total{reason="lease"} 0', 'zkconsumer_state{state="owning"} 1',
              'zkconsumer_partition_changes_total{kind="assigned"} 2']
    wait_for(lambda: not set(wanted) - set(lines()), "the numbers", alive=[process])
    kind, text = fetch(url)
    expect(kind, "text/plain; version=0.0.4; charset=utf-8")
    names = set()
    for line in text.splitlines():  # the format: each family has its HELP and TYPE once, in front
        found = re.match(r"# (HELP|TYPE) (\w+) .", line)
        if found:
            assert (found.group(1), found.group(2)) not in names, line
            names.add((found.group(1), found.group(2)))
        else:
            name = re.match(r'(\w+)(\{(\w+="[^"]*",?)*\})? -?(\d+(\.\d+)?|Inf)$', line)
            assert name, line
            family = re.sub("_(sum|count|bucket)$", "", name.group(1))
            assert ("TYPE", name.group(1)) in names or ("TYPE", family) in names, line
    assert "kafka_consumergroup_lag{consumergroup=\"g\",topic=\"t\",partition=\"0\"}" not in text

    def value(name):
        return float(re.search("^%s (.+)$" % re.escape(name), text, re.M).group(1))

    expect(value('zkconsumer_zk_ops_total{op="multi",result="ok"}') >= 1, True)  # the claim
    for op in ("create", "getChildren", "getData", "multi"):
        expect((op, value('zkconsumer_zk_op_seconds_bucket{op="%s",le="+Inf"}' % op)),
               (op, value('zkconsumer_zk_op_seconds_count{op="%s"}' % op)))
    ended = sum(float(n) for n in re.findall(r'^zkconsumer_rebalances_total\{.*result="done"\} (.+)$', text, re.M))
    assert ended >= 1, text
    expect(value("zkconsumer_rebalance_duration_seconds_count"), ended)
    phases = sum(float(n) for n in re.findall(r"^zkconsumer_rebalance_phase_seconds_sum\S* (.+)$", text, re.M))
    expect(abs(phases - value("zkconsumer_rebalance_duration_seconds_sum")) < 0.0005, True)

    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text()
    for _, name in names:
        assert name in page, "%s is not in docs/metrics.md" % name

    other = t.zkconsumer(cluster, "b", "g", "t")
    wait_for(lambda: 'zkconsumer_owned_partitions{consumergroup="g",topic="t"} 1' in lines(), "a rebalance", 60)
    wait_for(lambda: 'zkconsumer_partition_changes_total{kind="revoked"} 1' in lines(), "the other one to stay")
    other.leave()
    try:
        fetch(url.replace("/metrics", "/other"))
        raise AssertionError("there is something")
    except urllib.error.HTTPError as error:
        expect(error.code, 404)
    for method, body in (("POST", b"x=1"), ("POST", None), ("PUT", b""), ("DELETE", None), ("OPTIONS", None)):
        try:
            urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=30)
            raise AssertionError("%s is answered" % method)
        except urllib.error.HTTPError as error:
            expect((method, error.code, error.headers["Allow"]), (method, 405, "GET, HEAD"))
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=30) as answer:
        expect((answer.status, answer.read()), (200, b""))
    assert process.stop() == 0
    for address in ("nonsense", "127.0.0.1:99999", "192.0.2.1:0"):
        done = run("zkconsumer", "consume", "-t", "t", "--zookeeper", cluster.zookeeper_connect, "--metrics", address)
        expect((address, done.returncode), (address, 1))


def test_safe_mode(t):
    """The same by a member in safe mode: commits, a lease among the metrics, and a forced reset that is obeyed."""
    cluster = cluster_with_topic(t)
    err, log = t.folder / "consume.err", t.folder / "log"
    process = t.process("consume", [program("zkconsumer"), "consume", "-G", "g", "-t", "t", "--zookeeper",
                                    cluster.zookeeper_connect, "--from-beginning", "--metrics=127.0.0.1:0",
                                    "--exec", "cat >>%s" % log, "-X", "zookeeper.mode=safe"], err=err)
    wait_for(lambda: offset(t, cluster) == 6, "all to be done", alive=[process])
    expect(log.read_text(), "".join("m0-%d" % i for i in range(6)))
    url = re.search(r"Metrics at (\S+)", err.read_text()).group(1)
    wait_for(lambda: re.search(r"^zkconsumer_claims_total 1$", fetch(url)[1], re.M), "the claim", alive=[process])
    assert float(re.search(r"^zkconsumer_lease_left_seconds (\S+)$", fetch(url)[1], re.M).group(1)) > 0
    group = t.group(cluster, "g")
    session = group.member_session(group.members()[0])

    def watches_agree():  # with what the server has of this session; it lists all but two lists of children
        listed = re.search(r"^0x%x\n((?:\t.*\n)+)" % session, cluster.zookeeper.four_letter_word("wchc"), re.M)
        left = len(listed.group(1).splitlines()) + 2
        seen = re.findall(r"^zkconsumer_zk_(watches|watch_sessions|unwatched_paths) (\d+)$", fetch(url)[1], re.M)
        expect(dict(seen), {"watches": str(left), "watch_sessions": "0", "unwatched_paths": "0"})
        return left
    assert wait_for(watches_agree, "the watches", alive=[process]) > 3
    done = run("zkconsumer", "offsets", "reset", "-G", "g", "--to-earliest", "--force", "--zookeeper",
               cluster.zookeeper_connect)
    expect((done.returncode, done.stdout), (0, "t:0:0\n"))
    wait_for(lambda: log.read_text() == 2 * "".join("m0-%d" % i for i in range(6)), "it to be obeyed", 60,
             alive=[process])
    wait_for(lambda: offset(t, cluster) == 6, "the commits", alive=[process])
    assert process.stop() == 0
    expect(cluster.zk.get("/consumers/g/offsets/t/0")[0], b"6")


def test_changes_of_state_are_told(t):
    """ZooKeeper lost and back, delivery stopped and resumed: a line each, and no more."""
    cluster = cluster_with_topic(t)
    proxy = t.zookeeper_proxy(cluster)
    err = t.folder / "consume.err"
    process = t.process("consume", [program("zkconsumer"), "consume", "-G", "g", "-t", "t", "--zookeeper",
                                    proxy.listen("a"), "-X", "zookeeper.session.timeout.ms=3000"],
                        err=err)
    wait_for(lambda: "assigned: t [0]" in err.read_text(), "the claim", alive=[process])
    kinds = ("delivery stops", "connection to ZooKeeper lost", "ZooKeeper is back", "delivery resumes",
             "has expired")

    def told():
        return {kind: len(re.findall(kind, err.read_text())) for kind in kinds}

    for tries in range(1, 11):
        proxy.hole("a", "down")  # requests and pings reach the server: the session lives on for a while
        wait_for(lambda tries=tries: told()["delivery stops"] == tries, "the lease to end", alive=[process])
        proxy.heal("a")
        wait_for(lambda tries=tries: told()["delivery resumes"] or
                 err.read_text().count("assigned: t [0]") == 1 + tries, "it to go on", alive=[process])
        if told()["delivery resumes"]:
            break
    wait_for(lambda: told()["ZooKeeper is back"] == told()["connection to ZooKeeper lost"], "all to be told")
    expect(told(), {"delivery stops": tries, "connection to ZooKeeper lost": tries, "ZooKeeper is back": tries,
                    "delivery resumes": 1, "has expired": tries - 1})
    assert process.stop() == 0


def test_topics_that_are_not_there(t):
    cluster = cluster_with_topic(t)
    for words in (["-t", "typo"], ["-t", "t", "-t", "typo"]):
        done = run("zkconsumer", "consume", *words, "-e", "--exit-grace=300", "--from-beginning", "--zookeeper",
                   cluster.zookeeper_connect)
        expect((words, done.returncode), (words, 2))
        expect_in("there is no topic typo at ", done.stderr)
    done = run("zkconsumer", "consume", "-t", "t", "-e", "--exit-grace=300", "--zookeeper",
               cluster.zookeeper_connect + "/nope")
    expect(done.returncode, 2)
    expect_in("/nope; are its name and the chroot right?", done.stderr)
