"""Members of our library, many in one process, on command (tests/support/members.c says what they can
do beyond what Kafka's can)."""
import json
import pathlib
import re

from .java_members import JavaMembers
from .members import program
from .processes import Process
from .waiting import wait_for


def of_mode(mode):
    """Settings of a member in this mode whose group shares as range_layout says (by itself safe mode
    takes another rule where everybody knows it)."""
    return {"zookeeper.mode": mode, "partition.assignment.strategy": "range"}


class OurMembers(JavaMembers):
    """As JavaMembers: the same commands and events, other members. `kill` takes all members of this
    process. Its end is checked for leaks where the build has a sanitizer (`finish`)."""

    is_java = False

    def __init__(self, folder, zookeeper, group, name="ours", env=None, mode="compat"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.zookeeper, self.group = zookeeper, group
        self.defaults = {**JavaMembers.defaults, **of_mode(mode)}  # unless a test says otherwise
        self._begin_to_read()
        self.log_file = self.folder / ("%s.log" % name)
        self.process = Process(name, [program("zkc_members")], err=self.log_file, stdin=True, env=env)

    def command(self, *words):
        self.process.send(" ".join(str(word) for word in words))

    def ask(self, *words):
        """Sends a command that is answered by an event of its own name; the words of the event."""
        before = len(self.events(words[0], words[1]))
        self.command(*words)
        wait_for(lambda: len(self.events(words[0], words[1])) > before,
                 '"%s" to be answered' % " ".join(map(str, words)), 30, 0.01, [self.process])
        return self.events(words[0], words[1])[before]

    def assign(self, name, *positions):
        """(topic, partition, offset) each; the offset may be beginning, end or stored."""
        self.command("assign", name, ",".join("%s:%s:%s" % position for position in positions))

    def take(self, name, count):
        """Lets it take so many messages more in all; -1: any number."""
        self.command("take", name, count)

    def commit(self, name):
        """Commits what was taken; it must succeed."""
        before = len(self.events("committed", name))
        self.command("commit", name)
        wait_for(lambda: len(self.events("committed", name)) > before, "%s to commit" % name, 30, 0.01,
                 [self.process])
        assert self.events("committed", name)[before] == ["ZKC_OK"], self.events("committed", name)

    def position(self, name, topic, partition):
        """(code, offset)"""
        _, _, code, offset = self.ask("position", name, topic, partition)
        return code, int(offset)

    def close(self, name, timeout_ms=10000):
        self.command("close", name, timeout_ms)

    def close_wait(self, name, timeout_s=60.0, timeout_ms=10000):
        """(code, how long it took in ms)"""
        self.close(name, timeout_ms)
        code, took_ms = self.wait_for_event("closed", name, timeout_s)
        return code, int(took_ms)

    def reports(self, name, code=None):
        """The texts of the error callback."""
        return [" ".join(words[1:]) for words in self.events("report", name)
                if code in (None, words[0])]

    def wait_for_report(self, name, pattern, timeout_s=60.0):
        """The text of the first report that contains the pattern."""
        def seen():
            texts = self.reports(name)
            for text in texts:
                if re.search(pattern, text):
                    return text
            raise AssertionError("reports: %r" % texts)
        return wait_for(seen, "a report of %s with /%s/" % (name, pattern), timeout_s, 0.02,
                        [self.process])

    def statistics(self, name):
        """The next document; the member has statistics.interval.ms."""
        before = len(self.events("stats", name))
        self.process.send("stats %s" % name)
        wait_for(lambda: len(self.events("stats", name)) > before, "statistics of %s" % name)
        return json.loads(" ".join(self.events("stats", name)[-1]))

    def rebalances(self, name, kind=None):
        """[(kind, {(topic, partition): offset})] as the rebalance callback got them."""
        result = []
        for words in self.events("rebalance", name):
            owned = {}
            for word in words[1:]:
                topic, partition, offset = word.rsplit(":", 2)
                owned[topic, int(partition)] = int(offset)
            if kind in (None, words[0]):
                result.append((words[0], owned))
        return result

    def held(self, name, topic):
        """The partitions of the topic that the rebalance callback has given it and not taken back."""
        held = set()
        for kind, owned in self.rebalances(name):
            of_topic = {partition for of, partition in owned if of == topic}
            held = held | of_topic if kind == "assign" else held - of_topic
        return held

    def log_lines(self, name=None):
        """(level, facility, text) of the log callback."""
        result = []
        for line in self.log_file.read_text(errors="replace").splitlines():
            match = re.match(r"(\d) (\S+) (\S+) (.*)$", line)
            if match and name in (None, match.group(3)):
                result.append((int(match.group(1)), match.group(2), match.group(4)))
        return result

    def finish(self, timeout_s=60.0):
        """Frees everything and ends. A leak or another finding of a sanitizer fails the test."""
        self.process.send("quit")
        status = self.process.wait(timeout_s)
        log = self.log_file.read_text(errors="replace")
        assert status == 0, "%s\n%s" % (self.process.how_it_ended(), log[-8000:])
