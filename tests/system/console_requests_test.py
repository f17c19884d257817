#!/usr/bin/python3
"""Approving in the console of a real daemon: the mail to the approver, its link, what was edited meanwhile, the decision, its event
and the gift."""
import html
import re
import time
import urllib.parse

import daemon_fixture
from console_test import Browser
from mails import mails_in
from request_records_test import RequestRecordTestCase

SETTINGS = 'requests: { enabled: true, organization_token: "file:token" }\nconsole: { enabled: true }\n'


def form(page, action):
    """The hidden fields of the form that posts to `action`."""
    found = re.search(rf'<form method="post" action="{re.escape(action)}">(.*?)</form>', page, re.S)
    return {name: html.unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', found.group(1))}


class ConsoleRequests(RequestRecordTestCase):
    def approver_mails(self, fixture):
        return [mail for mail in mails_in(fixture.outbox) if mail.message_id.startswith("approval-")]

    def sign_in(self, fixture, email):
        link = fixture.ctl("console", "sign-in-link", "--user", email).strip()
        browser = Browser(fixture)
        self.assertEqual(browser.post(urllib.parse.urlsplit(link).path)[0].status, 303)
        return browser

    # CON-29, CON-30, CON-31
    def test_from_the_mail_to_the_gift(self):
        fixture = self.new_seeded_fixture()
        fixture.write_settings(SETTINGS)
        fixture.ctl("user", "create", "--email", "eva@example.com", "--grant", "approver")
        fixture.start()
        self.ask(fixture, "one", auto_approved=False)
        (mail,) = daemon_fixture.wait_until(lambda: self.approver_mails(fixture), "the approver's mail")
        number = next(one["Name"] for one in fixture.ctl_json("request", "list") if one["Id"] == "one")
        path = f"/console/requests/{number}"
        self.assertEqual((mail.to, mail.defects), ("eva@example.com", []))
        self.assertIn(f"{number}: Coffee", mail.text)
        self.assertIn(fixture.url + path, mail.text)
        for hidden in ("Hello one", "one@example.com", "/g/"):
            self.assertNotIn(hidden, mail.text + mail.html)
        response, _ = Browser(fixture).get(path)
        self.assertEqual(response.headers["Location"], "/console/sign-in?" + urllib.parse.urlencode({"return": path}))

        eva = self.sign_in(fixture, "eva@example.com")
        seen = eva.get(path)[1]
        self.assertIn("Hello one", seen)
        self.edit(fixture, "one", message="Hello two")
        refused, page = eva.post(path + "/approve", {**form(seen, path + "/approve"), "note": "fine"})
        self.assertEqual(refused.status, 412)
        self.assertIn("Hello one", page)
        self.assertIn("Hello two", page)
        self.assertEqual(page.count('name="note" value="fine"'), 1)
        self.assertEqual(self.row(fixture, "one")[0], "Pending")
        done, _ = eva.post(path + "/approve", {**form(page, path + "/approve"), "note": "fine"})
        self.assertEqual((done.status, done.headers["Location"]), (303, path + "?notice=request_approved"))
        self.wait_row(fixture, "one", "Sent")
        event = fixture.ctl_json("audit", "list", "--action", "request.")[0]
        self.assertEqual((event["action"], event["actor"], event["object_id"]), ("request.approve", "eva@example.com", number))
        shown = eva.get(path)[1]
        self.assertIn("fine", shown)
        self.assertRegex(shown, r"<bdi>giftsync</bdi></span> Gift \d+</li>")
        # CON-54: the edit that came between is in the timeline, once.
        self.assertEqual(shown.count("Message: “Hello one” became “Hello two”"), 1)
        self.assertLess(shown.index("<strong>Approved</strong> <span"), shown.index("Edited in the CRM"))

        # Within ten minutes the next mail waits, for all that comes.
        self.ask(fixture, "two", auto_approved=False)
        self.ask(fixture, "three", auto_approved=False)
        daemon_fixture.wait_until(lambda: fixture.query("SELECT count(*) FROM approver_notice WHERE mail_number = 0") == [(2,)],
                                  "two notices")
        daemon_fixture.wait_until(lambda: fixture.query("SELECT state FROM mail_outbox WHERE transaction_id < 0") == [("queued",)],
                                  "the next mail")
        ((due,),) = fixture.query("SELECT next_attempt_at FROM mail_outbox WHERE transaction_id < 0")
        self.assertGreater(due, (time.time() + 500) * 1000)
        self.assertEqual(len(self.approver_mails(fixture)), 1)
        self.assertRegex(eva.get("/console/")[1], r"<strong>Requests to approve</strong> <span class=\"count warn-tint\">2<")


if __name__ == "__main__":
    daemon_fixture.main()
