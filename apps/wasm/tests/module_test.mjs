// module_test.mjs MODULE FOLDER NAMES: the module (a folder with oriel.mjs and oriel.wasm) against what the native command
// wrote into FOLDER (scripts/wasm.sh), and its own rules.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { elements, POOLS } from "./pools.mjs";

const [, , moduleFolder, folder, namesFile] = process.argv;
const { load, OrielError } = await import(pathToFileURL(resolve(moduleFolder, "oriel.mjs")));
const oriel = await load();
const names = readFileSync(namesFile, "utf8").trim().split("\n");
const bytes = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
const rejects = (call, text) => assert.throws(call, (error) => {
  assert.ok(error instanceof OrielError, String(error));
  assert.equal(error.message, text);
  return true;
});

const BAD_NAMES = [
  "", ":", "max", "max:f32", "mix:f32:9:k3", "max:f99:9:k3", "max:f32:9:q3", "max:f32:-9:k3", "max:f32:9:k", "max:f32:9:k3\0s2",
  "max:f32:9:k3\u{1f600}", "max:f32:99999999999999999999:k3", "lpnan:f32:9:k3", `max:f32:${"9x".repeat(17)}9:k3`, "x".repeat(100000),
];

test("there are a dozen names and more", () => assert.ok(names.length >= 12));
for (const [i, name] of names.entries()) {
  test(`explain ${name} as the command does`, () => {
    const text = readFileSync(`${folder}/explain_${i + 1}.json`, "utf8");
    assert.equal(oriel.explainText(name), text);
    assert.deepEqual(oriel.explain(name), JSON.parse(text));
    assert.equal(oriel.explainSvg(name), readFileSync(`${folder}/explain_${i + 1}.svg`, "utf8"));
  });
}

for (const { file, name, indices, values, within } of POOLS) {
  test(`pool ${name} as the command does`, () => {
    const result = oriel.pool(name, values);
    assert.equal(result.values.constructor, values.constructor);
    assert.equal(result.values.length, result.shape.reduce((a, b) => a * b));
    const wanted = Uint8Array.from(elements(readFileSync(`${folder}/${file}_out.npy`)));
    if (within === undefined) {
      assert.ok(bytes(result.values).equals(wanted));
    } else {
      const those = new values.constructor(wanted.buffer);
      assert.equal(result.values.length, those.length);
      result.values.forEach((value, i) => assert.ok(Math.abs(value - those[i]) <= within * those[i], `${i}: ${value}, not ${those[i]}`));
    }
    assert.equal(result.indices !== undefined, indices === true);
    if (indices) assert.ok(bytes(result.indices).equals(elements(readFileSync(`${folder}/${file}_indices_out.npy`))));
  });
}

test("the gradient from x, from indices and from codes is the same", () => {
  const problem = "max:f32:6x6:k3s2p1", x = Float32Array.from({ length: 36 }, (_, i) => (i * 7) % 11);
  const dy = Float32Array.from({ length: 9 }, (_, i) => i + 1);
  const dx = oriel.pool(`${problem}:backward`, { x, dy });
  assert.deepEqual(dx.shape, [6, 6]);
  assert.equal(dx.values.reduce((a, b) => a + b), 45);
  for (const [word, array] of [["indices", BigInt64Array], ["codes", Uint8Array]]) {
    const { indices } = oriel.pool(`${problem}:${word}`, x);
    assert.equal(indices.constructor, array);
    assert.deepEqual(oriel.pool(`${problem}:${word}:backward`, { dy, indices }).values, dx.values);
  }
  assert.deepEqual(oriel.pool("sum:f32:4:k2:backward", { dy: Float32Array.of(3, 5) }).values, Float32Array.of(3, 3, 5, 5));
});

test("an output can be chosen for the drawing", () => {
  const name = "avg:f32:1x1x6x7:k3x3s2p1";
  assert.match(oriel.explainSvg(name, { output: [0, 3] }), /output 0x3: axis 2 down, axis 3 across/);
  assert.ok(oriel.explainSvg("max:f32:200:k2", { full: true }).length > oriel.explainSvg("max:f32:200:k2").length);
  rejects(() => oriel.explainSvg(name, { output: [0] }), "explain: output must have one number for each of 2 pooled axes, but has 1");
  rejects(() => oriel.explainSvg(name, { output: [0, 4] }), "explain: output must be 0 to 3 along axis 3, but is 4");
  rejects(() => oriel.explainSvg(name, { output: [0, -1] }), "explain: output must be a list of whole numbers of 0 to 2^31 - 1, but is [0,-1]");
  rejects(() => oriel.explainSvg(name, { output: 3 }), "explain: output must be a list of whole numbers of 0 to 2^31 - 1, but is 3");
  assert.equal(oriel.explainSvg(name, null), oriel.explainSvg(name));
});

test("bad operands are refused, and the module goes on", () => {
  const x = new Float32Array(9), f = "max:f32:9:k3";
  rejects(() => oriel.pool(f, new Float32Array(8)), "pool: x must have 36 bytes for 9 of f32, but has 32");
  rejects(() => oriel.pool(f, {}), "pool: x must be given for max:f32:9:k3, but is missing");
  rejects(() => oriel.pool(f, { x, dy: x }), "pool: dy must not be given for max:f32:9:k3, but is there");
  rejects(() => oriel.pool(f, new Float64Array(9)), "pool: x must be a Float32Array (f32) or bytes in a Uint8Array, but is Float64Array");
  for (const [value, its] of [[[1, 2, 3], "Array"], [x.buffer, "ArrayBuffer"], ["123", "string"], [9, "number"]])
    rejects(() => oriel.pool(f, value), `pool: x must be a Float32Array (f32) or bytes in a Uint8Array, but is ${its}`);
  for (const value of [undefined, null]) rejects(() => oriel.pool(f, value), "pool: x must be given for max:f32:9:k3, but is missing");
  rejects(() => oriel.pool(f, { X: x }), "pool: operands must be x, dy, indices, but one is X");
  const dy = new Float32Array(3);
  rejects(() => oriel.pool(`${f}:indices:backward`, { dy, indices: new Int32Array(3) }),
    "pool: indices must be a BigInt64Array (i64) or bytes in a Uint8Array, but is Int32Array");
  for (const index of [-2n, 9n, 2n ** 63n - 1n])
    assert.throws(() => oriel.pool(`${f}:indices:backward`, { dy, indices: BigInt64Array.of(1n, index, 7n) }),
      (error) => error instanceof OrielError && error.message.includes(`${index}`));
  rejects(() => oriel.explain(7), "oriel: a problem's name must be a string, but is number");
  rejects(() => oriel.explain("max:f32:9:k0"), "max_pool: kernel must be >= 1, but axis 0 has 0");
  rejects(() => oriel.explain("max:f32:2000000:k1"),
    "explain: at most 1000000 windows of an axis are listed, but axis 0 has 2000000");
  for (const name of BAD_NAMES) {
    for (const call of [() => oriel.explain(name), () => oriel.explainSvg(name), () => oriel.describe(name), () => oriel.pool(name, x)])
      assert.throws(call, (error) => error instanceof OrielError && error.message.length > 10 && !/stopped/.test(error.message), name);
  }
  assert.deepEqual(oriel.pool(f, x).shape, [3]);
});

test("what does not fit into 32 bits is refused before memory is asked for", () => {
  const shape = "65536x65536";
  rejects(() => oriel.pool(`max:u8:${shape}:k2`, new Uint8Array(4)),
    `pool: x must have at most 2147483647 bytes, but has the shape ${shape} of u8`);
  rejects(() => oriel.pool("max:u8:1x1:out65536x65536", new Uint8Array(1)),
    `pool: the result must have at most 2147483647 bytes, but has the shape ${shape} of u8`);
  const wide = "max:f32:9:k4000000000s3000000000p2000000000";
  assert.equal(oriel.explain(wide).axes[0].outputs, oriel.describe(wide).output_shape[0]);
  try { // whatever memory such padding takes: a result or an error, never a trap
    oriel.pool(wide, new Float32Array(9));
  } catch (error) {
    assert.ok(error instanceof OrielError, String(error));
  }
  assert.deepEqual(oriel.pool("max:f32:9:k3", new Float32Array(9)).shape, [3]);
});

test("memory grows, and is given back", () => {
  const x = new Float32Array(4096 * 1024).fill(1);
  for (let i = 0; i < 40; ++i) assert.equal(oriel.pool("sum:f32:4096x1024:k1024", x).values[0], 1048576);
});

test("the module is loaded from bytes too", async () => {
  const other = await load(readFileSync(`${moduleFolder}/oriel.wasm`));
  assert.equal(other.version, oriel.version);
  assert.match(other.version, /^\d+\.\d+\.\d+$/);
  const compiled = await load(new WebAssembly.Module(readFileSync(`${moduleFolder}/oriel.wasm`)));
  assert.deepEqual(compiled.describe("max:f32:9:k3").output_shape, [3]);
});

test("what is not the module is refused", async () => {
  const refuses = (source, text) => assert.rejects(load(source), (error) => error instanceof OrielError && text.test(error.message));
  await refuses("no_such.wasm", /^load: file:.*no_such.wasm must be a file that can be read, but ENOENT/);
  await refuses(Uint8Array.of(1, 2, 3, 4), /^load: source must be oriel.wasm, but /);
  await refuses(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0), /^load: source must be oriel.wasm, but is a module of something else$/);
  await refuses("http://[", /^load: source must be an address, but /);
  await refuses(7, /^load: source must be an address, bytes or a WebAssembly.Module, but is number$/);
});
