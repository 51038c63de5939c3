"""Child processes that cannot outlive us, with their output collected line by line.

Each child leads a process group of its own, is killed by the kernel when the thread that started it
ends (PR_SET_PDEATHSIG, by setpriv: so start children on the main thread), and by `kill_all` at exit.
"""
import atexit
import os
import re
import signal
import subprocess
import threading
import time

from .waiting import WaitFailed, wait_for

_started = []


class Process:
    """One child. `out` takes its standard output (and error, unless `err` is given): a path for a
    log file, or None to collect lines in memory."""

    def __init__(self, name, command, out=None, err=None, env=None, cwd=None, stdin=False):
        self.name = name
        self.command = [str(word) for word in command]
        self.log_path = str(out) if out else None
        self.err_path = str(err) if err else None
        self.lines = []  # (monotonic seconds, text), when collected
        self._changed = threading.Condition()
        self._gone = False
        self._reader = None
        out_file = open(out, "ab") if out else subprocess.PIPE
        err_file = open(err, "ab") if err else subprocess.STDOUT
        try:
            self.popen = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self.command],
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=out_file,
                stderr=err_file, env={**os.environ, **(env or {})}, cwd=cwd,
                start_new_session=True)
        finally:
            for file in (out_file, err_file):
                if hasattr(file, "close"):
                    file.close()
        _started.append(self)
        if not out:
            self._reader = threading.Thread(target=self._read, daemon=True)
            self._reader.start()

    # ---- output ----

    def _read(self):
        for raw in self.popen.stdout:
            with self._changed:
                self.lines.append((time.monotonic(), raw.decode("utf-8", "replace").rstrip("\n")))
                self._changed.notify_all()

    def text_lines(self):
        """What the child wrote so far."""
        if self.log_path:
            with open(self.log_path, errors="replace") as file:
                return file.read().splitlines()
        with self._changed:
            return [text for _, text in self.lines]

    def timed_lines(self, start=0):
        """(monotonic seconds, text) of each line, from number `start` on, when they are collected."""
        with self._changed:
            return self.lines[start:]

    def wait_for_line(self, pattern, timeout_s=30.0, start=0):
        """The match of the first line, from number `start` on, that contains the pattern."""
        expression = re.compile(pattern)

        def look():
            for text in self.text_lines()[start:]:
                match = expression.search(text)
                if match:
                    return match
            return None

        return wait_for(look, "a line of %s with /%s/" % (self.name, pattern), timeout_s, 0.02, [self])

    def send(self, text):
        """One line to the child's standard input."""
        self.popen.stdin.write(text.encode() + b"\n")
        self.popen.stdin.flush()

    def close_input(self):
        if self.popen.stdin:
            self.popen.stdin.close()

    # ---- life ----

    @property
    def pid(self):
        return self.popen.pid

    def is_running(self):
        return self.popen.poll() is None

    def how_it_ended(self):
        status = self.popen.poll()
        if status is None:
            return "%s is running" % self.name
        how = "was ended by %s" % signal.Signals(-status).name if status < 0 else (
            "ended with status %d" % status)
        return "%s %s" % (self.name, how)

    def send_signal(self, number):
        if self.is_running():
            os.kill(self.pid, number)

    def wait(self, timeout_s=30.0):
        """Waits for the end; the exit status (negative: the signal)."""
        try:
            status = self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise WaitFailed("%s did not end within %g s" % (self.name, timeout_s)) from None
        self.kill()  # what it may have left of its group
        return status

    def stop(self, number=signal.SIGTERM, timeout_s=20.0):
        """Asks it to end, kills it when it does not; the exit status."""
        self.send_signal(number)
        try:
            self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            pass
        return self.kill()

    def kill(self):
        """SIGKILL for the whole group; the exit status. Works on what ended already."""
        if not self._gone:  # later the number may be somebody else's
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        status = self.popen.wait(10)
        self._finish()
        return status

    def pause(self):
        """SIGSTOP: alive, silent, as after a long garbage collection. `resume` ends it."""
        os.killpg(self.pid, signal.SIGSTOP)

    def resume(self):
        os.killpg(self.pid, signal.SIGCONT)

    def _finish(self):
        self._gone = True
        if self._reader:
            self._reader.join(5)
        if self in _started:
            _started.remove(self)

    def rss_kb(self):
        with open("/proc/%d/status" % self.pid) as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


def started():
    """The children that have not been waited for yet, oldest first."""
    return list(_started)


def kill_all():
    for process in reversed(started()):
        process.kill()


def exit_on_signals():
    """SIGTERM, SIGINT and SIGHUP end this program the orderly way, by SystemExit."""
    def leave(number, _frame):
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, leave)


atexit.register(kill_all)
