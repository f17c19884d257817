#!/usr/bin/python3
"""An upgrade of the store: what it leaves for later goes on after a kill, and an older version goes on beside a newer one.

GIFTSYNCD_BEFORE names the giftsyncd of an older version, with another version of the store; giftsyncctl lies beside it, or
GIFTSYNCCTL_BEFORE names it. tests/package/run --before gives both. Without it the tests with two versions are skipped.
"""
import json
import os
import pathlib
import re
import subprocess
import unittest

import daemon_fixture
from daemon_fixture import ROOT, wait_until
from http_client import Client

BEFORE = os.environ.get("GIFTSYNCD_BEFORE")
EX_CONFIG = 78


def background_indexes(back_end):
    """The names of the indexes that the scripts' background parts make."""
    found = []
    for script in sorted((ROOT / "schema" / "sql").glob("store_*.sql")):
        for dialect, part in re.findall(r"^--@background(?: (sqlite|postgresql))?\n(.*?)^--@end\n", script.read_text(encoding="utf-8"),
                                        re.M | re.S):
            if dialect in ("", back_end):
                found += re.findall(r"^CREATE (?:UNIQUE )?INDEX (\w+)", part, re.M)
    return found


class UpgradeTestCase(daemon_fixture.DaemonTestCase):
    def send(self, fixture, address):
        with Client(fixture) as client:
            response = client.send_gift(address)
        self.assertEqual(response.status, 201, response)
        return response.json()["data"]["recipients"][0]["recipient_transaction_id"]

    def wait_records(self, fixture, *numbers):
        wait_until(lambda: set(numbers) <= {one["RecipientTransactionId"] for one in fixture.gift_records()}, f"the gift records of {numbers}",
                   pace_seconds=0.5)


class BackgroundPart(UpgradeTestCase):
    # covers: ARCH-13
    def check(self, back_end):
        indexes = background_indexes(back_end)
        if not indexes:
            self.skipTest("no script has a background part with an index")
        fixture = self.new_fixture(store=daemon_fixture.store_settings(back_end)).seed().start()
        first = self.send(fixture, "first@example.com")
        self.wait_records(fixture, first)
        self.assertIsNone(fixture.status()["store"]["upgrade"], "a new store has nothing left")
        fixture.kill()
        # As the start of an upgrade leaves it.
        for index in indexes:
            fixture.query(f"DROP INDEX {index}")
        fixture.query("DELETE FROM store_metadata WHERE name = 'background_work'")
        report = fixture.status()
        self.assertGreaterEqual(report["store"]["upgrade"]["remaining"], len(indexes))
        self.assertIn("upgrade   ", fixture.status_text())
        fixture.start()
        fixture.kill()  # before, between or after its statements
        fixture.start()
        wait_until(lambda: fixture.status()["store"]["upgrade"] is None, "the end of the upgrade", pace_seconds=0.5)
        catalogue = ("SELECT name FROM sqlite_master WHERE type = 'index'" if back_end == "sqlite" else
                     "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid WHERE indisvalid")
        self.assertLessEqual(set(indexes), {row[0] for row in fixture.query(catalogue)})
        self.assertIn("upgrade of the store: ", fixture.whole_log())
        self.wait_records(fixture, self.send(fixture, "second@example.com"))

    def test_it_goes_on_after_a_kill_on_sqlite(self):
        self.check("sqlite")

    def test_it_goes_on_after_a_kill_on_postgresql(self):
        self.check("postgresql")


@unittest.skipUnless(BEFORE, "GIFTSYNCD_BEFORE does not name an older giftsyncd")
class OlderVersion(UpgradeTestCase):
    # covers: ARCH-13
    def older(self, **named):
        fixture = self.new_fixture(**named)
        fixture.programs = (BEFORE, os.environ.get("GIFTSYNCCTL_BEFORE", str(pathlib.Path(BEFORE).with_name("giftsyncctl"))))
        return fixture

    def store_version(self, fixture):
        """Of the program, and of the store."""
        shown = json.loads(fixture.try_ctl("db", "version", "--json").stdout)
        return shown["store_supported"], shown["store"]

    def check_refused(self, older):
        """It exits with a message that names both ways back."""
        ended = subprocess.run([older.programs[0], "--config", str(older.settings)], capture_output=True, text=True, timeout=60,
                               check=False)
        self.assertEqual(ended.returncode, EX_CONFIG, ended.stderr)
        self.assertIn("install the newer giftsync again, or restore the backup from before it", ended.stderr)

    def upgraded(self, older, newer):
        before, after = self.store_version(older)[0], self.store_version(newer)[0]
        self.assertLess(before, after, "GIFTSYNCD_BEFORE works on the same version of the store: name an older one")
        return after

    def test_its_daemon_goes_on_beside_a_newer_one(self):
        older = self.older(store=daemon_fixture.store_settings("postgresql"))
        newer = self.new_fixture(store=older.store, folder=older.folder, name="newer")
        newer.key = older.seed().key
        older.start()
        self.wait_records(older, self.send(older, "before@example.com"))
        version = self.upgraded(older, newer)
        newer.start()
        self.assertEqual(self.store_version(newer)[1], version)
        sent = [self.send(fixture, f"r{number}-{fixture.port}@example.com") for number in range(20) for fixture in (older, newer)]
        self.wait_records(newer, *sent)
        listed = newer.ctl_json("gift", "list")
        self.assertEqual(len(listed), 41)
        wait_until(lambda: newer.status()["mail"]["accepted"] == 41, "all mails", pace_seconds=0.5)
        self.assertIsNone(older.daemon.poll(), "the older daemon has ended")
        self.assertNotIn("retrying until it succeeds", older.whole_log())
        older.stop()
        self.check_refused(older)
        self.assertIsNone(newer.daemon.poll())

    def test_on_sqlite_it_refuses_what_a_newer_one_has_migrated(self):
        older = self.older()
        newer = self.new_fixture(folder=older.folder, name="newer")
        newer.key = older.seed().key
        older.start()
        number = self.send(older, "before@example.com")
        self.wait_records(older, number)
        older.stop()
        version = self.upgraded(older, newer)
        newer.start()
        self.assertEqual(self.store_version(newer)[1], version)
        newer.stop()
        self.check_refused(older)
        newer.start()
        self.assertEqual([one["RecipientTransactionId"] for one in newer.gift_records()], [number])
        self.wait_records(newer, self.send(newer, "after@example.com"))


if __name__ == "__main__":
    daemon_fixture.main()
