// write_inputs.mjs FOLDER: writes the inputs of POOLS as FOLDER/*.npy, and in FOLDER/pools.txt the command's words of each.
import { mkdirSync, writeFileSync } from "node:fs";
import { npy, POOLS } from "./pools.mjs";

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });
let lines = "";
for (const { file, name, descr, options, indices, values } of POOLS) {
  writeFileSync(`${folder}/${file}.npy`, npy(descr, name.split(":")[2].split("x"), values));
  const more = indices ? ["--indices", `${file}_indices_out.npy`] : [];
  lines += [`${file}.npy`, `${file}_out.npy`, ...options, ...more].join(" ") + "\n";
}
writeFileSync(`${folder}/pools.txt`, lines);
