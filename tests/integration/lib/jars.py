"""Released Kafka jars by their Maven coordinates, in a cache of our own.

The cache is $ZKC_JARS_DIR, else $XDG_CACHE_HOME/zkconsumer/kafka, else ~/.cache/zkconsumer/kafka; one
folder for each release, there only when complete. Tests never download: they are skipped when the
folder is absent (`require`); scripts/test and scripts/real-kafka fill the cache (`fetch`).
"""
import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile

from . import versions
from .testing import Skip


_MAVEN_TIMEOUT_S = 300


class Unavailable(Exception):
    """The jars cannot be had; the text says why."""


def cache_dir():
    if os.environ.get("ZKC_JARS_DIR"):
        return pathlib.Path(os.environ["ZKC_JARS_DIR"])
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "zkconsumer" / "kafka"


def folder(version):
    return cache_dir() / version


def is_cached(version):
    return folder(version).is_dir()


def classpath(version):
    """For java -cp; the wildcard is Java's, not the shell's."""
    return str(folder(version) / "*")


def require(version):
    """For tests: the jars are there, or the test is skipped."""
    if not is_cached(version):
        raise Skip("the jars of Kafka %s are not in %s (scripts/real-kafka %s --jars-only gets them)"
                   % (version, cache_dir(), version))


def fetch(version, say=lambda text: None):
    """Fills the cache for one release if it is not there; Unavailable when that fails."""
    if is_cached(version):
        return
    if not shutil.which("mvn"):
        raise Unavailable("there is no mvn to get Kafka %s with (scripts/setup installs it)" % version)
    cache_dir().mkdir(parents=True, exist_ok=True)
    with _lock(cache_dir() / ".lock"):
        if is_cached(version):
            return
        say("getting the jars of Kafka %s with Maven" % version)
        with tempfile.TemporaryDirectory(prefix=".getting-", dir=cache_dir()) as work:
            _copy_dependencies(versions.KAFKA[version], pathlib.Path(work))


def _copy_dependencies(kafka, work):
    pom = work / "pom.xml"
    jars = work / "jars"
    pom.write_text(_pom(kafka))
    command = ["mvn", "-q", "-B", "-Dstyle.color=never", "-f", str(pom), "dependency:copy-dependencies",
               "-DoutputDirectory=%s" % jars, "-DincludeScope=runtime"]
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace",
                             timeout=_MAVEN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Unavailable("mvn did not get Kafka %s within %d s"
                          % (kafka.version, _MAVEN_TIMEOUT_S)) from None
    if run.returncode != 0 or not any(jars.glob("kafka*.jar")):
        errors = [line for line in run.stdout.splitlines() if "ERROR" in line]
        raise Unavailable("mvn could not get Kafka %s (exit status %d): %s"
                          % (kafka.version, run.returncode, (errors or ["it said nothing"])[0]))
    os.rename(jars, folder(kafka.version))


def _pom(kafka):
    exclusions = "".join(
        "<exclusion><groupId>%s</groupId><artifactId>%s</artifactId></exclusion>"
        % tuple(name.split(":")) for name in kafka.exclude)
    dependencies = "".join(
        "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>"
        "<exclusions>%s</exclusions></dependency>\n" % (*name.split(":"), exclusions)
        for name in kafka.artifacts)
    return ("<project><modelVersion>4.0.0</modelVersion>\n"
            "<groupId>local</groupId><artifactId>kafka-jars</artifactId><version>1</version>"
            "<packaging>pom</packaging>\n<dependencies>\n%s</dependencies></project>\n" % dependencies)


@contextlib.contextmanager
def _lock(path):
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
