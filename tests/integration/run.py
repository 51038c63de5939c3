#!/usr/bin/python3
"""Runs one integration test, or lists them all.

    run.py FILE::NAME      e.g. run.py harness_test.py::test_one
    run.py --on zkbroker FILE::NAME    with our own brokers where it says Kafka 0.8.2.2
    run.py --mode safe FILE::NAME      with members in safe mode, for tests @both_modes
    run.py --list          one line each: file name tier timeout modes

Exit codes: 0 passed, 1 failed, 77 skipped, 2 usage. A failed test's folder, with all logs, is kept
(below $ZKC_BUILD_DIR/integration); the ends of its logs are printed.
"""
import ast
import gc
import importlib
import os
import pathlib
import signal
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from lib import testing  # noqa: E402  (needs nothing but Python)

TAIL_LINES = 40


def find_tests():
    """Yields (file, name, tier, timeout, modes) from the sources, without running them."""
    for path in sorted(HERE.glob("*_test.py")):
        for node in ast.parse(path.read_text(), str(path)).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                tier, timeout_s, modes = "default", testing.TIMEOUT_S, "compat"
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Name) and mark.id in ("quick", "long"):
                        tier = mark.id
                    elif isinstance(mark, ast.Name) and mark.id in ("both_modes", "both_modes_long"):
                        modes = mark.id
                    elif isinstance(mark, ast.Call) and mark.func.id == "timeout":
                        timeout_s = mark.args[0].value
                yield path.name, node.name, tier, timeout_s, modes


class TooSlow(Exception):
    pass


def too_slow(_signal, _frame):
    raise TooSlow("the test took too long")


def print_logs(folder):
    for path in sorted(folder.rglob("*")):
        if path.stem.isdigit():
            continue  # a segment of a partition
        if path.suffix in (".log", ".err", ".out") and path.stat().st_size:
            lines = path.read_text(errors="replace").splitlines()
            print("---- %s, the last %d of %d lines" % (path, min(TAIL_LINES, len(lines)), len(lines)))
            print("\n".join(line[:300] for line in lines[-TAIL_LINES:]))
    print("---- everything is kept in %s" % folder)


def let_threads_run():
    """Members' links may go through threads of this process (lib/proxy.py), and sessions are short. A full
    collection over what a long test has recorded stops all threads, for seconds on a busy machine; what it
    would free is little. And who waits asks often: the others are to have their turn sooner than after the
    usual 5 ms."""
    gc.disable()
    sys.setswitchinterval(0.0005)


def run(file, name):
    from lib import processes
    from lib.context import Context

    module = importlib.import_module(pathlib.Path(file).stem)
    test = getattr(module, name)
    let_threads_run()
    build = pathlib.Path(os.environ.get("ZKC_BUILD_DIR", HERE.parent.parent / "build" / "dev"))
    on, mode = os.environ.get("ZKC_ON", ""), os.environ.get("ZKC_MODE", "")
    if mode and not getattr(test, "has_both_modes", False):
        print("%s of %s is not @both_modes" % (name, file), file=sys.stderr)
        return 2
    folder = build.resolve() / "integration" / ".".join(
        word for word in (pathlib.Path(file).stem, name, on, mode) if word)
    processes.exit_on_signals()
    signal.signal(signal.SIGALRM, too_slow)
    # a little before ctest kills us, so that there is time to say where it stood
    signal.alarm(getattr(test, "timeout_s", testing.TIMEOUT_S) - 10)
    context = Context(folder, mode or "compat")
    try:
        try:
            test(context)
        finally:
            signal.alarm(60)
            context.close()
    except testing.Skip as reason:
        print("skipped: %s" % reason)
        context.remove_folder()
        return 77
    except Exception:
        traceback.print_exc(file=sys.stdout)
        print_logs(folder)
        return 1
    context.remove_folder()
    return 0


def main(words):
    if words == ["--list"]:
        for line in find_tests():
            print(*line)
        return 0
    for option, value, variable in (("--on", "zkbroker", "ZKC_ON"), ("--mode", "safe", "ZKC_MODE")):
        if words[:2] == [option, value]:
            os.environ[variable] = value
            words = words[2:]
    if len(words) != 1 or "::" not in words[0]:
        print(__doc__, file=sys.stderr)
        return 2
    file, name = words[0].split("::")
    return run(file, name)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.exit(status)
