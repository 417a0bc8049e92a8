"""oriel-portrait serve: the interface, its limits, its end."""

import http.client
import io
import json
import os
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
import uuid

import numpy as np
import pytest
from conftest import COMMAND, KEY, disc, seen
from PIL import Image

if os.environ.get("ORIEL_PORTRAIT_SERVES") == "0":
    pytest.skip("NOT TESTED: the web server; this build has no Boost", allow_module_level=True)

ALPHA = disc(90, 120)


def png(array):
    out = io.BytesIO()
    Image.fromarray(array).save(out, "PNG")
    return out.getvalue()


def start(*options, source=KEY, data=None):
    """A server and its address; `data` is the folder in which its models are."""
    server = subprocess.Popen([COMMAND, "serve", "--port", "0", *source, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, **({"XDG_DATA_HOME": str(data)} if data else {})})
    url = server.stdout.readline().decode().strip()
    assert url.startswith("http://127.0.0.1:"), url
    return server, url


def stop(server, code=0):
    server.send_signal(signal.SIGTERM)
    _, errors = server.communicate(timeout=60)
    assert server.returncode == code, errors
    assert errors == b""


@pytest.fixture(scope="module")
def url():
    server, url = start("--max-megabytes", "2", "--max-megapixels", "1")
    yield url
    stop(server)


def ask(url, path, data=None, headers=None):
    """(status, body, headers) of a request."""
    request = urllib.request.Request(url.rstrip("/") + path, data=data, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.read(), reply.headers
    except urllib.error.HTTPError as e:
        return e.code, e.read(), e.headers


def multipart(parts):
    mark = uuid.uuid4().hex
    body = b""
    for name, (filename, value) in parts.items():
        head = f'--{mark}\r\nContent-Disposition: form-data; name="{name}"'
        head += f'; filename="{filename}"\r\nContent-Type: image/png' if filename else ""
        body += head.encode() + b"\r\n\r\n" + value + b"\r\n"
    return body + f"--{mark}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={mark}"}


def picture(body):
    return np.asarray(Image.open(io.BytesIO(body)))


def error(body):
    return json.loads(body)["error"]


def test_a_picture_as_a_form_or_as_the_body(url):
    data = png(seen(ALPHA))
    status, as_form, headers = ask(url, "/api/remove", *multipart({"file": ("me.png", data)}))
    assert (status, headers["Content-Type"]) == (200, "image/png")
    assert np.abs(picture(as_form)[..., 3] / 255 - ALPHA).mean() < 0.006
    assert abs(float(headers["X-Person-Area"]) - (ALPHA > 0.5).mean()) < 0.02
    status, as_body, _ = ask(url, "/api/remove", data, {"Content-Type": "image/png"})
    assert status == 200 and as_body == as_form


def test_parameters_in_the_address_and_in_the_form(url):
    data = png(seen(ALPHA))
    _, mask, _ = ask(url, "/api/remove?om=true", data, {"Content-Type": "image/png"})
    assert picture(mask).shape == (90, 120)
    _, red, headers = ask(url, "/api/remove?bgc=255,0,0,255&format=jpg", data, {"Content-Type": "image/png"})
    assert headers["Content-Type"] == "image/jpeg" and np.abs(picture(red)[3, 3] - (255.0, 0, 0)).max() < 6
    form = {"file": ("a", data), "background": (None, b"gradient:#000,#fff"), "feather": (None, b"4")}
    _, shaded, _ = ask(url, "/api/remove", *multipart(form))
    assert picture(shaded)[2, 2, 0] < 10 and picture(shaded)[87, 2, 0] > 245
    form = {"file": ("a", data), "background_file": ("b", png(np.full((9, 9, 3), 77, np.uint8)))}
    _, behind, _ = ask(url, "/api/remove", *multipart(form))
    assert (picture(behind)[3, 3] == 77).all()
    _, plain, _ = ask(url, "/api/remove?a=true&af=200&ab=50&ae=5&ppm=true", data, {"Content-Type": "image/png"})
    assert np.abs(picture(plain)[..., 3] / 255 - ALPHA).mean() < 0.01
    mattes = {m: ask(url, f"/api/remove?om=1{m}", data, {"Content-Type": "image/png"})[1] for m in ("", "&matte=fine", "&matte=fast")}
    assert mattes[""] == mattes["&matte=fine"] != mattes["&matte=fast"]


@pytest.mark.parametrize("path, text", [
    ("?format=gif", "'.gif' is not an image extension"), ("?format=jpg", "JPEG holds no transparency"),
    ("?bgc=1,2", "bgc: allowed"), ("?bgc=1,2,300", "bgc: '300' is not a number from 0 to 255"), ("?om=maybe", "om: 'maybe'"),
    ("?feather=-1", "feather: '-1'"), ("?light_wrap=101", "light_wrap: '101' is not a number from 0 to 100"), ("?background=/etc/passwd", "background: allowed"), ("?color=red", "color: no such"),
    ("?matte=hair", "matte: allowed: fast, fine"), ("?model=other", "model: 'other' does not exist"), ("?no_person=x", "no_person: allowed"), ("?a=1&ab=250&af=3", "ab: greater"),
])
def test_bad_parameters_are_named(url, path, text):
    status, body, _ = ask(url, "/api/remove" + path, png(seen(ALPHA)), {"Content-Type": "image/png"})
    assert status == 400 and text in error(body), body


def test_bad_pictures_are_said_so(url):
    status, body, _ = ask(url, "/api/remove", b"no picture", {"Content-Type": "image/png"})
    assert (status, error(body)) == (400, "file: not an image that Oriel reads; allowed: PNG, JPEG, TIFF, WebP")
    status, body, _ = ask(url, "/api/remove", b"", {"Content-Type": "image/png"})
    assert status == 400 and error(body).startswith("file: no image was sent")
    status, body, _ = ask(url, "/api/remove", png(seen(np.zeros((40, 50)))), {"Content-Type": "image/png"})
    assert status == 422 and "no person found" in error(body)
    status, body, _ = ask(url, "/api/remove", png(np.zeros((1200, 1000), np.uint8)), {"Content-Type": "image/png"})
    assert status == 400 and "at most 1 million" in error(body)


def test_too_large_and_malformed_requests(url):
    status, body, _ = ask(url, "/api/remove", bytes(2_100_000), {"Content-Type": "image/png"})
    assert status == 413 and "larger" in error(body)
    status, _, _ = ask(url, "/api/remove", b"--x\r\nContent-Disp", {"Content-Type": "multipart/form-data; boundary=y"})
    assert status == 400
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        raw.sendall(b"POST /api/remove HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 411")
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        raw.sendall(b"\x00\xff nonsense\r\n\r\n")
        raw.recv(100)
    assert ask(url, "/api/health")[0] == 200  # it lives on


def test_names_are_of_no_consequence(url):
    form = multipart({"file": ("../../etc/passwd", png(seen(ALPHA)))})
    status, _, headers = ask(url, "/api/remove", *form)
    assert status == 200 and "passwd" not in str(headers)
    for path in ("/../../etc/passwd", "/api/../../etc/passwd", "/%2e%2e/etc/passwd", "/nothing"):
        status, body, _ = ask(url, path)
        assert status == 404 and b"root:" not in body


def test_no_address_is_fetched(url):
    status, body, _ = ask(url, "/api/remove?url=http://localhost/")
    assert status == 405 and "images are not fetched from addresses" in error(body)


def test_other_names_of_this_machine_are_refused(url):
    assert ask(url, "/api/health", headers={"Host": "evil.example"})[0] == 403
    assert ask(url, "/api/health", headers={"Host": "localhost:99"})[0] == 200


def test_health_models_description_page(url):
    health = json.loads(ask(url, "/api/health")[1])
    assert health["status"] == "ok" and health["model"] == "key #28c83c" and health["max_megabytes"] == 2
    assert json.loads(ask(url, "/api/models")[1]) == {"models": ["key #28c83c"], "default": "key #28c83c"}
    api = json.loads(ask(url, "/api/openapi.json")[1])
    assert set(api["paths"]) == {"/api/remove", "/api/health", "/api/models", "/api/openapi.json"}
    status, page, headers = ask(url, "/")
    assert status == 200 and page.rstrip().endswith(b"</html>")
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    assert b"http://" not in page and b"https://" not in page and b"//cdn" not in page


def test_fifty_at_once(url):
    data = png(seen(ALPHA))
    replies = [None] * 50

    def one(i):
        replies[i] = ask(url, f"/api/remove?feather={i % 3}", data, {"Content-Type": "image/png"})

    threads = [threading.Thread(target=one, args=(i,)) for i in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [reply[0] for reply in replies] == [200] * 50
    for i in range(50):
        assert replies[i][1] == replies[i % 3][1]


@pytest.mark.skipif(os.environ.get("ORIEL_PORTRAIT_NETWORK_FILES") == "0", reason="NOT TESTED: .onnx files; this build has no OpenVINO")
def test_requests_choose_among_the_installed_models(tmp_path):
    networks = pytest.importorskip("networks", reason="NOT TESTED: .onnx files; onnx or flatbuffers are not installed")
    folder = tmp_path / "oriel/models"
    folder.mkdir(parents=True)
    for name, colour in (("person", (90, 40, 60)), ("green", (40, 200, 60))):
        networks.one(folder / f"{name}.onnx", "x", 64, networks.prepared(colour))
    (folder / "broken.onnx").write_text("nothing of the kind")
    server, url = start(source=("--model", str(folder / "person.onnx")), data=tmp_path)
    try:
        assert json.loads(ask(url, "/api/models")[1])["models"] == ["person.onnx"]  # one was named
    finally:
        stop(server)
    server, url = start(source=(), data=tmp_path)
    kind = {"Content-Type": "image/png"}
    try:
        found = json.loads(ask(url, "/api/models")[1])
        assert found == {"models": ["drawn", "broken.onnx", "green.onnx", "person.onnx"], "default": "drawn"}
        for model, alpha in (("person", ALPHA), ("green", 1 - ALPHA)):
            status, body, headers = ask(url, f"/api/remove?model={model}.onnx&om=1", png(seen(ALPHA)), kind)
            assert status == 200 and headers["X-Model"] == f"{model}.onnx"
            assert np.abs(picture(body) / 255 - alpha).mean() < 0.02, model
        for _ in range(2):  # an error does not stay
            status, body, _ = ask(url, "/api/remove?model=broken.onnx", png(seen(ALPHA)), kind)
            assert status == 400 and "broken.onnx: not an ONNX model" in error(body)
        status, body, _ = ask(url, "/api/remove?model=u2net", png(seen(ALPHA)), kind)
        assert status == 400 and "model: 'u2net' does not exist; allowed: drawn, broken.onnx, green.onnx, person.onnx" in error(body)
        assert ask(url, "/api/health")[0] == 200
    finally:
        stop(server)


def test_it_ends_after_the_requests_that_it_has():
    server, url = start()
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    data = png(np.random.default_rng(1).integers(0, 256, (1500, 2000, 3), dtype=np.uint8))
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    connection.putrequest("POST", "/api/remove?no_person=keep&background=white")
    connection.putheader("Content-Type", "image/png")
    connection.putheader("Content-Length", str(len(data)))
    connection.endheaders()
    connection.send(data)
    while json.loads(ask(url, "/api/health")[1])["status"] != "ok":
        pass
    server.send_signal(signal.SIGTERM)
    reply = connection.getresponse()
    assert reply.status == 200 and len(reply.read()) > 1000
    server.communicate(timeout=60)
    assert server.returncode == 0


def test_a_port_that_is_taken():
    server, url = start()
    try:
        port = url.rstrip("/").rsplit(":", 1)[1]
        done = subprocess.run([COMMAND, "serve", "--port", port, "--key", "#28c83c"], capture_output=True, timeout=60)
        assert done.returncode == 1
        assert done.stderr.decode() == f"oriel-portrait serve: --host 127.0.0.1 --port {port}: cannot listen there\n"
    finally:
        stop(server)
