import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import kafka.consumer.Blacklist;
import kafka.consumer.Consumer;
import kafka.consumer.ConsumerConfig;
import kafka.consumer.KafkaStream;
import kafka.consumer.TopicFilter;
import kafka.consumer.Whitelist;
import kafka.javaapi.consumer.ConsumerConnector;
import kafka.message.MessageAndMetadata;

/**
 * Many of Kafka's own ZooKeeper consumers (0.8.2.2's high-level consumer) in one JVM, on command.
 *
 * Commands, one a line on standard input; those of one member are carried out in order, those of
 * different members side by side:
 *
 *   open NAME [KEY=VALUE ...]       a connector with these settings
 *   streams NAME TOPIC=N[,TOPIC=N]  joins the group: createMessageStreams; a thread takes from each stream
 *   filter NAME KIND N EXPRESSION   the same with N streams of a filter (createMessageStreamsByFilter);
 *                                   KIND: white_list, black_list
 *   print NAME N                    print every Nth message only (1: all, the default; 0: none)
 *   counts NAME                     prints what was taken so far
 *   commit NAME                     commitOffsets
 *   mbeans NAME                     prints Kafka's beans of this JVM
 *   close NAME                      shutdown; at once, even while another command of NAME is running
 *   quit                            closes nothing, ends the JVM (as does the end of the input)
 *
 * Events, one a line on standard output:
 *
 *   opened NAME | streams NAME | committed NAME | closed NAME
 *   msg NAME STREAM TOPIC PARTITION OFFSET KEY VALUE
 *       STREAM is TOPIC-N. KEY and VALUE are percent-encoded; "-" stands for null and "%" for empty.
 *   counts NAME [TOPIC:PARTITION:COUNT:LASTOFFSET ...]
 *   mbean NAME BEAN ATTRIBUTE=VALUE ...
 *   mbeans NAME                     that were all
 *   end NAME STREAM                 the stream has ended
 *   error NAME TEXT                 an exception, of a command or of a stream
 */
public final class Members {
    private static final PrintStream OUT = new PrintStream(
            new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false);
    private static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.trim().split("\\s+");
            if (words[0].isEmpty())
                continue;
            if (words[0].equals("quit"))
                break;
            if (words.length < 2)
                say("error - no member named in: " + line);
            else
                command(words);
        }
        Runtime.getRuntime().halt(0);
    }

    private static void command(String[] words) {
        String name = words[1];
        if (words[0].equals("open")) {
            Member member = new Member(name);
            MEMBERS.put(name, member);
            member.run(() -> member.open(words));
            return;
        }
        Member member = MEMBERS.get(name);
        if (member == null) {
            say("error " + name + " no such member");
            return;
        }
        switch (words[0]) {
            case "streams": member.run(() -> member.streams(words[2])); break;
            case "filter": member.run(() -> member.filter(words)); break;
            case "commit": member.run(member::commit); break;
            case "mbeans": member.run(member::beans); break;
            case "print": member.every = Integer.parseInt(words[2]); break;
            case "counts": member.counts(); break;
            case "close": new Thread(() -> guarded(name, member::close)).start(); break;
            default: say("error " + name + " unknown command " + words[0]);
        }
    }

    private interface Action {
        void run() throws Exception;
    }

    private static void guarded(String name, Action action) {
        try {
            action.run();
        } catch (Throwable error) {
            say("error " + name + " " + error.toString().replace('\n', ' '));
        }
    }

    private static void say(String line) {
        synchronized (OUT) {
            OUT.println(line);
            OUT.flush();
        }
    }

    private static final class Member {
        final String name;
        final ExecutorService commands = Executors.newSingleThreadExecutor();
        final Map<String, long[]> taken = new TreeMap<>(); // topic:partition -> count, last offset
        volatile int every = 1;
        ConsumerConnector connector;
        long total;

        Member(String name) {
            this.name = name;
        }

        void run(Action action) {
            commands.execute(() -> guarded(name, action));
        }

        void open(String[] words) {
            Properties properties = new Properties();
            for (int i = 2; i < words.length; i++) {
                int equals = words[i].indexOf('=');
                properties.put(words[i].substring(0, equals), words[i].substring(equals + 1));
            }
            connector = Consumer.createJavaConsumerConnector(new ConsumerConfig(properties));
            say("opened " + name);
        }

        void streams(String wanted) {
            Map<String, Integer> counts = new LinkedHashMap<>();
            for (String one : wanted.split(",")) {
                int equals = one.lastIndexOf('=');
                counts.put(one.substring(0, equals), Integer.valueOf(one.substring(equals + 1)));
            }
            Map<String, List<KafkaStream<byte[], byte[]>>> streams =
                    connector.createMessageStreams(counts);
            say("streams " + name);
            for (Map.Entry<String, List<KafkaStream<byte[], byte[]>>> topic : streams.entrySet()) {
                int number = 0;
                for (KafkaStream<byte[], byte[]> stream : topic.getValue()) {
                    String label = topic.getKey() + "-" + number++;
                    new Thread(() -> guarded(name, () -> take(label, stream))).start();
                }
            }
        }

        void filter(String[] words) {
            TopicFilter filter = words[2].equals("white_list") ? new Whitelist(words[4])
                    : new Blacklist(words[4]);
            List<KafkaStream<byte[], byte[]>> streams =
                    connector.createMessageStreamsByFilter(filter, Integer.parseInt(words[3]));
            say("streams " + name);
            int number = 0;
            for (KafkaStream<byte[], byte[]> stream : streams) {
                String label = words[4] + "-" + number++;
                new Thread(() -> guarded(name, () -> take(label, stream))).start();
            }
        }

        void take(String label, KafkaStream<byte[], byte[]> stream) {
            for (MessageAndMetadata<byte[], byte[]> message : stream) {
                if (count(message))
                    say("msg " + name + " " + label + " " + message.topic() + " "
                            + message.partition() + " " + message.offset() + " "
                            + encoded(message.key()) + " " + encoded(message.message()));
            }
            say("end " + name + " " + label);
        }

        synchronized boolean count(MessageAndMetadata<byte[], byte[]> message) {
            long[] entry = taken.computeIfAbsent(message.topic() + ":" + message.partition(),
                    key -> new long[2]);
            entry[0]++;
            entry[1] = message.offset();
            total++;
            int n = every;
            return n > 0 && total % n == 0;
        }

        synchronized void counts() {
            StringBuilder text = new StringBuilder("counts " + name);
            for (Map.Entry<String, long[]> entry : taken.entrySet())
                text.append(' ').append(entry.getKey()).append(':').append(entry.getValue()[0])
                        .append(':').append(entry.getValue()[1]);
            say(text.toString());
        }

        void commit() {
            connector.commitOffsets();
            say("committed " + name);
        }

        void beans() throws Exception {
            MBeanServer server = ManagementFactory.getPlatformMBeanServer();
            for (ObjectName bean : server.queryNames(new ObjectName("kafka.*:*"), null)) {
                StringBuilder text = new StringBuilder("mbean " + name + " " + bean);
                for (MBeanAttributeInfo attribute : server.getMBeanInfo(bean).getAttributes())
                    text.append(' ').append(attribute.getName()).append('=')
                            .append(server.getAttribute(bean, attribute.getName()));
                say(text.toString());
            }
            say("mbeans " + name);
        }

        void close() {
            if (connector != null)
                connector.shutdown();
            commands.shutdown();
            say("closed " + name);
        }
    }

    private static String encoded(byte[] bytes) {
        if (bytes == null)
            return "-";
        if (bytes.length == 0)
            return "%";
        StringBuilder text = new StringBuilder(bytes.length);
        for (byte one : bytes) {
            boolean plain = one > ' ' && one < 0x7f && one != '%' && one != '-';
            if (plain || one == '-' && bytes.length > 1)
                text.append((char) one);
            else
                text.append(String.format("%%%02X", one & 0xff));
        }
        return text.toString();
    }
}
