"""zookeeper: operations per second, and CPU per operation, of our session and of the bare C client."""
from figures import cpu_ns, interleaved, median, print_table, ratio, run_program

SHAPES = [(1, 1, 5000), (1, 100, 30000), (100, 10, 50000)]  # sessions, outstanding, operations
KINDS = ["get", "exists", "children", "set"]
NODES, CHILDREN, DATA = 100, 10, b"x" * 100


def run(context, arguments):
    server = context.zookeeper()
    fill(server)
    rows = []
    for sessions, outstanding, operations in SHAPES:
        for kind in ["get", "set"] if arguments.smoke else KINDS:
            if arguments.only in "%dx%d-%s" % (sessions, outstanding, kind):
                rows.append(measure(server, arguments, sessions, outstanding, operations, kind))
    print_table(
        "zookeeper: our session and the bare C client, %d rounds; medians, and ratios ours to the client's\n"
        "of the same round: median (lowest-highest). Speed: more is better; CPU: less is better"
        % arguments.rounds,
        ["sessions", "outstanding", "operation", "ours ops/s", "client ops/s", "speed ratio", "ours CPU us",
         "client CPU us", "CPU ratio"], rows)


def fill(server):
    from kazoo.client import KazooClient

    zk = KazooClient(server.address, timeout=30)
    zk.start(30)
    for node in range(NODES):
        zk.create("/bench/%d" % node, DATA, makepath=True)
        for child in range(CHILDREN):
            zk.create("/bench/%d/child-%d" % (node, child))
    zk.stop()
    zk.close()


def measure(server, arguments, sessions, outstanding, operations, kind):
    if arguments.smoke:
        operations = sessions * outstanding * 2

    def send(who):
        return lambda: run_program(arguments.programs, "session_bench", who=who, server=server.address,
                                   sessions=sessions, outstanding=outstanding, operations=operations,
                                   kind=kind)

    results = interleaved({"ours": send("session"), "client": send("client")}, arguments.rounds)
    speed = {name: [operations / (f["wall_ns"] / 1e9) for f in list_] for name, list_ in results.items()}
    cpu = {name: [cpu_ns(f) / operations / 1e3 for f in list_] for name, list_ in results.items()}
    return [sessions, outstanding, kind, median(speed["ours"]), median(speed["client"]),
            ratio(speed["ours"], speed["client"]), median(cpu["ours"], "%.1f"),
            median(cpu["client"], "%.1f"), ratio(cpu["ours"], cpu["client"])]
