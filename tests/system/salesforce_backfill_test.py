#!/usr/bin/python3
"""Backfills and rematches over an org of Salesforce (the fake org of the tests), beside a running daemon.

OLD_RECORDS (2500) gift records from before giftsync, with an old status log of five rows each.
"""
import json
import os
import signal
import subprocess

import daemon_fixture
from daemon_fixture import wait_until
from fake_org import OrgTestCase
from http_client import Client

OLD_RECORDS = int(os.environ.get("OLD_RECORDS", "2500"))
PAUSE_SECONDS = 4
# Two before it, six pages of the log, the records twice, two writes; the next chunk has five more.
CALLS_OF_THE_FIRST_CHUNK = 13
# Above the ids that the daemon allocates.
FIRST = 1_000_000
NUMBERS = f"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {OLD_RECORDS - 1})"


class SalesforceBackfillTest(OrgTestCase):
    def setUp(self):
        super().setUp()
        self.fixture = self.new_fixture(crm=self.org.settings()).seed().start()

    def count(self, condition):
        return int(self.org.sql(f"SELECT count(*) FROM crm_gift_record WHERE isdeleted = 0 AND {condition}")[0][0])

    def pause(self, calls):
        """After some calls the org has no answer for a while, which holds a backfill there."""
        self.org.script("POST", "faults", {"kind": "answer", "status": 503, "headers": {"Retry-After": str(PAUSE_SECONDS)},
                                           "body": "<html>Maintenance</html>", "path": "/composite", "skip": calls, "times": 1})

    def kill_half_way(self, name):
        """Ends a run by SIGKILL once it has stored a checkpoint; returns the checkpoint's transaction id."""
        with open(self.fixture.folder / "killed.log", "wb") as log:
            run = subprocess.Popen([daemon_fixture.GIFTSYNCCTL, "--config", str(self.fixture.settings), "backfill", name],
                                   stdout=log, stderr=log)
        query = f"SELECT transaction_id FROM backfill_checkpoint WHERE name = '{name}' AND transaction_id > 0"
        try:
            position = wait_until(lambda: self.fixture.query(query), "a checkpoint", seconds=300, pace_seconds=0.02)
        finally:
            run.send_signal(signal.SIGKILL)
            run.wait()
        return int(position[0][0])

    def backfill(self, name, *arguments):
        """The summary, and what was said meanwhile."""
        done = self.fixture.try_ctl("backfill", name, "--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["summary"], done.stderr

    def add_old_records(self):
        self.org.script("POST", "status_log", {"user": self.org.user})
        self.org.sql(f"INSERT INTO crm_gift_record (recipienttransactionid, recipient_email, recipienttransactionstatus) {NUMBERS} "
                     f"SELECT {FIRST} + i, 'old' || i || '@example.com', 'redeemed' FROM n")
        for day, status in enumerate(("Sent", "delivered", "delivered", "opened", "redeemed"), 1):
            self.org.sql(f"INSERT INTO crm_status_log (recipienttransactionid, status, createddate) {NUMBERS} "
                         f"SELECT {FIRST} + i, '{status}', '2020-01-0{day}T00:00:00.000Z' FROM n")

    # SYNC-62, ORG-11
    def test_killed_backfills_resume_and_a_pause_ends_by_itself(self):
        missing = self.fixture.try_ctl("backfill", "status-timestamps")
        self.assertEqual(missing.returncode, 78)
        self.assertIn("no status log Status_Log__c", missing.stderr)
        self.add_old_records()
        self.pause(CALLS_OF_THE_FIRST_CHUNK)
        where = self.kill_half_way("status-timestamps")
        self.assertLess(where, FIRST + OLD_RECORDS)
        summary, said = self.backfill("status-timestamps")
        self.assertIn(f"Resumes after gift {where}", said)
        self.assertIn("Waiting; this command goes on at", said)
        self.assertEqual((summary["rows"], summary["used"] + summary["not_needed"]), (5 * OLD_RECORDS, 5 * OLD_RECORDS))
        self.assertEqual(self.count("redeemed_date_time = '2020-01-05T00:00:00.000Z' AND opened_date_time IS NOT NULL "
                                    "AND delivered_date_time = '2020-01-03T00:00:00.000Z'"), OLD_RECORDS)

        self.pause(1)
        self.kill_half_way("gift-records")
        summary, said = self.backfill("gift-records")
        self.assertIn("Resumes after gift", said)
        adopted = self.fixture.query("SELECT count(*) FROM recipient_transaction WHERE gift_source = 'crm'")
        self.assertEqual(int(adopted[0][0]), OLD_RECORDS)
        calls = self.org.calls()
        summary, _ = self.backfill("gift-records")
        self.assertEqual(summary["unchanged"], OLD_RECORDS)
        self.assertLessEqual(self.org.calls() - calls, 5, "pages of 2,000 records")

        # Fifty records damaged by hand.
        self.org.sql("UPDATE crm_gift_record SET recipienttransactionstatus = 'lost' WHERE recipienttransactionid % 50 = 0")
        damaged = self.count("recipienttransactionstatus = 'lost'")
        summary, _ = self.backfill("gift-records")
        self.assertEqual(summary["repaired"], damaged)
        wait_until(lambda: self.count("recipienttransactionstatus = 'redeemed'") == OLD_RECORDS, "the repairs")

    # MATCH-26
    def test_gifts_of_a_converted_lead_follow_it(self):
        lead = self.org.create("Lead", LastName="Hopper", Company="Navy", Email="grace@example.com")
        with Client(self.fixture) as client:
            response = client.send_gift("grace@example.com", "later@example.com")
        self.assertEqual(response.status, 201, response)
        wait_until(lambda: len(self.org.gift_records()) == 2, "the records", pace_seconds=0.1)
        self.assertEqual(self.count(f"recipientleadid = '{lead}'"), 1)
        account = self.org.create("Account", Name="Navy")
        contact = self.org.create("Contact", LastName="Hopper", Email="grace.hopper@example.com", AccountId=account)
        self.org.sql(f"UPDATE crm_lead SET isconverted = 1, convertedcontactid = '{contact}', convertedaccountid = '{account}' "
                     f"WHERE id = '{lead}'")
        moved = json.loads(self.fixture.ctl("rematch", "--converted", "--json"))
        self.assertEqual(moved["summary"]["relinked"], 1, moved)
        self.assertEqual(self.count(f"recipientcontactid = '{contact}' AND account = '{account}' AND recipientleadid IS NULL"), 1)
        late = self.org.create("Contact", LastName="Late", Email="later@example.com", AccountId=account)
        self.assertEqual(json.loads(self.fixture.ctl("rematch", "--unmatched", "--json"))["summary"]["relinked"], 1)
        self.assertEqual(self.count(f"recipientcontactid = '{late}'"), 1)
        listed = json.loads(self.fixture.ctl("crm", "list", "contact", "--json"))
        self.assertEqual([row["Id"] for row in listed], sorted([contact, late]))


if __name__ == "__main__":
    daemon_fixture.main()
