// Calls every command with node-redis, in RESP2 and RESP3. Run `npm ci` in this directory first.
//
//     node tests/clients/node/walk.mjs
//
// Environment: ROUGHLY_PORT is the port of the server on this machine (required). The program deletes all keys.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { bloom, countMin, cuckoo, tDigest, topK } from './families.mjs';
import { windows } from './windows.mjs';
import { Session } from './session.mjs';

const url = `redis://127.0.0.1:${process.env.ROUGHLY_PORT}`;
const require = createRequire(import.meta.url);

// Checks with the server's counters that every command of the module was called; returns their number.
async function allCalled(session) {
  const names = await session.raw('COMMAND', 'LIST', 'FILTERBY', 'MODULE', 'bf');
  const stats = await session.client.info('commandstats');
  const called = new Set([...stats.matchAll(/^cmdstat_([^:]+):/gm)].map((match) => match[1]));
  assert.ok(names.length > 50);
  assert.deepEqual(names.filter((name) => !called.has(name)), [], 'commands that were not called');
  return names.length;
}

async function walk({ createClient, RESP_TYPES }, RESP, readsInfinity) {
  const client = await createClient({ url, RESP }).connect();
  const session = new Session(client, { [RESP_TYPES.BLOB_STRING]: Buffer }, readsInfinity);
  await session.raw('FLUSHALL');
  await session.raw('CONFIG', 'RESETSTAT');
  for (const family of [bloom, cuckoo, countMin, topK, tDigest, windows]) await family(session);
  for (const name of ['bf', 'cf', 'cms', 'topK', 'tDigest']) {
    assert.deepEqual(session[name].missed(), [], `methods of client.${name} that were not called`);
  }
  const commands = await allCalled(session);
  client.destroy();
  return commands;
}

// node-redis 6 needs Node 20.
const node = Number(process.versions.node.split('.')[0]);
const packages = node >= 20 ? ['redis-5', 'redis'] : ['redis-5'];
if (node < 20) console.log(`  node-redis 6 is skipped: it needs Node 20, and this is Node ${node}`);
for (const name of packages) {
  let commands;
  for (const RESP of [2, 3]) {
    // node-redis 5 parses infinity in RESP2 as NaN, also from RedisBloom.
    const readsInfinity = RESP === 3 || name === 'redis';
    commands = await walk(await import(name), RESP, readsInfinity);
  }
  const { version } = require(`${name}/package.json`);
  console.log(`  node-redis ${version}: ${commands} commands, RESP2 and RESP3`);
}
