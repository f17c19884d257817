#!/usr/bin/python3
"""The proxies of docs/operations/tls-proxy.md, run as written there but for ports and files: gifts pass through them, and mutations of
request smuggling never become a request that its sender got no response to, or a response to another client. Run by hand, with
nginx, haproxy and caddy as far as they are installed.
"""
import contextlib
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import unittest

import daemon_fixture
from certificates import install_pair, make_pair
from http_client import SEND, Client, gift_request, statuses

DOCUMENT = daemon_fixture.ROOT / "docs" / "operations" / "tls-proxy.md"
PATIENCE_SECONDS = float(os.environ.get("PATIENCE_SECONDS", "0.5"))  # for answers that may not come

ENCODINGS = ["Transfer-Encoding: chunked", "transfer-encoding:chunked", "Transfer-Encoding:\tchunked", "Transfer-Encoding : chunked",
             "Transfer-Encoding: Chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity",
             "Transfer-Encoding: identity, chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: gzip, chunked",
             "Transfer-Encoding: \"chunked\"", "Transfer-Encoding: chunked;q=1", "Transfer-Encoding: \x0bchunked",
             "Transfer-Encoding: chunked\x0b", "Transfer-Encoding:\r\n chunked", "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
             "Transfer-Encoding: chunked\r\nTransfer-Encoding: x", "X: y\nTransfer-Encoding: chunked", "X: y\rTransfer-Encoding: chunked",
             " Transfer-Encoding: chunked", "Transfer-Encoding\x00: chunked", "Transfer_Encoding: chunked", "Transfer-Encoding: ",
             "Transfer-Encoding: chunked\x00", "Content-Encoding: chunked"]
LENGTHS = ["Content-Length: {0}", "Content-Length: +{0}", "Content-Length: -{0}", "Content-Length: {0}, {0}", "Content-Length: 0, {0}",
           "Content-Length: {0}\r\nContent-Length: 0", "Content-Length: 0\r\nContent-Length: {0}", "Content-Length : {0}",
           "Content-Length: 0{0}", "Content-Length: {0:x}h", "Content-Length: 0x{0:x}", "Content-Length: {0}.0", "Content_Length: {0}",
           "Content-Length:\r\n {0}", "X: y\nContent-Length: {0}", " Content-Length: {0}", "Content-Length: {0} 5", "Content-Length:\x0b{0}"]
CHUNKS = ["{0:x}", "0{0:x}", "0x{0:x}", "+{0:x}", "-{0:x}", " {0:x}", "{0:x} ", "{0:x};a=b", "{0:x}\t;a", "{0:x};\n", "{0:x}\x00", "10000000000000000{0:x}",
          "{0:x}, {0:x}", "{0:x}\x0b"]


def blocks():
    """The examples, by their language."""
    return dict(re.findall(r"^```(nginx|haproxy|caddy)\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.M | re.S))


class Proxy:
    """One that runs; its port speaks TLS."""

    def __init__(self, name, fixture):
        self.fixture, self.port, self.folder = fixture, daemon_fixture.free_port(), fixture.folder
        install_pair(self.folder, make_pair(names=["gifts.example.com", "127.0.0.1"]))
        (self.folder / "both.pem").write_bytes((self.folder / "tls.pem").read_bytes() + (self.folder / "tls.key").read_bytes())
        text = blocks()[name].replace("127.0.0.1:8480", f"127.0.0.1:{fixture.port}")
        command = getattr(self, name)(text)
        with open(self.folder / f"{name}.log", "wb") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, env={**os.environ, "HOME": str(self.folder)})
        daemon_fixture.wait_until(self.answers, f"{name} to answer: {(self.folder / f'{name}.log').read_text(encoding='utf-8')}")

    def nginx(self, text):
        text = re.sub(r"listen 80;", f"listen 127.0.0.1:{daemon_fixture.free_port()};", text)
        text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{self.port} ssl;").replace("/var/log/nginx", str(self.folder))
        text = re.sub(r"ssl_certificate +\S+;", f"ssl_certificate {self.folder}/tls.pem;", text)
        text = re.sub(r"ssl_certificate_key +\S+;", f"ssl_certificate_key {self.folder}/tls.key;", text)
        paths = "".join(f"{kind}_temp_path {self.folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.folder / "nginx.conf").write_text(f"daemon off;\nuser root;\npid {self.folder}/nginx.pid;\nevents {{}}\nhttp {{\n{paths}{text}\n}}\n", encoding="utf-8")
        return ["/usr/sbin/nginx", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"), "-e", str(self.folder / "error.log")]

    def haproxy(self, text):
        text = text.replace("bind :443", f"bind 127.0.0.1:{self.port}").replace("/etc/haproxy/gifts.example.com.pem", str(self.folder / "both.pem"))
        (self.folder / "haproxy.cfg").write_text(text, encoding="utf-8")
        return ["/usr/sbin/haproxy", "-db", "-f", str(self.folder / "haproxy.cfg")]

    def caddy(self, text):
        text = text.replace("gifts.example.com {", f"https://gifts.example.com:{self.port} {{\n  bind 127.0.0.1\n  tls {self.folder}/tls.pem {self.folder}/tls.key")
        (self.folder / "Caddyfile").write_text(f"{{\n  admin off\n  auto_https disable_redirects\n}}\n{text}", encoding="utf-8")
        return ["/usr/bin/caddy", "run", "--config", str(self.folder / "Caddyfile")]

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        return ssl._create_unverified_context().wrap_socket(plain, server_hostname="gifts.example.com")

    def answers(self):
        assert self.process.poll() is None, "the proxy has ended"
        with contextlib.suppress(OSError):
            return b" 200 " in self.ask(b"GET /-/healthy HTTP/1.1\r\nHost: gifts.example.com\r\nConnection: close\r\n\r\n")
        return False

    def ask(self, data):
        """All that comes until the end."""
        with self.connect() as connection:
            return self.talk(connection, data, 30)

    def talk(self, connection, data, patience):
        """All that comes until the end, or until nothing comes for so long."""
        received = b""
        with contextlib.suppress(OSError):
            connection.settimeout(30)
            connection.sendall(data)
            connection.settimeout(patience)
            while part := connection.recv(65536):
                received += part
        return received

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Proxies(daemon_fixture.DaemonTestCase):
    def mutations(self, inner):
        """Requests with `inner` where only a reader of another framing finds a request."""
        head = f"POST {SEND} HTTP/1.1\r\nHost: gifts.example.com\r\n"
        in_chunks = "0\r\n\r\n" + inner
        for encoding in ENCODINGS:
            yield f"length and {encoding!r}", head + f"Content-Length: {len(in_chunks)}\r\n{encoding}\r\n\r\n{in_chunks}"
            yield f"{encoding!r} and length", head + f"{encoding}\r\nContent-Length: 4\r\n\r\n{len(inner):x}\r\n{inner}\r\n0\r\n\r\n"
            yield f"{encoding!r} alone", head + f"{encoding}\r\n\r\n{in_chunks}"
        for length in LENGTHS:
            yield repr(length), head + length.format(len(inner)) + f"\r\n\r\n{inner}"
            yield f"GET with {length!r}", head.replace("POST", "GET") + length.format(len(inner)) + f"\r\n\r\n{inner}"
        for chunk in CHUNKS:
            for end in ("\r\n", "\n", "\r"):
                yield f"{chunk!r} {end!r}", head + f"Transfer-Encoding: chunked\r\n\r\n{chunk.format(len(inner))}{end}{inner}\r\n0\r\n\r\n"
        yield "a trailer", head + f"Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: {len(inner)}\r\n\r\n{inner}"
        yield "an absolute target", head.replace(SEND, "http://other.example.com" + SEND) + f"Content-Length: {len(inner)}\r\n\r\n{inner}"
        yield "two hosts", head + f"Host: other\r\nContent-Length: {len(inner)}\r\n\r\n{inner}"
        yield "a bare line feed after the header", head.replace("\r\n", "\n") + f"Content-Length: 0\n\n{inner}"
        yield "expectation", head + f"Expect: 100-continue\r\nContent-Length: {len(inner)}\r\n\r\n{inner}"
        yield "upgrade", head + f"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n{inner}"
        yield "a hop-by-hop length", head + f"Connection: Content-Length\r\nContent-Length: {len(inner)}\r\n\r\n{inner}"

    def check(self, name):
        fixture = self.new_fixture(tls=False)
        fixture.write_settings()
        fixture.settings.write_text(fixture.settings.read_text(encoding="utf-8")
                                    .replace(fixture.url, "https://gifts.example.com")
                                    .replace("server: {", "server: { trusted_proxies: [127.0.0.1],"), encoding="utf-8")
        fixture.seed().start()
        proxy = Proxy(name, fixture)
        self.addCleanup(proxy.stop)
        body = str(gift_request("ada@example.com")).replace("'", '"')
        good = (f"POST {SEND} HTTP/1.1\r\nHost: gifts.example.com\r\nAuthorization: {fixture.key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}")
        answer = proxy.ask(good.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1).encode())
        self.assertEqual(statuses(answer), [201], answer)
        self.assertIn(b"strict-transport-security: max-age=31536000", answer.lower())
        count = 0
        for what, data in self.mutations(good):
            count += 1
            with self.subTest(what), proxy.connect() as connection:
                before = self.gifts(fixture)
                received = proxy.talk(connection, data.encode("latin-1"), PATIENCE_SECONDS)
                for path, status in (("/-/healthy", 200), ("/nothing", 404), ("/-/ready", 200)):
                    victim = proxy.ask(f"GET {path} HTTP/1.1\r\nHost: gifts.example.com\r\nConnection: close\r\n\r\n".encode())
                    self.assertEqual(statuses(victim), [status], f"{path}: {victim}")
                # The hidden gift may have been sent in the open, as a pipelined request: then its sender has its answer.
                made = self.gifts(fixture) - before
                if made > statuses(received).count(201):  # on a busy machine it may be late
                    received += proxy.talk(connection, b"", 20 * PATIENCE_SECONDS)
                self.assertEqual(made, statuses(received).count(201), received)
        print(f"{count} mutations ", end="", flush=True)

    def gifts(self, fixture):
        return int(fixture.query("SELECT count(*) FROM gift_request")[0][0])

    @unittest.skipUnless(shutil.which("nginx", path="/usr/sbin"), "nginx is not installed")
    def test_nginx(self):
        self.check("nginx")

    @unittest.skipUnless(shutil.which("haproxy", path="/usr/sbin"), "haproxy is not installed")
    def test_haproxy(self):
        self.check("haproxy")

    @unittest.skipUnless(shutil.which("caddy", path="/usr/bin"), "caddy is not installed")
    def test_caddy(self):
        self.check("caddy")


if __name__ == "__main__":
    daemon_fixture.main()
