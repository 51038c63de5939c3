"""wire: what going through fetched message sets costs, beside zlib's CRC of the same bytes."""
import subprocess


def run(_context, arguments):
    print("\nwire: CPU time per message of iterating message sets\n", flush=True)
    command = [str(arguments.programs / "wire_bench")]
    if arguments.smoke:
        command.append("--smoke")
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True, timeout=600)
