"""The page learn/window without the rest of the site, and the native library instead of the WebAssembly module."""

import base64
import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import oriel

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ORIEL_BUILD", ROOT / "build"))
COMMAND = os.environ.get("ORIEL_COMMAND", str(BUILD / "bin" / "oriel"))
STATIC = ROOT / "docs" / "_static" / "window"
NATIVE = "http://native.invalid/"
START = "max:f32:8:k3s2"
# Dilation, unequal padding, both kinds of same, a window that ceil mode drops, gaps, no input at all, long axes, two axes.
NAMES = [
    START, "max:f32:9:k3s1d2", "avg:f32:10:k3s2p1+2", "avg:f32:7:k4s2:same", "min:f32:7:k4s2:same_lower", "max:f32:4:k2s3p1:ceil",
    "avg:f32:6:k3s2p1:ceil:exclude", "sum:f32:14:k2s5", "lp2:f32:11:k3s2p1:ceil", "lpinf:f32:5:k2", "max:f32:3:k2s1p0+2", "min:f32:1:k1p1",
    "sum:f32:64:k9s7p3d3:ceil", "max:f32:90:k3s2", "avg:f32:2x6x8:k3x2s2p1", "avg:f32:10:out4", "max:u8:5x9:global",
]
# Each is refused with another text.
INVALID = ["max:f32:3:k5", "max:f32:9:k0", "mix:f32:9:k3", "max", "max:f32:8:q3", "%E0%A4%A", "max:f32:9:k3:exclude:exclude", "max:f32:9:k2s-1"]

sys.path.insert(0, str(ROOT / "scripts" / "site"))
import window  # noqa: E402

# The interface of what oriel.mjs's load() returns; answers come while the call waits, as the module's do.
BRIDGE = """
globalThis.orielModule = { load: async () => {
  const ask = (what, body) => {
    const request = new XMLHttpRequest();
    request.open("POST", "NATIVE" + what, false);
    request.send(JSON.stringify(body));
    const answer = JSON.parse(request.responseText);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.value;
  };
  const text = (bytes) => { let all = ""; for (const byte of bytes) all += String.fromCharCode(byte); return btoa(all); };
  const bytes = (encoded) => Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0)).buffer;
  return {
    explain: (name) => ask("explain", { name }), describe: (name) => ask("describe", { name }), explainSvg: (name) => ask("svg", { name }),
    pool: (name, x) => {
      const answer = ask("pool", { name, x: text(new Uint8Array(x.buffer, x.byteOffset, x.byteLength)) });
      const result = { values: new x.constructor(bytes(answer.values)), shape: answer.shape, dtype: answer.dtype };
      if (answer.indices !== undefined) result.indices = new BigInt64Array(bytes(answer.indices));
      return result;
    },
  };
} };
""".replace("NATIVE", NATIVE)

# What the theme of the site gives a page; its colours are those of the theme's two schemes.
FRAME = """<!doctype html><html lang="en" data-theme="{scheme}"><head><meta charset="utf-8"><title>What a window reads</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>html {{ color-scheme: {scheme}; font: 16px/1.6 sans-serif }} *, *::before {{ box-sizing: border-box }}
body {{ margin: 0; background: {background}; color: {text} }} main {{ max-width: 47rem; margin: auto; padding: 0 16px }}
html {{ --pst-color-background: {background}; --pst-color-text-base: {text}; --pst-color-text-muted: {muted} }}</style></head>
<body><main><h1 id="title">What a window reads</h1>
{live}
<h2 id="ceil-mode">Ceil mode</h2><div class="highlight-console"><pre>$ oriel explain max:f32:6:k3s2:ceil
max:f32:6:k3s2:ceil
</pre></div></main></body></html>
"""
SCHEMES = {
    "light": {"background": "#ffffff", "text": "#222832", "muted": "#48566b"},
    "dark": {"background": "#14181e", "text": "#ced6dd", "muted": "#9ca4af"},
}


def write_page(folder, scheme="light"):
    """A page with the explainer in `folder`/learn, and its scripts where the site has them; the page's address."""
    (folder / "learn").mkdir(parents=True, exist_ok=True)
    shutil.copytree(STATIC, folder / "_static" / "window", dirs_exist_ok=True)
    page = folder / "learn" / f"window-{scheme}.html"
    page.write_text(FRAME.format(scheme=scheme, live=window.live_part("../"), **SCHEMES[scheme]), encoding="utf-8")
    return page.as_uri()


@functools.cache
def run_explain(name):
    return subprocess.run([COMMAND, "explain", "--json", name], capture_output=True, text=True)


def explain(name):
    """`oriel explain --json NAME`; a ValueError with its text if it refuses the name."""
    result = run_explain(name)
    if result.returncode != 0:
        raise ValueError(result.stderr.removeprefix("oriel explain: ").rstrip("\n"))
    return json.loads(result.stdout)


def describe(name):
    problem = explain(name)
    return {key: problem[key] for key in ("name", "dtype", "shape", "output_shape")}


def svg(name):
    return subprocess.run([COMMAND, "explain", "--svg", "-", name], capture_output=True, text=True, check=True).stdout


def pool_array(name, x):
    """The pool that a name means, by the Python package: uniform windows that are alike on all pooled axes."""
    problem = explain(name)
    w, op = problem["axes"][0]["window"], problem["op"]
    padding = problem["padding"] if problem["padding"] != "given" else [(w["padding_before"], w["padding_after"])] * len(problem["axes"])
    options = {"stride": w["stride"], "padding": padding, "dilation": w["dilation"], "ceil_mode": problem["ceil_mode"],
               "axes": [axis["axis"] for axis in problem["axes"]]}
    if op == "avg":
        options["count_include_pad"] = problem["count_include_pad"]
    if op.startswith("lp"):
        return oriel.lp_pool(x, float(op[2:]), w["kernel"], **options)
    if name.endswith(":indices"):
        options["return_indices"] = True
    return getattr(oriel, f"{op}_pool")(x, w["kernel"], **options)


def pool(name, x):
    problem = explain(name)
    array = np.frombuffer(base64.b64decode(x), {"f32": np.float32, "u8": np.uint8}[problem["dtype"]]).reshape(problem["shape"])
    result = pool_array(name, array)
    values, indices = result if isinstance(result, tuple) else (result, None)
    encoded = {"values": base64.b64encode(values.tobytes()).decode(), "shape": list(values.shape), "dtype": problem["dtype"]}
    if indices is not None:
        encoded["indices"] = base64.b64encode(indices.astype(np.int64).tobytes()).decode()
    return encoded


ANSWERS = {"explain": explain, "describe": describe, "svg": svg, "pool": pool}


def answer(route):
    """Answers a call of the bridge."""
    try:
        reply = {"value": ANSWERS[route.request.url.removeprefix(NATIVE)](**json.loads(route.request.post_data))}
    except ValueError as error:
        reply = {"error": str(error)}
    route.fulfill(status=200, content_type="application/json", body=json.dumps(reply), headers={"Access-Control-Allow-Origin": "*"})


def connect(context):
    """Gives the pages of a browser context the native library instead of the module."""
    context.add_init_script(BRIDGE)
    context.route(f"{NATIVE}**", answer)
