"""bench/portrait_peers.py measures each program by its files and processes, and the page has what it measured. The programs are stand-ins."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "apps/portrait/training")]
pytest.importorskip("skimage", reason="NOT TESTED: portraits beside other programs; there is no scikit-image")
import photographs  # noqa: E402
import portrait_peers  # noqa: E402
from measures import page_measures  # noqa: E402

# Both the other programs' Python and oriel-portrait: cuts out the outlines drawn by hand, but rembg everything and Oriel no cup.
STAND_IN = """#!{python}
import json, shutil, sys, time
from pathlib import Path
words = sys.argv[1:]
if words[0] == "-c":
    print(json.dumps({{name: "1.2.3" for name in words[2:]}}))
elif words[0] == "models":
    print(json.dumps({{"models": [{{"name": "selfie", "installed": {installed}, "path": "selfie.tflite"}}]}}))
elif words[0].endswith("selfie_onnx.py"):
    assert words[1] == "selfie.tflite" and len(words) == 9, words
    Path(words[2]).write_text("a model")
    print(3.3e-5)
else:
    ours = words[0] in ("image", "folder")
    model = Path(words[words.index("--model") + 1] if ours else words[2])
    assert str(model) == "selfie" or words[1] == "mediapipe" or model.read_text() == "a model"
    if ours:
        paths = [Path(words[1])] if words[0] == "image" else sorted(Path(words[1]).iterdir())
        made = [Path(words[2])] if words[0] == "image" else [Path(words[2]) / p.name for p in paths]
    else:
        paths = [Path(p) for p in words[5:]]
        made = [Path(words[3]) / p.name for p in paths]
    time.sleep(0.1 if ours else 0.02 * len(paths))
    for path, out in zip(paths, made):
        if ours and path.stem == "coffee":
            sys.exit(1)
        everything = path.stem[0].isdigit() or words[1] == "rembg"
        from PIL import Image
        image = Image.open(path).convert("RGB")
        image.putalpha(255 if everything else Image.open(Path({alphas!r}) / path.name))
        image.save(out, compress_level=1)
    print(json.dumps({{"seconds": {{"segment": 0.004}}}}) if ours else json.dumps([0.007, 0.005]))
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """stand_in(installed): a program that takes the place of all."""
    alphas = tmp_path / "alphas"
    alphas.mkdir()
    for name in photographs.names():
        Image.fromarray((photographs.load(name)[1] * 255).astype(np.uint8)).save(alphas / f"{name}.png")

    def make(installed=True):
        path = tmp_path / "stand_in"
        path.write_text(STAND_IN.format(python=sys.executable, alphas=str(alphas), installed=installed))
        path.chmod(0o755)
        monkeypatch.setattr(portrait_peers, "COMMAND", str(path))
        return str(path)

    return make


def measure(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["portrait_peers", *map(str, words)])
    portrait_peers.main()


def test_measures_and_writes(tmp_path, stand_in, monkeypatch):
    results, sheet = tmp_path / "results.json", tmp_path / "sheet.jpg"
    monkeypatch.setattr(portrait_peers, "COPIES", 4)
    measure(monkeypatch, results, "--peers", stand_in(), "--runs", 1, "--sheet", sheet)
    found = json.loads(results.read_text())
    _, alpha, counted, _ = photographs.load("camera")
    rembg, ours = found["programs"]["rembg"], found["programs"]["oriel"]
    assert ours["people"]["camera"]["iou"] == 1 and ours["people"]["camera"]["boundary"] == 0
    assert rembg["people"]["camera"]["iou"] == pytest.approx(((alpha > 0.5) & counted).sum() / counted.sum())
    assert rembg["people"]["camera"]["agrees"] == pytest.approx((alpha > 0.5).mean(), abs=1e-3)
    assert rembg["nobody"] == {"coffee": 1, "rocket": 1, "chelsea": 1} and ours["nobody"] == {"coffee": None, "rocket": 0, "chelsea": 0}
    assert rembg["mask"] == 0.005 and ours["mask"] == 0.004
    assert all(about["one"] > 0 and about["memory"] > 1e6 for about in found["programs"].values())
    with Image.open(sheet) as picture:
        seen = np.asarray(picture).astype(int)
    side = portrait_peers.TILE
    assert seen.shape[1] == (1 + len(portrait_peers.TITLES)) * side
    row = 26 + sum(round(side * h / w) + 18 for h, w in (photographs.load(name)[0].shape[:2] for name in portrait_peers.PEOPLE))
    column = list(portrait_peers.TITLES).index("oriel") + 1
    assert abs(seen[row + 20, column * side + 20] - 225).max() < 6, "a grey tile if there is no person"
    person = [side * list(portrait_peers.TITLES).index(name) + side + 12 for name in ("oriel", "rembg")]
    assert abs(seen[40, person[0]] - portrait_peers.BEHIND).max() < 12 < abs(seen[40, person[1]] - portrait_peers.BEHIND).max()

    for folder, name in (("scripts", "portrait_peers_page.py"), ("scripts", "marked_part.py"), ("docs", "portrait-selfie.md")):
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(ROOT / folder / name, tmp_path / folder / name)
    shutil.copytree(ROOT / "apps/portrait/training", tmp_path / "apps/portrait/training")
    rembg.update({"one": 1.2, "further": 0.345, "mask": 0.0123, "memory": 234e6})
    results.write_text(json.dumps(found))
    subprocess.run([sys.executable, tmp_path / "scripts" / "portrait_peers_page.py", results], check=True)
    page, before = (tmp_path / "docs" / "portrait-selfie.md").read_text(), (ROOT / "docs" / "portrait-selfie.md").read_text()
    assert "| rembg, the same file | 1200 ms | 345 ms | 12 ms | 234 MB |\n" in page
    assert "| Oriel, `--model selfie` | 1.000; 0.0 | 1.000; 0.0 | 1.000; 0.0 | 1.000 | nothing | 0 % | 0 % |\n" in page
    assert "differ by at most 3e-05" in page and "rembg 1.2.3" in page
    for mark, part in (("<!-- peers: begin -->", 0), ("<!-- peers: end -->", 2)):
        assert page.partition(mark)[part] == before.partition(mark)[part]


def test_without_the_selfie_model(tmp_path, stand_in, monkeypatch):
    with pytest.raises(SystemExit, match="the selfie model is not installed; `oriel-portrait models get selfie`"):
        measure(monkeypatch, tmp_path / "results.json", "--peers", stand_in(installed=False))
    assert not (tmp_path / "results.json").exists()


def test_page_measures_scale_the_outline_error():
    alpha = np.zeros((100, 256), np.float32)
    alpha[30:70, 100:160] = 1
    found = page_measures(np.roll(alpha, 3, axis=1), alpha, np.ones(alpha.shape, bool))
    twice = page_measures(np.roll(alpha, 3, axis=1).repeat(2, 0).repeat(2, 1), alpha.repeat(2, 0).repeat(2, 1), np.ones((200, 512), bool))
    assert found["iou"] == pytest.approx(57 / 63) == twice["iou"]
    assert found["boundary"] == pytest.approx(twice["boundary"], rel=0.1) and found["boundary"] > 0
