// Pools that the native command and the module carry out alike: a problem's name, the command's options, and the input.
// within: the largest relative difference that is allowed, none unless told.
const noise = (count, of) => {
  let state = 1;
  return Array.from({ length: count }, () => of(state = (Math.imul(state, 1664525) + 1013904223) >>> 0));
};

export const POOLS = [
  {
    file: "image", name: "max:u8:48x61x3:k3x3s2p1:axes0,1", descr: "|u1",
    options: ["--op", "max", "--kernel", "3", "--stride", "2", "--padding", "1", "--axes", "0,1"],
    values: Uint8Array.from(noise(48 * 61 * 3, (bits) => bits >>> 24)),
  },
  {
    file: "average", name: "avg:f32:3x37x41:k5s1:axes1,2:same:exclude", descr: "<f4",
    options: ["--op", "avg", "--kernel", "5", "--stride", "1", "--padding", "same", "--exclude-pad", "--axes", "1,2"],
    values: Float32Array.from(noise(3 * 37 * 41, (bits) => (bits - 2 ** 31) / 65537)),
  },
  {
    file: "norm", name: "lp3:f32:300:k7s2p3:ceil", descr: "<f4",
    options: ["--op", "lp", "--norm", "3", "--kernel", "7", "--stride", "2", "--padding", "3", "--ceil"],
    values: Float32Array.from(noise(300, (bits) => (bits % 1000) / 7)),
  },
  { // the powers of f64 are those of the C library
    file: "norm64", name: "lp3:f64:300:k7s2p3:ceil", descr: "<f8", within: 2 ** -51,
    options: ["--op", "lp", "--norm", "3", "--kernel", "7", "--stride", "2", "--padding", "3", "--ceil"],
    values: Float64Array.from(noise(300, (bits) => (bits % 1000) / 7)),
  },
  {
    file: "indices", name: "min:i16:40x50:k4:indices", descr: "<i2", indices: true,
    options: ["--op", "min", "--kernel", "4"],
    values: Int16Array.from(noise(40 * 50, (bits) => (bits >>> 28) - 8)),
  },
];

/** The .npy file of an array. */
export function npy(descr, shape, values) {
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`;
  const head = text + " ".repeat(64 - ((10 + text.length + 1) % 64)) + "\n";
  const prefix = Buffer.from([0x93, ...Buffer.from("NUMPY"), 1, 0, head.length & 255, head.length >> 8]);
  return Buffer.concat([prefix, Buffer.from(head, "latin1"), Buffer.from(values.buffer)]);
}

/** The elements of a .npy file, as bytes. */
export function elements(file) {
  return file.subarray(10 + file.readUInt16LE(8));
}
