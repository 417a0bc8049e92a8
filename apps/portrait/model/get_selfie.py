"""Installs MediaPipe's selfie models: get_selfie.py FOLDER. The program runs this text with a Python that has pip.

The wheel is downloaded by its exact version, checked by its SHA-256, and the models in it by theirs. They appear in the
folder whole or not at all. An error is one line, without this script's name.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

WHEEL = "mediapipe==0.10.14"
SHA256 = "a807328339e7356fda0bb14df12fedbf1d33bdf81649c5f8666b0026b1cc30b4"
PLATFORM = ("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--platform", "manylinux2014_x86_64")
INSIDE = "mediapipe/modules/selfie_segmentation/"
MODELS = {
    "selfie_segmentation.tflite": "9ee168ec7c8f2a16c56fe8e1cfbc514974cbbb7e434051b455635f1bd1462f5c",
    "selfie_segmentation_landscape.tflite": "a77d03f4659b9f6b6c1f5106947bf40e99d7655094b6527f214ea7d451106edd",
}


def fail(text):
    sys.exit(" ".join(text.split()))


def download(folder):
    """The wheel's path. pip leaves a file in `folder` only if it has the SHA-256 asked for."""
    wanted = os.path.join(folder, "wanted.txt")
    with open(wanted, "w") as file:
        file.write(f"{WHEEL} --hash=sha256:{SHA256}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
         "--require-hashes", *PLATFORM, "--dest", folder, "-r", wanted], capture_output=True, text=True)
    said = done.stderr + done.stdout
    if "No module named pip" in said:
        fail(f"{sys.executable} has no pip; allowed: --python PYTHON for one that has it")
    if "DO NOT MATCH" in said:
        fail(f"the file that came for {WHEEL} does not have the SHA-256 {SHA256[:16]}...; nothing was installed")
    if done.returncode != 0:
        lines = [line for line in said.splitlines() if line.startswith("ERROR")] or said.splitlines()[-1:]
        fail(f"pip cannot download {WHEEL} ({(lines or ['no message'])[-1].removeprefix('ERROR: ')[:200]}); nothing was installed")
    wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
    if len(wheels) != 1:
        fail(f"pip brought {len(wheels)} files for {WHEEL}; allowed: 1")
    return os.path.join(folder, wheels[0])


def checked(data, sha256, name):
    if hashlib.sha256(data).hexdigest() != sha256:
        fail(f"{name} does not have the SHA-256 {sha256[:16]}...; nothing was installed")
    return data


def write(folder, contents):
    """All files beside their places first, then each renamed."""
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as beside:
        for name, data in contents.items():
            with open(os.path.join(beside, name), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for name in contents:
            os.replace(os.path.join(beside, name), os.path.join(folder, name))


def main(folder):
    with tempfile.TemporaryDirectory(prefix="oriel-") as work:
        with open(download(work), "rb") as file:
            checked(file.read(), SHA256, WHEEL)
            with zipfile.ZipFile(file) as wheel:
                contents = {name: checked(wheel.read(INSIDE + name), sha256, name) for name, sha256 in MODELS.items()}
    try:
        write(folder, contents)
    except OSError as e:
        fail(f"{folder}: {e.strerror or e}; nothing was installed")


if __name__ == "__main__":
    main(sys.argv[1])
