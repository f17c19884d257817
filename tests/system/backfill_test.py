#!/usr/bin/python3
"""Backfills beside a running daemon: a killed backfill resumes where it stopped, and the daemon keeps its response times.

OLD_RECORDS (4500) gift records from before giftsync, with a status log of five rows each.
"""
import os
import signal
import subprocess
import time
import unittest

import daemon_fixture
from http_client import Client

OLD_RECORDS = int(os.environ.get("OLD_RECORDS", "4500"))
# Above the ids that the daemon allocates.
FIRST = 1_000_000
NUMBERS = f"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {OLD_RECORDS - 1})"


class Backfill(daemon_fixture.DaemonTestCase):
    back_end = "sqlite"

    def setUp(self):
        self.fixture = self.new_fixture(store=daemon_fixture.store_settings(self.back_end)).seed().start()
        time_type = "TEXT" if self.back_end == "sqlite" else "TIMESTAMPTZ"
        self.fixture.query("CREATE TABLE crm_status_log (id TEXT NOT NULL PRIMARY KEY, recipienttransactionid BIGINT, "
                         f"status TEXT, createddate {time_type})")
        self.fixture.query(f"INSERT INTO crm_gift_record (id, recipienttransactionid, recipient_email, recipienttransactionstatus) "
                         f"{NUMBERS} SELECT 'old' || i, {FIRST} + i, 'old' || i || '@example.com', 'redeemed' FROM n")
        for day, status in enumerate(("Sent", "delivered", "delivered", "opened", "redeemed"), 1):
            self.fixture.query(f"INSERT INTO crm_status_log {NUMBERS} SELECT '{day}-' || i, {FIRST} + i, '{status}', "
                             f"'2020-01-0{day}T00:00:00.000Z' FROM n")

    def kill_half_way(self, name):
        """Ends a run by SIGKILL once it has stored a checkpoint; returns the checkpoint's transaction id."""
        with open(self.fixture.folder / "killed.log", "wb") as log:
            run = subprocess.Popen([daemon_fixture.GIFTSYNCCTL, "--config", str(self.fixture.settings), "backfill", name], stdout=log,
                                   stderr=log)
        query = f"SELECT transaction_id FROM backfill_checkpoint WHERE name = '{name}' AND transaction_id > 0"
        try:
            position = daemon_fixture.wait_until(lambda: self.fixture.query(query), "a checkpoint", pace_seconds=0.005)
        finally:
            run.send_signal(signal.SIGKILL)
            run.wait()
        return int(position[0][0])

    def backfill(self, name, *arguments):
        """The summary of a run, while a client sends gifts to the daemon."""
        slowest = 0.0
        command = [daemon_fixture.GIFTSYNCCTL, "--config", str(self.fixture.settings), "backfill", name, "--json", *arguments]
        with open(self.fixture.folder / "run.json", "wb") as out, open(self.fixture.folder / "run.log", "wb") as log:
            run = subprocess.Popen(command, stdout=out, stderr=log)
        with Client(self.fixture) as client:
            while run.poll() is None:
                begun = time.monotonic()
                response = client.send_gift("ada@example.com")
                slowest = max(slowest, time.monotonic() - begun)
                self.assertEqual(response.status, 201, response)
        self.assertEqual(run.returncode, 0, (self.fixture.folder / "run.log").read_text())
        self.assertLess(slowest, 5, "the backfill delayed a gift request")
        with open(self.fixture.folder / "run.json", encoding="utf-8") as out:
            return daemon_fixture.json.load(out)["summary"], (self.fixture.folder / "run.log").read_text()

    # SYNC-62
    def test_resumed_after_a_kill_beside_the_daemon(self):
        where = self.kill_half_way("status-timestamps")
        if self.fixture.query("SELECT 1 FROM backfill_checkpoint"):
            summary, output = self.backfill("status-timestamps")
            self.assertIn(f"Resumes after gift {where}" if where < FIRST + OLD_RECORDS - 1 else "Resumes", output)
            self.assertEqual(summary["rows"], 5 * OLD_RECORDS)
            self.assertEqual(summary["used"] + summary["not_needed"], 5 * OLD_RECORDS)
        full = self.fixture.query("SELECT count(*) FROM crm_gift_record WHERE redeemed_date_time IS NOT NULL AND "
                                "opened_date_time IS NOT NULL AND delivered_date_time IS NOT NULL")
        self.assertEqual(int(full[0][0]), OLD_RECORDS)

        self.kill_half_way("gift-records")
        summary, _ = self.backfill("gift-records")
        parts = ("unchanged", "created", "repaired", "times_imported", "recreated", "adopted", "deleted_in_crm", "skipped", "queued", "id_conflict",
                 "refused")
        self.assertEqual(sum(summary[part] for part in parts), summary["examined"])
        self.assertEqual((summary["repaired"], summary["deleted_in_crm"], summary["refused"]), (0, 0, 0))
        adopted = self.fixture.query("SELECT count(*) FROM recipient_transaction WHERE gift_source = 'crm'")
        self.assertEqual(int(adopted[0][0]), OLD_RECORDS)
        self.assertEqual(self.fixture.query("SELECT * FROM backfill_checkpoint"), [], "a complete backfill leaves no checkpoint")

        # The daemon applies later changes to adopted gifts.
        self.fixture.ctl("change", "import", self.fixture.write(
            "changes.ndjson", f'{{"recipient_transaction_id": {FIRST}, "status": "refunded", "occurred_at": "2026-01-01T00:00:00Z"}}\n'))
        daemon_fixture.wait_until(lambda: self.fixture.query("SELECT 1 FROM crm_gift_record WHERE recipienttransactionstatus = 'refunded'"),
                         "the refund in the record", pace_seconds=0.1)
        daemon_fixture.wait_until(lambda: not self.fixture.query("SELECT 1 FROM crm_outbox LIMIT 1"), "the daemon to have synced everything",
                         pace_seconds=0.1)
        summary, _ = self.backfill("status-timestamps")
        self.assertEqual((summary["used"], summary["timestamps"]), (0, 0), "a second run changes nothing")
        summary, _ = self.backfill("gift-records")
        self.assertEqual((summary["adopted"], summary["repaired"], summary["created"], summary["deleted_in_crm"]), (0, 0, 0, 0))
        self.fixture.stop()


class BackfillOnPostgresql(Backfill):
    back_end = "postgresql"

    @classmethod
    def setUpClass(cls):
        if not os.environ.get("GIFTSYNC_TEST_PG"):
            raise unittest.SkipTest("GIFTSYNC_TEST_PG is not set: run scripts/with-postgresql")


if __name__ == "__main__":
    daemon_fixture.main()
