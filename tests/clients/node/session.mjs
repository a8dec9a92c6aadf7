// One connection of node-redis, seen through its typed API, noting which methods were called.

import assert from 'node:assert/strict';

// Names come twice, as in LIST_WITHCOUNT and listWithCount.
const plain = (name) => name.replaceAll('_', '').toLowerCase();

// A family of the typed API, such as client.bf.
class Family {
  #api;
  #called = new Set();

  constructor(api) {
    this.#api = api;
    return new Proxy(this, {
      get(family, name) {
        if (name === 'has') return (method) => method in family.#api;
        if (name === 'missed') return () => family.#missed();
        family.#called.add(plain(name));
        return (...args) => family.#api[name](...args);
      },
    });
  }

  // The names of the methods that no walk called.
  #missed() {
    const names = Object.getOwnPropertyNames(Object.getPrototypeOf(this.#api));
    return names.filter((name) => name !== 'constructor' && !this.#called.has(plain(name)));
  }
}

export class Session {
  // readsInfinity: whether the client makes Infinity of RESP2's text.
  constructor(client, typeMapping, readsInfinity) {
    this.infinity = readsInfinity ? Infinity : NaN;
    this.client = client;
    this.bf = new Family(client.bf);
    this.cf = new Family(client.cf);
    this.cms = new Family(client.cms);
    this.topK = new Family(client.topK);
    this.tDigest = new Family(client.tDigest);
    // The same connection, strings as buffers: chunks are no text.
    this.buffers = client.withTypeMapping(typeMapping);
    this.options = { typeMapping };
  }

  // A command that the typed API lacks.
  raw(...words) {
    return this.client.sendCommand(words.map(String));
  }

  // Copies a sketch by commands that the typed API lacks.
  async copy(family, from, to) {
    let position = 0;
    for (;;) {
      const scan = [`${family}.SCANDUMP`, from, String(position)];
      const [next, chunk] = await this.client.sendCommand(scan, this.options);
      if (next === 0) return;
      const load = [`${family}.LOADCHUNK`, to, String(next), chunk];
      same(await this.client.sendCommand(load), 'OK');
      position = next;
    }
  }
}

// Value and type. Maps come without a prototype.
export function same(got, want) {
  const isMap = got !== null && typeof got === 'object' && !Array.isArray(got);
  assert.deepStrictEqual(isMap ? { ...got } : got, want);
}

// The call is answered with this error.
export function refused(call, message) {
  return assert.rejects(call, (error) => {
    assert.equal(error.message, message);
    return true;
  });
}
