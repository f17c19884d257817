#!/usr/bin/python3
"""Every page of the console in a browser: whatever a role can reach by following links, light and dark, wide and on a phone.
axe-core and html-validate check each page; neither it nor a table scrolls sideways, none breaks the content policy, asks another host
for anything or is larger than 60 kB. EVERY_STATE=1 looks with each role at data, at an empty store and while the CRM is away, in all shapes;
without it an operator looks at data, each page in one shape. SCREENSHOTS=FOLDER saves a screenshot of each page."""
import collections
import itertools
import json
import os
import re
import unittest
import urllib.parse

import chromium
import daemon_fixture
from console_session import ConsoleTestCase
from http_client import Client

EVERY_STATE = bool(os.environ.get("EVERY_STATE"))
SCREENSHOTS = os.environ.get("SCREENSHOTS")
ROLES = ("operator", "admin", "approver", "sender", "auditor")
SHAPES = [{"width": width, "height": 900, "dark": dark} for width, dark in itertools.product((1280, 1024, 320), (False, True))]
MAX_BYTES = 60_000
# Of pages that differ by a number or a filter alone, so many are looked at.
PER_KIND = 2
SETTINGS = """\
console: { enabled: true }
feed: { enabled: true }
webhooks: { allowed_networks: ["127.0.0.0/8"] }
sources:
  - { name: partner, type: webhook, secret: "whsec_YW4tZXhhbXBsZS1zZWNyZXQtb2YtMzItYnl0ZXMtb2s=", status_map: { seen: opened },
      fields: { transaction_id: /id, status: /status, occurred_at: /at } }
"""
MARKUP = "<img src=x onerror=alert(1)>\"'&"


def kind_of(path):
    """Pages of one kind differ by numbers, names and filters."""
    parts = urllib.parse.urlsplit(path)
    keys = sorted(urllib.parse.parse_qs(parts.query))
    return re.sub(r"/\d+", "/N", parts.path) + ("?" + "&".join(keys) if keys else "")


class ConsolePages(ConsoleTestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.start(cls)

    def start_fixture(self, with_data, more=SETTINGS, crm=None):
        self.fixture = daemon_fixture.DaemonFixture(more=more, crm=crm)
        self.addCleanup(self.fixture.close)
        self.fixture.seed().start()
        if with_data:
            self.add_data()

    def add_data(self):
        # Its receiver refuses connections.
        self.fixture.ctl("webhook", "create", "--name", MARKUP, "--url", "http://127.0.0.1:9/hook", "--types", "gift.*")
        self.fixture.ctl("webhook", "test", MARKUP, expect=69)
        with Client(self.fixture) as client:
            for number in range(3):
                response = client.send_gift({"email": f"rose{number}@edge.example", "first_name": "Rose",
                                             "last_name": MARKUP, "message": "Thank you!\n" + MARKUP})
                self.assertEqual(response.status, 201, response)
            gift = response.json()["data"]["recipients"][0]["recipient_transaction_id"]
        known = json.dumps({"recipient_transaction_id": gift, "status": "opened", "occurred_at": "2026-11-21T12:00:00Z"})
        self.fixture.ctl("change", "import", self.fixture.write("changes.ndjson", known + "\n"))
        self.fixture.ctl("do-not-send", "import", self.fixture.write("list.csv", "pattern,reason,comment\n" + "".join(
            f"rose{number}@department.edge.example,opted_out,{MARKUP[:8]}\n" for number in range(35))))

    # ---- The walk -------------------------------------------------------------------------------
    def walk(self, email, role, shapes_of, name):
        """Visits what the role can reach. `shapes_of(n)`: the shapes in which the n-th page is looked at."""
        session = self.signed_in(email, role)
        cookies = [{"name": key, "value": value, "url": self.fixture.url} for key, value in session.cookies.items()]
        waiting, seen, kinds = ["/console/"], set(), collections.Counter()
        while waiting:
            path = waiting.pop(0)
            kind = kind_of(path)
            if path in seen or kinds[kind] >= PER_KIND:
                continue
            seen.add(path)
            kinds[kind] += 1
            response, source = session.get(path)
            if not response.headers["Content-Type"].startswith("text/html"):
                continue
            self.assertEqual(response.status, 200, path)
            for shape in shapes_of(len(seen)):
                with self.subTest(f"{name}, {role}: {path}", **shape):
                    self.look_at(path, source, cookies, shape, f"{name}-{role}-{len(seen)}")
            for link in re.findall(r'<a [^>]*href="([^"]+)"', source):
                target = urllib.parse.urljoin(path, link.replace("&amp;", "&").split("#")[0])
                if target.startswith("/console/"):
                    waiting.append(target)
        return seen

    def look_at(self, path, source, cookies, shape, name):
        where = f"{name} {path} {shape}"
        self.assertLess(len(source.encode()), MAX_BYTES, where)
        shot = os.path.join(SCREENSHOTS, f"{name}-{shape['width']}{'-dark' if shape['dark'] else ''}.png") if SCREENSHOTS else None
        page = self.browser.ask(do="visit", url=self.fixture.url + path, cookies=cookies, screenshot=shot, **shape)
        self.assertEqual(page["violations"], [], where)
        self.assertEqual(page["errors"], [], where)
        self.assertLessEqual(page["sideways"], 0, f"{where} scrolls sideways")
        self.assertEqual(page["tables_sideways"], 0, f"{where} has a table with columns out of sight")
        self.assertEqual([one for one in page["requests"] if not one.startswith(f"GET {self.fixture.url}/")], [], where)
        self.assertEqual(self.browser.ask(do="validate", text=source), [], where)

    # ---- The tests ------------------------------------------------------------------------------
    def test_every_page_an_operator_can_reach(self):
        self.start_fixture(with_data=True)
        seen = self.walk("ana@example.com", "operator", lambda number: [SHAPES[number % len(SHAPES)]], "data")
        self.assertGreaterEqual(len({kind_of(path) for path in seen}), 6, seen)
        self.assertIn("/console/reports", seen)

    # covers: CON-71
    def test_webhooks_of_an_admin(self):
        self.start_fixture(with_data=False)
        session = self.signed_in("ana@example.com", "admin")
        cookies = [{"name": key, "value": value, "url": self.fixture.url} for key, value in session.cookies.items()]
        look = lambda path, shape: self.look_at(path, session.get(path)[1], cookies, SHAPES[shape], "webhooks-admin")
        look("/console/webhooks", 0)
        token = re.search(r'action="/console/webhooks">\s*<input type="hidden" name="form_token" value="([^"]+)"',
                          session.get("/console/webhooks")[1]).group(1)
        fields = {"form_token": token, "name": MARKUP, "url": "http://127.0.0.1:9/hook", "type:gift.*": "1"}
        refused, text = session.post("/console/webhooks", fields | {"url": "https:///x"})
        self.assertEqual(refused.status, 400)
        self.assertEqual(self.browser.ask(do="validate", text=text), [])
        made, text = session.post("/console/webhooks", fields)
        self.assertEqual(made.status, 200)
        self.assertEqual(self.browser.ask(do="validate", text=text), [])
        self.assertRegex(text, r"<code>whsec_[A-Za-z0-9+/]{43}=</code>")
        page = re.search(r'action="(/console/webhooks/\d+)/test"', text).group(1)
        self.fixture.ctl("webhook", "test", MARKUP, expect=69)
        for shape, path in enumerate(["/console/webhooks", page, page + "?failed=1", page + "/attempt?number=1"]):
            look(path, shape + 1)

    @unittest.skipUnless(EVERY_STATE, "EVERY_STATE=1 looks at each page with each role in each state")
    def test_every_role_with_data(self):
        self.start_fixture(with_data=True)
        for role in ROLES:
            with self.subTest(role):
                self.walk(daemon_fixture.SENDER if role == "sender" else f"{role}@example.com", role, lambda _: SHAPES, "data")

    @unittest.skipUnless(EVERY_STATE, "EVERY_STATE=1 looks at each page with each role in each state")
    def test_every_role_on_an_empty_store(self):
        self.start_fixture(with_data=False)
        for role in ROLES:
            with self.subTest(role):
                self.walk(f"{role}@example.com", role, lambda _: SHAPES, "empty")

    @unittest.skipUnless(EVERY_STATE, "EVERY_STATE=1 looks at each page with each role in each state")
    def test_every_role_while_the_crm_is_away(self):
        crm = {"type": "salesforce", "salesforce": {"domain": "http://127.0.0.1:9", "flow": "client_credentials",
                                                    "client_id": "3MVG9.away", "client_secret": "none"}}
        self.start_fixture(with_data=True, crm=crm)
        for role in ROLES:
            with self.subTest(role):
                self.walk(f"{role}@example.com", role, lambda _: SHAPES, "away")


if __name__ == "__main__":
    daemon_fixture.main()
