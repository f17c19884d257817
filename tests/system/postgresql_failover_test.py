#!/usr/bin/python3
"""A primary that is killed under load, and its synchronous standby promoted: nothing acknowledged is lost or doubled, and the daemons
go on by themselves. Then the old primary comes back. Run by scripts/with-postgresql.

CALLS (100) acknowledged calls before the primary is killed, and again after the promotion.
"""
import collections
import os
import subprocess
import unittest

import daemon_fixture
import mixed_load
from http_client import Client
from mails import Collector
from mixed_load import MixedLoad
from postgresql_cluster import Cluster, connection_to

CALLS = int(os.environ.get("CALLS", "100"))


class Failover(daemon_fixture.DaemonTestCase):
    def new_clusters(self):
        if "GIFTSYNC_TEST_PG_BIN" not in os.environ:
            raise unittest.SkipTest("GIFTSYNC_TEST_PG_BIN is not set: run scripts/with-postgresql")
        primary = Cluster("primary")
        self.addCleanup(primary.close)
        standby = Cluster("standby")
        self.addCleanup(standby.close)
        primary.make_primary()
        return primary, standby.make_standby_of(primary)

    def new_daemons(self, store):
        first = self.new_fixture(store=store, more=mixed_load.SETTINGS)
        second = self.new_fixture(store=store, more=mixed_load.SETTINGS, folder=first.folder, name="second")
        second.key = first.seed().key
        first.start()
        second.start()
        return first, second

    # ARCH-42
    def test_a_promoted_standby_has_everything_and_an_old_primary_is_refused(self):
        primary, standby = self.new_clusters()
        daemons = self.new_daemons({"backend": "postgresql", "connection": connection_to(primary, standby)})
        processes = [one.daemon.pid for one in daemons]
        collector = Collector(daemons[0].outbox)
        load = MixedLoad(*daemons).start()
        load.wait_more(CALLS)
        primary.kill()
        self.check_outage(daemons, load)
        standby.promote()
        for one in daemons:
            one.wait_ready()
        load.wait_more(CALLS)
        load.finish()
        self.wait_until_idle(daemons[0])
        self.assertEqual([one.daemon.pid for one in daemons], processes)
        self.assertEqual([one.daemon.poll() for one in daemons], [None, None], "the daemons go on without a restart")
        mixed_load.audit(self, daemons[0], load, self.arrivals(collector))
        print(load.summary(), end=" ", flush=True)
        self.check_old_primary(primary, standby, daemons)

    def check_outage(self, daemons, load):
        for one in daemons:
            with Client(one) as client:
                self.assertEqual(client.get("/-/healthy").status, 200)
                response = client.send_gift("outage@example.com")
            self.assertEqual((response.status, response.json()["code"]), (503, "unavailable"), response)
            self.assertGreaterEqual(int(response.headers["Retry-After"]), 1)
        refused = load.calls[503]
        load.wait_for(lambda: load.calls[503] >= refused + 5, "callers that get 503")

    @staticmethod
    def wait_until_idle(fixture):
        def idle():
            status = fixture.status()
            return status["mail"]["queued"] == 0 and status["mail"]["sending"] == 0 and status["sync"]["queued"] == 0

        daemon_fixture.wait_until(idle, "empty queues", 120, pace_seconds=0.5)

    @staticmethod
    def arrivals(collector):
        mails, repeated = collector.finish()
        found = collections.defaultdict(list)
        for mail in mails:
            found[mail.to].append(mail.message_id)
        return found

    def check_old_primary(self, primary, standby, daemons):
        """It is not fenced, and is the first host of the connection string."""
        first, second = daemons
        standby.stop("fast")
        primary.start()
        with Client(first) as client:
            refused = daemon_fixture.wait_until(lambda: (answer := client.send_gift("lost@example.com")).status == 503 and answer, "a refusal")
            self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        daemon_fixture.wait_until(lambda: "timeline 1, and timeline 2 was in use" in first.whole_log(), "the reason in the log")
        said = first.try_ctl("status")
        self.assertEqual(said.returncode, 69, said)
        self.assertIn("timeline 2 was in use", said.stderr + said.stdout)
        second.stop()  # writes nothing to it
        self.assertIn("could not remove this daemon from the list of running ones: the database server is on timeline 1", second.whole_log())
        second.start(wait=False)  # one that starts now remembers it too
        self.assertEqual(second.wait_end(), 69)
        self.assertIn("db accept-server", second.log())
        self.assertEqual(primary.sql("SELECT count(*) FROM recipient_transaction WHERE email = 'lost@example.com'"), "0")

        primary.kill()  # fenced
        standby.start()
        first.wait_ready()
        with Client(first) as client:
            self.assertEqual(client.send_gift("found@example.com").status, 201)

    # ARCH-42
    def test_a_copied_cluster_is_refused_until_it_is_accepted(self):
        original = Cluster("original")
        self.addCleanup(original.close)
        original.make_primary()
        other = Cluster("other")
        self.addCleanup(other.close)
        other.make_primary()
        fixture = self.new_fixture(store={"backend": "postgresql", "connection": connection_to(original)}).seed().start()
        fixture.stop()
        dump = original.folder / "store.dump"
        original.run("pg_dump", "--host", "127.0.0.1", "--port", original.port, "--username", "giftsync", "--format", "custom", "--file", dump,
                     "giftsync")
        other.run("pg_restore", "--host", "127.0.0.1", "--port", other.port, "--username", "giftsync", "--dbname", "giftsync", dump)
        fixture.store = {"backend": "postgresql", "connection": connection_to(other)}
        fixture.write_settings()
        fixture.start(wait=False)
        self.assertEqual(fixture.wait_end(), 69)
        self.assertIn("the database server is another cluster", fixture.log())
        checked = subprocess.run([daemon_fixture.GIFTSYNCD, "--config", str(fixture.settings), "--check"], capture_output=True, text=True,
                                 timeout=daemon_fixture.TIMEOUT_SECONDS, check=False)
        self.assertEqual(checked.returncode, 69, checked)
        self.assertIn("another cluster", checked.stderr)
        for command in (["status"], ["gift", "list"]):
            refused = fixture.try_ctl(*command)
            self.assertEqual(refused.returncode, 69, refused)
            self.assertIn("another cluster", refused.stderr)
        fixture.store["connection"] = fixture.store["connection"].replace("host=127.0.0.1", "host=127.0.0.1,127.0.0.1").replace(
            "target_session_attrs=read-write", "")
        fixture.write_settings()
        fixture.start(wait=False)
        self.assertEqual(fixture.wait_end(), 78)
        self.assertIn("2 hosts without target_session_attrs=read-write", fixture.log())
        fixture.store["connection"] = connection_to(other)
        fixture.write_settings()
        self.assertIn("accepted: system identifier", fixture.ctl("db", "accept-server"))
        fixture.start()
        self.assertEqual(fixture.try_ctl("status").returncode, 0)


if __name__ == "__main__":
    daemon_fixture.main()
