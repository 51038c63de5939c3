"""`zkstudy record` between members and ZooKeeper."""
import json
import pathlib

from .members import program
from .processes import Process
from .waiting import wait_for


class Recorder:
    """Runs until stop(). Commands are those of zkstudy record."""

    def __init__(self, folder, zookeeper, labels, name="recorder"):
        self.path = pathlib.Path(folder) / ("%s.capture" % name)
        words = [program("zkstudy"), "record", "--zookeeper", zookeeper, "--out", self.path, "--commands"]
        for label in labels:
            words += ["--listen", "%s127.0.0.1:0" % (label and label + "=")]
        self.process = Process(name, words, err=self.path.with_suffix(".err"), stdin=True)
        self._addresses = {}
        for label in labels:
            port = self.process.wait_for_line(r"^listening (\d+) %s$" % label).group(1)
            self._addresses[label] = "127.0.0.1:%s" % port
        self._answers = 0

    def listen(self, label):
        return self._addresses[label]

    def command(self, *words):
        """Carries one out; it must be answered by ok."""
        self.process.send(" ".join(map(str, words)))
        self._answers += 1
        def answered():
            answers = [line for line in self.process.text_lines() if line.startswith(("ok", "error"))]
            return answers[self._answers - 1] if len(answers) >= self._answers else None
        answer = wait_for(answered, "%r to be answered" % (words,), 20, 0.01, [self.process])
        assert answer == "ok", "%r: %s" % (words, answer)

    def mark(self, text):
        self.command("mark", text)

    def hold(self, label, op, path=""):
        self.command("hold", label, op, path)

    def wait_until_held(self, label, timeout_s=30.0, nth=1):
        """Until a request of this label waits, the nth time in all."""
        def held():
            lines = [line for line in self.process.text_lines() if line.startswith("held %s " % label)]
            return len(lines) >= nth
        wait_for(held, "%s to be held" % label, timeout_s, 0.01, [self.process])

    def go(self, label):
        self.command("go", label)

    def cut(self, label):
        self.command("cut", label)

    def refuse(self, label):
        self.command("refuse", label)

    def hole(self, label):
        self.command("hole", label)

    def heal(self, label):
        self.command("heal", label)

    def stop(self):
        """Ends it; the capture is whole."""
        self.process.send("quit")
        status = self.process.wait(20)
        assert status == 0, self.path.with_suffix(".err").read_text()
        return self.path

    def lines(self):
        """What was written so far."""
        return [json.loads(line) for line in self.path.read_text().splitlines()]
