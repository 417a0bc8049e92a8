"""Help, completion scripts and the manual of oriel-portrait."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

COMMANDS = ["image", "folder", "pipe", "video", "camera", "serve", "compare", "models", "completion"]


def long_options(portrait, command):
    return set(re.findall(r"(--[a-z][a-z-]+)", portrait(command, "--help").stdout.decode().split("\nExamples:")[0])) - {"--help"}


def test_the_manual_names_every_command_and_option(portrait):
    page = (Path(__file__).parents[2] / "apps/portrait/oriel-portrait.1").read_text().replace("\\-", "-")
    for command in COMMANDS:
        assert f"oriel-portrait {command}" in page
        for option in long_options(portrait, command):
            assert option in page, option


def test_the_manual_is_well_formed(tmp_path):
    if shutil.which("man") is None:
        pytest.skip("man is not installed: the manual was only looked at, not set")
    page = Path(__file__).parents[2] / "apps/portrait/oriel-portrait.1"
    done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, check=True)
    assert done.stderr == b"" and b"WHAT" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_valid(portrait, tmp_path, shell):
    script = portrait("completion", shell).stdout.decode()
    for command in COMMANDS:
        assert command in script
        for option in long_options(portrait, command):
            assert option in script or "-l " + option[2:] in script, option
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: its script was only looked at, not run")
    (tmp_path / "script").write_text(script)
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)


@pytest.mark.parametrize("words, wanted", [
    (["oriel-portrait", "im"], ["image"]),
    (["oriel-portrait", "image", "--back"], ["--background"]),
    (["oriel-portrait", "video", "--no-person", "b"], ["background"]),
    (["oriel-portrait", "image", "--mask", "sc"], ["script"]),
    (["oriel-portrait", "folder", "sc"], ["script"]),
    (["oriel-portrait", "completion", "f"], ["fish"]),
])
def test_bash_completes(portrait, tmp_path, words, wanted):
    (tmp_path / "script").write_bytes(portrait("completion", "bash").stdout)
    line = f"source ./script; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _oriel_portrait; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.decode().split() == wanted


def test_unknown_shells_and_commands_are_one_line(refusal):
    assert refusal("completion", "tcsh", code=2).startswith("oriel-portrait completion: ")
    assert "'cut' is not a subcommand; allowed: image, folder" in refusal("cut", code=2)
