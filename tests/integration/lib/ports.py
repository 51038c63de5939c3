"""Free loopback ports that two tests running at the same time do not both take."""
import random
import socket

# Below Linux's range for outgoing connections (32768 and up), so that nobody's outgoing connection
# takes a port between our look and the server's bind.
_FIRST, _LAST = 15000, 32000
_reservations = []


def free_port():
    """A port of 127.0.0.1 that nobody listens on, reserved among our programs until this one ends
    (by an abstract socket name, which the kernel takes back whatever happens)."""
    for _ in range(1000):
        port = random.randint(_FIRST, _LAST)
        mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            mark.bind("\0zkconsumer-port-%d" % port)
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            mark.close()
            continue
        _reservations.append(mark)
        return port
    raise RuntimeError("no free port between %d and %d" % (_FIRST, _LAST))
