"""A consumer group as its znodes tell it: who is registered, who owns what, what is committed."""
import json

from kazoo.exceptions import NodeExistsError, NoNodeError

from .waiting import wait_for


class Group:
    """Reads through the given kazoo client (cluster.zk)."""

    def __init__(self, zk, name):
        self.zk = zk
        self.name = name
        self.path = "/consumers/%s" % name

    def members(self):
        """Registered consumer ids, sorted."""
        return sorted(self._children("/ids"))

    def registration(self, consumer_id):
        """The registration as parsed JSON; None when it is not there."""
        data = self._data("/ids/%s" % consumer_id)[0]
        return None if data is None else json.loads(data)

    def owners(self, topic):
        """{partition: consumer thread id}"""
        result = {}
        for name in self._partitions("/owners/%s" % topic):
            data = self._data("/owners/%s/%s" % (topic, name))[0]
            if data is not None:  # gone since it was listed
                result[int(name)] = data.decode()
        return dict(sorted(result.items()))

    def owner_sessions(self, topic):
        """{partition: session id that holds the claim} (0: the node is not ephemeral)"""
        result = {}
        for name in self._partitions("/owners/%s" % topic):
            stat = self._data("/owners/%s/%s" % (topic, name))[1]
            if stat is not None:
                result[int(name)] = stat.ephemeralOwner
        return dict(sorted(result.items()))

    def member_session(self, consumer_id):
        """The session that holds the registration; None when it is not there."""
        stat = self._data("/ids/%s" % consumer_id)[1]
        return None if stat is None else stat.ephemeralOwner

    def offsets(self, topic):
        """{partition: committed offset}, as text where it is no number."""
        result = {}
        for name in self._partitions("/offsets/%s" % topic):
            data = self._data("/offsets/%s/%s" % (topic, name))[0]
            if data is not None:
                text = data.decode()
                result[int(name)] = int(text) if text.lstrip("-").isdigit() else text
        return dict(sorted(result.items()))

    def set_offset(self, topic, partition, offset):
        path = "%s/offsets/%s/%d" % (self.path, topic, partition)
        try:
            self.zk.set(path, str(offset).encode())
        except NoNodeError:  # a live owner would read a node that is made first and set after
            try:
                self.zk.create(path, str(offset).encode(), makepath=True)
            except NodeExistsError:  # the owner's first commit came between
                self.zk.set(path, str(offset).encode())

    def wait_for_members(self, count, timeout_s=60.0):
        """Until so many are registered; their ids."""
        wait_for(lambda: len(self.members()) == count or _not_yet(self.members()),
                 "%d members in group %s" % (count, self.name), timeout_s)
        return self.members()

    def wait_for_owners(self, topic, expected, timeout_s=90.0):
        """Until the owners are these: {partition: prefix of the owner}. A prefix is enough because a
        consumer id often has a random part: "g_c1" stands for "g_c1-0"."""
        def settled():
            owners = self.owners(topic)
            return (owners.keys() == expected.keys()
                    and all(owners[number].startswith(expected[number]) for number in owners)
                    or _not_yet(owners))

        wait_for(settled, "%s of %s to be owned by %r" % (topic, self.name, expected), timeout_s)

    def wait_for_exact_owners(self, topic, layout, timeout_s=60.0):
        """Until each partition has exactly one owner node, which names the thread that the layout
        ({partition: thread}) says and was made by the session that registered that thread's member."""
        def settled():
            owners = self.owners(topic)
            assert owners == layout, "owners %r" % owners
            for partition, session in self.owner_sessions(topic).items():
                member = owners[partition].rsplit("-", 1)[0]
                assert session == self.member_session(member), (
                    "%s-%d is claimed for %s by session %x, which registered at session %x" % (
                        topic, partition, owners[partition], session, self.member_session(member) or 0))
            return True

        wait_for(settled, "%s of %s to be owned as %r" % (topic, self.name, layout), timeout_s)

    def wait_until_owned(self, topic, partitions, timeout_s=90.0):
        """Until each of so many partitions has an owner; {partition: owner}."""
        wait_for(lambda: len(self.owners(topic)) == partitions or _not_yet(self.owners(topic)),
                 "%d partitions of %s to be owned in %s" % (partitions, topic, self.name), timeout_s)
        return self.owners(topic)

    def wait_for_offsets(self, topic, expected, timeout_s=60.0):
        """Until exactly these offsets are committed."""
        wait_for(lambda: self.offsets(topic) == expected or _not_yet(self.offsets(topic)),
                 "offsets of %s in %s to be %r" % (topic, self.name, expected), timeout_s)

    def _children(self, below):
        try:
            return self.zk.get_children(self.path + below)
        except NoNodeError:
            return []

    def _partitions(self, below):
        """Children without what is no partition."""
        return [name for name in self._children(below) if name.isdigit()]

    def _data(self, below):
        try:
            return self.zk.get(self.path + below)
        except NoNodeError:
            return None, None


def _not_yet(seen):
    raise AssertionError("%r" % (seen,))


def range_layout(partitions, threads):
    """{partition: thread} as Kafka 0.8's range assignment gives them: threads sorted, the first
    (partitions mod threads) get one more."""
    threads = sorted(threads)
    share, extra = divmod(partitions, len(threads))
    layout, partition = {}, 0
    for number, thread in enumerate(threads):
        for _ in range(share + (number < extra)):
            layout[partition] = thread
            partition += 1
    return layout


MASK = (1 << 64) - 1


def mix(number):
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9 & MASK
    number = (number ^ number >> 27) * 0x94d049bb133111eb & MASK
    return number ^ number >> 31


def mixed_text(text):
    number = 0xcbf29ce484222325
    for byte in text.encode():
        number = (number ^ byte) * 0x100000001b3 & MASK
    return mix(number)


def rendezvous_layout(topic, partitions, threads):
    """{partition: thread} by zkconsumer/core/assign/rendezvous.h, the plain way: all pairs sorted."""
    place = mixed_text(topic)
    units = {thread: mixed_text(thread) for thread in threads}
    share, extra = divmod(partitions, len(threads))
    liked = sorted(units, key=lambda thread: (-mix(units[thread] ^ place), thread))
    room = {thread: share + (number < extra) for number, thread in enumerate(liked)}
    places = [mix((place + (partition + 1) * 0x9e3779b97f4a7c15) & MASK) for partition in range(partitions)]
    layout = {}
    for _, thread, partition in sorted((-mix(units[thread] ^ places[partition]), thread, partition)
                                       for thread in threads for partition in range(partitions)):
        if partition not in layout and room[thread]:
            layout[partition] = thread
            room[thread] -= 1
    return dict(sorted(layout.items()))
