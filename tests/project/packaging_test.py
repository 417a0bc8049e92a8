"""The scripts of packages and releases: dependencies of wheels, versions that agree, bills of materials; and the recipes."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
VERSION = re.search(r"project\(oriel VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
RECIPES = ROOT / "packaging"


def program(folder, name, text):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def run(*command, **environment):
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, env={**os.environ, **environment})


# What a wheel is built with.


@pytest.fixture
def dependencies(tmp_path):
    """dependencies(*words): runs wheel_dependencies.sh with a list of three small archives, and a cmake that writes its words."""
    server = tmp_path / "server"
    server.mkdir()
    rows = []
    for name in ("highway", "fmt", "oneTBB"):
        with tarfile.open(server / f"{name}.tgz", "w:gz") as archive:
            text = f"project({name})".encode()
            member = tarfile.TarInfo(f"{name}-1.0/CMakeLists.txt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
        rows.append(f"{name} 1.0 missing https://example.invalid/{name}.tgz")
    (tmp_path / "list.txt").write_text("# A comment.\n" + "\n".join(rows) + "\n")
    bin = tmp_path / "bin"
    program(bin, "cmake", f'echo "$*" >> {tmp_path}/built')
    program(bin, "curl", f'for word; do last=$word; done; while [ "$1" != --output ]; do shift; done; cp {server}/"${{last##*/}}" "$2"')

    def call(*words):
        return run("sh", SCRIPTS / "wheel_dependencies.sh", *words, PATH=f"{bin}:{os.environ['PATH']}",
                   ORIEL_DEPENDENCIES=str(tmp_path / "list.txt"))

    call.list = tmp_path / "list.txt"
    call.built = tmp_path / "built"
    return call


def test_an_archive_without_a_sum_is_refused(dependencies):
    result = dependencies("/nowhere")
    assert result.returncode == 1 and not dependencies.built.exists()
    assert "highway 1.0: " in result.stderr and "has no SHA-256 of it; run scripts/wheel_dependencies.sh --update" in result.stderr


def test_sums_are_written_and_then_everything_is_built(dependencies, tmp_path):
    assert dependencies("--update").returncode == 0
    lines = dependencies.list.read_text().splitlines()
    assert lines[0] == "# A comment."
    for line in lines[1:]:
        name, version, digest, address = line.split()
        assert (version, address) == ("1.0", f"https://example.invalid/{name}.tgz")
        assert digest == hashlib.sha256((tmp_path / "server" / f"{name}.tgz").read_bytes()).hexdigest()
    result = dependencies("/a/prefix")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "/a/prefix holds highway 1.0, fmt 1.0, oneTBB 1.0"
    calls = dependencies.built.read_text().splitlines()
    assert len(calls) == 9
    configured = [call for call in calls if "-DCMAKE_INSTALL_PREFIX=/a/prefix" in call]
    assert ["-DBUILD_SHARED_LIBS=ON" in call for call in configured] == [False, False, True]


def test_an_archive_with_another_sum_is_refused(dependencies):
    dependencies("--update")
    text = dependencies.list.read_text()
    dependencies.list.write_text(re.sub(r"(?m)^(oneTBB 1.0) [0-9a-f]{64}", rf"\1 {'0' * 64}", text))
    result = dependencies("/a/prefix")
    assert result.returncode == 1 and not dependencies.built.exists()
    assert "oneTBB 1.0: the archive's SHA-256 is " in result.stderr and f"has {'0' * 64}; nothing was built" in result.stderr


@pytest.mark.parametrize("words", [(), ("--nonsense",)])
def test_wheel_dependencies_wants_a_prefix(dependencies, words):
    result = dependencies(*words)
    assert result.returncode == 2 and result.stderr.startswith("usage: ")


def test_the_list_has_an_archive_of_each():
    rows = [line.split() for line in (SCRIPTS / "wheel_dependencies.txt").read_text().splitlines() if not line.startswith("#")]
    assert [row[0] for row in rows] == ["highway", "fmt", "oneTBB"]
    for name, version, digest, address in rows:
        assert re.fullmatch(r"missing|[0-9a-f]{64}", digest), name
        assert address.startswith("https://") and version in address, name


# Versions.


def release_check(*words, root=ROOT):
    return run(sys.executable, SCRIPTS / "release_check.py", "--root", root, *words)


@pytest.fixture
def release(tmp_path):
    """A small repository of git in which everything is ready for a release, and its source archive."""
    root = tmp_path / "repository"
    for name in ("CMakeLists.txt", "CITATION.cff", "include/oriel/version.h", "pyproject.toml", "packaging"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, root / name)
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n## [{VERSION}] - 2026-12-01\n\n- All.\n\n## [0.0.1] - 2025-01-31\n")
    citation = re.sub(r"(?m)^date-released.*\n", "", (root / "CITATION.cff").read_text())
    (root / "CITATION.cff").write_text(citation + "date-released: 2026-12-01\n")
    git = ["git", "-C", root, "-c", "user.name=x", "-c", "user.email=x@example.invalid", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "All"]):
        subprocess.run([*git, *words], check=True)
    return root


def sdist(root, added=(), changed=(), left_out=()):
    """Writes the source archive of what the repository holds, with faults."""
    path = root.parent / f"oriel_pool-{VERSION}.tar.gz"
    files = subprocess.run(["git", "-C", root, "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    with tarfile.open(path, "w:gz") as archive:
        for name in [*files, "PKG-INFO", *added]:
            if name in left_out:
                continue
            text = (root / name).read_bytes() if name in files else b"x"
            member = tarfile.TarInfo(f"oriel_pool-{VERSION}/{name}")
            text += b"?" if name in changed else b""
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return path


def test_this_tree_has_one_version():
    result = release_check()
    assert (result.returncode, result.stdout) == (0, f"release_check: {VERSION}: everything agrees\n"), result.stdout + result.stderr


def test_a_release_passes(release):
    result = release_check("--tag", f"v{VERSION}", "--sdist", sdist(release), root=release)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("file, old, new, said", [
    ("CHANGELOG.md", "2026-12-01", "unreleased", f"CHANGELOG.md: the date of [{VERSION}] is 'unreleased'; allowed: YYYY-MM-DD"),
    ("CHANGELOG.md", f"[{VERSION}]", "[9.9.9]", f"CHANGELOG.md: no section '## [{VERSION}] - DATE'"),
    ("CITATION.cff", "2026-12-01", "2026-12-02", "CITATION.cff: date-released is 2026-12-02; CHANGELOG.md has 2026-12-01"),
    ("CITATION.cff", f"version: {VERSION}", "version: 9.9.9", f"CITATION.cff: version 9.9.9; CMakeLists.txt has {VERSION}"),
    ("packaging/debian/changelog", f"({VERSION}-", "(9.9.9-", f"packaging/debian/changelog: version 9.9.9; CMakeLists.txt has {VERSION}"),
    ("packaging/vcpkg/oriel/vcpkg.json", VERSION, "9.9.9", f"packaging/vcpkg/oriel/vcpkg.json: version 9.9.9; CMakeLists.txt has {VERSION}"),
    ("include/oriel/version.h", "MINOR 2", "MINOR 9", f"include/oriel/version.h: version 0.9.0; CMakeLists.txt has {VERSION}"),
])
def test_what_disagrees_is_named(release, file, old, new, said):
    text = (release / file).read_text()
    assert old in text
    (release / file).write_text(text.replace(old, new))
    result = release_check("--tag", f"v{VERSION}", root=release)
    assert result.returncode == 1
    assert said in result.stdout.splitlines()
    assert f"git: 1 files are changed or new, such as M {file}; allowed: none" in result.stdout.splitlines()


def test_another_tag_is_refused(release):
    result = release_check("--tag", "v9.9.9", root=release)
    assert (result.returncode, result.stdout) == (1, f"tag v9.9.9; allowed: v{VERSION}, as CMakeLists.txt says\n")


def test_a_source_archive_with_faults_is_refused(release):
    path = sdist(release, added=["secret.txt"], changed=["pyproject.toml"], left_out=["CITATION.cff", "PKG-INFO"])
    result = release_check("--sdist", path, root=release)
    assert result.returncode == 1
    assert result.stdout.splitlines() == [f"{path.name}: {line}" for line in (
        "no PKG-INFO", "CITATION.cff is missing", "secret.txt is not in git", "pyproject.toml differs from git's")]


# Bills of materials.


def sbom(*words, **environment):
    return run(sys.executable, SCRIPTS / "sbom.py", *words, **environment)


@pytest.fixture
def wheel(tmp_path):
    """A wheel of one library; readelf says of it what the file `needed` holds."""
    path = tmp_path / "oriel_pool-0-cp312-abi3-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("oriel/liboriel.so", "x")
        archive.writestr("oriel_pool.libs/libtbb-0123abcd.so.12", "x")
    program(tmp_path / "bin", "readelf", f"sed 's/.*/ 0x1 (NEEDED) Shared library: [&]/' {tmp_path}/needed")
    return path


def test_sbom_of_a_wheel(wheel, tmp_path):
    (tmp_path / "needed").write_text("libtbb-0123abcd.so.12\nlibstdc++.so.6\nlibc.so.6\nlibm.so.6\nld-linux-x86-64.so.2\n")
    words = ("--from", "wheel", "--given", "nanobind=3.1.0", wheel)
    environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "SOURCE_DATE_EPOCH": "86400"}
    result = sbom(*words, **environment)
    assert result.returncode == 0, result.stderr
    bill = json.loads(result.stdout)
    listed = dict(line.split()[:2] for line in (SCRIPTS / "wheel_dependencies.txt").read_text().splitlines() if line[0] != "#")
    assert {row["name"]: row["version"] for row in bill["components"]} == {**listed, "nanobind": "3.1.0"}
    assert bill["metadata"]["timestamp"] == "1970-01-02T00:00:00Z"
    assert bill["metadata"]["component"]["purl"] == f"pkg:pypi/oriel-pool@{VERSION}"
    assert bill["metadata"]["component"]["hashes"][0]["content"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert sbom(*words, **environment).stdout == result.stdout
    check_schema(result.stdout)


def test_sbom_refuses_a_library_that_it_cannot_name(wheel, tmp_path):
    (tmp_path / "needed").write_text("libstranger.so.7\n")
    path = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    result = sbom("--from", "wheel", "--output", tmp_path / "out.json", wheel, **path)
    assert result.returncode == 1 and not (tmp_path / "out.json").exists()
    assert result.stderr.startswith("sbom: libstranger.so.7: the artifact is linked with it")
    named = sbom("--from", "wheel", "--given", "libstranger.so.7=1", "--output", tmp_path / "out.json", wheel, **path)
    assert named.returncode == 0, named.stderr
    assert "libstranger.so.7" in {row["name"] for row in json.loads((tmp_path / "out.json").read_text())["components"]}


def test_sbom_of_the_command():
    if shutil.which("dpkg-query") is None or shutil.which("readelf") is None:
        pytest.skip("NOT CHECKED: there is no dpkg-query or no readelf")
    command = Path(os.environ.get("ORIEL_COMMAND", ROOT / "build" / "bin" / "oriel"))
    if not command.exists():
        pytest.skip("NOT CHECKED: the command is not built")
    result = sbom(command)
    assert result.returncode == 0, result.stderr
    bill = json.loads(result.stdout)
    assert {"highway", "fmt", "oneTBB", "libc6", "CLI11", "nlohmann-json"} <= {row["name"] for row in bill["components"]}
    assert "timestamp" not in bill["metadata"] or os.environ.get("SOURCE_DATE_EPOCH")
    check_schema(result.stdout)


@pytest.mark.parametrize("words, said", [
    (("nothing.so",), "nothing.so: there is no such file"),
    ((SCRIPTS / "sbom.py",), "not an ELF file that readelf reads; allowed: a shared library, a program, a wheel"),
    (("--given", "fmt", SCRIPTS / "sbom.py"), "--given 'fmt='; allowed: NAME=VERSION"),
])
def test_sbom_refuses(words, said):
    if shutil.which("readelf") is None:
        pytest.skip("NOT CHECKED: there is no readelf")
    result = sbom(*words)
    assert result.returncode == 1 and said in result.stderr, result.stderr


def check_schema(text):
    """Compares with the schema of CycloneDX, if the library that has it is installed."""
    try:
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
    except ImportError:
        pytest.skip("NOT CHECKED: there is no cyclonedx-python-lib[json-validation], so the schema")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


# Recipes.


def test_recipes_in_python_are_python():
    for path in (RECIPES / "conan" / "conanfile.py", RECIPES / "conan" / "test_package" / "conanfile.py",
                 RECIPES / "spack" / "spack_repo" / "oriel" / "packages" / "oriel" / "package.py"):
        compile(path.read_text(), str(path), "exec")


def test_every_recipe_is_in_the_list():
    page = (RECIPES / "README.md").read_text()
    folders = {path.name for path in RECIPES.iterdir() if path.is_dir()}
    assert folders == {"vcpkg", "conan", "conda", "spack", "debian"}
    assert all(f"[{folder}]({folder}/" in page for folder in folders)


def test_names_of_debian_packages_follow_the_soname():
    major, minor, _ = VERSION.split(".")
    package = f"liboriel{major if major != '0' else f'{major}.{minor}'}"
    abi = re.search(r"#define ORIEL_C_ABI (\d+)", (ROOT / "include" / "oriel" / "c.h").read_text())[1]
    packages = re.findall(r"(?m)^Package: (\S+)", (RECIPES / "debian" / "control").read_text())
    assert packages == [package, f"liboriel-c{abi}", "liboriel-dev", "oriel"]
    assert all((RECIPES / "debian" / f"{name}.install").is_file() for name in packages)


def test_descriptions_of_debian_packages_have_no_line_that_begins_with_a_point():
    """Such a line is a paragraph's end if nothing follows the point, and an error otherwise."""
    lines = (RECIPES / "debian" / "control").read_text().splitlines()
    assert " ." in lines
    assert not [line for line in lines if line.startswith(" .") and line != " ."]


def test_recipes_leave_out_what_they_do_not_package():
    """An option of CMake that no longer exists would be passed in silence."""
    options = set(re.findall(r"(?m)^(?:option|set)\((ORIEL_\w+)", "\n".join(
        path.read_text() for path in (ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")))))
    options |= {"ORIEL_CCACHE"}  # found by find_program
    for path in (RECIPES / "vcpkg" / "oriel" / "portfile.cmake", RECIPES / "conda" / "recipe.yaml", RECIPES / "debian" / "rules",
                 SCRIPTS / "reproducible.sh"):
        used = set(re.findall(r"-D(ORIEL_\w+)=", path.read_text()))
        assert used and used <= options, (path.name, used - options)


def test_build_deb_wants_known_words():
    result = run("sh", SCRIPTS / "build_deb.sh", "--nonsense")
    assert result.returncode == 2 and result.stderr.startswith("usage: ")
