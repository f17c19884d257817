#!/usr/bin/python3
"""What docs/openapi.yaml describes is what the daemon answers: each path, with these methods and no others."""
import json
import unittest

import house
import jsonschema
import yaml
from http_client import Client

DOCUMENT = yaml.safe_load((house.ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8"))
METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS")
VALUES = {"id": "1", "source": "vendor", "number": "R-000001", "connection": "edge"}
MORE = "requests: { enabled: true }\nsources: [{ name: vendor, secret: \"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz\", fields: { transaction_id: /id, status: /status, occurred_at: /at } }]\n"


def allowed(item):
    """HEAD goes with GET."""
    methods = {name.upper() for name in item if name.upper() in METHODS}
    return methods | {"HEAD"} if "GET" in methods else methods


class OpenApi(house.HouseTest):
    def setUp(self):
        self.given = self.new_house(more=MORE).furnish().start()
        with Client(self.given) as client:
            client.send_gift("ada@example.com")

    def check(self, method, answer, operation):
        """The status is described, and the body is what its schema says."""
        described = operation["responses"]
        self.assertIn(str(answer.status), described, (method, answer))
        response = described[str(answer.status)]
        if "$ref" in response:
            response = DOCUMENT["components"]["responses"][response["$ref"].rpartition("/")[2]]
        for kind, media in response.get("content", {}).items():
            self.assertEqual(answer.headers["Content-Type"].partition(";")[0], kind)
            if kind.endswith("json"):
                schema = {**media["schema"], "components": DOCUMENT["components"]}
                jsonschema.Draft202012Validator(schema).validate(json.loads(answer.body))

    def test_each_path_takes_its_methods_and_no_others(self):
        for path, item in DOCUMENT["paths"].items():
            target = path.format(**VALUES)
            for method in METHODS:
                with self.subTest(path=path, method=method), Client(self.given) as client:
                    answer = client.request(method, target, body=b"{}" if method in ("PUT", "POST", "PATCH") else None)
                    if method in allowed(item):
                        self.assertNotEqual(answer.status, 405, answer)
                        if method != "HEAD":
                            self.check(method, answer, item[method.lower()])
                    else:
                        self.assertEqual(answer.status, 405, answer)
                        self.assertEqual({word.strip() for word in answer.headers["Allow"].split(",")}, allowed(item))

    def test_the_examples_of_requests_are_taken(self):
        for path, item in DOCUMENT["paths"].items():
            operation = item.get("post")
            if not operation or operation.get("security"):
                continue
            media = operation["requestBody"]["content"]["application/json"]
            examples = media.get("examples", {"the only one": {"value": media["example"]}} if "example" in media else {})
            for name, example in examples.items():
                if "$ref" in example:
                    example = DOCUMENT["components"]["examples"][example["$ref"].rpartition("/")[2]]
                body = {**example["value"], **({"gift_id": 7} if "gift_id" in example["value"] else {})}
                with self.subTest(path=path, example=name), Client(self.given) as client:
                    answer = client.request("POST", path, body=json.dumps(body).encode())
                    self.assertLess(answer.status, 300, answer)
                    self.check("POST", answer, operation)


if __name__ == "__main__":
    house.main()
