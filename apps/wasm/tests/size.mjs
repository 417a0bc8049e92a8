// size.mjs MODULE: what is sent to a browser, oriel.wasm and oriel.mjs, has at most 500 kB compressed.
import { readFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";

const MOST = 500000;
const files = ["oriel.wasm", "oriel.mjs"].map((name) => readFileSync(`${process.argv[2]}/${name}`));
const size = (compress) => files.map((file) => compress(file).length).reduce((a, b) => a + b);
const gzip = size((file) => gzipSync(file, { level: 9 })), brotli = size((file) => brotliCompressSync(file));
console.log(`module: ${size((file) => file)} bytes; ${gzip} compressed by gzip, ${brotli} by brotli, of at most ${MOST}`);
if (gzip > MOST) {
  console.error(`wasm: the module must have at most ${MOST} bytes, compressed by gzip, but has ${gzip}`);
  process.exit(1);
}
