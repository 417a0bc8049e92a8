"""oriel-portrait serve under clients that are slow, silent, foreign, or send what could be understood in two ways."""

import contextlib
import http.client
import json
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import threading
import time
from urllib.parse import urlsplit

import numpy as np
import pytest
from conftest import COMMAND, KEY, disc, seen
from serve_test import ask, error, multipart, picture, png, start, stop

PICTURE = png(seen(disc(90, 120)))
HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
UPLOAD = b"POST /api/remove HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n"


@contextlib.contextmanager
def serving(*options, host="127.0.0.1", source=KEY, **process):
    """A server: its process and (host, port). It is ended hard if the test did not end it."""
    server = subprocess.Popen([COMMAND, "serve", "--host", host, "--port", "0", *source, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **process)
    try:
        line = server.stdout.readline().decode()
        url = urlsplit(line.strip())
        assert url.port, (line, server.stderr.read())
        yield server, (url.hostname, url.port)
    finally:
        if server.poll() is None:
            server.kill()
        server.communicate()


@pytest.fixture
def clients():
    """clients(address, n, data): n connections that have sent data. They are closed in the end."""
    with contextlib.ExitStack() as stack:
        def connect(address, count, data=b""):
            made = [stack.enter_context(socket.create_connection(address, timeout=60)) for _ in range(count)]
            for client in made:
                client.sendall(data)
            return made
        yield connect


@contextlib.contextmanager
def dripping(sockets, every=0.2):
    """A byte from each of them all the time, until the server wants no more."""
    ended = threading.Event()

    def drip():
        while not ended.wait(every):
            for client in sockets:
                with contextlib.suppress(OSError):
                    client.send(b"a")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def seconds_to_health(address):
    """The least of some tries: other programs use this machine too. Each try must end."""
    least = 60.0
    for _ in range(5):
        begin = time.monotonic()
        connection = http.client.HTTPConnection(*address, timeout=60)
        connection.request("GET", "/api/health", headers={"Host": "localhost"})
        assert json.loads(connection.getresponse().read())["status"] == "ok"
        least = min(least, time.monotonic() - begin)
    return least


def raw(address, data, timeout=60):
    """All that is answered to `data`."""
    with socket.create_connection(address, timeout=timeout) as client:
        client.sendall(data)
        return received(client)


def received(client):
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def status(answer):
    assert answer.startswith(b"HTTP/1.1 "), answer
    return int(answer[9:12])


def test_silent_and_dripping_clients_keep_nobody_waiting(clients):
    with serving() as (server, address):
        silent = clients(address, 200)
        slow = (clients(address, 16, HALF) + clients(address, 16, UPLOAD % 100_000) + clients(address, 16, UPLOAD % 25_000_000)
                + clients(address, 16, b"PUT / HTTP/1.1\r\nHost: localhost\r\n"))
        with dripping(slow):
            assert seconds_to_health(address) < 1
            answer = raw(address, UPLOAD % len(PICTURE) + PICTURE)
            assert status(answer) == 200 and picture(answer.split(b"\r\n\r\n", 1)[1]).shape == (90, 120, 4)
        assert len(silent) == 200


def test_more_clients_than_there_may_be_files(clients):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

    with serving(preexec_fn=few) as (server, address):
        upload = clients(address, 1, UPLOAD % len(PICTURE) + PICTURE[:100])[0]
        clients(address, 500)
        assert seconds_to_health(address) < 1
        upload.sendall(PICTURE[100:])  # those that were silent were given up, not this one
        assert status(received(upload)) == 200


def test_work_keeps_no_small_question_waiting(clients):
    noise = png(np.random.default_rng(1).integers(0, 256, (1500, 2000, 3), dtype=np.uint8))
    ask_all = (UPLOAD % len(noise)).replace(b"/api/remove", b"/api/remove?no_person=keep&background=white") + noise
    with serving("--threads", "1") as (server, address):
        waiting = clients(address, 3, ask_all)
        assert seconds_to_health(address) < 1
        assert [status(received(client)) for client in waiting] == [200] * 3


@pytest.mark.skipif(os.environ.get("ORIEL_PORTRAIT_NETWORK_FILES") == "0", reason="NOT TESTED: .tflite files; this build has no OpenVINO")
def test_a_network_under_many_clients(clients, tmp_path):
    """50 uploads at once, beside silent and dripping clients: all have the same answer."""
    networks = pytest.importorskip("networks", reason="NOT TESTED: .tflite files; onnx or flatbuffers are not installed")
    networks.selfie(tmp_path / "s.tflite", networks.prepared((90, 40, 60)))
    with serving(source=("--model", str(tmp_path / "s.tflite"))) as (server, address):
        silent = clients(address, 100)
        with dripping(clients(address, 16, HALF) + clients(address, 16, UPLOAD % 25_000_000)):
            uploads = clients(address, 50, UPLOAD % len(PICTURE) + PICTURE)
            assert seconds_to_health(address) < 1
            bodies = set()
            for upload in uploads:
                answer = received(upload)
                assert status(answer) == 200
                bodies.add(answer.split(b"\r\n\r\n", 1)[1])
        assert len(silent) == 100 and len(bodies) == 1
        assert np.abs(picture(bodies.pop())[..., 3] / 255 - disc(90, 120)).mean() < 0.02


@pytest.mark.parametrize("data", [HALF, UPLOAD % 100_000, UPLOAD % 1_000_000 + bytes(900_000)], ids=["headers", "body", "stalled"])
def test_who_is_too_slow_is_told_and_cut(clients, data):
    with serving("--timeout", "1") as (server, address):
        slow = clients(address, 8, data)
        silent = clients(address, 8)
        begin = time.monotonic()
        with dripping(slow):
            answers = [received(client) for client in slow]
        assert time.monotonic() - begin < 40  # a byte in each 0.2 s would never come to an end
        for answer in answers:
            assert status(answer) == 408 and b"too slowly; allowed: its headers within 1 s, then at least 16000 bytes a second" in answer
        assert [received(client) for client in silent] == [b""] * 8


def test_a_slow_but_honest_client_is_heard_out(clients):
    body = PICTURE + bytes(400_000)
    with serving("--timeout", "3") as (server, address):
        client = clients(address, 1, UPLOAD % len(body))[0]
        for i in range(0, len(body), 32_000):  # 13 pieces in 5 s
            client.sendall(body[i : i + 32_000])
            time.sleep(0.4)
        assert status(received(client)) == 200


def test_a_client_that_fetches_nothing_is_cut():
    noise = png(np.random.default_rng(1).integers(0, 256, (900, 1200, 3), dtype=np.uint8))
    question = (UPLOAD % len(noise)).replace(b"/api/remove", b"/api/remove?no_person=keep") + noise
    with serving("--timeout", "1") as (server, address), contextlib.ExitStack() as stack:
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(address)
            client.sendall(question)
        while json.loads(raw(address, b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n").split(b"\r\n\r\n")[1])["requests"] < 4:
            time.sleep(0.05)
        server.send_signal(signal.SIGTERM)  # ends when the last of them is gone
        assert server.wait(timeout=25) == 0


def test_memory_is_bounded_over_all_uploads(clients):
    def most_memory(server):
        return int(re.search(r"VmHWM:\s*(\d+) kB", open(f"/proc/{server.pid}/status").read())[1]) / 1000

    with serving("--max-megabytes", "4", "--timeout", "5") as (server, address):
        assert status(raw(address, UPLOAD % len(PICTURE) + PICTURE)) == 200
        before = most_memory(server)
        stalled = {client: 3_900_000 for client in clients(address, 60, UPLOAD % 4_000_000)}  # and what it has still to send
        for client in stalled:
            client.setblocking(False)
        until = time.monotonic() + 2
        while time.monotonic() < until:  # what the server reads makes room for more
            for client, left in stalled.items():
                with contextlib.suppress(OSError):
                    stalled[client] -= client.send(bytes(min(left, 500_000)))
        assert seconds_to_health(address) < 1
        assert status(raw(address, UPLOAD % len(PICTURE) + PICTURE)) == 200  # as soon as the others were cut
        assert most_memory(server) - before < 17 * 4 + 20  # of 234 MB that were sent


@pytest.mark.parametrize("how", ["stalled", "dripping"])
def test_the_first_signal_ends_it_in_time(clients, how):
    with serving() as (server, address):
        slow = clients(address, 4, UPLOAD % 100_000) + clients(address, 4, HALF) + clients(address, 4)
        with dripping(slow if how == "dripping" else []):
            seconds_to_health(address)  # they were accepted
            begin = time.monotonic()
            server.send_signal(signal.SIGTERM)
            assert server.wait(timeout=19) == 0  # the deadline without a signal is 20 s and more
            assert time.monotonic() - begin < 19
            assert server.stderr.read() == b""


@pytest.mark.parametrize("first, second", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT)])
def test_a_second_signal_ends_it_at_once(clients, first, second):
    with serving() as (server, address):
        slow = clients(address, 4, UPLOAD % 100_000)
        with dripping(slow):
            seconds_to_health(address)
            server.send_signal(first)
            with contextlib.suppress(OSError):
                while True:  # until it listens no longer
                    socket.create_connection(address, timeout=5).close()
                    time.sleep(0.02)
            assert server.poll() is None
            server.send_signal(second)
            assert server.wait(timeout=30) == -second


def test_what_is_being_sent_may_still_come_after_the_signal(clients):
    with serving() as (server, address):
        client = clients(address, 1, UPLOAD % len(PICTURE) + PICTURE[:200])[0]
        seconds_to_health(address)
        server.send_signal(signal.SIGTERM)
        client.sendall(PICTURE[200:])
        assert status(received(client)) == 200
        assert server.wait(timeout=30) == 0


def test_ranges_are_ignored():
    with serving() as (server, address):
        plain = raw(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for ranges in ("0-", "0-,5-10", ",".join(["0-"] * 1500), "5-1", "-1"):
            assert raw(address, f"GET / HTTP/1.1\r\nHost: localhost\r\nRange: bytes={ranges}\r\n\r\n".encode()) == plain, ranges
        assert status(plain) == 200 and b"ranges" not in plain.lower().split(b"\r\n\r\n")[0]


def asked(address, **headers):
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    answer = raw(address, f"GET /api/health HTTP/1.1\r\n{lines}\r\n".encode())
    return status(answer), answer.split(b"\r\n\r\n", 1)[1]


def test_the_hosts_that_it_answers_to():
    with serving() as (server, address):
        for host in ("localhost", "LOCALHOST", "LocalHost:80", "127.0.0.1", f"127.0.0.1:{address[1]}", "[::1]", "[::1]:9",
                     "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"):
            assert asked(address, Host=host)[0] == 200, host
        for host in ("", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "localhost@evil.example", "127.0.0.2",
                     "0.0.0.0", "[::2]", "[::1", "::1", "localhost:80:80", "localhost:x", "localhost, evil", "127.1", "2130706433"):
            code, body = asked(address, Host=host)
            assert (code, error(body)) == (403, "Host: this server answers to localhost only"), host
        assert raw(address, b"GET / HTTP/1.0\r\n\r\n")[9:12] == b"403"
        assert raw(address, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")[9:12] == b"400"


def test_the_hosts_with_an_address_and_further_names():
    with serving("--allow-host", "Studio.example", "--allow-host", "fe80::1", host="127.0.0.2") as (server, address):
        for host in ("127.0.0.2", f"127.0.0.2:{address[1]}", "localhost", "studio.example", "STUDIO.EXAMPLE:7000", "[fe80::1]:1"):
            assert asked(address, Host=host)[0] == 200, host
        for host in ("foo.local", "127.0.0.3", "example", "x.studio.example"):
            code, body = asked(address, Host=host)
            assert (code, error(body)) == (403, "Host: this server answers to localhost, 127.0.0.2, studio.example, fe80::1 only"), host
    with serving(host="0.0.0.0") as (server, (_, port)):  # under the address that a client came to
        assert asked(("127.0.0.3", port), Host=f"127.0.0.3:{port}")[0] == 200
        assert asked(("127.0.0.3", port), Host="127.0.0.4")[0] == 403
        assert asked(("127.0.0.3", port), Host="foo.local")[0] == 403
    with serving(host="localhost") as (server, address):
        assert asked(address, Host="localhost")[0] == 200 and asked(address, Host="foo.local")[0] == 403


@pytest.mark.parametrize("name", ["studio.example:80", "http://studio.example", "a b", "*", "[::1]:80"])
def test_further_names_are_names(refusal, name):
    assert f"--allow-host: '{name}' is neither a name nor an address" in refusal("serve", *KEY, f"--allow-host={name}", code=2)


def test_pages_of_other_sites_are_refused():
    with serving("--allow-host", "studio.example") as (server, address):
        own = f"http://localhost:{address[1]}"
        for host, origin in ((f"localhost:{address[1]}", own), ("localhost", "http://localhost"), ("localhost", "HTTP://LOCALHOST:80"),
                             ("localhost", "https://localhost:443"), ("[::1]:7", "http://[::1]:7"), ("localhost", "https://studio.example")):
            assert asked(address, Host=host, Origin=origin)[0] == 200, origin
        for origin in ("https://evil.example", "null", "http://localhost:1", "http://localhost.evil.example", "ftp://localhost", "localhost",
                       own + "/", "http://localhost@evil.example", "http://evil.example:" + str(address[1])):
            code, body = asked(address, Host=f"localhost:{address[1]}", Origin=origin)
            assert code == 403 and error(body).startswith(f"Origin: '{origin}' is another site"), origin
        question = UPLOAD.replace(b"Host: localhost", b"Host: localhost\r\nOrigin: https://evil.example") % len(PICTURE) + PICTURE
        assert status(raw(address, question)) == 403
        assert json.loads(raw(address, b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n").split(b"\r\n\r\n")[1])["requests"] == 0


@pytest.mark.parametrize("headers, body", [
    ("Content-Length: 5\r\nContent-Length: 5", "hello"), ("Content-Length: 5\r\nContent-Length: 6", "hello!"), ("Content-Length: 5, 5", "hello"),
    ("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), ("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "0\r\n\r\n"), ("Transfer-Encoding: xchunked\r\nContent-Length: 3", "abc"), ("Transfer-Encoding: identity", ""),
    ("Transfer-Encoding: chunked, identity\r\nContent-Length: 3", "abc"), ("Content-Length : 5", "hello"), ("Content-Length: +5", "hello"),
    ("Content-Length: -5", "hello"), ("Content-Length: 0x5", "hello"), ("Content-Length: 1e18", "hello"), ("Content-Length: 99999999999999999999", "hello"),
    ("Content-Length:", "hello"), ("X: 1", ""), ("Content-Length: 18446744073709551615", "hello"), ("\0: 1\r\nContent-Length: 5", "hello"),
])
def test_what_could_be_understood_in_two_ways_is_refused(headers, body):
    with serving() as (server, address):
        hidden = "GET /api/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
        answer = raw(address, f"POST /api/remove HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n{body}{hidden}".encode())
        assert status(answer) in (400, 411, 413) and answer.count(b"HTTP/1.1") == 1, answer


@pytest.mark.parametrize("data, codes", [
    (b"GET / HTTP/1.1\nHost: localhost\n\n", (400,)), (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", (400,)), (b"GET /\r\n\r\n", (400,)),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"x%d: 1\r\n" % i for i in range(20_000)) + b"\r\n", (431,)),
    (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", (431,)), (b"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", (404,)),
    (b"PUT /api/remove HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", (404,)), (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", (404,)),
    (struct.pack("!BBHI", 22, 3, 1, 5) + bytes(300), (400,)), (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400,)),
])
def test_other_words_are_answered_in_a_sentence(data, codes):
    with serving() as (server, address):
        answer = raw(address, data)
        assert status(answer) in codes and error(answer.split(b"\r\n\r\n", 1)[1])
        assert seconds_to_health(address) < 5


def test_what_is_too_large_is_told_before_it_is_sent(clients):
    with serving("--max-megabytes", "1") as (server, address):
        begin = time.monotonic()
        question = clients(address, 1, (UPLOAD % 1_000_001))[0]
        assert status(question.recv(4096)) == 413 and time.monotonic() - begin < 15  # the deadline is 20 s
        polite = clients(address, 1, (UPLOAD % len(PICTURE)).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"))[0]
        assert polite.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        polite.sendall(PICTURE)
        assert status(received(polite)) == 200


@pytest.mark.parametrize("type, body", [
    ("multipart/form-data", b"--b\r\n\r\n"), ("multipart/form-data; boundary=", b"--\r\n"), ("multipart/form-data; boundary=" + "b" * 71, b"--" + b"b" * 71),
    ("multipart/form-data; boundary=b", b""), ("multipart/form-data; boundary=b", b"--b"), ("multipart/form-data; boundary=b", b"--b\r\nno colon\r\n\r\nx\r\n--b--"),
    ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--"),
    ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nx'),
    ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="file\r\n\r\nx\r\n--b--'),
    ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="om"\r\n\r\n1\r\n' * 101 + b"--b--"),
])
def test_malformed_forms(type, body):
    with serving() as (server, address):
        answer = raw(address, f"POST /api/remove HTTP/1.1\r\nHost: localhost\r\nContent-Type: {type}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        assert status(answer) == 400 and error(answer.split(b"\r\n\r\n", 1)[1]).startswith("the request is malformed: ")


def test_errors_speak_of_what_the_client_sent():
    server, url = start()
    try:
        for query, text in (("background=blur:9999", "background: the radius of 'blur:9999' is not understood; allowed: a number from 1 to 1000"),
                            ("background=%23zz", "background: '#zz' is not a colour"), ("background=gradient:red", "background: 'gradient:red' is not a gradient"),
                            ("bgc=%00", "bgc: '?' is not a number from 0 to 255"), ("om=%00x", "om: '?x' is neither true nor false"), ("%00=1", "?: no such parameter"),
                            ("format=%00", "format: '.?' is not an image extension"), ("a=1&ae=300", "ae: '300' is not a number"),
                            ("feather=%0a", "feather: '?' is not a number from 0 to 1000"), ("background=blur:%00", "background: the radius of 'blur:?'")):
            code, body, _ = ask(url, "/api/remove?" + query, PICTURE, {"Content-Type": "image/png"})
            assert code == 400 and error(body).startswith(text), (query, body)
        assert ask(url, "/api/remove", b"\x93NUMPY", {"Content-Type": "image/png"})[1] == b'{"error":"file: not an image that Oriel reads; allowed: PNG, JPEG, TIFF, WebP"}\n'
        form = multipart({"file": ("a", PICTURE), "background_file": ("b", b"words")})
        assert error(ask(url, "/api/remove", *form)[1]) == "background_file: not an image that Oriel reads; allowed: PNG, JPEG, TIFF, WebP"
    finally:
        stop(server)
