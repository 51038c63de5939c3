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

# As members of a group; of many topics by a filter. In safe mode each hand-out asks for the time.
GROUPS = {"safe": {"who": "safe"}, "compat": {"who": "compat"}}
TOPICS = 250
MANY = {"fetch-bytes": 65536}  # each; more of 1,000 partitions is more than librdkafka takes in an answer


def run(context, arguments):
    cluster = context.cluster()
    rows, groups = [], []
    for size, messages in MESSAGES.items():
        for codec in ["none", "gzip"] if arguments.smoke else CODECS:
            if arguments.only in "%d-%s" % (size, codec):
                figures = measure(cluster, arguments, size, codec, messages)
                rows += rows_of(figures, size, codec)
                groups.append(group_row(figures, size, codec, 1))
    for codec in ["none", "snappy"]:
        if arguments.only in "100-%s-topics" % codec and not (arguments.smoke and codec == "snappy"):
            topics = 5 if arguments.smoke else TOPICS
            figures = measure(cluster, arguments, 100, codec, MESSAGES[100], topics)
            groups.append(group_row(figures, 100, codec, topics))
    if rows:
        print_table(
            "consumer: CPU per message, Kafka %s, %d partitions, %d rounds; ns are medians,\n"
            "ratios are ours to librdkafka's of the same round: median (lowest-highest)"
            % (cluster.kafka.version, PARTITIONS, arguments.rounds),
            ["bytes", "codec", "ours ns", "user", "librdkafka ns", "user", "ratio", "user", "to callback",
             "to no CRC"], rows)
    if groups:
        print_table(
            "consumer: the same as a group of one, of several topics by a filter; ratios to librdkafka's as above",
            ["bytes", "codec", "partitions", "safe ns", "user", "ratio", "user", "compat ns", "user", "ratio",
             "user"], groups)


def measure(cluster, arguments, size, codec, messages, topics=1):
    """{run: {"total"/"user": [ns per message, each round]}}"""
    if arguments.smoke:
        messages = 2000
    topic = "bench-%d-%s%s" % (size, codec, "-many" if topics > 1 else "")
    for name in [topic] if topics == 1 else ["%s-%d" % (topic, number) for number in range(topics)]:
        cluster.create_topic(name, PARTITIONS)
    run_program(arguments.programs, "produce_bench", brokers=cluster.bootstrap, topic=topic, topics=topics,
                partitions=PARTITIONS, messages=messages, bytes=size, codec=codec)

    def consume(options):
        if topics > 1:
            options = {**options, **MANY}
        return lambda: run_program(
            arguments.programs, "consume_bench", brokers=cluster.bootstrap,
            zookeeper=cluster.zookeeper_connect, topic=topic, topics=topics, partitions=PARTITIONS,
            messages=messages, **options)

    runs = {name: consume(options) for name, options in {**(RUNS if topics == 1 else {}), **GROUPS}.items()}
    if topics > 1:
        runs["message"] = consume(RUNS["message"])
    elif codec == "none":
        runs[SYSTEM_BUFFER] = consume({"who": "zkconsumer", "receive-buffer": "0"})
    results = interleaved(runs, arguments.rounds)
    for figures in (figures for list_ in results.values() for figures in list_):
        assert figures["messages"] == messages and figures["bytes"] == messages * size, figures
    return {"total": {name: [cpu_ns(f) / messages for f in list_] for name, list_ in results.items()},
            "user": {name: [f["user_ns"] / messages for f in list_] for name, list_ in results.items()}}


def rows_of(figures, size, codec):
    return [row(size, codec if ours == "ours" else ours, ours, figures["total"], figures["user"])
            for ours in ("ours", SYSTEM_BUFFER) if ours in figures["total"]]


def group_row(figures, size, codec, topics):
    total, user = figures["total"], figures["user"]
    cells = [[median(total[name]), median(user[name]), ratio(total[name], total["message"]),
              ratio(user[name], user["message"])] for name in GROUPS]
    return [size, codec, topics * PARTITIONS, *sum(cells, [])]


def row(size, label, ours, total, user):
    return [size, label, median(total[ours]), median(user[ours]), median(total["message"]),
            median(user["message"]), ratio(total[ours], total["message"]),
            ratio(user[ours], user["message"]), ratio(total[ours], total["callback"]),
            ratio(total[ours], total["unchecked"])]
