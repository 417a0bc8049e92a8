"""The page of oriel-portrait serve, in a browser: uploads, the slider, backgrounds, errors, keyboard, schemes, a phone."""

import base64
import io
import os
import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from conftest import disc, seen
from PIL import Image, ImageDraw
from serve_test import ask, multipart, picture, png, start, stop

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if not CHROMIUM:
    pytest.skip("NOT TESTED: the page of oriel-portrait serve; there is no chromium command", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="NOT TESTED: the page of oriel-portrait serve; there is no playwright")
expect = playwright.expect
expect.set_options(timeout=20_000)

SHOTS = Path(os.environ.get("ORIEL_PORTRAIT_SHOTS", Path(__file__).parents[2] / "build/tests/portrait/page"))
HEIGHT, WIDTH = 240, 360
PICTURE = png(seen(disc(HEIGHT, WIDTH)))
PERSON, GREEN = (90, 40, 60), (40, 200, 60)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=[
            "--no-sandbox", "--disable-gpu", "--force-color-profile=srgb", "--use-fake-device-for-media-stream",
            "--use-fake-ui-for-media-stream"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def url():
    server, url = start("--max-megabytes", "2")
    yield url
    stop(server)


@pytest.fixture
def complaints():
    """Errors and warnings on the console; a test that expects some takes them out."""
    return []


@pytest.fixture
def visit(browser, url, complaints):
    """visit(**options of the context): the page. At the end: no complaints, and no request to another address."""
    contexts, asked = [], []

    def run(at=url, **options):
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, "accept_downloads": True, **options})
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append((at, request.url)))
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.goto(at)
        expect(page.locator("#model")).to_contain_text("Model: ")
        return page

    yield run
    for context in contexts:
        context.close()
    assert complaints == []
    assert asked
    for at, request in asked:
        assert urlsplit(request).scheme in ("blob", "data") or request.startswith(at), request


def shot(page, name):
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def upload(page, *names, data=PICTURE, kind="image/png"):
    page.set_input_files("#files", [{"name": name, "mimeType": kind, "buffer": data} for name in names])


def said(page, text):
    expect(page.get_by_role("status")).to_have_text(text)


def looks(page):
    """The shown picture's pixels, as they are on the screen."""
    wait_for(page, lambda: page.evaluate("[...document.querySelectorAll('#view img')].every((i) => i.complete && i.naturalWidth)"))
    return picture(page.locator("#view").screenshot())[..., :3].astype(int)


def near(pixel, colour):
    return np.abs(pixel - np.array(colour)).max() <= 3


def choose(page, name):
    """Chooses a background and waits for its result, which it returns as bytes."""
    with page.expect_response(re.compile("/api/remove")) as reply:
        page.get_by_role("radio", name=name, exact=True).check(force=True)
    assert reply.value.status == 200
    said(page, "me.png is done.")
    return downloaded(page)[0]


def downloaded(page):
    with page.expect_download() as got:
        page.get_by_role("link", name="Download PNG").click()
    return Path(got.value.path()).read_bytes(), got.value.suggested_filename


def served(url, **form):
    status, body, _ = ask(url, "/api/remove", *multipart({"file": ("me.png", PICTURE),
                                                         **{k: (None, v.encode()) for k, v in form.items()}}))
    assert status == 200
    return body


def event(page, script, data=PICTURE, name="me.png"):
    """Runs script with `files`, a DataTransfer that holds one picture."""
    page.evaluate("""async ([name, data, script]) => {
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0)), files = new DataTransfer();
      files.items.add(new File([bytes], name, {type: "image/png"}));
      new Function("files", script)(files);
    }""", [name, base64.b64encode(data).decode(), script])


def test_a_picture_goes_up_and_its_result_comes_down(visit, url):
    page = visit()
    upload(page, "me.png")
    said(page, "me.png is done.")
    body, name = downloaded(page)
    assert name == "me-portrait.png"
    assert body == served(url)
    alpha = picture(body)[..., 3]
    assert alpha[2, 2] == 0 and alpha[HEIGHT // 2, WIDTH // 2] == 255
    assert np.abs(alpha / 255 - disc(HEIGHT, WIDTH)).mean() < 0.006
    shot(page, "light")


def test_the_slider_uncovers_the_result(visit):
    page = visit()
    upload(page, "me.png")
    said(page, "me.png is done.")
    choose(page, "Blue")
    blue, slider, y, left, right = (0x2F, 0x6F, 0xB5), page.get_by_role("slider", name=re.compile("original image")), 12, 12, WIDTH - 12
    box = page.locator("#view").bounding_box()
    assert (box["height"], box["width"]) == (HEIGHT, WIDTH)  # its natural size
    assert near(looks(page)[y, left], GREEN) and near(looks(page)[y, right], blue)
    slider.fill("100")
    assert near(looks(page)[y, left], GREEN) and near(looks(page)[y, right], GREEN)
    slider.fill("0")
    assert near(looks(page)[y, left], blue) and near(looks(page)[y, right], blue)
    assert near(looks(page)[HEIGHT // 2, WIDTH // 2], PERSON)
    page.mouse.move(box["x"] + 5, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 60)
    page.mouse.up()
    assert abs(float(slider.input_value()) - 75) <= 1
    assert near(looks(page)[y, WIDTH // 2], GREEN) and near(looks(page)[y, right], blue)


def test_backgrounds_blur_feather_and_light_wrap(visit, url):
    page = visit()
    upload(page, "me.png")
    said(page, "me.png is done.")
    assert choose(page, "Black") == served(url, background="#000000", feather="0")
    assert choose(page, "Sea") == served(url, background="gradient:#d7f0ff,#2c6e8f")
    expect(page.locator("#blur")).to_be_disabled()
    before = choose(page, "Blur of the original")
    assert before == served(url, background="blur:20")
    form = {}
    for name, label, value, asked in (("blur", "Blur radius", "60", {"background": "blur:60"}), ("feather", "Feather", "9", {"feather": "9"}),
                                      ("wrap", "Light wrap", "40", {"light_wrap": "40"})):
        form |= asked
        with page.expect_response(re.compile(name + r"[=%3A:]+" + value)):
            page.get_by_role("slider", name=label).fill(value)
        expect(page.locator(f"#{name}-says")).to_have_text(value)
        said(page, "me.png is done.")
        body = downloaded(page)[0]
        assert body == served(url, **form) != before
        before = body
    plain = png(np.full((9, 9, 3), 77, np.uint8))
    with page.expect_response(re.compile("/api/remove")):
        page.set_input_files("#behind-file", [{"name": "wall.png", "mimeType": "image/png", "buffer": plain}])
    said(page, "me.png is done.")
    expect(page.get_by_role("radio", name="Your own image")).to_be_checked()
    assert (picture(downloaded(page)[0])[2, 2] == 77).all()
    shot(page, "own-background")


def test_a_colour_of_ones_own(visit, url):
    page = visit()
    upload(page, "me.png")
    said(page, "me.png is done.")
    for colour in ("#336699", "#ff8000"):
        with page.expect_response(re.compile("/api/remove")) as reply:
            page.get_by_label("Your own colour").last.fill(colour)
        assert reply.value.status == 200
        said(page, "me.png is done.")
        assert downloaded(page)[0] == served(url, background=colour, feather="0")
    expect(page.get_by_role("radio", name="Your own colour")).to_be_checked()
    expect(page.get_by_role("radiogroup", name="Background").get_by_role("radio")).to_have_count(9)
    shot(page, "own-colour")


def test_what_is_not_obvious_is_explained(visit):
    page = visit()
    expect(page.get_by_role("slider", name="Light wrap in percent")).to_have_accessible_description(re.compile("Light of the new background that falls on the person's edge"))
    hint = page.locator("details .hint")
    expect(hint).to_be_hidden()
    page.get_by_text("Better cut-outs of photographs").click()
    expect(hint).to_contain_text("oriel-portrait serve --model FILE")
    shot(page, "hint")


def test_light_wrap_by_keyboard(visit, url):
    page = visit()
    upload(page, "me.png")
    said(page, "me.png is done.")
    wrap = page.get_by_role("slider", name="Light wrap in percent")
    expect(wrap).to_be_disabled()  # nothing is behind
    dark = choose(page, "White")
    expect(wrap).to_be_enabled()
    page.locator("#feather").focus()
    page.keyboard.press("Tab")
    expect(wrap).to_be_focused()
    with page.expect_response(re.compile("light_wrap=100")):
        page.keyboard.press("End")
    expect(page.locator("#wrap-says")).to_have_text("100")
    said(page, "me.png is done.")
    lit = downloaded(page)[0]
    assert lit == served(url, background="#ffffff", light_wrap="100")
    change = picture(lit).astype(int) - picture(dark)
    assert (change >= 0).all() and change.max() > 40, "light only adds"
    assert change[HEIGHT // 2, WIDTH // 2].max() < change.max() / 4, "it falls on the edge"
    shot(page, "light-wrap")
    choose(page, "Transparent")
    expect(wrap).to_be_disabled()
    assert downloaded(page)[0] == served(url)


def test_the_last_of_quick_choices_is_what_stays(visit, url):
    page = visit()
    held = []
    page.route("**/api/remove?*", lambda route: held.append(route))
    upload(page, "me.png")
    release(page, held)
    said(page, "me.png is done.")
    for colour in (10, 200):  # the second is chosen while the first is being worked on
        page.set_input_files("#behind-file", [{"name": "wall.png", "mimeType": "image/png",
                                               "buffer": png(np.full((9, 9, 3), colour, np.uint8))}])
        if colour == 10:
            wait_for(page, lambda: len(held) == 1)
    release(page, held)
    wait_for(page, lambda: len(held) == 1)
    release(page, held)
    said(page, "me.png is done.")
    assert (picture(downloaded(page)[0])[2, 2] == 200).all()


def wait_for(page, condition):
    for _ in range(2000):
        if condition():
            return
        page.wait_for_timeout(10)
    raise AssertionError("it did not come to that")


def release(page, held):
    wait_for(page, lambda: held)
    held.pop(0).continue_()


def test_several_pictures_and_their_progress(visit):
    page = visit()
    held = []
    page.route("**/api/remove?*", lambda route: held.append(route))
    upload(page, "a.png", "b.png", "c.png")
    progress, items = page.get_by_role("progressbar", name="Images done"), page.get_by_role("listitem")
    for done in range(3):
        expect(items).to_have_text([f"{n}.png - " + ("done" if i < done else "works" if i == done else "waits") for i, n in enumerate("abc")])
        expect(progress).to_have_js_property("value", done)
        expect(progress).to_have_js_property("max", 3)
        if done == 1:
            items.nth(2).get_by_role("button").focus()
            shot(page, "progress")
        release(page, held)
    expect(items).to_have_text([f"{n}.png - done" for n in "abc"])
    expect(progress).to_have_js_property("value", 3)
    expect(items.nth(2).get_by_role("button")).to_be_focused()  # through all that was drawn meanwhile
    page.keyboard.press("Enter")
    said(page, "c.png is done.")
    expect(items.nth(2).get_by_role("button")).to_have_attribute("aria-current", "true")
    assert downloaded(page)[1] == "c-portrait.png"


@pytest.mark.parametrize("how, script", [
    ("paste", "document.dispatchEvent(new ClipboardEvent('paste', {clipboardData: files, bubbles: true}))"),
    ("drop", "document.getElementById('drop').dispatchEvent(new DragEvent('drop', {dataTransfer: files, bubbles: true, cancelable: true}))"),
])
def test_pictures_are_pasted_and_dropped(visit, url, how, script):
    page = visit()
    event(page, script, name=how + ".png")
    said(page, how + ".png is done.")
    assert downloaded(page)[0] == served(url)


def test_the_camera(visit, complaints):
    page = visit(permissions=["camera"])
    page.get_by_role("button", name="Camera").click()
    wait_for(page, lambda: page.evaluate("document.querySelector('video').videoWidth > 0"))
    page.get_by_role("button", name="Take a photo").click()
    expect(page.get_by_role("listitem")).to_have_text(re.compile("^camera.png - (done|failed)$"))
    expect(page.locator("#camera")).to_be_hidden()
    complaints[:] = [text for text in complaints if "status of 422" not in text]  # nobody may be in that picture


def test_errors_are_shown(visit, complaints):
    page = visit()
    upload(page, "broken.png", data=b"no picture")
    said(page, "broken.png: file: not an image that Oriel reads; allowed: PNG, JPEG, TIFF, WebP")
    expect(page.locator("#result")).to_be_hidden()
    shot(page, "error")
    upload(page, "green.png", data=png(seen(np.zeros((40, 50)))))
    said(page, "green.png: no person found; no_person=background or keep returns an image anyway")
    assert [re.search("status of (...)", text)[1] for text in complaints] == ["400", "422"]
    complaints.clear()
    upload(page, "huge.png", data=PICTURE + bytes(2_000_000))
    said(page, "huge.png: larger than the 2 MB that this server accepts")
    upload(page, "notes.txt", data=b"words", kind="text/plain")
    expect(page.get_by_role("status")).to_contain_text("notes.txt is not an image. ")
    upload(page, "me.png")  # and it goes on
    said(page, "me.png is done.")


def test_a_tiff_that_the_browser_cannot_show(visit):
    out = io.BytesIO()
    Image.fromarray(seen(disc(HEIGHT, WIDTH))).save(out, "TIFF")
    page = visit()
    upload(page, "me.tif", data=out.getvalue(), kind="image/tiff")
    said(page, "me.tif is done.")
    expect(page.locator("#before")).to_be_hidden()
    expect(page.locator("#slider")).to_be_disabled()
    upload(page, "me.png")
    said(page, "me.png is done.")
    expect(page.locator("#before")).to_be_visible()
    expect(page.locator("#slider")).to_be_enabled()


def test_by_keyboard_alone(visit, url):
    page, choosers = visit(), []
    page.on("filechooser", lambda chooser: choosers.append(chooser))
    page.keyboard.press("Tab")
    expect(page.locator("summary")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#files")).to_be_focused()
    shot(page, "focus")
    page.keyboard.press("Enter")
    wait_for(page, lambda: choosers)
    choosers[0].set_files([{"name": "me.png", "mimeType": "image/png", "buffer": PICTURE}])
    said(page, "me.png is done.")
    order = []
    for _ in range(9):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.id || document.activeElement.name || document.activeElement.textContent"))
        if order[-1] == "slider":
            page.keyboard.press("ArrowRight")
            assert page.locator("#slider").input_value() == "51"
        if order[-1] == "look":
            with page.expect_response(re.compile("/api/remove")):
                page.keyboard.press("ArrowRight")
            said(page, "me.png is done.")
            expect(page.get_by_role("radio", name="White")).to_be_checked()
    assert order == ["open-camera", "slider", "download", "look", "colour", "behind-file", "feather", "wrap", "me.png - done"]
    page.locator("#download").focus()
    with page.expect_download() as got:
        page.keyboard.press("Enter")
    assert Path(got.value.path()).read_bytes() == served(url, background="#ffffff")


def test_roles_and_names(visit):
    page = visit()
    upload(page, "me.png")
    said(page, "me.png is done.")
    expect(page.get_by_role("heading", level=1)).to_have_text("Oriel portrait")
    expect(page.get_by_role("radiogroup", name="Background").get_by_role("radio")).to_have_count(8)
    for alt in ("The image with its new background", "The original image"):
        expect(page.get_by_role("img", name=alt)).to_be_visible()
    nameless = page.evaluate("""[...document.querySelectorAll("input, button, a, progress, select, img")].filter((e) =>
        !(e.getAttribute("aria-label") || e.alt || (e.labels && [...e.labels].some((l) => l.textContent.trim())) || e.textContent.trim()))
        .map((e) => e.outerHTML)""")
    assert nameless == []
    assert page.locator("html").get_attribute("lang") == "en" and page.title() == "Oriel portrait"


def luminance(colour):
    part = np.array([float(x) for x in re.findall(r"[\d.]+", colour)[:3]]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(visit, scheme):
    page = visit(color_scheme=scheme)
    upload(page, "me.png")
    said(page, "me.png is done.")
    style = "(e) => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    ink, paper = map(luminance, page.locator("body").evaluate(style))
    assert (ink < paper) == (scheme == "light")
    for name in ("header p", "#wrap-means", "#said", "#download", "#list button", "#open-camera"):
        ink, behind = page.locator(name).evaluate("""(e) => { let b = e;
            while (b && getComputedStyle(b).backgroundColor === 'rgba(0, 0, 0, 0)') b = b.parentElement;
            return [getComputedStyle(e).color, getComputedStyle(b).backgroundColor]; }""")
        dark, bright = sorted((luminance(ink), luminance(behind)))
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, (name, ink, behind)  # WCAG 2.2, level AA
    shot(page, "wide-" + scheme)


@pytest.mark.parametrize("shape", [(900, 1600), (1600, 900)])
def test_on_a_phone(visit, shape):
    page = visit(viewport={"width": 360, "height": 740}, device_scale_factor=2, has_touch=True, is_mobile=True)
    name = "a picture with a name that is much longer than a phone is wide and goes on.png"
    upload(page, name, name, data=png(seen(disc(*shape))))
    expect(page.get_by_role("listitem")).to_have_text([name + " - done"] * 2)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator("#view").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 360 and box["height"] <= 740
    for item in page.get_by_role("listitem").all():  # long names leave the state to be seen
        end = item.get_by_text(" - done").last.bounding_box()
        assert end["width"] > 30 and end["x"] + end["width"] <= 360
    assert abs(box["height"] / box["width"] - shape[0] / shape[1]) < 0.02
    shot(page, f"phone-{shape[1]}x{shape[0]}")


def drawn_person():
    """Head, hair, neck and shoulders before a wall."""
    figure = Image.new("RGB", (320, 320), (188, 202, 214))
    draw = ImageDraw.Draw(figure)
    draw.ellipse((40, 210, 280, 480), fill=(52, 62, 110))
    draw.rectangle((138, 170, 182, 230), fill=(205, 150, 120))
    draw.ellipse((102, 48, 218, 170), fill=(60, 40, 28))
    draw.ellipse((112, 66, 208, 198), fill=(222, 168, 138))
    return np.asarray(figure)


@pytest.mark.skipif(os.environ.get("ORIEL_PORTRAIT_NETWORKS") == "0", reason="NOT TESTED: the page with a network; this build has no oneDNN")
def test_the_demo_model(visit):
    server, url = start(source=())
    try:
        page = visit(url)
        expect(page.locator("#model")).to_contain_text("(demo)")
        upload(page, "me.png", data=png(drawn_person()))
        expect(page.get_by_role("listitem")).to_have_text("me.png - done")
        assert downloaded(page)[0] == ask(url, "/api/remove", png(drawn_person()), {"Content-Type": "image/png"})[1]
        shot(page, "demo-model")
    finally:
        stop(server)


@pytest.mark.skipif(os.environ.get("ORIEL_PORTRAIT_NETWORK_FILES") == "0", reason="NOT TESTED: the page with the selfie model; this build has no OpenVINO")
def test_a_choice_of_models(visit, installed):
    """A photograph with the selfie model, which is the default once it is installed, and with the drawn one."""
    data = pytest.importorskip("skimage.data", reason="NOT TESTED: the page with the selfie model; there is no scikit-image")
    photograph = png(data.astronaut())
    server, url = start("--reproducible", source=(), data=installed)
    try:
        page = visit(url)
        expect(page.locator("#model")).to_contain_text("MediaPipe selfie")
        choice = page.get_by_label("Model", exact=True)
        expect(choice).to_have_value("selfie")
        assert choice.locator("option").all_text_contents() == ["selfie", "selfie-landscape", "drawn"]
        upload(page, "me.png", data=photograph)
        said(page, "me.png is done.")
        results = {}
        for model in ("selfie", "drawn"):
            if model != "selfie":
                with page.expect_response(re.compile("model=" + model)) as reply:
                    choice.select_option(model)
                assert reply.value.status == 200
                said(page, "me.png is done.")
            results[model] = downloaded(page)[0]
            assert results[model] == ask(url, f"/api/remove?model={model}", photograph, {"Content-Type": "image/png"})[1]
            shot(page, "model-" + model)
        assert results["selfie"] != results["drawn"]
        alpha = picture(results["selfie"])[..., 3]
        assert alpha[100:400:50, 220].min() == 255 and alpha[:60, :60].max() < 30  # her face and suit; the flag
    finally:
        stop(server)
