"""Starting Java programs that are small and start fast."""

# add-opens: the snappy library of Kafka 0.8.0 and 0.8.1 defines a class by reflection.
_FLAGS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
          "--add-opens", "java.base/java.lang=ALL-UNNAMED"]

_LOG4J = """log4j.rootLogger=%s, A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.target=System.err
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=[%%d] %%p %%m (%%c)%%n
"""


def command(classpath, main, *arguments, heap_mb=64, properties=None, flags=()):
    """Words of a command line; `properties` become -Dname=value; `flags` win over those here."""
    system = ["-D%s=%s" % item for item in (properties or {}).items()]
    return ["java", "-Xmx%dm" % heap_mb, *_FLAGS, *flags, *system, "-cp", classpath, main, *arguments]


def log4j_file(folder, level="INFO"):
    """Writes a log4j configuration (standard error) and returns the property that names it."""
    path = folder / "log4j.properties"
    path.write_text(_LOG4J % level)
    return {"log4j.configuration": "file:%s" % path}
