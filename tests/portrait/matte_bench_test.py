"""bench/matte.py measures what it says on images whose alpha is exact, and the page is written from what it measured."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import COMMAND, disc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
pytest.importorskip("skimage", reason="scikit-image, whose photographs are backgrounds, is not there: the matte benchmark is NOT tested")
import matte  # noqa: E402
import matte_subjects as subjects  # noqa: E402


def test_errors_are_what_they_are_called():
    alpha = disc(80, 90).astype(np.float32)
    unknown = (alpha > 0) & (alpha < 1)
    assert set(matte.errors(alpha, alpha, unknown).values()) == {0.0}
    worse = matte.errors(np.clip(alpha + 0.25, 0, None), alpha, unknown)
    assert worse["sad"] == pytest.approx(0.25 * unknown.sum() / 1e3, rel=1e-5)
    assert worse["mse"] == pytest.approx(62.5, rel=1e-5)
    everything = np.ones(alpha.shape, bool)
    assert matte.outline_error(alpha, alpha, everything) == 0
    larger = disc(80, 90, radius=80 / 3 + 4)
    assert matte.outline_error(larger, alpha, everything) == pytest.approx(4 * 512 / 90, rel=0.1)


def test_subjects_are_mixed_by_their_alpha():
    kinds = set()
    for number in range(len(subjects.KINDS)):
        kind, image, alpha, colours = subjects.subject(number)
        kinds.add(kind)
        inside, mixed = alpha >= 1, (alpha > 0.05) & (alpha < 0.95)
        assert inside.sum() > 10_000 and mixed.sum() > 500 and (alpha <= 0).sum() > 50_000, kind
        assert np.abs(image / 255 - colours)[inside].mean() < 2 / 255, kind
        known = subjects.trimap(alpha) != 0.5
        assert set(np.unique(alpha[known])) <= {0.0, 1.0}, kind
        assert np.abs(matte.enlarged(subjects.rough_mask(alpha, number), alpha.shape) - alpha).mean() < 0.06, kind
    assert kinds == set(subjects.KINDS)
    assert (subjects.subject(3)[1] == subjects.subject(3)[1]).all()


def test_measures_and_writes(tmp_path):
    results = tmp_path / "results.json"
    done = subprocess.run([sys.executable, ROOT / "bench" / "matte.py", "--command", COMMAND, "--count", "1", "--threads", "2", "--json", results],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "PyMatting (--peers): NOT measured" in done.stderr and "photographs (--selfie): NOT measured" in done.stderr
    found = json.loads(results.read_text())
    (mask,), (fast,), (fine,) = (found["masks"][method] for method in ("mask", "fast", "fine"))
    (drawn,) = found["trimaps"]["Oriel"]
    assert drawn["sad"] < fine["sad"] < fast["sad"] < 1.1 * mask["sad"]
    assert found["colours"]["Oriel"] < found["colours"]["left as they are"] / 2

    for folder, name in (("scripts", "matte_page.py"), ("scripts", "marked_part.py"), ("docs", "portrait.md")):
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(ROOT / folder / name, tmp_path / folder / name)
    fine["sad"], found["photographs"] = 12.5, {"x": {"title": "somebody", "mask": 9.0, "fast": 5.0, "fine": 4.04, "fine_seconds": 0.05}}
    results.write_text(json.dumps(found))
    subprocess.run([sys.executable, tmp_path / "scripts" / "matte_page.py", results], check=True)
    page, before = (tmp_path / "docs" / "portrait.md").read_text(), (ROOT / "docs" / "portrait.md").read_text()
    assert "| `--matte fine` | 12.50 |" in page and "| somebody | 9.0 | 5.0 | 4.0 | 50 ms |" in page
    mark = "<!-- matte: begin -->"
    assert page.partition(mark)[0] == before.partition(mark)[0]
    assert page.partition("<!-- matte: end -->")[2] == before.partition("<!-- matte: end -->")[2]
