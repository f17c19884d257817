#!/usr/bin/python3
"""A gift after it was sent: resend to another address, reminder, expiry, cancellation."""
import csv
import io
import json
import time
import unittest
import urllib.parse

import daemon_fixture
from http_client import Client
from mails import mails_in

SETTINGS = "lifecycle: { reminder_days: [7], refund: at_once }\n"
DAY = 24 * 60 * 60 * 1000


class GiftLifecycle(daemon_fixture.DaemonTestCase):
    back_end = "sqlite"

    @classmethod
    def setUpClass(cls):
        cls.share_fixture(store=daemon_fixture.store_settings(cls.back_end), more=SETTINGS)

    def send(self, address):
        with Client(self.fixture) as client:
            response = client.send_gift(address)
        self.assertEqual(response.status, 201, response)
        gift = response.json()["data"]["recipients"][0]["recipient_transaction_id"]
        self.mails_to(address, 1)
        self.wait_status(gift, "delivered")
        return gift

    def mails_to(self, address, count):
        return daemon_fixture.wait_until(lambda: len(found := [m for m in mails_in(self.fixture.outbox) if m.to == address]) == count and found,
                                f"{count} mails to {address}")

    def wait_status(self, gift, status):
        """Waits until the CRM's record has this status; returns the record."""
        return daemon_fixture.wait_until(lambda: next((r for r in self.fixture.gift_records() if r["RecipientTransactionId"] == gift
                                              and r["RecipientTransactionStatus"] == status), None), f"gift {gift} {status}",
                                pace_seconds=0.1)

    def age_by_days(self, gift, days):
        """Moves the time of sending and the next deadline back."""
        self.fixture.query(f"UPDATE recipient_transaction SET sent_at = sent_at - {days * DAY}, due_at = due_at - {days * DAY} "
                         f"WHERE id = {gift}")

    def page(self, link):
        with Client(self.fixture) as client:
            return client.get(urllib.parse.urlsplit(link).path, authorization=False).status

    def test_resend_to_another_address_revokes_the_old_link(self):
        gift = self.send("ada@example.com")
        old = self.mails_to("ada@example.com", 1)[0]
        record = self.wait_status(gift, "delivered")
        self.fixture.ctl("gift", "resend", str(gift), "--email", "bea@example.com")
        new = self.mails_to("bea@example.com", 1)[0]
        self.assertNotEqual(old.message_id, new.message_id)
        self.assertEqual([self.page(link) for link in old.links[:2] + new.links[:2]], [410, 410, 200, 200])
        self.assertEqual(self.page(record["RecipientTransactionLink"]), 200, "the CRM's link stays valid")
        daemon_fixture.wait_until(lambda: self.wait_status(gift, "delivered")["Recipient_Email"] == "bea@example.com", "the new address",
                         pace_seconds=0.1)

        self.fixture.ctl("gift", "cancel", str(gift), "--yes")
        self.wait_status(gift, "refunded")
        self.assertEqual([self.page(link) for link in new.links[:2]], [410, 410])
        self.fixture.ctl("gift", "resend", str(gift), expect=65)

    def due(self, gift):
        """Days from the sending until the timers look at the gift next; None: never."""
        [(sent, due)] = self.fixture.query(f"SELECT created_at, due_at FROM recipient_transaction JOIN gift_request ON gift_request.id = "
                                           f"request_id WHERE recipient_transaction.id = {gift}")
        return (int(due) - int(sent)) / DAY if due else None

    # LIFE-11
    def test_each_change_schedules_the_next_outcome(self):
        gift = self.send("dora@example.com")
        created = self.due(gift)
        self.assertIsNotNone(created, "created with its first reminder or expiry")
        opened = json.dumps({"recipient_transaction_id": gift, "status": "opened",
                             "occurred_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        self.fixture.ctl("change", "import", self.fixture.write("opened.ndjson", opened + "\n"))
        self.wait_status(gift, "opened")
        self.assertGreater(self.due(gift), created, "folded: it expires a year after")
        self.fixture.ctl("gift", "cancel", str(gift), "--yes")
        self.assertIsNone(self.due(gift), "decided: nothing comes next")
        indexes = self.fixture.query("SELECT sql FROM sqlite_master WHERE name = 'recipient_transaction_due'" if self.back_end == "sqlite" else
                                     "SELECT indexdef FROM pg_indexes WHERE indexname = 'recipient_transaction_due'")
        self.assertIn("(due_at, id)", indexes[0][0])

    def test_a_reminder_then_expiry_with_immediate_refund(self):
        gift = self.send("cleo@example.com")
        self.age_by_days(gift, 8)
        reminder = self.mails_to("cleo@example.com", 2)
        self.assertEqual(sorted(m.subject.startswith("Reminder: ") for m in reminder), [False, True])
        self.age_by_days(gift, 30)
        record = self.wait_status(gift, "refunded")
        self.assertEqual(record["Refunded_Date_Time"], record["Expired_Date_Time"])
        output = self.fixture.ctl("gift", "show", str(gift))
        for expected in ("reminded", "expired", "as unopened", "refunded"):
            self.assertIn(expected, output)
        rows = list(csv.DictReader(io.StringIO(self.fixture.ctl("gift", "export", "--status", "refunded"))))
        self.assertIn(str(gift), [row["recipient_transaction_id"] for row in rows])


class GiftLifecycleOnPostgresql(GiftLifecycle):
    back_end = "postgresql"


if __name__ == "__main__":
    daemon_fixture.main()
