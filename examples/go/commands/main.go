// Each command of the pages docs/commands, with redigo. A comment after a call has its output.
//
//	cd examples/go
//	go mod tidy
//	go run ./commands
//
// The server is on port 6379 of this machine, or on ROUGHLY_PORT. The program refuses a server that has keys, and deletes its own keys
// at the end.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// show prints a reply, or ends the program if there is an error.
func show(reply interface{}, err error) {
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply)
}

func main() {
	port := os.Getenv("ROUGHLY_PORT")
	if port == "" {
		port = "6379"
	}
	conn, err := redis.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	keyspace, err := redis.String(conn.Do("INFO", "keyspace"))
	if err != nil {
		log.Fatal(err)
	}
	if strings.Contains(keyspace, "keys=") {
		log.Fatalf("The server on port %s has keys. Set ROUGHLY_PORT to the port of a server without data.", port)
	}

	// command: BF.RESERVE
	show(redis.String(conn.Do("BF.RESERVE", "visitors", 0.01, 1000))) // OK
	// command: BF.ADD
	show(redis.Bool(conn.Do("BF.ADD", "visitors", "alice"))) // true
	// command: BF.MADD
	show(redis.Ints(conn.Do("BF.MADD", "visitors", "alice", "bob"))) // [0 1]
	// command: BF.ADDNX
	show(redis.Ints(conn.Do("BF.ADDNX", "visitors", "bob", "carol"))) // [0 1]
	// command: BF.INSERT
	show(redis.Ints(conn.Do("BF.INSERT", "members", "CAPACITY", 1000, "ERROR", 0.01, "ITEMS", "alice", "dave"))) // [1 1]
	// command: BF.EXISTS
	show(redis.Bool(conn.Do("BF.EXISTS", "visitors", "alice"))) // true
	// command: BF.MEXISTS
	show(redis.Ints(conn.Do("BF.MEXISTS", "visitors", "bob", "eve"))) // [1 0]
	// command: BF.CARD
	show(redis.Int(conn.Do("BF.CARD", "visitors"))) // 3
	// command: BF.INFO
	show(redis.Ints(conn.Do("BF.INFO", "visitors", "CAPACITY"))) // [1000]
	// command: BF.MERGE
	show(redis.String(conn.Do("BF.MERGE", "everyone", 2, "visitors", "members"))) // OK

	// command: CF.RESERVE
	show(redis.String(conn.Do("CF.RESERVE", "sessions", 1000))) // OK
	// command: CF.ADD
	show(redis.Bool(conn.Do("CF.ADD", "sessions", "session:1"))) // true
	// command: CF.ADDNX
	show(redis.Bool(conn.Do("CF.ADDNX", "sessions", "session:1"))) // false
	// command: CF.INSERT
	show(redis.Ints(conn.Do("CF.INSERT", "sessions", "ITEMS", "session:2", "session:3"))) // [1 1]
	// command: CF.INSERTNX
	show(redis.Ints(conn.Do("CF.INSERTNX", "sessions", "ITEMS", "session:3", "session:4"))) // [0 1]
	// command: CF.EXISTS
	show(redis.Bool(conn.Do("CF.EXISTS", "sessions", "session:1"))) // true
	// command: CF.MEXISTS
	show(redis.Ints(conn.Do("CF.MEXISTS", "sessions", "session:1", "session:9"))) // [1 0]
	// command: CF.COUNT
	show(redis.Int(conn.Do("CF.COUNT", "sessions", "session:1"))) // 1
	// command: CF.DEL
	show(redis.Bool(conn.Do("CF.DEL", "sessions", "session:1"))) // true
	// command: CF.INFO
	info, err := redis.Values(conn.Do("CF.INFO", "sessions"))
	show(info[:2], err) // [Size 1080]
	// command: CF.COMPACT
	show(redis.String(conn.Do("CF.COMPACT", "sessions"))) // OK

	// command: CMS.INITBYPROB
	show(redis.String(conn.Do("CMS.INITBYPROB", "views", 0.001, 0.01))) // OK
	// command: CMS.INITBYDIM
	show(redis.String(conn.Do("CMS.INITBYDIM", "views:all", 2000, 7))) // OK
	// command: CMS.INCRBY
	show(redis.Ints(conn.Do("CMS.INCRBY", "views", "/home", 3, "/news", 1))) // [3 1]
	// command: CMS.INCRBYLIMIT
	show(redis.Values(conn.Do("CMS.INCRBYLIMIT", "views", 5, "/home", 2, "/home", 1))) // [[1 5] [0 5]]
	// command: CMS.QUERY
	show(redis.Ints(conn.Do("CMS.QUERY", "views", "/home", "/shop"))) // [5 0]
	// command: CMS.MERGE
	show(redis.String(conn.Do("CMS.MERGE", "views:all", 1, "views", "WEIGHTS", 10))) // OK
	// command: CMS.INFO
	shape, err := redis.Values(conn.Do("CMS.INFO", "views"))
	show(shape[:2], err) // [width 2000]

	// command: TOPK.RESERVE
	show(redis.String(conn.Do("TOPK.RESERVE", "pages", 2, 50, 5, 0.9))) // OK
	// command: TOPK.ADD
	show(redis.Values(conn.Do("TOPK.ADD", "pages", "/home", "/news"))) // [<nil> <nil>]
	// command: TOPK.INCRBY
	show(redis.Strings(conn.Do("TOPK.INCRBY", "pages", "/home", 41, "/shop", 17))) // [ /news]
	// command: TOPK.LIST
	show(redis.IntMap(conn.Do("TOPK.LIST", "pages", "WITHCOUNT"))) // map[/home:42 /shop:17]
	// command: TOPK.QUERY
	show(redis.Ints(conn.Do("TOPK.QUERY", "pages", "/home", "/news"))) // [1 0]
	// command: TOPK.COUNT
	show(redis.Ints(conn.Do("TOPK.COUNT", "pages", "/home", "/news"))) // [42 1]
	// command: TOPK.INFO
	fields, err := redis.Values(conn.Do("TOPK.INFO", "pages"))
	show(fields[:2], err) // [k 2]

	// command: TDIGEST.CREATE
	show(redis.String(conn.Do("TDIGEST.CREATE", "latency"))) // OK
	// command: TDIGEST.ADD
	show(redis.String(conn.Do("TDIGEST.ADD", "latency", 12, 9, 11, 10, 250, 9, 10, 31))) // OK
	// command: TDIGEST.QUANTILE
	show(redis.Float64s(conn.Do("TDIGEST.QUANTILE", "latency", 0.5, 0.99))) // [11 250]
	// command: TDIGEST.CDF
	show(redis.Float64s(conn.Do("TDIGEST.CDF", "latency", 10, 100))) // [0.375 0.875]
	// command: TDIGEST.RANK
	show(redis.Ints(conn.Do("TDIGEST.RANK", "latency", 11))) // [4]
	// command: TDIGEST.REVRANK
	show(redis.Ints(conn.Do("TDIGEST.REVRANK", "latency", 31))) // [1]
	// command: TDIGEST.BYRANK
	show(redis.Float64s(conn.Do("TDIGEST.BYRANK", "latency", 0, 7))) // [9 250]
	// command: TDIGEST.BYREVRANK
	show(redis.Float64s(conn.Do("TDIGEST.BYREVRANK", "latency", 0, 7))) // [250 9]
	// command: TDIGEST.MIN
	show(redis.Float64(conn.Do("TDIGEST.MIN", "latency"))) // 9
	// command: TDIGEST.MAX
	show(redis.Float64(conn.Do("TDIGEST.MAX", "latency"))) // 250
	// command: TDIGEST.TRIMMED_MEAN
	show(redis.Float64(conn.Do("TDIGEST.TRIMMED_MEAN", "latency", 0.1, 0.75))) // 10.166666666666666
	// command: TDIGEST.INFO
	digest, err := redis.Values(conn.Do("TDIGEST.INFO", "latency"))
	show(digest[:2], err) // [Compression 100]
	// command: TDIGEST.MERGE
	show(redis.String(conn.Do("TDIGEST.MERGE", "latency:all", 1, "latency"))) // OK
	// command: TDIGEST.RESET
	show(redis.String(conn.Do("TDIGEST.RESET", "latency"))) // OK

	// command: SKETCH.WINDOW
	conn.Do("TOPK.RESERVE", "recent", 10, 80, 5, 0.9, "WINDOW", 3600000)
	window, err := redis.Values(conn.Do("SKETCH.WINDOW", "recent"))
	show(window[:2], err) // [window 3600000]
	// command: SKETCH.WITHIN
	conn.Do("TOPK.ADD", "recent", "/home")
	show(redis.Strings(conn.Do("SKETCH.WITHIN", 300000, "TOPK.LIST", "recent"))) // [/home]
	// command: SKETCH.BETWEEN
	show(redis.Strings(conn.Do("SKETCH.BETWEEN", -900000, "+", "TOPK.LIST", "recent"))) // [/home]
	// command: SKETCH.SERIES
	rows, err := redis.Values(conn.Do("SKETCH.SERIES", -3600000, "+", 3600000, "TOPK.COUNT", "recent", "/home"))
	show(rows[len(rows)-1].([]interface{})[2], err) // [1]
	// command: SKETCH.AGE
	conn.Do("BF.RESERVE", "seen", 0.01, 1000, "WINDOW", 3600000)
	show(redis.Values(conn.Do("SKETCH.AGE", "seen", "alice"))) // [<nil>]
	// command: SKETCH.ACCURACY
	accuracy, err := redis.Strings(conn.Do("SKETCH.ACCURACY", "seen"))
	show(accuracy[2:4], err) // [specified rate 0.01]
	// end
	conn.Do("DEL", "visitors", "members", "everyone", "sessions", "views", "views:all", "pages", "latency", "latency:all", "recent", "seen")
}
