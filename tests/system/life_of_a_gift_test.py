#!/usr/bin/python3
"""A gift's life after it was sent, beside a running daemon: sent again to another address, reminded of, expired, cancelled."""
import csv
import io
import unittest
import urllib.parse

import house
from http_client import Client
from mails import mails_in

SETTINGS = "lifecycle: { reminder_days: [7], refund: at_once }\n"
DAY = 24 * 60 * 60 * 1000


class LifeOfAGift(house.HouseTest):
    back_end = "sqlite"

    @classmethod
    def setUpClass(cls):
        cls.share_house(store=house.store_settings(cls.back_end), more=SETTINGS)

    def send(self, address):
        with Client(self.house) as client:
            answer = client.send_gift(address)
        self.assertEqual(answer.status, 201, answer)
        gift = answer.json()["data"]["recipients"][0]["recipient_transaction_id"]
        self.mails_to(address, 1)
        self.wait_status(gift, "delivered")
        return gift

    def mails_to(self, address, count):
        return house.wait_until(lambda: len(found := [m for m in mails_in(self.house.outbox) if m.to == address]) == count and found,
                                f"{count} mails to {address}")

    def wait_status(self, gift, status):
        """In the CRM's record."""
        return house.wait_until(lambda: next((r for r in self.house.gift_records() if r["RecipientTransactionId"] == gift
                                              and r["RecipientTransactionStatus"] == status), None), f"gift {gift} {status}",
                                pace_seconds=0.1)

    def pass_days(self, gift, days):
        """As if it had been sent so many days ago."""
        self.house.query(f"UPDATE recipient_transaction SET sent_at = sent_at - {days * DAY}, due_at = due_at - {days * DAY} "
                         f"WHERE id = {gift}")

    def page(self, link):
        with Client(self.house) as client:
            return client.get(urllib.parse.urlsplit(link).path, authorization=False).status

    def test_sent_again_to_another_address_the_old_link_is_dead(self):
        gift = self.send("ada@example.com")
        old = self.mails_to("ada@example.com", 1)[0]
        record = self.wait_status(gift, "delivered")
        self.house.ctl("gift", "resend", str(gift), "--email", "bea@example.com")
        new = self.mails_to("bea@example.com", 1)[0]
        self.assertNotEqual(old.message_id, new.message_id)
        self.assertEqual([self.page(link) for link in old.links[:2] + new.links[:2]], [410, 410, 200, 200])
        self.assertEqual(self.page(record["RecipientTransactionLink"]), 200, "the CRM's link lives on")
        house.wait_until(lambda: self.wait_status(gift, "delivered")["Recipient_Email"] == "bea@example.com", "the new address",
                         pace_seconds=0.1)

        self.house.ctl("gift", "cancel", str(gift))
        self.wait_status(gift, "refunded")
        self.assertEqual([self.page(link) for link in new.links[:2]], [410, 410])
        self.house.ctl("gift", "resend", str(gift), expect=65)

    def test_reminded_of_then_expired_and_refunded_at_once(self):
        gift = self.send("cleo@example.com")
        self.pass_days(gift, 8)
        reminder = self.mails_to("cleo@example.com", 2)
        self.assertEqual(sorted(m.subject.startswith("Reminder: ") for m in reminder), [False, True])
        self.pass_days(gift, 30)
        record = self.wait_status(gift, "refunded")
        self.assertEqual(record["Refunded_Date_Time"], record["Expired_Date_Time"])
        told = self.house.ctl("gift", "show", str(gift))
        for words in ("reminded", "expired", "as unopened", "refunded"):
            self.assertIn(words, told)
        rows = list(csv.DictReader(io.StringIO(self.house.ctl("gift", "export", "--status", "refunded"))))
        self.assertIn(str(gift), [row["recipient_transaction_id"] for row in rows])


class LifeOfAGiftOnPostgresql(LifeOfAGift):
    back_end = "postgresql"


if __name__ == "__main__":
    house.main()
