#!/usr/bin/python3
"""Stories of simulated runs, pinned byte for byte: tests/vectors/sim/stories. Each file begins with the
command that tells it; lines that begin with # say what to look for.

    stories_test.py ZKSTUDY              tells all again and compares
    stories_test.py ZKSTUDY --update     writes what is told now: read the difference before it is committed
"""
import difflib
import pathlib
import shlex
import subprocess
import sys

STORIES = pathlib.Path(__file__).resolve().parent.parent / "vectors" / "sim" / "stories"


def tell(program, path, text):
    """What the file should be."""
    lines = text.splitlines(keepends=True)
    head = [line for line in lines if line.startswith(("$ ", "#"))]
    commands = [shlex.split(line[2:]) for line in head if line.startswith("$ ")]
    if len(commands) != 1 or commands[0][:2] != ["zkstudy", "story"]:
        sys.exit("%s: expected one line '$ zkstudy story ...'" % path.name)
    done = subprocess.run([program, *commands[0][1:]], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("%s: exit status %d\n%s" % (path.name, done.returncode, done.stderr))
    return "".join(head) + done.stdout


def main():
    program, is_update = sys.argv[1], sys.argv[2:] == ["--update"]
    paths = sorted(STORIES.glob("*.story"))
    changed = []
    for path in paths:
        pinned = path.read_text()
        told = tell(program, path, pinned)
        if told == pinned:
            continue
        changed.append(path.name)
        if is_update:
            path.write_text(told)
        else:
            sys.stdout.writelines(list(difflib.unified_diff(
                pinned.splitlines(keepends=True), told.splitlines(keepends=True), path.name, "now"))[:60])
    print("%d stories, %d %s" % (len(paths), len(changed), "written" if is_update else "differ"))
    if len(paths) < 12 or (changed and not is_update):
        sys.exit("stories differ: %s\n%s" % (" ".join(changed), __doc__))


main()
