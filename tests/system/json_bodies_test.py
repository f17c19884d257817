#!/usr/bin/python3
"""Any request body gets a response of the right class, and the daemon keeps running."""
import random

import daemon_fixture
import json_bodies
from http_client import SEND, URLS, Client, exchange, statuses

JSON = {"Content-Type": "application/json"}
LARGE = 10 * 1024 * 1024


class JsonBodies(daemon_fixture.DaemonTestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_fixture()

    def setUp(self):
        self.client = Client(self.fixture)
        self.addCleanup(self.client.close)
        self.before = self.count_transactions()

    def tearDown(self):
        self.assertIsNone(self.fixture.daemon.poll(), "the daemon ended")
        self.client.close()
        self.assertEqual(self.client.get("/-/healthy").status, 200)
        self.assertEqual(self.client.send_gift("alive@example.com").status, 201)
        super().tearDown()

    def count_transactions(self):
        return int(self.fixture.query("SELECT count(*) FROM recipient_transaction")[0][0])

    def check(self, bodies, status, code, path=SEND):
        """All bodies get this status and code; returns their count."""
        count = 0
        for name, body in bodies:
            response = self.client.post(path, body, headers=JSON)
            self.assertEqual(response.status, status, (name, body[:100], response))
            if code:
                self.assertEqual(response.headers["Content-Type"], "application/problem+json")
                self.assertEqual(response.json()["code"], code, (name, body[:100], response))
                self.assertTrue(response.json()["errors"][0]["message"], name)
                self.assertLess(len(response.body), 200_000, name)
            count += 1
        return count

    def test_malformed_bodies_are_refused(self):
        for path in (SEND, URLS):
            self.assertGreater(self.check(json_bodies.refused(), 400, "malformed_json", path), 200)
        self.check(json_bodies.cuts(), 400, "malformed_json")
        self.assertEqual(self.count_transactions(), self.before)

    def test_invalid_requests_are_refused(self):
        self.check(json_bodies.invalid(), 400, "invalid")
        self.assertEqual(self.count_transactions(), self.before)

    def test_unusual_but_good_bodies_are_accepted(self):
        count = self.check(json_bodies.accepted(), 201, None)
        self.assertEqual(self.count_transactions(), self.before + count)

    def test_mutated_bodies_never_break_it(self):
        generator = random.Random(20_261_121)
        for _ in range(1500):
            body = bytearray(json_bodies.HEAD + b', "x": [1.5e3, {"k": "\\u00e9\\ud83d\\ude00"}, null]}')
            for _ in range(generator.randint(1, 4)):
                position = generator.randrange(len(body))
                kind = generator.randrange(4)
                if kind == 0:
                    body[position] = generator.randrange(256)
                elif kind == 1:
                    body[position:position] = generator.choice([b'"', b"{", b"[", b"\\", b",", b"\x00", b"\xff", b"\\ud800", b"9" * 20])
                elif kind == 2:
                    del body[position:position + generator.randint(1, 8)]
                else:
                    body[position:position] = body[generator.randrange(len(body)):][:generator.randint(1, 30)]
            response = self.client.post(SEND, bytes(body), headers=JSON)
            self.assertIn(response.status, (201, 400), (bytes(body), response))

    def test_large_bodies_are_refused_before_they_are_read(self):
        body = json_bodies.message(b"x" * LARGE)
        self.client.close()
        response = statuses(exchange(self.fixture, self.head(f"Content-Length: {len(body)}") + body))
        self.assertEqual(response, [413])
        chunks = b"".join(b"10000\r\n" + b"x" * 0x10000 + b"\r\n" for _ in range(LARGE // 0x10000)) + b"0\r\n\r\n"
        self.assertEqual(statuses(exchange(self.fixture, self.head("Transfer-Encoding: chunked") + chunks)), [413])
        just_over = 1024 * 1024 + 1
        self.assertEqual(statuses(exchange(self.fixture, self.head(f"Content-Length: {just_over}") + b" " * just_over)), [413])
        self.assertEqual(statuses(exchange(self.fixture, self.head("Content-Length: 999999999999"), half_close=False)), [413])
        fitting = json_bodies.HEAD + b"}"
        fitting += b" " * (1024 * 1024 - len(fitting))
        self.assertEqual(self.client.post(SEND, fitting, headers=JSON).status, 201)
        self.assertEqual(self.count_transactions(), self.before + 1)

    def head(self, *lines, path=SEND):
        return "\r\n".join([f"POST {path} HTTP/1.1", "Host: test", f"Authorization: {self.fixture.key}",
                            "Content-Type: application/json", *lines, "", ""]).encode()

    def test_the_key_is_checked_before_the_body(self):
        for body in (b"", b"{", b"[" * 100_000, json_bodies.HEAD + b"}"):
            for key in ("", "gsk_live_wrong"):
                response = self.client.post(SEND, body, headers={**JSON, "Authorization": key})
                self.assertEqual(response.status, 401, response)
        large = b"x" * (2 * 1024 * 1024)
        self.client.close()
        wrong = self.head(f"Content-Length: {len(large)}").replace(self.fixture.key.encode(), b"wrong") + large
        self.assertEqual(statuses(exchange(self.fixture, wrong)), [401])

    def test_no_body(self):
        self.assertEqual(self.client.post(SEND, None).status, 400)
        for lines, expected in ((["Content-Length: 0"], [400]), ([], [400]), (["Transfer-Encoding: chunked"], [400])):
            with self.subTest(lines=lines):
                self.assertEqual(statuses(exchange(self.fixture, self.head(*lines))), expected)
        cut = self.head("Content-Length: 100") + b'{"gift_id"'
        self.assertEqual(statuses(exchange(self.fixture, cut)), [400])

    def test_wrong_methods_name_the_right_ones(self):
        allowed = {SEND: "GET, HEAD, POST", URLS: "POST", SEND + "/1": "GET, HEAD", "/-/healthy": "GET, HEAD", "/-/ready": "GET, HEAD",
                   "/g/x": "GET, HEAD, POST"}
        for path, methods in allowed.items():
            for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"):
                if method in methods.split(", "):
                    continue
                with self.subTest(method=method, path=path):
                    response = self.client.request(method, path, b"{}" if method != "HEAD" else None, JSON)
                    self.assertEqual(response.status, 405, response)
                    self.assertEqual(response.headers["Allow"], methods)
        received = exchange(self.fixture, f"TRACE {SEND} HTTP/1.1\r\nHost: t\r\nAuthorization: {self.fixture.key}\r\n\r\n".encode())
        self.assertIn(statuses(received), ([405], [400]))
        self.assertNotIn(self.fixture.key.encode(), received)

    def test_unknown_paths(self):
        for path in ("/", "/api", "/api/v1", "/api/v1/", SEND + "/", SEND + "/1/x", SEND + "x", "/api/v2/gift_requests",
                     "/API/v1/gift_requests", "/api/v1//gift_requests", "/api/v1/../v1/nothing", "/%2e%2e/%2e%2e/etc/passwd",
                     "/../../etc/passwd", "/g", "/g/", "/g/a/b", "/-/", "/-/healthyx", "/favicon.ico", "/" + "a" * 6000, "/%00",
                     "/%ff", "/%zz", "/?q=1"):
            with self.subTest(path=path[:60]):
                response = self.client.get(path)
                self.assertIn(response.status, (404, 400, 414), response)
                self.assertTrue(response.headers["Request-Id"])
        for path in (SEND + "/0", SEND + "/-1", SEND + "/01", SEND + "/9007199254740993", SEND + "/" + "9" * 100, SEND + "/1e3"):
            self.assertIn(self.client.get(path).status, (404, 400), path)

    def test_content_types(self):
        good = json_bodies.HEAD + b"}"
        for content_type, status in (("application/json", 201), ("application/json; charset=utf-8", 201), ("APPLICATION/JSON", 201),
                                     ("application/json;charset=\"UTF-8\"", 201), ("text/plain", 415), ("application/xml", 415),
                                     ("multipart/form-data; boundary=x", 415), ("application/json; charset=utf-16", 415), ("json", 415)):
            with self.subTest(content_type=content_type):
                self.assertEqual(self.client.post(SEND, good, headers={"Content-Type": content_type}).status, status)
        self.assertEqual(statuses(exchange(self.fixture, self.head(f"Content-Length: {len(good)}")
                                           .replace(b"Content-Type: application/json\r\n", b"") + good)), [201])


if __name__ == "__main__":
    daemon_fixture.main()
