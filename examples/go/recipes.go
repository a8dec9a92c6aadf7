// The core of each recipe of docs/recipes, with redigo.
//
//	cd examples/go
//	go mod tidy
//	go run .
//
// The server is on port 6379 of this machine, or on ROUGHLY_PORT. The program deletes the keys that it uses:
// run it on a server without other data. It prints the lines of examples/recipes.txt.
package main

import (
	"crypto/sha1"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// recipe: stream-deduplication
// newMessages returns the IDs that were not processed before.
func newMessages(conn redis.Conn, ids []string) ([]string, error) {
	isNew, err := redis.Ints(conn.Do("BF.MADD", redis.Args{"orders:seen"}.AddFlat(ids)...))
	if err != nil {
		return nil, err
	}
	var found []string
	for i, id := range ids {
		if isNew[i] == 1 {
			found = append(found, id)
		}
	}
	return found, nil
}
// end

// recipe: crawler
const days = 7

func crawledKey(day time.Time) string {
	return "crawled:" + day.Format("2006-01-02")
}

// due returns the URLs that were not crawled today or on the six days before.
func due(conn redis.Conn, urls []string, today time.Time) ([]string, error) {
	for age := 0; age < days; age++ {
		key := crawledKey(today.AddDate(0, 0, -age))
		conn.Send("BF.MEXISTS", redis.Args{key}.AddFlat(urls)...)
	}
	conn.Flush()
	crawled := make([]bool, len(urls))
	for age := 0; age < days; age++ {
		seen, err := redis.Ints(conn.Receive())
		if err != nil {
			return nil, err
		}
		for i := range urls {
			crawled[i] = crawled[i] || seen[i] == 1
		}
	}
	var found []string
	for i, url := range urls {
		if !crawled[i] {
			found = append(found, url)
		}
	}
	return found, nil
}

// markCrawled adds URLs to today's filter and creates it first if it does not exist.
func markCrawled(conn redis.Conn, urls []string, today time.Time) error {
	key := crawledKey(today)
	insert := redis.Args{key, "CAPACITY", 10000, "ERROR", 0.001, "ITEMS"}
	conn.Send("MULTI")
	conn.Send("BF.INSERT", insert.AddFlat(urls)...)
	conn.Send("EXPIRE", key, (days+1)*86400)
	_, err := conn.Do("EXEC")
	return err
}
// end

// recipe: heavy-hitters
// countPages counts requests.
func countPages(conn redis.Conn, hour string, pages []string) error {
	_, err := conn.Do("TOPK.ADD", redis.Args{"pages:" + hour}.AddFlat(pages)...)
	return err
}

type pageCount struct {
	Page  string
	Count int64
}

// topPages returns the most requested pages of an hour with their counts.
func topPages(conn redis.Conn, hour string) ([]pageCount, error) {
	values, err := redis.Values(conn.Do("TOPK.LIST", "pages:"+hour, "WITHCOUNT"))
	if err != nil {
		return nil, err
	}
	var top []pageCount
	err = redis.ScanSlice(values, &top)
	return top, err
}
// end

// recipe: latency-percentiles
// recordLatencies adds latencies to the digest of a pod.
func recordLatencies(conn redis.Conn, pod string, milliseconds []float64) error {
	key := "latency:{checkout}:" + pod
	_, err := conn.Do("TDIGEST.ADD", redis.Args{key}.AddFlat(milliseconds)...)
	return err
}

// percentiles merges the digests of the pods and returns quantiles of the result.
func percentiles(conn redis.Conn, pods []string, quantiles []float64) ([]float64, error) {
	merge := redis.Args{"latency:{checkout}", len(pods)}
	for _, pod := range pods {
		merge = merge.Add("latency:{checkout}:" + pod)
	}
	if _, err := conn.Do("TDIGEST.MERGE", merge.Add("OVERRIDE")...); err != nil {
		return nil, err
	}
	args := redis.Args{"latency:{checkout}"}.AddFlat(quantiles)
	return redis.Float64s(conn.Do("TDIGEST.QUANTILE", args...))
}
// end

// recipe: now-and-then
// p99Between returns the p99 of a period of the past: Unix times in milliseconds, or negative numbers of milliseconds
// before now.
func p99Between(conn redis.Conn, from, to int64) (float64, error) {
	quantiles, err := redis.Float64s(conn.Do("SKETCH.BETWEEN", from, to, "TDIGEST.QUANTILE", "latency:days", 0.99))
	if err != nil {
		return 0, err
	}
	return quantiles[0], nil
}
// end

// recipe: ad-frequency-capping
const limitPerUser = 3

// mayShow returns whether an ad may be shown to a user once more, and counts it if so.
func mayShow(conn redis.Conn, day, ad, user string) (bool, error) {
	key, item := "shown:"+day, ad+":"+user
	counts, err := redis.Ints(conn.Do("CMS.QUERY", key, item))
	if err != nil || counts[0] >= limitPerUser {
		return false, err
	}
	counts, err = redis.Ints(conn.Do("CMS.INCRBY", key, item, 1))
	return err == nil && counts[0] <= limitPerUser, err
}
// end

// recipe: membership-checks
// isBreached returns whether the SHA-1 of a password is in the filter.
func isBreached(conn redis.Conn, password string) (bool, error) {
	digest := fmt.Sprintf("%X", sha1.Sum([]byte(password)))
	return redis.Bool(conn.Do("BF.EXISTS", "breached", digest))
}

// mayExist returns false only if the filter is loaded and the ID is not in it.
func mayExist(conn redis.Conn, id string) (bool, error) {
	found, err := redis.Ints(conn.Do("BF.MEXISTS", "{products}:ids", id, "loaded"))
	if err != nil {
		return true, err
	}
	exists, loaded := found[0] == 1, found[1] == 1
	return exists || !loaded, nil
}
// end

// recipe: rate-limiting
// createLimit creates the sketch of a rate limit.
func createLimit(conn redis.Conn) error {
	_, err := conn.Do("CMS.INITBYPROB", "limit", 0.0001, 0.01, "WINDOW", 60000, "PANES", 12)
	if err != nil && strings.Contains(err.Error(), "key already exists") {
		return nil
	}
	return err
}

// rateLimit passes at most 100 requests per client and minute on. It fails open: the pool needs time-outs.
func rateLimit(pool *redis.Pool, next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		accepted, count, err := count(pool, host)
		w.Header().Set("RateLimit-Policy", `"minute";q=100;w=60`)
		if remaining := 100 - count; err == nil && remaining >= 0 {
			w.Header().Set("RateLimit", fmt.Sprintf(`"minute";r=%d;t=5`, remaining))
		}
		if accepted || err != nil {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// count counts a request of a client. It creates the sketch if it is missing.
func count(pool *redis.Pool, client string) (accepted bool, count int, err error) {
	conn := pool.Get()
	defer conn.Close()
	replies, err := redis.Values(conn.Do("CMS.INCRBYLIMIT", "limit", 100, client, 1))
	if err != nil && strings.Contains(err.Error(), "key does not exist") && createLimit(conn) == nil {
		replies, err = redis.Values(conn.Do("CMS.INCRBYLIMIT", "limit", 100, client, 1))
	}
	if err != nil {
		return false, 0, err
	}
	reply, err := redis.Values(replies[0], nil)
	if err != nil {
		return false, 0, err
	}
	_, err = redis.Scan(reply, &accepted, &count)
	return accepted, count, err
}

// createRequests creates the sketch of the requests of the last hour.
func createRequests(conn redis.Conn) error {
	_, err := conn.Do("CMS.INITBYPROB", "requests:hour", 0.0001, 0.01, "WINDOW", 3600000, "PANES", 12)
	return err
}

// countRequest counts a request of an API key and returns the requests of this key in the last hour.
func countRequest(conn redis.Conn, apiKey string) (int, error) {
	counts, err := redis.Ints(conn.Do("CMS.INCRBY", "requests:hour", apiKey, 1))
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// requestsOf returns the requests of API keys in the last hour.
func requestsOf(conn redis.Conn, apiKeys []string) ([]int, error) {
	return redis.Ints(conn.Do("CMS.QUERY", redis.Args{"requests:hour"}.AddFlat(apiKeys)...))
}
// end

func main() {
	port := os.Getenv("ROUGHLY_PORT")
	if port == "" {
		port = "6379"
	}
	conn, err := redis.Dial("tcp", "127.0.0.1:"+port)
	check(err)
	defer conn.Close()
	do := func(command string, args ...any) {
		_, err := conn.Do(command, args...)
		check(err)
	}
	today := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	do("DEL", "orders:seen", crawledKey(today), "pages:2026-11-22T10", "latency:{checkout}:pod-1",
		"latency:{checkout}:pod-2", "latency:{checkout}", "latency:days", "breached", "shown:2026-11-22", "{products}:ids",
		"limit", "requests:hour")

	do("BF.RESERVE", "orders:seen", 0.001, 20000)
	orders, err := newMessages(conn, []string{"order-1", "order-2", "order-1"})
	check(err)
	fmt.Println("new orders:", strings.Join(orders, " "))

	check(markCrawled(conn, []string{"https://example.com/a"}, today))
	urls := []string{"https://example.com/a", "https://example.com/b"}
	for _, when := range []struct {
		name string
		age  int
	}{{"today", 0}, {"after six days", 6}, {"after seven days", 7}} {
		found, err := due(conn, urls, today.AddDate(0, 0, when.age))
		check(err)
		fmt.Printf("due %s: %d\n", when.name, len(found))
	}

	do("TOPK.RESERVE", "pages:2026-11-22T10", 10, 80, 5, 0.9)
	check(countPages(conn, "2026-11-22T10", []string{"/home", "/news", "/home", "/home", "/news"}))
	top, err := topPages(conn, "2026-11-22T10")
	check(err)
	fmt.Printf("top pages: %s %d, %s %d\n", top[0].Page, top[0].Count, top[1].Page, top[1].Count)

	for _, pod := range []string{"pod-1", "pod-2"} {
		do("TDIGEST.CREATE", "latency:{checkout}:"+pod, "COMPRESSION", 200)
	}
	check(recordLatencies(conn, "pod-1", []float64{10, 20, 30}))
	check(recordLatencies(conn, "pod-2", []float64{40, 50}))
	quantiles, err := percentiles(conn, []string{"pod-1", "pod-2"}, []float64{0.5, 0.99})
	check(err)
	fmt.Printf("latency: p50 %.0f ms, p99 %.0f ms\n", quantiles[0], quantiles[1])

	do("TDIGEST.CREATE", "latency:days", "WINDOW", 4000, "PANES", 100)
	do("TDIGEST.ADD", "latency:days", 400)
	time.Sleep(50 * time.Millisecond)
	change := time.Now().UnixMilli()
	time.Sleep(50 * time.Millisecond)
	do("TDIGEST.ADD", "latency:days", 20)
	then, err := p99Between(conn, 0, change)
	check(err)
	now, err := p99Between(conn, change, change+10_000)
	check(err)
	fmt.Printf("p99 then and now: %.0f ms, %.0f ms\n", then, now)

	do("BF.RESERVE", "breached", 0.001, 20000, "NONSCALING")
	do("BF.ADD", "breached", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8")
	for _, password := range []string{"password", "correct horse battery staple"} {
		breached, err := isBreached(conn, password)
		check(err)
		fmt.Println("breached:", breached)
	}

	do("CMS.INITBYDIM", "shown:2026-11-22", 6000, 7, "CELL_SIZE", 1)
	shown := 0
	for request := 0; request < 5; request++ {
		may, err := mayShow(conn, "2026-11-22", "ad-1", "user-1")
		check(err)
		if may {
			shown++
		}
	}
	fmt.Printf("ads shown: %d of 5\n", shown)

	may, err := mayExist(conn, "absent")
	check(err)
	fmt.Println("may exist before the load:", may)
	do("BF.INSERT", "{products}:ids", "CAPACITY", 10000, "ERROR", 0.01, "ITEMS", "product-1", "loaded")
	may, err = mayExist(conn, "absent")
	check(err)
	fmt.Println("may exist after the load:", may)

	// In a service, 100 milliseconds.
	timeout := time.Minute
	pool := &redis.Pool{Dial: func() (redis.Conn, error) {
		return redis.Dial("tcp", "127.0.0.1:"+port, redis.DialConnectTimeout(timeout), redis.DialReadTimeout(timeout))
	}}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	defer pool.Close()
	limited := rateLimit(pool, hello)
	allowed := 0
	for request := 0; request < 150; request++ {
		response := httptest.NewRecorder()
		limited(response, httptest.NewRequest("GET", "/", nil))
		if response.Code == http.StatusOK {
			allowed++
		}
	}
	fmt.Printf("requests allowed: %d of 150\n", allowed)

	check(createRequests(conn))
	for _, apiKey := range []string{"key-1", "key-2", "key-1"} {
		_, err := countRequest(conn, apiKey)
		check(err)
	}
	counts, err := requestsOf(conn, []string{"key-1", "key-2"})
	check(err)
	fmt.Printf("requests of the last hour: %d %d\n", counts[0], counts[1])
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
