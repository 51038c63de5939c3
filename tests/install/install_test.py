"""Installs a build tree and uses what was installed: install_test.py STEP BUILD COMPILER."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
STEP, BUILD, COMPILER = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
WORK = BUILD / "install-test"
PREFIX = WORK / "moved"  # installed elsewhere and moved, as packagers do
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wstrict-prototypes", "-Werror"]


def run(*words, **options):
    """Output of a command that must succeed."""
    result = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode:
        sys.exit("%s\n%s" % (" ".join(str(word) for word in words), result.stdout))
    return result.stdout


def library(name):
    found = list(PREFIX.rglob(name))
    assert len(found) == 1, (name, found)
    return found[0]


def pkg_config(*words):
    folder = library("zkconsumer.pc").parent
    return run("pkg-config", *words, "zkconsumer",
               env={**os.environ, "PKG_CONFIG_PATH": str(folder)}).split()


def says_hello(program):
    out = run(program, env={**os.environ, "LD_LIBRARY_PATH": str(library("libzkconsumer.so").parent)})
    assert out == "ZKC_ERR_CONFIG\n", out


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", file))


def symbols(*words):
    """Names defined for others, without version."""
    lines = run("nm", "--defined-only", *words).splitlines()
    return {line.split()[2].split("@")[0] for line in lines
            if len(line.split()) == 3 and line.split()[1] != "A"}


def tree():
    shutil.rmtree(WORK, ignore_errors=True)
    run("cmake", "--install", BUILD, "--prefix", WORK / "installed")
    os.rename(WORK / "installed", PREFIX)
    for name in ("libzkconsumer.so", "libzkconsumer.a", "zkconsumer.pc", "zkconsumerConfig.cmake",
                 "zkconsumerConfigVersion.cmake"):
        library(name)
    assert run(PREFIX / "bin" / "zkconsumer", "--version").startswith("zkconsumer ")
    source = HERE.parent.parent / "zkconsumer" / "include" / "zkconsumer"
    installed = {path.name for path in (PREFIX / "include" / "zkconsumer").iterdir()}
    assert installed == {path.name for path in source.glob("*.h")}, installed


def man_pages():
    """Whatever is installed to be run has a page, which its own words fill, and groff reads without a
    warning."""
    pages = {path.stem: path for path in (PREFIX / "share" / "man" / "man1").glob("*.1")}
    programs = {path.name for path in (PREFIX / "bin").iterdir()}
    assert {"zkconsumer", "zkbroker", "zkstudy", "kafka-console-consumer"} <= programs, programs
    assert not programs - set(pages), "without a page: %s" % sorted(programs - set(pages))
    foreign = {name for name in pages if name not in programs
               and not re.match(r"(zkconsumer|zkstudy)-", name)}
    assert not foreign, "pages of nothing: %s" % sorted(foreign)
    for name, path in pages.items():
        text = path.read_text()
        assert ".SH NAME\n%s \\-" % name.replace("-", "\\-") in text, path
        for other in re.findall(r"^\.BR (\S+) \(1\)", text, re.M):
            assert other.replace("\\-", "-") in pages, "%s refers to %s" % (name, other)
        if shutil.which("groff"):
            said = run("groff", "-man", "-ww", "-Tutf8", "-z", path)
            assert not said, said


def scenarios():
    """The installed zkstudy reads the scenarios that are installed with it."""
    folder = PREFIX / "share" / "zkconsumer" / "scenarios"
    shutil.copy(folder / "S01.scenario", folder / "only-here.scenario")
    assert "0 violated a MUST" in run(PREFIX / "bin" / "zkstudy", "sim", "--scenario=only-here", cwd="/")


def headers():
    """Each stands alone, in strict C and in C++."""
    for header in sorted((PREFIX / "include" / "zkconsumer").glob("*.h")):
        unit = WORK / "unit.c"
        unit.write_text("#include <zkconsumer/%s>\nextern int used;\n" % header.name)
        run(COMPILER, *STRICT, "-I", PREFIX / "include", "-fsyntax-only", unit)
        run("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", PREFIX / "include",
            "-fsyntax-only", "-x", "c++", unit)


def declared():
    """The functions of the installed headers."""
    names = set()
    for header in (PREFIX / "include" / "zkconsumer").glob("*.h"):
        for text in re.findall(r"^ZKC_API\b[^;]*;", header.read_text(), re.M):
            names.add(re.search(r"\b(zkc_\w+)\(", text).group(1))
    return names


def check_exports(what, names):
    foreign = sorted(names - declared())
    assert not foreign, "%s exports what no public header declares: %s" % (what, foreign)
    missing = sorted(declared() - names)
    assert not missing, "%s lacks what a public header declares: %s" % (what, missing)


def check_symbols():
    shared = library("libzkconsumer.so").resolve()
    assert re.search(r"SONAME.*\[libzkconsumer\.so\.\d+\]", run("readelf", "-d", shared))
    check_exports("libzkconsumer.so", symbols("-D", shared))
    check_exports("libzkconsumer.a", symbols("-g", library("libzkconsumer.a")))
    assert "@@ZKCONSUMER_0" in run("nm", "-D", "--with-symbol-versions", shared)


def check_pkg_config():
    program = WORK / "hello-shared"
    run(COMPILER, *STRICT, HERE / "hello.c", "-o", program, *pkg_config("--cflags", "--libs"))
    assert any(name.startswith("libzkconsumer.so.") for name in needed(program)), needed(program)
    says_hello(program)


def check_pkg_config_static():
    program = WORK / "hello-static"
    words = ["-l:libzkconsumer.a" if word == "-lzkconsumer" else word
             for word in pkg_config("--cflags", "--libs", "--static")]
    run(COMPILER, *STRICT, HERE / "hello.c", "-o", program, *words)
    assert not any("zkconsumer" in name for name in needed(program)), needed(program)
    says_hello(program)


def check_cmake_package():
    project = WORK / "project"
    project.mkdir(exist_ok=True)
    shutil.copy(HERE / "hello.c", project)
    shutil.copy(HERE / "project.cmake", project / "CMakeLists.txt")
    run("cmake", "-S", project, "-B", project / "build", "-G", "Ninja", "--fresh",
        "-DCMAKE_C_COMPILER=%s" % COMPILER, "-DCMAKE_PREFIX_PATH=%s" % PREFIX)
    run("cmake", "--build", project / "build")
    says_hello(project / "build" / "hello_shared")
    says_hello(project / "build" / "hello_static")
    assert not any("zkconsumer" in name for name in needed(project / "build" / "hello_static"))


STEPS = {"tree": tree, "man_pages": man_pages, "scenarios": scenarios, "headers": headers, "symbols": check_symbols, "pkg_config": check_pkg_config,
         "pkg_config_static": check_pkg_config_static, "cmake_package": check_cmake_package}
STEPS[STEP]()
