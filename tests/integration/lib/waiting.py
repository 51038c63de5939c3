"""Waiting for something to become true, with a bound and a text that says what was missing."""
import time


class WaitFailed(AssertionError):
    pass


def wait_for(condition, what, timeout_s=30.0, every_s=0.05, alive=()):
    """Calls condition() until it returns something true, and returns that. AssertionError counts as
    not yet: `condition` may assert, and the last text is part of the failure. `alive`: processes whose
    death ends the wait at once. `what` completes the sentence "waited in vain for ..."."""
    deadline = time.monotonic() + timeout_s
    last = ""
    while True:
        try:
            result = condition()
            if result:
                return result
            last = "last seen: %r" % (result,)
        except AssertionError as error:
            last = "last seen: %s" % error
        for process in alive:
            if not process.is_running():
                raise WaitFailed("waited in vain for %s: %s; %s" % (what, process.how_it_ended(), last))
        if time.monotonic() >= deadline:
            raise WaitFailed("waited %g s in vain for %s; %s" % (timeout_s, what, last))
        time.sleep(every_s)
