"""broker: what zkbroker costs beside Kafka 0.8.2.2: CPU per message produced and fetched, memory idle,
and time to start."""
import collections
import os
import statistics
import time

from figures import interleaved, median, print_table, ratio, run_program

PARTITIONS = 4
MESSAGES = {100: 500000, 1024: 150000}
STARTS = 7
STARTS_KAFKA = 3  # each takes seconds
IDLE_S = 3
WARM_UPS = 2

# As brokers run by default, not as tests want them.
PROPERTIES = {"num.network.threads": 3, "num.io.threads": 8}

# The harness starts Java for a small and quick broker. Here it may compile all it wants, with room:
# of the collectors the serial one takes the least CPU time.
JVM_FLAGS = ["-Xms512m", "-Xmx512m", "-XX:TieredStopAtLevel=4"]

# What a client sends in a request: librdkafka's own defaults; and Kafka's Java producer's 16 KiB.
PRODUCERS = {
    "librdkafka": {"linger": 5, "batch-messages": 10000},
    "16 KiB": {"linger": 5, "batch-messages": 10000, "batch-bytes": 16384},
}
# With the system's receive buffer; and with 64 KiB, which is what Kafka's consumers ask for.
READERS = {
    "librdkafka": {"who": "callback"},
    "zkconsumer": {"who": "zkconsumer"},
}

Used = collections.namedtuple("Used", "cpu_ns user_ns")


def run(context, arguments):
    server = context.zookeeper()
    clusters = {
        "ours": context.zk_cluster(zookeeper_server=server, chroot="/zkbroker", properties=PROPERTIES),
        "kafka": context.cluster(zookeeper_server=server, chroot="/kafka", properties=PROPERTIES),
    }
    if arguments.only in "start":
        measure_starts(clusters, arguments)
    stop(clusters["kafka"])
    clusters["kafka"].brokers[0].jvm_flags = JVM_FLAGS
    clusters["kafka"].restart_broker(0)
    measure_messages(clusters, arguments)


# ---- start and memory ----

def stop(cluster):
    cluster.brokers[0].stop()
    cluster.wait_until_unregistered(0)


def start_ms(cluster):
    """From before fork and exec to a Metadata answer that was asked for after it said it serves."""
    stop(cluster)
    began = time.monotonic()
    cluster.brokers[0].start_without_waiting()
    cluster.brokers[0].wait_until_serving(every_s=0.001)
    return 1000 * (time.monotonic() - began)


def measure_starts(clusters, arguments):
    starts = {"ours": STARTS, "kafka": STARTS_KAFKA}
    if arguments.smoke:
        starts = dict.fromkeys(starts, 1)
    took = {name: [start_ms(clusters[name]) for _ in range(count)] for name, count in starts.items()}
    time.sleep(0 if arguments.smoke else IDLE_S)
    rss = {name: cluster.brokers[0].process.rss_kb() / 1024 for name, cluster in clusters.items()}

    def row(what, ours, kafka, text):
        return [what, text % ours, text % kafka, "%.3f" % (ours / kafka)]

    print_table(
        "broker: one broker without topics; Kafka %s with the least that Java can do (64 MiB of heap,\n"
        "serial collector, first compiler only). Start: from exec to serving, %d and %d starts"
        % (clusters["kafka"].kafka.version, starts["ours"], starts["kafka"]),
        ["", "zkbroker", "Kafka", "ratio"],
        [row("start, ms, median", *(statistics.median(took[name]) for name in took), "%.0f"),
         row("start, ms, lowest", *(min(took[name]) for name in took), "%.0f"),
         row("start, ms, highest", *(max(took[name]) for name in took), "%.0f"),
         row("RSS idle, MiB", rss["ours"], rss["kafka"], "%.1f")])


# ---- CPU ----

def cpu_now(broker):
    """CPU time of the broker's process, all its threads, also those that ended: its CPU clock is exact
    to the nanosecond (clock_getcpuclockid(3)), /proc/PID/stat tells 10 ms, but user and kernel apart."""
    with open("/proc/%d/stat" % broker.process.pid) as file:
        user_ticks = int(file.read().rpartition(")")[2].split()[11])
    return Used(time.clock_gettime_ns((~broker.process.pid << 3) | 2),
                user_ticks * 1000000000 // os.sysconf("SC_CLK_TCK"))


def measure_messages(clusters, arguments):
    rows = []
    for size, messages in MESSAGES.items():
        messages = 2000 if arguments.smoke else messages
        bench = Bench(clusters, arguments, size, messages)
        for label, options in PRODUCERS.items():
            if arguments.only in "produce-%d" % size:
                rows.append(bench.row("produced", label, options, bench.produce))
        for label, options in READERS.items():
            if arguments.only in "fetch-%d" % size:
                rows.append(bench.row("fetched", label, options, bench.fetch))
    print_table(
        "broker: the broker's CPU per message, %d partitions, uncompressed, Kafka %s warmed up with all of\n"
        "Java's compilers and 512 MiB of heap, %d rounds; ns are medians, ratios are of the same round:\n"
        "median (lowest-highest)"
        % (PARTITIONS, clusters["kafka"].kafka.version, arguments.rounds),
        ["messages", "bytes", "client", "zkbroker ns", "user", "Kafka ns", "user", "ratio"], rows)
    for name, cluster in clusters.items():
        print("RSS of %s after all that: %.1f MiB" % (name, cluster.brokers[0].process.rss_kb() / 1024))


class Bench:
    """Runs of one size of messages. Each run of a producer fills a topic of its own, when the one before
    is gone: little of that is ever written to the disk, which would hit the next run. Readers read the
    last one, whole."""

    def __init__(self, clusters, arguments, size, messages):
        self._clusters = clusters
        self._arguments = arguments
        self._size = size
        self._messages = messages
        self._topics = dict.fromkeys(clusters, 0)

    def row(self, what, label, options, action):
        for _ in range(0 if self._arguments.smoke else WARM_UPS):
            for name in self._clusters:
                action(name, options)
        results = interleaved({name: lambda name=name: action(name, options) for name in self._clusters},
                              self._arguments.rounds)
        cpu = {name: [used.cpu_ns / self._messages for used in list_] for name, list_ in results.items()}
        user = {name: [used.user_ns / self._messages for used in list_] for name, list_ in results.items()}
        return [what, self._size, label, median(cpu["ours"]), median(user["ours"]), median(cpu["kafka"]),
                median(user["kafka"]), ratio(cpu["ours"], cpu["kafka"])]

    def produce(self, name, options):
        if self._topics[name]:
            self._clusters[name].delete_topic(self._topic(name))
        self._topics[name] += 1
        self._clusters[name].create_topic(self._topic(name), PARTITIONS)
        return self._measured(name, "produce_bench", bytes=self._size, **options)

    def fetch(self, name, options):
        if not self._topics[name]:
            self.produce(name, PRODUCERS["librdkafka"])
        return self._measured(name, "consume_bench", zookeeper=self._clusters[name].zookeeper_connect,
                              **options)

    def _topic(self, name):
        return "bench-%d-%d" % (self._size, self._topics[name])

    def _measured(self, name, program, **options):
        cluster = self._clusters[name]
        before = cpu_now(cluster.brokers[0])
        run_program(self._arguments.programs, program, brokers=cluster.bootstrap, topic=self._topic(name),
                    partitions=PARTITIONS, messages=self._messages, **options)
        after = cpu_now(cluster.brokers[0])
        return Used(after.cpu_ns - before.cpu_ns, after.user_ns - before.user_ns)
