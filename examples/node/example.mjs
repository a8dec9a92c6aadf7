// A day of a web shop in five sketches, with node-redis, whose bloom package comes with it.
//
//     npm install redis
//     node examples/node/example.mjs
//
// The server is on port 6379 of this machine, or on ROUGHLY_PORT. Keys of this example start with
// "shop:" and are removed first.

import { createClient } from 'redis';

const url = `redis://127.0.0.1:${process.env.ROUGHLY_PORT ?? 6379}`;
const client = await createClient({ url }).connect();
await client.del(['seen', 'carts', 'views', 'trending', 'latency'].map((name) => `shop:${name}`));

// Bloom filter: has this visitor been here? One in a thousand newcomers is taken for a known one.
await client.bf.reserve('shop:seen', 0.001, 100_000);
await client.bf.mAdd('shop:seen', ['ann', 'bob']);
const [ann, cid] = await client.bf.mExists('shop:seen', ['ann', 'cid']);
console.log(`seen before: ann ${ann}, cid ${cid}`);

// Cuckoo filter: as above, and what went in can be taken out.
await client.cf.reserve('shop:carts', 10_000);
await client.cf.add('shop:carts', 'ann:teapot');
await client.cf.del('shop:carts', 'ann:teapot');
const there = await client.cf.exists('shop:carts', 'ann:teapot');
console.log(`teapot in the cart after it was taken out: ${there}`);

// Count-min sketch: how often was this page read? Never too few, and seldom too many.
await client.cms.initByProb('shop:views', 0.001, 0.01);
await client.cms.incrBy('shop:views', [
  { item: '/teapots', incrementBy: 120 },
  { item: '/cups', incrementBy: 45 },
]);
const [views] = await client.cms.query('shop:views', '/teapots');
console.log(`views of /teapots: ${views}`);

// Top-k: the two words most searched for, with their counts.
await client.topK.reserve('shop:trending', 2);
await client.topK.incrBy('shop:trending', [
  { item: 'teapot', incrementBy: 30 },
  { item: 'cup', incrementBy: 20 },
  { item: 'spoon', incrementBy: 1 },
]);
console.log('searched most:', await client.topK.listWithCount('shop:trending'));

// t-digest: how long does the slowest hundredth of the answers take?
await client.tDigest.create('shop:latency');
await client.tDigest.add('shop:latency', Array.from({ length: 1000 }, (_, i) => i + 1));
const [half, slow] = await client.tDigest.quantile('shop:latency', [0.5, 0.99]);
console.log(`latency: half within ${half.toFixed()} ms, 99 % within ${slow.toFixed()} ms`);
client.destroy();
