// The core of each recipe of docs/recipes, with node-redis.
//
//     cd examples/node
//     npm install
//     node recipes.mjs
//
// The server is on port 6379 of this machine, or on ROUGHLY_PORT. The program deletes the keys that it uses:
// run it on a server without other data. It prints the lines of examples/recipes.txt.

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from 'redis';

// recipe: stream-deduplication
// Deduplicating a stream consumer: returns the IDs that were not processed before.
async function newMessages(client, ids) {
  const isNew = await client.bf.mAdd('orders:seen', ids);
  return ids.filter((_, i) => isNew[i]);
}
// end

// recipe: crawler
// Crawler: returns the URLs that were not crawled today or on the six days before.
const DAYS = 7;
const DAY = 86_400_000;
const crawledKey = (day) => `crawled:${day.toISOString().slice(0, 10)}`;

async function due(client, urls, today) {
  const keys = Array.from({ length: DAYS }, (_, age) => crawledKey(new Date(today - age * DAY)));
  const replies = await Promise.all(keys.map((key) => client.bf.mExists(key, urls)));
  return urls.filter((_, i) => !replies.some((seen) => seen[i]));
}

async function markCrawled(client, urls, today) {
  await client
    .multi()
    .bf.insert(crawledKey(today), urls, { CAPACITY: 10_000, ERROR: 0.001 })
    .expire(crawledKey(today), ((DAYS + 1) * DAY) / 1000)
    .exec();
}
// end

// recipe: heavy-hitters
// Heavy hitters: counts requests, and returns the most requested pages of an hour with their counts.
async function countPages(client, hour, pages) {
  await client.topK.add(`pages:${hour}`, pages);
}

async function topPages(client, hour) {
  return client.topK.listWithCount(`pages:${hour}`);
}
// end

// recipe: latency-percentiles
// Latency percentiles: one digest per pod, merged by each query.
async function recordLatencies(client, pod, milliseconds) {
  await client.tDigest.add(`latency:{checkout}:${pod}`, milliseconds);
}

async function percentiles(client, pods, quantiles) {
  const sources = pods.map((pod) => `latency:{checkout}:${pod}`);
  await client.tDigest.merge('latency:{checkout}', sources, { OVERRIDE: true });
  return client.tDigest.quantile('latency:{checkout}', quantiles);
}
// end

// recipe: now-and-then
// The p99 of a period of the past: Unix times in milliseconds, or negative numbers of milliseconds before now.
async function p99Between(client, from, to) {
  const read = ['SKETCH.BETWEEN', `${from}`, `${to}`, 'TDIGEST.QUANTILE', 'latency:days', '0.99'];
  const [p99] = await client.sendCommand(read);
  return Number(p99);
}
// end

// recipe: ad-frequency-capping
// Frequency capping: whether an ad may be shown to a user once more, and counts it if so.
const CAP = 3;

async function mayShow(client, day, ad, user) {
  const [count] = await client.cms.query(`shown:${day}`, `${ad}:${user}`);
  if (count >= CAP) return false;
  const [shown] = await client.cms.incrBy(`shown:${day}`, { item: `${ad}:${user}`, incrementBy: 1 });
  return shown <= CAP;
}
// end

// recipe: membership-checks
// Breached passwords: whether the SHA-1 of a password is in the filter.
async function isBreached(client, password) {
  const digest = createHash('sha1').update(password).digest('hex').toUpperCase();
  return Boolean(await client.bf.exists('breached', digest));
}

// Cache penetration: false only if the filter is loaded and the ID is not in it.
async function mayExist(client, id) {
  const [exists, loaded] = await client.bf.mExists('{products}:ids', [id, 'loaded']);
  return Boolean(exists || !loaded);
}
// end

// recipe: rate-limiting
// Rate limit: creates the sketch, and returns a handler that passes at most 100 requests per client and minute on.
async function createLimit(client) {
  const create = client.sendCommand(['CMS.INITBYPROB', 'limit', '0.0001', '0.01', 'WINDOW', '60000', 'PANES', '12']);
  await create.catch((error) => { if (!error.message.includes('key already exists')) throw error; });
}

async function countRequestOf(client, name) {
  const command = ['CMS.INCRBYLIMIT', 'limit', '100', name, '1'];
  const [counted] = await client.sendCommand(command).catch(async (error) => {
    if (!error.message.includes('key does not exist')) throw error;
    await createLimit(client);
    return client.sendCommand(command);
  });
  // Without memory for a pane, the element is an error.
  if (counted instanceof Error) throw counted;
  return counted;
}

// Fails open: after an error, or without a reply within the time-out.
const rateLimit = (client, next, timeoutMs = 100) => async (request, response) => {
  const counted = countRequestOf(client, request.socket.remoteAddress).catch(() => [1]);
  const timeout = new Promise((resolve) => { setTimeout(resolve, timeoutMs, [1]).unref(); });
  const [accepted, count] = await Promise.race([counted, timeout]);
  response.setHeader('RateLimit-Policy', '"minute";q=100;w=60');
  if (count !== undefined) response.setHeader('RateLimit', `"minute";r=${Math.max(100 - count, 0)};t=5`);
  if (accepted) return next(request, response);
  response.writeHead(429, { 'Retry-After': '5' }).end();
};

// Requests of the last hour: creates the sketch, counts a request of an API key, and returns the counts of API keys.
async function createRequests(client) {
  const window = ['WINDOW', '3600000', 'PANES', '12'];
  await client.sendCommand(['CMS.INITBYPROB', 'requests:hour', '0.0001', '0.01', ...window]);
}

async function countRequest(client, apiKey) {
  const [count] = await client.cms.incrBy('requests:hour', { item: apiKey, incrementBy: 1 });
  return count;
}

async function requestsOf(client, apiKeys) {
  return client.cms.query('requests:hour', apiKeys);
}
// end

const url = `redis://127.0.0.1:${process.env.ROUGHLY_PORT ?? 6379}`;
const client = await createClient({ url }).connect();
const today = new Date('2026-11-22T00:00:00Z');
await client.del([
  'orders:seen',
  crawledKey(today),
  'pages:2026-11-22T10',
  'latency:{checkout}:pod-1',
  'latency:{checkout}:pod-2',
  'latency:{checkout}',
  'latency:days',
  'breached',
  'shown:2026-11-22',
  '{products}:ids',
  'limit',
  'requests:hour',
]);

await client.bf.reserve('orders:seen', 0.001, 20_000);
const orders = await newMessages(client, ['order-1', 'order-2', 'order-1']);
console.log(`new orders: ${orders.join(' ')}`);

await markCrawled(client, ['https://example.com/a'], today);
const pages = ['https://example.com/a', 'https://example.com/b'];
console.log(`due today: ${(await due(client, pages, today)).length}`);
console.log(`due after six days: ${(await due(client, pages, new Date(+today + 6 * DAY))).length}`);
console.log(`due after seven days: ${(await due(client, pages, new Date(+today + 7 * DAY))).length}`);

await client.topK.reserve('pages:2026-11-22T10', 10, { width: 80, depth: 5, decay: 0.9 });
await countPages(client, '2026-11-22T10', ['/home', '/news', '/home', '/home', '/news']);
const top = await topPages(client, '2026-11-22T10');
console.log(`top pages: ${top.map(({ item, count }) => `${item} ${count}`).join(', ')}`);

for (const pod of ['pod-1', 'pod-2']) {
  await client.tDigest.create(`latency:{checkout}:${pod}`, { COMPRESSION: 200 });
}
await recordLatencies(client, 'pod-1', [10, 20, 30]);
await recordLatencies(client, 'pod-2', [40, 50]);
const [half, slow] = await percentiles(client, ['pod-1', 'pod-2'], [0.5, 0.99]);
console.log(`latency: p50 ${half} ms, p99 ${slow} ms`);

await client.sendCommand('TDIGEST.CREATE latency:days WINDOW 4000 PANES 100'.split(' '));
await client.tDigest.add('latency:days', [400]);
await pause(50);
const change = Date.now();
await pause(50);
await client.tDigest.add('latency:days', [20]);
const then = await p99Between(client, 0, change);
console.log(`p99 then and now: ${then} ms, ${await p99Between(client, change, change + 10_000)} ms`);

await client.bf.reserve('breached', 0.001, 20_000, { NONSCALING: true });
await client.bf.add('breached', '5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8');
console.log(`breached: ${await isBreached(client, 'password')}`);
console.log(`breached: ${await isBreached(client, 'correct horse battery staple')}`);

await client.sendCommand('CMS.INITBYDIM shown:2026-11-22 6000 7 CELL_SIZE 1'.split(' '));
let shown = 0;
for (let request = 0; request < 5; request++) {
  if (await mayShow(client, '2026-11-22', 'ad-1', 'user-1')) shown++;
}
console.log(`ads shown: ${shown} of 5`);

console.log(`may exist before the load: ${await mayExist(client, 'absent')}`);
await client.bf.insert('{products}:ids', ['product-1', 'loaded'], { CAPACITY: 10_000, ERROR: 0.01 });
console.log(`may exist after the load: ${await mayExist(client, 'absent')}`);

const site = createServer(rateLimit(client, (request, response) => response.end('hello'), 60_000));
await new Promise((resolve) => { site.listen(0, '127.0.0.1', resolve); });
let allowed = 0;
for (let request = 0; request < 150; request++) {
  const response = await fetch(`http://127.0.0.1:${site.address().port}/`);
  if (response.ok) allowed++;
}
site.close();
site.closeAllConnections();
console.log(`requests allowed: ${allowed} of 150`);

await createRequests(client);
for (const apiKey of ['key-1', 'key-2', 'key-1']) {
  await countRequest(client, apiKey);
}
console.log(`requests of the last hour: ${(await requestsOf(client, ['key-1', 'key-2'])).join(' ')}`);
client.destroy();
