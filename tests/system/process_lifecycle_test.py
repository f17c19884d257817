#!/usr/bin/python3
"""Start, reload and stop of the daemon: exit codes, messages, signals and sd_notify."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import threading
import time
import unittest.mock

import daemon_fixture
from http_client import NO_RESPONSE, SEND, Client, exchange, gift_request

EX_OSERR, EX_CONFIG = 71, 78


def run_daemon(fixture, *arguments):
    return subprocess.run([daemon_fixture.GIFTSYNCD, "--config", str(fixture.settings), *arguments], capture_output=True, text=True,
                          timeout=daemon_fixture.TIMEOUT_SECONDS, check=False)


class Start(daemon_fixture.DaemonTestCase):
    # OPS-1
    def test_check_distinguishes_valid_from_invalid(self):
        fixture = self.new_fixture()
        ended = run_daemon(fixture, "--check")
        self.assertEqual((ended.returncode, ended.stderr), (0, "there is no store yet, so the CRM's fields were not checked\n"))
        self.assertIn(f"{fixture.settings} is good", ended.stdout)
        self.assertEqual(os.listdir(fixture.folder), [fixture.settings.name])

        with open(fixture.settings, "a", encoding="utf-8") as settings:
            settings.write("limits:\n  max_recipents: 5\n  max_body_bytes: many\nmetrics: { listen: \"localhost:9480\" }\nserver: {}\n")
        for arguments in (["--check"], []):
            ended = run_daemon(fixture, *arguments)
            self.assertEqual(ended.returncode, EX_CONFIG, ended)
            for line, expected in ((6, "max_recipents"), (7, "max_body_bytes"), (8, "which is a name"), (9, "server")):
                self.assertRegex(ended.stderr, re.escape(f"{fixture.settings}:{line}") + r".*" + re.escape(expected))
            self.assertIn("did you mean max_recipients", ended.stderr.replace('"', ""))
        self.assertNotIn("giftsync.db", os.listdir(fixture.folder))

    # OPS-1, OPS-6
    def test_check_finds_what_a_start_refuses(self):
        fixture = self.new_fixture().seed()
        ended = run_daemon(fixture, "--check")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        settings = fixture.settings.read_text(encoding="utf-8")
        cases = [("matching: { contact: { email_fields: [Nowhere] } }\n", "Nowhere", True),
                 ('email: { transport: file, directory: "giftsyncd.yaml/outbox", from: "gifts@example.com" }\n', "mails cannot be written", False)]
        for more, named, needs_databases in cases:
            kept = [line for line in settings.splitlines(keepends=True) if line.split(":")[0] != more.split(":")[0]]
            fixture.settings.write_text("".join(kept) + more, encoding="utf-8")
            for arguments in (["--check"], []):
                ended = run_daemon(fixture, *arguments)
                self.assertEqual((ended.returncode, named in ended.stderr), (EX_CONFIG, True), ended)
            self.assertEqual(run_daemon(fixture, "--check", "--offline").returncode, 0 if needs_databases else EX_CONFIG)
        fixture.settings.write_text(settings + "requests: { enabled: true }\n", encoding="utf-8")
        ended = run_daemon(fixture, "--check")
        self.assertEqual((ended.returncode, "requests.organization_token" in ended.stderr), (0, True), ended)

    # OPS-2
    def test_a_missing_settings_file_is_named(self):
        fixture = self.new_fixture()
        fixture.settings.unlink()
        ended = run_daemon(fixture)
        self.assertEqual(ended.returncode, EX_CONFIG, ended)
        self.assertIn(str(fixture.settings), ended.stderr)

    # OPS-2
    def test_a_second_daemon_on_the_port_does_not_disturb_the_first(self):
        first = self.new_fixture().seed().start()
        second = self.new_fixture(port=first.port)
        ended = run_daemon(second)
        self.assertEqual(ended.returncode, EX_OSERR, ended)
        self.assertIn(f"127.0.0.1:{first.port}", ended.stderr)
        same = run_daemon(first)  # the same settings as well: it must not touch the leases of the first daemon
        self.assertEqual(same.returncode, EX_OSERR, same)
        with Client(first) as client:
            self.assertEqual(client.send_gift("a@example.com").status, 201)

    # OPS-5
    def test_a_lost_or_wrong_secret_is_refused(self):
        fixture = self.new_fixture().seed().start()
        fixture.stop()
        secret = fixture.folder / "giftsync.secret"
        text = secret.read_text()
        self.assertEqual(secret.stat().st_mode & 0o777, 0o600)
        self.assertEqual(run_daemon(fixture, "--check").returncode, 0)
        secret.unlink()
        self.assertEqual(run_daemon(fixture, "--check").returncode, EX_CONFIG)
        ended = run_daemon(fixture)
        self.assertEqual(ended.returncode, EX_CONFIG, ended)
        self.assertIn(str(secret), ended.stderr)
        self.assertIn("backup", ended.stderr)
        self.assertFalse(secret.exists())
        for content in ("0" * 64 + "\n", text[:-2] + "\n", ""):
            secret.write_text(content)
            secret.chmod(0o600)
            ended = run_daemon(fixture)
            self.assertEqual(ended.returncode, EX_CONFIG, ended)
            self.assertNotIn(text.strip(), ended.stderr)
        secret.write_text(text)
        fixture.start()

    # ARCH-25
    def test_threads_have_names(self):
        fixture = self.new_fixture().seed().start()
        tasks = pathlib.Path(f"/proc/{fixture.daemon.pid}/task").iterdir()
        names = {(task / "comm").read_text(encoding="utf-8").strip() for task in tasks}
        self.assertGreaterEqual(names, {"giftsyncd", "listener", "writer", "sync", "delivery", "readiness", "query watchdog"})

    def test_newer_tables_are_refused_and_unchanged(self):
        for newer in ("UPDATE store_metadata SET value = '999' WHERE name = 'version'",
                      "UPDATE crm_meta SET value = '9.99' WHERE name = 'package_version'"):
            fixture = self.new_fixture().seed()
            fixture.query(newer)
            ended = run_daemon(fixture)
            asked = fixture.try_ctl("status")
            for one in (ended, asked):
                self.assertEqual(one.returncode, EX_CONFIG, one)
                self.assertRegex(one.stderr, "version 9.*99, this program knows versions up to .*install the newer giftsync again")

    def test_a_store_of_a_development_version_is_refused_and_unchanged(self):
        for edit in ("UPDATE store_metadata SET value = 'other' WHERE name = 'schema_fingerprint'",
                     "ALTER TABLE store_metadata RENAME TO store_fact"):
            fixture = self.new_fixture().seed()
            fixture.query(edit)
            for one in (run_daemon(fixture), fixture.try_ctl("status")):
                self.assertEqual(one.returncode, EX_CONFIG, one)
                self.assertIn("made by a development version; start with an empty store", one.stderr)
        self.assertEqual(int(fixture.query("SELECT count(*) FROM store_fact WHERE name = 'version'")[0][0]), 1)


class Waits(daemon_fixture.DaemonTestCase):
    # ARCH-18
    def test_a_command_waits_ten_seconds_for_the_write_lock(self):
        fixture = self.new_fixture().seed()
        with contextlib.closing(sqlite3.connect(fixture.folder / "giftsync.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            begun = time.monotonic()
            refused = fixture.try_ctl("account", "deactivate", daemon_fixture.SENDER)
            self.assertGreaterEqual(time.monotonic() - begun, 10)
            self.assertEqual(refused.returncode, 69, refused)
            self.assertIn("is busy", refused.stderr)
            other.execute("ROLLBACK")
        fixture.ctl("account", "deactivate", daemon_fixture.SENDER)

    # LIFE-21
    def test_a_retry_time_of_a_daemon_whose_clock_is_ahead_is_reset(self):
        fixture = self.new_fixture().seed().start()
        with Client(fixture) as client:
            sent = client.send_gift("a@example.com").json()["data"]["recipients"][0]["recipient_transaction_id"]
        daemon_fixture.wait_until(lambda: [one for one in fixture.gift_records() if one["Delivered"]], "the record", pace_seconds=0.1)
        fixture.stop()
        fixture.ctl("change", "import", fixture.write("c.ndjson", json.dumps(
            {"recipient_transaction_id": sent, "status": "opened", "occurred_at": "2026-01-01T00:00:00Z"}) + "\n"))
        fixture.query("UPDATE crm_outbox SET next_attempt_at = next_attempt_at + 6 * 3600 * 1000")
        fixture.start()
        daemon_fixture.wait_until(lambda: [one for one in fixture.gift_records() if one["Opened"]], "the change in the record", pace_seconds=0.1)
        self.assertRegex(fixture.whole_log(), "1 gift records")


class Log(daemon_fixture.DaemonTestCase):
    # OPS-10
    def test_lines_for_the_journal_have_a_priority_and_others_a_time(self):
        for is_journal in (True, False):
            fixture = self.new_fixture()
            fixture.log_path.touch()
            found = fixture.log_path.stat()
            fixture.start({"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino + (not is_journal)}"})
            fixture.stop()
            lines = fixture.whole_log().splitlines()
            self.assertTrue(lines)
            for line in lines:
                self.assertRegex(line, r"^<[3-7]>[a-z]" if is_journal else r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ")


class StatusCommand(daemon_fixture.DaemonTestCase):
    def test_status_shows_whether_the_daemon_is_reachable(self):
        fixture = self.new_fixture().seed()
        before = fixture.status()["daemon"]
        self.assertEqual((before["reachable"], before["ready"], before["address"]), (False, False, f"127.0.0.1:{fixture.port}"))
        self.assertIn(str(fixture.port), before["fault"])
        self.assertIn("UNREACHABLE", fixture.status_text())
        fixture.start()
        with unittest.mock.patch.dict(os.environ, http_proxy="http://127.0.0.1:1"):  # a proxy is not used for the local daemon
            daemon = fixture.status()["daemon"]
            self.assertEqual((daemon["address"], daemon["reachable"], daemon["ready"], daemon["fault"]),
                             (f"127.0.0.1:{fixture.port}", True, True, None))
            self.assertIn(f"daemon    ready at 127.0.0.1:{fixture.port}\n", fixture.status_text())
        fixture.stop()
        self.assertIn("UNREACHABLE", fixture.status_text())


class Stop(daemon_fixture.DaemonTestCase):
    # ARCH-26
    def test_sigterm_finishes_work_in_progress(self):
        fixture = self.new_fixture().seed().start()
        with Client(fixture) as idle, Client(fixture) as busy:
            self.assertEqual(idle.get("/-/healthy").status, 200)
            responses = []

            def send_many():
                with contextlib.suppress(*NO_RESPONSE):
                    for number in range(10_000):
                        responses.append(busy.send_gift(f"g{number}@example.com").status)

            sender = threading.Thread(target=send_many)
            sender.start()
            daemon_fixture.wait_until(lambda: len(responses) > 20, "some responses")
            fixture.signal(signal.SIGTERM)
            self.assertEqual(fixture.wait_end(), 0)
            sender.join(daemon_fixture.TIMEOUT_SECONDS)
        answered = responses.count(201)
        stored = int(fixture.query("SELECT count(*) FROM recipient_transaction")[0][0])
        self.assertIn(stored - answered, (0, 1))  # the last request may have lost its connection before its response
        self.assertEqual(fixture.query("SELECT count(*) FROM mail_outbox WHERE state = 'sending'")[0][0], 0)
        self.assertEqual(fixture.query("SELECT count(*) FROM mail_outbox WHERE lease_owner <> ''")[0][0], 0)
        self.assertIn("stopped", fixture.log(1))
        self.assertEqual(responses, [201] * answered)
        self.assertRaises(ConnectionRefusedError, exchange, fixture, b"")

    def test_a_second_signal_ends_the_daemon_at_once(self):
        fixture = self.new_fixture().seed().start()
        with contextlib.closing(sqlite3.connect(fixture.folder / "giftsync.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # blocks a request in the store, and with it the stop
            with socket.create_connection(("127.0.0.1", fixture.port)) as begun:
                body = json.dumps(gift_request("hanging@example.com"))
                begun.sendall(f"POST {SEND} HTTP/1.1\r\nHost: t\r\nAuthorization: {fixture.key}\r\n"
                              f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
                daemon_fixture.wait_until(lambda: self.is_taken(fixture, begun), "the request to be read")
                fixture.signal(signal.SIGTERM)
                daemon_fixture.wait_until(lambda: "a second signal" in fixture.log(3), "the stop to begin")
                self.assertIsNone(fixture.daemon.poll())
                fixture.signal(signal.SIGINT)
                self.assertEqual(fixture.wait_end(5), 128 + signal.SIGINT)
            other.execute("ROLLBACK")
        fixture.start()

    @staticmethod
    def is_taken(fixture, connection):
        """Whether the daemon has read everything that was sent: its socket's receive queue is empty."""
        mine, theirs = (f"{port:04X}" for port in (connection.getsockname()[1], fixture.port))
        for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
            _, local, remote, _, queues = line.split()[:5]
            if local.endswith(":" + theirs) and remote.endswith(":" + mine):
                return queues.endswith(":00000000")
        return False


class Reloading(daemon_fixture.DaemonTestCase):
    def wait_log(self, fixture, message, count=1):
        daemon_fixture.wait_until(lambda: fixture.whole_log().count(message) >= count, f'"{message}" in the log')

    # OPS-3
    def test_sighup_loads_a_valid_file_and_ignores_an_invalid_one(self):
        fixture = self.new_fixture().seed().start()
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("a@example.com", "b@example.com").status, 201)
        fixture.write_settings("limits: { max_recipients: 1 }\n")
        fixture.signal(signal.SIGHUP)
        self.wait_log(fixture, "settings reloaded")
        fixture.wait_ready()
        with Client(fixture) as client:
            response = client.send_gift("a@example.com", "b@example.com")
            self.assertEqual((response.status, response.json()["errors"][0]["code"]), (400, "too_many"))

            fixture.write_settings("limits: { max_recipients: none }\n")
            fixture.signal(signal.SIGHUP)
            self.wait_log(fixture, "not reloaded")
            self.assertIn(f"{fixture.settings}:5", fixture.whole_log())
            self.assertEqual(client.send_gift("a@example.com", "b@example.com").status, 400)  # on the old connection

        fixture.write_settings("matching: { contact: { email_fields: [Nowhere] } }\n")  # valid, but the CRM has no such field
        fixture.signal(signal.SIGHUP)
        self.wait_log(fixture, "Nowhere")
        fixture.wait_ready()
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("a@example.com").status, 201)

    def test_sighup_during_the_start_is_a_reload_after_it(self):
        fixture = self.new_fixture().seed()
        settings = fixture.settings.read_text(encoding="utf-8")
        fixture.settings.unlink()
        os.mkfifo(fixture.settings)  # blocks the daemon while it reads its settings
        fixture.start(wait=False)
        with open(self.reader_waits(fixture), "w", encoding="utf-8") as pipe:
            fixture.signal(signal.SIGHUP)
            os.replace(fixture.write("settings", settings), fixture.settings)
            pipe.write(settings)

        def is_listening():
            self.assertIsNone(fixture.daemon.poll(), fixture.log())
            fixture.signal(signal.SIGHUP)
            return "listening on" in fixture.whole_log()

        daemon_fixture.wait_until(is_listening, "the daemon to listen", pace_seconds=0.005)
        self.wait_log(fixture, "settings reloaded")
        fixture.wait_ready()

    @staticmethod
    def reader_waits(fixture):
        """A descriptor of the pipe that replaces the settings file, once the daemon has opened it."""
        def opened():
            with contextlib.suppress(OSError):  # ENXIO: no reader yet
                return os.open(fixture.settings, os.O_WRONLY | os.O_NONBLOCK)
            return None

        return daemon_fixture.wait_until(opened, "the settings to be read")


class SystemdNotify(daemon_fixture.DaemonTestCase):
    """sd_notify to a socket of the test."""

    def setUp(self):
        self.fixture = self.new_fixture().seed()
        path = str(self.fixture.folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.bind(path)
        self.socket.settimeout(daemon_fixture.TIMEOUT_SECONDS)
        self.environment = {"NOTIFY_SOCKET": path}

    def next_with(self, line):
        while True:
            message = self.socket.recv(4096).decode()
            if line in message.splitlines():
                return message

    def test_ready_stopping_and_reloading(self):
        self.fixture.start(self.environment, wait=False)
        ready = self.next_with("READY=1")
        self.assertTrue(self.fixture.is_ready(), "READY=1 came before it was")
        self.assertIn(f"STATUS=Listening on 127.0.0.1:{self.fixture.port}", ready)
        self.fixture.signal(signal.SIGHUP)
        self.assertIn("MONOTONIC_USEC=", self.next_with("RELOADING=1"))
        self.next_with("READY=1")
        self.fixture.write_settings("nonsense: 1\n")
        self.fixture.signal(signal.SIGHUP)
        self.next_with("RELOADING=1")
        self.next_with("READY=1")
        self.fixture.signal(signal.SIGTERM)
        self.next_with("STOPPING=1")
        self.assertEqual(self.fixture.wait_end(), 0)

    # OPS-4
    def test_the_watchdog_is_notified(self):
        self.fixture.start({**self.environment, "WATCHDOG_USEC": "2000000"})
        for _ in range(4):
            self.next_with("WATCHDOG=1")

    def test_without_systemd_nothing_is_sent(self):
        self.fixture.start()
        self.fixture.stop()
        self.socket.setblocking(False)
        self.assertRaises(BlockingIOError, self.socket.recv, 1)


if __name__ == "__main__":
    daemon_fixture.main()
