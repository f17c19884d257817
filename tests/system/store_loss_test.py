#!/usr/bin/python3
"""The store's file is moved away, deleted or replaced while the daemon runs: nothing is acknowledged that is lost."""
import os
import re
import subprocess

import daemon_fixture
from http_client import Client

EX_NOINPUT, EX_CONFIG = 66, 78
SECONDS = 5  # until the loss is reported


class StoreLoss(daemon_fixture.DaemonTestCase):
    def setUp(self):
        self.fixture = self.new_fixture().seed().start()
        self.store = self.fixture.folder / "giftsync.db"

    def wait_refused(self, client):
        """Without a further request the daemon notices and says so; then it refuses."""
        daemon_fixture.wait_until(lambda: "was deleted, moved or replaced while in use" in self.fixture.whole_log(),
                                  "the loss in the log", SECONDS)
        self.assertEqual(client.get("/-/ready").status, 503)
        self.assertEqual(client.send_gift("lost@example.com").status, 503)
        self.assertEqual(client.get("/-/healthy").status, 200)

    # ARCH-38
    def test_a_store_that_is_moved_back_serves_on(self):
        with Client(self.fixture) as client:
            self.assertEqual(client.send_gift("before@example.com").status, 201)
            link = re.search(r"/g/\S+", self.fixture.ctl("gift", "show", "1", "--mail")).group()
            os.rename(self.store, self.fixture.folder / "moved.db")
            self.assertEqual(client.send_gift("lost@example.com").status, 503, "at once")
            self.wait_refused(client)
            page = client.get(link)
            self.assertEqual((page.status, page.headers["Content-Type"]), (503, "text/html; charset=utf-8"), "people read it")
            self.assertFalse(self.store.exists())
            refused = self.fixture.try_ctl("status")
            self.assertEqual((refused.returncode, "restore the store from its backup" in refused.stderr), (EX_NOINPUT, True), refused)
            os.rename(self.fixture.folder / "moved.db", self.store)
            daemon_fixture.wait_until(lambda: client.get("/-/ready").status == 200, "the daemon to be ready again")
            self.assertEqual(client.send_gift("after@example.com").status, 201)
        self.fixture.stop()
        stored = self.fixture.query("SELECT email FROM recipient_transaction ORDER BY id")
        self.assertEqual(stored, [("before@example.com",), ("after@example.com",)])

    # ARCH-38, OPS-5
    def test_a_deleted_store_is_not_replaced_by_an_empty_one(self):
        with Client(self.fixture) as client:
            for file in self.fixture.folder.glob("giftsync.db*"):
                file.unlink()
            self.wait_refused(client)
        self.fixture.stop()
        ended = subprocess.run([daemon_fixture.GIFTSYNCD, "--config", str(self.fixture.settings)], capture_output=True, text=True,
                               timeout=daemon_fixture.TIMEOUT_SECONDS, check=False)
        self.assertEqual(ended.returncode, EX_CONFIG)
        self.assertIn("there is no store, but its server secret is there", ended.stderr)
        self.assertEqual(list(self.fixture.folder.glob("giftsync.db*")), [])

    # ARCH-38
    def test_another_installation_copied_over_the_store_is_refused(self):
        with Client(self.fixture) as client:
            self.fixture.query("UPDATE store_metadata SET value = 'another' WHERE name = 'installation_id'")
            daemon_fixture.wait_until(lambda: "replaced by another one" in self.fixture.whole_log(), "the report", SECONDS)
            self.assertEqual(client.send_gift("lost@example.com").status, 503)


if __name__ == "__main__":
    daemon_fixture.main()
