#!/usr/bin/env bash
# apache-arrow 21.2.0 (npm), with a file of pyarrow 26.0.1: the text of a decimal of 256 bits is its last digit.
#
# The numbers 105, -105 and 12345 have the type decimal256(50, 0). String(value) and JSON.stringify(row) have 5, -5 and 5; Number(value) is
# right. toString() is documented to return the decimal representation, and does so for decimal128.
cd "$(dirname "$0")"
. lib/packages.sh
python_with pyarrow==26.0.1 <<'END'
import decimal

import pyarrow

numbers = [decimal.Decimal(number) for number in (105, -105, 12345)]
rows = pyarrow.table({"d128": pyarrow.array(numbers, pyarrow.decimal128(30)), "d256": pyarrow.array(numbers, pyarrow.decimal256(50))})
with pyarrow.OSFile("rows.arrow", "wb") as file, pyarrow.ipc.new_file(file, rows.schema) as writer:
    writer.write_table(rows)
END
node_with apache-arrow@21.2.0 <<'END'
import { readFileSync } from "node:fs";
import { tableFromIPC } from "apache-arrow";

const rows = tableFromIPC(readFileSync("rows.arrow"));
const [small, large] = ["d128", "d256"].map((name) => [...rows.getChild(name)]);
console.log("decimal128:", small.map(String), "decimal256:", large.map(String), large.map(Number));
console.log(JSON.stringify(rows.toArray()));
if (small.map(String).join() !== "105,-105,12345" || large.map(Number).join() !== "105,-105,12345") process.exit(1);
if (large.map(String).join() !== "5,-5,5" || !JSON.stringify(rows.get(2)).includes(`"d256":"\\"5\\""`)) process.exit(1);
END
