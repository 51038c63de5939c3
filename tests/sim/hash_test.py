#!/usr/bin/python3
"""The same seed gives the same world whatever the compiler and its optimisation: builds hash_main.c and
all it stands on by gcc and clang, -O0 and -O2, and compares what they print.

    hash_test.py FOLDER       where to build
"""
import pathlib
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["study/sim", "study/trace", "zkconsumer/core/base", "zkconsumer/core/zk",
           "zkconsumer/core/assign", "zkconsumer/core/wire", "zkconsumer/core/group"]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    sources = [ROOT / "tests/sim/hash_main.c"]
    for name in FOLDERS:
        sources += sorted((ROOT / name).glob("*.c"))
    libraries = shlex.split(subprocess.check_output(
        ["pkg-config", "--cflags", "--libs", "jansson", "libpcre2-8", "zlib", "snappy",
         "liblz4"], text=True))
    printed = {}
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            print("no %s here" % compiler)
            continue
        for level in ("-O0", "-O2"):
            program = folder / ("hash%s-%s" % (level, compiler))
            subprocess.check_call([compiler, "-std=c11", level, "-ffp-contract=off", "-D_GNU_SOURCE",
                                   "-I", str(ROOT), "-I", str(ROOT / "zkconsumer/include"),
                                   *map(str, sources), "-o", str(program), *libraries])
            printed[compiler + level] = subprocess.check_output([program], text=True)
            program.unlink()
    print(next(iter(printed.values())))
    if len(set(printed.values())) != 1 or " 0000000000000000" in next(iter(printed.values())):
        sys.exit("the hashes differ:\n" + "\n".join("%s\n%s" % item for item in printed.items()))
    if len(printed) < 2:
        sys.exit(77)


main()
