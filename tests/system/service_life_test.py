#!/usr/bin/python3
"""How the daemon begins, reloads and ends: exit codes, messages, signals, and what it tells systemd."""
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
import unittest.mock

import house
from http_client import NO_ANSWER, SEND, Client, exchange, gift_request

EX_OSERR, EX_CONFIG = 71, 78


def run_daemon(given, *arguments):
    return subprocess.run([house.GIFTSYNCD, "--config", str(given.settings), *arguments], capture_output=True, text=True,
                          timeout=house.PATIENCE_SECONDS, check=False)


class Beginning(house.HouseTest):
    def test_check_tells_good_from_bad(self):
        given = self.new_house()
        ended = run_daemon(given, "--check")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn(f"{given.settings} is good", ended.stdout)
        self.assertEqual(os.listdir(given.folder), [given.settings.name])

        with open(given.settings, "a", encoding="utf-8") as settings:
            settings.write("limits:\n  recipents: 5\n  body_bytes: many\nmetrics: {}\nserver: {}\n")
        for arguments in (["--check"], []):
            ended = run_daemon(given, *arguments)
            self.assertEqual(ended.returncode, EX_CONFIG, ended)
            for line, words in ((6, "recipents"), (7, "body_bytes"), (8, "not available in this version"), (9, "server")):
                self.assertRegex(ended.stderr, re.escape(f"{given.settings}:{line}") + r".*" + re.escape(words))
            self.assertIn("did you mean recipients", ended.stderr.replace('"', ""))
        self.assertNotIn("giftsync.db", os.listdir(given.folder))

    def test_a_missing_settings_file_is_named(self):
        given = self.new_house()
        given.settings.unlink()
        ended = run_daemon(given)
        self.assertEqual(ended.returncode, EX_CONFIG, ended)
        self.assertIn(str(given.settings), ended.stderr)

    def test_a_second_daemon_on_the_port_leaves_the_first_alone(self):
        first = self.new_house().furnish().start()
        second = self.new_house(port=first.port)
        ended = run_daemon(second)
        self.assertEqual(ended.returncode, EX_OSERR, ended)
        self.assertIn(f"127.0.0.1:{first.port}", ended.stderr)
        same = run_daemon(first)  # the same settings, too: it must not disturb the first one's leases either
        self.assertEqual(same.returncode, EX_OSERR, same)
        with Client(first) as client:
            self.assertEqual(client.send_gift("a@example.com").status, 201)

    def test_a_lost_or_foreign_secret_is_refused(self):
        given = self.new_house().furnish().start()
        given.stop()
        secret = given.folder / "giftsync.secret"
        text = secret.read_text()
        self.assertEqual(secret.stat().st_mode & 0o777, 0o600)
        secret.unlink()
        ended = run_daemon(given)
        self.assertEqual(ended.returncode, EX_CONFIG, ended)
        self.assertIn(str(secret), ended.stderr)
        self.assertIn("backup", ended.stderr)
        self.assertFalse(secret.exists())
        for words in ("0" * 64 + "\n", text[:-2] + "\n", ""):
            secret.write_text(words)
            secret.chmod(0o600)
            ended = run_daemon(given)
            self.assertEqual(ended.returncode, EX_CONFIG, ended)
            self.assertNotIn(text.strip(), ended.stderr)
        secret.write_text(text)
        given.start()

    def test_newer_tables_are_refused_and_left_alone(self):
        for newer in ("UPDATE store_fact SET value = '999' WHERE name = 'version'",
                      "UPDATE crm_meta SET value = '9.99' WHERE name = 'package_version'"):
            given = self.new_house().furnish()
            given.query(newer)
            ended = run_daemon(given)
            asked = given.try_ctl("status")
            for one in (ended, asked):
                self.assertEqual(one.returncode, EX_CONFIG, one)
                self.assertRegex(one.stderr, "version 9.*99, this program knows versions up to .*install the newer giftsync again")


class Asked(house.HouseTest):
    def test_status_tells_whether_the_daemon_answers(self):
        given = self.new_house().furnish()
        before = given.status()["daemon"]
        self.assertEqual((before["answers"], before["ready"], before["address"]), (False, False, f"127.0.0.1:{given.port}"))
        self.assertIn(str(given.port), before["fault"])
        self.assertIn("DOES NOT ANSWER", given.ctl("status"))
        given.start()
        with unittest.mock.patch.dict(os.environ, http_proxy="http://127.0.0.1:1"):  # not for what runs on this host
            self.assertEqual(given.status()["daemon"],
                             {"address": f"127.0.0.1:{given.port}", "answers": True, "ready": True, "fault": None})
            self.assertIn(f"daemon    ready at 127.0.0.1:{given.port}\n", given.ctl("status"))
        given.stop()
        self.assertIn("DOES NOT ANSWER", given.ctl("status"))


class Ending(house.HouseTest):
    def test_sigterm_finishes_what_was_begun(self):
        given = self.new_house().furnish().start()
        with Client(given) as idle, Client(given) as busy:
            self.assertEqual(idle.get("/-/healthy").status, 200)
            answers = []

            def send_many():
                with contextlib.suppress(*NO_ANSWER):
                    for number in range(10_000):
                        answers.append(busy.send_gift(f"g{number}@example.com").status)

            sender = threading.Thread(target=send_many)
            sender.start()
            house.wait_until(lambda: len(answers) > 20, "some answers")
            given.signal(signal.SIGTERM)
            self.assertEqual(given.wait_end(), 0)
            sender.join(house.PATIENCE_SECONDS)
        answered = answers.count(201)
        stored = int(given.query("SELECT count(*) FROM recipient_transaction")[0][0])
        self.assertIn(stored - answered, (0, 1))  # the last one may have lost its connection
        self.assertEqual(given.query("SELECT count(*) FROM delivery WHERE state = 'sending'")[0][0], 0)
        self.assertEqual(given.query("SELECT count(*) FROM delivery WHERE lease_owner <> ''")[0][0], 0)
        self.assertIn("stopped", given.log(1))
        self.assertEqual(answers, [201] * answered)
        self.assertRaises(ConnectionRefusedError, exchange, given, b"")

    def test_a_second_signal_ends_it_at_once(self):
        given = self.new_house().furnish().start()
        with contextlib.closing(sqlite3.connect(given.folder / "giftsync.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # so that a request hangs in the store, and the stop with it
            with socket.create_connection(("127.0.0.1", given.port)) as begun:
                body = json.dumps(gift_request("hanging@example.com"))
                begun.sendall(f"POST {SEND} HTTP/1.1\r\nHost: t\r\nAuthorization: {given.key}\r\n"
                              f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
                house.wait_until(lambda: self.is_taken(given, begun), "the request to be read")
                given.signal(signal.SIGTERM)
                house.wait_until(lambda: "a second signal" in given.log(3), "the stop to begin")
                self.assertIsNone(given.daemon.poll())
                given.signal(signal.SIGINT)
                self.assertEqual(given.wait_end(5), 128 + signal.SIGINT)
            other.execute("ROLLBACK")
        given.start()

    @staticmethod
    def is_taken(given, connection):
        """Whether the daemon has read everything that was sent: nothing is left in its socket's receive queue."""
        mine, theirs = (f"{port:04X}" for port in (connection.getsockname()[1], given.port))
        for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
            _, local, remote, _, queues = line.split()[:5]
            if local.endswith(":" + theirs) and remote.endswith(":" + mine):
                return queues.endswith(":00000000")
        return False


class Reloading(house.HouseTest):
    def wait_log(self, given, words, count=1):
        house.wait_until(lambda: given.whole_log().count(words) >= count, f'"{words}" in the log')

    def wait_more(self, acknowledged, count):
        goal = len(acknowledged) + count
        house.wait_until(lambda: len(acknowledged) >= goal, f"{count} more answers")

    def test_sighup_takes_a_good_file_and_survives_a_bad_one(self):
        given = self.new_house().furnish().start()
        with Client(given) as client:
            self.assertEqual(client.send_gift("a@example.com", "b@example.com").status, 201)
        given.write_settings("limits: { recipients: 1 }\n")
        given.signal(signal.SIGHUP)
        self.wait_log(given, "settings reloaded")
        given.wait_ready()
        with Client(given) as client:
            answer = client.send_gift("a@example.com", "b@example.com")
            self.assertEqual((answer.status, answer.json()["errors"][0]["code"]), (400, "too_many"))

            given.write_settings("limits: { recipients: none }\n")
            given.signal(signal.SIGHUP)
            self.wait_log(given, "not reloaded")
            self.assertIn(f"{given.settings}:5", given.whole_log())
            self.assertEqual(client.send_gift("a@example.com", "b@example.com").status, 400)  # on the old connection

        given.write_settings("matching: { contact: { email_fields: [Nowhere] } }\n")  # well written, and cannot be used
        given.signal(signal.SIGHUP)
        self.wait_log(given, "Nowhere")
        given.wait_ready()
        with Client(given) as client:
            self.assertEqual(client.send_gift("a@example.com").status, 201)

    def test_sighup_during_the_start_is_a_reload_after_it(self):
        given = self.new_house().furnish()
        settings = given.settings.read_text(encoding="utf-8")
        given.settings.unlink()
        os.mkfifo(given.settings)  # so that the daemon waits where it reads its settings
        given.start(wait=False)
        with open(self.reader_waits(given), "w", encoding="utf-8") as pipe:
            given.signal(signal.SIGHUP)
            os.replace(given.write("settings", settings), given.settings)
            pipe.write(settings)

        def is_listening():
            self.assertIsNone(given.daemon.poll(), given.log())
            given.signal(signal.SIGHUP)
            return "listening on" in given.whole_log()

        house.wait_until(is_listening, "the daemon to listen", pace_seconds=0.005)
        self.wait_log(given, "settings reloaded")
        given.wait_ready()

    @staticmethod
    def reader_waits(given):
        """A descriptor of the pipe in the settings' place, once the daemon has opened it."""
        def opened():
            with contextlib.suppress(OSError):  # ENXIO: nobody reads it yet
                return os.open(given.settings, os.O_WRONLY | os.O_NONBLOCK)
            return None

        return house.wait_until(opened, "the settings to be read")

    def test_reloads_under_load_lose_nothing(self):
        given = self.new_house().furnish().start()
        acknowledged, stopping = [], threading.Event()

        def send(name):
            client, number = Client(given), 0
            while not stopping.is_set():
                number += 1
                try:
                    if client.send_gift(f"{name}{number}@example.com").status == 201:
                        acknowledged.append(f"{name}{number}@example.com")
                except NO_ANSWER:
                    pass
            client.close()

        senders = [threading.Thread(target=send, args=(name,)) for name in "abcd"]
        for sender in senders:
            sender.start()
        for count in range(1, 4):
            given.signal(signal.SIGHUP)
            self.wait_log(given, "settings reloaded", count)
            self.wait_more(acknowledged, 20)
        stopping.set()
        for sender in senders:
            sender.join(house.PATIENCE_SECONDS)
        given.stop()
        stored = {row[0] for row in given.query("SELECT email FROM recipient_transaction")}
        self.assertEqual(set(acknowledged) - stored, set())


class TellingSystemd(house.HouseTest):
    """sd_notify over a socket of our own."""

    def setUp(self):
        self.given = self.new_house().furnish()
        path = str(self.given.folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.bind(path)
        self.socket.settimeout(house.PATIENCE_SECONDS)
        self.environment = {"NOTIFY_SOCKET": path}

    def next_with(self, words):
        while True:
            message = self.socket.recv(4096).decode()
            if words in message.splitlines():
                return message

    def test_ready_stopping_and_reloading(self):
        self.given.start(self.environment, wait=False)
        ready = self.next_with("READY=1")
        self.assertTrue(self.given.is_ready(), "READY=1 came before it was")
        self.assertIn(f"STATUS=Listening on 127.0.0.1:{self.given.port}", ready)
        self.given.signal(signal.SIGHUP)
        self.assertIn("MONOTONIC_USEC=", self.next_with("RELOADING=1"))
        self.next_with("READY=1")
        self.given.write_settings("nonsense: 1\n")
        self.given.signal(signal.SIGHUP)
        self.next_with("RELOADING=1")
        self.next_with("READY=1")
        self.given.signal(signal.SIGTERM)
        self.next_with("STOPPING=1")
        self.assertEqual(self.given.wait_end(), 0)

    def test_the_watchdog_is_fed(self):
        self.given.start({**self.environment, "WATCHDOG_USEC": "2000000"})
        for _ in range(4):
            self.next_with("WATCHDOG=1")

    def test_without_systemd_nothing_is_sent(self):
        self.given.start()
        self.given.stop()
        self.socket.setblocking(False)
        self.assertRaises(BlockingIOError, self.socket.recv, 1)


if __name__ == "__main__":
    house.main()
