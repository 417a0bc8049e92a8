"""`oriel-portrait models`: what is there, and MediaPipe's selfie models from PyPI."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import COMMAND, disc, get_selfie, seen
from PIL import Image

WHEEL = "mediapipe-0.10.14-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
RUNS = os.environ.get("ORIEL_PORTRAIT_NETWORK_FILES") != "0"


def listed(portrait, data):
    found = json.loads(portrait("models", "--json", env={"XDG_DATA_HOME": str(data)}).stdout)
    return {model["name"]: model for model in found["models"]}


def test_what_is_there(portrait, tmp_path):
    models = listed(portrait, tmp_path / "data")
    assert list(models) == ["selfie", "selfie-landscape", "drawn"]
    assert [m["installed"] for m in models.values()] == [False, False, True] and models["drawn"]["default"]
    text = portrait("models", env={"XDG_DATA_HOME": str(tmp_path / "data")}).stdout.decode()
    assert "`oriel-portrait models get selfie` installs" in text and "Apache-2.0" in text
    folder = tmp_path / "data/oriel/models"
    folder.mkdir(parents=True)
    (folder / "mine.onnx").write_bytes(b"12345")
    (folder / "notes.txt").write_bytes(b"12345")
    models = listed(portrait, tmp_path / "data")
    assert models["mine.onnx"]["bytes"] == 5 and models["mine.onnx"]["licence"] == "unknown" and len(models) == 4
    assert models["drawn"]["default"]  # a file of the user's is never chosen by itself
    if RUNS:  # but by its name
        done = subprocess.run([COMMAND, "models", "check", "mine.onnx"], capture_output=True, text=True,
                              env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")}, cwd=tmp_path)
        assert done.returncode == 1 and "mine.onnx: not an ONNX model" in done.stderr


def test_names_that_are_not_installed(refusal, save):
    save("in.png", seen(disc(60, 80)))
    text = refusal("image", "in.png", "out.png", "--model", "selfie")
    assert text == "oriel-portrait image: --model: selfie is not installed; 'oriel-portrait models get selfie' installs it"
    assert "u2net" in refusal("models", "get", "u2net", code=2)


def test_the_demo_model_names_a_better_one(portrait, save):
    save("in.png", seen(disc(60, 80)))
    done = portrait("image", "in.png", "out.png", "--no-person", "keep")
    better = "'oriel-portrait models get selfie'" if RUNS else "'make portrait-models' in Oriel's source folder"
    assert f"the demo model is weak on photographs; {better} installs a better one" in done.stdout.decode()
    done = portrait("image", "in.png", "out.png", "--no-person", "keep", "--model", "drawn")
    assert b"weak" not in done.stdout


def nothing_there(data):
    return not [path for path in data.rglob("*") if path.is_file()]


def test_downloads_that_fail_leave_nothing(tmp_path):
    data = tmp_path / "data"
    offline = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_NO_INDEX": "0"}
    for words, environment in {
        ("pip cannot download mediapipe==0.10.14", "nothing was installed"): offline,
        ("does not have the SHA-256 a807328339e7356f", "nothing was installed"): {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)},
    }.items():
        with zipfile.ZipFile(tmp_path / WHEEL, "w") as other:
            other.writestr("mediapipe-0.10.14.dist-info/METADATA", "Metadata-Version: 2.1\nName: mediapipe\nVersion: 0.10.14\n")
            other.writestr("mediapipe-0.10.14.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_17_x86_64\n")
            other.writestr("mediapipe/modules/selfie_segmentation/selfie_segmentation.tflite", b"not the model")
        done = get_selfie(data, **environment)
        assert done.returncode == 1 and done.stderr.startswith("oriel-portrait models: get selfie: ") and done.stderr.count("\n") == 1, done
        assert all(word in done.stderr for word in words), done.stderr
        assert nothing_there(data)


def test_pythons_that_cannot_download(refusal):
    text = refusal("models", "get", "selfie", "--python", "no-such-python", code=1)
    assert "--python: 'no-such-python': cannot be started: No such file or directory; allowed: a Python with pip" in text
    assert "false ended without a message" in refusal("models", "get", "selfie", "--python", "false")


def test_a_data_folder_without_room(tmp_path, installed):
    """The script writes the models, and they are larger than a file may be."""
    script = Path(__file__).parents[2] / "apps/portrait/model/get_selfie.py"
    program = ("import runpy, signal, resource, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
               "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)); "
               f"script = runpy.run_path({str(script)!r}); files = {{n: b'0' * 250_000 for n in script['MODELS']}}\n"
               "try:\n  script['write'](sys.argv[1], files)\nexcept OSError as e: print(e.strerror)")
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "data"], capture_output=True, text=True)
    assert done.stdout == "File too large\n" and nothing_there(tmp_path / "data"), done
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = get_selfie(blocked)
    assert done.returncode == 1 and "Not a directory; nothing was installed" in done.stderr and done.stderr.count("\n") == 1


def test_the_selfie_model_is_the_default_once_it_is_installed(portrait, installed):
    models = listed(portrait, installed)
    assert models["selfie"]["installed"] and models["selfie"]["bytes"] == 249505 and models["selfie"]["licence"] == "Apache-2.0"
    assert models["selfie"]["default"] == RUNS and models["drawn"]["default"] == (not RUNS)
    assert sorted(path.name for path in Path(models["selfie"]["path"]).parent.iterdir()) == [
        "selfie_segmentation.tflite", "selfie_segmentation_landscape.tflite"]


@pytest.mark.skipif(not RUNS, reason="NOT TESTED: the selfie model on photographs; this build has no OpenVINO")
def test_photographs_of_people_and_of_none(portrait, installed, tmp_path):
    data = pytest.importorskip("skimage.data", reason="NOT TESTED: photographs; there is no scikit-image")
    matplotlib = pytest.importorskip("matplotlib", reason="NOT TESTED: photographs; there is no matplotlib")
    sys.path.insert(0, str(Path(__file__).parents[2] / "apps/portrait/training"))
    photographs = pytest.importorskip("photographs")
    assert matplotlib
    found = {}
    (tmp_path / "in").mkdir()
    names = ["astronaut", "camera", "coffee", "rocket", "chelsea", "coins", "brick", "grass", "gravel", "moon", "page", "horse"]
    for name in names:
        picture = np.asarray(getattr(data, name)())
        Image.fromarray(picture.astype(np.uint8) * (255 if picture.dtype == bool else 1)).convert("RGB").save(tmp_path / f"in/{name}.png")
    Image.fromarray(photographs.load("grace_hopper")[0]).save(tmp_path / "in/grace_hopper.png")
    done = portrait("folder", "in", "out", "--only-mask", "--json", env={"XDG_DATA_HOME": str(installed)}, code=1)
    found = sorted(path.stem for path in (tmp_path / "out").iterdir())
    assert found == ["astronaut", "camera", "grace_hopper"], done.stdout
    for name, least in {"astronaut": 0.95, "camera": 0.9, "grace_hopper": 0.97}.items():
        _, alpha, counted, _ = photographs.load(name)
        mask, person = np.asarray(Image.open(tmp_path / f"out/{name}.png")) > 127, alpha > 0.5
        assert (mask & person & counted).sum() / ((mask | person) & counted).sum() >= least, name


def test_without_home_and_data_folder(portrait, refusal, save):
    nowhere = {"XDG_DATA_HOME": "", "HOME": ""}
    portrait("image", save("in.png", seen(disc(60, 80))), "out.png", "--no-person", "keep", env=nowhere)
    assert "x.onnx: no such file" in refusal("image", "in.png", "new.png", "--model", "x.onnx", env=nowhere) or not RUNS
    text = refusal("models", env=nowhere)
    assert "neither XDG_DATA_HOME nor HOME names a folder" in text


def test_nothing_in_the_working_folder_is_a_default_or_hides_a_name(portrait, save, tmp_path):
    """A file that is named and as large as the selfie model, without a data folder; a folder that has a model's name."""
    (tmp_path / "selfie_segmentation.tflite").write_bytes(bytes(249505))
    (tmp_path / "drawn").mkdir()
    report = portrait("image", save("in.png", seen(disc(60, 80))), "out.png", "--no-person", "keep", "--json",
                      env={"XDG_DATA_HOME": "", "HOME": ""}).stdout.decode()
    assert "the demo model is weak on photographs" in report and "selfie_segmentation" not in report
    portrait("image", "in.png", "named.png", "--no-person", "keep", "--model", "drawn")
