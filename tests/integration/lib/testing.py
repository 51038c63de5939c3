"""How a test file is written.

    from lib.testing import long, timeout

    def test_two_members_share(t):          # t: lib.context.Context, gone with all it started at the end
        cluster = t.cluster(brokers=2)
        ...
        assert owners == expected, owners

    @long                                   # only with scripts/test --long
    @timeout(600)                           # seconds; else TIMEOUT_S
    def test_a_day_of_faults(t): ...

    @both_modes                             # also with members in safe mode; t.mode says which it is
    def test_close(t):
        wanted = t.by_mode(compat=2, safe=1)

Files are tests/integration/*_test.py; each function test_* is a ctest entry of its own,
integration.<file without _test>.<name without test_>. CMake reads these names from the source
(run.py --list) without running it: the decorators must be used under their own names, and timeout with
a number written out. A test @both_modes is two entries more: integration.safe.<file>.<name>, in the long
tier, and integration.zkbroker.safe.<file>.<name>, on our own broker, in the default tier. What a test
says of zookeeper.mode itself stands. With @both_modes_long both are in the long tier. `raise Skip("why")` skips.
"""

TIMEOUT_S = 240  # a start of Java takes 3 to 5 times as long when both cores are busy


class Skip(Exception):
    """The test cannot run here; the text says why."""


def quick(function):
    """A test of the quick tier: a few seconds, no jars."""
    function.tier = "quick"
    return function


def long(function):
    """A test of the long tier."""
    function.tier = "long"
    return function


def both_modes(function):
    """What it asserts is promised by both modes of zookeeper.mode; without it members are in compat
    unless the test says otherwise."""
    function.has_both_modes = True
    return function


both_modes_long = both_modes


def timeout(seconds):
    def mark(function):
        function.timeout_s = seconds
        return function
    return mark
