"""The table that the simulator's model of ZooKeeper passes (tests/sim/zk_table_test.c), against the real
thing."""
import pathlib

from lib import zktable
from lib.ensemble import Ensemble
from lib.waiting import WaitFailed

_TABLE = pathlib.Path(__file__).resolve().parent.parent / "vectors" / "sim" / "zookeeper.table"


# Servers with faults give each other up after some seconds: a case that is too slow between two lines says
# nothing. What is wrong in the table is wrong each time.
FAULT_TRIES = 3


def run_case(name, lines, ports, options):
    """What differs."""
    wrong = []
    case = zktable.Case(name, ports, **options)
    try:
        for number, words, wanted in lines:
            try:
                got = case.run(words)
            except (OSError, WaitFailed) as error:
                got = str(error)
            if got != wanted:
                wrong.append("line %d, %s: got %s; the table says %s"
                             % (number, " ".join(words), got, wanted))
                if "in vain" in got or "timed out" in got:
                    break  # the rest would only take as long
    finally:
        case.close()
    return wrong


def run(ports, kind, ensemble=None, **options):
    cases = [(name, lines) for name, servers, lines in zktable.read(_TABLE) if servers == kind]
    assert cases and all(lines for _, lines in cases)
    all_wrong = []
    for name, lines in cases:
        wrong = run_case(name, lines, ports, {"ensemble": ensemble, **options})
        for attempt in range(2, FAULT_TRIES + 1):
            if not wrong or not ensemble:
                break
            print("case %s, again: %s" % (name, "; ".join(wrong)), flush=True)
            ensemble.mend()
            wrong = run_case("%s-%d" % (name, attempt), lines, ports, {"ensemble": ensemble, **options})
        all_wrong += wrong
    assert not all_wrong, "\n".join(all_wrong)


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
