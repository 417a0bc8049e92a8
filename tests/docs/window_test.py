"""The window explainer (docs/learn/window.md) in a browser: what it shows is what `oriel explain --json` says and the library computes.

The page runs on the native library, instead of the WebAssembly module, and on the module itself if `make wasm` has built it.
"""

import re

import numpy as np
import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="NOT CHECKED: the page learn/window; there is no playwright")
pytest.importorskip("oriel", reason="NOT CHECKED: the page learn/window; there is no package oriel")

import window_page  # noqa: E402
from window_page import INVALID, NAMES, START, explain  # noqa: E402

expect = playwright.expect
expect.set_options(timeout=20_000)
VALUED = 13  # of them are short and have no words but those of the controls: the page computes their results


def show(page, name):
    """Another problem, by its name."""
    page.fill("#ow-name", name)
    page.press("#ow-name", "Enter")
    assert (name_of(page), address_of(page)) == (name, name)


def name_of(page):
    return page.input_value("#ow-name")


def address_of(page):
    return page.evaluate("decodeURIComponent(location.hash.slice(1))")


# ------------------------------------------------------------------------------------------ what is drawn

DRAWN = """() => [...document.querySelectorAll(".ow-axis")].map((axis) => {
  const column = (cell) => Number(cell.style.gridColumn.split("/")[0]);
  const zero = column(axis.querySelector('[data-coordinate="0"]'));
  const coordinates = (root, kind) => [...root.querySelectorAll(kind)].map((cell) => column(cell) - zero);
  const inputs = [...axis.querySelectorAll("[data-coordinate]")];
  return {
    aligned: inputs.every((cell) => column(cell) - zero === Number(cell.dataset.coordinate)), inputs: inputs.length,
    unread: coordinates(axis, ".ow-head .ow-dropped"), padding: coordinates(axis, ".ow-head .ow-pad"),
    columns: [...axis.querySelectorAll(".ow-head .ow-number")].map((cell) => cell.textContent),
    windows: [...axis.querySelectorAll("[role=option]")].map((row) => ({
      label: row.querySelector(".ow-label").textContent, reads: coordinates(row, ".ow-tap"), padding: coordinates(row, ".ow-padtap"),
      beyond: coordinates(row, ".ow-beyond"), won: coordinates(row, ".ow-won"),
      numbers: [...row.querySelectorAll(".ow-number")].map((cell) => cell.textContent),
    })),
  };
})"""


def drawn_axes(problem):
    """The axes that are drawn: those whose windows differ from those of all earlier ones."""
    axes, seen = [], []
    for axis in problem["axes"]:
        rest = {key: value for key, value in axis.items() if key != "axis"}
        if rest not in seen:
            axes.append(axis)
        seen.append(rest)
    return axes


def check_window(row, window_, average):
    assert row["label"] == f"output {window_['output']}"
    assert row["reads"] == window_["input_coordinates"]
    assert row["padding"] == window_["padding_coordinates"]
    assert row["beyond"] == window_["beyond_coordinates"]
    whole = window_["inputs"] == window_["taps"]
    assert row["numbers"][0] == (str(window_["taps"]) if whole else f"{window_['inputs']} of {window_['taps']}")
    if average:
        assert row["numbers"][1] == str(window_["divisor"])


def check_values(page, name, axis, rows):
    """The results that are shown are the library's for the values that are shown."""
    values = page.eval_on_selector_all(".ow-head [data-coordinate]", "(cells) => cells.map((cell) => Number(cell.lastChild.textContent))")
    y = window_page.pool_array(name, np.array(values, np.float32))
    for row, window_, result in zip(rows, axis["windows"], y, strict=True):
        text = row["numbers"][-1].replace("−", "-").replace("∞", "inf")
        assert float(text) == pytest.approx(float(result), rel=2e-3)
        if name.startswith(("max", "min")) and window_["inputs"] > 0:
            assert len(row["won"]) == 1 and values[row["won"][0]] == float(result)
        else:
            assert row["won"] == []


def check_drawing(page, name, problem):
    axes, drawn = drawn_axes(problem), page.evaluate(DRAWN)
    assert len(drawn) == len(axes)
    average, valued = problem["op"] == "avg", "result" in drawn[0]["columns"]
    assert valued == (name in NAMES[:VALUED])
    for seen, axis in zip(drawn, axes, strict=True):
        w = axis["window"] or {"padding_before": 0, "padding_after": 0}
        around = [*range(-w["padding_before"], 0), *range(axis["inputs"], axis["inputs"] + w["padding_after"])]
        assert seen["aligned"] and seen["inputs"] == axis["inputs"]
        assert seen["unread"] == axis["unread_inputs"] and seen["padding"] == around
        assert seen["columns"] == ["inputs", *(["divisor"] if average else []), *(["result"] if valued else [])]
        for row, window_ in zip(seen["windows"], axis["windows"], strict=True):
            check_window(row, window_, average)
    if valued:
        check_values(page, name, axes[0], drawn[0]["windows"])


def check_texts(page, problem):
    sizes = page.locator(".ow-sizes").all_inner_texts()
    for axis, text in zip(problem["axes"], sizes, strict=True):
        assert [int(number) for number in re.findall(r"\d+", text)] == [axis["inputs"], axis["outputs"], *([len(axis["unread_inputs"])] if axis["unread_inputs"] else [])]
    axes = drawn_axes(problem)
    formulas = page.eval_on_selector_all(".ow-formula", "(all) => all.map((one) => [...one.children].map((line) => line.textContent))")
    assert formulas == [axis["size"] for axis in axes]
    facts = page.locator(".ow-facts li").all_text_contents()
    wanted = [fact for axis in problem["axes"] for fact in axis["facts"]] + [problem["divisor_rule"]]
    assert facts == [fact for fact in dict.fromkeys(wanted) if fact]
    summary = page.locator(".ow-summary").inner_text()
    assert all(f"{axis['outputs']} output" in summary for axis in problem["axes"])
    for table, axis in zip(page.locator(".ow-table").all(), axes, strict=True):
        rows = table.locator("tbody tr").evaluate_all("(rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent))")
        for row, window_ in zip(rows, axis["windows"], strict=True):
            reads = ", ".join(map(str, window_["input_coordinates"])) or "none"
            assert row[:4] == [str(window_["output"]), reads, str(window_["padding"]), str(window_["beyond"])]


def check_controls(page, name, axis):
    w = axis["window"]
    wanted = {"inputs": axis["inputs"], "kernel": w["kernel"], "stride": w["stride"], "dilation": w["dilation"], "before": w["padding_before"], "after": w["padding_after"]}
    for key, value in wanted.items():
        assert page.input_value(f'.ow-slider[data-key="{key}"] input[type=number]') == str(value)
    assert page.is_checked("#ow-ceil") == (":ceil" in name)
    assert page.locator("[name=ow-op]:checked").get_attribute("value") == re.match("lp|[a-z]+", name)[0]
    assert page.locator(".ow-note").is_hidden()


def test_the_page_shows_what_explain_says(visit):
    page = visit()
    for name in NAMES:
        problem = explain(name)
        assert problem["name"] == name
        show(page, name)
        check_drawing(page, name, problem)
        check_texts(page, problem)
        if name in NAMES[:VALUED]:
            check_controls(page, name, problem["axes"][0])


def test_a_chosen_window_marks_its_inputs(visit):
    page = visit("avg:f32:9:k3s2p1d2")
    windows, rows = explain("avg:f32:9:k3s2p1d2")["axes"][0]["windows"], page.locator("[role=option]")
    marked = "(cells) => cells.filter((cell) => cell.classList.contains('ow-read')).map((cell) => Number(cell.dataset.coordinate))"
    for index in (2, 0, 3):
        rows.nth(index).hover()
        assert page.eval_on_selector_all("[data-coordinate]", marked) == windows[index]["input_coordinates"]
        assert page.locator(".ow-words").inner_text() == rows.nth(index).get_attribute("aria-label")
    page.focus(".ow-windows")
    for key, index in (("Home", 0), ("ArrowUp", 0), ("ArrowDown", 1), ("ArrowRight", 2), ("End", 3), ("ArrowDown", 3), ("ArrowLeft", 2)):
        page.keyboard.press(key)
        assert page.get_attribute(".ow-windows", "aria-activedescendant") == rows.nth(index).get_attribute("id")
        assert [row.get_attribute("aria-selected") for row in rows.all()] == [str(i == index).lower() for i in range(4)]
    assert "reads inputs 3, 5 and 7" in page.locator(".ow-words").inner_text()
    show(page, "max:f32:64:k3s2")  # wider than its box, which scrolls to what the keys choose
    page.focus(".ow-windows")
    for key, index in (("End", 30), ("Home", 0)):
        page.keyboard.press(key)
        box, cells = page.locator(".ow-axis .ow-scroll").bounding_box(), page.locator("[role=option]").nth(index).locator(".ow-tap")
        for cell in (cells.first.bounding_box(), cells.last.bounding_box()):
            assert box["x"] + 90 <= cell["x"] and cell["x"] + cell["width"] <= box["x"] + box["width"]
            assert box["y"] + 45 <= cell["y"] and cell["y"] + cell["height"] <= box["y"] + box["height"]


def test_long_axes_are_the_librarys_picture(visit):
    page = visit("max:f32:300:k3s2")
    image = page.locator(".ow-svg")
    expect(image).to_have_attribute("alt", "The windows of the max pool over axis 0: f32 300 -> 149")
    assert image.evaluate("(image) => image.naturalWidth") > 700
    page.fill("#ow-name", "max:f32:400000:k3s2")
    page.keyboard.press("Enter")
    expect(page.locator(".ow-error").first).to_contain_text("at most 100000 outputs of an axis, but the result is 199999")


# --------------------------------------------------------------------------------------- controls, address

CONTROLS = [  # key pressed on a control, the name afterwards
    ("#ow-inputs", "ArrowRight", "max:f32:9:k3s2"),
    ("#ow-kernel", "ArrowRight", "max:f32:9:k4s2"),
    ("#ow-stride", "ArrowLeft", "max:f32:9:k4s1"),
    ("#ow-dilation", "ArrowUp", "max:f32:9:k4s1d2"),
    ("#ow-before", "ArrowRight", "max:f32:9:k4s1p1d2"),
    ("#ow-linked", "Space", "max:f32:9:k4s1p1d2"),
    ("#ow-after", "End", "max:f32:9:k4s1p1+6d2"),
    ("#ow-ceil", "Space", "max:f32:9:k4s1p1+6d2:ceil"),
    ("[name=ow-op][value=max]", "ArrowRight", "min:f32:9:k4s1p1+6d2:ceil"),
    ("[name=ow-op][value=min]", "ArrowRight", "avg:f32:9:k4s1p1+6d2:ceil"),
    ("#ow-include", "Space", "avg:f32:9:k4s1p1+6d2:ceil:exclude"),
    ("[name=ow-padding][value=given]", "ArrowRight", "avg:f32:9:k4s1d2:same:exclude"),
    ("[name=ow-padding][value=same]", "ArrowRight", "avg:f32:9:k4s1d2:same_lower:exclude"),
    ("[name=ow-op][value=avg]", "ArrowLeft", "min:f32:9:k4s1d2:same_lower"),
    ("#ow-inputs", "Home", "min:f32:1:k4s1d2:same_lower"),
]


def test_every_control_works_by_keyboard(visit):
    page = visit()
    assert (name_of(page), address_of(page)) == (START, "")
    for selector, key, name in CONTROLS:
        page.focus(selector)
        page.keyboard.press(key)
        assert (name_of(page), address_of(page)) == (name, name), selector
        assert page.locator(".ow-code").last.locator("pre").inner_text() == f"oriel explain {name}"
    page.fill('[aria-label="Kernel, as a number"]', "12")
    assert name_of(page) == "min:f32:1:k12s1d2:same_lower"
    assert page.input_value("#ow-kernel") == "9"  # where the slider ends


def test_sliders_and_numbers_show_same_padding(visit):
    page = visit("avg:f32:7:k4s2:same")
    for key, value in (("before", "1"), ("after", "2")):
        slider = page.locator(f"#ow-{key}")
        assert slider.input_value() == value and slider.is_disabled()
    page.check("[name=ow-padding][value=given]", force=True)
    assert name_of(page) == "avg:f32:7:k4s2p1+2" and page.locator("#ow-before").is_enabled()


def test_back_and_forward(visit):
    page = visit("avg:f32:9:k3s2p1")
    page.click("nav >> text=dilation")
    expect(page.locator("#ow-name")).to_have_value("max:f32:9:k3s1d2")
    page.wait_for_timeout(1100)
    page.focus("#ow-stride")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # quick: one step of the history
    assert address_of(page) == "max:f32:9:k3d2"
    for step, name in ((page.go_back, "max:f32:9:k3s1d2"), (page.go_back, "avg:f32:9:k3s2p1"), (page.go_forward, "max:f32:9:k3s1d2"), (page.go_forward, "max:f32:9:k3d2")):
        step()
        expect(page.locator("#ow-name")).to_have_value(name)
    page.evaluate("location.hash = '#ceil-mode'")  # a heading: the problem stays
    page.wait_for_timeout(100)
    assert name_of(page) == "max:f32:9:k3d2"
    page.click("text=Show this with the controls above")
    expect(page.locator("#ow-name")).to_have_value("max:f32:6:k3s2:ceil")


def test_an_invalid_name_shows_the_librarys_text(visit):
    page = visit(INVALID[0])
    error = page.locator(".ow-error").first
    for name in INVALID:
        with pytest.raises(ValueError) as refusal:
            explain(name)
        page.evaluate("(name) => { location.hash = `#${name}`; }", name)
        expect(error).to_have_text(str(refusal.value))
        assert name_of(page) == name
    page.click("nav >> text=padding")
    expect(error).to_be_hidden()
    assert name_of(page) == "avg:f32:7:k3s2p1"


def test_a_control_that_makes_no_pool_shows_the_librarys_text(visit):
    page = visit("max:f32:8:k3s2")
    for label, value in (("Kernel", "9"), ("Kernel", "0"), ("Stride", "-1"), ("Inputs", "2.5")):
        page.fill(f'[aria-label="{label}, as a number"]', value)
        error = page.locator(".ow-error").first.inner_text()
        assert re.match("max_pool: the window must fit|max_pool: kernel must be >= 1|problem name: expected", error), error
        page.fill(f'[aria-label="{label}, as a number"]', "3")
        expect(page.locator(".ow-error").first).to_be_hidden()


# ----------------------------------------------------------------------------------------- code to copy

CODED = [*NAMES[:VALUED], "lp1:f32:9:k2", "lpinf:f32:5:k2s1", "max:f32:30:k3s2", "sum:f32:9:k3s2p1:ceil", "avg:f32:9:k2s1d3", "max:f32:9:k3s1p2", "max:f32:9:k3s1p2d2"]


def test_the_code_computes_what_is_shown(visit):
    torch = pytest.importorskip("torch", reason="NOT CHECKED: the explainer's code; there is no PyTorch")
    page, kinds = visit(), set()
    for name in CODED:
        show(page, name)
        texts = page.locator("[role=option] .ow-result").all_inner_texts()
        shown = [float(text.replace("−", "-").replace("∞", "inf")) for text in texts]
        for title in ("Python", "PyTorch"):
            code, printed = page.inner_text(f'.ow-code[data-title="{title}"] pre'), []
            kinds.update(re.findall(r"\b(F\.\w+|oriel\.\w+)", code))
            exec(compile(code, title, "exec"), {"print": printed.append})
            result = printed[0].numpy() if isinstance(printed[0], torch.Tensor) else printed[0]
            assert result.reshape(-1).shape == (len(shown),), (name, title)
            if "arange" not in code:  # which has other values than the drawing
                np.testing.assert_allclose(result.reshape(-1), shown, rtol=2e-3, err_msg=f"{name} {title}")
    assert kinds >= {"F.max_pool1d", "F.avg_pool1d", "F.avg_pool2d", "oriel.torch", "oriel.max_pool", "oriel.lp_pool"}


def test_links_and_code_are_copied(visit):
    page = visit("max:f32:9:k3s1d2")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { globalThis.copied = text; } } })")
    page.click("text=Copy link")
    assert page.evaluate("globalThis.copied") == page.url.split("#")[0] + "#max:f32:9:k3s1d2"
    page.click('[aria-label="Copy the code for Command"]')
    assert page.evaluate("globalThis.copied") == "oriel explain max:f32:9:k3s1d2"
    expect(page.locator('[aria-label="Copy the code for Command"]')).to_have_text("Copied")
    page.evaluate("() => { document.execCommand = (what) => { globalThis.copied = `${what} ${document.activeElement.value}`; return true; }; }")
    page.evaluate("() => { navigator.clipboard.writeText = async () => { throw new Error('not allowed'); }; }")
    page.click('[aria-label="Copy the code for Command"]')
    assert page.evaluate("globalThis.copied") == "copy oriel explain max:f32:9:k3s1d2"
