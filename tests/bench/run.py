"""The work of scripts/bench (see its help): starts what a benchmark needs, runs it, prints its table."""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from lib import processes, testing  # noqa: E402
from lib.context import Context  # noqa: E402

import broker  # noqa: E402
import consumer  # noqa: E402
import join  # noqa: E402
import members  # noqa: E402
import scenarios  # noqa: E402
import wire  # noqa: E402
import zookeeper  # noqa: E402

BENCHMARKS = {"wire": wire, "consumer": consumer, "members": members, "join": join,
              "scenarios": scenarios, "zookeeper": zookeeper, "broker": broker}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", add_help=False)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--only", default="")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in BENCHMARKS:
            parser.error("there is no benchmark %s (there are %s)" % (name, ", ".join(BENCHMARKS)))
    if arguments.rounds is not None and arguments.rounds < 1:
        parser.error("--rounds must be 1 or more")
    usual, joins = (1, 2) if arguments.smoke else (2, 8) if arguments.quick else (5, 30)
    given = None if arguments.smoke else arguments.rounds
    arguments.rounds, arguments.joins = given or usual, given or joins
    os.environ["ZKC_BUILD_DIR"] = str(arguments.build)  # where lib looks for our programs
    arguments.programs = arguments.build / "tests" / "bench"
    return arguments


def main():
    arguments = parse_arguments()
    processes.exit_on_signals()
    context = Context(tempfile.mkdtemp(prefix="zkconsumer-bench-"))
    try:
        for name in arguments.names or BENCHMARKS:
            BENCHMARKS[name].run(context, arguments)
    except testing.Skip as reason:
        print("skipped: %s" % reason)
        return 77
    finally:
        context.close()
        shutil.rmtree(context.folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
