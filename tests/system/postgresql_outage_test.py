#!/usr/bin/python3
"""Gift requests on PostgreSQL, killed daemons, and a server that stops under load. Run by scripts/with-postgresql."""
import os
import pathlib
import subprocess

import gift_load
import daemon_fixture
import kill_test
import gift_requests_test
from http_client import Client
from mails import Collector


class GiftRequestsOnPostgresql(gift_requests_test.GiftRequests):
    back_end = "postgresql"


class KillTestOnPostgresql(kill_test.KillTest):
    back_end = "postgresql"
    gifts = int(os.environ.get("GIFTS", "200"))
    kills = int(os.environ.get("KILLS", "6"))


def server(*arguments):
    """Stops or starts the PostgreSQL server."""
    subprocess.run([os.environ["GIFTSYNC_TEST_PG_CTL"], *arguments], check=True, timeout=120)


class ServerGone(daemon_fixture.DaemonTestCase):
    gifts = int(os.environ.get("GIFTS", "200"))

    # ARCH-46, HTTP-5: the killed server had not written what it had committed, as far as its role asks for.
    def test_an_outage_is_logged_and_recovers(self):
        fixture = self.new_fixture(store=daemon_fixture.store_settings("postgresql")).seed()
        collector = Collector(fixture.outbox)
        fixture.psql("ALTER ROLE CURRENT_USER SET synchronous_commit = off")
        self.addCleanup(fixture.psql, "ALTER ROLE CURRENT_USER RESET synchronous_commit")
        fixture.start()
        process = fixture.daemon.pid
        load = gift_load.GiftLoad(fixture, count=self.gifts).start()
        for outage, way in enumerate(("immediate", "fast"), start=1):
            load.wait_acknowledged(self.gifts * outage // 3)
            server("stop", "-m", way)
            try:
                self.check_outage(fixture, load)
            finally:
                server("start")
            fixture.wait_ready()
        load.join()
        gift_load.wait_until_idle(fixture)
        mails, repeated = collector.finish()
        self.assertEqual((fixture.daemon.pid, fixture.daemon.poll()), (process, None), "the daemon recovers without a restart")
        self.assertEqual(set(load.refused) - {409, 503}, set())
        self.assertGreater(load.refused[503], 0)
        self.assertEqual(load.retry_after_missing, 0)
        gift_load.check_stored_once(self, fixture, load)
        gift_load.check_mailed_once(self, load, mails, repeated)
        self.assertEqual(fixture.status()["mail"]["undelivered"], 0)
        log = fixture.whole_log()
        self.assertLess(log.count(" error "), 60, "the outage is logged when it begins, not for each request")
        self.assertIn("recovered after", log)
        print(f"{self.gifts} requests, 2 outages, refused {load.refused} ", end="", flush=True)

    # ARCH-46
    def test_a_server_that_does_not_write_is_named(self):
        fixture = self.new_fixture(store=daemon_fixture.store_settings("postgresql")).seed()
        self.assertEqual(self.warnings(fixture), [])
        configuration = pathlib.Path(os.environ["GIFTSYNC_TEST_PG_DATA"], "postgresql.auto.conf")
        before = configuration.read_text(encoding="ascii")
        try:
            configuration.write_text(before + "fsync = off\nfull_page_writes = off\n", encoding="ascii")
            server("reload")
            warnings = daemon_fixture.wait_until(lambda: self.warnings(fixture), "the server to read its settings",
                                                 pace_seconds=0.5)
        finally:
            configuration.write_text(before, encoding="ascii")
            server("reload")
        self.assertRegex(warnings[0], r"giftsyncd.yaml:\d+: store.connection: fsync is off")
        self.assertRegex(warnings[1], r"giftsyncd.yaml:\d+: store.connection: full_page_writes is off")

    def warnings(self, fixture):
        checked = subprocess.run([daemon_fixture.GIFTSYNCD, "--config", str(fixture.settings), "--check"], capture_output=True, text=True,
                                 timeout=daemon_fixture.TIMEOUT_SECONDS, check=True)
        return [line for line in checked.stderr.splitlines() if " is off " in line]

    def check_outage(self, fixture, load):
        with Client(fixture) as client:
            self.assertEqual(client.get("/-/healthy").status, 200)
            self.assertEqual(client.get("/-/ready").status, 503)
            response = client.send_gift("outage@example.com")
            self.assertEqual((response.status, response.json()["code"]), (503, "unavailable"), response)
            self.assertGreaterEqual(int(response.headers["Retry-After"]), 1)
            self.assertNotIn("psql", response.body.decode())
        load.wait_refused(10)
        ended = fixture.try_ctl("status")
        self.assertEqual(ended.returncode, 69, ended)
        self.assertIn("PostgreSQL", ended.stderr + ended.stdout)


class NoServer(daemon_fixture.DaemonTestCase):
    def test_a_daemon_without_its_server_reports_it_and_exits(self):
        store = {"backend": "postgresql", "connection": f"host=127.0.0.1 port={daemon_fixture.free_port()} dbname=none user=none"}
        fixture = self.new_fixture(store=store).start(wait=False)
        self.assertEqual(fixture.wait_end(), 69)
        self.assertIn("store.connection", fixture.log())
        self.assertIn(str(fixture.settings), fixture.log())


if __name__ == "__main__":
    daemon_fixture.main()
