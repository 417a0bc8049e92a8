"""bench/portrait_speed.py measures a few frames and requests, and the page has what it measured."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LACKS = [name for name in ("VIDEOS", "SERVES", "NETWORKS") if os.environ.get(f"ORIEL_PORTRAIT_{name}") == "0"]


@pytest.mark.skipif(bool(LACKS) or not shutil.which("ffmpeg"), reason=f"NOT TESTED: the speed of portraits; missing: {LACKS or 'ffmpeg'}")
def test_measures_and_writes(tmp_path):
    for package in ("skimage", "matplotlib"):
        pytest.importorskip(package, reason=f"NOT TESTED: the speed of portraits; there is no {package}")
    results = tmp_path / "results.json"
    subprocess.run([sys.executable, ROOT / "bench/portrait_speed.py", results, "--models", "drawn", "--runs", "1", "--frames", "4", "--seconds", "1"], check=True)
    found = json.loads(results.read_text())
    drawn = found["models"]["drawn"]
    assert 0 < drawn["image"]["cut"] < drawn["image"]["program"]
    assert all(drawn[kind][behind]["rate"] > 0 for kind in ("video", "pipe") for behind in ("#00ff00", "blur:20"))
    assert drawn["pipe"]["blur:20"]["stages"]["matte"] > 0
    assert drawn["serve"]["answers"] >= 50 and drawn["serve"]["errors"] == 0

    for folder, name in (("scripts", "portrait_speed_page.py"), ("scripts", "marked_part.py"), ("docs", "portrait.md")):
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(ROOT / folder / name, tmp_path / folder / name)
    drawn["image"]["cut"], drawn["pipe"]["blur:20"]["rate"] = 0.0123, 45.6
    results.write_text(json.dumps(found))
    subprocess.run([sys.executable, tmp_path / "scripts/portrait_speed_page.py", results], check=True)
    page, before = ((folder / "docs/portrait.md").read_text() for folder in (tmp_path, ROOT))
    assert "| `image`, 512x600: cutting out | 12 ms |\n" in page and "| `pipe`, 1280x720, `blur:20` behind | 46 frames a second |\n" in page
    for mark, part in (("<!-- speed: begin -->", 0), ("<!-- speed: end -->", 2)):
        assert page.partition(mark)[part] == before.partition(mark)[part]
