// Calls every command of the five families.

import assert from 'node:assert/strict';
import { refused, same } from './session.mjs';

// An empty filter for five items, in the format of valkey-bloom.
function valkeyPayload() {
  const payload = Buffer.alloc(102);
  // Version, expansion, error rate, tightening ratio, whether the seed is random, number of sub-filters.
  payload.writeUInt8(1, 0);
  payload.writeUInt32LE(2, 1);
  payload.writeDoubleLE(0.1, 5);
  payload.writeDoubleLE(0.5, 13);
  payload.writeUInt8(1, 21);
  payload.writeBigUInt64LE(1n, 22);
  // The length of the stored sub-filter; its version, bytes, hashes, seed and bits, which are 0.
  payload.writeBigUInt64LE(48n, 30);
  payload.writeUInt8(1, 38);
  payload.writeBigUInt64LE(3n, 39);
  payload.writeUInt32LE(3, 47);
  payload.write('0123456789abcdef'.repeat(2), 51);
  // Items and capacity.
  payload.writeBigUInt64LE(0n, 86);
  payload.writeBigUInt64LE(5n, 94);
  return payload;
}

export async function bloom(s) {
  same(await s.bf.reserve('bf', 0.01, 1000, { EXPANSION: 4 }), 'OK');
  same(await s.bf.add('bf', 'a'), true);
  same(await s.bf.add('bf', 'a'), false);
  same(await s.bf.mAdd('bf', ['a', 'b', Buffer.from([0, 255])]), [false, true, true]);
  same(await s.bf.exists('bf', Buffer.from([0, 255])), true);
  same(await s.bf.mExists('bf', ['a', 'z']), [true, false]);
  same(await s.bf.card('bf'), 3);
  const { Size: size, ...info } = await s.bf.info('bf');
  assert.ok(size > 1000);
  same(info, {
    Capacity: 1000,
    'Number of filters': 1,
    'Number of items inserted': 3,
    'Expansion rate': 4,
  });

  const options = { CAPACITY: 50, ERROR: 0.001, EXPANSION: 2 };
  same(await s.bf.insert('bf:i', ['x', 'y'], options), [true, true]);
  same(await s.bf.reserve('bf:n', 0.01, 2, { NONSCALING: true }), 'OK');
  same((await s.bf.info('bf:n'))['Expansion rate'], null);
  // The error for an item of a full filter. In RESP2, the typed API converts it to false.
  const items = ['a', 'b', 'c', 'd'];
  const inserted = { CAPACITY: 2, ERROR: 0.01, NONSCALING: true };
  for (const reply of [await s.bf.mAdd('bf:n', items), await s.bf.insert('bf:f', items, inserted)]) {
    same(reply.slice(0, 2), [true, true]);
    if (s.client.options.RESP === 3) assert.match(reply[2].message, /filter is full/);
    else same(reply[2], false);
  }
  assert.match((await s.raw('BF.MADD', 'bf:n', 'c'))[0].message, /filter is full/);
  await refused(s.bf.insert('bf:none', 'x', { NOCREATE: true }), 'ERR not found');
  await refused(s.bf.reserve('bf', 0.01, 10), 'ERR item exists');
  await refused(s.bf.info('bf:none'), 'ERR not found');

  const numbers = Array.from({ length: 3000 }, (_, number) => `item ${number}`);
  await s.bf.mAdd('bf', numbers);
  same((await s.bf.info('bf'))['Number of filters'], 2);
  let iterator = 0;
  for (;;) {
    const reply = await s.buffers.bf.scanDump('bf', iterator);
    iterator = reply.iterator;
    assert.ok(Buffer.isBuffer(reply.chunk));
    if (iterator === 0) break;
    same(await s.bf.loadChunk('bf:copy', iterator, reply.chunk), 'OK');
  }
  same(await s.bf.scanDump('bf', 0).then((reply) => reply.iterator), 1);
  same(await s.bf.card('bf:copy'), await s.bf.card('bf'));
  same(await s.bf.mExists('bf:copy', numbers), numbers.map(() => true));
  same((await s.raw('BF.DEBUG', 'bf')).length, 3);
  // Creates a filter of valkey-bloom's type from the payload of an empty filter. The clients lack the command.
  same(await s.client.sendCommand(['BF.LOAD', 'bf:load', valkeyPayload()]), 'OK');
  same(await s.bf.add('bf:load', 'a'), true);
  same(await s.bf.exists('bf:load', 'a'), true);
  same((await s.bf.info('bf:load')).Capacity, 5);
  // Commands that RedisBloom and the clients lack.
  same(await s.raw('BF.MERGE', 'bf:union', 1, 'bf'), 'OK');
  same(await s.bf.mExists('bf:union', ['a', 'item 2999']), [true, true]);
  const added = await s.raw('BF.ADDNX', 'bf:union', 'a', 'new');
  same(added.map(Boolean), [false, true]);
  await refused(s.raw('BF.ADDNX', 'bf:none', 'a'), 'ERR not found');
}

export async function cuckoo(s) {
  // node-redis 5 has no method for CF.MEXISTS.
  const mExists = async (key, items) =>
    s.cf.has('mExists')
      ? s.cf.mExists(key, items)
      : (await s.raw('CF.MEXISTS', key, ...items)).map(Boolean);
  const options = { BUCKETSIZE: 4, MAXITERATIONS: 30, EXPANSION: 2 };
  same(await s.cf.reserve('cf', 64, options), 'OK');
  same(await s.cf.add('cf', 'a'), true);
  same(await s.cf.addNX('cf', 'a'), false);
  same(await s.cf.add('cf', 'a'), true);
  same(await s.cf.count('cf', 'a'), 2);
  same(await s.cf.exists('cf', 'z'), false);
  same(await mExists('cf', ['a', 'z']), [true, false]);
  same(await s.cf.del('cf', 'a'), true);
  same(await s.cf.del('cf', 'z'), false);
  const { Size: size, ...info } = await s.cf.info('cf');
  assert.ok(size > 64);
  same(info, {
    'Number of buckets': 16,
    'Number of filters': 1,
    'Number of items inserted': 1,
    'Number of items deleted': 1,
    'Bucket size': 4,
    'Expansion rate': 2,
    'Max iterations': 30,
  });
  same(await s.cf.insert('cf:i', ['x', 'y'], { CAPACITY: 100 }), [true, true]);
  // The reply has numbers in RESP3 too. node-redis 5 converts them to booleans.
  same((await s.cf.insertNX('cf:i', ['x', 'z'])).map(Number), [0, 1]);
  await refused(s.cf.insert('cf:none', 'x', { NOCREATE: true }), 'ERR not found');
  await refused(s.cf.reserve('cf', 64), 'ERR item exists');

  const items = Array.from({ length: 200 }, (_, number) => `item ${number}`);
  same(await s.cf.insert('cf', items), items.map(() => true));
  let iterator = 0;
  for (;;) {
    const reply = await s.buffers.cf.scanDump('cf', iterator);
    iterator = reply.iterator;
    if (iterator === 0) {
      same(reply.chunk, null);
      break;
    }
    same(await s.cf.loadChunk('cf:copy', iterator, reply.chunk), 'OK');
  }
  same((await s.cf.scanDump('cf', 0)).iterator, 1);
  same(await mExists('cf:copy', items), items.map(() => true));
  same(await s.raw('CF.COMPACT', 'cf'), 'OK');
  assert.match(await s.raw('CF.DEBUG', 'cf'), /^bktsize:4 buckets:16 items:201 /);
}

export async function countMin(s) {
  same(await s.cms.initByDim('cms', 1000, 5), 'OK');
  same(await s.cms.initByProb('cms:p', 0.001, 0.01), 'OK');
  same(await s.cms.info('cms:p'), { width: 2000, depth: 7, count: 0 });
  const increments = [{ item: 'a', incrementBy: 5 }, { item: 'b', incrementBy: 2 }];
  same(await s.cms.incrBy('cms', increments), [5, 2]);
  same(await s.cms.incrBy('cms', { item: 'a', incrementBy: 1 }), [6]);
  same(await s.cms.query('cms', ['a', 'b', 'z']), [6, 2, 0]);
  same(await s.raw('CMS.INCRBYLIMIT', 'cms', 3, 'y', 2, 'y', 2, 'y', 0), [[1, 2], [0, 2], [1, 2]]);
  same(await s.cms.initByDim('cms:sum', 1000, 5), 'OK');
  same(await s.cms.merge('cms:sum', ['cms']), 'OK');
  const weighted = [{ name: 'cms', weight: 10 }, { name: 'cms:sum', weight: 1 }];
  same(await s.cms.merge('cms:sum', weighted), 'OK');
  same(await s.cms.query('cms:sum', ['a', 'b']), [66, 22]);
  await refused(s.cms.query('cms:none', 'a'), 'CMS: key does not exist');
  await s.copy('CMS', 'cms', 'cms:copy');
  same(await s.cms.query('cms:copy', ['a', 'b', 'z']), [6, 2, 0]);
}

export async function topK(s) {
  same(await s.topK.reserve('topk', 2, { width: 50, depth: 4, decay: 0.9 }), 'OK');
  same(await s.topK.info('topk'), { k: 2, width: 50, depth: 4, decay: 0.9 });
  same(await s.topK.add('topk', ['a', 'b']), [null, null]);
  same(await s.topK.incrBy('topk', { item: 'a', incrementBy: 10 }), [null]);
  // The reply has the item that leaves the list.
  same(await s.topK.incrBy('topk', [{ item: 'c', incrementBy: 7 }]), ['b']);
  same(await s.topK.query('topk', ['a', 'b', 'c']), [true, false, true]);
  same(await s.topK.count('topk', ['a', 'z']), [11, 0]);
  same(await s.topK.list('topk'), ['a', 'c']);
  same(await s.topK.listWithCount('topk'), [{ item: 'a', count: 11 }, { item: 'c', count: 7 }]);
  await refused(s.topK.list('topk:none'), 'TopK: key does not exist');
  await s.copy('TOPK', 'topk', 'topk:copy');
  same(await s.topK.list('topk:copy'), ['a', 'c']);
}

export async function tDigest(s) {
  same(await s.tDigest.create('td', { COMPRESSION: 200 }), 'OK');
  same(await s.tDigest.min('td'), NaN);
  same(await s.tDigest.quantile('td', [0.5]), [NaN]);
  same(await s.tDigest.add('td', [1, 2.5, 4, -3]), 'OK');
  same(await s.tDigest.min('td'), -3);
  same(await s.tDigest.max('td'), 4);
  same(await s.tDigest.quantile('td', [0, 0.5, 1]), [-3, 2.5, 4]);
  same(await s.tDigest.cdf('td', [-4, 2, 9]), [0, 0.5, 1]);
  same(await s.tDigest.rank('td', [-3, 3, 9]), [0, 3, 4]);
  same(await s.tDigest.revRank('td', [-3, 3, 9]), [3, 1, -1]);
  same(await s.tDigest.byRank('td', [0, 3, 9]), [-3, 4, s.infinity]);
  same(await s.tDigest.byRevRank('td', [0, 3, 9]), [4, -3, -s.infinity]);
  same(await s.tDigest.trimmedMean('td', 0, 1), 1.125);
  const info = await s.tDigest.info('td');
  same(info.Compression, 200);
  same(info.Observations, 4);
  assert.equal(Object.keys(info).length, 9);

  same(await s.tDigest.create('td:b'), 'OK');
  same(await s.tDigest.add('td:b', [100]), 'OK');
  same(await s.tDigest.merge('td:sum', ['td', 'td:b']), 'OK');
  same(await s.tDigest.max('td:sum'), 100);
  same(await s.tDigest.merge('td:sum', 'td', { COMPRESSION: 50, OVERRIDE: true }), 'OK');
  same((await s.tDigest.info('td:sum')).Compression, 50);
  same(await s.tDigest.reset('td:b'), 'OK');
  same(await s.tDigest.max('td:b'), NaN);
  await refused(s.tDigest.min('td:none'), 'ERR T-Digest: key does not exist');
  await s.copy('TDIGEST', 'td', 'td:copy');
  same(await s.tDigest.quantile('td:copy', [0, 0.5, 1]), [-3, 2.5, 4]);
}
