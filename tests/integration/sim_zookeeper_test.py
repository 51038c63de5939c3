"""The table that the simulator's model of ZooKeeper passes (tests/sim/zk_table_test.c), against the real
thing."""
import pathlib

from lib import zktable
from lib.ensemble import Ensemble

_TABLE = pathlib.Path(__file__).resolve().parent.parent / "vectors" / "sim" / "zookeeper.table"


def run(ports, kind, **options):
    wrong, lines = [], 0
    for name, servers, case_lines in zktable.read(_TABLE):
        if servers != kind:
            continue
        case = zktable.Case(name, ports, **options)
        try:
            for number, words, wanted in case_lines:
                lines += 1
                try:
                    got = case.run(words)
                except ConnectionError as error:
                    got = str(error)
                if got != wanted:
                    wrong.append("line %d, %s: got %s; the table says %s"
                                 % (number, " ".join(words), got, wanted))
        finally:
            case.close()
    assert lines > 0
    assert not wrong, "\n".join(wrong)


def one_server(t, release):
    run([t.zookeeper(release).port], "1")


def three_servers(t, release):
    ensemble = Ensemble(t, release, 3)
    run([ensemble.port(n) for n in ensemble.numbers], "3")


def faults(t, release):
    ensemble = Ensemble(t, release, 3, {"tickTime": 400, "initLimit": 15,
                                         "maxSessionTimeout": 60000}, can_cut=True)
    run([ensemble.port(n) for n in ensemble.numbers], "faults", ensemble=ensemble)


def test_one_server_3_8(t):
    one_server(t, "3.8")


def test_one_server_3_4(t):
    one_server(t, "3.4")


def test_three_servers_3_8(t):
    three_servers(t, "3.8")


def test_three_servers_3_4(t):
    three_servers(t, "3.4")


def test_server_faults_3_8(t):
    faults(t, "3.8")


def test_server_faults_3_4(t):
    faults(t, "3.4")
