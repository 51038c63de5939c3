"""What the integration tests, the demo and scripts/real-kafka stand on: real ZooKeeper servers and
Kafka brokers on free loopback ports, a fault proxy, peers, and the book-keeping that leaves nothing
running.

    versions    which Kafka needs which artifacts and properties
    jars        released jars by Maven coordinates, in a cache
    processes   child processes that cannot outlive us; output collected line by line
    ports, waiting
    zookeeper, broker, cluster
    metadata    one Kafka request by hand: is this broker serving?
    topics      topics and partitions made as Kafka's tool makes them, by znodes
    proxy       a recording, faulty link between a client and a server
    group       who owns what, and which offsets are committed
    producer, members, java_members, our_members
    ledger      steady traffic, and the account of what was delivered
    testing     how a test file is written

Needs Debian's python3 with python3-kazoo and python3-kafka.
"""
