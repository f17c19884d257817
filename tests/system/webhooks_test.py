#!/usr/bin/python3
"""Events posted by a running daemon to the receivers of docs/operations/examples, which verify each signature: Python's, and Node's
where it is installed; and to one that uses npm's standardwebhooks, where npm can fetch it. Nothing is lost while a receiver is away, and over a kill of the daemon."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import unittest

import daemon_fixture
import identity_providers
import postgresql_feed_test as feed
from http_client import Client

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs/operations/examples"
MORE = 'feed: { enabled: true }\nwebhooks: { allowed_networks: ["127.0.0.0/8"] }\n'
PYTHON = [sys.executable, str(EXAMPLES / "webhook_receiver.py")]
NODE = ["node", str(EXAMPLES / "webhook_receiver.mjs")]


class Receiver:
    """A receiver of the examples; what it has taken are the lines of its output."""

    def __init__(self, test, command, secret, port=None):
        self.port = port or daemon_fixture.free_port()
        self.path = pathlib.Path(test.fixture.folder) / f"received-{self.port}"
        with open(self.path, "a", encoding="utf-8") as output:
            self.process = subprocess.Popen([*command, str(self.port)], stdout=output, env={**os.environ, "WEBHOOK_SECRET": secret})
        test.addCleanup(self.end)
        daemon_fixture.wait_until(self.listens, "the receiver")

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def events(self):
        # A line may be half written when the receiver is killed.
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def ids_of(events):
    return {event["data"]["event_id"] for event in events}


class Webhooks(daemon_fixture.DaemonTestCase):
    def setUp(self):
        self.fixture = self.new_fixture(more=MORE).seed().start()

    def create(self, port, *more):
        return self.fixture.ctl("webhook", "create", "--name", "crm", "--url", f"http://127.0.0.1:{port}/hook", *more).strip()

    def send(self, count, name):
        with Client(self.fixture) as client:
            for number in range(count):
                self.assertEqual(client.send_gift(f"{name}{number}@example.com").status, 201)

    def position_is_latest(self):
        shown = self.fixture.ctl_json("webhook", "show", "crm")
        return shown["waiting_events"] == 0 and shown["retries"] == 0

    # HOOK-1, HOOK-2, HOOK-3
    def verified_by(self, command):
        port = daemon_fixture.free_port()
        secret = self.create(port, "--types", "gift.*")
        self.assertRegex(secret, r"^whsec_[A-Za-z0-9+/]{43}=$")
        receiver = Receiver(self, command, secret, port)
        self.fixture.ctl("webhook", "test", "crm")
        self.send(3, "kim")
        kinds = lambda: [event["type"] for event in receiver.events()]
        daemon_fixture.wait_until(lambda: kinds().count("gift.sent") == 3, "three events")
        self.assertEqual(kinds().count("endpoint.test"), 1)
        gift = next(event for event in receiver.events() if event["type"] == "gift.sent")["data"]["gift"]
        self.assertRegex(gift["email"], r"^kim\d@example.com$")
        self.assertNotIn("message", gift)
        # Also with the new secret alone, of the two that sign.
        renewed = self.fixture.ctl("webhook", "rotate", "crm").strip()
        receiver.end()
        other = Receiver(self, command, renewed, port)
        self.send(1, "lee")
        daemon_fixture.wait_until(lambda: any(event["data"].get("gift", {}).get("email") == "lee0@example.com" for event in other.events()),
                                  "an event signed with both secrets")
        wrong = "whsec_" + "A" * 43 + "="
        other.end()
        refusing = Receiver(self, command, wrong, port)
        self.fixture.ctl("webhook", "test", "crm", expect=69)
        refusing.end()

    def test_the_python_receiver_verifies_each_call(self):
        self.verified_by(PYTHON)

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_the_node_receiver_verifies_each_call(self):
        self.verified_by(NODE)

    @unittest.skipUnless(shutil.which("npm") and shutil.which("node"), "npm or node is not installed")
    def test_standardwebhooks_verifies_each_call(self):
        folder = identity_providers.install(type(self), identity_providers.FOLDER / "webhook_verifier")
        self.verified_by(["node", f"{folder}/receiver.mjs"])

    # HOOK-1, HOOK-5, HOOK-7
    def test_nothing_is_lost_while_the_receiver_is_away_and_over_a_kill(self):
        port = daemon_fixture.free_port()
        secret = self.create(port)
        self.send(12, "kim")
        daemon_fixture.wait_until(lambda: self.fixture.ctl_json("webhook", "show", "crm")["state"] == "failing", "failing")
        self.assertIn("webhooks.failing", [item["condition"] for item in self.fixture.status()["needs_attention"]])
        self.fixture.kill()
        receiver = Receiver(self, PYTHON, secret, port)
        self.fixture.start()
        self.send(12, "lee")
        daemon_fixture.wait_until(lambda: self.fixture.ctl_json("webhook", "show", "crm")["state"] == "active", "the first success")
        self.fixture.ctl("webhook", "retry", "crm")
        emails = lambda: {event["data"]["gift"]["email"] for event in receiver.events() if event["data"].get("gift")}
        daemon_fixture.wait_until(lambda: len(emails()) == 24, "an event of each gift")
        daemon_fixture.wait_until(self.position_is_latest, "the place behind the last event")
        self.assertNotIn("webhooks.failing", [item["condition"] for item in self.fixture.status()["needs_attention"]])
        known = ids_of(receiver.events())
        # The receiver knows the ids of a replay.
        attempts = lambda: self.fixture.ctl_json("webhook", "show", "crm")["attempts"]
        before = attempts()
        self.fixture.ctl("webhook", "replay", "crm", "--since", "1h")
        daemon_fixture.wait_until(lambda: attempts() >= before + len(known) and self.position_is_latest(), "the end of the replay")
        self.assertEqual(len(receiver.events()), len(ids_of(receiver.events())))
        # One that has lost what it had received takes all of them again.
        receiver.end()
        former = len(receiver.events())
        Receiver(self, PYTHON, secret, port)
        self.fixture.ctl("webhook", "replay", "crm", "--since", "1h")
        daemon_fixture.wait_until(lambda: known <= ids_of(receiver.events()[former:]), "events again")
        daemon_fixture.wait_until(self.position_is_latest, "the end of the replay")

    # OPS-3, API-12, HOOK-1
    def test_reloads_that_are_refused_take_no_event_from_readers_and_receivers(self):
        port = daemon_fixture.free_port()
        receiver = Receiver(self, PYTHON, self.create(port, "--types", "gift.*"), port)
        reader = feed.Reader([self.fixture])
        self.addCleanup(reader.finish)
        bad = ("feed: { enabled: true\n", MORE + "webhooks: [\n", MORE.replace("enabled: true", "enabled: perhaps"),
               MORE.replace("127.0.0.0/8", "here"))
        reloads = [*((settings, "the settings were not reloaded") for settings in bad), (MORE, "settings reloaded")]
        for number, (settings, expected) in enumerate(reloads):
            self.send(6, f"kim{number}.")
            before = self.fixture.whole_log().count(expected)
            self.fixture.write_settings(settings)
            self.fixture.signal(signal.SIGHUP)
            self.send(6, f"lee{number}.")
            daemon_fixture.wait_until(lambda: self.fixture.whole_log().count(expected) > before, f'"{expected}" in the log')

        def has_all():
            is_delivered = {state for state, _ in reader.state.values()} == {"delivered"}
            return is_delivered and self.fixture.query(feed.MARKS) == [(0,)] and reader.state == feed.Feed.stored(self.fixture)

        daemon_fixture.wait_until(lambda: reader.faults or has_all(), "the reader to see the store's state")
        reader.finish()
        self.assertEqual(reader.faults, [])
        daemon_fixture.wait_until(self.position_is_latest, "the place behind the last event")
        self.assertEqual(len(ids_of(receiver.events())), reader.events)

    # HOOK-8, HOOK-13
    def test_a_disabled_webhook_waits_for_an_admin(self):
        port = daemon_fixture.free_port()
        receiver = Receiver(self, PYTHON, self.create(port), port)
        self.fixture.ctl("webhook", "disable", "crm", "--reason", "it moves")
        self.assertIn("webhooks.disabled", [item["condition"] for item in self.fixture.status()["needs_attention"]])
        self.send(2, "kim")
        behind = lambda: self.fixture.ctl_json("webhook", "show", "crm")["waiting_events"]
        daemon_fixture.wait_until(lambda: behind() >= 2, "events that wait")
        self.assertEqual(receiver.events(), [])
        self.fixture.ctl("webhook", "enable", "crm")
        daemon_fixture.wait_until(lambda: len(ids_of(receiver.events())) >= 2, "the events")
        self.fixture.ctl("webhook", "delete", "crm", "--yes")
        self.assertEqual(self.fixture.ctl_json("webhook", "list"), [])
        actions = [event["action"] for event in self.fixture.ctl_json("audit", "list")]
        for action in ("webhook.create", "webhook.disable", "webhook.enable", "webhook.delete"):
            self.assertIn(action, actions)

    # HOOK-13
    def test_webhooks_without_a_feed_are_named(self):
        self.create(daemon_fixture.free_port())
        self.fixture.kill()
        self.fixture.write_settings(MORE.replace("enabled: true", "enabled: false"))
        warning = "feed.enabled is false, so no new events come for 1 webhook"
        checked = subprocess.run([daemon_fixture.GIFTSYNCD, "--config", str(self.fixture.settings), "--check"], capture_output=True, text=True,
                                 timeout=daemon_fixture.TIMEOUT_SECONDS, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn(warning, checked.stdout + checked.stderr)
        self.fixture.start()
        self.assertIn(warning, self.fixture.whole_log())
        named = lambda: [item["condition"] for item in self.fixture.status()["needs_attention"]]
        self.assertIn("webhooks.feed_off", named())
        self.fixture.ctl("webhook", "disable", "crm")
        self.assertNotIn("webhooks.feed_off", named())

    # HOOK-13
    def test_a_key_makes_and_deletes_a_webhook_of_its_account(self):
        key = self.fixture.new_key(daemon_fixture.SENDER, "--scope", "webhooks")
        port = daemon_fixture.free_port()
        path = "/api/v1/webhook_endpoints"
        with Client(self.fixture, key=key) as client:
            made = client.post(path, {"name": "crm", "url": f"http://127.0.0.1:{port}/hook", "types": ["gift.sent"]})
            self.assertEqual(made.status, 201, made)
            one = f"{path}/{made.json()['data']['id']}"
            receiver = Receiver(self, PYTHON, made.json()["data"]["secret"], port)
            self.assertTrue(client.post(f"{one}/test", {}).json()["data"]["taken"])
            self.send(1, "kim")
            daemon_fixture.wait_until(lambda: [event["type"] for event in receiver.events()] == ["endpoint.test", "gift.sent"], "the event")
            daemon_fixture.wait_until(lambda: len(client.request("GET", f"{one}/attempts").json()["data"]) == 2, "the log of attempts")
            self.assertEqual(client.request("DELETE", one).status, 200)
            self.assertEqual(client.request("GET", path).json()["data"], [])

    # HOOK-11
    def test_urls_into_other_networks_are_refused(self):
        for url in ("http://10.0.0.1/", "https://169.254.169.254/latest", "https://[::1]/", "https://0xa.1/", "http://192.168.1.1/",
                    "https://ana:pw@127.0.0.1/", "https://127.0.0.1/#a", "ftp://127.0.0.1/"):
            with self.subTest(url=url):
                message = self.fixture.try_ctl("webhook", "create", "--name", "bad", "--url", url)
                self.assertEqual(message.returncode, 65, message.stderr)
                self.assertIn("--url: ", message.stderr)
        self.assertEqual(self.fixture.ctl_json("webhook", "list"), [])


if __name__ == "__main__":
    daemon_fixture.main()
