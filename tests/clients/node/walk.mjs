// Walks every command through node-redis and its bloom package, in RESP2 and RESP3, on the server of port
// ROUGHLY_PORT, after `npm ci` in this folder.
//
//     node tests/clients/node/walk.mjs

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { bloom, countMin, cuckoo, tDigest, topK } from './families.mjs';
import { Session } from './session.mjs';

const url = `redis://127.0.0.1:${process.env.ROUGHLY_PORT}`;
const require = createRequire(import.meta.url);

// Every command of the module was called, as the server counted; returns how many there are.
async function allCalled(session) {
  const names = await session.raw('COMMAND', 'LIST', 'FILTERBY', 'MODULE', 'bf');
  const stats = await session.client.info('commandstats');
  const called = new Set([...stats.matchAll(/^cmdstat_([^:]+):/gm)].map((match) => match[1]));
  assert.ok(names.length > 50);
  assert.deepEqual(names.filter((name) => !called.has(name)), [], 'these were not called');
  return names.length;
}

async function walk({ createClient, RESP_TYPES }, RESP, readsInfinity) {
  const client = await createClient({ url, RESP }).connect();
  const session = new Session(client, { [RESP_TYPES.BLOB_STRING]: Buffer }, readsInfinity);
  await session.raw('FLUSHALL');
  await session.raw('CONFIG', 'RESETSTAT');
  for (const family of [bloom, cuckoo, countMin, topK, tDigest]) await family(session);
  for (const name of ['bf', 'cf', 'cms', 'topK', 'tDigest']) {
    assert.deepEqual(session[name].missed(), [], `client.${name} has more methods`);
  }
  const commands = await allCalled(session);
  client.destroy();
  return commands;
}

// node-redis 6 needs Node 20.
const node = Number(process.versions.node.split('.')[0]);
const packages = node >= 20 ? ['redis-5', 'redis'] : ['redis-5'];
if (node < 20) console.log(`  node-redis 6 is left out: it needs Node 20, this is ${node}`);
for (const name of packages) {
  let commands;
  for (const RESP of [2, 3]) {
    // node-redis 5 makes NaN of RESP2's infinities, from whichever server.
    const readsInfinity = RESP === 3 || name === 'redis';
    commands = await walk(await import(name), RESP, readsInfinity);
  }
  const { version } = require(`${name}/package.json`);
  console.log(`  node-redis ${version}: ${commands} commands, RESP2 and RESP3`);
}
