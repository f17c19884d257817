#!/usr/bin/python3
"""Backfills beside a live daemon, killed half-way: they go on where they stopped, and the daemon is not held up.

OLD_RECORDS (6000) gift records from before giftsync, with a status log of five rows each.
"""
import os
import signal
import subprocess
import time
import unittest

import house
from http_client import Client

OLD_RECORDS = int(os.environ.get("OLD_RECORDS", "6000"))
# Above the ids that the daemon hands out.
FIRST = 1_000_000
NUMBERS = f"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {OLD_RECORDS - 1})"


class Backfill(house.HouseTest):
    back_end = "sqlite"

    def setUp(self):
        self.given = self.new_house(store=house.store_settings(self.back_end)).furnish().start()
        time_type = "TEXT" if self.back_end == "sqlite" else "TIMESTAMPTZ"
        self.given.query("CREATE TABLE crm_status_log (id TEXT NOT NULL PRIMARY KEY, recipienttransactionid BIGINT, "
                         f"status TEXT, createddate {time_type})")
        self.given.query(f"INSERT INTO crm_gift_record (id, recipienttransactionid, recipient_email, recipienttransactionstatus) "
                         f"{NUMBERS} SELECT 'old' || i, {FIRST} + i, 'old' || i || '@example.com', 'redeemed' FROM n")
        for day, status in enumerate(("Sent", "delivered", "delivered", "opened", "redeemed"), 1):
            self.given.query(f"INSERT INTO crm_status_log {NUMBERS} SELECT '{day}-' || i, {FIRST} + i, '{status}', "
                             f"'2020-01-0{day}T00:00:00.000Z' FROM n")

    def kill_half_way(self, name):
        """Ends a run by SIGKILL once it has kept a position; returns that."""
        with open(self.given.folder / "killed.log", "wb") as log:
            run = subprocess.Popen([house.GIFTSYNCCTL, "--config", str(self.given.settings), "backfill", name], stdout=log,
                                   stderr=log)
        query = f"SELECT transaction_id FROM backfill WHERE name = '{name}' AND transaction_id > 0"
        try:
            position = house.wait_until(lambda: self.given.query(query), "a position", pace_seconds=0.005)
        finally:
            run.send_signal(signal.SIGKILL)
            run.wait()
        return int(position[0][0])

    def backfill(self, name, *words):
        """The summary of a run, while a client sends gifts to the daemon."""
        slowest = 0.0
        command = [house.GIFTSYNCCTL, "--config", str(self.given.settings), "backfill", name, "--json", *words]
        with open(self.given.folder / "run.json", "wb") as out, open(self.given.folder / "run.log", "wb") as log:
            run = subprocess.Popen(command, stdout=out, stderr=log)
        with Client(self.given) as client:
            while run.poll() is None:
                begun = time.monotonic()
                answer = client.send_gift("ada@example.com")
                slowest = max(slowest, time.monotonic() - begun)
                self.assertEqual(answer.status, 201, answer)
        self.assertEqual(run.returncode, 0, (self.given.folder / "run.log").read_text())
        self.assertLess(slowest, 5, "a gift waited for the backfill")
        with open(self.given.folder / "run.json", encoding="utf-8") as out:
            return house.json.load(out)["summary"], (self.given.folder / "run.log").read_text()

    def test_killed_and_begun_again_beside_the_daemon(self):
        where = self.kill_half_way("status-timestamps")
        if self.given.query("SELECT 1 FROM backfill"):
            summary, said = self.backfill("status-timestamps")
            self.assertIn(f"Goes on after gift {where}" if where < FIRST + OLD_RECORDS - 1 else "Goes on", said)
            self.assertEqual(summary["rows"], 5 * OLD_RECORDS)
            self.assertEqual(summary["used"] + summary["not_needed"], 5 * OLD_RECORDS)
        full = self.given.query("SELECT count(*) FROM crm_gift_record WHERE redeemed_date_time IS NOT NULL AND "
                                "opened_date_time IS NOT NULL AND delivered_date_time IS NOT NULL")
        self.assertEqual(int(full[0][0]), OLD_RECORDS)

        self.kill_half_way("gift-records")
        summary, _ = self.backfill("gift-records")
        parts = ("unchanged", "created", "repaired", "learnt", "recreated", "adopted", "gone", "skipped", "waiting", "blocked",
                 "refused")
        self.assertEqual(sum(summary[part] for part in parts), summary["looked_at"])
        self.assertEqual((summary["repaired"], summary["gone"], summary["refused"]), (0, 0, 0))
        adopted = self.given.query("SELECT count(*) FROM recipient_transaction WHERE origin = 'crm'")
        self.assertEqual(int(adopted[0][0]), OLD_RECORDS)
        self.assertEqual(self.given.query("SELECT * FROM backfill"), [], "the positions are gone")

        # The daemon applies what comes later to what was adopted.
        self.given.ctl("change", "import", self.given.write(
            "changes.ndjson", f'{{"recipient_transaction_id": {FIRST}, "status": "refunded", "occurred_at": "2026-01-01T00:00:00Z"}}\n'))
        house.wait_until(lambda: self.given.query("SELECT 1 FROM crm_gift_record WHERE recipienttransactionstatus = 'refunded'"),
                         "the refund in the record", pace_seconds=0.1)
        house.wait_until(lambda: not self.given.query("SELECT 1 FROM sync_mark LIMIT 1"), "the daemon to have synced everything",
                         pace_seconds=0.1)
        summary, _ = self.backfill("status-timestamps")
        self.assertEqual((summary["used"], summary["timestamps"]), (0, 0), "a second run changes nothing")
        summary, _ = self.backfill("gift-records")
        self.assertEqual((summary["adopted"], summary["repaired"], summary["created"], summary["gone"]), (0, 0, 0, 0))
        self.given.stop()


class BackfillOnPostgresql(Backfill):
    back_end = "postgresql"

    @classmethod
    def setUpClass(cls):
        if not os.environ.get("GIFTSYNC_TEST_PG"):
            raise unittest.SkipTest("GIFTSYNC_TEST_PG is not set: run scripts/with-postgresql")


if __name__ == "__main__":
    house.main()
