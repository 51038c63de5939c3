"""Running the programs that measure, and printing what they found."""
import statistics
import subprocess


def run_program(programs, name, **options):
    """Runs a program of this folder with --name=value options; its `name=number` words as a dict."""
    command = [str(programs / name)]
    command += ["--%s=%s" % item for item in options.items()]
    out = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
                         timeout=600).stdout
    return parse_words(out)


def parse_words(line):
    pairs = (word.partition("=") for word in line.split())
    return {name: int(value) for name, equals, value in pairs if equals}


def cpu_ns(figures):
    return figures["user_ns"] + figures["system_ns"]


def interleaved(runs, rounds):
    """`runs` are {name: function}. Calls all of them in each round, each time beginning with another
    one, so that what else the machine does hits all alike; {name: [a result for each round]}."""
    names = list(runs)
    results = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            results[name].append(runs[name]())
    return results


def median(values, text="%.0f"):
    return text % statistics.median(values)


def ratio(ours, peers):
    """Of what was measured in the same round: median and, with several rounds, the extremes."""
    values = [a / b for a, b in zip(ours, peers) if b]
    if not values:
        return "-"
    text = "%.2f" % statistics.median(values)
    return text if len(values) == 1 else "%s (%.2f-%.2f)" % (text, min(values), max(values))


def print_table(title, head, rows):
    print("\n%s\n" % title)
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
    print(flush=True)
