"""What the checkers say of a run of our members (zkstudy check)."""
import json

from .members import run


def import_writes(recorder, zookeeper, origin_ns, path):
    """All writes of the ensemble, from the server's own log beside what the recorder saw, as a trace in
    `path`; ends the recorder. The zk_txn events."""
    done = run("zkstudy", "import", "--mode=zookeeper:safe", "--writes-only", "--origin-ns", origin_ns,
               "--txn-log", zookeeper.log_folder, "-o", path, recorder.stop())
    assert done.returncode == 0, done.stderr
    return [event for event in map(json.loads, path.read_text().splitlines()) if event["ev"] == "zk_txn"]


def check(traces, writes=(), except_for=()):
    """{id: result}; no MUST is violated but these. Of whoever was killed before it wrote a line nothing is
    known."""
    done = run("zkstudy", "check", "--json", *[trace for trace in traces if trace.stat().st_size], *writes,
               timeout_s=300)
    assert done.returncode in (0, 2), "%s\n%s" % (done.stdout, done.stderr)
    results = {row["id"]: row for row in json.loads(done.stdout)["results"]}
    broken = [row for row in results.values() if row["severity"] == "must" and row["found"]]
    broken = [row for row in broken if row["id"] not in except_for]
    assert not broken, broken
    return results


def were_checked(results, *musts):
    for must in musts:
        assert results[must]["checked"] > 0, results[must]
