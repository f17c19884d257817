#!/usr/bin/python3
"""The daemon behind PgBouncer: pooling by session works, pooling by transaction is refused at the start. Run by
scripts/with-postgresql."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

import daemon_fixture
from http_client import Client
from mails import mails_in

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class PgBouncer:
    """In front of the server of `connection`; it refuses to run as root."""

    def __init__(self, connection, **settings):
        target = dict(part.split("=", 1) for part in connection.split())
        self.port = daemon_fixture.free_port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="giftsync-pgbouncer."))
        given = {"listen_addr": "127.0.0.1", "listen_port": self.port, "auth_type": "any", "unix_socket_dir": "", **settings}
        database = f"{target['dbname']} = host={target['host']} port={target['port']} dbname={target['dbname']} user={target['user']}"
        (self.folder / "pgbouncer.ini").write_text(
            f"[databases]\n{database}\n[pgbouncer]\n" + "".join(f"{key} = {value}\n" for key, value in given.items()), encoding="ascii")
        command = [PROGRAM, str(self.folder / "pgbouncer.ini")]
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            command = ["runuser", "-u", "postgres", "--", *command]
        self.log = open(self.folder / "pgbouncer.log", "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.store = {"backend": "postgresql",
                      "connection": f"host=127.0.0.1 port={self.port} user={target['user']} dbname={target['dbname']}"}
        daemon_fixture.wait_until(self.is_listening, "PgBouncer")

    def is_listening(self):
        if self.process.poll() is not None:
            raise AssertionError((self.folder / "pgbouncer.log").read_text(encoding="utf-8"))
        return b"process up" in (self.folder / "pgbouncer.log").read_bytes()

    def close(self):
        self.process.terminate()
        self.process.wait(daemon_fixture.TIMEOUT_SECONDS)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class BehindPgBouncer(daemon_fixture.DaemonTestCase):
    def setUp(self):
        self.connection = daemon_fixture.store_settings("postgresql")["connection"]
        if PROGRAM is None:
            raise unittest.SkipTest("there is no pgbouncer: run scripts/install-packages")

    def new_pooler(self, **settings):
        pooler = PgBouncer(self.connection, **settings)
        self.addCleanup(pooler.close)
        return pooler

    # ARCH-43
    def test_pooling_by_session_works(self):
        fixture = self.new_fixture(store=self.new_pooler(pool_mode="session", default_pool_size=60).store).seed().start()
        for number in range(2):  # before and after a reload
            address = f"pooled{number}@example.com"
            with Client(fixture) as client:
                self.assertEqual(client.send_gift(address).status, 201)
            daemon_fixture.wait_until(lambda: address in [mail.to for mail in mails_in(fixture.outbox)], "the mail")
            daemon_fixture.wait_until(lambda: [one for one in fixture.gift_records() if one["Recipient_Email"] == address and
                                               one["RecipientTransactionStatus"] == "delivered"], "the record", pace_seconds=0.2)
            fixture.signal(signal.SIGHUP)
            daemon_fixture.wait_until(lambda: fixture.whole_log().count("settings reloaded") == number + 1, "the reload")
        self.assertEqual(fixture.try_ctl("status").returncode, 0)
        self.assertNotIn(" error ", fixture.whole_log())

    # ARCH-43
    def test_pooling_by_transaction_is_refused_with_the_reason(self):
        self.new_fixture(store={"backend": "postgresql", "connection": self.connection}).seed()  # there is a store
        for settings in ({"server_round_robin": 0}, {"server_round_robin": 1, "min_pool_size": 5}, {"default_pool_size": 1}):
            with self.subTest(settings=settings):
                fixture = self.new_fixture(store=self.new_pooler(pool_mode="transaction", **settings).store)
                fixture.start(wait=False)
                self.assertEqual(fixture.wait_end(), 78)
                for expected in (str(fixture.settings), "store.connection", "pool_mode = session"):
                    self.assertIn(expected, fixture.log())
        checked = subprocess.run([daemon_fixture.GIFTSYNCD, "--config", str(fixture.settings), "--check"], capture_output=True, text=True,
                                 timeout=daemon_fixture.TIMEOUT_SECONDS, check=False)
        self.assertEqual(checked.returncode, 78, checked)
        self.assertIn("pool_mode = session", checked.stderr)

    # ARCH-43
    def test_pooling_by_statement_is_refused(self):
        fixture = self.new_fixture(store=self.new_pooler(pool_mode="statement").store)
        fixture.start(wait=False)
        self.assertEqual(fixture.wait_end(), 78)
        self.assertIn("it refuses transactions", fixture.log())


if __name__ == "__main__":
    daemon_fixture.main()
