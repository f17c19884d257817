#!/usr/bin/python3
"""The daemon's responses match docs/openapi.yaml: paths, methods, statuses and bodies."""
import json
import unittest

import daemon_fixture
import jsonschema
import yaml
from http_client import Client

DOCUMENT = yaml.safe_load((daemon_fixture.ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8"))
METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS")
VALUES = {"id": "1", "source": "vendor", "number": "R-000001", "connection": "edge", "token": "unknown"}
MORE = ('requests: { enabled: true }\nfeed: { enabled: true }\nwebhooks: { allowed_networks: ["127.0.0.0/8"] }\n'
        'sources: [{ name: vendor, secret: "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz", '
        'fields: { transaction_id: /id, status: /status, occurred_at: /at } }]\n')
SCOPES = "send,read,request,webhooks"
# In place of what an example has: an item of the catalogue, and a URL that needs no name server and where nothing listens.
PRESENT = {"gift_id": 7, "url": "http://127.0.0.1:9/hook"}
ENDPOINTS = "/api/v1/webhook_endpoints"


def allowed(item):
    return {name.upper() for name in item if name.upper() in METHODS}


def request_examples(operation):
    """Name and body of each example in JSON, with what this test's daemon has."""
    media = operation["requestBody"]["content"].get("application/json", {})
    examples = media.get("examples", {"example": {"value": media["example"]}} if "example" in media else {})
    for name, example in examples.items():
        if "$ref" in example:
            example = DOCUMENT["components"]["examples"][example["$ref"].rpartition("/")[2]]
        yield name, {member: PRESENT.get(member, value) for member, value in example["value"].items()}


class OpenApi(daemon_fixture.DaemonTestCase):
    def setUp(self):
        self.fixture = self.new_fixture(more=MORE).seed().start()
        self.fixture.key = self.fixture.new_key(daemon_fixture.SENDER, "--scope", SCOPES)
        with Client(self.fixture) as client:
            client.send_gift("ada@example.com")

    def check(self, method, response, operation):
        """The status is described, and the body fits its schema."""
        described = operation["responses"]
        self.assertIn(str(response.status), described, (method, response))
        described_response = described[str(response.status)]
        if "$ref" in described_response:
            described_response = DOCUMENT["components"]["responses"][described_response["$ref"].rpartition("/")[2]]
        content = described_response.get("content", {})
        if content:
            self.assertIn(response.headers["Content-Type"].partition(";")[0], content)
        for kind, media in content.items():
            if response.headers["Content-Type"].partition(";")[0] != kind:
                continue
            if kind.endswith("json"):
                schema = {**media["schema"], "components": DOCUMENT["components"]}
                jsonschema.Draft202012Validator(schema).validate(json.loads(response.body))

    def test_each_path_accepts_exactly_its_methods(self):
        for path, item in DOCUMENT["paths"].items():
            target = path.format(**VALUES)
            for method in METHODS:
                with self.subTest(path=path, method=method), Client(self.fixture) as client:
                    response = client.request(method, target, body=b"{}" if method in ("PUT", "POST", "PATCH") else None)
                    if method in allowed(item):
                        self.assertNotEqual(response.status, 405, response)
                        if method != "HEAD":
                            self.check(method, response, item[method.lower()])
                    else:
                        self.assertEqual(response.status, 405, response)
                        self.assertEqual({word.strip() for word in response.headers["Allow"].split(",")}, allowed(item))

    def test_the_request_examples_are_accepted(self):
        for path, item in DOCUMENT["paths"].items():
            operation = item.get("post")
            if not operation or operation.get("security") or "{" in path:  # decisions on what the example's store does not have
                continue
            for name, body in request_examples(operation):
                with self.subTest(path=path, example=name), Client(self.fixture) as client:
                    response = client.request("POST", path, body=json.dumps(body).encode())
                    self.assertLess(response.status, 300, response)
                    self.check("POST", response, operation)

    # HOOK-13
    def test_the_examples_of_a_webhook_endpoint_are_accepted(self):
        with Client(self.fixture) as client:
            made = client.post(ENDPOINTS, {"name": "shop", "url": PRESENT["url"]})
            self.assertEqual(made.status, 201, made)
            one = str(made.json()["data"]["id"])
            calls = [(method, path, item[method.lower()]) for path, item in DOCUMENT["paths"].items() if path.startswith(ENDPOINTS + "/")
                     for method in ("POST", "PATCH", "GET", "DELETE") if method.lower() in item]
            for method, path, operation in sorted(calls, key=lambda call: call[0] == "DELETE"):
                for name, body in request_examples(operation) if "requestBody" in operation else [("none", None)]:
                    with self.subTest(method=method, path=path, example=name):
                        response = client.request(method, path.format(id=one), body=None if body is None else json.dumps(body).encode())
                        self.assertEqual(response.status, 200, response)
                        self.check(method, response, operation)
            self.assertEqual(client.request("GET", f"{ENDPOINTS}/{one}").json()["code"], "unknown_webhook_endpoint")


if __name__ == "__main__":
    daemon_fixture.main()
