#!/usr/bin/python3
"""The console of a real daemon: signing in by a link that works once, the session's cookie, forms of other sites, other hosts,
open redirects, markup in every field that is shown, what an auditor does not see, and the CSV of a filter."""
import csv
import datetime
import email
import email.policy
import io
import re
import unittest
import urllib.parse

import daemon_fixture
from console_session import Browser, ConsoleTestCase
from http_client import Client

SETTINGS = "console: { enabled: true }\n"
MARKUP = "<script>alert(1)</script>"


class Console(ConsoleTestCase):
    def setUp(self):
        self.fixture = daemon_fixture.DaemonFixture(more=SETTINGS)
        self.addCleanup(self.fixture.close)
        self.fixture.start()
        self.fixture.seed()

    def send_gift(self, email, **more):
        with Client(self.fixture) as client:
            self.assertEqual(client.send_gift({"email": email, **more}).status, 201)

    def test_a_link_signs_in_once_and_the_session_is_safe(self):
        self.fixture.ctl("user", "create", "--email", "ana@example.com", "--grant", "operator")
        path = self.link("ana@example.com")
        browser = Browser(self.fixture)
        for _ in range(2):
            response, text = browser.get(path)
            self.assertEqual(response.status, 200)
            self.assertIn("<form method=\"post\">", text)
            self.assertEqual(browser.cookies, {})
        for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Content-Type": "text/plain"}):
            self.assertEqual(browser.post(path, **headers)[0].status, 403, headers)
        response, _ = browser.post(path)
        self.assertEqual(response.status, 303)
        cookie = response.headers["Set-Cookie"]
        for part in ("HttpOnly", "SameSite=Lax", "Path=/"):
            self.assertIn(part, cookie)
        self.assertNotIn("Max-Age", cookie)
        self.assertEqual(browser.post(path)[0].status, 404)
        self.assertEqual(Browser(self.fixture).get("/console/")[0].status, 303)
        page, text = browser.get("/console/")
        self.assertEqual(page.status, 200)
        self.assertIn("<span>responds</span>", text)
        self.assertIn("require-trusted-types-for 'script'", page.headers["Content-Security-Policy"])
        for asset in re.findall(r'(?:href|src)="(/console/assets/[^"]+)"', text):
            self.assertEqual(browser.get(asset)[0].headers["Cache-Control"], "public, max-age=31536000, immutable")
        secret = browser.cookies["giftsync_session"]
        self.assertEqual(self.fixture.query(f"SELECT count(*) FROM session WHERE id_hash = '{secret}'")[0][0], 0)
        token = path.rsplit("/", 1)[1]
        self.assertNotIn(token, self.fixture.log_path.read_text(encoding="utf-8"))
        actions = [row["action"] for row in self.fixture.ctl_json("audit", "list")]
        self.assertEqual(actions[:3], ["sign-in", "console.sign-in-link", "user.create"])
        self.assertIn("key.create", actions, "what the fixture did by command")
        session = self.fixture.ctl_json("session", "list")[0]["session"]
        self.fixture.ctl("session", "end", session)
        self.assertEqual(browser.get("/console/")[0].status, 303)

    def ask(self, email, **headers):
        response, _ = Browser(self.fixture).post("/console/sign-in", {"by": "link", "email": email, "return": "/console/gifts"}, **headers)
        return response

    def link_mails(self):
        """The mails with a link, each as (recipient, text)."""
        mails = []
        for path in sorted(self.fixture.outbox.glob("sign_in-*.eml"), key=lambda one: one.stat().st_mtime_ns):
            message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
            text, html = (message.get_body((kind,)).get_content().replace("\r", "") for kind in ("plain", "html"))
            mails.append((message["To"], text, html))
        return mails

    def wait_for_links(self, count):
        daemon_fixture.wait_until(lambda: len(self.link_mails()) >= count, f"{count} mails")
        text = self.link_mails()[-1][1]
        return re.search(rf"^{re.escape(self.fixture.url)}(/console/link/[-_A-Za-z0-9]{{43}})$", text, re.M).group(1)

    def test_a_user_asks_for_a_link_by_mail(self):
        fixture = self.fixture
        fixture.ctl("user", "create", "--email", "ana@example.com", "--grant", "approver")
        fixture.ctl("user", "create", "--email", "gone@example.com", "--grant", "approver")
        fixture.ctl("user", "deactivate", "gone@example.com")
        browser = Browser(fixture)
        page, text = browser.get("/console/sign-in?return=%2Fconsole%2Fgifts%3Fstatus%3Dsent")
        self.assertIn("Mail me a sign-in link", text)
        answers = {}
        for address in ("unknown@example.com", "gone@example.com", "Ana@example.com"):
            asked, _ = browser.post("/console/sign-in", {"by": "link", "email": address, "return": "/console/gifts?status=sent"})
            answers[address] = (asked.status, asked.headers["Location"], asked.headers["Set-Cookie"], asked.headers["Content-Length"])
        self.assertEqual(len(set(answers.values())), 1, answers)
        self.assertIn("a mail is on its way", browser.get(asked.headers["Location"])[1])
        link = self.wait_for_links(1)
        (to, text, markup), = self.link_mails()
        self.assertEqual(to, "ana@example.com")
        self.assertIn("127.0.0.1", text, "who asked")
        self.assertIn("ignore this mail", text)
        self.assertIn(link + '"', markup)
        token = link.rsplit("/", 1)[1]
        self.assertEqual(fixture.query(f"SELECT count(*) FROM sign_in_link WHERE token_hash LIKE '{token}'")[0][0], 0)
        scanner = Browser(fixture)
        for method in ("GET", "HEAD", "GET"):
            self.assertEqual(scanner.send(method, link)[0].status, 200)
        self.assertEqual(scanner.cookies, {})
        signed_in, _ = browser.post(link)
        self.assertEqual((signed_in.status, signed_in.headers["Location"]), (303, "/console/gifts?status=sent"))
        self.assertEqual(browser.get("/console/gifts")[0].status, 200)
        self.assertEqual(Browser(fixture).post(link)[0].status, 404, "the second use")
        session, = fixture.ctl_json("session", "list")
        self.assertEqual(session["by"], "mailed link")
        begins, ends = (datetime.datetime.fromisoformat(session[name]) for name in ("created_at", "expires_at"))
        self.assertEqual((ends - begins).total_seconds(), 12 * 3600)
        actions = [(one["action"], one["detail"]) for one in fixture.ctl_json("audit", "list")][:2]
        self.assertEqual(actions, [("sign-in", "by a mailed link, asked for by 127.0.0.1"),
                                   ("sign-in-link.mail", "asked for by 127.0.0.1")])
        log = fixture.whole_log()
        self.assertNotIn(token, log)
        self.assertNotIn("unknown@example.com", log)
        self.ask("ana@example.com")
        link = self.wait_for_links(2)
        fixture.query("UPDATE sign_in_link SET expires_at = 1")
        self.assertEqual(Browser(fixture).post(link)[0].status, 404, "a link that has ended")

    def test_requests_for_links_are_limited(self):
        self.fixture.ctl("user", "create", "--email", "ana@example.com", "--grant", "approver")
        answers = [self.ask("ana@example.com").status for _ in range(21)]
        self.assertEqual(answers, [303] * 20 + [429])
        self.wait_for_links(1)
        self.assertLessEqual(self.fixture.query("SELECT count(*) FROM sign_in_request")[0][0], 3, "of one address")
        self.assertEqual(self.ask("ana@example.com", Origin="https://evil.example").status, 403)

    def test_a_link_survives_a_kill_after_the_answer(self):
        fixture = self.fixture
        fixture.ctl("user", "create", "--email", "ana@example.com", "--grant", "approver")
        fixture.ctl("mail", "pause", "--reason", "a test")
        daemon_fixture.wait_until(lambda: "mail is paused" in fixture.whole_log(), "the pause")
        asked = self.ask("ana@example.com")
        self.assertEqual(asked.status, 303)
        fixture.kill()
        fixture.start()
        self.assertIn("Mail is paused just now", Browser(fixture).get(asked.headers["Location"])[1])
        daemon_fixture.wait_until(lambda: fixture.query("SELECT state FROM mail_outbox") == [("queued",)], "the mail to be queued")
        self.assertEqual(fixture.ctl_json("mail", "list", "--state", "queued"), [], "no list has these mails")
        self.assertEqual(self.link_mails(), [])
        fixture.ctl("mail", "resume")
        link = self.wait_for_links(1)
        self.assertEqual(Browser(fixture).post(link)[0].status, 303)
        self.assertEqual(len(self.link_mails()), 1)

    def test_other_hosts_and_redirects_lead_nowhere(self):
        browser = self.signed_in("ana@example.com", "operator")
        self.assertEqual(browser.get("/console/", Host="evil.example")[0].status, 421)
        for wanted in ("//evil.example", "/\\evil.example", "/console/../..", "/console/%2f%2fevil.example", "https://evil.example"):
            response, _ = browser.get("/console/sign-in?" + urllib.parse.urlencode({"return": wanted}))
            self.assertEqual((response.status, response.headers["Location"]), (303, "/console/"), wanted)
        response, _ = Browser(self.fixture).get("/console/gifts?status=sent")
        self.assertEqual(response.headers["Location"], "/console/sign-in?return=%2Fconsole%2Fgifts%3Fstatus%3Dsent")

    def test_pages_show_text_as_text_and_hide_recipients_from_auditors(self):
        self.send_gift("ada@example.com", message=MARKUP, first_name=MARKUP)
        self.send_gift("kim@example.com")
        browser = self.signed_in("ana@example.com", "operator,admin")
        auditor = self.signed_in("aud@example.com", "auditor")
        listed = browser.get("/console/gifts")[1]
        self.assertIn("ada@<wbr>example.<wbr>com", listed)
        number = re.search(r'href="/console/gifts/(\d+)"', browser.get("/console/gifts?find=ada@example.com")[1]).group(1)
        for path in ("/console/", "/console/gifts", f"/console/gifts/{number}", "/console/audit", "/console/users"):
            response, text = browser.get(path, **{"User-Agent": MARKUP})
            self.assertEqual(response.status, 200, path)
            self.assertNotIn("<script>", text)
            masked = auditor.get(path)[1]
            self.assertNotIn("ada@", masked, path)
            self.assertNotIn("kim@", masked, path)
        self.assertIn("&lt;script&gt;", browser.get(f"/console/gifts/{number}")[1])
        rows = list(csv.reader(io.StringIO(browser.get("/console/gifts?format=csv&find=kim@example.com")[1])))
        self.assertEqual([row[5] for row in rows], ["recipient_email", "kim@example.com"])
        rows = list(csv.reader(io.StringIO(auditor.get("/console/gifts?format=csv")[1])))
        self.assertEqual([row[5] for row in rows], ["recipient_email", "***@example.com", "***@example.com"])
        self.assertEqual(self.fixture.ctl_json("audit", "list", "--action", "gift.export")[1]["detail"],
                         "find=...", "the log does not say who was looked for")

    def test_a_form_needs_the_token_of_its_session(self):
        browser = self.signed_in("ana@example.com", "operator")
        page = browser.get("/console/users")[1]
        action, token = re.search(r'action="(/console/users/\d+/end-sessions)">\s*<input type="hidden" name="form_token" value="([^"]+)"',
                                  page).groups()
        for fields in ({}, {"form_token": "x"}, {"form_token": token[::-1]}):
            self.assertEqual(browser.post(action, fields)[0].status, 403)
        self.assertEqual(browser.post(action, {"form_token": token}, Origin="https://evil.example")[0].status, 403)
        self.assertEqual(browser.get("/console/users")[0].status, 200)
        self.assertEqual(browser.post(action, {"form_token": token})[0].status, 303)
        self.assertEqual(browser.get("/console/users")[0].status, 303)

    def test_a_gift_is_cancelled_on_its_page_and_explained_on_others(self):
        self.send_gift("ada@example.com")
        browser = self.signed_in("ana@example.com", "operator")
        path = re.search(r'href="(/console/gifts/\d+)"', browser.get("/console/gifts")[1]).group(1)

        def cancel(**fields):
            token = re.search(rf'action="{path}/cancel">.*?name="form_token" value="([^"]+)"', browser.get(path)[1], re.S).group(1)
            response, _ = browser.post(f"{path}/cancel", {"form_token": token, **fields})
            self.assertEqual(response.status, 303)
            return browser.get(response.headers["Location"])[1]

        self.assertIn("tick the box first", cancel())
        self.assertIn("The gift is cancelled.", cancel(confirm="1"))
        self.assertIn("Not possible: it was refunded on", browser.get(path)[1])
        self.assertEqual([row["action"] for row in self.fixture.ctl_json("audit", "list", "--action", "gift.")], ["gift.cancel"])
        for page, text in ((f"{path}/match", "Answer of today"), (f"{path}/record", "what giftsync would write"),
                           ("/console/crm", "No gift fails."),
                           ("/console/match?email=zoe@example.org", "has zoe@example.org.")):
            response, shown = browser.get(page)
            self.assertEqual(response.status, 200, page)
            self.assertIn(text, shown, page)

    def test_without_the_setting_there_is_no_console(self):
        self.fixture.write_settings()
        self.fixture.restart()
        self.assertEqual(Browser(self.fixture).get("/console/")[0].status, 404)
        self.fixture.ctl("user", "create", "--email", "ana@example.com")
        self.fixture.ctl("console", "sign-in-link", "--user", "ana@example.com", expect=78)


if __name__ == "__main__":
    daemon_fixture.main()
