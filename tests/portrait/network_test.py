"""ONNX and TensorFlow Lite models in oriel-portrait: the known families, options for others, files that are refused."""

import concurrent.futures
import os
import random
import subprocess

import numpy as np
import pytest
from conftest import COMMAND, disc, seen

if os.environ.get("ORIEL_PORTRAIT_NETWORK_FILES") == "0":
    pytest.skip("NOT TESTED: .onnx and .tflite models; this build has no OpenVINO (scripts/venv.sh portrait)", allow_module_level=True)

import networks
from networks import IMAGENET, prepared
from onnx import helper

PERSON, BEHIND = (180, 60, 90), (40, 200, 250)
ALPHA = disc(240, 320, radius=70, centre=(110, 140))
HALF = (0.5, 0.5, 0.5)


@pytest.fixture
def masks(portrait, save, load, tmp_path):
    """masks(model, *options): that the model cuts out the disc of its colour."""
    def run(model, *options, image=None):
        save("in.png", seen(ALPHA, PERSON, BEHIND) if image is None else image)
        done = portrait("image", "in.png", "out.png", "--model", model, "--json", *options)
        assert np.abs(load("out.png")[..., 3] / 255 - ALPHA).mean() < 0.012, "another mask"
        return done.stdout.decode()
    return run


def families(folder):
    brightest = 250  # of the picture, by which U-2-Net and IS-Net divide
    return {
        "MediaPipe selfie": networks.selfie(folder / "s.tflite", prepared(PERSON)),
        "MediaPipe selfie, landscape": networks.selfie(folder / "l.tflite", prepared(PERSON), height=144),
        "U-2-Net": networks.one(folder / "u.onnx", "input.1", 320, prepared(PERSON, *IMAGENET, most=brightest), outputs=7),
        "IS-Net": networks.one(folder / "i.onnx", "input_image", 1024, prepared(PERSON, HALF, most=brightest), outputs=6),
        "BiRefNet": networks.one(folder / "b.onnx", "input_image", 1024, prepared(PERSON, *IMAGENET), sigmoid=False),
        "MODNet": networks.one(folder / "m.onnx", "input", -1, prepared(PERSON, HALF, HALF), output="output"),
    }


def test_known_families_prepare_the_image_as_they_were_trained(masks, tmp_path):
    for family, model in families(tmp_path).items():
        assert f'"model":"{model} ({family})"' in masks(model), family


def test_birefnet_is_known_by_its_attention_even_if_it_ends_in_a_sigmoid(masks, tmp_path):
    model = networks.one(tmp_path / "b.onnx", "input_image", 1024, prepared(PERSON, *IMAGENET), attention=True)
    assert "BiRefNet" in masks(model)


def test_a_mask_whose_shape_is_changed_after_its_sigmoid_is_no_logits(masks, portrait, tmp_path):
    model = networks.one(tmp_path / "r.onnx", "x", 64, prepared(PERSON), reshaped=True)
    masks(model)
    text = portrait("models", "check", model).stdout.decode()
    assert "sigmoid" not in text and "  output  out [1x1x64x64]\n" in text


def test_free_extents_are_told(portrait, tmp_path):
    model = networks.one(tmp_path / "f.onnx", "x", -1, prepared(PERSON))
    assert "  input   x [1x3x?x?]\n" in portrait("models", "check", model, "--input-size", "96x64").stdout.decode()


def test_other_networks_need_options(masks, refusal, save, tmp_path):
    model = networks.one(tmp_path / "o.onnx", "x", -1, prepared(PERSON, (0.2, 0.3, 0.4), (0.5, 2, 1)), outputs=2, output="first")
    options = ("--mean", "0.2,0.3,0.4", "--scale", "0.5,2,1")
    assert "o.onnx: its input x [1x3x?x?] has no fixed size; allowed: --input-size WIDTHxHEIGHT" in refusal(
        "image", "in.png", "out.png", "--model", model, *options)
    assert f'"model":"{model}"' in masks(model, "--size", "192x160", *options)
    with pytest.raises(AssertionError, match="another mask"):
        masks(model, "--size", "192x160", "--no-person", "background")  # without mean and scale it sees nothing
    text = refusal("image", "in.png", "new.png", "--model", model, "--size", "192x160", "--output", "second")
    assert "--output: 'second' is not an output of o.onnx; allowed: first [1x1x?x?], d1 [1x1x?x?]" in text


def test_a_chosen_output_is_the_mask(masks, tmp_path):
    model = networks.one(tmp_path / "u.onnx", "input.1", 320, prepared(PERSON, *IMAGENET, most=250), outputs=3)
    masks(model, "--output", "out")
    with pytest.raises(AssertionError, match="another mask"):
        masks(model, "--output", "d1", "--fill-holes", "0")


def test_states_of_a_video_go_from_frame_to_frame(portrait, save, refusal, tmp_path):
    model = networks.video_matting(tmp_path / "rvm.onnx", prepared(PERSON))
    frame = seen(disc(96, 128), PERSON, BEHIND)
    options = ("--model", model, "--smooth", "0", "--only-mask", "--threads", "4")
    out = portrait("pipe", "--size", "128x96", *options, input=frame.tobytes() * 6).stdout
    shares = np.frombuffer(out, np.uint8).reshape(6, -1).mean(axis=1) / 255
    assert (shares[:2] == 0).all() and (np.abs(shares[2:] - disc(96, 128).mean()) < 0.02).all(), shares
    assert "no person found" in refusal("image", save("in.png", frame), "out.png", "--model", model)


def test_many_frames_at_once_are_what_they_are_alone(portrait, tmp_path):
    model = networks.selfie(tmp_path / "s.tflite", prepared(PERSON))
    data = np.stack([seen(disc(72, 96, radius=20, centre=(36, 30 + 3 * i)), PERSON, BEHIND) for i in range(12)]).tobytes()
    out = [portrait("pipe", "--size", "96x72", "--model", model, "-t", t, input=data).stdout for t in (1, 4)]
    assert len(out[0]) == 12 * 96 * 72 * 4 and out[0] == out[1]


def test_parts_of_an_image_must_agree_with_the_whole(portrait, save, refusal, tmp_path):
    """A person fills the frame; of a disc in a corner, which one of four parts misses, the others' masks still agree."""
    model = networks.selfie(tmp_path / "s.tflite", prepared(PERSON))
    save("in.png", seen(ALPHA, PERSON, BEHIND))
    report = portrait("image", "in.png", "out.png", "--model", model, "--json").stdout.decode()
    assert '"agreement":0.9' in report
    text = refusal("image", "in.png", "new.png", "--model", model, "--min-agreement", "1")
    assert "no person found: the most likely candidate changes with the part of the image that is looked at: agreement 0.9" in text
    report = portrait("image", "in.png", "keep.png", "--model", model, "--min-agreement", "1", "--no-person", "keep", "--json")
    assert '"found":false' in report.stdout.decode()
    assert "agreement" not in portrait("image", "in.png", "out.png", "--model", model, "--min-agreement", "0", "--json").stdout.decode()
    assert "--min-agreement: 2 is out of range; allowed: from 0 to 1" in refusal(
        "image", "in.png", "new.png", "--min-agreement", "2", code=2)


def bad_models(folder):
    """File and what is said of it."""
    (folder / "text.onnx").write_text("nothing of the kind")
    (folder / "text.tflite").write_text("nothing of the kind")
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "folder.onnx").mkdir()
    good = networks.one(folder / "good.onnx", "x", 64, (0, 0, 0))
    (folder / "half.onnx").write_bytes((folder / good).read_bytes()[:-40])
    (folder / "short.tflite").write_bytes(b"\x10\0\0\0TFL3\0\0\0\0\0\0\0\0")
    nodes, constants = networks.sees("x", (0, 0, 0))
    picture, mask = {"x": (1, 3, 64, 64)}, {"logits": (1, 1, 64, 64)}
    networks.save(folder / "outside.onnx", nodes, picture, mask, constants, save_as_external_data=True, location="w", size_threshold=0)
    networks.save(folder / "large.onnx", nodes, {"x": (1, 3, 64, 100000)}, {"logits": (1, 1, 64, 100000)}, constants)
    networks.save(folder / "two.onnx", [*nodes, helper.make_node("Add", ["x", "y"], ["z"])], {**picture, "y": (1, 3, 64, 64)},
                  {**mask, "z": (1, 3, 64, 64)}, constants)
    networks.save(folder / "three.onnx", [helper.make_node("Relu", ["x"], ["y"])], picture, {"y": (1, 3, 64, 64)}, [])
    networks.save(folder / "sound.onnx", [helper.make_node("Relu", ["x"], ["y"])], {"x": (1, 16000)}, {"y": (1, 16000)}, [])
    networks.save(folder / "unknown.onnx", [helper.make_node("Blur9", ["x"], ["y"], domain="my.own")], picture, {"y": (1, 1, 64, 64)}, [])
    networks.selfie(folder / "unknown.tflite", (0, 0, 0), operation="MyOwnOperation")
    constants[0].dims[1] = 5  # more than its bytes
    networks.save(folder / "sizes.onnx", nodes, picture, mask, constants)
    return {
        "none.onnx": "no such file", "folder.onnx": "not a regular file", "text.onnx": "not an ONNX model",
        "text.tflite": "not a TensorFlow Lite model", "empty.onnx": "the file is empty", "half.onnx": "damaged",
        "short.tflite": "damaged: its first table", "outside.onnx": "keeps weights in another file (external data)",
        "large.onnx": "its input is 100000x64 pixels; allowed: sides from 16 to 4096",
        "two.onnx": "its inputs are x [1x3x64x64], y [1x3x64x64]; allowed: one image of 3 channels",
        "three.onnx": "its output y [1x3x64x64] is not one mask", "sound.onnx": "its inputs are x [1x16000]; allowed",
        "unknown.onnx": "Blur9", "unknown.tflite": "MyOwnOperation", "sizes.onnx": "a tensor in it has 12 bytes, but its shape needs 20",
    }


def test_bad_models_are_one_line_each(refusal, save, tmp_path):
    save("in.png", seen(ALPHA))
    for file, reason in bad_models(tmp_path).items():
        text = refusal("image", "in.png", "out.png", "--model", file)
        assert text.startswith(f"oriel-portrait image: {file}: ") and reason in text and len(text) < 700, text


def test_options_of_networks_are_checked(refusal, save, tmp_path):
    save("in.png", seen(ALPHA))
    model = networks.one(tmp_path / "good.onnx", "x", 64, (0, 0, 0))
    for options, reason in {
        ("--size", "0x10"): "--input-size: '0x10' is not a size", ("--mean", "1,2"): "--mean: '1,2' is not a number or three",
        ("--scale", "1,0,1"): "none of them 0", ("--mean", "nan"): "--mean: 'nan'", ("--mean", "1,2,3,4"): "--mean: '1,2,3,4'"}.items():
        assert reason in refusal("image", "in.png", "out.png", "--model", model, *options, code=2)
    assert "--input-size: 32x32 is not the size of good.onnx; allowed: 64x64" in refusal(
        "image", "in.png", "out.png", "--model", model, "--size", "32x32")
    assert "--device: good.onnx runs on the CPU only" in refusal("image", "in.png", "out.png", "--model", model, "--device", "cuda")
    assert "--mean: not for the demo model" in refusal("image", "in.png", "out.png", "--mean", "1")


def altered(data, seed):
    """Some bytes are others, or the end is missing."""
    rng, changed = random.Random(seed), bytearray(data)
    for _ in range(rng.choice((1, 3, 20))):
        changed[rng.randrange(len(changed))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(changed[:rng.randrange(len(changed))] if seed % 8 == 0 else changed)


@pytest.mark.parametrize("ending", ["onnx", "tflite"])
def test_altered_models_end_no_program(tmp_path, ending):
    make = networks.selfie if ending == "tflite" else lambda path, colour: networks.one(path, "x", 64, colour)
    good = (tmp_path / make(tmp_path / f"good.{ending}", (0, 0, 0))).read_bytes()

    def try_one(seed):
        file = tmp_path / f"{seed}.{ending}"
        file.write_bytes(altered(good, seed))
        done = subprocess.run([COMMAND, "models", "check", file], capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, 1), (seed, done)
        assert (done.returncode == 0) == (done.stderr == ""), (seed, done)
        assert done.stderr.count("\n") == done.returncode, (seed, done)
        return done.returncode

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(try_one, range(16)))
    assert 1 in codes


def test_a_model_that_ends_its_reader_ends_nothing_else(refusal, save, tmp_path):
    """The process that tries a model may not have the memory that this one asks for."""
    nodes, constants = networks.sees("x", (0, 0, 0))
    shape = networks.constant("shape", (4, 8, 9000, 9000), np.int64)
    nodes += [helper.make_node("ReduceMax", ["logits"], ["most"]), helper.make_node("Expand", ["most", "shape"], ["huge"]),
              helper.make_node("Exp", ["huge"], ["power"]), helper.make_node("ReduceMax", ["power"], ["peak"]),
              helper.make_node("Mul", ["logits", "peak"], ["mask"])]
    model = networks.save(tmp_path / "bomb.onnx", nodes, {"x": (1, 3, 64, 64)}, {"mask": (1, 1, 64, 64)}, [*constants, shape])
    save("in.png", seen(ALPHA))
    assert "bomb.onnx: " in refusal("image", "in.png", "out.png", "--model", model)
