"""Our own programs as members of a group, with what they received kept in order."""
import collections
import functools
import os
import pathlib
import signal
import subprocess

from .processes import Process
from .testing import Skip
from .waiting import wait_for

Message = collections.namedtuple("Message", "topic partition offset key value")
Message.__doc__ = """A message that an application got; key and value are text as the program printed
it (None: null, where the program can say so)."""


@functools.lru_cache(None)
def program(name):
    """The path of a program of this build tree ($ZKC_BUILD_DIR, which ctest sets), by its file name."""
    build = pathlib.Path(os.environ.get("ZKC_BUILD_DIR", "build/dev")).resolve()
    # os.walk: other tests' folders in there may go while it looks
    found = [pathlib.Path(folder, name) for folder, _, files in os.walk(build) if name in files]
    found = [path for path in found if path.is_file() and os.access(path, os.X_OK)]
    if not found:
        raise Skip("there is no program %s in %s" % (name, build))
    return min(found, key=lambda path: len(path.parts))


def run(name, *words, stdin=b"", timeout_s=60):
    """Runs a program of ours to its end; its CompletedProcess, with text output."""
    done = subprocess.run([program(name), *map(str, words)], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout_s)
    done.stdout = done.stdout.decode("utf-8", "replace")
    done.stderr = done.stderr.decode("utf-8", "replace")
    return done


class Account:
    """What was delivered, by whomever, against what was produced: {(partition, offset)}."""

    def __init__(self, produced, delivered):
        counts = collections.Counter((message.partition, message.offset) for message in delivered)
        self.lost = sorted(set(produced) - set(counts))
        self.invented = sorted(set(counts) - set(produced))
        self.twice = sorted(key for key, count in counts.items() if count > 1)
        self.delivered = sum(counts.values())

    def check(self, duplicates_max=0):
        """Nothing lost, nothing invented, not more deliveries than produced plus this many."""
        assert not self.lost, "lost: %d, such as %r" % (len(self.lost), self.lost[:5])
        assert not self.invented, "never produced: %r" % self.invented[:5]
        assert len(self.twice) <= duplicates_max, (
            "delivered twice: %d, such as %r; allowed: %d"
            % (len(self.twice), self.twice[:5], duplicates_max))


class ZkConsumer:
    """`zkconsumer consume` as a member of a group. Extra words go to its command line."""

    FORMAT = "%t\t%p\t%o\t%k\t%s\\n"

    def __init__(self, folder, name, zookeeper, group, topic, properties=None, extra=(), env=None):
        self.name = name
        words = [program("zkconsumer"), "consume", "--zookeeper", zookeeper, "--topic", topic,
                 "-f", self.FORMAT]
        if group:
            words += ["--group", group]
        for item in (properties or {}).items():
            words += ["--property", "%s=%s" % item]
        self.status_log = pathlib.Path(folder) / ("%s.err" % name)
        self.process = Process(name, [*words, *extra], err=self.status_log, env=env)

    @functools.cached_property
    def _read(self):
        """(lines of the process that were read, what they say): each is read once."""
        return 0, []

    def messages(self):
        return [message for _, message in self.timed_messages()]

    def timed_messages(self, _name=None):
        """[(monotonic seconds, Message)]"""
        seen, messages = self._read
        lines = self.process.timed_lines(seen)
        for at, line in lines:
            fields = line.split("\t", 4)
            if len(fields) == 5:
                topic, partition, offset, key, value = fields
                messages.append((at, Message(topic, int(partition), int(offset), key, value)))
        self._read = seen + len(lines), messages
        return list(messages)

    def wait_for_messages(self, count, timeout_s=60.0):
        wait_for(lambda: len(self.messages()) >= count, "%d messages at %s" % (count, self.name),
                 timeout_s, alive=[self.process])
        return self.messages()

    def status_text(self):
        """What it wrote to standard error so far."""
        return self.status_log.read_text(errors="replace")

    def leave(self, timeout_s=30.0):
        """Ctrl-C: leaves the group in order; the exit status."""
        return self.process.stop(signal.SIGINT, timeout_s)

    def kill(self):
        return self.process.kill()
