"""The shells themselves complete our command lines, with the scripts that the program prints; links, manual
pages and completions agree with the commands."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

from lib.members import program, run
from lib.testing import Skip, quick
from lib.world import expect, expect_in


def environment():
    folder = pathlib.Path(program("zkconsumer")).parent
    return {"PATH": "%s:/usr/bin:/bin" % folder, "TERM": "dumb", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


def need(shell):
    if not shutil.which(shell):
        raise Skip("there is no %s (scripts/setup installs it)" % shell)


def script(shell):
    done = run("zkconsumer", "completion", shell)
    expect(done.returncode, 0)
    return done.stdout


LINKS_ONLY = {"kafka-run-class", "kafka-consumer-groups", "kafka-topics"}  # which are no command of zkconsumer

# What is typed, and the words that must and must not be offered.
CASES = (
    ("zkconsumer groups ", {"list", "describe", "verify", "delete"}, {"--help"}),
    ("zkconsumer groups des", {"describe"}, {"delete"}),
    ("zkconsumer groups describe --str", {"--strategy="}, {"--json"}),
    ("zkconsumer groups describe --strategy=r", {"range", "roundrobin"}, {"ceil"}),
    ("zkconsumer consume -X zookeeper.mo", {"zookeeper.mode="}, {"zookeeper.auth="}),
    ("zkconsumer consume -X zookeeper.mode=s", {"safe"}, {"compat"}),
    ("zkconsumer consume --property=zookeeper.mode=c", {"compat"}, {"safe"}),
    ("zkconsumer produce -X queue.buffering.max.k", {"queue.buffering.max.kbytes="}, {"queue.buffering.max.ms="}),
    ("kafka-run-class kafka.tools.Get", {"kafka.tools.GetOffsetShell"}, {"kafka.tools.ImportZkOffsets"}),
    ("kafka-consumer-groups --res", {"--reset-offsets"}, {"--list"}),
    ("kafka-topics --a", {"--alter"}, {"--create"}),
    ("kafka-run-class kafka.admin.T", {"kafka.admin.TopicCommand"}, {"kafka.admin.ConsumerGroupCommand"}),
    ("kafka-consumer-offset-checker --bro", {"--broker-info"}, {"--group="}),
)


@quick
def test_bash(t):
    path = t.folder / "zkconsumer.bash"
    path.write_text(script("bash"))
    for line, wanted, unwanted in CASES:
        driver = ('source %s; COMP_LINE=$1 COMP_POINT=${#1}; read -ra COMP_WORDS <<<"$1"; '
                  'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); spec=$(complete -p "${COMP_WORDS[0]}"); '
                  'fn=${spec#*-F }; "${fn%% *}"; printf "%%s\\n" "${COMPREPLY[@]}"' % path)
        done = subprocess.run(["bash", "--norc", "-c", driver, "bash", line], env=environment(), text=True,
                              capture_output=True, timeout=60, check=False)
        offered = set(done.stdout.split())
        expect((line, wanted - offered, unwanted & offered), (line, set(), set()))
    (t.folder / "a.properties").write_text("")
    line = "zkconsumer consume --config=%s/a.p" % t.folder
    done = subprocess.run(["bash", "--norc", "-c", driver, "bash", line], env=environment(), text=True,
                          capture_output=True, timeout=60, check=False)
    expect(done.stdout.split(), ["%s/a.properties" % t.folder])


@quick
def test_fish(t):
    need("fish")
    path = t.folder / "zkconsumer.fish"
    path.write_text(script("fish"))
    for line, wanted, unwanted in CASES:
        done = subprocess.run(["fish", "--no-config", "-c", "source %s; complete -C '%s'" % (path, line)],
                              env={**environment(), "HOME": str(t.folder)}, text=True, capture_output=True,
                              timeout=60, check=False)
        offered = {offer.split("\t")[0].split("=")[-1] or offer.split("\t")[0]
                   for offer in done.stdout.splitlines()}
        expect((line, wanted - offered, unwanted & offered), (line, set(), set()))


class Terminal:
    """An interactive zsh."""

    def __init__(self, t, setup):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(t.folder)
            os.execve("/usr/bin/zsh", ["zsh", "-f", "-i"], {**environment(), "PS1": "READY>",
                                                            "HOME": str(t.folder)})
        self.text = ""
        t.defer(self.close)
        self.read_until("READY>")
        for line in setup:
            self.type(line + "\n")
            self.read_until("READY>")

    def type(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, part, timeout_s=30):
        """What came until then; what follows is for the next call."""
        deadline = time.monotonic() + timeout_s
        while part not in self.text:
            left = deadline - time.monotonic()
            assert left > 0, "%r did not come: %r" % (part, self.text)
            if select.select([self.fd], [], [], left)[0]:
                self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
        before, _, self.text = self.text.partition(part)
        return before + part

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def offered_by(line, text):
    """The whole words that a terminal shows behind a line: those in a list, and the one that the shell
    has completed, of which it shows the end only."""
    words = set(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f]", " ", text).split())
    words |= {word.split("=", 1)[1] for word in words if word.startswith("--") and "=" in word}
    begun = "" if line.endswith(" ") else line.split("=")[-1].split()[-1]
    return words | ({begun + word for word in words} if begun else set())


@quick
def test_zsh(t):
    need("zsh")
    folder = t.folder / "functions"
    folder.mkdir()
    (folder / "_zkconsumer").write_text(script("zsh"))
    shell = Terminal(t, ["unsetopt zle_bracketed_paste 2>/dev/null; PROMPT='READY>'",
                         "fpath=(%s $fpath); autoload -U compinit; compinit -u -d %s/dump" % (folder, t.folder),
                         "zstyle ':completion:*' list-prompt ''; LISTMAX=0; setopt no_always_last_prompt"])
    for line, wanted, unwanted in CASES:
        shell.type(line + "\t\t")
        shell.type("\x15echo done-$((1+1))\n")  # the line away
        text = shell.read_until("done-2").replace(line, "")
        shell.read_until("READY>")
        offered = offered_by(line, text)
        assert not wanted - offered and not unwanted & offered, (line, wanted, unwanted, offered, text)


@quick
def test_links_pages_and_completions_agree(t):
    folder = pathlib.Path(program("zkconsumer")).parent
    overview = run("zkconsumer", "--help").stdout
    commands = re.findall(r"^  (\S+(?: \S+)*?)  +\S", overview.split("Commands:")[1].split("Exit status")[0], re.M)
    assert "groups describe" in commands and "consume" in commands, commands
    names = set()
    classes = subprocess.run([folder / "kafka-run-class", "--help"], text=True, capture_output=True, timeout=60,
                             check=True).stdout
    for command in commands:
        page = folder / "man" / ("zkconsumer-%s.1" % command.replace(" ", "-"))
        assert page.exists(), "%s has no page" % command
        text = run("zkconsumer", "help", *command.split()).stdout
        names |= {name for name in re.findall(r"^  (kafka-\S+)$", text, re.M)}
        for class_name in re.findall(r"^  kafka-run-class (\S+)$", text, re.M):
            done = subprocess.run([folder / "kafka-run-class", class_name, "--help"], text=True,
                                  capture_output=True, timeout=60, check=False)
            expect((done.returncode, done.stdout.split("\n\n", 1)[1]), (0, text.split("\n\n", 1)[1]))
            expect_in("Usage: kafka-run-class %s " % class_name, done.stdout)
            expect_in("\n%s: zkconsumer %s\n" % (class_name, command), classes)
    links = {path.name for path in folder.glob("kafka-*") if path.is_symlink()}
    expect(links, names | LINKS_ONLY)
    for link in sorted(links):
        done = subprocess.run([folder / link, "--help"], text=True, capture_output=True, timeout=60, check=False)
        expect(done.returncode, 0)
        expect_in("Usage: %s " % link, done.stdout)
        expect_in("  %s\n" % link, done.stdout)
        assert (folder / "man" / (link + ".1")).exists(), link
        expect(subprocess.run([folder / link, "--version"], text=True, capture_output=True, timeout=60,
                              check=False).stdout, run("zkconsumer", "--version").stdout)
        for name in (link, link + ".fish"):  # where bash and fish look for them
            assert (folder / "completions" / name).exists(), name
        for shell in ("bash", "zsh", "fish"):
            assert re.search(r"\b%s\b" % link, script(shell)), (link, shell)
    expect(run("zkconsumer", "help", "groups").returncode, 0)
    expect(run("zkconsumer", "completion", "tcsh").returncode, 1)
    expect(subprocess.run([folder / "kafka-run-class", "kafka.tools.Nothing"], capture_output=True,
                          timeout=60, check=False).returncode, 1)
