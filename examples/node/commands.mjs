// Each command of the pages docs/commands, with node-redis. A comment after a call has its output.
//
//   npm install
//   node commands.mjs
//
// The server is on port 6379 of this machine, or on ROUGHLY_PORT. The program refuses a server that has keys, and deletes its own keys
// at the end.
import { createClient } from 'redis';

const port = Number(process.env.ROUGHLY_PORT ?? 6379);
const client = createClient({ socket: { host: '127.0.0.1', port } });
await client.connect();
if ((await client.info('keyspace')).includes('keys=')) {
  console.error(`The server on port ${port} has keys. Set ROUGHLY_PORT to the port of a server without data.`);
  process.exit(1);
}

// command: BF.RESERVE
console.log(await client.bf.reserve('visitors', 0.01, 1000)); // OK
// command: BF.ADD
console.log(await client.bf.add('visitors', 'alice')); // true
// command: BF.MADD
console.log(await client.bf.mAdd('visitors', ['alice', 'bob'])); // [ false, true ]
// command: BF.ADDNX
console.log(await client.sendCommand(['BF.ADDNX', 'visitors', 'bob', 'carol'])); // [ false, true ]
// command: BF.INSERT
console.log(await client.bf.insert('members', ['alice', 'dave'], { CAPACITY: 1000, ERROR: 0.01 })); // [ true, true ]
// command: BF.EXISTS
console.log(await client.bf.exists('visitors', 'alice')); // true
// command: BF.MEXISTS
console.log(await client.bf.mExists('visitors', ['bob', 'eve'])); // [ true, false ]
// command: BF.CARD
console.log(await client.bf.card('visitors')); // 3
// command: BF.INFO
console.log((await client.bf.info('visitors')).Capacity); // 1000
// command: BF.MERGE
console.log(await client.sendCommand(['BF.MERGE', 'everyone', '2', 'visitors', 'members'])); // OK

// command: CF.RESERVE
console.log(await client.cf.reserve('sessions', 1000)); // OK
// command: CF.ADD
console.log(await client.cf.add('sessions', 'session:1')); // true
// command: CF.ADDNX
console.log(await client.cf.addNX('sessions', 'session:1')); // false
// command: CF.INSERT
console.log(await client.cf.insert('sessions', ['session:2', 'session:3'])); // [ true, true ]
// command: CF.INSERTNX
console.log(await client.cf.insertNX('sessions', ['session:3', 'session:4'])); // [ 0, 1 ]
// command: CF.EXISTS
console.log(await client.cf.exists('sessions', 'session:1')); // true
// command: CF.MEXISTS
console.log(await client.cf.mExists('sessions', ['session:1', 'session:9'])); // [ true, false ]
// command: CF.COUNT
console.log(await client.cf.count('sessions', 'session:1')); // 1
// command: CF.DEL
console.log(await client.cf.del('sessions', 'session:1')); // true
// command: CF.INFO
console.log((await client.cf.info('sessions'))['Number of items deleted']); // 1
// command: CF.COMPACT
console.log(await client.sendCommand(['CF.COMPACT', 'sessions'])); // OK

// command: CMS.INITBYPROB
console.log(await client.cms.initByProb('views', 0.001, 0.01)); // OK
// command: CMS.INITBYDIM
console.log(await client.cms.initByDim('views:all', 2000, 7)); // OK
// command: CMS.INCRBY
console.log(await client.cms.incrBy('views', [{ item: '/home', incrementBy: 3 }, { item: '/news', incrementBy: 1 }])); // [ 3, 1 ]
// command: CMS.INCRBYLIMIT
console.log(await client.sendCommand(['CMS.INCRBYLIMIT', 'views', '5', '/home', '2', '/home', '1'])); // [ [ 1, 5 ], [ 0, 5 ] ]
// command: CMS.QUERY
console.log(await client.cms.query('views', ['/home', '/shop'])); // [ 5, 0 ]
// command: CMS.MERGE
console.log(await client.cms.merge('views:all', [{ name: 'views', weight: 10 }])); // OK
// command: CMS.INFO
console.log((await client.cms.info('views')).width); // 2000

// command: TOPK.RESERVE
console.log(await client.topK.reserve('pages', 2, { width: 50, depth: 5, decay: 0.9 })); // OK
// command: TOPK.ADD
console.log(await client.topK.add('pages', ['/home', '/news'])); // [ null, null ]
// command: TOPK.INCRBY
console.log(await client.topK.incrBy('pages', [{ item: '/home', incrementBy: 41 }, { item: '/shop', incrementBy: 17 }])); // [ null, '/news' ]
// command: TOPK.LIST
console.log(await client.topK.listWithCount('pages')); // [ { item: '/home', count: 42 }, { item: '/shop', count: 17 } ]
// command: TOPK.QUERY
console.log(await client.topK.query('pages', ['/home', '/news'])); // [ true, false ]
// command: TOPK.COUNT
console.log(await client.topK.count('pages', ['/home', '/news'])); // [ 42, 1 ]
// command: TOPK.INFO
console.log((await client.topK.info('pages')).k); // 2

// command: TDIGEST.CREATE
console.log(await client.tDigest.create('latency')); // OK
// command: TDIGEST.ADD
console.log(await client.tDigest.add('latency', [12, 9, 11, 10, 250, 9, 10, 31])); // OK
// command: TDIGEST.QUANTILE
console.log(await client.tDigest.quantile('latency', [0.5, 0.99])); // [ 11, 250 ]
// command: TDIGEST.CDF
console.log(await client.tDigest.cdf('latency', [10, 100])); // [ 0.375, 0.875 ]
// command: TDIGEST.RANK
console.log(await client.tDigest.rank('latency', [11])); // [ 4 ]
// command: TDIGEST.REVRANK
console.log(await client.tDigest.revRank('latency', [31])); // [ 1 ]
// command: TDIGEST.BYRANK
console.log(await client.tDigest.byRank('latency', [0, 7])); // [ 9, 250 ]
// command: TDIGEST.BYREVRANK
console.log(await client.tDigest.byRevRank('latency', [0, 7])); // [ 250, 9 ]
// command: TDIGEST.MIN
console.log(await client.tDigest.min('latency')); // 9
// command: TDIGEST.MAX
console.log(await client.tDigest.max('latency')); // 250
// command: TDIGEST.TRIMMED_MEAN
console.log(await client.tDigest.trimmedMean('latency', 0.1, 0.75)); // 10.166666666666666
// command: TDIGEST.INFO
console.log((await client.tDigest.info('latency')).Compression); // 100
// command: TDIGEST.MERGE
console.log(await client.tDigest.merge('latency:all', ['latency'])); // OK
// command: TDIGEST.RESET
console.log(await client.tDigest.reset('latency')); // OK

// command: SKETCH.WINDOW
await client.sendCommand('TOPK.RESERVE recent 10 80 5 0.9 WINDOW 3600000'.split(' '));
console.log((await client.sendCommand(['SKETCH.WINDOW', 'recent'])).window); // 3600000
// command: SKETCH.WITHIN
await client.topK.add('recent', '/home');
console.log(await client.sendCommand(['SKETCH.WITHIN', '300000', 'TOPK.LIST', 'recent'])); // [ '/home' ]
// command: SKETCH.BETWEEN
console.log(await client.sendCommand(['SKETCH.BETWEEN', '-900000', '+', 'TOPK.LIST', 'recent'])); // [ '/home' ]
// command: SKETCH.SERIES
const rows = await client.sendCommand(['SKETCH.SERIES', '-3600000', '+', '3600000', 'TOPK.COUNT', 'recent', '/home']);
console.log(rows.at(-1)[2]); // [ 1 ]
// command: SKETCH.AGE
await client.sendCommand('BF.RESERVE seen 0.01 1000 WINDOW 3600000'.split(' '));
console.log(await client.sendCommand(['SKETCH.AGE', 'seen', 'alice'])); // [ null ]
// command: SKETCH.ACCURACY
console.log((await client.sendCommand(['SKETCH.ACCURACY', 'seen']))['specified rate']); // 0.01
// end
await client.del(['visitors', 'members', 'everyone', 'sessions', 'views', 'views:all', 'pages', 'latency', 'latency:all', 'recent', 'seen']);
client.destroy();
