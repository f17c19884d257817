#!/usr/bin/python3
"""Metrics of a running daemon: what it counts on the way of a gift, over reloads, at an address of their own. promtool checks their form."""
import re
import shutil
import signal
import subprocess
import unittest
import urllib.error
import urllib.request

import daemon_fixture
from http_client import SEND, Client, gift_request

SAMPLE = re.compile(r"^(giftsync_\w+(?:\{[^}]*\})?) (\S+)$", re.M)


class Metrics(daemon_fixture.DaemonTestCase):
    def started(self, more=""):
        port = daemon_fixture.free_port()
        fixture = self.new_fixture(more=f'metrics: {{ listen: "127.0.0.1:{port}" }}\n{more}').seed()
        fixture.metrics_port = port
        return fixture.start()

    def fetch(self, fixture, path="/metrics"):
        with urllib.request.urlopen(f"http://127.0.0.1:{fixture.metrics_port}{path}", timeout=30) as response:
            self.assertEqual(response.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
            return response.read().decode()

    def values(self, fixture):
        return {name: float(value) for name, value in SAMPLE.findall(self.fetch(fixture))}

    def wait_for(self, fixture, what, condition):
        daemon_fixture.wait_until(lambda: condition(self.values(fixture)), what, pace_seconds=0.1)

    def reload(self, fixture, settings, expected="settings reloaded"):
        fixture.write_settings(settings)
        before = fixture.whole_log().count(expected)
        fixture.signal(signal.SIGHUP)
        daemon_fixture.wait_until(lambda: fixture.whole_log().count(expected) > before, f'"{expected}" in the log')

    # OPS-40
    def test_the_way_of_a_gift_is_counted(self):
        fixture = self.started("test: { enabled: true }\n")
        test_key = fixture.new_key(daemon_fixture.SENDER, "--name", "trial", "--test")
        with Client(fixture) as client:
            self.assertEqual(client.post(SEND, gift_request("kim@example.com", "lee@example.com")).status, 201)
            self.assertEqual(client.request("POST", SEND, {}, {"Authorization": "gsk_live_" + "0" * 38}).status, 401)
            self.assertEqual(client.get("/nowhere").status, 404)
        self.wait_for(fixture, "both records and mails", lambda found:
                      found['giftsync_gift_status_changes_total{status="delivered"}'] == 2 and
                      found["giftsync_crm_outbox_gifts"] == 0 and found['giftsync_mails_total{outcome="accepted"}'] == 2)
        with Client(fixture, key=test_key) as client:
            self.assertEqual(client.post(SEND, gift_request("delivered@giftsync.test")).status, 201)
        daemon_fixture.wait_until(lambda: fixture.query("SELECT status FROM recipient_transaction WHERE is_test = 1") == [("delivered",)],
                                  "the test gift's delivery")
        self.wait_for(fixture, "its mark's end", lambda _: fixture.query("SELECT count(*) FROM crm_outbox") == [(0,)])
        found = self.values(fixture)
        for name, expected in {
                'giftsync_http_requests_total{code="2xx",group="gift_requests"}': 2,
                'giftsync_http_requests_total{code="4xx",group="gift_requests"}': 1,
                'giftsync_http_requests_total{code="4xx",group="other"}': 1,
                'giftsync_http_refusals_total{reason="unauthorized"}': 1,
                'giftsync_http_request_duration_seconds_count{group="gift_requests"}': 3,
                "giftsync_commit_members_count": 2, "giftsync_commit_members_sum": 2,
                'giftsync_gift_status_changes_total{status="sent"}': 2,
                'giftsync_gift_status_changes_total{status="delivered"}': 2,
                'giftsync_crm_records_total{outcome="created"}': 2, "giftsync_crm_up": 1, "giftsync_store_up": 1,
                "giftsync_settings_reload_refused": 0, 'giftsync_mail_outbox_mails{state="queued"}': 0}.items():
            self.assertEqual(found[name], expected, name)
        self.assertGreaterEqual(found["giftsync_sync_lag_seconds_count"], 2)
        self.assertLess(found["giftsync_sync_lag_seconds_sum"] / found["giftsync_sync_lag_seconds_count"], 60)
        self.assertGreater(found["giftsync_store_size_bytes"], 10_000)
        self.assertGreater(found["giftsync_disk_free_bytes"], 0)
        self.assertLess(max(value for name, value in found.items() if name.startswith("giftsync_worker_heartbeat")), 60)
        self.assertLessEqual(len(found), 500)

    # OPS-40
    def test_the_address_serves_metrics_alone_and_the_others_do_not(self):
        fixture = self.started()
        for path in ("/", "/-/ready", "/api/v1/balance"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.fetch(fixture, path)
            self.assertEqual(refused.exception.code, 404, path)
            refused.exception.close()
        with Client(fixture) as client:
            self.assertEqual(client.get("/metrics").status, 404)

    # OPS-40
    def test_they_go_on_over_reloads_and_can_be_switched(self):
        fixture = self.started()
        settings = f'metrics: {{ listen: "127.0.0.1:{fixture.metrics_port}" }}\n'
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("kim@example.com").status, 201)
            before = self.values(fixture)
            self.reload(fixture, settings + "limits: { max_recipients: 7 }\n")
            self.assertEqual(client.send_gift("lee@example.com").status, 201)
            after = self.values(fixture)
            name = 'giftsync_http_requests_total{code="2xx",group="gift_requests"}'
            self.assertEqual((before[name], after[name]), (1, 2))
            self.assertGreater(after["giftsync_settings_loaded_timestamp_seconds"], before["giftsync_settings_loaded_timestamp_seconds"])
            self.reload(fixture, settings + "limits: { max_recipients: none }\n", "the settings were not reloaded")
            self.assertEqual(self.values(fixture)["giftsync_settings_reload_refused"], 1)
            self.reload(fixture, "")
            with self.assertRaises(OSError):
                self.fetch(fixture)
            self.reload(fixture, settings)
            self.assertEqual(self.values(fixture)[name], 2)
            self.assertEqual(self.values(fixture)["giftsync_settings_reload_refused"], 0)

    # OPS-40
    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian's package prometheus)")
    def test_promtool_finds_nothing(self):
        fixture = self.started()
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("kim@example.com").status, 201)
        ended = subprocess.run(["promtool", "check", "metrics"], input=self.fetch(fixture), capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))


if __name__ == "__main__":
    daemon_fixture.main()
