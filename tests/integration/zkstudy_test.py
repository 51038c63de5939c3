"""The program zkstudy: what it prints, what it returns, and traces that it writes and reads."""
import csv
import gzip
import json
import pathlib
import subprocess
import tempfile

from lib.members import program
from lib.testing import quick

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests" / "vectors" / "traces"

SMALL = ("members=2\nlate=1\ntopic.t=4 rate 5\nrun=20s\nwarmup=10s\nheal=10s\ndrain=12s\n"
         "fault.1=at 12s+u(0,2s) join late\n")


def run(*words):
    """The program to its end: (exit status, stdout, stderr)."""
    done = subprocess.run([program("zkstudy"), *map(str, words)], capture_output=True, timeout=100,
                          check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def folder(t):
    made = tempfile.TemporaryDirectory()
    t.defer(made.cleanup)
    return pathlib.Path(made.name)


def small(path):
    file = path / "small.scenario"
    file.write_text(SMALL)
    return file


@quick
def test_check_says_what_holds(t):
    status, out, err = run("check", GOLDEN / "gt3.jsonl")
    assert status == 0, err
    assert "dual_ps                          2.000 partition-seconds" in out
    assert "VIOLATED" not in out
    status, out, _ = run("check", "--json", GOLDEN / "gt4.jsonl")
    assert status == 0
    results = {r["id"]: r for r in json.loads(out)["results"]}
    assert results["orphans"]["found"] == 3
    assert results["gap_ps"]["found"] == 63


@quick
def test_check_finds_what_is_broken(t):
    path = folder(t) / "broken.jsonl"
    path.write_text((GOLDEN / "gt1.jsonl").read_text().replace('"o0":50,"o1":99', '"o0":51,"o1":99'))
    status, out, _ = run("check", path)
    assert status == 2
    assert "m1 delivers 51 of t/0, expected 50" in out
    path.write_text((GOLDEN / "gt1.jsonl").read_text().replace('"seq":3,', '"seq":"x",', 1))
    status, out, err = run("check", path)
    assert "PARTIAL" in out and "%s:" % path in err, (out, err)
    assert status == 2  # the line that was left out is a gap in seq
    for text, says in (("", ":1: expected the header"), ("hello\n", ":1: expected one JSON object")):
        path.write_text(text)
        status, out, err = run("check", path)
        assert (status, out) == (1, "") and says in err, err
    assert run("check")[0] == 1
    assert run("check", path.parent / "none")[0] == 1


@quick
def test_a_simulated_trace_is_the_same_each_time_and_checks(t):
    path = folder(t)
    for name in ("a.jsonl", "b.jsonl", "c.jsonl.gz"):
        status, _, err = run("sim", "--scenario", small(path), "--seed=3", "--level=2",
                             "--trace", path / name)
        assert status == 0, err
    first = (path / "a.jsonl").read_bytes()
    assert first == (path / "b.jsonl").read_bytes()
    assert first == gzip.decompress((path / "c.jsonl.gz").read_bytes())
    for name in ("a.jsonl", "c.jsonl.gz"):
        status, out, err = run("check", path / name)
        assert status == 0 and "VIOLATED" not in out, out + err
    (path / "cut.jsonl").write_bytes(first[:len(first) // 2])
    status, out, err = run("check", path / "cut.jsonl")
    assert "PARTIAL" in out and "cut short" in err
    assert status in (1, 2)


@quick
def test_sim_refuses_what_cannot_be(t):
    path = folder(t)
    file = small(path)
    for words, says in ((("--set", "members=none"), "members: expected a number"),
                        (("--set", "fault.1=at 1s join m9"), "a member of the scenario"),
                        (("--set", "zk.servers=2"), "an odd number"),
                        (("--set", "nonsense=2"), "unknown key"),
                        (("--mode=zookeeper:safe",), "expected zookeeper:compat"),
                        (("--seed=5..4",), "--seed=5..4: expected")):
        status, out, err = run("sim", "--scenario", file, *words)
        assert (status, out) == (1, "") and says in err, err
    file.write_text("members = 3\nfault.1 = at 1s crash m4\n")
    status, _, err = run("sim", "--scenario", file)
    assert status == 1 and "%s:2: fault.1: expected" % file in err, err


@quick
def test_seeds_go_on_where_they_were_killed(t):
    path = folder(t)
    command = ("sim", "--scenario", small(path), "--seed=1..120")
    status, whole, err = run(*command)
    assert status == 0, err
    state = path / "seeds"
    kills = 0
    for lines in (10, 40):  # killed in the middle of whatever it does
        started = subprocess.Popen([program("zkstudy"), *map(str, command), "--jobs=2",
                                    "--state=%s" % state], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        while started.poll() is None and not (state.exists() and
                                              state.read_bytes().count(b"\n") > lines):
            pass
        started.kill()
        kills += started.wait() == -9
    assert kills, "it came to its end before it could be killed"
    with state.open("ab") as f:
        f.write(b'{"seed":120,"ha')
    status, resumed, err = run(*command, "--jobs=2", "--state", state)
    assert (status, resumed) == (0, whole), err
    assert "of 120 seeds are in %s already" % state in err
    seeds = [json.loads(line)["seed"] for line in state.read_text().splitlines()[1:]]
    assert sorted(seeds) == list(range(1, 121))
    status, again, err = run(*command, "--state", state)  # nothing is left to do
    assert (status, again) == (0, whole), err
    status, _, err = run(*command, "--state", state, "--set", "members=3")
    assert status == 1 and "%s:1: expected the state of this scenario" % state in err


@quick
def test_sweep_measures_what_is_predicted(t):
    status, out, err = run("sweep", "--scenario", small(folder(t)), "--over", "n=1,2,4", "--set", "P=4",
                           "--seed=1..2")
    assert status == 0, err
    rows = list(csv.DictReader(out.splitlines()))
    assert [row["n"] for row in rows] == ["1", "1", "2", "2", "4", "4"]
    for row in rows:
        assert row["rebalances"] == row["rebalances_predicted"], row
        assert row["notifications"] == row["notifications_predicted"], row
        if row["failed"] == "0":
            assert row["reads"] == row["reads_predicted"], row


@quick
def test_story_is_told(t):
    status, out, err = run("story", "--scenario", small(folder(t)), "--seed=3")
    assert status == 0, err
    assert "cause" in out and "join m3" in out and "owns t/" in out


@quick
def test_a_repro_is_run_again(t):
    path = folder(t)
    file = path / "repro.json"
    repro = {"format": "zkstudy-repro/1", "version": "0.1.0", "scenario": SMALL.splitlines(), "seed": 3,
             "violated": "Z5", "violated_ns": 1, "detail": "", "hash": "0123456789abcdef"}
    file.write_text(json.dumps(repro))
    status, out, err = run("sim", "--repro", file)
    assert status == 0 and "1 runs" in out and "Z5 was violated, and is not now" in err, err
    status, again, _ = run("story", "--repro", file)
    assert (status, again) == run("story", "--scenario", small(path), "--seed=3")[:2]
    status, out, err = run("sim", "--repro", file, "--seed=1..3", "--set", "n=1")
    assert status == 0 and "3 runs" in out and "Z5 was" not in err, err
    for words, says in ((("sim", "--repro", file, "--scenario=S01"), "one of --scenario and --repro"),
                        (("sim",), "no scenario was named"),
                        (("sim", "--repro", path / "none"), "none: "),
                        (("sim", "--repro", small(path)), "small.scenario:1: expected JSON"),
                        (("shrink", "--repro", file), "violates no MUST"),
                        (("sweep", "--repro", file, "--over", "n=1"), "unknown option --repro")):
        status, out, err = run(*words)
        assert (status, out) == (1, "") and says in err, err
