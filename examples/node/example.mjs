// Uses all five sketches in a web shop, with node-redis, which includes the methods for them.
//
//     npm install redis
//     node examples/node/example.mjs
//
// Environment: ROUGHLY_PORT is the port of the server on this machine (default 6379).
// The keys of this example start with "shop:". The program deletes them first.

import { createClient } from 'redis';

const url = `redis://127.0.0.1:${process.env.ROUGHLY_PORT ?? 6379}`;
const client = await createClient({ url }).connect();
await client.del(['seen', 'carts', 'views', 'trending', 'latency'].map((name) => `shop:${name}`));

// Bloom filter: was this visitor here before? The answer is a false yes for at most 1 in 1,000 new visitors.
await client.bf.reserve('shop:seen', 0.001, 100_000);
await client.bf.mAdd('shop:seen', ['ann', 'bob']);
const [ann, cid] = await client.bf.mExists('shop:seen', ['ann', 'cid']);
console.log(`seen before: ann ${ann}, cid ${cid}`);

// Cuckoo filter: like a Bloom filter, but items can be deleted.
await client.cf.reserve('shop:carts', 10_000);
await client.cf.add('shop:carts', 'ann:teapot');
await client.cf.del('shop:carts', 'ann:teapot');
const there = await client.cf.exists('shop:carts', 'ann:teapot');
console.log(`teapot in the cart after its removal: ${there}`);

// Count-min sketch: how often was this page viewed? The estimate is never too low and rarely too high.
await client.cms.initByProb('shop:views', 0.001, 0.01);
await client.cms.incrBy('shop:views', [
  { item: '/teapots', incrementBy: 120 },
  { item: '/cups', incrementBy: 45 },
]);
const [views] = await client.cms.query('shop:views', '/teapots');
console.log(`views of /teapots: ${views}`);

// Top-k: the two most frequent search terms, with their counts.
await client.topK.reserve('shop:trending', 2);
await client.topK.incrBy('shop:trending', [
  { item: 'teapot', incrementBy: 30 },
  { item: 'cup', incrementBy: 20 },
  { item: 'spoon', incrementBy: 1 },
]);
console.log('most searched:', await client.topK.listWithCount('shop:trending'));

// t-digest: the median and the 99th percentile of response times, in milliseconds.
await client.tDigest.create('shop:latency');
await client.tDigest.add('shop:latency', Array.from({ length: 1000 }, (_, i) => i + 1));
const [half, slow] = await client.tDigest.quantile('shop:latency', [0.5, 0.99]);
console.log(`latency: 50 % within ${half.toFixed()} ms, 99 % within ${slow.toFixed()} ms`);
client.destroy();
