#!/usr/bin/python3
"""Test keys against a running daemon: every outcome of giftsync.test is reached over kills, and nothing leaves: no mail to a recipient, no
row in the CRM, no line in a list of gifts."""
import re
import urllib.parse

import daemon_fixture
from console_session import ConsoleTestCase
from http_client import NO_RESPONSE, SEND, URLS, Client, gift_request
from mails import mails_in

OUTCOMES = {"delivered": "delivered", "undelivered": "undelivered", "opened": "opened", "redeemed": "redeemed", "donated": "donated",
            "expired": "expired", "refunded": "refunded", "complained": "delivered", "opted-out": "opened"}
STATES = ("sent_at", "delivered_at", "undelivered_at", "opened_at", "redeemed_at", "donated_at", "expired_at", "refunded_at")
CONSOLE = "console: { enabled: true }\n"
# What a page has for this response alone, and what the daemon writes once a minute: the last use of a key and of a session.
CHANGES_BY_ITSELF = re.compile(r'name="form_token" value="[^"]*"|<dt>Last used</dt><dd>.*?</dd>|last seen <time.*?</time>'
                               r'|Read at [0-9:]+|Your session ends at [^<]*')


def address(outcome, label=""):
    return f"{outcome}{label}@giftsync.test"


class TestKeys(ConsoleTestCase):
    def started(self, more=""):
        fixture = self.new_fixture(more=more).seed()
        fixture.test_key = fixture.new_key(daemon_fixture.SENDER, "--name", "trial", "--test")
        return fixture.start()

    def until_answered(self, fixture, body, key):
        while True:
            try:
                with Client(fixture, key=fixture.test_key) as client:
                    return client.post(SEND, body, headers={"Idempotency-Key": key})
            except NO_RESPONSE:
                fixture.wait_ready()

    def recipients(self, fixture, request):
        with Client(fixture, key=fixture.test_key) as client:
            return client.get(f"{SEND}/{request}").json()["data"]["recipients"]

    # covers: TEST-2, TEST-3, TEST-4, TEST-5, TEST-7, TEST-9
    def test_every_outcome_is_reached_over_kills_and_nothing_leaves(self):
        fixture = self.started()
        self.assertRegex(fixture.test_key, r"^gsk_test_[0-9A-Za-z]{38}$")
        requests = []
        for label in ("", "+two", "+three"):
            body = gift_request(*(address(outcome, label) for outcome in OUTCOMES), "kim@example.com")
            response = self.until_answered(fixture, body, f"k{label}")
            self.assertEqual(response.status, 201, response)
            self.assertEqual([warning["code"] for warning in response.json()["warnings"]], ["test"])
            requests.append(response.json()["data"]["id"])
            fixture.kill()
            fixture.start()
        expected = [*OUTCOMES.values(), "delivered"]

        def reached():
            found = [self.recipients(fixture, request) for request in requests]
            return all([one["status"] for one in gifts] == expected and
                       all((one["crm_record_dry"] or {}).get("RecipientTransactionStatus") == one["status"] for one in gifts)
                       for gifts in found)

        daemon_fixture.wait_until(reached, "every outcome", pace_seconds=0.5)
        for request in requests:
            for one in self.recipients(fixture, request):
                times = sorted(one[state] for state in STATES if one[state])
                self.assertEqual(times[0], one["sent_at"])
                self.assertEqual(len(set(times)), len(times), "one step a second")
        self.assertEqual(fixture.ctl_json("gift", "list"), [])
        self.assertEqual(len(fixture.ctl_json("gift", "list", "--test")), 30)
        self.assertEqual(fixture.gift_records(), [])
        self.assertEqual(fixture.ctl_json("do-not-send", "list"), [])
        self.assertEqual(sum(fixture.status()["mail"][state] for state in ("accepted", "undelivered", "uncertain", "held")), 0)
        self.assertEqual(list(fixture.outbox.glob("*")) if fixture.outbox.exists() else [], [], "a mail left")
        fixture.ctl("gift", "purge-test")
        self.assertEqual(fixture.ctl_json("gift", "list", "--test"), [])
        with Client(fixture, key=fixture.test_key) as client:
            self.assertEqual(client.get(f"{SEND}/{requests[0]}").status, 404)

    # covers: TEST-1, TEST-4, TEST-6, TEST-8
    def test_what_is_refused_held_and_lost(self):
        fixture = self.started()
        with Client(fixture, key=fixture.test_key) as test, Client(fixture) as live:
            self.assertEqual(live.send_gift(address("opened")).json()["errors"][0]["code"], "test_recipient")
            self.assertEqual(test.send_gift(address("opend")).json()["errors"][0]["code"], "unknown_test_recipient")
            self.assertEqual(test.send_gift(address("do-not-send")).status, 403)
            held = test.send_gift(address("held")).json()["data"]
            self.assertEqual(held["state"], "held")
            self.assertEqual(live.get(f"{SEND}/{held['id']}").status, 404)
            self.assertEqual(fixture.ctl_json("held", "list"), [])
            self.assertEqual([row["id"] for row in fixture.ctl_json("held", "list", "--test")], [held["id"]])
            fixture.ctl("held", "approve", str(held["id"]), "--yes")
            daemon_fixture.wait_until(lambda: self.recipients(fixture, held["id"])[0]["status"] == "delivered", "the approved gift",
                                      pace_seconds=0.2)
            record = test.post("/api/v1/request_records", {})
            self.assertEqual((record.status, record.json()["code"]), (403, "live_only"))
            asked = test.post(SEND, gift_request("kim@example.com"), headers={"Giftsync-Test-Response": "503"})
            self.assertEqual(asked.status, 503)
            with self.assertRaises(NO_RESPONSE):
                test.post(SEND, gift_request("kim@example.com"), headers={"Giftsync-Test-Response": "lost", "Idempotency-Key": "k"})
            self.assertEqual(test.send_gift("kim@example.com", idempotency_key="k").status, 201)
            self.assertEqual(len(fixture.ctl_json("gift", "list", "--test")), 2)
            only = live.post(SEND, gift_request("kim@example.com"), headers={"Giftsync-Test-Response": "503"})
            self.assertEqual((only.status, only.json()["code"]), (400, "test_only"))

    # covers: TEST-2
    def test_the_sender_gets_the_mail_where_the_settings_say_so(self):
        fixture = self.started(more="test: { mail_sender: true }\n")
        with Client(fixture, key=fixture.test_key) as client:
            request = client.send_gift(address("undelivered")).json()["data"]["id"]
        mail = daemon_fixture.wait_until(lambda: mails_in(fixture.outbox), "the mail")[0]
        self.assertEqual(mail.to, daemon_fixture.SENDER)
        self.assertTrue(mail.subject.startswith("[Test] "), mail.subject)
        self.assertTrue(mail.message_id.startswith("test-"), mail.message_id)
        self.assertIsNone(mail.headers["List-Unsubscribe"])
        self.assertNotIn(b"giftsync.test", mail.bytes)
        daemon_fixture.wait_until(lambda: self.recipients(fixture, request)[0]["status"] == "undelivered", "the outcome", pace_seconds=0.2)
        self.assertEqual(fixture.status()["mail"]["accepted"], 0, "no list of mails has it")

    # covers: TEST-5
    def test_the_page_of_an_accepted_gift_shows_a_code_that_is_none(self):
        fixture = self.started()
        fixture.ctl("item", "codes", "import", "7", fixture.write("codes.csv", "code\nREAL-1\n"))
        with Client(fixture, key=fixture.test_key) as client:
            made = client.post(URLS, gift_request("kim@example.com", by_email=False)).json()["data"]
            path = made["recipients"][0]["gift_redemption_url"].removeprefix(fixture.url)
            form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": fixture.url}
            self.assertEqual(client.request("POST", path, b"choice=accept", headers=form, authorization=False).status, 303)
            page = client.get(path, authorization=False).body.decode()
            self.assertIn("TEST-CODE", page)
            self.assertNotIn("REAL-1", page)
        self.assertEqual(fixture.query("SELECT count(*) FROM gift_code WHERE transaction_id IS NOT NULL")[0][0], 0)

    # covers: CON-70
    def test_the_console_shows_them_alone_after_a_switch(self):
        self.fixture = fixture = self.started(more=CONSOLE)
        with Client(fixture) as live, Client(fixture, key=fixture.test_key) as test:
            other = live.send_gift("rose@example.com").json()["data"]["recipients"][0]["recipient_transaction_id"]
            gift = test.send_gift("kim@example.com").json()["data"]["recipients"][0]["recipient_transaction_id"]
        browser = self.signed_in("ops@example.com", "operator")

        def gifts_page():
            return browser.get("/console/gifts")[1].replace("<wbr>", "")  # addresses may wrap

        def switch():
            page = gifts_page()
            form = re.search(r'action="/console/test-gifts">(.*?)</form>', page, re.DOTALL).group(1)
            response, _ = browser.post("/console/test-gifts", dict(re.findall(r'name="(\w+)" value="([^"]*)"', form)))
            self.assertEqual(response.status, 303)
            return gifts_page()

        before = gifts_page()
        self.assertIn("rose@example.com", before)
        self.assertNotIn("kim@example.com", before)
        self.assertEqual(browser.get(f"/console/gifts/{gift}")[0].status, 404)
        shown = switch()
        self.assertIn("those of test keys", shown)
        self.assertIn("kim@example.com", shown)
        self.assertNotIn("rose@example.com", shown)
        self.assertEqual(browser.get(f"/console/gifts/{gift}")[0].status, 200)
        self.assertEqual(browser.get(f"/console/gifts/{other}")[0].status, 404)
        self.assertNotIn("those of test keys", switch())

    # covers: TEST-7
    def test_no_page_of_the_console_shows_them_unasked(self):
        self.fixture = fixture = self.started(more=CONSOLE)

        def send(key):
            with Client(fixture, key=key) as client:
                self.assertEqual(client.send_gift("rose@example.com").status, 201)
                self.assertEqual(client.post(URLS, gift_request("rose@example.com", by_email=False)).status, 200)

        send(fixture.key)
        daemon_fixture.wait_until(lambda: mails_in(fixture.outbox) and len(fixture.gift_records()) == 2
                                  and fixture.status()["sync"]["queued"] == 0, "the mail and the records, with all that the mail changed")
        browser = self.signed_in("ops@example.com", "operator")

        def pages():
            """Path -> page, of all that links lead to, without the audit log and what shows the key itself."""
            found, waiting = {}, ["/console/"]
            while waiting:
                path = waiting.pop()
                if path in found or "/audit" in path:
                    continue
                response, text = browser.get(path)
                found[path] = None if fixture.test_key[:16] in text else CHANGES_BY_ITSELF.sub("", text)
                if response.headers["Content-Type"].startswith("text/html"):
                    waiting += [urllib.parse.urljoin(path, link.replace("&amp;", "&").split("#")[0])
                                for link in re.findall(r'<a [^>]*href="(/console/[^"]*|\?[^"]*)"', text)]
            return found

        before, again = pages(), pages()
        same = {path: page for path, page in before.items() if page and again.get(path) == page}
        self.assertGreater(len(same), 20, sorted(before.keys() - same.keys()))
        send(fixture.test_key)
        daemon_fixture.wait_until(lambda: fixture.query("SELECT count(*) FROM test_record")[0][0] == 2, "the dry records")
        after = pages()
        self.assertEqual({path: after.get(path) for path in same}, same)
        self.assertEqual(after.keys() - before.keys(), set())


if __name__ == "__main__":
    daemon_fixture.main()
