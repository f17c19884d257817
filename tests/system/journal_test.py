#!/usr/bin/python3
"""The daemon with systemd's journal: one gift's lines are found by TRANSACTION, with their other fields, and lines are neither lost
unseen nor waited for while the journal is away. A real systemd-journald runs in a mount namespace of this test.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import daemon_fixture
from daemon_fixture import wait_until
from http_client import Client
from mails import LINK
from smtp_relay import SmtpRelay

JOURNALD = pathlib.Path("/lib/systemd/systemd-journald")
RUN = pathlib.Path("/run/systemd/journal")
MARK = "GIFTSYNC_IN_NAMESPACE"
EVENTS = dict(reversed(row) for row in re.findall(r"^\| `(\w+)` \|.*\| `(\w{32})` \|$", (
    daemon_fixture.ROOT / "docs" / "operations" / "events.md").read_text(encoding="utf-8"), re.M))


class Journald:
    def __init__(self):
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([JOURNALD], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, "systemd-journald to listen")

    @staticmethod
    def answers():
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            return (RUN / "stdout").exists() and probe.connect_ex(str(RUN / "socket")) == 0

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(daemon_fixture.TIMEOUT_SECONDS)
            self.process = None

    @staticmethod
    def stream():
        """What systemd gives a service as standard error, and its JOURNAL_STREAM."""
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect(str(RUN / "stdout"))
        stream.sendall(b"giftsyncd\n\n6\n1\n0\n0\n0\n")
        found = os.fstat(stream.fileno())
        return stream, {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}

    @staticmethod
    def entries(*matches):
        folder = next(pathlib.Path("/run/log/journal").iterdir())
        ended = subprocess.run(["journalctl", "--no-pager", "--all", "-o", "json", "-D", folder, *matches], capture_output=True, text=True,
                               timeout=daemon_fixture.TIMEOUT_SECONDS, check=False)
        return [json.loads(line) for line in ended.stdout.splitlines()]


def values(entry, field):
    found = entry.get(field, [])
    return found if isinstance(found, list) else [found]


class Journal(daemon_fixture.DaemonTestCase):
    def setUp(self):
        self.journald = Journald()
        self.addCleanup(self.journald.stop)

    def start(self, fixture):
        stream, environment = self.journald.stream()
        self.addCleanup(stream.close)
        return fixture.start(environment, log=stream)

    def wait_for(self, count, *matches):
        def found():
            entries = self.journald.entries(*matches)
            return entries if len(entries) >= count else None

        return wait_until(found, f"{count} entries with {matches}", pace_seconds=0.2)

    # OPS-30, OPS-47, ARCH-25
    def test_one_gift_is_found_by_its_transaction(self):
        relay = SmtpRelay()
        self.addCleanup(relay.close)
        relay.behave(**{"rcpt_lee@example.com": "550 5.1.1 unknown user"})
        fixture = self.new_fixture()
        fixture.email = relay.settings(fixture.folder)
        fixture.write_settings()
        self.start(fixture.seed())
        with Client(fixture) as client:
            response = client.send_gift("kim@example.com", "lee@example.com")
            self.assertEqual(response.status, 201, response)
            request = response.json()["data"]["id"]
            kim, lee = (one["recipient_transaction_id"] for one in response.json()["data"]["recipients"])
            wait_until(lambda: relay.journal(), "the mail to kim")
            link = LINK.search(fixture.ctl("gift", "show", str(kim), "--mail")).group(0)
            path = link[link.index("/g/"):]
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            self.assertEqual(client.get(path, authorization=False).status, 200)
            self.assertEqual(client.request("POST", path, b"choice=accept", form, authorization=False).status, 303)
            refused = client.send_gift("no address")
            self.assertEqual(refused.status, 400, refused)

        def steps(gift):
            return [EVENTS[entry["MESSAGE_ID"]] for entry in self.journald.entries(f"TRANSACTION={gift}")]

        wait_until(lambda: "gift_record_updated" in steps(kim) and "mail_undelivered" in steps(lee), "the story of both gifts")
        self.assertLessEqual({"gift_request_made", "mail_accepted", "gift_unmatched", "gift_record_created", "page_opened",
                              "gift_accepted"}, set(steps(kim)))
        # Each line that names a gift is found by its field.
        for entry in self.journald.entries("SYSLOG_IDENTIFIER=giftsyncd"):
            named = set(re.findall(r"\bgift[ =](\d+)", entry["MESSAGE"]))
            self.assertLessEqual(named, set(values(entry, "TRANSACTION")), entry)
            self.assertIn(entry["MESSAGE_ID"], EVENTS, entry)
            self.assertEqual(entry["_TRANSPORT"], "journal", entry)
        made = self.wait_for(1, f"GIFT_REQUEST={request}", "PRIORITY=6")[0]
        self.assertEqual(values(made, "TRANSACTION"), [str(kim), str(lee)])
        self.assertEqual(made["REQUEST_ID"], response.headers["Request-Id"])
        undelivered = next(entry for entry in self.journald.entries(f"TRANSACTION={lee}", "PRIORITY=4")
                           if EVENTS[entry["MESSAGE_ID"]] == "mail_undelivered")
        self.assertEqual(undelivered["MESSAGE"], f"warning gift {lee}: undelivered: 550 5.1.1 unknown user")
        said = self.wait_for(1, f"REQUEST_ID={refused.headers['Request-Id']}")
        self.assertEqual([EVENTS[entry["MESSAGE_ID"]] for entry in said], ["request_refused"])
        # ARCH-25: the threads of libraries have names too.
        names = [path.read_text(encoding="ascii").strip() for path in pathlib.Path(f"/proc/{fixture.daemon.pid}/task").glob("*/comm")]
        self.assertGreater(len(names), 8)
        self.assertEqual(names.count("giftsyncd"), 1, names)
        fixture.stop()
        last = self.wait_for(1, "SYSLOG_IDENTIFIER=giftsyncd")[-1]
        self.assertEqual(EVENTS[last["MESSAGE_ID"]], "daemon_stopped")

    # OPS-10
    def test_the_daemon_works_while_the_journal_is_away(self):
        fixture = self.new_fixture().seed()
        self.start(fixture)
        with Client(fixture) as client:
            self.journald.stop()
            for _ in range(3):
                self.assertEqual(client.send_gift("kim@example.com").status, 201)
            wait_until(lambda: len(fixture.gift_records()) == 3, "the records of three gifts")
            self.journald.start()
            self.assertEqual(client.send_gift("kim@example.com").status, 201)
        wait_until(lambda: any("gift request made" in entry["MESSAGE"] and values(entry, "TRANSACTION") == ["4"]
                               for entry in self.journald.entries("TRANSACTION=4")), "the fourth gift in the journal")
        lost = self.wait_for(1, "MESSAGE_ID=" + next(key for key, name in EVENTS.items() if name == "log_lines_lost"))
        self.assertRegex(lost[0]["MESSAGE"], r"^warning \d+ earlier lines of the log were lost")


def main():
    if os.environ.get(MARK):
        # The journal's sockets and files; nothing outside sees them.
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
        for folder in (RUN, pathlib.Path("/run/log/journal")):
            folder.mkdir(parents=True)
        daemon_fixture.main()
    inside = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    is_possible = JOURNALD.exists() and shutil.which("journalctl") and subprocess.run([*inside, "true"], check=False).returncode == 0
    if not is_possible:
        print("needs systemd-journald and a mount namespace", file=sys.stderr)
        sys.exit(daemon_fixture.SKIPPED)
    sys.exit(subprocess.run([*inside, sys.executable, *sys.argv], env={**os.environ, MARK: "1"}, check=False).returncode)


if __name__ == "__main__":
    main()
