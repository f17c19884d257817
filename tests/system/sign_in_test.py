#!/usr/bin/python3
"""Sign-in through a real OpenID provider over TLS (npm's oidc-provider): `sso sign-in-test` as an admin runs it, with new keys
of the provider, with one that is down, slow or sends 4 MB of keys, and with replies that belong to another sign-in."""
import http.server
import json
import pathlib
import ssl
import subprocess
import threading
import time
import unittest
import urllib.request

import daemon_fixture
import identity_providers
from sign_in_browser import Browser
from sso_test import DAY, make_certificate

AUTH_URL = "https://login.example.com"
CALLBACK = AUTH_URL + "/login/callback?connection=acme"
SECRET = "hush hush+%"


class SignInTestCase(daemon_fixture.DaemonTestCase):
    def setUp(self):
        super().setUp()
        self.fixture = self.new_fixture()
        secret = pathlib.Path(self.fixture.write("client-secret", SECRET))
        secret.chmod(0o600)
        self.key, self.certificate = make_certificate(self.fixture.folder, "tls", -1 * DAY, 300 * DAY)

    def write_connection(self, port, **more):
        connection = {"name": "acme", "client_id": "giftsync", "client_secret": "file:client-secret", "domains": ["acme.com"],
                      "issuer": f"https://localhost:{port}", "ca_file": self.certificate, **more}
        self.fixture.write_settings("sso: " + json.dumps({"auth_url": AUTH_URL, "connections": [connection]}) + "\n")

    def sign_in_test(self, person):
        """Runs `sso sign-in-test`; `person` gets the URL and returns what is pasted. (exit code, JSON or None)"""
        command = [daemon_fixture.GIFTSYNCCTL, "--config", str(self.fixture.settings), "sso", "sign-in-test", "acme", "--json"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as test:
            url = next((line.strip() for line in test.stderr if line.strip().startswith("https://")), None)
            out, err = test.communicate(person(url) + "\n" if url else None, timeout=daemon_fixture.TIMEOUT_SECONDS)
        self.assertNotIn("hush", out + err)
        return test.returncode, json.loads(out) if out else None


class RealProvider(SignInTestCase):
    """Installs the provider with npm once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = identity_providers.install(cls, identity_providers.OPENID)

    def setUp(self):
        super().setUp()
        self.port = daemon_fixture.free_port()
        identity_providers.start(self, self.folder, "sign_in_provider.mjs", self.key, self.certificate, str(self.port), CALLBACK)
        self.write_connection(self.port)

    def person(self, url):
        return Browser(self.certificate).sign_in_at_provider(url, "rose", AUTH_URL)

    def test_every_rule_holds(self):
        code, result = self.sign_in_test(self.person)
        self.assertEqual(code, 0, result)
        self.assertEqual(result["identity"], {"subject": "rose", "tenant": None, "address": "rose@acme.com", "name": "Rose"})
        self.assertEqual({one["rule"] for one in result["rules"]}, {f"OIDC-{number}" for number in (*range(1, 9), 12)})

    def test_a_code_is_used_once(self):
        replies = []

        def person(url):
            replies.append(self.person(url))
            return replies[-1]

        self.assertEqual(self.sign_in_test(person)[0], 0)
        code, result = self.sign_in_test(lambda url: replies[0])
        self.assertEqual(code, 65)
        self.assertIn("another sign-in", result["rules"][-1]["text"])

    def test_new_keys_of_the_provider(self):
        self.assertEqual(self.sign_in_test(self.person)[0], 0)

        def person(url):
            # After the command has read the keys.
            context = ssl.create_default_context(cafile=self.certificate)
            request = urllib.request.Request(f"https://localhost:{self.port}/rotate", b"")
            urllib.request.urlopen(request, timeout=20, context=context).close()
            return self.person(url)

        code, result = self.sign_in_test(person)
        self.assertEqual(code, 0, result)

    def test_a_person_who_refuses(self):
        code, result = self.sign_in_test(
            lambda url: CALLBACK + "&error=access_denied&state=" + url.split("state=")[1].split("&")[0])
        self.assertEqual(code, 65)
        self.assertIn("access_denied", result["rules"][-1]["text"])

    def test_a_wrong_secret(self):
        pathlib.Path(self.fixture.folder, "client-secret").chmod(0o600)
        self.fixture.write("client-secret", "hush-wrong")
        code, result = self.sign_in_test(self.person)
        self.assertEqual((code, result["rules"][-1]["rule"]), (65, "OIDC-3"))
        self.assertIn("invalid_client", result["rules"][-1]["text"])


class BadProvider(SignInTestCase):
    """A server of the test in place of the provider."""

    def serve(self, respond):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                try:
                    respond(self)
                except OSError:
                    pass  # the command has closed the connection

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.write_connection(server.server_port)
        return server.server_port

    @staticmethod
    def send(handler, body):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def discovery(self, port):
        root = f"https://localhost:{port}"
        return json.dumps({"issuer": root, "authorization_endpoint": root + "/auth", "token_endpoint": root + "/token",
                           "jwks_uri": root + "/keys", "response_types_supported": ["code"]}).encode()

    def expect_unusable(self, code, text):
        began = time.monotonic()
        ended, result = self.sign_in_test(lambda url: "")
        self.assertEqual(ended, code, result)
        self.assertIn(text, result["rules"][-1]["text"])
        return time.monotonic() - began

    def test_it_is_down(self):
        self.write_connection(daemon_fixture.free_port())
        self.expect_unusable(69, "cannot be fetched")

    def test_it_sends_4_mb_of_keys(self):
        port = self.serve(lambda handler: self.send(
            handler, b'{"keys":[' + b" " * 4_000_000 + b"]}" if handler.path == "/keys" else self.discovery(port)))
        self.expect_unusable(69, "The list of keys")

    def test_it_answers_slowly(self):
        def slowly(handler):
            handler.send_response(200)
            handler.end_headers()
            for _ in range(60):
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.5)

        self.serve(slowly)
        self.assertLess(self.expect_unusable(69, "cannot be fetched"), 25)

    def test_it_redirects(self):
        def redirect(handler):
            handler.send_response(302)
            handler.send_header("Location", "https://evil.example/")
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        self.serve(redirect)
        self.expect_unusable(65, "responds with 302")


if __name__ == "__main__":
    daemon_fixture.main()
