#!/usr/bin/env bash
# node-redis 5.10.0 (npm), with RedisBloom 2.8.2: what bf.scanDump returns cannot be loaded with bf.loadChunk.
#
# scanDump returns the bytes of a chunk as a text, in which those that are not UTF-8 are replaced. loadChunk of this text fails. Nothing fails
# while a backup is written. With Buffer for blob strings (withTypeMapping), the copy has all items.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
PORT=$port node_with redis@5.10.0 <<'END'
import { createClient, RESP_TYPES } from "redis";

const client = await createClient({ url: "redis://localhost:" + process.env.PORT }).connect();
const items = Array.from({ length: 1000 }, (_, i) => "item" + i);
await client.bf.reserve("filter", 0.01, 1000);
await client.bf.mAdd("filter", items);

async function copy(reader, to) {
  const chunks = [];
  for (let iterator = 0; ; ) {
    const reply = await reader.bf.scanDump("filter", iterator);
    iterator = reply.iterator;
    if (iterator === 0) break;
    chunks.push(reply);
  }
  try {
    for (const { iterator, chunk } of chunks) await client.bf.loadChunk(to, iterator, chunk);
  } catch (error) {
    return error.message;
  }
  return (await client.bf.mExists(to, items)).filter(found => found).length;
}

const text = await copy(client, "a");
const bytes = await copy(client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }), "b");
console.log("text:", text, "bytes:", bytes);
client.destroy();
if (text !== "ERR received bad data" || bytes !== 1000) process.exit(1);
END
