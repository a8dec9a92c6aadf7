// A connection of node-redis with its typed API, which records the called methods.

import assert from 'node:assert/strict';

// Each method has two names, such as LIST_WITHCOUNT and listWithCount.
const plain = (name) => name.replaceAll('_', '').toLowerCase();

// The typed API of a family, such as client.bf.
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

  // Returns the names of the methods that were not called.
  #missed() {
    const names = Object.getOwnPropertyNames(Object.getPrototypeOf(this.#api));
    return names.filter((name) => name !== 'constructor' && !this.#called.has(plain(name)));
  }
}

export class Session {
  // readsInfinity: whether the client parses the text of RESP2 as Infinity.
  constructor(client, typeMapping, readsInfinity) {
    this.infinity = readsInfinity ? Infinity : NaN;
    this.client = client;
    this.bf = new Family(client.bf);
    this.cf = new Family(client.cf);
    this.cms = new Family(client.cms);
    this.topK = new Family(client.topK);
    this.tDigest = new Family(client.tDigest);
    // The same connection with strings as buffers, because chunks are binary.
    this.buffers = client.withTypeMapping(typeMapping);
    this.options = { typeMapping };
  }

  // Sends a command that has no method in the typed API.
  raw(...args) {
    return this.client.sendCommand(args.map(String));
  }

  // Copies a sketch with SCANDUMP and LOADCHUNK, for which the typed API has no methods.
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

// Compares value and type. The client returns maps as objects without a prototype, so they are copied first.
export function same(got, want) {
  const isMap = got !== null && typeof got === 'object' && !Array.isArray(got);
  assert.deepStrictEqual(isMap ? { ...got } : got, want);
}

// Checks that the reply to the call is this error.
export function refused(call, message) {
  return assert.rejects(call, (error) => {
    assert.equal(error.message, message);
    return true;
  });
}
