"""ZooKeeper's client protocol, as far as a recorder must understand it (jute over framed TCP)."""
import struct

OPS = {1: "create", 2: "delete", 3: "exists", 4: "getData", 5: "setData", 6: "getACL", 7: "setACL",
       8: "getChildren", 9: "sync", 11: "ping", 12: "getChildren2", 13: "check", 14: "multi",
       15: "create2", 16: "reconfig", 100: "auth", 101: "setWatches", 102: "sasl",
       -10: "createSession", -11: "closeSession", -1: "error"}
ERRORS = {-1: "SystemError", -2: "RuntimeInconsistency", -3: "DataInconsistency",
          -4: "ConnectionLoss", -5: "MarshallingError", -6: "Unimplemented", -7: "OperationTimeout",
          -8: "BadArguments", -100: "APIError", -101: "NoNode", -102: "NoAuth", -103: "BadVersion",
          -108: "NoChildrenForEphemerals", -110: "NodeExists", -111: "NotEmpty",
          -112: "SessionExpired", -113: "InvalidCallback", -114: "InvalidACL", -115: "AuthFailed",
          -118: "SessionMoved"}
EVENTS = {-1: "None", 1: "NodeCreated", 2: "NodeDeleted", 3: "NodeDataChanged",
          4: "NodeChildrenChanged"}
STATES = {0: "Disconnected", 3: "SyncConnected", 4: "AuthFailed", 5: "ConnectedReadOnly",
          -112: "Expired"}
FLAGS = {0: "", 1: "E", 2: "S", 3: "ES"}

# Requests that ask and requests that change; what is neither (ping, setWatches, auth, session) is
# the client library's business.
READS = {"exists", "getData", "getChildren", "getChildren2", "getACL", "sync"}
WRITES = {"create", "create2", "delete", "setData", "setACL", "multi"}

XID_EVENT, XID_PING, XID_AUTH, XID_SET_WATCHES = -1, -2, -4, -8
_STAT = ("czxid mzxid ctime mtime version cversion aversion ephemeralOwner dataLength numChildren "
         "pzxid").split()


class Reader:
    """Reads the fields of one frame; struct.error or IndexError when it is cut short."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def _number(self, form):
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def int(self):
        return self._number(">i")

    def long(self):
        return self._number(">q")

    def bool(self):
        return bool(self._number(">b"))

    def buffer(self):
        size = self.int()
        if size < 0:
            return None
        if self.at + size > len(self.data):
            raise struct.error("a buffer longer than its frame")
        self.at += size
        return self.data[self.at - size:self.at]

    def string(self):
        data = self.buffer()
        return None if data is None else data.decode("utf-8", "replace")

    def strings(self):
        return [self.string() for _ in range(max(self.int(), 0))]

    def stat(self):
        values = struct.unpack_from(">qqqqiiiqiiq", self.data, self.at)
        self.at += 68
        return dict(zip(_STAT, values))

    def acl(self):
        entries = [(self.int(), self.string(), self.string()) for _ in range(max(self.int(), 0))]
        return ["%s:%s:%d" % (scheme, name, permissions) for permissions, scheme, name in entries]


def as_text(data):
    """Bytes as text where they are text, else {"hex": ...}; null stays null."""
    if data is None:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": data.hex()}
    return {"hex": data.hex()} if "\0" in text else text


def request_fields(op, reader):
    """The fields of a request's body by the operation's name."""
    if op in ("closeSession", "ping"):
        return {}
    if op == "setWatches":
        return {"zxid": reader.long(), "data": reader.strings(), "exist": reader.strings(),
                "child": reader.strings()}
    if op == "auth":
        return {"type": reader.int(), "scheme": reader.string()}
    if op == "multi":
        return {"ops": _multi(reader)}
    fields = {"path": reader.string()}
    if op in ("create", "create2"):
        fields["data"] = as_text(reader.buffer())
        fields["acl"] = reader.acl()
        fields["flags"] = FLAGS.get(reader.int(), "?")
    elif op in ("delete", "check"):
        fields["version"] = reader.int()
    elif op in ("exists", "getData", "getChildren", "getChildren2"):
        fields["watch"] = reader.bool()
    elif op == "setData":
        fields["data"] = as_text(reader.buffer())
        fields["version"] = reader.int()
    elif op == "setACL":
        fields["acl"] = reader.acl()
        fields["version"] = reader.int()
    return fields


def answer_fields(op, reader):
    """The fields of a successful answer's body."""
    if op in ("create", "create2"):
        return {"created": reader.string()}
    if op in ("exists", "setData", "setACL"):
        return {"stat": reader.stat()}
    if op == "getData":
        return {"data": as_text(reader.buffer()), "stat": reader.stat()}
    if op == "getChildren":
        return {"children": reader.strings()}
    if op == "getChildren2":
        return {"children": reader.strings(), "stat": reader.stat()}
    if op == "getACL":
        return {"acl": reader.acl(), "stat": reader.stat()}
    if op == "multi":
        return {"results": _multi_results(reader)}
    return {}


def _multi(reader):
    operations = []
    while True:
        number, done, _ = reader.int(), reader.bool(), reader.int()
        if done:
            return operations
        name = OPS.get(number, str(number))
        operations.append({"op": name, **request_fields(name, reader)})


def _multi_results(reader):
    results = []
    while True:
        number, done, _ = reader.int(), reader.bool(), reader.int()
        if done:
            return results
        name = OPS.get(number, str(number))
        if name == "error":
            error = reader.int()
            results.append({"op": name, "err": ERRORS.get(error, error)})
        elif name in ("delete", "check"):
            results.append({"op": name})
        else:
            results.append({"op": name, **answer_fields(name, reader)})
