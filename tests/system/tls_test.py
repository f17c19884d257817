#!/usr/bin/python3
"""TLS in the daemon: what the start and --check refuse and warn of, the exchange of the certificate while clients post, status and
other commands, and what a scanner finds. EXCHANGES of the certificate (default 5).
"""
import http.client
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import unittest
import urllib.request

import daemon_fixture
from certificates import install_pair, make_pair
from http_client import SEND, Client, gift_request

EXCHANGES = int(os.environ.get("EXCHANGES", "5"))
CLIENTS = 8
RUNS_AS_ROOT = os.geteuid() == 0


class Tls(daemon_fixture.DaemonTestCase):
    def fixture_with_tls(self, **pair):
        fixture = self.new_fixture(tls=True)
        if pair:
            install_pair(fixture.folder, make_pair(**pair))
        return fixture

    def check(self, fixture, *arguments):
        ended = subprocess.run([daemon_fixture.GIFTSYNCD, "--config", str(fixture.settings), "--check", *arguments],
                               capture_output=True, text=True, timeout=60, check=False)
        return ended.returncode, ended.stderr

    # OPS-48
    def test_a_pair_that_cannot_be_used_is_refused_with_file_and_reason(self):
        fixture = self.fixture_with_tls()
        pem, key = fixture.folder / "tls.pem", fixture.folder / "tls.key"
        self.assertEqual(self.check(fixture)[0], 0)
        good_key = key.read_bytes()

        def spoil(change):
            install_pair(fixture.folder, make_pair())
            change()

        cases = {
            "expired": (lambda: install_pair(fixture.folder, make_pair(days=(-20, -1))), "certificate", "which expired on"),
            "not valid yet": (lambda: install_pair(fixture.folder, make_pair(days=(1, 20))), "certificate", "which is not valid before"),
            "mismatched": (lambda: key.write_bytes(good_key), "key", "which is not the key of the certificate"),
            "for all": (lambda: key.chmod(0o644), "key", "which all users of this host may read"),
            "missing": (pem.unlink, "certificate", "which cannot be read (No such file"),
            "no certificate": (lambda: pem.write_text("x", encoding="ascii"), "certificate", "which has no X.509 certificate"),
        }
        if not RUNS_AS_ROOT:
            cases["unreadable"] = (lambda: key.chmod(0), "key", "which cannot be read (Permission denied)")
        for name, (change, of, reason) in cases.items():
            with self.subTest(name):
                spoil(change)
                code, text = self.check(fixture)
                self.assertEqual(code, 78, text)
                self.assertRegex(text, rf"giftsyncd\.yaml:\d+: server\.tls\.{of}: {fixture.folder}/tls\.\w+, ")
                self.assertIn(reason, text)
        fixture.start(wait=False)
        self.assertEqual(fixture.wait_end(), 78)
        self.assertIn("cannot start: ", fixture.log())

    # OPS-48
    def test_a_certificate_that_is_not_valid_keeps_no_daemon_down(self):
        for days, condition, reason in (((-20, -1), "tls.certificate_expired", "which expired on"),
                                        ((1, 20), "tls.certificate_not_yet_valid", "which is not valid before")):
            with self.subTest(condition):
                fixture = self.fixture_with_tls(days=days)
                port = daemon_fixture.free_port()
                fixture.write_settings(f'metrics: {{ listen: "127.0.0.1:{port}" }}\n')
                fixture.seed().start()
                daemon_fixture.wait_until(lambda fixture=fixture, reason=reason: reason in fixture.log(), "the error in the log")
                self.assertIn(condition, [one["condition"] for one in fixture.status()["needs_attention"]])
                with Client(fixture) as client:
                    self.assertEqual(client.send_gift("ada@example.com").status, 201)
                daemon_fixture.wait_until(lambda fixture=fixture: list(fixture.outbox.glob("*.eml")), "the mail")
                self.assertIn("giftsync_certificate_valid 0\n", self.metrics(port))
                fixture.signal(signal.SIGHUP)
                daemon_fixture.wait_until(lambda fixture=fixture: "settings reloaded" in fixture.whole_log(), "the reload")
                install_pair(fixture.folder, make_pair())
                daemon_fixture.wait_until(lambda port=port: "giftsync_certificate_valid 1\n" in self.metrics(port), "the renewed certificate")
                self.assertEqual(fixture.status()["needs_attention"], [])
                install_pair(fixture.folder, make_pair(days=days))
                fixture.signal(signal.SIGHUP)
                daemon_fixture.wait_until(lambda fixture=fixture: "the settings were not reloaded" in fixture.whole_log(), "the refusal")
                self.assertIn("giftsync_certificate_valid 1\n", self.metrics(port))

    def metrics(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as response:
            return response.read().decode()

    # OPS-48
    def test_a_certificate_of_another_host_or_about_to_expire_is_a_warning(self):
        fixture = self.fixture_with_tls(names=["other.example.com"], days=(-1, 3))
        code, text = self.check(fixture)
        self.assertEqual(code, 0, text)
        self.assertIn('which is not for "127.0.0.1" of server.base_url', text)
        self.assertIn("which expires at ", text)
        fixture.seed().start()
        daemon_fixture.wait_until(lambda: "which expires at " in fixture.log(), "the warning in the log")
        self.assertIn("tls.certificate_expiring", [one["condition"] for one in fixture.status()["needs_attention"]])
        install_pair(fixture.folder, make_pair(days=(-9, -1)))
        self.assertIn("tls.certificate_expired", [one["condition"] for one in fixture.status()["needs_attention"]])
        daemon_fixture.wait_until(lambda: "the former ones stay in use" in fixture.log(), "the refusal in the log")
        self.assertTrue(fixture.is_ready())

    def test_commands_find_the_daemon_behind_its_tls(self):
        fixture = self.fixture_with_tls().seed().start()
        status = fixture.status()
        self.assertEqual(status["daemon"]["state"], "ready")
        self.assertEqual(status["needs_attention"], [])
        self.assertIn(f"listening on https://127.0.0.1:{fixture.port}", fixture.whole_log())
        self.assertIn('"/tls.key"', fixture.ctl("settings", "show").replace(str(fixture.folder), ""))

    # OPS-48
    def test_the_certificate_is_exchanged_while_clients_post(self):
        fixture = self.fixture_with_tls().seed().start()
        stopping, faults, sent = threading.Event(), [], [0] * CLIENTS

        def post(index):
            """One connection for all calls; every tenth on a new one."""
            connection = None
            try:
                while not stopping.is_set():
                    if connection is None or sent[index] % 10 == 0:
                        fresh = http.client.HTTPSConnection("127.0.0.1", fixture.port, timeout=60,
                                                            context=ssl._create_unverified_context())
                    connection = connection or fresh
                    for one in {connection, fresh}:
                        one.request("POST", SEND, str(gift_request(f"a{index}@example.com")).replace("'", '"'),
                                    {"Authorization": fixture.key, "Content-Type": "application/json"})
                        response = one.getresponse()
                        response.read()
                        if response.status != 201:
                            faults.append(response.status)
                        if one is not connection:
                            one.close()
                    fresh = connection
                    sent[index] += 1
            except Exception as fault:  # whatever a call may raise is a failed call
                faults.append(repr(fault))

        threads = [threading.Thread(target=post, args=(index,)) for index in range(CLIENTS)]
        for thread in threads:
            thread.start()
        seen = {self.served_certificate(fixture)}
        for exchange in range(EXCHANGES):
            pair = make_pair(rsa=exchange % 2 == 1)
            install_pair(fixture.folder, pair)
            daemon_fixture.wait_until(lambda: self.served_certificate(fixture) == pair.der, "the new certificate")
            seen.add(pair.der)
            before = list(sent)
            daemon_fixture.wait_until(lambda: all(now > then for now, then in zip(sent, before)), "a call of each client")
        stopping.set()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])
        self.assertEqual(len(seen), EXCHANGES + 1)
        print(f"{sum(sent)} calls during {EXCHANGES} exchanges, none failed ", end="", flush=True)

    def served_certificate(self, fixture):
        context = ssl._create_unverified_context()
        with socket.create_connection(("127.0.0.1", fixture.port), timeout=60) as plain, context.wrap_socket(plain) as secure:
            return secure.getpeercert(binary_form=True)

    # HTTP-57
    def test_a_reload_that_turns_tls_on_ends_kept_connections(self):
        fixture = self.new_fixture(tls=False).seed().start()
        with Client(fixture) as kept:
            self.assertEqual(kept.get("/-/ready").headers["Connection"], "keep-alive")
            install_pair(fixture.folder, make_pair())
            fixture.tls = True
            fixture.url = fixture.url.replace("http:", "https:")
            fixture.write_settings()
            fixture.signal(signal.SIGHUP)
            daemon_fixture.wait_until(lambda: f"listening on {fixture.url}" in fixture.whole_log(), "the reload")
            last = kept.get("/-/ready")
            self.assertEqual((last.status, last.headers["Connection"]), (200, "close"))
        self.assertTrue(fixture.is_ready())

    # HTTP-54
    @unittest.skipUnless(shutil.which("sslscan"), "sslscan is not installed")
    def test_a_scanner_finds_no_weakness(self):
        fixture = self.fixture_with_tls().seed().start()
        found = subprocess.run(["sslscan", "--no-colour", f"127.0.0.1:{fixture.port}"], capture_output=True, text=True, timeout=300,
                               check=True).stdout
        for version in ("SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1"):
            self.assertRegex(found, rf"{version}\s+disabled")
        for version in ("TLSv1.2", "TLSv1.3"):
            self.assertRegex(found, rf"{version}\s+enabled")
        self.assertRegex(found, "Session renegotiation not supported")
        self.assertNotIn("Compression enabled", found)
        self.assertEqual(found.count("not vulnerable to heartbleed"), 2)
        ciphers = [line.split() for line in found.splitlines() if line.startswith(("Preferred", "Accepted"))]
        names = [words[4] for words in ciphers]
        self.assertTrue(names)
        for name in names:
            self.assertRegex(name, "^(TLS_|ECDHE-).*(GCM|CHACHA20)", found)


if __name__ == "__main__":
    daemon_fixture.main()
