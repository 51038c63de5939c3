#!/usr/bin/python3
"""docs/ablations.md is what the commands on it print, table by table.

    ablations_test.py ZKSTUDY              prints all again and compares
    ablations_test.py ZKSTUDY --update     writes what is printed now: read the difference before it is committed
"""
import difflib
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "ablations.md"
COMMAND = re.compile(r"^    zkstudy (ablate .*)$", re.M)


def printed(program, part):
    """What this part of the page should be: each table, by its heading, as its command prints it."""
    words = COMMAND.search(part).group(1).split()
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("zkstudy %s: exit status %d\n%s" % (" ".join(words), done.returncode, done.stderr))
    tables = {text.split("\n", 1)[0]: text.rstrip() for text in done.stdout.split("\n## ")[1:]}
    text, *sections = part.split("\n## ")
    headings = [section.split("\n", 1)[0] for section in sections]
    if sorted(headings) != sorted(tables):
        sys.exit("zkstudy %s prints other tables than the page has: %s" % (
            " ".join(words), sorted(set(headings) ^ set(tables))))
    ends = [section[len(section.rstrip()):] for section in sections]
    return "\n## ".join([text, *(tables[heading] + end for heading, end in zip(headings, ends))])


def main():
    program, is_update = sys.argv[1], sys.argv[2:] == ["--update"]
    page = PAGE.read_text()
    now = "\n# ".join(printed(program, part) for part in page.split("\n# "))  # one part for each mode
    if now == page:
        return
    sys.stdout.writelines(difflib.unified_diff(page.splitlines(True), now.splitlines(True), str(PAGE), "now"))
    if not is_update:
        sys.exit("docs/ablations.md: other tables; after a change that is meant, build ablations.update")
    PAGE.write_text(now)


if __name__ == "__main__":
    main()
