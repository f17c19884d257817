#!/usr/bin/python3
"""Tasks and rematching beside a running daemon: what an admin sees before and after people come into the CRM."""
import json
import unittest

import house
from http_client import Client

SETTINGS = 'matching: { on_no_match: skip }\ntasks: { enabled: true, type: Email, completed_status: Done }\n'


class LinksAndTasks(house.HouseTest):
    back_end = "sqlite"

    @classmethod
    def setUpClass(cls):
        cls.share_house(store=house.store_settings(cls.back_end), more=SETTINGS)

    def import_rows(self, name, rows):
        self.house.ctl("crm", "import", "--object", name, self.house.write(f"{name}.csv", rows))

    def test_a_skipped_gift_a_new_contact_and_a_finished_task(self):
        with Client(self.house) as client:
            answer = client.send_gift("ada@example.com", "nobody@example.com")
        self.assertEqual(answer.status, 201, answer)
        skipped = house.wait_until(lambda: (found := self.house.ctl_json("gift", "list", "--skipped")) and len(found) == 2 and found,
                                   "both gifts to be skipped", pace_seconds=0.1)
        gift = next(one["RecipientTransactionId"] for one in skipped if one["Recipient_Email"] == "ada@example.com")
        change = {"recipient_transaction_id": gift, "status": "opened", "occurred_at": "2026-01-01T10:00:00Z", "event_id": "e1"}
        self.house.ctl("change", "import", self.house.write("opened.ndjson", json.dumps(change) + "\n"))
        self.assertEqual(self.house.gift_records(), [])
        self.assertEqual(self.house.ctl_json("task", "list"), [])

        self.import_rows("contact", "Id,Email\n003A,ada@example.com\n")
        self.import_rows("opportunity", "Id,StageName,IsClosed,CloseDate\n006A,New,false,2027-01-01\n")
        self.import_rows("opportunity_contact_role", "Id,ContactId,OpportunityId\n00KA,003A,006A\n")
        would = self.house.ctl_json("rematch", "--unmatched", "--dry-run")["gifts"]
        self.assertEqual([(one["recipient_transaction_id"], one["outcome"]) for one in would], [(gift, "made")])
        self.assertEqual(self.house.gift_records(), [])
        self.house.ctl("rematch", "--unmatched")
        record = house.wait_until(lambda: next(iter(self.house.gift_records()), None), "the record", pace_seconds=0.1)
        self.assertEqual((record["RecipientContactId"], record["Opportunity"], record["Deal_Stage"]), ("003A", "006A", None))
        self.assertEqual((record["RecipientTransactionStatus"], record["Opened"]), ("opened", True), "its whole history")
        task = house.wait_until(lambda: next(iter(self.house.ctl_json("task", "list")), None), "the task", pace_seconds=0.1)
        self.assertEqual((task["WhoId"], task["Type"], task["Status"]), ("003A", "Email", "Not Started"))
        self.assertEqual(self.house.query("SELECT id FROM crm_gift_record"), [(task["WhatId"],)])

        change.update(status="redeemed", occurred_at="2026-01-02T10:00:00Z", event_id="e2")
        self.house.ctl("change", "import", self.house.write("redeemed.ndjson", json.dumps(change) + "\n"))
        house.wait_until(lambda: self.house.ctl_json("task", "list")[0]["Status"] == "Done", "the task to be completed",
                         pace_seconds=0.1)
        self.assertEqual(len(self.house.ctl_json("task", "list")), 1)


class LinksAndTasksOnPostgresql(LinksAndTasks):
    back_end = "postgresql"


if __name__ == "__main__":
    house.main()
