"""The program zkstudy: what it prints, what it returns, and traces that it writes and reads."""
import csv
import gzip
import json
import pathlib
import re
import subprocess
import tempfile

from lib.members import program
from lib.testing import quick

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests" / "vectors" / "traces"

SMALL = ("members=2\nlate=1\ntopic.t=4 rate 5\nrun=20s\nwarmup=10s\nheal=10s\ndrain=12s\n"
         "fault.1=at 12s+u(0,2s) join late\n")


def run(*words, timeout_s=100):
    """The program to its end: (exit status, stdout, stderr)."""
    done = subprocess.run([program("zkstudy"), *map(str, words)], capture_output=True,
                          timeout=timeout_s, check=False)
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


CONTESTED = """name = contested
about = a member takes a second to stop, two others wait for its partitions
zookeeper.mode = safe
members = 2
late = 1
brokers = 1
zk.servers = 1
topic.t = 6 rate 100
run = 50s
link = 100ms
fault.1 = at 25s slow_stop m1 by 1s for 20s
fault.2 = at 30s join late
"""


@quick
def test_a_contested_partition_flows_in_three_round_trips(t):
    """Two of 200 ms from the event to the open gate, where the fetch begins, which is the third: its leader
    was looked for while the partition was waited for."""
    path = folder(t)
    (path / "contested.scenario").write_text(CONTESTED)
    status, _, err = run("sim", "--scenario", path / "contested.scenario", "--level=2",
                         "--trace", path / "trace.jsonl")
    assert status == 0, err
    freed, taken, fetched = {}, {}, {}
    for event in map(json.loads, (path / "trace.jsonl").read_text().splitlines()):
        if event["ev"] == "zk_watch" and event["type"] == "NodeDeleted" and "/owners/" in event["path"]:
            freed[event["m"], event["path"].split("/owners/")[1]] = event["t"]
        elif event["ev"] == "own_begin" and (event["m"], event["p"]) in freed:
            taken[event["m"], event["p"]] = event["t"] - freed[event["m"], event["p"]]
        elif event["ev"] == "fetch_start":
            fetched.update({(event["m"], p): event["t"] - freed[event["m"], p] for p in event["ps"]
                            if (event["m"], p) in freed})
    assert fetched.keys() == taken.keys(), (taken, fetched)
    assert {member for member, _ in taken} == {"m2", "m3"}, (taken, freed)
    late = {key: ns for key, ns in fetched.items() if not ns < 2.2 * 200e6}
    assert not late, "round trips until the fetch began: %r" % {k: ns / 200e6 for k, ns in late.items()}


@quick
def test_sim_refuses_what_cannot_be(t):
    path = folder(t)
    file = small(path)
    for words, says in ((("--set", "members=none"), "members: expected a number"),
                        (("--set", "fault.1=at 1s join m9"), "a member of the scenario"),
                        (("--set", "zk.servers=2"), "an odd number"),
                        (("--set", "nonsense=2"), "unknown key"),
                        (("--mode=classic:eager",), "expected zookeeper:compat or zookeeper:safe"),
                        (("--set", "zookeeper.hand.over.ms=1"), "zookeeper.mode=safe, which alone acts on it"),
                        (("--mode=zookeeper:safe", "--set", "zookeeper.give.up=retries"),
                         "zookeeper.mode=compat, which alone acts on it"),
                        (("--mode=zookeeper:safe", "--set", "member.1.zookeeper.mode=compat",
                          "--set", "member.1.zookeeper.keep.unmoved=false"), "zookeeper.mode=safe, which alone"),
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


# ---- captures ----

SCENES = ROOT / "tests" / "vectors" / "zookeeper"


@quick
def test_import_and_check_a_golden_scene(t):
    trace = folder(t) / "late-commit.trace.gz"
    status, out, err = run("import", SCENES / "late-commit.jsonl", "-o", trace)
    assert (status, out, err) == (0, "", ""), (status, out, err)
    status, out, err = run("check", "--json", trace)
    assert status == 0, err
    results = {row["id"]: row for row in json.loads(out)["results"]}
    assert results["commit_regressions"]["found"] == results["stale_commits"]["found"] == 1
    assert results["duplicates"]["found"] == 6 and results["dual_ps"]["found"] > 8
    assert "a capture does not show" in results["C5"]["unknown"], results["C5"]
    status, out, err = run("story", "--long", trace)
    assert status == 0 and "m1   gives up t/0 (lost)" in out and "cannot claim t/1" in out, out
    status, out, err = run("import", SCENES / "late-commit.jsonl")
    assert status == 0 and out.encode() == gzip.decompress(trace.read_bytes())


@quick
def test_import_counts_between_marks(t):
    wanted, lines = [], (SCENES / "orphan.jsonl").read_text().splitlines()
    for line in map(json.loads, lines):
        if "mark" in line or not wanted:
            wanted.append({"mark": line.get("mark", ""), "members": {}})
        row = wanted[-1]["members"].setdefault(line.get("m"), [0, 0, 0, 0])
        row[0] += line.get("op") in ("exists", "getData", "getChildren")
        row[1] += line.get("op") in ("create", "delete", "setData")
        row[2] += line.get("w", 0)
        row[3] += "event" in line
    for interval in wanted:
        interval["members"] = {m: row for m, row in sorted(interval["members"].items(), key=str) if any(row)}
    status, out, err = run("import", "--counts", SCENES / "orphan.jsonl")
    assert status == 0, err
    assert [json.loads(line) for line in out.splitlines()] == wanted, out


@quick
def test_import_says_what_is_wrong_with_a_capture(t):
    path = folder(t)
    lines = (SCENES / "stale-offset.jsonl").read_text().splitlines(keepends=True)

    def write(text):
        (path / "capture").write_text(text)
        return run("import", "-o", path / "trace", path / "capture")

    status, _, err = write("".join(lines[:20] + ['{"ms":"late","mark":"x"}\n', "[]\n"] + lines[20:]))
    assert status == 1, err
    assert "capture:21: \"ms\": expected an integer" in err and "capture:22: expected one JSON object" in err
    assert "PARTIAL: 2 problems" in err
    assert run("check", path / "trace")[0] == 0  # of what is whole the rest is made
    status, _, err = write("".join(lines)[:-20])
    assert status == 1 and "capture:%d: the file is cut short" % len(lines) in err, err
    recorded = (ROOT / "tests" / "vectors" / "record" / "zkrecord.jsonl").read_text().splitlines(keepends=True)
    header = ('{"seq":0,"t":1.5,"who":"","c":0,"k":"capture","schema":"zkcapture/1","servers":"z"}\n')
    status, _, err = write("".join([header] + recorded))
    assert status == 1 and "the capture is cut short: it has no \"end\"" in err, err
    end = '{"seq":999,"t":9999999999.5,"who":"","c":0,"k":"end","drops":3}\n'
    status, _, err = write("".join(recorded + [end.replace("9999999999.5", "1999999999.5")]))
    assert status == 1 and "lines are missing" in err, err
    status, _, err = write("".join(recorded[10:]))
    assert status == 1 and "PARTIAL" in err, err
    (path / "trace").unlink(missing_ok=True)
    for text, says in (("", "found an empty file"), ("hello\n", ":1: expected one JSON object"),
                       ('{"ev":"run"}\n', ':1: "k": expected a line of a capture'),
                       ('{"ms":0,"mark":"nobody"}\n', "no member of a group registers in it"),
                       ("".join((SCENES / "offset-reset.jsonl").read_text().splitlines(True)),
                        "several groups, /consumers/gs and /consumers/gl: choose one")):
        status, out, err = write(text)
        assert (status, out) == (1, "") and says in err, (says, err)
        assert not (path / "trace").exists()
    assert run("import", "--group", "gl", "-o", path / "trace", path / "capture")[0] == 0
    for words, says in ((("--rebalance-max-retries=0", "x"), "--rebalance-max-retries"), ((), "expected one capture"),
                        (("x", "y"), "expected one capture"),
                        (("--mode=classic", "x"), "expected zookeeper:compat or zookeeper:safe"), ((path / "none",), "No such file")):
        status, _, err = run("import", *words)
        assert status == 1 and says in err, err


@quick
def test_import_with_a_log_of_the_server(t):
    path = folder(t)
    vectors = ROOT / "tests" / "vectors" / "record"
    logs = [bytes.fromhex(line.split()[1]) for line in (vectors / "txn_log.hex").read_text().splitlines()
            if not line.startswith("#")]
    (path / "version-2").mkdir()

    def with_log(log):
        return run("import", "--writes-only", "--txn-log", log, "-o", path / "trace", vectors / "zkrecord.jsonl")

    def refused(log, says):
        status, out, err = with_log(log)
        assert (status, out) == (1, "") and says in err, err

    refused(path / "none", "none: No such file")
    refused(path / "version-2", "expected files log.ZXID in it")
    for data, says in ((b"", "begins with ZKLG"), (b"hello", "begins with ZKLG"),
                       (logs[0][:300], "the file is cut short in the middle of a transaction")):
        (path / "version-2" / "log.1").write_bytes(data)
        refused(path / "version-2", "log.1: ")
        refused(path / "version-2" / "log.1", says)
    (path / "version-2" / "log.1").write_bytes(logs[0])  # another server's
    refused(path / "version-2", "writes of it are not in the transaction log: expected all of the log's files")


@quick
def test_record_refuses_what_cannot_be(t):
    out = folder(t) / "capture"
    for words, says in ((("-z", "127.0.0.1:1", "-o", out), "--listen"),
                        (("-l", "127.0.0.1:0", "-o", out), "--zookeeper"),
                        (("-l", "127.0.0.1:0", "-z", "127.0.0.1:1"), "--out"),
                        (("-l", "m1=here", "-z", "127.0.0.1:1", "-o", out), "here: expected HOST:PORT"),
                        (("-l", "127.0.0.1:0", "-z", "127.0.0.1", "-o", out), "expected HOST:PORT"),
                        (("-l", "a=127.0.0.1:0", "-l", "a=127.0.0.1:0", "-z", "127.0.0.1:1", "-o", out),
                         "another label"),
                        (("-l", "127.0.0.1:0", "-z", "127.0.0.1:1", "-o", out / "none"), "none: ")):
        status, said, err = run("record", *words)
        assert (status, said) == (1, "") and says in err, (words, err)


# ---- docs/ablations.md ----

ABLATIONS = (ROOT / "docs" / "ablations.md").read_text()


def sections(text):
    """{heading: body} of the tables."""
    return {part.split("\n", 1)[0]: part for part in text.split("\n## ")[1:]}


def ablations_page_is_printed(mode, scenarios, timeout_s):
    page = {"compat": ABLATIONS.split("\n# ")[0], "safe": ABLATIONS.split("\n# ")[1]}[mode]
    command = re.search(r"^    zkstudy (ablate .*)$", page, re.M).group(1).split()
    assert ("--mode=zookeeper:safe" in command) == (mode == "safe"), command
    words = ["--scenario=%s" % name for name in scenarios]
    status, out, err = run(*command, *words, timeout_s=timeout_s)
    assert status == 0, err
    printed, page = sections(out), sections(page)
    headings = [one for one in page if one.split(":")[0] in scenarios]
    assert headings, list(page)
    for heading in headings:
        assert printed[heading].rstrip() == page[heading].rstrip(), (
            "docs/ablations.md has another table:\n%s" % printed[heading])


@quick
def test_ablations_take_what_is_of_the_mode(t):
    for words, says in ((("ablate", "--scenario=blind-delete-commit"), "expected --mode=zookeeper:safe"),
                        (("ablate", "--mode=classic:eager"), "expected zookeeper:compat or zookeeper:safe")):
        status, _, err = run(*words)
        assert status == 1 and says in err, (status, err)


@quick
def test_ablations_page_is_what_is_printed(t):
    """One of its tables; sim.ablations has all."""
    ablations_page_is_printed("compat", ["S05"], 200)


@quick
def test_ablations_page_is_what_is_printed_of_safe_mode(t):
    ablations_page_is_printed("safe", ["S05", "blind-delete-commit", "blind-delete-release"], 200)
