#!/usr/bin/python3
"""Reloads and restarts while clients call: no call is refused, nothing is lost and no mail repeats.

RELOADS (6) good and as many bad ones, CLIENTS (64). RESTARTS (3) behind sockets that a service manager keeps.
"""
import collections
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import threading
import time
import urllib.request

import daemon_fixture
from http_client import NO_RESPONSE, Client
from service_manager import ServiceManager
from smtp_relay import SmtpRelay

RESTARTS = int(os.environ.get("RESTARTS", "3"))
RELOADS = int(os.environ.get("RELOADS", "6"))
CLIENTS = int(os.environ.get("CLIENTS", "64"))
UNIT = pathlib.Path(__file__).resolve().parents[2] / "systemd" / "giftsyncd.service"
BAD_SETTINGS = [("limits: { max_recipients: none }\n", "max_recipients"),
                ("matching: { contact: { email_fields: [Nowhere] } }\n", "Nowhere")]  # valid, but the CRM has no such field


class Callers:
    """Half of the clients send gifts over connections that stay open; the others ask /-/ready over a new one each time."""

    def __init__(self, fixture):
        self.fixture = fixture
        self.acknowledged = []
        self.failures = collections.Counter()
        self.calls = 0
        self.slowest = 0
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.send if number % 2 else self.probe, args=(number,)) for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def call(self, client, expected, function, *arguments):
        begun = time.monotonic()
        try:
            status = function(*arguments).status
        except NO_RESPONSE as failure:
            status = repr(failure)
        self.calls += 1
        self.slowest = max(self.slowest, time.monotonic() - begun)
        if status != expected:
            self.failures[status] += 1
        return status == expected

    def send(self, number):
        with Client(self.fixture) as client:
            sent = 0
            while not self.stopping.is_set():
                sent += 1
                address = f"{number}-{sent}@example.com"
                if self.call(client, 201, client.send_gift, address):
                    self.acknowledged.append(address)
                self.stopping.wait(0.05)

    def probe(self, _number):
        while not self.stopping.is_set():
            with Client(self.fixture) as client:
                self.call(client, 200, client.get, "/-/ready")
            self.stopping.wait(0.05)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(daemon_fixture.TIMEOUT_SECONDS)


class Reload(daemon_fixture.DaemonTestCase):
    def new_fixture_with_relay(self):
        relay = SmtpRelay()
        self.addCleanup(relay.close)
        fixture = self.new_fixture()
        fixture.email = relay.settings(fixture.folder)
        fixture.write_settings()
        return fixture.seed(), relay

    def reload(self, fixture, settings="", expected="settings reloaded"):
        fixture.write_settings(settings)
        before = fixture.whole_log().count(expected)
        fixture.signal(signal.SIGHUP)
        daemon_fixture.wait_until(lambda: fixture.whole_log().count(expected) > before, f'"{expected}" in the log', 90)

    # OPS-3
    def test_no_call_is_refused_while_a_relay_hangs(self):
        fixture, relay = self.new_fixture_with_relay()
        relay.behave(message={"do": "silent", "times": 2})
        callers = Callers(fixture.start())
        self.addCleanup(callers.stop)
        daemon_fixture.wait_until(lambda: "message" in relay.phases(), "a mail that hangs")
        for number in range(RELOADS):
            self.reload(fixture, f"limits: {{ max_recipients: {10 + number} }}\n")
            bad, named = BAD_SETTINGS[number % len(BAD_SETTINGS)]
            self.reload(fixture, bad, "the settings were not reloaded")
            self.assertIn(named, fixture.whole_log())
            goal = callers.calls + CLIENTS
            daemon_fixture.wait_until(lambda: callers.calls >= goal, "further calls")
        callers.stop()
        print(f"{callers.calls} calls, {len(callers.acknowledged)} gifts, {2 * RELOADS} reloads: {dict(callers.failures)}", flush=True)
        self.assertEqual(callers.failures, {})
        stored = {row[0] for row in fixture.query("SELECT email FROM recipient_transaction")}
        self.assertEqual(set(callers.acknowledged) - stored, set())
        mailed = collections.Counter(mail["to"][0] for mail in relay.journal())
        self.assertEqual({address: count for address, count in mailed.items() if count > 1}, {})
        fixture.kill()  # a stop would wait for the replies to two final dots

    # OPS-3
    def test_a_mail_ends_with_the_settings_it_began_with(self):
        fixture, relay = self.new_fixture_with_relay()
        relay.behave(message={"delay_seconds": 5})
        fixture.start()
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("slow@example.com").status, 201)
            daemon_fixture.wait_until(lambda: "message" in relay.phases(), "the mail at its final dot")
            fixture.email = {"transport": "file", "directory": "outbox", "from": "gifts@example.com"}
            self.reload(fixture)
            self.assertEqual(relay.journal(), [])
            self.assertEqual(client.send_gift("next@example.com").status, 201)
            daemon_fixture.wait_until(lambda: list(fixture.outbox.glob("*.eml")), "the mail of the new settings")
            self.assertEqual(relay.journal(), [], "the new settings do not wait for the mail in progress")
        daemon_fixture.wait_until(lambda: relay.journal(), "the mail of the former settings")
        daemon_fixture.wait_until(lambda: fixture.status()["mail"]["sending"] == 0, "its outcome")
        fixture.stop()
        self.assertEqual(fixture.query("SELECT state FROM mail_outbox GROUP BY state"), [("accepted",)])
        self.assertEqual((len(relay.journal()), len(list(fixture.outbox.glob("*.eml")))), (1, 1))

    # OPS-39
    def test_a_relay_that_hangs_delays_no_restart(self):
        fixture, relay = self.new_fixture_with_relay()
        relay.behave(rcpt="silent")
        manager = self.start_with_manager(fixture)
        callers = Callers(fixture)
        self.addCleanup(callers.stop)
        for _ in range(RESTARTS):
            seen = relay.phases().count("rcpt")
            daemon_fixture.wait_until(lambda seen=seen: relay.phases().count("rcpt") > seen, "a mail that hangs")
            fixture.signal(signal.SIGTERM)
            self.assertEqual(fixture.wait_end(20), 0)
            fixture.start(manager=manager)
        callers.stop()
        print(f"{callers.calls} calls, {RESTARTS} restarts, slowest {callers.slowest:.2f} s: {dict(callers.failures)}", flush=True)
        self.assertEqual(callers.failures, {})
        self.assertEqual(fixture.query("SELECT count(*) FROM mail_breaker"), [(0,)], "the relay is not at fault")
        relay.behave()
        fixture.stop()
        fixture.start(manager=manager)
        daemon_fixture.wait_until(lambda: len(relay.journal()) == len(callers.acknowledged), "the mails", 180)
        self.assertEqual(sorted(mail["to"][0] for mail in relay.journal()), sorted(callers.acknowledged))

    # ARCH-26
    def test_requests_are_handled_while_a_stop_waits_for_a_mail(self):
        fixture, relay = self.new_fixture_with_relay()
        relay.behave(message={"delay_seconds": 8})
        fixture.start()
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("slow@example.com").status, 201)
            daemon_fixture.wait_until(lambda: "message" in relay.phases(), "the mail at its final dot")
            fixture.signal(signal.SIGTERM)
            daemon_fixture.wait_until(lambda: "a second signal" in fixture.log(3), "the stop to begin")
            self.assertEqual(client.send_gift("during@example.com").status, 201)
        self.assertEqual(relay.journal(), [])
        self.assertEqual(fixture.wait_end(), 0)
        self.assertEqual(fixture.query("SELECT email, state FROM mail_outbox JOIN recipient_transaction ON transaction_id = id ORDER BY email"),
                         [("during@example.com", "queued"), ("slow@example.com", "accepted")])

    def start_with_manager(self, fixture):
        manager = ServiceManager(fixture.folder)
        self.addCleanup(manager.close)
        fixture.start(manager=manager)
        daemon_fixture.wait_until(lambda: manager.kept, "the socket that is to be kept")
        return manager

    # OPS-39
    def test_a_restart_behind_kept_sockets_refuses_no_call(self):
        fixture = self.new_fixture().seed()
        manager = self.start_with_manager(fixture)
        callers = Callers(fixture)
        self.addCleanup(callers.stop)
        for _ in range(RESTARTS):
            goal = callers.calls + 2 * CLIENTS
            daemon_fixture.wait_until(lambda goal=goal: callers.calls >= goal, "further calls")
            fixture.signal(signal.SIGTERM)
            self.assertEqual(fixture.wait_end(), 0)
            fixture.start(manager=manager)
        callers.stop()
        print(f"{callers.calls} calls, {len(callers.acknowledged)} gifts, {RESTARTS} restarts, slowest {callers.slowest:.2f} s: "
              f"{dict(callers.failures)}", flush=True)
        self.assertEqual(callers.failures, {})
        stored = [row[0] for row in fixture.query("SELECT email FROM recipient_transaction")]
        self.assertEqual(sorted(callers.acknowledged), sorted(stored))
        self.assertEqual(len(manager.kept), 1)

    def fixture_with_metrics(self):
        fixture = self.new_fixture().seed()
        port = daemon_fixture.free_port()
        fixture.write_settings(f'metrics: {{ listen: "127.0.0.1:{port}" }}\n')
        return fixture, port

    def scrape(self, port, between=lambda: None):
        """`between` runs once the request is on its way."""
        with socket.create_connection(("127.0.0.1", port), timeout=daemon_fixture.TIMEOUT_SECONDS) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
            between()
            self.assertRegex(connection.recv(4096), b"^HTTP/1.1 200 ")

    def metrics(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=daemon_fixture.TIMEOUT_SECONDS) as response:
            return response.read().decode()

    def reload_as_the_unit(self, fixture):
        """The commands of ExecReload=, as systemd runs them: one after the other, until one fails. Returns that one's exit code."""
        for command in re.findall(r"^ExecReload=(.+)$", UNIT.read_text(encoding="utf-8"), re.M):
            for name, value in (("/usr/sbin/giftsyncd", daemon_fixture.GIFTSYNCD), ("/etc/giftsync/giftsyncd.yaml", fixture.settings),
                                ("$MAINPID", fixture.daemon.pid)):
                command = command.replace(name, str(value))
            ended = subprocess.run(shlex.split(command), capture_output=True, text=True, timeout=daemon_fixture.TIMEOUT_SECONDS, check=False)
            if ended.returncode != 0:
                return ended.returncode, ended.stderr
        return 0, ""

    # OPS-3, OPS-25, OPS-42
    def test_the_units_reload_leaves_a_refusal_where_operators_look(self):
        fixture, port = self.fixture_with_metrics()
        fixture.start()
        good = fixture.settings.read_text(encoding="utf-8")
        for bad, named in BAD_SETTINGS:
            fixture.settings.write_text(good + bad, encoding="utf-8")
            code, reasons = self.reload_as_the_unit(fixture)
            self.assertEqual((code, named in reasons), (78, True), reasons)
            daemon_fixture.wait_until(lambda: "giftsync_settings_reload_refused 1\n" in self.metrics(port), "the metric of the alert")
            # The daemon writes it into the store behind the metric.
            daemon_fixture.wait_until(lambda: "daemon.reload_refused" in [one["condition"] for one in fixture.status()["needs_attention"]],
                                      "the condition of status")
            fixture.settings.write_text(good, encoding="utf-8")
            self.assertEqual(self.reload_as_the_unit(fixture), (0, ""))
            daemon_fixture.wait_until(lambda: "giftsync_settings_reload_refused 0\n" in self.metrics(port), "the end of the alert")

    # OPS-39
    def test_a_scrape_during_a_restart_waits_at_the_kept_socket(self):
        fixture, port = self.fixture_with_metrics()
        manager = self.start_with_manager(fixture)
        both = {f"127.0.0.1/{fixture.port}", f"127.0.0.1/{port}"}
        daemon_fixture.wait_until(lambda: set(manager.kept) == both, "both sockets to be kept")
        for _ in range(RESTARTS):
            fixture.stop()
            self.scrape(port, lambda: fixture.start(manager=manager))
        self.assertEqual(set(manager.kept), both)

    # OPS-39
    def test_a_socket_unit_may_open_the_address_of_metrics(self):
        fixture, port = self.fixture_with_metrics()
        manager = ServiceManager(fixture.folder)
        self.addCleanup(manager.close)
        manager.kept["giftsyncd-metrics.socket"] = socket.create_server(("127.0.0.1", port)).detach()
        self.scrape(port, lambda: fixture.start(manager=manager))
        self.assertNotIn("a socket unit of systemd listens on", fixture.whole_log())

    # OPS-39
    def test_an_address_that_is_left_is_kept_no_more(self):
        fixture = self.new_fixture().seed()
        manager = self.start_with_manager(fixture)
        former = fixture.port
        for is_restarted in (False, True):
            port = fixture.port = daemon_fixture.free_port()
            fixture.write_settings()
            if is_restarted:
                fixture.stop()
                fixture.start(manager=manager)
            else:
                fixture.signal(signal.SIGHUP)
                fixture.wait_ready()
            daemon_fixture.wait_until(lambda port=port: list(manager.kept) == [f"127.0.0.1/{port}"], "the new socket alone to be kept")
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", former), timeout=5)
            former = port

    # OPS-39
    def test_an_address_that_overlaps_the_kept_one_is_opened(self):
        fixture = self.new_fixture().seed()
        manager = self.start_with_manager(fixture)
        settings = fixture.settings.read_text(encoding="utf-8")
        for host in ("0.0.0.0", "127.0.0.1"):
            fixture.settings.write_text(settings.replace(f'listen: "127.0.0.1:{fixture.port}"', f'listen: "{host}:{fixture.port}"'),
                                        encoding="utf-8")
            fixture.stop()
            fixture.start(manager=manager)
            daemon_fixture.wait_until(lambda host=host: list(manager.kept) == [f"{host}/{fixture.port}"], "the new socket alone to be kept")

    # OPS-39
    def test_no_second_daemon_serves_a_socket(self):
        fixture = self.new_fixture().seed()
        manager = self.start_with_manager(fixture)
        first, fixture.daemon = fixture.daemon, None
        fixture.start(manager=manager, wait=False)
        self.assertEqual(fixture.wait_end(), 71)
        self.assertIn("the address is already in use", fixture.log())
        fixture.daemon = first
        self.assertTrue(fixture.is_ready())

    # OPS-3
    def test_two_listeners_on_any_port_stay(self):
        fixture = self.new_fixture().seed()
        any_port = 'listen: "127.0.0.1:0", admin_listen: "127.0.0.1:0"'
        fixture.settings.write_text(fixture.settings.read_text(encoding="utf-8").replace(f'listen: "127.0.0.1:{fixture.port}"', any_port),
                                    encoding="utf-8")
        fixture.start(wait=False)
        daemon_fixture.wait_until(lambda: fixture.whole_log().count("listening on") == 2, "two listeners")
        for count in (1, 2):
            fixture.signal(signal.SIGHUP)
            daemon_fixture.wait_until(lambda count=count: fixture.whole_log().count("settings reloaded") == count, "the reload")
        addresses = [line.split()[-1] for line in fixture.whole_log().splitlines() if "listening on" in line]
        self.assertEqual((len(set(addresses)), addresses[:2] * 3), (2, addresses))

    # OPS-3
    def test_a_new_address_is_opened_before_the_old_one_closes(self):
        fixture = self.new_fixture().seed().start()
        former = Client(fixture)
        self.addCleanup(former.close)
        self.assertEqual(former.get("/-/ready").status, 200)
        taken = daemon_fixture.free_port()
        with daemon_fixture.socket.create_server(("127.0.0.1", taken)):
            port, fixture.port = fixture.port, taken
            self.reload(fixture, expected="the settings were not reloaded")
        self.assertEqual(former.get("/-/ready").status, 200, "the old address serves on")
        self.reload(fixture)
        self.assertTrue(fixture.is_ready())
        self.assertIn(f"listening on http://127.0.0.1:{taken}", fixture.whole_log())
        with self.assertRaises(OSError), daemon_fixture.socket.create_connection(("127.0.0.1", port)):
            pass


if __name__ == "__main__":
    daemon_fixture.main()
