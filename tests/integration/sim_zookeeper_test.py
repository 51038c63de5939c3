"""The table that the simulator's model of ZooKeeper passes (tests/sim/zk_table_test.c), against the real
thing."""
import pathlib

from lib import jars, versions, zktable
from lib.ports import free_port
from lib.zookeeper import ZooKeeperServer

_TABLE = pathlib.Path(__file__).resolve().parent.parent / "vectors" / "sim" / "zookeeper.table"


def ensemble(t, release, count):
    servers = []
    peers = {"server.%d" % (i + 1): "127.0.0.1:%d:%d" % (free_port(), free_port())
             for i in range(count)}
    for number in range(1, count + 1):
        folder = t.folder / ("server-%d" % number)
        (folder / "data").mkdir(parents=True)
        (folder / "data" / "myid").write_text("%d\n" % number)
        servers.append(ZooKeeperServer(
            folder, release,
            {"initLimit": 20, "syncLimit": 10, "quorumListenOnAllIPs": "false", **peers}))
    for server in servers:
        t.defer(server.kill)
        server.start_without_waiting()
    for server in servers:
        server.wait_until_serving()
    return servers


def run(ports, size):
    wrong, lines = [], 0
    for name, servers, case_lines in zktable.read(_TABLE):
        if servers != size:
            continue
        case = zktable.Case(name, ports)
        try:
            for number, words, wanted in case_lines:
                lines += 1
                got = case.run(words)
                if got != wanted:
                    wrong.append("line %d, %s: got %s; the table says %s"
                                 % (number, " ".join(words), got, wanted))
        finally:
            case.close()
    assert lines > 0
    assert not wrong, "\n".join(wrong)


def one_server(t, release):
    run([t.zookeeper(release).port], 1)


def three_servers(t, release):
    if release == "3.4":
        jars.require(versions.ZOOKEEPER_34_FROM)
    run([server.port for server in ensemble(t, release, 3)], 3)


def test_one_server_3_8(t):
    one_server(t, "3.8")


def test_one_server_3_4(t):
    one_server(t, "3.4")


def test_three_servers_3_8(t):
    three_servers(t, "3.8")


def test_three_servers_3_4(t):
    three_servers(t, "3.4")
