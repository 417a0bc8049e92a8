// Oriel in the browser and in node: `const oriel = await load()`, then oriel.pool, oriel.explain (docs/wasm.md).

/** What every function throws for a call that it cannot carry out; the text says which argument is wrong and what is allowed. */
export class OrielError extends Error {
  name = "OrielError";
}

/** The typed array of an element type. Elements of f16 and bf16 are 16 bits that this module does not interpret. */
const ARRAYS = {
  f64: Float64Array, f32: Float32Array, f16: Uint16Array, bf16: Uint16Array,
  i8: Int8Array, u8: Uint8Array, i16: Int16Array, u16: Uint16Array, i32: Int32Array, u32: Uint32Array,
  i64: BigInt64Array, u64: BigUint64Array, bool: Uint8Array,
};

const OPERANDS = ["x", "dy", "indices"];
const MOST_BYTES = 2 ** 31 - 1;

// The few functions of WASI that the C++ runtime may call: there are no files, no arguments, no environment.
function imports(memory) {
  const NOT_THERE = 8; // badf
  const none = (count, size) => {
    memory().setUint32(count, 0, true);
    memory().setUint32(size, 0, true);
    return 0;
  };
  const write = (file, list, count, written) => {
    let text = "", bytes = 0;
    for (let i = 0; i < count; ++i) {
      const at = memory().getUint32(list + 8 * i, true), size = memory().getUint32(list + 8 * i + 4, true);
      text += new TextDecoder().decode(new Uint8Array(memory().buffer, at, size));
      bytes += size;
    }
    memory().setUint32(written, bytes, true);
    if (text.trim() !== "") console.error(text.trimEnd());
    return 0;
  };
  return {
    wasi_snapshot_preview1: {
      args_get: () => 0, args_sizes_get: none, environ_get: () => 0, environ_sizes_get: none,
      fd_close: () => NOT_THERE, fd_read: () => NOT_THERE, fd_seek: () => NOT_THERE, fd_write: write,
      clock_time_get: (clock, precision, at) => {
        memory().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
      },
      proc_exit: (status) => { throw new OrielError(`oriel: the module ended with status ${status}`); },
    },
    env: { emscripten_notify_memory_growth: () => {} },
  };
}

// Waits for what may fail; `must` begins the error's sentence.
async function expected(must, promise) {
  try {
    return await promise;
  } catch (error) {
    throw new OrielError(`load: ${must}, but ${error.message}`, { cause: error });
  }
}

async function bytesAt(url) {
  if (url.protocol === "file:") { // node: its fetch reads no files
    const { readFile } = await import("node:fs/promises");
    return expected(`${url} must be a file that can be read`, readFile(url));
  }
  const response = await expected(`${url} must be there`, fetch(url));
  if (!response.ok) throw new OrielError(`load: ${url} must be there, but the server answers ${response.status}`);
  return response.arrayBuffer();
}

async function compile(source) {
  if (source instanceof WebAssembly.Module) return source;
  let bytes = source, what = "source";
  if (!(source instanceof ArrayBuffer || ArrayBuffer.isView(source))) {
    if (source !== undefined && typeof source !== "string" && !(source instanceof URL))
      throw new OrielError(`load: source must be an address, bytes or a WebAssembly.Module, but is ${kind(source)}`);
    what = await expected("source must be an address", (async () => new URL(source ?? "oriel.wasm", import.meta.url))());
    bytes = await bytesAt(what);
  }
  return expected(`${what} must be oriel.wasm`, WebAssembly.compile(bytes));
}

// What a value is, for errors.
function kind(value) {
  return value === null ? "null" : typeof value === "object" ? value.constructor?.name ?? "object" : typeof value;
}

class Oriel {
  #exports;
  #stopped = false; // by a trap: what is in its memory is unknown

  constructor(exports) {
    this.#exports = exports;
  }

  /** The version of the library, such as "0.2.0". */
  get version() {
    return this.#text(this.#exports.oriel_version());
  }

  /** Every window along every pooled axis: the text of `oriel explain --json NAME`. */
  explainText(name) {
    return this.#call([name], ([at]) => this.#text(this.#exports.oriel_explain_json(at)));
  }

  /** The same as an object. */
  explain(name) {
    return JSON.parse(this.explainText(name));
  }

  /**
   * The windows as a picture, an SVG document: that of `oriel explain --svg`.
   * @param {string} name a problem's name, such as "max:f32:1x3x112x112:k3x3s2p1"
   * @param {{full?: boolean, output?: number[]}} [options] full: nothing is left out; output: the output whose window is
   *   drawn if two or more axes are pooled, one number for each of them
   */
  explainSvg(name, options) {
    const { full = false, output = [] } = options ?? {};
    if (!(Array.isArray(output) && output.every((o) => Number.isInteger(o) && o >= 0 && o < 2 ** 31)))
      throw new OrielError(`explain: output must be a list of whole numbers of 0 to 2^31 - 1, but is ${JSON.stringify(output)}`);
    return this.#call([name, Int32Array.from(output)], ([at, list]) =>
      this.#text(this.#exports.oriel_explain_svg(at, full ? 1 : 0, list, output.length)));
  }

  /** Element types and shapes of what `pool` takes and returns for a name. */
  describe(name) {
    return JSON.parse(this.#call([name], ([at]) => this.#text(this.#exports.oriel_describe(at))));
  }

  /**
   * Pools.
   * @param {string} name a problem's name; it holds the op, the element type, the shape and the windows
   * @param {ArrayBufferView | {x?: ArrayBufferView, dy?: ArrayBufferView, indices?: ArrayBufferView}} operands the input
   *   alone, or by name: forward takes x; the gradient (`backward`) takes dy and, if the name has `indices` or `codes`,
   *   indices, else for max, min and lp x
   * @returns {{values: ArrayBufferView, shape: number[], dtype: string, indices?: ArrayBufferView}} the result, or the
   *   gradient of the input; copies that belong to the caller
   */
  pool(name, operands) {
    const what = this.describe(name);
    const byName = operands !== null && kind(operands) === "Object";
    const given = byName ? operands : { x: operands };
    for (const key of Object.keys(given)) {
      if (!OPERANDS.includes(key)) throw new OrielError(`pool: operands must be ${OPERANDS.join(", ")}, but one is ${key}`);
    }
    const parts = OPERANDS.map((key) => this.#checked(what, key, given[key]));
    return this.#call([name, ...parts], ([at, ...memory]) => {
      const sized = memory.flatMap((part, i) => [part, parts[i].byteLength]);
      if (this.#exports.oriel_pool(at, ...sized) !== 0) throw new OrielError(this.#result());
      const result = {
        values: this.#array(0, what.dtype), shape: what.backward ? what.shape : what.output_shape, dtype: what.dtype,
      };
      if (what.index_dtype !== null && !what.backward) result.indices = this.#array(1, what.index_dtype);
      return result;
    });
  }

  // An operand as bytes; none if it was not given.
  #checked(what, key, value) {
    if (value === undefined || value === null) return new Uint8Array(0);
    const dtype = key === "indices" ? what.index_dtype ?? "i64" : what.dtype;
    const wanted = ARRAYS[dtype];
    const fits = value instanceof wanted || value instanceof Uint8Array || value instanceof DataView ||
      (dtype === "u8" && value instanceof Uint8ClampedArray);
    if (!fits)
      throw new OrielError(`pool: ${key} must be a ${wanted.name} (${dtype}) or bytes in a Uint8Array, ` +
        `but is ${kind(value)}`);
    if (value.byteLength > MOST_BYTES)
      throw new OrielError(`pool: ${key} must have at most ${MOST_BYTES} bytes, but has ${value.byteLength}`);
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }

  // Calls `body` with the addresses of texts and arrays in the module's memory.
  #call(values, body) {
    if (this.#stopped) throw new OrielError("oriel: the module has stopped in an earlier call and must be loaded again");
    const addresses = [];
    try {
      for (const value of values) {
        if (typeof value !== "string" && !ArrayBuffer.isView(value))
          throw new OrielError(`oriel: a problem's name must be a string, but is ${kind(value)}`);
        const bytes = typeof value === "string" ? new TextEncoder().encode(value.replaceAll("\0", "\ufffd") + "\0")
          : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
        const address = this.#exports.oriel_allocate(bytes.length) >>> 0;
        if (address === 0) throw new OrielError("out of memory");
        addresses.push(address);
        new Uint8Array(this.#exports.memory.buffer).set(bytes, address);
      }
      return body(addresses);
    } catch (error) {
      if (error instanceof OrielError) throw error;
      this.#stopped = true;
      throw new OrielError(`oriel: the module has stopped (${error.message}) and must be loaded again`, { cause: error });
    } finally {
      if (!this.#stopped) {
        for (const address of addresses) this.#exports.oriel_free(address);
        this.#exports.oriel_clear();
      }
    }
  }

  #bytes(which) {
    const at = this.#exports.oriel_result(which) >>> 0, size = this.#exports.oriel_result_bytes(which) >>> 0;
    try {
      return this.#exports.memory.buffer.slice(at, at + size);
    } catch (error) {
      throw new OrielError("out of memory", { cause: error });
    }
  }

  #array(which, dtype) {
    return new ARRAYS[dtype](this.#bytes(which));
  }

  #result() {
    return new TextDecoder().decode(this.#bytes(0));
  }

  #text(status) {
    const text = this.#result();
    if (status !== 0) throw new OrielError(text);
    return text;
  }
}

/**
 * Loads the module.
 * @param {string | URL | BufferSource | WebAssembly.Module} [source] oriel.wasm: where it lies, its bytes, or compiled;
 *   unless given, the file beside this one
 */
export async function load(source) {
  const module = await compile(source);
  let exports = null;
  const started = WebAssembly.instantiate(module, imports(() => new DataView(exports.memory.buffer)));
  exports = (await expected("source must be oriel.wasm", started)).exports;
  if (typeof exports.oriel_pool !== "function")
    throw new OrielError("load: source must be oriel.wasm, but is a module of something else");
  exports._initialize?.();
  return new Oriel(exports);
}
