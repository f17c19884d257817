#!/usr/bin/python3
"""One gift in the daemon's log, as text and as JSON: its request, its match, its mail and its record, with the Request-Id of the call
and without personal data; and a relay whose password is corrected.
"""
import json
import re
import signal

import daemon_fixture
from http_client import Client
from smtp_relay import SmtpRelay

ADDRESSES = ["kim.secret@example.com", "lee.secret@example.com"]


class GiftLog(daemon_fixture.DaemonTestCase):
    def send(self, fixture):
        """The Request-Id of a call and its gifts, once the log has each of their steps."""
        with Client(fixture) as client:
            response = client.send_gift(*ADDRESSES)
        self.assertEqual(response.status, 201, response)
        data = response.json()["data"]
        gifts = [one["recipient_transaction_id"] for one in data["recipients"]]
        daemon_fixture.wait_until(lambda: all(step in fixture.whole_log() for step in ("request made", "handed to", "record created")),
                                  f"the steps of gifts {gifts} in the log")
        return response.headers["Request-Id"], gifts

    def assert_no_personal_data(self, fixture):
        """Of recipients; the sender is a user of the company, whom the CRM lacks."""
        lines = [line for line in fixture.whole_log().splitlines()
                 if re.search(r'\bgift"?[=:]', line) and f"no CRM user has the address {daemon_fixture.SENDER}" not in line]
        self.assertGreaterEqual(len(lines), 4)
        for text in ("@", "example.com", "/g/", fixture.key):
            self.assertNotIn(text, "\n".join(lines))

    # OPS-30, OPS-31
    def test_text_has_each_step_of_a_gift(self):
        fixture = self.new_fixture().seed().start()
        request_id, gifts = self.send(fixture)
        for gift in gifts:
            lines = [line for line in fixture.whole_log().splitlines() if re.search(rf"\bgift={gift}\b", line)]
            for step in ("gift request made", "no contact or lead matches", "mail handed to the relay", "gift record created in the CRM"):
                found = [line for line in lines if step in line]
                self.assertEqual(len(found), 1, (step, lines))
                self.assertIn(f"request_id={request_id}", found[0])
            shown = fixture.ctl_json("gift", "show", str(gift))["request"]
            self.assertEqual(shown["http_request_id"], request_id)
            self.assertTrue(fixture.key.startswith(shown["credential_prefix"]), shown)
            self.assertGreater(len(shown["credential_prefix"]), len("gsk_live_"))
        self.assert_no_personal_data(fixture)

    # OPS-30
    def test_json_has_them_as_members(self):
        fixture = self.new_fixture(more="log: { format: json }\n").seed().start()
        request_id, gifts = self.send(fixture)
        lines = [json.loads(line) for line in fixture.whole_log().splitlines()]
        # A line about their sender is about gifts of several requests.
        about = [line for line in lines if gifts[0] in line.get("gift", []) and "no CRM user has" not in line["message"]]
        made = next(line for line in about if line["message"] == "gift request made")
        self.assertEqual((made["gift"], made["gifts"], made["request_id"]), (gifts, len(gifts), request_id))
        self.assertTrue(fixture.key.startswith(made["key"]), made)
        self.assertEqual({line["request"] for line in about}, {made["request"]})
        self.assertEqual({line["request_id"] for line in about}, {request_id})
        self.assert_no_personal_data(fixture)

    # MAIL-25
    def test_a_corrected_password_ends_the_pause(self):
        relay = SmtpRelay()
        self.addCleanup(relay.close)
        fixture = self.new_fixture()
        fixture.email = relay.settings(fixture.folder, "a wrong password")
        fixture.write_settings()
        fixture.seed().start()
        with Client(fixture) as client:
            self.assertEqual(client.send_gift(ADDRESSES[0]).status, 201)
        daemon_fixture.wait_until(lambda: fixture.status()["mail"]["pause"], "delivery to be paused")
        # So long that its own end does not explain the mail below.
        fixture.query("UPDATE mail_breaker SET until = until + 300000")
        fixture.signal(signal.SIGHUP)
        daemon_fixture.wait_until(lambda: "settings reloaded" in fixture.whole_log(), "an unchanged reload")
        self.assertIsNotNone(fixture.status()["mail"]["pause"], "the relay is the same")
        relay.settings(fixture.folder)
        fixture.signal(signal.SIGHUP)
        daemon_fixture.wait_until(lambda: len(relay.journal()) == 1, "the mail")
        daemon_fixture.wait_until(lambda: fixture.status()["mail"]["pause"] is None, "the end of the pause")
        self.assertIn("mail delivery resumed: the relay's settings were changed", fixture.whole_log())
        self.assertNotIn("a wrong password", fixture.whole_log())


if __name__ == "__main__":
    daemon_fixture.main()
