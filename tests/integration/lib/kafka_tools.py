"""Kafka's own tools of 0.8, and ours under Kafka's names, run alike."""
import collections
import subprocess

from . import jars, java, versions
from .members import program

Ran = collections.namedtuple("Ran", "code out err")


def kafkas(name, *words, version=versions.LEGACY, timeout_s=120, stdin=b""):
    """kafka.tools.<name>, or a class by its whole name, of the real jars, without a log."""
    jars.require(version)
    done = subprocess.run(java.command(jars.classpath(version), name if "." in name else "kafka.tools." + name,
                                       *map(str, words)),
                          input=stdin, capture_output=True, timeout=timeout_s, check=False)
    err = "".join(line for line in done.stderr.decode("utf-8", "replace").splitlines(True)
                  if "log4j" not in line and "SLF4J" not in line)
    return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), err)


def ours(name, *words, timeout_s=120, stdin=b""):
    """The same by our link kafka-run-class, or a link kafka-... of its own."""
    link = [program(name)] if name.startswith("kafka-") else [program("kafka-run-class"), "kafka.tools." + name]
    done = subprocess.run([*link, *map(str, words)], input=stdin, capture_output=True, timeout=timeout_s,
                          check=False)
    return Ran(done.returncode, done.stdout.decode("utf-8", "replace"),
               done.stderr.decode("utf-8", "replace"))
