"""The work of scripts/test (see its help): configures and builds presets, runs their ctest entries by
tier, and adds up."""
import argparse
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))
sys.dont_write_bytecode = True

from lib import jars, java_members, versions  # noqa: E402

JOBS = "2"
TEST_JOBS = "3"  # live tests wait more than they compute
AGAIN_AT_MOST = 5  # live tests of one build that failed and are run once more

# What runs in which build: preset, tiers (ctest labels), names left out. The live tests in Python run
# once, in the sanitized gcc build; the others run what depends on the compiler and the sanitizer.
LIVE = r"^integration\.[^.]+\."
# Pure code that computes for long: many seeds, planted bugs. It runs optimised; a few seeds run in each build.
SEEDS = r"^unit\.(sim_safe|sim_chaos|planted_bugs|formulas)_test$|^sim\.(seeds|hash|ablations)$|^unit\.sim_bench\.runs$"
# The same, of which the sanitized builds have parts even in the long tier: there it takes half an hour.
PAGES = r"^sim\.ablations$"
# What is the same in every build: it runs programs only.
ONCE = LIVE + r"|^sim\.(stories|golden_stories)$|^docs\."
# The same under valgrind takes minutes: long tier.
VALGRIND = r"^valgrind\.(sim_safe|sim_chaos|planted_bugs|formulas|zk_safe_random)_test$"
# One thread, no system: nothing for the thread sanitizer.
PURE = r"^unit\.(zk_compat_sweep|zk_compat_memory|group_sim|zk_safe_random|zk_safe_memory)_test$"
# librdkafka starts its threads with C11's thrd_create, which ThreadSanitizer does not know: any program
# that produces crashes in the tsan build.
PRODUCING = r"^integration\..*\.produce"
PLANS = {
    "quick": [("dev", ["quick"], None)],
    "default": [("dev", ["quick", "default"], SEEDS),
                ("clang", ["quick", "default"], ONCE + "|" + SEEDS),
                ("tsan", ["quick"], ONCE + "|" + SEEDS + "|" + PURE),
                ("release", ["quick", "default"], ONCE + "|" + VALGRIND)],
    "long": [("dev", ["quick", "default", "long"], PAGES),
             ("clang", ["quick", "default", "long"], ONCE + "|" + PAGES),
             ("tsan", ["quick", "default", "long"], PRODUCING + "|" + PAGES),
             ("release", ["quick", "default", "long"], None)],
}
LEFT_OUT = {
    "quick": "the default and long tiers, the clang, tsan and release builds, valgrind",
    "default": "the long tier (scripts/test --long)",
    "long": "producing in the tsan build (librdkafka cannot run there)",
}


class Totals:
    def __init__(self):
        self.passed = 0
        self.failed = []   # (name, output)
        self.skipped = []  # (name, reason)
        self.unsteady = []  # (name, output of the first run): passed only when run again


def say(text):
    print("== %s" % text, flush=True)


def run_logged(command, log):
    """Runs a command with its output in a file; whether it succeeded."""
    with open(log, "w") as file:
        return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file,
                              stderr=subprocess.STDOUT).returncode == 0


def build(preset, totals, configure_only=False):
    """Configures and builds; a failure counts as one failed test."""
    started = time.monotonic()
    folder = ROOT / "build" / preset
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "build.log"
    steps = [["cmake", "--preset", preset]]
    if not configure_only:
        steps.append(["cmake", "--build", str(folder), "-j", JOBS])
    for step in steps:
        if not run_logged(step, log):
            output = log.read_text(errors="replace")
            first = re.search(r"^(FAILED:|CMake Error|.*error:)", output, re.M)
            start = max(first.start() - 200, 0) if first else max(len(output) - 6000, 0)
            totals.failed.append(("[%s] build" % preset, output[start:start + 6000]))
            return False
    if not configure_only:
        say("%s: built in %.0f s" % (preset, time.monotonic() - started))
    return True


def run_ctest(preset, words):
    """What ctest says of each entry that `words` select, in a list; None when it wrote no report."""
    folder = ROOT / "build" / preset
    report = folder / "ctest.xml"
    report.unlink(missing_ok=True)
    run_logged(["ctest", "--test-dir", str(folder), "--output-junit", str(report),
                "--test-output-size-passed", "20000", "--test-output-size-failed", "200000",
                *words], folder / "ctest.log")
    if not report.exists():
        return None
    return list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))


def again_alone(preset, cases, totals):
    """Live tests share a machine with others, and real servers have time limits of their own: the few
    that failed run once more, alone. Those that pass then count as passed, and are listed by name with
    what they said first. A test that fails twice is a failure; so are many at once."""
    failed = [case.get("name") for case in cases
              if case.get("status") == "fail" and case.get("name").startswith("integration.")]
    if not 0 < len(failed) <= AGAIN_AT_MOST:
        return cases
    say("%s: run again alone: %s" % (preset, " ".join(failed)))
    pattern = "^(%s)$" % "|".join(re.escape(name) for name in failed)
    second = {case.get("name"): case for case in run_ctest(preset, ["-j", "1", "-R", pattern]) or []}
    settled = []
    for case in cases:
        again = second.get(case.get("name"))
        if case.get("name") in failed and again is not None and again.get("status") == "run":
            totals.unsteady.append(("[%s] %s" % (preset, case.get("name")),
                                    case.findtext("system-out") or ""))
            case = again
        settled.append(case)
    return settled


def ctest(preset, totals, selection):
    """Runs the ctest entries that `selection` (words for ctest) names."""
    started = time.monotonic()
    before = totals.passed, len(totals.failed), len(totals.skipped)
    cases = run_ctest(preset, ["-j", TEST_JOBS, *selection])
    if cases is None:
        log = (ROOT / "build" / preset / "ctest.log").read_text(errors="replace")
        totals.failed.append(("[%s] ctest" % preset, log[-6000:]))
        return
    for case in again_alone(preset, cases, totals):
        count(preset, case, totals)
    say("%s: %d passed, %d failed, %d skipped in %.0f s" % (
        preset, totals.passed - before[0], len(totals.failed) - before[1],
        len(totals.skipped) - before[2], time.monotonic() - started))


def count(preset, case, totals):
    name = "[%s] %s" % (preset, case.get("name"))
    output = case.findtext("system-out") or ""
    if case.get("status") == "run":
        totals.passed += 1
    elif case.find("skipped") is not None and case.get("status") in ("notrun", "disabled"):
        message = case.find("skipped").get("message") or ""
        if "SKIP" in message or case.get("status") == "disabled":
            lines = [line for line in output.splitlines() if line.startswith("skipped: ")]
            totals.skipped.append((name, lines[-1][9:] if lines else message))
        else:  # could not be started, or a fixture failed
            totals.failed.append((name, message + "\n" + output))
    else:
        failure = case.find("failure")
        message = failure.get("message") if failure is not None else case.get("status")
        totals.failed.append((name, "%s\n%s" % (message, output)))


def get_jars():
    """Fills the caches that live tests read. They are skipped when this fails."""
    for version in versions.KAFKA:
        try:
            jars.fetch(version, say)
        except jars.Unavailable as error:
            missing = [name for name in versions.KAFKA if not jars.is_cached(name)]
            say("%s\n   tests with Kafka %s will be skipped" % (error, ", ".join(missing)))
            break  # no network, most likely: the others would only take time to fail
    if jars.is_cached(versions.LEGACY):
        java_members.compiled()


def names_in(preset, selection):
    """The ctest entries of a configured build that `selection` (words for ctest) names."""
    listing = subprocess.run(
        ["ctest", "--test-dir", str(ROOT / "build" / preset), "-N", *selection], cwd=ROOT,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"^\s*Test\s+#\d+: (\S+)", listing, re.M)


def of_tiers(labels, left_out):
    """Words for ctest: the entries with one of these labels, without those whose name matches."""
    return ["-L", "^(%s)$" % "|".join(labels), *(["-E", left_out] if left_out else [])]


def run_named(arguments, totals):
    pattern = "|".join("(%s)" % name for name in arguments.names)
    presets = [arguments.preset] if arguments.preset else ["dev", "release"]
    for preset in presets:
        if not build(preset, totals, configure_only=True):
            return
        names = names_in(preset, ["-R", pattern])
        if names:
            if any(name.startswith("integration.") for name in names):
                get_jars()
            if build(preset, totals):
                ctest(preset, totals, ["-R", pattern])
            return
    say("no test matches %s" % " ".join(arguments.names))


def run_tier(tier, totals):
    if tier != "quick":
        get_jars()
    for preset, labels, left_out in PLANS[tier]:
        if build(preset, totals):
            ctest(preset, totals, of_tiers(labels, left_out))
    say("left out: %s" % LEFT_OUT[tier])


def list_tests(tier):
    totals = Totals()
    for preset, labels, left_out in PLANS[tier]:
        if not build(preset, totals, configure_only=True):
            print(totals.failed[-1][1])
            return 1
        for name in names_in(preset, of_tiers(labels, left_out)):
            print("%-8s %s" % (preset, name))
    return 0


def report(totals):
    for name, reason in totals.skipped:
        print("skipped %s: %s" % (name, reason))
    for name, output in totals.unsteady:
        cause = max(output.find("Traceback"), 0)  # the logs come behind it
        print("\n---- FAILED FIRST, passed when run again alone: %s\n%s" % (
            name, output[cause:cause + 4000].rstrip()))
    for name, output in totals.failed:
        print("\n---- FAILED %s\n%s" % (name, output.rstrip()))
    if totals.failed:
        print("\nfailed:\n%s" % "\n".join("  %s" % name for name, _ in totals.failed))
    if totals.unsteady:
        print("\npassed only when run again alone:\n%s" % "\n".join(
            "  %s" % name for name, _ in totals.unsteady))
    line = "%d passed, %d failed" % (totals.passed, len(totals.failed))
    if totals.skipped:
        line += ", %d skipped" % len(totals.skipped)
    print(line, flush=True)
    return 0 if totals.passed and not totals.failed else 1


def main():
    parser = argparse.ArgumentParser(prog="scripts/test", add_help=False)
    parser.add_argument("--quick", dest="tier", action="store_const", const="quick")
    parser.add_argument("--long", dest="tier", action="store_const", const="long")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--preset", choices=["dev", "clang", "tsan", "release"])
    parser.add_argument("names", nargs="*")
    parser.set_defaults(tier="default")
    arguments = parser.parse_args()
    if arguments.preset and not arguments.names:
        parser.error("--preset needs a NAME")
    if arguments.list:
        return list_tests(arguments.tier)

    totals = Totals()
    started = time.monotonic()
    try:
        if arguments.names:
            run_named(arguments, totals)
        else:
            run_tier(arguments.tier, totals)
    except KeyboardInterrupt:
        totals.failed.append(("scripts/test", "interrupted"))
    say("%.0f s in all" % (time.monotonic() - started))
    return report(totals)


if __name__ == "__main__":
    sys.exit(main())
