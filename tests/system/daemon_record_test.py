#!/usr/bin/python3
"""giftsyncctl tells what the daemon really runs with: after a refused reload, beside another program on its port, without one."""
import http.server
import json
import signal
import threading

import daemon_fixture

EX_UNAVAILABLE = 69
EX_CONFIG = 78


class OtherProgram(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ready\n")

    def log_message(self, *_arguments):
        pass


class DaemonRecord(daemon_fixture.DaemonTestCase):
    def reload(self, fixture, settings, expected):
        fixture.write_settings(settings)
        before = fixture.whole_log().count(expected)
        fixture.signal(signal.SIGHUP)
        daemon_fixture.wait_until(lambda: fixture.whole_log().count(expected) > before, f'"{expected}" in the log', 90)

    # OPS-25, OPS-27, SET-8
    def test_a_refused_reload_is_shown_until_one_succeeds(self):
        fixture = self.new_fixture(more="limits: { max_recipients: 11 }\n").seed().start()
        ended = fixture.try_ctl("status")
        self.assertEqual(ended.returncode, 0, ended)
        self.assertNotIn("attention", ended.stdout)
        for bad, named, code in (("limits: { max_recipients: none }\n", "limits.max_recipients", EX_CONFIG),
                                 ("matching: { contact: { email_fields: [Nowhere] } }\n", "Nowhere", 0)):
            self.reload(fixture, bad, "the settings were not reloaded")
            ended = daemon_fixture.wait_until(
                lambda named=named: (lambda one: named in one.stdout and one)(fixture.try_ctl("status")), "the reason in status")
            self.assertEqual(ended.returncode, 1, ended)
            self.assertIn("reload REFUSED", ended.stdout)
            self.assertIn("attention the last reload of giftsyncd on", ended.stdout)
            shown = fixture.try_ctl("settings", "show")
            self.assertEqual(shown.returncode, code, shown)
            self.assertIn("limits.max_recipients: 11  # ", shown.stdout)
            self.assertIn("was refused", shown.stderr)
            self.assertIn(named, shown.stderr)
        self.assertIn("the file on disk differs from what runs: 2 keys", fixture.status_text())
        self.assertIn(f'# the file differs: limits.max_recipients: 11 ({fixture.settings}:5) in force, 1000 (default) in the file\n',
                      shown.stdout)
        self.assertIn("limits.max_recipients: 1000  # default\n", fixture.ctl("settings", "show", "--file"))
        differing = [one["key"] for one in fixture.ctl_json("settings", "show")["daemon"]["differences"]]
        self.assertEqual(differing, ["limits.max_recipients", "matching.contact.email_fields"])
        self.reload(fixture, "limits: { max_recipients: 12 }\n", "settings reloaded")
        daemon_fixture.wait_until(lambda: fixture.try_ctl("status").returncode == 0, "a status without a refused reload")
        shown = fixture.try_ctl("settings", "show")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn(f"limits.max_recipients: 12  # {fixture.settings}:5\n", shown.stdout)
        self.assertNotIn("differs", shown.stdout)

    # OPS-26
    def test_the_daemon_is_asked_where_it_listens(self):
        fixture = self.new_fixture().seed().start()
        port, fixture.port = fixture.port, daemon_fixture.free_port()
        fixture.write_settings()
        ended = fixture.try_ctl("status")
        self.assertEqual(ended.returncode, 0, ended)
        self.assertIn(f"daemon    ready at 127.0.0.1:{port}\n", ended.stdout)
        self.assertIn("the file on disk differs from what runs: 1 key,", ended.stdout)

    # OPS-27
    def test_status_shows_the_daemon_that_runs_although_its_file_or_store_cannot_be_used(self):
        fixture = self.new_fixture().seed().start()
        good = fixture.settings.read_text(encoding="utf-8")
        for bad, code, what in ((good.replace("giftsync.db", "elsewhere.db"), 66, "there is no store"),
                                (good.replace("sqlite", "sqlight"), EX_CONFIG, "the settings file is faulty: ")):
            fixture.settings.write_text(bad, encoding="utf-8")
            ended = fixture.try_ctl("status")
            self.assertEqual(ended.returncode, code, ended)
            self.assertIn(f"daemon    ready at 127.0.0.1:{fixture.port}\n          instance ", ended.stdout)
            self.assertRegex(ended.stdout, f"(?m)^attention .*{what}.*; next: ")
            shown = json.loads(fixture.try_ctl("status", "--json").stdout)
            self.assertEqual((shown["daemon"]["state"], len(shown["needs_attention"])), ("ready", 1))

    # OPS-25, OPS-26, OPS-27
    def test_another_program_at_the_address_is_reported(self):
        fixture = self.new_fixture().seed().start()
        fixture.kill()
        ended = fixture.try_ctl("status")
        self.assertEqual(ended.returncode, EX_UNAVAILABLE, ended)
        self.assertEqual(fixture.query("SELECT count(*) FROM daemon_instance"), [(1,)], "it was killed")
        other = http.server.ThreadingHTTPServer(("127.0.0.1", fixture.port), OtherProgram)
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            ended = fixture.try_ctl("status")
            self.assertEqual(ended.returncode, EX_UNAVAILABLE, ended)
            self.assertIn(f"another program answers at 127.0.0.1:{fixture.port}", ended.stdout)
            self.assertIn("No giftsyncd runs with", fixture.try_ctl("settings", "show").stderr)
        finally:
            other.shutdown()
            other.server_close()
            thread.join()
        fixture.start()
        self.assertEqual(len(json.loads(fixture.ctl("status", "--json"))["daemons"]), 1, "the killed one's row is gone")
        fixture.stop()
        self.assertEqual(fixture.query("SELECT count(*) FROM daemon_instance"), [(0,)])
        self.assertEqual(fixture.try_ctl("status").returncode, EX_UNAVAILABLE)


if __name__ == "__main__":
    daemon_fixture.main()
