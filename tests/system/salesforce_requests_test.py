#!/usr/bin/python3
"""Request records of an org of Salesforce (the fake org of the tests): people make and edit them there, a daemon approves and sends
them, outbound messages make it sooner. Each approved record gets exactly one gift, also when the daemon is killed.
"""
import collections
import os
import signal
import time

import daemon_fixture
from daemon_fixture import wait_until
from fake_org import OrgTestCase
from http_client import Client
from mails import mails_in
from outbound_messages_test import PATH, message

ANA = daemon_fixture.SENDER
BO = "bo@example.com"
RECORDS = 40
KILLS = 4
# After a poll without changes the next one comes after half a minute.
POLL_SECONDS = 30
REQUESTS = 'requests: { enabled: true, organization_token: "file:token" }\n'


class SalesforceRequestsTest(OrgTestCase):
    def setUp(self):
        super().setUp()
        for name, permission_set in ((ANA, "Standard_User"), (BO, "Admin")):
            self.org.script("POST", "users", {"username": name, "permission_set": permission_set})
        self.org.sql("UPDATE crm_user SET email = username")
        self.org.act_as(ANA)

    def new_seeded_fixture(self):
        """Not started. Its account belongs to an organization with a token."""
        fixture = self.new_fixture(crm={**self.org.settings(), "integration_user": self.org.user})
        fixture.ctl("db", "migrate")
        fixture.write("token", fixture.ctl("organization", "create", "--name", "Edge").strip())
        os.chmod(fixture.folder / "token", 0o600)
        fixture.write_settings(REQUESTS)
        fixture.ctl("item", "import", fixture.write("items.csv", daemon_fixture.ITEMS))
        fixture.ctl("account", "create", "--email", ANA, "--name", "Ana Lima", "--plan", "team", "--organization", "Edge")
        fixture.key = fixture.new_key(ANA)
        return fixture

    def ask(self, name, **fields):
        """The Id of a new record, made in the org by the acting user, who is its sender, too."""
        return self.org.create("Request_Record__c", **{"Gift_Id__c": "7", "Recipient_Email__c": f"{name}@example.com",
                                                       "Message__c": f"Hello {name}", "Auto_Approved__c": True, **fields})

    def row(self, record):
        [(status, error, number)] = self.org.sql(f"SELECT request_status, error_log, name FROM crm_request_record WHERE id = '{record}'")
        return {"status": status, "error": error or "", "number": number}

    def wait_row(self, record, status, error="", seconds=POLL_SECONDS):
        def is_so():
            row = self.row(record)
            return row if row["status"] == status and error in row["error"] else None
        return wait_until(is_so, f"{record} to be {status} ({error}), it is {self.row(record)}", seconds=seconds, pace_seconds=0.2)

    @staticmethod
    def gifts(fixture):
        """Address -> count of its gifts."""
        return collections.Counter(email for (email,) in fixture.query("SELECT email FROM recipient_transaction"))

    @staticmethod
    def fact(fixture, name):
        found = fixture.query(f"SELECT value FROM store_metadata WHERE name = '{name}'")
        return found[0][0] if found else None

    # REQ-9, REQ-11, REQ-31, REQ-55
    def test_people_make_correct_and_approve_records_in_the_org(self):
        fixture = self.new_seeded_fixture()
        auto = self.ask("auto")
        manual = self.ask("manual", Auto_Approved__c=False)
        unknown = self.ask("unknown", Gift_Id__c="4711")
        rejected = self.ask("rejected", Auto_Approved__c=False)
        fixture.start()
        number = self.wait_row(unknown, "Approved", "no item \"4711\"")["number"]
        self.assertIn("no item", fixture.ctl("request", "check", number, expect=1))
        self.wait_row(auto, "Sent")
        self.assertEqual(self.row(manual)["status"], "Pending")
        self.assertEqual({one["Id"] for one in fixture.ctl_json("request", "list")}, {auto, manual, unknown, rejected})

        # The next poll finds these.
        self.org.update("Request_Record__c", unknown, Gift_Id__c="8")
        self.org.act_as(BO)
        self.org.update("Request_Record__c", manual, Request_Status__c="Approved")
        self.org.update("Request_Record__c", rejected, Request_Status__c="Rejected")
        # A record by command and one with a message do not wait for it.
        begun = time.monotonic()
        made = fixture.ctl("request", "create", "--gift-id", "7", "--recipient-email", "command@example.com", "--message", "Hello",
                           "--sender", ANA, "--auto-approved").strip()
        self.send_messages(fixture)
        wait_until(lambda: fixture.ctl_json("request", "show", made)["Request_Status"] == "Sent", "the record by command", pace_seconds=0.5)
        self.assertLess(time.monotonic() - begun, POLL_SECONDS, "neither waited for a poll")

        self.assertEqual(self.wait_row(unknown, "Sent", seconds=2 * POLL_SECONDS)["error"], "")
        name = self.wait_row(manual, "Sent")["number"]
        self.assertIn(self.org.user_id(BO), str(fixture.ctl_json("request", "show", name)["transitions"]))
        self.assertEqual(self.row(rejected)["status"], "Rejected")
        sent = collections.Counter(f"{name}@example.com" for name in ("auto", "command", "manual", "pushed", "unknown"))
        self.assertEqual(self.gifts(fixture), sent)
        wait_until(lambda: collections.Counter(mail.to for mail in mails_in(fixture.outbox)) == sent, "the mails")
        fixture.stop()
        self.change_org(fixture, auto)

    # MSG-6, MSG-7, MSG-8, REQ-30
    def send_messages(self, fixture):
        token = fixture.ctl("crm", "messages", "create").strip().rpartition("/")[2]
        organization = self.fact(fixture, "salesforce_organization")
        self.org.act_as(ANA)
        record = self.ask("pushed")

        def send(*records, org=organization):
            with Client(fixture) as client:
                return client.request("POST", PATH + token, message(*records, organization=org),
                                      {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": '""'}, authorization=False)
        wait_until(lambda: send(record, org="00D9g000001XyZa").status == 403, "the refusal of another org")
        self.assertEqual(send("003" + record[3:15]).status, 400)
        self.assertEqual(self.row(record)["status"], "Pending")
        for _ in range(3):
            self.assertEqual(send(record).status, 200)
        self.wait_row(record, "Sent", seconds=POLL_SECONDS / 2)
        self.assertEqual(send(record).status, 200)
        wait_until(lambda: fixture.query("SELECT count(*) FROM crm_change_event") == [(0,)], "the events to be acknowledged")

    # ORG-4
    def change_org(self, fixture, record):
        """What waits is shown, and is gone with its org. The daemon is stopped."""
        fixture.query(f"INSERT INTO crm_change_event (record_id, event_id, received_at) VALUES ('{record}', 1000000, 1800000000000)")
        shown = fixture.status()["salesforce"]["messages"]
        self.assertEqual((shown["waiting_records"], shown["oldest_at"][:16]), (1, "2027-01-15T08:00"))
        self.assertIn("1 record of outbound messages waits to be looked up, the oldest since 2027-01-15 08:00:00", fixture.status_text())
        other = "00D" + "9" * 12 + "AAA"
        self.org.sql(f"UPDATE crm_organization SET id = '{other}'")
        self.org.script("DELETE", "sessions")
        unconfirmed = fixture.try_ctl("crm", "accept-org", other)
        self.assertIn("1 waiting record of its outbound messages", unconfirmed.stderr)
        self.assertIsNotNone(self.fact(fixture, "salesforce_request_cursor"))
        fixture.ctl("crm", "accept-org", other, "--yes")
        self.assertEqual([self.fact(fixture, name) for name in ("salesforce_request_object", "salesforce_request_cursor")], [None, None])
        self.assertEqual(fixture.query("SELECT count(*) FROM crm_change_event"), [(0,)])
        fixture.try_ctl("crm", "check")
        self.assertEqual(self.fact(fixture, "salesforce_request_object"), record[:3] + " Request_Record__c")

    # REQ-24, REQ-25
    def test_a_kill_between_claim_and_sending_sends_nothing_twice(self):
        fixture = self.new_seeded_fixture()
        records = [self.ask(f"k{number}", Auto_Approved__c=False, Request_Status__c="Approved") for number in range(RECORDS)]
        self.org.script("POST", "clock", {"advance_millis": 3000})
        interrupted = 0
        for _ in range(KILLS):
            fixture.start(wait=False)
            wait_until(lambda: self.count("claimed = 1") > 0 or self.count("request_status = 'Sent'") == RECORDS, "claims",
                       pace_seconds=0.002)
            fixture.kill()
            gifts = fixture.query("SELECT count(*) FROM request_record_gift")[0][0]
            interrupted = self.count("claimed = 1 OR request_status = 'Sent'") - gifts
            if interrupted > 0 or gifts == RECORDS:
                break
        fixture.start()
        wait_until(lambda: self.count("request_status = 'Sent'") == RECORDS, "all to be sent", pace_seconds=0.2)
        expected = collections.Counter(f"k{number}@example.com" for number in range(RECORDS))
        self.assertEqual(self.gifts(fixture), expected)
        wait_until(lambda: len(mails_in(fixture.outbox)) >= RECORDS, "the mails")
        self.assertEqual(collections.Counter(mail.to for mail in mails_in(fixture.outbox)), expected)
        self.assertEqual({self.row(record)["error"] for record in records}, {""})
        print(f"{interrupted} records were between claim and sending ", end="", flush=True)

    def count(self, condition):
        return int(self.org.sql(f"SELECT count(*) FROM crm_request_record WHERE {condition}")[0][0])

    def test_a_refused_sign_in_is_in_the_status_until_it_is_corrected(self):
        fixture = self.new_seeded_fixture()
        self.org.script("POST", "settings", {"consumer_key": "3MVG9.another"})
        fixture.start()
        refused = wait_until(lambda: fixture.status()["salesforce"]["refused_sign_in"], "the refusal", pace_seconds=0.3)
        self.assertTrue(refused["reason"] and refused["next_step"] and refused["since"], refused)
        text = fixture.status_text()
        self.assertIn("SIGN-IN REFUSED since", text)
        self.assertRegex(text, r"attention Salesforce refuses the sign-in, so the CRM is paused: .*; next: .*reload giftsyncd")
        self.org.script("POST", "settings", {"consumer_key": "3MVG9.giftsync"})
        fixture.signal(signal.SIGHUP)
        wait_until(lambda: fixture.status()["salesforce"]["refused_sign_in"] is None, "the sign-in", pace_seconds=0.3)
        self.assertRegex(fixture.status_text(), r"\norg +00D\w+, \d+ calls? within 24 hours of giftsync's 3000; the org has used \d+ of 15000\n")


if __name__ == "__main__":
    daemon_fixture.main()
