#!/usr/bin/env bash
# cuckoo-filter 1.1.4 (npm): the package cannot be loaded, because it does not declare the package cbor-js that it needs.
#
# It declares borc for the same format. It works if cbor-js 0.1.0 is installed as well.
cd "$(dirname "$0")"
. lib/packages.sh
program() {
    cat << 'END'
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
let result;
try {
    const { CuckooFilter } = require("cuckoo-filter");
    const filter = new CuckooFilter(1000, 4, 2);
    result = filter.add("item") && filter.contains("item");
} catch (error) {
    result = error.message.split("\n")[0];
}
console.log(result);
process.exitCode = result === (process.env.EXPECTED === "true" ? true : process.env.EXPECTED) ? 0 : 1;
END
}
program | EXPECTED="Cannot find module 'cbor-js'" node_with cuckoo-filter@1.1.4
program | EXPECTED=true node_with cuckoo-filter@1.1.4 cbor-js@0.1.0
