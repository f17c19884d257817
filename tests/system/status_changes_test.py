#!/usr/bin/python3
"""Status changes imported with `change import` reach the gift records of a running daemon."""
import itertools
import json
import random
import time

import daemon_fixture
from http_client import Client


def timestamp(minute):
    return f"2020-11-20T10:{minute:02d}:00Z"


def at(minute):
    return f"2020-11-20T10:{minute:02d}:00.000Z"


class StatusChanges(daemon_fixture.DaemonTestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_fixture()
        cls.event_numbers = itertools.count(1)

    def setUp(self):
        self.client = Client(self.fixture)
        self.addCleanup(self.client.close)

    def new_gifts(self, count):
        """Delivered transactions: all later times come from the test."""
        response = self.client.send_gift(*(f"gift{number}@example.com" for number in range(count)))
        self.assertEqual(response.status, 201, response)
        ids = [one["recipient_transaction_id"] for one in response.json()["data"]["recipients"]]
        self.wait_records(ids, lambda record: record["RecipientTransactionStatus"] == "delivered")
        return ids

    def wait_records(self, ids, condition):
        def found():
            records = {record["RecipientTransactionId"]: record for record in self.fixture.gift_records()}
            wanted = [records.get(number) for number in ids]
            return wanted if all(record and condition(record) for record in wanted) else None

        return daemon_fixture.wait_until(found, f"records {ids[:3]}... to follow")

    def change(self, transaction, status, minute):
        return json.dumps({"recipient_transaction_id": transaction, "status": status, "occurred_at": timestamp(minute),
                           "event_id": f"event-{next(self.event_numbers)}"})

    def import_changes(self, lines, expect=0):
        path = self.fixture.write("changes.ndjson", "\n".join(lines) + "\n")
        ended = self.fixture.try_ctl("change", "import", path)
        self.assertEqual(ended.returncode, expect, ended.stdout + ended.stderr)
        return ended

    def test_order_and_repetition_do_not_change_the_record(self):
        story = [("opened", 1), ("redeemed", 4), ("donated", 6), ("opened", 2), ("undelivered", 3)]
        ids = self.new_gifts(6)
        shuffled = random.Random(7)
        lines = []
        for number in ids:
            order = story * 2
            shuffled.shuffle(order)
            lines.append([self.change(number, status, minute) for status, minute in order])
        for batch in itertools.zip_longest(*lines):  # a batch has one change of each gift
            self.import_changes([line for line in batch if line])
        records = self.wait_records(ids, lambda record: record["RecipientTransactionStatus"] == "redeemed")
        for record in records:
            self.assertEqual(record["Opened_Date_Time"], at(1))
            self.assertEqual(record["Redeemed_Date_Time"], at(4))
            self.assertIsNone(record["Donated_Date_Time"])
            self.assertEqual(record["Undelivered_Date_Time"], at(3))
            self.assertEqual((record["Opened"], record["Redeemed"], record["Delivered"]), (True, True, True))
        history = self.fixture.ctl_json("gift", "show", str(ids[0]))["history"]
        self.assertEqual(len(history), 1 + len(story))
        loser = next(change for change in history if change["status"] == "donated")
        self.assertIn("redeemed", loser["conflict"])
        self.assertEqual(sum(len(change["event_ids"]) for change in history), 2 * len(story))

    def test_repeated_import_changes_nothing(self):
        number = self.new_gifts(1)[0]
        lines = [self.change(number, "opened", 5), self.change(number, "refunded", 9)]
        self.assertIn("2 accepted", self.import_changes(lines).stdout)
        before = self.wait_records([number], lambda record: record["RecipientTransactionStatus"] == "refunded")
        self.assertIn("0 accepted, 2 duplicates", self.import_changes(lines).stdout)
        marker = self.new_gifts(1)  # synced after everything that the import queued
        self.assertTrue(marker)
        self.assertEqual(self.wait_records([number], bool), before)

    def test_bad_lines_are_named_and_the_others_applied(self):
        number = self.new_gifts(1)[0]
        lines = [self.change(number, "opened", 5), self.change(number, "lost", 6), "not json", "",
                 self.change(number, "redeemed", 7).replace("2020-11-20T10:07:00Z", "yesterday"),
                 self.change(number, "redeemed", 8).replace("2020", "1999"), '{"status": "opened"}', "[1]",
                 self.change(number, "redeemed", 9)]
        ended = self.import_changes(lines, expect=65)
        for line in (2, 3, 5, 6, 7, 8):
            self.assertIn(f"changes.ndjson:{line}:", ended.stderr)
        for line in (1, 4, 9):
            self.assertNotIn(f"changes.ndjson:{line}:", ended.stderr)
        self.assertIn("8 lines: 2 accepted, 0 duplicates, 0 orphaned, 6 refused", ended.stdout)
        self.assertIn("lost", ended.stderr)
        self.assertIn("yesterday", ended.stderr)
        record = self.wait_records([number], lambda one: one["RecipientTransactionStatus"] == "redeemed")[0]
        self.assertEqual((record["Opened_Date_Time"], record["Redeemed_Date_Time"]), (at(5), at(9)))

    # STATUS-21
    def test_lines_are_reported_in_the_order_of_transaction_ids(self):
        reported = self.import_changes([self.change(number, "opened", 5) for number in (800_003, 800_001, 800_002)]).stderr
        places = [reported.index(f"changes.ndjson:{line}: orphaned") for line in (2, 3, 1)]
        self.assertEqual(places, sorted(places), reported)
        self.fixture.ctl("change", "purge", "--orphaned", "--source", "import", "--yes")

    # STATUS-19
    def test_changes_of_unknown_transactions_stay_orphaned_until_the_transactions_exist(self):
        last = self.new_gifts(1)[0]
        expected = range(last + 1, last + 4)
        ended = self.import_changes([self.change(number, "opened", 30) for number in expected])
        self.assertIn("3 orphaned", ended.stdout)
        self.assertEqual(self.fixture.status()["orphaned_changes"], 3)
        response = self.client.send_gift(*(f"late{number}@example.com" for number in expected))
        ids = [one["recipient_transaction_id"] for one in response.json()["data"]["recipients"]]
        self.assertEqual(ids, list(expected))
        for record in self.wait_records(ids, lambda one: one["RecipientTransactionStatus"] == "opened"):
            self.assertEqual(record["Opened_Date_Time"], at(30))
        daemon_fixture.wait_until(lambda: self.fixture.status()["orphaned_changes"] == 0, "no orphaned changes")

    def test_orphaned_changes_survive_a_restart(self):
        last = self.new_gifts(1)[0]
        self.import_changes([self.change(last + 1, "opened", 31)])
        self.client.close()
        self.fixture.restart()
        response = self.client.send_gift("after@example.com")
        number = response.json()["data"]["recipients"][0]["recipient_transaction_id"]
        self.assertGreater(number, last)
        if number > last + 1:  # a restart may leave a gap of ids; the change is then still orphaned
            self.assertEqual(self.fixture.status()["orphaned_changes"], 1)
        else:
            self.wait_records([number], lambda record: record["RecipientTransactionStatus"] == "opened")

    # SYNC-29
    def test_a_voided_change_leaves_the_record_until_it_is_restored(self):
        number = self.new_gifts(1)[0]
        lines = [self.change(number, "opened", 5), self.change(number, "redeemed", 9)]
        self.import_changes(lines)
        self.wait_records([number], lambda record: record["RecipientTransactionStatus"] == "redeemed")
        history = self.fixture.ctl_json("gift", "show", str(number))["history"]
        wrong = next(change["id"] for change in history if change["status"] == "redeemed")
        for _ in range(2):  # repeating is harmless
            ended = self.fixture.try_ctl("change", "void", str(wrong), "--reason", "the wrong gift")
            self.assertEqual(ended.returncode, 0, ended.stderr)
        begun = time.monotonic()
        record = self.wait_records([number], lambda one: one["RecipientTransactionStatus"] == "opened")[0]
        self.assertLess(time.monotonic() - begun, 3, "the record follows within two seconds")
        self.assertIsNone(record["Redeemed_Date_Time"])
        self.assertIn("0 accepted, 2 duplicates", self.import_changes(lines).stdout)
        history = self.fixture.ctl_json("gift", "show", str(number))["history"]
        voided = next(change["voided"] for change in history if change["id"] == wrong)
        self.assertEqual(voided["reason"], "the wrong gift")
        for _ in range(2):
            ended = self.fixture.try_ctl("change", "restore", str(wrong), "--reason", "it was right")
            self.assertEqual(ended.returncode, 0, ended.stderr)
        begun = time.monotonic()
        record = self.wait_records([number], lambda one: one["RecipientTransactionStatus"] == "redeemed")[0]
        self.assertLess(time.monotonic() - begun, 3, "the record follows within two seconds")
        self.assertEqual(record["Redeemed_Date_Time"], at(9))
        history = self.fixture.ctl_json("gift", "show", str(number))["history"]
        restored = next(change for change in history if change["id"] == wrong)
        self.assertIsNone(restored["voided"])
        self.assertEqual([(one["kind"], one["reason"]) for one in restored["audit"]],
                         [("voided", "the wrong gift"), ("restored", "it was right")])

    def test_the_read_endpoint_shows_the_times(self):
        response = self.client.send_gift("read@example.com").json()["data"]
        number = response["recipients"][0]["recipient_transaction_id"]
        self.wait_records([number], lambda record: record["RecipientTransactionStatus"] == "delivered")
        self.import_changes([self.change(number, "opened", 12), self.change(number, "donated", 13)])
        self.wait_records([number], lambda record: record["RecipientTransactionStatus"] == "donated")
        state = self.client.get(f"/api/v1/gift_requests/{response['id']}").json()["data"]["recipients"][0]
        self.assertEqual((state["status"], state["opened_at"], state["donated_at"]), ("donated", at(12), at(13)))


if __name__ == "__main__":
    daemon_fixture.main()
