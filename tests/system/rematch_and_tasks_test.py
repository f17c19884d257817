#!/usr/bin/python3
"""Tasks and rematching beside a running daemon, before and after contacts are added to the CRM."""
import datetime
import json
import re
import unittest

import daemon_fixture
from http_client import Client

SETTINGS = ('matching: { on_no_match: skip }\n'
            'tasks: { enabled: true, type: Email, completed_status: Done, description: "{recipient}, {price}: {link}",'
            ' due_days: 3, assignee: account_owner }\n')


class RematchAndTasks(daemon_fixture.DaemonTestCase):
    back_end = "sqlite"

    @classmethod
    def setUpClass(cls):
        cls.share_fixture(store=daemon_fixture.store_settings(cls.back_end), more=SETTINGS)

    def import_rows(self, name, rows):
        self.fixture.ctl("crm", "import", "--object", name, self.fixture.write(f"{name}.csv", rows))

    def test_a_skipped_gift_a_new_contact_and_a_finished_task(self):
        with Client(self.fixture) as client:
            response = client.send_gift("ada@example.com", "unknown@example.com")
        self.assertEqual(response.status, 201, response)
        skipped = daemon_fixture.wait_until(lambda: (found := self.fixture.ctl_json("gift", "list", "--skipped")) and len(found) == 2 and found,
                                   "both gifts to be skipped", pace_seconds=0.1)
        gift = next(one["RecipientTransactionId"] for one in skipped if one["Recipient_Email"] == "ada@example.com")
        change = {"recipient_transaction_id": gift, "status": "opened", "occurred_at": "2026-01-01T10:00:00Z", "event_id": "e1"}
        self.fixture.ctl("change", "import", self.fixture.write("opened.ndjson", json.dumps(change) + "\n"))
        self.assertEqual(self.fixture.gift_records(), [])
        self.assertEqual(self.fixture.ctl_json("task", "list"), [])

        self.import_rows("user", "Id,Name,IsActive\n005O,Olga,true\n")
        self.import_rows("account", "Id,Name,OwnerId\n001A,Acme,005O\n")
        self.import_rows("contact", "Id,Email,AccountId\n003A,ada@example.com,001A\n")
        self.import_rows("opportunity", "Id,StageName,IsClosed,CloseDate\n006A,New,false,2027-01-01\n")
        self.import_rows("opportunity_contact_role", "Id,ContactId,OpportunityId\n00KA,003A,006A\n")
        would = self.fixture.ctl_json("rematch", "--unmatched", "--dry-run")["gifts"]
        self.assertEqual([(one["recipient_transaction_id"], one["outcome"]) for one in would], [(gift, "created")])
        self.assertEqual(self.fixture.gift_records(), [])
        self.fixture.ctl("rematch", "--unmatched")
        record = daemon_fixture.wait_until(lambda: next(iter(self.fixture.gift_records()), None), "the record", pace_seconds=0.1)
        self.assertEqual((record["RecipientContactId"], record["Opportunity"], record["Deal_Stage"]), ("003A", "006A", None))
        self.assertEqual((record["RecipientTransactionStatus"], record["Opened"]), ("opened", True), "the new record has the gift's history")
        task = daemon_fixture.wait_until(lambda: next(iter(self.fixture.ctl_json("task", "list")), None), "the task", pace_seconds=0.1)
        self.assertEqual((task["WhoId"], task["Type"], task["Status"]), ("003A", "Email", "Not Started"))
        self.assertEqual(self.fixture.query("SELECT id FROM crm_gift_record"), [(task["WhatId"],)])
        # SYNC-76, SYNC-77
        self.assertEqual(task["OwnerId"], "005O")
        description, link, due, sent = self.fixture.query(
            "SELECT t.description, g.recipienttransactionlink, cast(t.activitydate as text), "
            "cast(g.recipienttransactioncreatedat as text) FROM crm_task t JOIN crm_gift_record g ON g.id = t.whatid")[0]
        self.assertRegex(description, rf"^[^,]+, \d+\.\d\d: {re.escape(link)}$")
        days = (datetime.date.fromisoformat(due) - datetime.date.fromisoformat(sent[:10])).days
        self.assertEqual(days, 3)

        change.update(status="redeemed", occurred_at="2026-01-02T10:00:00Z", event_id="e2")
        self.fixture.ctl("change", "import", self.fixture.write("redeemed.ndjson", json.dumps(change) + "\n"))
        daemon_fixture.wait_until(lambda: self.fixture.ctl_json("task", "list")[0]["Status"] == "Done", "the task to be completed",
                         pace_seconds=0.1)
        self.assertEqual(len(self.fixture.ctl_json("task", "list")), 1)


class RematchAndTasksOnPostgresql(RematchAndTasks):
    back_end = "postgresql"


if __name__ == "__main__":
    daemon_fixture.main()
