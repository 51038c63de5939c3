"""consumer: CPU time per message of reading a topic of a real Kafka 0.8.2.2, ours and librdkafka's."""
from figures import cpu_ns, interleaved, median, print_table, ratio, run_program

PARTITIONS = 4
MESSAGES = {100: 1000000, 1024: 250000}
CODECS = ["none", "gzip", "snappy", "lz4"]

# Kafka 0.8.2's consumer asks for a receive buffer of 64 KiB, and so does ours by default; librdkafka
# takes what the system gives. One row is measured with the system's on both sides.
SYSTEM_BUFFER = "none, system's buffer"

# librdkafka: one message a call, as applications do; by callback, its cheapest; and without CRC.
RUNS = {
    "ours": {"who": "zkconsumer"},
    "message": {"who": "message"},
    "callback": {"who": "callback"},
    "unchecked": {"who": "message", "crc": "false"},
}


def run(context, arguments):
    cluster = context.cluster()
    rows = []
    for size, messages in MESSAGES.items():
        for codec in ["none", "gzip"] if arguments.smoke else CODECS:
            if arguments.only in "%d-%s" % (size, codec):
                rows += measure(cluster, arguments, size, codec, messages)
    print_table(
        "consumer: CPU per message, Kafka %s, %d partitions, %d rounds; ns are medians,\n"
        "ratios are ours to librdkafka's of the same round: median (lowest-highest)"
        % (cluster.kafka.version, PARTITIONS, arguments.rounds),
        ["bytes", "codec", "ours ns", "user", "librdkafka ns", "user", "ratio", "user", "to callback",
         "to no CRC"], rows)


def measure(cluster, arguments, size, codec, messages):
    if arguments.smoke:
        messages = 2000
    topic = "bench-%d-%s" % (size, codec)
    cluster.create_topic(topic, PARTITIONS)
    run_program(arguments.programs, "produce_bench", brokers=cluster.bootstrap, topic=topic,
                partitions=PARTITIONS, messages=messages, bytes=size, codec=codec)

    def consume(options):
        return lambda: run_program(
            arguments.programs, "consume_bench", brokers=cluster.bootstrap,
            zookeeper=cluster.zookeeper_connect, topic=topic, partitions=PARTITIONS, messages=messages,
            **options)

    runs = {name: consume(options) for name, options in RUNS.items()}
    if codec == "none":
        runs[SYSTEM_BUFFER] = consume({"who": "zkconsumer", "receive-buffer": "0"})
    results = interleaved(runs, arguments.rounds)
    for figures in (figures for list_ in results.values() for figures in list_):
        assert figures["messages"] == messages and figures["bytes"] == messages * size, figures
    total = {name: [cpu_ns(f) / messages for f in list_] for name, list_ in results.items()}
    user = {name: [f["user_ns"] / messages for f in list_] for name, list_ in results.items()}
    return [row(size, codec if ours == "ours" else ours, ours, total, user)
            for ours in ("ours", SYSTEM_BUFFER) if ours in results]


def row(size, label, ours, total, user):
    return [size, label, median(total[ours]), median(user[ours]), median(total["message"]),
            median(user["message"]), ratio(total[ours], total["message"]),
            ratio(user[ours], user["message"]), ratio(total[ours], total["callback"]),
            ratio(total[ours], total["unchecked"])]
