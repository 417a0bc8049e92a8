// docs_test.mjs MODULE PAGE: the blocks `js` of a page print what the block `output` after each shows.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import test from "node:test";

const [, , folder, page] = process.argv;
const blocks = [...readFileSync(page, "utf8").matchAll(/^```js\n(.*?)^```\n\n```output\n(.*?)^```$/gms)];

test("the page has examples", () => assert.ok(blocks.length > 0));
for (const [, program, shown] of blocks) {
  test(`example: ${program.split("\n")[2]}`, () => {
    const file = resolve(folder, "example.mjs");
    writeFileSync(file, program);
    try {
      assert.equal(execFileSync(process.execPath, [file], { encoding: "utf8" }), shown);
    } finally {
      rmSync(file);
    }
  });
}
