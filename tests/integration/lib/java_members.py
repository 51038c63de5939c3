"""Kafka's own ZooKeeper consumers, many in one JVM (tests/java/Members.java says what it can do)."""
import collections
import hashlib
import os
import pathlib
import subprocess
import tempfile
import urllib.parse

from . import jars, java, versions
from .members import Message
from .processes import Process
from .waiting import wait_for

_SOURCE = pathlib.Path(__file__).resolve().parents[2] / "java" / "Members.java"


def compiled(version=versions.LEGACY):
    """The folder of the compiled driver for this release; compiles it when the source is new."""
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    target = jars.cache_dir().parent / "java" / ("%s-%s" % (version, digest))
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".compiling-", dir=target.parent) as work:
        classes = pathlib.Path(work) / "classes"
        run = subprocess.run(["javac", "-nowarn", "-d", classes, "-cp", jars.classpath(version), _SOURCE],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=300)
        if run.returncode:
            raise RuntimeError("javac %s:\n%s" % (_SOURCE, run.stdout))
        try:
            os.rename(classes, target)
        except OSError:  # another test was faster
            if not target.is_dir():
                raise
    return target


class JavaMembers:
    """One JVM. `close_wait` and `kill` differ as an orderly end and kill -9 do; kill takes all members
    of this JVM, so a member that is to crash gets a JVM of its own."""

    is_java = True
    defaults = {
        "auto.offset.reset": "smallest",
        "zookeeper.session.timeout.ms": 6000,
        "auto.commit.interval.ms": 1000,
        # By itself as short as the session, and on a busy machine too short for a first connection; a Java
        # member fails with it, and does not come again.
        "zookeeper.connection.timeout.ms": 30000,
    }

    def __init__(self, folder, zookeeper, group, version=versions.LEGACY, name="java"):
        jars.require(version)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.zookeeper, self.group = zookeeper, group
        self._begin_to_read()
        classpath = "%s:%s" % (compiled(version), jars.classpath(version))
        self.process = Process(
            name, java.command(classpath, "Members", heap_mb=256,
                               properties=java.log4j_file(self.folder, "INFO")),
            err=self.folder / ("%s.log" % name), stdin=True)

    def open(self, name, properties=None, zookeeper=None, group=None):
        """A connector; its id begins with <group>_<name>. `zookeeper`: another address, e.g. a
        proxy's."""
        settings = {"zookeeper.connect": zookeeper or self.zookeeper,
                    "group.id": group or self.group, "consumer.id": name, **self.defaults,
                    **(properties or {})}
        self.process.send("open %s %s" % (name, " ".join("%s=%s" % item for item in settings.items())))

    def filter(self, name, kind, streams, expression):
        """Joins with streams of a filter; kind: white_list, black_list."""
        self.process.send("filter %s %s %d %s" % (name, kind, streams, expression))

    def streams(self, name, **topics):
        """Joins with so many streams of each topic; returns at once."""
        self.process.send("streams %s %s"
                          % (name, ",".join("%s=%d" % item for item in topics.items())))

    def join(self, name, topic, streams=1, properties=None, **where):
        """open, streams, and wait until the first rebalance has ended."""
        self.open(name, properties, **where)
        self.streams(name, **{topic: streams})
        self.wait_for_event("streams", name)

    def print_every(self, name, n):
        """Print every nth message only; 0: none. `counts` goes on counting."""
        self.process.send("print %s %d" % (name, n))

    def counts(self, name):
        """{(topic, partition): (messages taken, last offset)}"""
        before = len(self.events("counts", name))
        self.process.send("counts %s" % name)
        wait_for(lambda: len(self.events("counts", name)) > before, "counts of %s" % name, 20, 0.01,
                 [self.process])
        result = {}
        for word in self.events("counts", name)[-1]:
            topic, partition, count, last = word.rsplit(":", 3)
            result[topic, int(partition)] = (int(count), int(last))
        return result

    def commit(self, name):
        before = len(self.events("committed", name))
        self.process.send("commit %s" % name)
        wait_for(lambda: len(self.events("committed", name)) > before, "%s to commit" % name, 30, 0.01,
                 [self.process])

    def close(self, name):
        self.process.send("close %s" % name)

    def close_wait(self, name, timeout_s=60.0):
        self.close(name)
        self.wait_for_event("closed", name, timeout_s)

    def kill(self):
        """kill -9 of the JVM."""
        self.process.kill()

    def quit(self):
        """Ends the JVM without closing anything."""
        self.process.close_input()
        self.process.wait()

    # ---- what they say ----

    def events(self, kind, name=None):
        """The words behind each event of this kind (and member), in order."""
        self._read()
        return [words[1:] for words in self._events[kind] if name in (None, words[0])]

    def wait_for_event(self, kind, name, timeout_s=60.0):
        """Waits for one; an error of this member ends the wait."""
        def seen():
            failed = self.events("error", name) if kind != "error" else None
            if failed:
                raise RuntimeError("%s: %s" % (name, " ".join(failed[-1])))
            return self.events(kind, name)
        return wait_for(seen, '"%s %s" of the Java member' % (kind, name), timeout_s, 0.02,
                        [self.process])[-1]

    def messages(self, name=None):
        """What the member (or all of them) took, in order."""
        return [message for _, message in self.timed_messages(name)]

    def timed_messages(self, name=None):
        """[(monotonic seconds, Message)] of the member, or of all."""
        self._read()
        return list(self._taken[name])

    def wait_for_messages(self, count, name=None, timeout_s=60.0):
        wait_for(lambda: len(self.timed_messages(name)) >= count,
                 "%d messages at %s" % (count, name or "the Java members"), timeout_s,
                 alive=[self.process])
        return self.messages(name)

    def _begin_to_read(self):
        self._seen = 0  # lines of the process
        self._events = collections.defaultdict(list)  # kind -> the words behind it, the member's name first
        self._taken = collections.defaultdict(list)  # name, and None for all -> (monotonic seconds, Message)

    def _read(self):
        """Each line is read once: who waits asks often, and a long test has many of them."""
        lines = self.process.timed_lines(self._seen)
        self._seen += len(lines)
        for at, line in lines:
            kind, *words = line.split(" ")
            if kind == "msg":
                taken = (at, _message(words[2:]))
                self._taken[words[0]].append(taken)
                self._taken[None].append(taken)
            if words:
                self._events[kind].append(words)


def _message(words):
    topic, partition, offset, key, value = words
    return Message(topic, int(partition), int(offset), _decoded(key), _decoded(value))


def _decoded(word):
    if word == "-":
        return None
    return "" if word == "%" else urllib.parse.unquote(word)
