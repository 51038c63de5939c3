"""scenarios: three troubles on a real ZooKeeper and Kafka 0.8.2.2, as Java members, ours in compat and ours in safe
mode come through them; what is asserted of it is in tests/integration/live_scenarios_test.py."""
import live_scenarios_test as live

from figures import print_table


def run(context, arguments):
    if arguments.smoke:
        return  # they take their time; the test of the long tier runs them
    print_table(
        "scenarios: S18 (one of three is cut from ZooKeeper for %d s, not from the brokers), S05 (a lone member is\n"
        "killed and at once started under a new id), S21 (a member takes %d s to give back when another joins).\n"
        "Partition-seconds without an owner that believes in itself (gap), with believers that stand still (paused)\n"
        "and with two that deliver (dual); messages delivered twice, and never before the end; partitions without\n"
        "an owner at the end; when the last partition moved" % (live.CUT_S, live.SLOW_S),
        live.HEAD, live.rows(live.measure(context)))
