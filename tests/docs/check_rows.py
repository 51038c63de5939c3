"""Tables that name checks: each check they name must exist.

    check_rows.py BUILD_FOLDER PAGE...

The columns of checks are those whose heading begins with "checks"; a page has at least one. A check
stands in backticks: a ctest name, in which * stands for anything, and after a slash what is in it: the
name of a test function or of a recorded scene in the source of that test. A cell without a check begins
"none:" and says why."""
import fnmatch
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


def columns_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def cells(page):
    """(line number, cell) of each cell of checks."""
    before, headings = "", []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("|"):
            headings = []
        elif re.fullmatch(r"\|[-| ]+\|", line):
            headings = columns_of(before)
        else:
            for heading, cell in zip(headings, columns_of(line)):
                if heading.startswith("checks"):
                    yield number, cell
        before = line


def problem_of(check, tests, programs):
    name, _, part = check.partition("/")
    if not fnmatch.filter(tests, name):
        return "there is no test %s" % name
    if part and not re.search(r"\b%s\b" % re.escape(part), programs.get(name.split(".")[-1], "")):
        return "%s has nothing named %s" % (name, part)
    return None


def main(build, pages):
    tests, programs = known_tests(build), sources()
    problems, count = [], 0
    for page in map(pathlib.Path, pages):
        found = list(cells(page))
        if not found:
            problems.append("%s: no table of checks" % page)
        for number, cell in found:
            checks = [word for word in re.findall(r"`([^`]+)`", cell) if "=" not in word]
            if not checks and not cell.startswith("none:"):
                problems.append("%s:%d: a cell without a check" % (page, number))
            for check in checks:
                count += 1
                problem = problem_of(check, tests, programs)
                if problem:
                    problems.append("%s:%d: %s" % (page, number, problem))
    print("\n".join(problems) or "%d checks exist" % count)
    return 1 if problems or count < 20 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
