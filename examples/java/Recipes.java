// The core of each recipe of docs/recipes, with Jedis.
//
//     cd examples/java
//     mvn compile exec:java -Dexec.mainClass=Recipes
//
// The server is on port 6379 of this machine, or on ROUGHLY_PORT. The program deletes the keys that it uses:
// run it on a server without other data. It prints the lines of examples/recipes.txt.

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.Response;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.bloom.BFInsertParams;
import redis.clients.jedis.bloom.BFReserveParams;
import redis.clients.jedis.bloom.TDigestMergeParams;

public class Recipes {
    /** Deduplicating a stream consumer: returns the IDs that were not processed before. */
    static List<String> newMessages(UnifiedJedis jedis, List<String> ids) {
        List<Boolean> isNew = jedis.bfMAdd("orders:seen", ids.toArray(String[]::new));
        return IntStream.range(0, ids.size()).filter(isNew::get).mapToObj(ids::get).toList();
    }

    static final int DAYS = 7;

    /** Crawler: returns the URLs that were not crawled today or on the six days before. */
    static List<String> due(UnifiedJedis jedis, List<String> urls, LocalDate today) {
        String[] items = urls.toArray(String[]::new);
        List<Response<List<Boolean>>> replies = new ArrayList<>();
        try (AbstractPipeline pipeline = jedis.pipelined()) {
            for (int age = 0; age < DAYS; age++) {
                replies.add(pipeline.bfMExists("crawled:" + today.minusDays(age), items));
            }
            pipeline.sync();
        }
        return IntStream.range(0, items.length)
                .filter(i -> replies.stream().noneMatch(seen -> seen.get().get(i)))
                .mapToObj(urls::get)
                .toList();
    }

    static void markCrawled(UnifiedJedis jedis, List<String> urls, LocalDate today) {
        String key = "crawled:" + today;
        BFInsertParams parameters = BFInsertParams.insertParams().capacity(10_000).error(0.001);
        try (AbstractTransaction transaction = jedis.multi()) {
            transaction.bfInsert(key, parameters, urls.toArray(String[]::new));
            transaction.expire(key, (DAYS + 1) * 86_400);
            transaction.exec();
        }
    }

    /** Heavy hitters: counts requests, and returns the most requested pages of an hour with their counts. */
    static void countPages(UnifiedJedis jedis, String hour, String... pages) {
        jedis.topkAdd("pages:" + hour, pages);
    }

    static List<Map.Entry<String, Long>> topPages(UnifiedJedis jedis, String hour) {
        return jedis.topkListWithCount("pages:" + hour).entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .toList();
    }

    /** Latency percentiles: one digest per pod, merged by each query. */
    static void recordLatencies(UnifiedJedis jedis, String pod, double... milliseconds) {
        jedis.tdigestAdd("latency:{checkout}:" + pod, milliseconds);
    }

    static List<Double> percentiles(UnifiedJedis jedis, List<String> pods, double... quantiles) {
        String[] sources = pods.stream().map(pod -> "latency:{checkout}:" + pod).toArray(String[]::new);
        TDigestMergeParams override = TDigestMergeParams.mergeParams().override();
        jedis.tdigestMerge(override, "latency:{checkout}", sources);
        return jedis.tdigestQuantile("latency:{checkout}", quantiles);
    }

    /** Breached passwords: whether the SHA-1 of a password is in the filter. */
    static boolean isBreached(UnifiedJedis jedis, String password) throws GeneralSecurityException {
        byte[] bytes = password.getBytes(StandardCharsets.UTF_8);
        byte[] digest = MessageDigest.getInstance("SHA-1").digest(bytes);
        return jedis.bfExists("breached", HexFormat.of().withUpperCase().formatHex(digest));
    }

    static final int CAP = 3;

    /** Frequency capping: whether an ad may be shown to a user once more, and counts it if so. */
    static boolean mayShow(UnifiedJedis jedis, String day, String ad, String user) {
        String key = "shown:" + day;
        String item = ad + ":" + user;
        if (jedis.cmsQuery(key, item).get(0) >= CAP) {
            return false;
        }
        return jedis.cmsIncrBy(key, item, 1) <= CAP;
    }

    /** Cache penetration: false only if the filter is loaded and the ID is not in it. */
    static boolean mayExist(UnifiedJedis jedis, String id) {
        List<Boolean> found = jedis.bfMExists("{products}:ids", id, "loaded");
        boolean exists = found.get(0);
        boolean loaded = found.get(1);
        return exists || !loaded;
    }

    /** Rate limit: creates the sketch, and counts a request of a client if it is one of at most 100 per minute. */
    static void createLimit(UnifiedJedis jedis) {
        // Jedis has no parameter for WINDOW.
        jedis.sendCommand(() -> "CMS.INITBYPROB".getBytes(StandardCharsets.UTF_8),
                "limit", "0.0001", "0.01", "WINDOW", "60000", "PANES", "12");
    }

    static boolean isAllowed(UnifiedJedis jedis, String name) {
        Object replies = jedis.sendCommand(() -> "CMS.INCRBYLIMIT".getBytes(StandardCharsets.UTF_8),
                "limit", "100", name, "1");
        List<?> reply = (List<?>) ((List<?>) replies).get(0);
        return (Long) reply.get(0) == 1;
    }

    /** Requests of the last hour: creates the sketch, counts a request of an API key, and returns counts. */
    static void createRequests(UnifiedJedis jedis) {
        // Jedis has no parameter for WINDOW.
        jedis.sendCommand(() -> "CMS.INITBYPROB".getBytes(StandardCharsets.UTF_8),
                "requests:hour", "0.0001", "0.01", "WINDOW", "3600000", "PANES", "12");
    }

    static long countRequest(UnifiedJedis jedis, String apiKey) {
        return jedis.cmsIncrBy("requests:hour", apiKey, 1);
    }

    static List<Long> requestsOf(UnifiedJedis jedis, String... apiKeys) {
        return jedis.cmsQuery("requests:hour", apiKeys);
    }

    public static void main(String[] arguments) throws GeneralSecurityException {
        int port = Integer.parseInt(System.getenv().getOrDefault("ROUGHLY_PORT", "6379"));
        try (JedisPooled jedis = new JedisPooled("127.0.0.1", port)) {
            run(jedis);
        }
    }

    static void run(UnifiedJedis jedis) throws GeneralSecurityException {
        LocalDate today = LocalDate.of(2026, 11, 22);
        jedis.del("orders:seen", "crawled:" + today, "pages:2026-11-22T10", "latency:{checkout}:pod-1",
                "latency:{checkout}:pod-2", "latency:{checkout}", "breached", "shown:2026-11-22",
                "{products}:ids", "limit", "requests:hour");

        jedis.bfReserve("orders:seen", 0.001, 20_000);
        List<String> orders = newMessages(jedis, List.of("order-1", "order-2", "order-1"));
        System.out.println("new orders: " + String.join(" ", orders));

        markCrawled(jedis, List.of("https://example.com/a"), today);
        List<String> urls = List.of("https://example.com/a", "https://example.com/b");
        System.out.println("due today: " + due(jedis, urls, today).size());
        System.out.println("due after six days: " + due(jedis, urls, today.plusDays(6)).size());
        System.out.println("due after seven days: " + due(jedis, urls, today.plusDays(7)).size());

        jedis.topkReserve("pages:2026-11-22T10", 10, 80, 5, 0.9);
        countPages(jedis, "2026-11-22T10", "/home", "/news", "/home", "/home", "/news");
        String top = topPages(jedis, "2026-11-22T10").stream()
                .map(page -> page.getKey() + " " + page.getValue())
                .collect(Collectors.joining(", "));
        System.out.println("top pages: " + top);

        List<String> pods = List.of("pod-1", "pod-2");
        pods.forEach(pod -> jedis.tdigestCreate("latency:{checkout}:" + pod, 200));
        recordLatencies(jedis, "pod-1", 10, 20, 30);
        recordLatencies(jedis, "pod-2", 40, 50);
        List<Double> latency = percentiles(jedis, pods, 0.5, 0.99);
        System.out.printf("latency: p50 %.0f ms, p99 %.0f ms%n", latency.get(0), latency.get(1));

        jedis.bfReserve("breached", 0.001, 20_000, BFReserveParams.reserveParams().nonScaling());
        jedis.bfAdd("breached", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8");
        System.out.println("breached: " + isBreached(jedis, "password"));
        System.out.println("breached: " + isBreached(jedis, "correct horse battery staple"));

        // Jedis has no parameter for CELL_SIZE.
        jedis.sendCommand(() -> "CMS.INITBYDIM".getBytes(StandardCharsets.UTF_8),
                "shown:2026-11-22", "6000", "7", "CELL_SIZE", "1");
        long shown = IntStream.range(0, 5)
                .filter(request -> mayShow(jedis, "2026-11-22", "ad-1", "user-1"))
                .count();
        System.out.println("ads shown: " + shown + " of 5");

        System.out.println("may exist before the load: " + mayExist(jedis, "absent"));
        BFInsertParams parameters = BFInsertParams.insertParams().capacity(10_000).error(0.01);
        jedis.bfInsert("{products}:ids", parameters, "product-1", "loaded");
        System.out.println("may exist after the load: " + mayExist(jedis, "absent"));

        createLimit(jedis);
        long allowed = IntStream.range(0, 150).filter(request -> isAllowed(jedis, "client-1")).count();
        System.out.println("requests allowed: " + allowed + " of 150");

        createRequests(jedis);
        List.of("key-1", "key-2", "key-1").forEach(apiKey -> countRequest(jedis, apiKey));
        List<Long> counts = requestsOf(jedis, "key-1", "key-2");
        System.out.println("requests of the last hour: " + counts.get(0) + " " + counts.get(1));
    }
}
