"""The window explainer's pictures, its accessibility and its looks; its scripts, and how scripts/site/window.py puts them into the site."""

import base64
import io
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="NOT CHECKED: the page learn/window; there is no playwright")
oriel = pytest.importorskip("oriel", reason="NOT CHECKED: the page learn/window; there is no package oriel")
Image = pytest.importorskip("PIL.Image", reason="NOT CHECKED: the page learn/window; there is no Pillow")

import window_page  # noqa: E402
from window_page import BUILD, ROOT, STATIC, window  # noqa: E402

expect = playwright.expect
expect.set_options(timeout=20_000)
SHOTS = BUILD / "window-shots"
MODULE_TEXT = (ROOT / "apps" / "wasm" / "oriel.mjs").read_text(encoding="utf-8")
MODULE_START = b"\0asm\1\0\0\0"


# ----------------------------------------------------------------------------------------- pictures

def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return {"name": "mine.png", "mimeType": "image/png", "buffer": file.getvalue()}


@pytest.fixture
def pixels():
    return np.random.default_rng(7).integers(0, 256, (45, 61, 3), np.uint8)


def canvas(page, which):
    """What a canvas shows, as an array [height, width, 4]."""
    width, height, data = page.evaluate("""(which) => {
      const canvas = document.querySelector(`.ow-${which} canvas`), bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let text = "";
      for (const byte of bytes) text += String.fromCharCode(byte);
      return [canvas.width, canvas.height, btoa(text)];
    }""", which)
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)


def choose(page, file):
    page.set_input_files("#ow-file", file)
    expect(page.locator(".ow-before figcaption")).to_contain_text(file["name"])
    page.wait_for_function("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")


@pytest.mark.parametrize(("name", "pool"), [
    ("max:f32:8:k3s2", lambda x: oriel.max_pool(x, 3, 2, axes=(0, 1))),
    ("min:f32:8:k3s1p1d2", lambda x: oriel.min_pool(x, 3, 1, 1, 2, axes=(0, 1))),
    ("avg:f32:8:k4s3p1:ceil:exclude", lambda x: oriel.avg_pool(x, 4, 3, 1, ceil_mode=True, count_include_pad=False, axes=(0, 1))),
    ("avg:f32:8:k5s4:same", lambda x: oriel.avg_pool(x, 5, 4, "same", axes=(0, 1))),
])
def test_a_picture_is_pooled(visit, pixels, name, pool):
    page = visit(name)
    choose(page, png(pixels))
    assert (canvas(page, "before")[..., :3] == pixels).all()
    wanted, seen = pool(pixels), canvas(page, "after")
    assert (seen[..., :3] == wanted).all() and (seen[..., 3] == 255).all()
    caption = page.inner_text(".ow-after figcaption")
    assert f"{wanted.shape[1]} × {wanted.shape[0]} pixels" in caption
    assert re.search(r"(max|min|avg):u8:45x61x4:\S+:axes0,1$", caption)


def test_sums_of_a_picture_are_scaled_to_white(visit, pixels):
    page = visit("sum:f32:8:k2")
    choose(page, png(pixels))
    sums = oriel.sum_pool(pixels.astype(np.float32), 2, axes=(0, 1))
    assert (canvas(page, "after")[..., :3] == np.rint(sums * 255 / sums.max())).all()
    assert f"the largest value, {int(sums.max())}, is drawn white" in page.inner_text(".ow-after figcaption")


def test_controls_pool_the_picture_again_and_the_sample_returns(visit, pixels):
    page = visit("max:f32:8:k3s2")
    sample = canvas(page, "before")
    assert (canvas(page, "after")[..., :3] == oriel.max_pool(sample, 3, 2, axes=(0, 1))[..., :3]).all()
    choose(page, png(pixels))
    page.focus("#ow-kernel")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".ow-after figcaption")).to_contain_text("k4s2")
    assert (canvas(page, "after")[..., :3] == oriel.max_pool(pixels, 4, 2, axes=(0, 1))).all()
    page.fill('[aria-label="Kernel, as a number"]', "50")  # larger than the picture
    page.fill('[aria-label="Inputs, as a number"]', "60")
    error = page.locator(".ow-picture .ow-error")
    expect(error).to_contain_text("max_pool: the window must fit in the padded input, but on axis 0 it spans 50")
    page.click("text=Drawn sample")
    expect(error).to_be_hidden()
    assert canvas(page, "before").shape[1] == 256 and canvas(page, "before").shape[0] >= 50


def test_large_pictures_are_scaled_and_other_files_refused(visit, pixels):
    page = visit()
    large = np.kron(pixels, np.ones((30, 30, 1), np.uint8))
    choose(page, png(large))
    assert canvas(page, "before").shape[:2] == (round(256 * 45 / 61), 256)
    page.select_option("#ow-side", "1024")
    expect(page.locator(".ow-before figcaption")).to_contain_text("1024 × 755")
    page.set_input_files("#ow-file", {"name": "text.png", "mimeType": "image/png", "buffer": b"no picture"})
    expect(page.locator(".ow-picture .ow-error")).to_have_text("text.png must be a picture that this browser can read, but is not.")


def test_a_picture_can_be_dropped(visit, pixels):
    page = visit()
    data = base64.b64encode(png(pixels)["buffer"]).decode()
    transfer = page.evaluate_handle("""(data) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))], "dropped.png", { type: "image/png" }));
      return transfer;
    }""", data)
    page.dispatch_event(".ow-picture", "dragover", {"dataTransfer": transfer})
    assert "ow-over" in page.get_attribute(".ow-picture", "class")
    page.dispatch_event(".ow-picture", "drop", {"dataTransfer": transfer})
    expect(page.locator(".ow-before figcaption")).to_have_text("dropped.png: 61 × 45 pixels")
    assert "ow-over" not in page.get_attribute(".ow-picture", "class")


# ------------------------------------------------------------------------------------- accessibility, looks

ROLES = {"button", "checkbox", "combobox", "image", "img", "link", "listbox", "option", "radio", "region", "slider", "spinbutton", "textbox", "form", "navigation"}


def test_everything_has_an_accessible_name(visit):
    page = visit("avg:f32:7:k3s2p1:ceil")
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    seen, nameless = set(), []
    for node in tree:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in ROLES:
            continue
        seen.add(role)
        if not node.get("name", {}).get("value", "").strip():
            nameless.append(role)
    assert seen >= {"button", "checkbox", "combobox", "link", "listbox", "option", "radio", "slider", "spinbutton", "textbox"}
    assert not nameless, nameless


def test_the_summary_is_announced_when_a_slider_rests(visit):
    page = visit("max:f32:8:k3s2")
    status = page.locator('[aria-live="polite"]')
    page.focus("#ow-inputs")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(status).to_have_text("12 inputs give 5 outputs, with windows of 3 taps and a stride of 2. 1 input is never read: 11.")


CONTRASTS = r"""() => {
  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] === 1) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const one of document.querySelectorAll("#oriel-window *")) {
    const words = [...one.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "");
    if (words.length === 0 || one.getClientRects().length === 0 || one.closest(".ow-hidden, option, :disabled")) continue;
    const [light, dark] = [luminance(parse(getComputedStyle(one).color).slice(0, 3)), luminance(background(one))].sort((a, b) => b - a);
    found.push([(light + 0.05) / (dark + 0.05), `${one.tagName}.${one.className}: ${one.textContent.slice(0, 30)}`]);
  }
  return found;
}"""


@pytest.mark.parametrize("width", [1280, 390, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_width(visit, scheme, width, library):
    """Text has a contrast of 4.5 and more (AA), and the page is no wider than its window; pictures are kept beside the site."""
    page = visit("max:f32:8:k3s2", scheme, width)
    SHOTS.mkdir(parents=True, exist_ok=True)
    names = ["max:f32:8:k3s2", "max:f32:9:k3s2p1d2", "avg:f32:6:k3s2p1:ceil", "avg:f32:64:k4s2:same", "max:f32:8x64x56x112:k3x3s2p1", "max:f32:300:k3s2", "max:f32:3:k5"]
    for i, name in enumerate(names):
        page.fill("#ow-name", name)
        page.press("#ow-name", "Enter")
        page.locator("details").first.evaluate("(one) => { one.open = true; }")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        faint = [(round(ratio, 2), words) for ratio, words in page.evaluate(CONTRASTS) if ratio < 4.5]
        assert not faint, faint
        if width != 360:
            page.locator("details").first.evaluate("(one) => { one.open = false; }")
            page.screenshot(path=SHOTS / f"{library}-{scheme}-{width}-{i}.png", full_page=True)


def test_focus_is_visible_and_motion_reduced(visit):
    page = visit("max:f32:8:k3s2", reduced_motion="reduce")
    assert page.eval_on_selector_all("#oriel-window *", "(all) => all.every((one) => getComputedStyle(one).transitionDuration === '0s')")
    page.focus("nav a")
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
        if page.evaluate("document.activeElement.closest('#oriel-window') === null"):
            break
        assert page.evaluate("""() => {
          const one = document.activeElement, shown = [one, one.closest(".ow-choice"), document.querySelector(".ow-pick:has(+ :focus-visible)")];
          return shown.some((element) => element && getComputedStyle(element).outlineStyle === "solid");
        }"""), page.evaluate("document.activeElement.outerHTML")
    assert {"ow-inputs", "ow-kernel", "ow-stride", "ow-dilation", "ow-before", "ow-after", "ow-linked", "ow-ceil", "ow-windows", "ow-name", "ow-file", "ow-side"} <= seen


# ------------------------------------------------------------------------------------------- the site

@pytest.fixture
def node():
    found = shutil.which("node") or shutil.which("nodejs")
    if found is None:
        pytest.skip("NOT CHECKED: the explainer's scripts alone; there is no node")
    return found


def test_every_script_parses_and_is_in_the_page(node):
    assert sorted(window.SCRIPTS) == sorted(path.name for path in STATIC.glob("*.js"))
    for script in window.SCRIPTS:
        subprocess.run([node, "--check", STATIC / script], check=True)
        assert len((STATIC / script).read_text(encoding="utf-8").splitlines()) <= 500


def test_scripts_have_no_formula_of_their_own():
    """What computes sizes, divisors or taps would round or divide; pictures and colours may."""
    for script in ("controls.js", "drawing.js", "summary.js", "code.js", "window.js"):
        text = re.sub(r"//.*|/\*.*?\*/|\"[^\"]*\"|`[^`]*`", "", (STATIC / script).read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"Math\.(floor|ceil|round|trunc)| [/%] ", text), script


def test_the_bundle_is_a_classic_script(node, tmp_path):
    script = tmp_path / "bundle.js"
    script.write_text(window.bundle(MODULE_TEXT, MODULE_START) + 'orielModule.load().catch((error) => console.log(error.name, error.message));\n')
    subprocess.run([node, "--check", script], check=True)
    result = subprocess.run([node, script], capture_output=True, text=True, check=True)
    assert result.stdout == "OrielError load: source must be oriel.wasm, but is a module of something else\n"


@pytest.mark.parametrize(("old", "new"), [
    ("export async function load", "export const loading = 1;\nexport async function load"),
    ("export async function load", "async function load"),
    ("export class OrielError", "export default class OrielError"),
    ("import.meta.url", "import.meta.env"),
    ("import.meta.url", "import.meta.url + import.meta.url"),
    ("class Oriel {", 'import fs from "node:fs";\nclass Oriel {'),
    ("class Oriel {", "export { kind };\nclass Oriel {"),
])
def test_another_shape_of_the_module_is_noticed(old, new):
    assert MODULE_TEXT.count(old) >= 1
    with pytest.raises(ValueError, match="oriel.mjs must"):
        window.bundle(MODULE_TEXT.replace(old, new, 1), MODULE_START)


def prepare(tmp_path, wasm):
    """Runs window.py on the page; its result, and the page."""
    (tmp_path / "pages" / "learn").mkdir(parents=True)
    page = tmp_path / "pages" / "learn" / "window.md"
    shutil.copyfile(ROOT / "docs" / "learn" / "window.md", page)
    (tmp_path / "module").mkdir()
    shutil.copyfile(ROOT / "apps" / "wasm" / "oriel.mjs", tmp_path / "module" / "oriel.mjs")
    if wasm is not None:
        (tmp_path / "module" / "oriel.wasm").write_bytes(wasm)
    result = subprocess.run(["python3", ROOT / "scripts" / "site" / "window.py", tmp_path / "pages", tmp_path / "module"], capture_output=True, text=True)
    return result, page.read_text(encoding="utf-8")


def test_the_page_of_the_site(tmp_path):
    result, page = prepare(tmp_path, MODULE_START)
    assert (result.returncode, result.stderr) == (0, "")
    assert page.count('<div id="oriel-window" data-module="../_static/window/oriel-module.js">') == 1
    assert (tmp_path / "pages" / "_static" / "window" / "oriel-module.js").is_file()
    for file in re.findall(r'(?:src|href)="\.\./_static/window/([^"]+)"', page):
        assert (STATIC / file).is_file(), file


def test_without_the_module_the_page_says_so(tmp_path):
    result, page = prepare(tmp_path, None)
    assert result.returncode == 0
    assert result.stderr == f"site: {tmp_path / 'module'} has no oriel.wasm: the page learn/window has no live part; make wasm builds it\n"
    assert "built without the WebAssembly module" in page and "<script" not in page and "oriel-window" not in page
    assert not (tmp_path / "pages" / "_static").exists()


def test_what_is_no_module_stops_the_build(tmp_path):
    result, _ = prepare(tmp_path, b"something else")
    assert result.returncode == 1 and result.stderr == "window.py: oriel.wasm must begin as a WebAssembly module does, but does not\n"


def test_a_module_that_does_not_load_is_said_on_the_page(browser, tmp_path):
    """No module beside the page, and one that the browser refuses."""
    address, errors = window_page.write_page(tmp_path), []
    for script, words in ((None, "oriel-module.js cannot be loaded"), (window.bundle(MODULE_TEXT, MODULE_START), "a module of something else")):
        if script is not None:
            (tmp_path / "_static" / "window" / "oriel-module.js").write_text(script, encoding="utf-8")
        page = browser.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        expect(page.locator("#oriel-window [role=alert]")).to_contain_text(words)
        assert page.locator("pre").count() == 1
        page.close()
    assert json.dumps(errors).count("module") >= 2
