// Calls the typed methods of each family on a sketch with a window, and every SKETCH.* command. The sketches are created
// with raw commands, since the client does not have the option WINDOW.

import assert from 'node:assert/strict';
import { refused, same } from './session.mjs';

// Ten years: no pane expires.
const WINDOW = ['WINDOW', 315360000000, 'PANES', 4];
const SEED = ['SEED', '00112233445566778899aabbccddeeff'];
const PANE_MS = 78840000000;

export async function windows(s) {
  await countMin(s);
  await topK(s);
  await tDigest(s);
}

// The fields of a reply, which is a map in RESP3.
async function fields(s, ...command) {
  const reply = await s.raw(...command);
  if (!Array.isArray(reply)) return reply;
  const names = reply.filter((_, index) => index % 2 === 0);
  return Object.fromEntries(names.map((name, index) => [name, reply[2 * index + 1]]));
}

// Checks the replies of SKETCH.WINDOW and SKETCH.ADVANCE for a sketch with one live pane that has items.
async function window(s, key, total) {
  const info = await fields(s, 'SKETCH.WINDOW', key);
  const { 'newest pane': newest, covered, ...rest } = info;
  assert.ok(covered >= 4 * PANE_MS && covered <= 5 * PANE_MS);
  same(rest, {
    window: WINDOW[1],
    panes: 4,
    'pane length': PANE_MS,
    'items per pane': [0, 0, 0, 0, total],
    'pane starts': [4, 3, 2, 1, 0].map((pane) => newest - pane * PANE_MS),
  });
  same(newest % PANE_MS, 0);
  await recent(s, key, total);
  same(await s.raw('SKETCH.ADVANCE', key, newest / PANE_MS), 0);
  const future = s.raw('SKETCH.ADVANCE', key, newest / PANE_MS + 1);
  await refused(future, 'ERR pane is in the future');
}

// Checks the replies of SKETCH.WITHIN, SKETCH.BETWEEN, SKETCH.SERIES, SKETCH.AGE and SKETCH.ACCURACY.
async function recent(s, key, total) {
  const commands = { cms: ['CMS.QUERY', 'a'], topk: ['TOPK.COUNT', 'a'], td: ['TDIGEST.RANK', 1.5] };
  const [command, argument] = commands[key.split(':')[0]];
  const expected = await s.raw(command, key, argument);
  same(await s.raw('SKETCH.WITHIN', PANE_MS, command, key, argument), expected);
  same(await s.raw('SKETCH.BETWEEN', -PANE_MS, '+', command, key, argument), expected);
  const series = await s.raw('SKETCH.SERIES', '-', '+', PANE_MS, command, key, argument);
  same(series.length, 5);
  same(series.at(-1)[2], expected);
  same(await s.raw('SKETCH.AGE', 'none', 'a', 'b'), [null, null]);
  const accuracy = await fields(s, 'SKETCH.ACCURACY', key);
  const names = { cms: 'count', topk: 'smallest listed count', td: 'samples' };
  const count = accuracy[names[key.split(':')[0]]];
  assert.ok(count >= Math.min(1, total) && count <= total);
}

async function countMin(s) {
  same(await s.raw('CMS.INITBYDIM', 'cms:w', 1000, 5, ...WINDOW, ...SEED), 'OK');
  const increments = [{ item: 'a', incrementBy: 5 }, { item: 'b', incrementBy: 2 }];
  same(await s.cms.incrBy('cms:w', increments), [5, 2]);
  same(await s.cms.query('cms:w', ['a', 'b', 'z']), [5, 2, 0]);
  same(await s.cms.info('cms:w'), { width: 1000, depth: 5, count: 7 });
  same(await s.raw('CMS.INITBYPROB', 'cms:w:sum', 0.002, 0.05, ...WINDOW, ...SEED), 'OK');
  same(await s.cms.merge('cms:w:sum', [{ name: 'cms:w', weight: 10 }]), 'OK');
  same(await s.cms.query('cms:w:sum', ['a', 'b']), [50, 20]);
  const decrement = s.cms.incrBy('cms:w', { item: 'a', incrementBy: -1 });
  await refused(decrement, 'CMS: a sketch with a window cannot be decremented');
  await window(s, 'cms:w', 7);
}

async function topK(s) {
  same(await s.raw('TOPK.RESERVE', 'topk:w', 2, 50, 4, 0.9, ...WINDOW, ...SEED), 'OK');
  same(await s.topK.add('topk:w', ['a', 'b']), [null, null]);
  same(await s.topK.incrBy('topk:w', { item: 'a', incrementBy: 10 }), [null]);
  same(await s.topK.incrBy('topk:w', [{ item: 'c', incrementBy: 7 }]), ['b']);
  same(await s.topK.query('topk:w', ['a', 'b', 'c']), [true, false, true]);
  same(await s.topK.count('topk:w', ['a', 'z']), [11, 0]);
  same(await s.topK.listWithCount('topk:w'), [{ item: 'a', count: 11 }, { item: 'c', count: 7 }]);
  same(await s.topK.info('topk:w'), { k: 2, width: 50, depth: 4, decay: 0.9 });
  await window(s, 'topk:w', 19);
}

async function tDigest(s) {
  same(await s.raw('TDIGEST.CREATE', 'td:w', 'COMPRESSION', 200, ...WINDOW), 'OK');
  same(await s.tDigest.add('td:w', [1, 2.5, 4, -3]), 'OK');
  same(await s.tDigest.min('td:w'), -3);
  same(await s.tDigest.max('td:w'), 4);
  same(await s.tDigest.quantile('td:w', [0, 0.5, 1]), [-3, 2.5, 4]);
  same(await s.tDigest.cdf('td:w', [-4, 2, 9]), [0, 0.5, 1]);
  same(await s.tDigest.rank('td:w', [-3, 3, 9]), [0, 3, 4]);
  same(await s.tDigest.revRank('td:w', [-3, 3, 9]), [3, 1, -1]);
  same(await s.tDigest.byRank('td:w', [0, 3]), [-3, 4]);
  same(await s.tDigest.byRevRank('td:w', [0, 3]), [4, -3]);
  same(await s.tDigest.trimmedMean('td:w', 0, 1), 1.125);
  same((await s.tDigest.info('td:w')).Compression, 200);
  same(await s.tDigest.merge('td:w:sum', 'td:w'), 'OK');
  same(await s.tDigest.max('td:w:sum'), 4);
  await window(s, 'td:w', 4);
  same(await s.tDigest.reset('td:w'), 'OK');
  await window(s, 'td:w', 0);
}
