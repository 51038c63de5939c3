"""members: what many members in one process cost, each with a ZooKeeper session of its own."""
import re
import time

from figures import cpu_ns, parse_words, print_table

MEMBERS = 1000
PARTITIONS = 4
IDLE_S = 10
SETTLED_S = 3  # without more than pings: nobody rebalances any more
PINGS_EACH_S = 0.2  # a session that is idle pings every 10 s; allow for twice that


def run(context, arguments):
    cluster = context.cluster(zookeeper_properties={"maxClientCnxns": 0})
    cluster.create_topic("few", PARTITIONS)
    count = 20 if arguments.smoke else MEMBERS
    rows = [measure(context, arguments, cluster, count, groups)
            for groups in sorted({count, count // 10, 1}, reverse=True)
            if arguments.only in ("", str(groups))]
    print_table(
        "members: %d in one process on one loop, one topic of %d partitions. RSS: what the process grew by,\n"
        "in KiB a member: once idle; at the most; after malloc_trim(); and what of the heap is in use then.\n"
        "Operations: all packets that the ZooKeeper server received until nobody rebalanced any more."
        % (count, PARTITIONS),
        ["groups", "owners", "settled s", "operations", "each", "rebalances", "CPU s", "RSS",
         "peak", "trimmed", "heap", "idle CPU ms/s", "closed s"], rows)


def packets(cluster):
    return int(re.search(r"Received: (\d+)", cluster.zookeeper.four_letter_word("srvr", 30)).group(1))


def wait_until_settled(cluster, count):
    """The time and the count of packets when the last more than pings was seen."""
    last_at, last = time.monotonic(), packets(cluster)
    while time.monotonic() - last_at < SETTLED_S:
        time.sleep(0.5)
        now = packets(cluster)
        if now - last > 0.5 * PINGS_EACH_S * count + 10:
            last_at = time.monotonic()
        last = now
    return last_at, last


def measure(context, arguments, cluster, count, groups):
    process = context.process("members_bench", [
        arguments.programs / "members_bench", "--zookeeper=%s" % cluster.zookeeper_connect, "--topic=few",
        "--members=%d" % count, "--groups=%d" % groups], stdin=True)

    def ask(word, answer, timeout_s):
        start = len(process.text_lines())
        process.send(word)
        process.wait_for_line("^%s" % answer, timeout_s, start)
        return parse_words(process.text_lines()[-1])

    process.wait_for_line("^ready", 60)
    packets_before, began_at = packets(cluster), time.monotonic()
    ask("open", "opened", 1800)
    settled_at, packets_after = wait_until_settled(cluster, count)
    settled = ask("report", "report", 60)
    time.sleep(1 if arguments.smoke else IDLE_S)
    idle = ask("report", "report", 60)
    ask("trim", "trimmed", 60)
    trimmed = ask("report", "report", 60)
    closed = ask("close", "closed", 120)
    process.close_input()
    assert process.wait(60) == 0, process.how_it_ended()
    operations = packets_after - packets_before
    idle_share = (cpu_ns(idle) - cpu_ns(settled)) / (idle["wall_ns"] - settled["wall_ns"])
    return [groups, idle["owners"], "%.1f" % (settled_at - began_at), operations,
            "%.0f" % (operations / count), idle["rebalances"], "%.1f" % (cpu_ns(settled) / 1e9),
            *("%.1f" % ((figures[after] - figures[before]) / 1024 / count)
              for figures, before, after in (
                  (idle, "before_bytes", "bytes"), (idle, "before_bytes", "peak_bytes"),
                  (trimmed, "before_bytes", "bytes"), (idle, "before_heap_bytes", "heap_bytes"))),
            "%.1f" % (1000 * idle_share), "%.2f" % (closed["wall_ns"] / 1e9)]
