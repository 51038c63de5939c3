"""What each Kafka release needs to run from its Maven jars on Java 17."""


class Kafka:
    """One release. `artifacts` are Maven coordinates; `exclude` are dependencies of theirs that are
    not on Maven Central and not needed to run."""

    def __init__(self, version, scala, extra=(), exclude=()):
        self.version = version
        self.number = tuple(int(part) for part in version.split("."))
        self.artifacts = ["org.apache.kafka:kafka_%s:%s" % (scala, version), *extra]
        self.exclude = list(exclude)

    def at_least(self, *number):
        return self.number >= number

    @property
    def has_listeners(self):
        """0.9 and later: `listeners`; before: `host.name` and `port`."""
        return self.at_least(0, 9)

    @property
    def lists_brokers_without_topics(self):
        """Before 0.9 a Metadata answer names no broker until the first topic exists."""
        return self.at_least(0, 9)

    @property
    def client_options(self):
        """What librdkafka (kcat) must be told about brokers without ApiVersions."""
        if self.at_least(0, 10):
            return {}
        fallback = "0.9.0.1" if self.at_least(0, 9) else "0.8.2"
        return {"api.version.request": "false", "broker.version.fallback": fallback}

    @property
    def python_api_version(self):
        """kafka-python's api_version; None: it finds out by itself."""
        if self.at_least(0, 10):
            return None
        return self.number[:3] if self.number < (0, 9) else (0, 9)


# log4j 1.2.15, which 0.8.0 and 0.8.1.1 ask for, wants these three from a repository that is no more.
_GONE = ("com.sun.jmx:jmxri", "com.sun.jdmk:jmxtools", "javax.jms:jms")

KAFKA = {
    kafka.version: kafka
    for kafka in (
        Kafka("0.8.0", "2.10", exclude=_GONE),
        Kafka("0.8.1.1", "2.10", exclude=_GONE),
        Kafka("0.8.2.2", "2.11"),
        Kafka("0.9.0.1", "2.11"),
        # uses DatatypeConverter, which left the JDK with Java 11
        Kafka("0.10.2.2", "2.11", extra=["javax.xml.bind:jaxb-api:2.3.1"]),
        # without a logging binding these write no log at all
        Kafka("1.1.1", "2.12", extra=["org.slf4j:slf4j-log4j12:1.7.25"]),
        Kafka("2.8.2", "2.13", extra=["org.slf4j:slf4j-log4j12:1.7.30"]),
        Kafka("3.9.2", "2.13", extra=["org.slf4j:slf4j-reload4j:1.7.36"]),
    )
}

LEGACY = "0.8.2.2"  # the release whose consumers we stand beside

# ZooKeeper servers: 3.4.6 comes with Kafka 0.8.2.2's jars, 3.8.0 is Debian's libzookeeper-java.
ZOOKEEPER = ("3.4", "3.8")
ZOOKEEPER_34_FROM = LEGACY
