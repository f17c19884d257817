#!/usr/bin/python3
"""The recipient's pages in a browser: Debian's Chromium driven by playwright-core, with and without JavaScript, by mouse, touch
and keyboard, on a phone and a desktop, light and dark; axe-core and html-validate check every page and state. The link comes from
the mail. SCREENSHOTS=FOLDER saves a screenshot of each page."""
import concurrent.futures
import http.server
import json
import os
import re
import threading
import unittest
import urllib.parse

import chromium
import daemon_fixture
from http_client import Client, URLS, gift_request
from mails import mails_in

SCREENSHOTS = os.environ.get("SCREENSHOTS")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
LOGO = ('<svg xmlns="http://www.w3.org/2000/svg" width="220" height="48" viewBox="0 0 220 48"><rect width="220" height="48" rx="12" '
        'fill="#0b5cad"/><path d="M20 34V14h14M20 24h11" stroke="#fff" stroke-width="4" fill="none"/></svg>')
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="6" height="4"><rect width="6" height="4" fill="#b98a5e"/></svg>'
SETTINGS = """
pages:
  company_name: "Edge Communications"
  colour: "#0b5cad"
  logo: logo.svg
  charities:
    - { name: "Doctors Without Borders", link: "https://www.doctorswithoutborders.org" }
    - { name: "Sea & Rescue", link: "https://sea.example/help?a=1" }
catalogue: { low_code_threshold: 1 }
"""
ITEMS = """\
gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee,picture,redemption_text,redemption_link
7,Coffee for two,"Two hot drinks of your choice, in any of our partner cafés.",5.00,0.00,0.10,0.40,,Show this page at the counter.,
8,Mug,,12.30,4.95,0.25,1.00,https://pictures.example/mug.jpg,,https://shop.example/redeem?x=1
9,Ride,A ride through town.,20.00,0.00,0.10,0.40,https://127.0.0.1:1/none.jpg,,
"""
MESSAGE = "Dear Rose,\n\nthank you for the last year.\nEnjoy!\n\nAna"
ODD_MESSAGES = {
    "html": "<b>bold</b><script>document.title='x'</script> &amp; <img src=https://evil.example/x>",
    "right to left": "שלום עולם, תודה רבה!\nمرحبا بك\nand English",
    "emoji": "🎁👩‍👩‍👧‍👦🏴‍☠️ 𝒶𝒷" * 20,
    "one word": "x" * 10_000,
    "blanks": "  two  \n\n\n   three ",
}


class Pages(daemon_fixture.DaemonTestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.start(cls)
        cls.fixture = daemon_fixture.DaemonFixture()
        cls.addClassCleanup(cls.fixture.close)
        cls.fixture.write("logo.svg", LOGO)
        cls.fixture.write_settings(SETTINGS)
        cls.fixture.seed(ITEMS).start()

    # ---- Helpers ---------------------------------------------------------------------------------
    def gift(self, gift_id=7, message=MESSAGE, first_name="Rose", last_name="Gonzalez"):
        """(id, link to accept, link to donate)"""
        with Client(self.fixture) as client:
            body = gift_request({"email": "rose@edge.example", "message": message, "first_name": first_name,
                                 "last_name": last_name}, gift_id=gift_id, by_email=False)
            response = client.post(URLS, body)
        self.assertEqual(response.status, 200, response)
        (one,) = response.json()["data"]["recipients"]
        return one["recipient_transaction_id"], one["gift_redemption_url"], one["gift_donation_url"]

    def mailed_gift(self):
        """(id, links of its mail to accept, donate and stop, the mail)"""
        known = {mail.message_id for mail in mails_in(self.fixture.outbox)}
        with Client(self.fixture) as client:
            response = client.send_gift({"email": "rose@edge.example", "message": MESSAGE, "first_name": "Rose"})
        self.assertEqual(response.status, 201, response)
        mail = daemon_fixture.wait_until(lambda: [one for one in mails_in(self.fixture.outbox) if one.message_id not in known],
                                "the mail")[0]
        links = re.findall(r"http://[^\s\"<>]+/g/[A-Za-z0-9_-]+", mail.text)
        return response.json()["data"]["recipients"][0]["recipient_transaction_id"], links, mail

    def visit(self, url, name=None, **more):
        """A page without findings of axe-core and html-validate."""
        shot = os.path.join(SCREENSHOTS, name + ".png") if SCREENSHOTS and name else None
        page = self.browser.ask(do="visit", url=url, screenshot=shot, **more)
        if more.get("check", True):
            self.assertEqual(page["violations"], [], name or url)
            self.assertLessEqual(page["sideways"], 0, f"{name or url} scrolls sideways")
            self.assertEqual(self.browser.ask(do="validate", text=self.source(page["url"])), [], name or url)
        return page

    def source(self, url):
        parts = urllib.parse.urlsplit(url)
        with Client(self.fixture) as client:
            body = client.get(parts.path + ("?" + parts.query if parts.query else ""), authorization=False).body.decode()
        self.assertLess(len(body), 50_000)
        return body

    def post(self, url, body, **headers):
        with Client(self.fixture) as client:
            return client.post(urllib.parse.urlsplit(url).path, body.encode(), headers={**FORM, **headers},
                               authorization=False)

    def changes(self, gift):
        return [row[0] for row in self.fixture.query(f"SELECT status FROM change_log WHERE transaction_id = {gift} "
                                                   "AND source <> 'mailer' ORDER BY id")]

    def record_status(self, gift):
        return next((record["RecipientTransactionStatus"] for record in self.fixture.gift_records()
                     if record["RecipientTransactionId"] == gift), None)

    # ---- From the mail to the outcome ------------------------------------------------------------------------------------------
    # PAGE-17
    def test_accepting_on_a_phone_without_scripts(self):
        gift, (accept, _, _), mail = self.mailed_gift()
        self.assertIn("Edge Communications", mail.text)
        page = self.visit(accept, "phone-accept", width=320, js=False)
        for expected in ("Ana Lima sent you a gift", "Coffee for two", "thank you for the last year.", "For Rose"):
            self.assertIn(expected, page["text"])
        self.assertEqual(page["errors"], [])
        self.assertTrue(all(one.startswith(f"GET {self.fixture.url}/g/") for one in page["requests"]), page["requests"])
        self.assertEqual(self.changes(gift), [])
        page = self.visit(accept, "phone-thanks", width=320, js=False,
                          does=[["click", "text=Accept the gift"], ["submitted", "?thanks"]])
        self.assertIn("Thank you! The gift is yours.", page["text"])
        self.assertIn("Show this page at the counter.", page["text"])
        self.assertEqual(sorted(self.changes(gift)), ["opened", "redeemed"])
        daemon_fixture.wait_until(lambda: self.record_status(gift) == "redeemed", "the status in the CRM", seconds=20, pace_seconds=0.3)
        self.assertIn("has been accepted", self.visit(accept, "accepted-dark", dark=True)["text"])

    # GUARD-5, PAGE-17
    def test_asking_for_no_more_gifts_without_scripts(self):
        gift, (accept, _, stop), _ = self.mailed_gift()
        listed = lambda: [row[0] for row in self.fixture.query("SELECT reason FROM do_not_send")]
        self.assertIn("Do not send me gifts", self.visit(accept, js=False)["text"])
        page = self.visit(stop, "stop-phone", width=320, js=False, does=[["click", "button"], ["seen", "You get no more gifts"]])
        self.assertEqual(page["url"], stop)
        self.assertEqual(listed(), ["opted_out"])
        self.visit(stop, "stopped-dark", dark=True, js=False, does=[["click", "button"], ["seen", "Would you like no more gifts?"]])
        self.assertEqual(listed(), [])
        with Client(self.fixture) as client:
            one_click = client.post(urllib.parse.urlsplit(stop).path, b"List-Unsubscribe=One-Click", headers=FORM, authorization=False)
        self.assertEqual((one_click.status, one_click.body), (200, b""))
        self.assertEqual(listed(), ["opted_out"])
        self.visit(stop, js=False, does=[["click", "button"], ["seen", "Would you like no more gifts?"]])
        self.assertEqual(self.changes(gift), [])

    # PAGE-17
    def test_donating_by_keyboard_alone_in_dark_mode(self):
        gift, accept, donate = self.gift()
        page = self.visit(accept, "desktop-accept-dark", width=1440, height=900, dark=True,
                          does=[["tab_to", "Donate its value instead"], ["press", "Enter"], ["seen", "Which charity"]])
        self.assertEqual(page["url"], donate)
        daemon_fixture.wait_until(lambda: self.changes(gift) == ["opened"], "the key press to be recorded")
        page = self.visit(donate, "desktop-donate-dark", width=1440, height=900, dark=True,
                          does=[["tab_to", "Doctors"], ["press", "ArrowDown"], ["tab_to", "Donate the value"], ["press", "Enter"],
                                ["submitted", "?thanks"]])
        self.assertIn("Thank you for doing good!", page["text"])
        self.assertIn("Its value goes to Sea & Rescue.", page["text"])
        self.assertEqual(self.changes(gift), ["opened", "donated"])
        self.assertIn("Sea & Rescue", self.fixture.ctl("gift", "show", str(gift)))
        line = daemon_fixture.wait_until(lambda: [one for one in self.fixture.ctl("gift", "export", "--status", "donated", "--format",
                                         "ndjson").splitlines() if json.loads(one)["recipient_transaction_id"] == gift],
                                "the export to have it", pace_seconds=0.3)[0]
        self.assertEqual(json.loads(line)["charity"], "Sea & Rescue")
        self.visit(donate, "donated")
        self.assertIn("has been donated", self.visit(accept)["text"])

    def test_every_other_page(self):
        _, accept, donate = self.gift(gift_id=8)
        self.visit(donate, "donate-phone", width=320)
        self.visit(donate, "donate-choose", does=[["click", "text=Accept the gift itself"], ["seen", "Accept the gift"]])
        self.assertIn("Please choose a charity first.", self.visit(donate + "?choose", "choose-first")["text"])
        self.assertEqual(self.post(donate, "choice=donate").status, 303)
        page = self.visit(accept, "desktop-accept", width=1440, height=900, picture=PICTURE)
        self.assertEqual(page["shown"], [True, True], "logo and picture")
        self.assertIn("GET https://pictures.example/mug.jpg", page["requests"])
        self.assertEqual(page["errors"], [])
        _, missing, _ = self.gift(gift_id=9)
        for js in (True, False):
            page = self.visit(missing, f"picture-missing-{js}", js=js)
            self.assertIn("A ride through town.", page["text"])
        for dark in (True, False):
            self.assertEqual(self.visit(self.fixture.url + "/g/nothing", f"unknown-{dark}", dark=dark)["status"], 404)
        gone, old, _ = self.gift()
        view = next(record["RecipientTransactionLink"] for record in daemon_fixture.wait_until(
            lambda: [one for one in self.fixture.gift_records() if one["RecipientTransactionId"] == gone], "the record",
            pace_seconds=0.3))
        self.assertIn("This page only shows how the gift stands", self.visit(view, "view", width=320)["text"])
        for status, expected in (("expired", "has expired"), ("refunded", "has expired")):
            line = json.dumps({"recipient_transaction_id": gone, "status": status, "occurred_at": "2026-11-21T12:00:00Z"})
            self.fixture.ctl("change", "import", self.fixture.write("c.ndjson", line + "\n"))
            self.assertIn(expected, self.visit(old, status)["text"])
        self.fixture.query(f"UPDATE recipient_transaction SET generation = 1 WHERE id = {gone}")
        self.assertEqual(self.visit(old, "old")["status"], 410)

    def test_the_languages(self):
        _, accept, donate = self.gift()
        for language, expected in (("de-DE", "Geschenk annehmen"), ("es-ES", "Aceptar el regalo")):
            page = self.visit(accept, language, language=language, width=320)
            self.assertIn(expected, page["text"])
            self.visit(donate, language + "-donate", language=language)

    def test_the_mail_as_a_page(self):
        _, _, mail = self.mailed_gift()
        for dark in (False, True):
            shot = os.path.join(SCREENSHOTS, f"mail-{dark}.png") if SCREENSHOTS else None
            page = self.browser.ask(do="visit", content=mail.html, dark=dark, width=390 if dark else 1024, screenshot=shot)
            # A mail needs no landmarks.
            self.assertEqual([one for one in page["violations"] if not one.startswith(("landmark", "region"))], [])
            self.assertLessEqual(page["sideways"], 0)
            self.assertEqual([one for one in page["requests"] if not one.startswith("GET data:")], [])
        for expected in ("Ana Lima has a gift for you", "See and accept your gift", "Donate it instead", "Coffee for two", "Dear Rose,"):
            self.assertIn(expected, page["text"])
            self.assertIn(expected, mail.text)

    # ---- Scanners, races, guesses, other sites -----------------------------------------------------------------------------------
    def test_a_link_scanner_changes_nothing(self):
        gift, links, _ = self.mailed_gift()
        for link in links:
            for method in ("HEAD", "GET"):
                with Client(self.fixture) as client:
                    self.assertEqual(client.request(method, urllib.parse.urlsplit(link).path, authorization=False).status, 200)
            page = self.browser.ask(do="visit", url=link, check=False, does=[["idle", ""], ["network_idle", ""]])
            self.assertFalse([one for one in page["requests"] if one.startswith("POST")])
        self.assertEqual(self.changes(gift), [])
        self.assertEqual(self.fixture.query("SELECT pattern FROM do_not_send"), [])
        touched = self.visit(links[0], touch=True, check=False, does=[["mobile_tap", ""], ["network_idle", ""]])
        self.assertIn("POST " + links[0], touched["requests"])
        daemon_fixture.wait_until(lambda: self.changes(gift) == ["opened"], "the touch to be recorded")

    def test_fifty_concurrent_choices_have_one_outcome(self):
        gift, accept, donate = self.gift()
        bodies = [(accept, "choice=accept"), (donate, "choice=donate&charity=Sea+%26+Rescue")] * 25
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            responses = list(pool.map(lambda one: self.post(*one), bodies))
        self.assertEqual({response.status for response in responses}, {303})
        outcomes = [status for status in self.changes(gift) if status != "opened"]
        self.assertEqual(len(outcomes), 1)
        thanked = {url for (url, _), response in zip(bodies, responses) if response.headers["Location"].endswith("?thanks")}
        self.assertEqual(thanked, {accept if outcomes == ["redeemed"] else donate})

    def test_guesses_are_rate_limited_while_a_recipient_is_served(self):
        _, accept, _ = self.gift()
        with Client(self.fixture) as client:
            guesses = [client.get(f"/g/S{number}", authorization=False) for number in range(300)]
            slowed = [response for response in guesses if response.status == 429]
            self.assertGreaterEqual(len(slowed), 280)
            self.assertLessEqual(int(slowed[-1].headers["Retry-After"]), 60)
            self.assertEqual(client.get(urllib.parse.urlsplit(accept).path, authorization=False).status, 200)

    def test_another_site_cannot_decide(self):
        gift, accept, _ = self.gift()
        page = f'<form method="post" action="{accept}"><input name="choice" value="accept"><button>Go</button></form>'
        handler = type("Evil", (http.server.BaseHTTPRequestHandler,), {
            "do_GET": lambda one: (one.send_response(200), one.send_header("Content-Type", "text/html"), one.end_headers(),
                                   one.wfile.write(page.encode())),
            "log_message": lambda *_: None})
        with http.server.HTTPServer(("127.0.0.1", 0), handler) as evil:
            thread = threading.Thread(target=evil.serve_forever, daemon=True)
            thread.start()
            for host in ("127.0.0.1", "localhost"):
                seen = self.browser.ask(do="visit", url=f"http://{host}:{evil.server_port}/", check=False,
                                        does=[["click", "text=Go"], ["seen", "Nothing has been decided"]])
                self.assertIn("another web page", seen["text"])
            evil.shutdown()
        self.assertEqual(self.changes(gift), [])
        self.assertEqual(self.browser.ask(do="validate", text=self.post(
            accept, "choice=accept", Origin="https://evil.example").body.decode()), [])
        self.assertEqual(self.post(accept, "choice=accept").status, 303, "an old browser sends neither Origin nor Sec-Fetch-Site")
        self.assertEqual(sorted(self.changes(gift)), ["opened", "redeemed"])

    def test_odd_messages_and_names_are_text(self):
        for name, message in ODD_MESSAGES.items():
            with self.subTest(name=name):
                _, accept, _ = self.gift(message=message, first_name="https://evil.example/win", last_name="w" * 200)
                page = self.visit(accept, "odd-" + name.replace(" ", "-"), width=320)
                self.assertIn(message.strip().split("\n")[0][:40].strip(), page["text"])
                self.assertEqual(page["errors"], [])
                self.assertFalse([one for one in page["requests"] if "evil" in one])
                self.assertNotIn('href="https://evil', page["html"])

    def test_exhausted_codes_leave_the_gift_undecided(self):
        self.fixture.ctl("item", "codes", "import", "9", self.fixture.write("codes.csv", "code\nSECRET-CODE-1\n"))
        _, first, _ = self.gift(gift_id=9)
        second_id, second, _ = self.gift(gift_id=9)
        page = self.visit(first, "code", does=[["click", "text=Accept the gift"], ["submitted", "?thanks"]])
        self.assertIn("SECRET-CODE-1", page["text"])
        page = self.visit(second, "later", does=[["click", "text=Accept the gift"], ["submitted", "?later"]])
        self.assertIn("Your gift is kept for you", page["text"])
        self.assertNotIn("redeemed", self.changes(second_id))
        self.assertIn("item 9 has no codes left", self.fixture.whole_log())
        self.assertNotIn("SECRET-CODE", self.fixture.whole_log())
        self.assertIn("EXHAUSTED", self.fixture.status_text())


if __name__ == "__main__":
    daemon_fixture.main()
