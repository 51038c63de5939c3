"""Tables that name checks: each check they name must exist.

    check_rows.py BUILD_FOLDER PAGE...

A check stands in backticks in the last column of a row: a ctest name, and after a slash what is in it: the
name of a test function or of a recorded scene in the source of that test. A row that begins "none:" in its
last column says why there is no check."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def known_tests(build):
    listing = subprocess.run(["ctest", "--test-dir", build, "-N"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    return set(re.findall(r"Test +#\d+: (\S+)", listing))


def sources():
    """{name of a test program: its source}"""
    result = {path.stem: path.read_text() for path in (ROOT / "tests").rglob("*_test.c")}
    for prefix, folder in (("sim", "tests/sim"), ("study", "tests/unit/run")):
        result.update({"%s_%s" % (prefix, path.stem): path.read_text()
                       for path in (ROOT / folder).glob("*_test.c")})
    return result


def rows(page):
    """(line number, last column) of each row of each table."""
    in_table = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("|"):
            in_table = False
        elif re.fullmatch(r"\|[-| ]+\|", line):
            in_table = True
        elif in_table:
            yield number, line.rstrip("| ").rsplit("|", 1)[1].strip()


def problem_of(check, tests, programs):
    name, _, part = check.partition("/")
    if name not in tests:
        return "there is no test %s" % name
    if part and not re.search(r"\b%s\b" % re.escape(part), programs.get(name.split(".")[-1], "")):
        return "%s has nothing named %s" % (name, part)
    return None


def main(build, pages):
    tests, programs = known_tests(build), sources()
    problems, count = [], 0
    for page in map(pathlib.Path, pages):
        for number, column in rows(page):
            checks = re.findall(r"`([^`]+)`", column)
            if not checks and not column.startswith("none:"):
                problems.append("%s:%d: a row without a check" % (page, number))
            for check in checks:
                count += 1
                problem = problem_of(check, tests, programs)
                if problem:
                    problems.append("%s:%d: %s" % (page, number, problem))
    print("\n".join(problems) or "%d checks exist" % count)
    return 1 if problems or count < 20 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
