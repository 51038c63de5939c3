"""groups watch: lines when piped, lanes on a terminal."""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

from lib.members import program
from lib.testing import quick
from lib.waiting import wait_for
from lib.world import World, expect, run


def watch(t, world, *words):
    return t.process("watch", [program("zkconsumer"), "groups", "watch", "-G", "g", "--zookeeper", world.connect,
                               *words], err=t.folder / "watch.err")


def told(process):
    """Without the times, which are checked."""
    lines = process.text_lines()
    for line in lines:
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S", line), line
    return [line.split(" ", 1)[1] for line in lines]


@quick
def test_events_as_lines(t):
    world = World(t).healthy()
    process = watch(t, world, "--interval=300")
    first = ["member joined: g_a", "member joined: g_b", "[t,0] owner: none -> g_a-0",
             "[t,0] offset 10, log end 12, lag 2", "[t,1] owner: none -> g_b-0",
             "[t,1] offset 7, log end 7, lag 0"]
    wait_for(lambda: told(process) == first, "the state at the start", alive=[process])
    world.zk.set("/consumers/g/offsets/t/0", b"11")
    wait_for(lambda: told(process)[6:] == ["[t,0] offset 11, log end 12, lag 1"], "the offset", alive=[process])
    world.b.stop()
    last = ["member left: g_b", "[t,1] owner: g_b-0 -> none", "problem: [t,1] has no owner"]
    wait_for(lambda: set(last) <= set(told(process)[7:]), "the member to leave", 60, alive=[process])
    world.own(world.a, 1, "g_a-0")
    wait_for(lambda: told(process)[-3:] == ["[t,1] owner: none -> g_a-0",
                                        "solved: member g_a has 1 of its share of 2, and 1 of it is with nobody: "
                                        "it has given up, or is about to try again", "solved: [t,1] has no owner"],
             "the partition to have an owner", alive=[process])
    assert process.stop() == 0


@quick
def test_a_group_that_comes_later(t):
    world = World(t)
    process = watch(t, world, "--interval=200")
    wait_for(lambda: any(line.startswith("problem: ") for line in told(process)), "the problem", alive=[process])
    world.register(world.a, "g_a")
    wait_for(lambda: "member joined: g_a" in told(process), "the member", alive=[process])
    assert process.stop(signal.SIGTERM) == 0
    expect(run("groups", "watch", "-G", "g", "--zookeeper", "127.0.0.1:1", "--timeout=500")[0], 3)
    expect(run("groups", "watch", "-G", "g", "--zookeeper", "127.0.0.1:1", "--interval=1")[0], 1)
    with subprocess.Popen([program("zkconsumer"), "groups", "watch", "-G", "g", "--zookeeper", world.connect],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline()
        process.stdout.close()  # the reader goes
        world.a.stop()
        expect(process.wait(60), 0)


@quick
def test_zookeeper_that_goes_away(t):
    world = World(t).healthy()
    process = watch(t, world, "--interval=200", "--timeout=1000")
    wait_for(lambda: len(told(process)) == 6, "the state at the start", alive=[process])
    world.server.stop()
    wait_for(lambda: "trying again" in (t.folder / "watch.err").read_text(), "it to be missed", 60, alive=[process])
    world.server.start()
    world.zk.retry(world.zk.set, "/consumers/g/offsets/t/0", b"12")
    wait_for(lambda: "[t,0] offset 12, log end 12, lag 0" in told(process)[6:], "the new offset", 60,
             alive=[process])
    assert process.stop() == 0


@quick
def test_lanes_on_a_terminal(t):
    world = World(t).healthy()
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(program("zkconsumer"), ["zkconsumer", "groups", "watch", "-G", "g", "--zookeeper", world.connect,
                                         "--interval=100"])
    t.defer(os.close, fd)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
    seen = ""

    def screen():
        nonlocal seen
        while select.select([fd], [], [], 0)[0]:
            seen += os.read(fd, 65536).decode()
        return seen.split("\033[H\033[2J")[-2 if seen.count("\033[H\033[2J") > 1 else -1]

    def lane(partition):
        found = re.search(r"^t +%d +\S+ +\S+ +\S+  (\S*)" % partition, screen(), re.M)
        return found.group(1) if found else ""

    wait_for(lambda: "aaa" in lane(0) and "bbb" in lane(1), "lanes")
    assert "group g: 2 members, 2 partitions, lag 2, 0 problems" in screen(), screen()
    assert "a = g_a-0" in screen() and "b = g_b-0" in screen()
    world.zk.delete("/consumers/g/owners/t/1")
    wait_for(lambda: re.search(r"b\.+", lane(1)), "a gap")
    assert "problem: [t,1] has no owner" in screen(), screen()
    world.own(world.a, 1, "g_a-0")
    wait_for(lambda: re.search(r"b\.+a", lane(1)), "another owner")
    for line in screen().split("\r\n"):
        assert len(line.rstrip("\r")) <= 120, repr(line)  # the terminal adds one
    os.kill(pid, signal.SIGINT)

    def is_gone():
        with contextlib.suppress(OSError):  # a terminal whose program has ended cannot be read
            screen()
        return os.waitpid(pid, os.WNOHANG)[0] == pid

    wait_for(is_gone, "the end")
