#!/usr/bin/python3
"""A daemon that is killed sends mails through a faulty relay: no mail is lost, and none is repeated without need.

GIFTS (300) requests, KILLS (10). What a mail waits for (a pause, the minute after a 4xx, the quarter of an hour of an
uncertain one) is made to have passed in the store.
"""
import itertools
import os
import time

import daemon_fixture
from gift_load import GiftLoad, check_stored_once, skip_backoff
from http_client import Client
from smtp_relay import PASSWORD, SmtpRelay

GIFTS = int(os.environ.get("GIFTS", "300"))
KILLS = int(os.environ.get("KILLS", "10"))

# Applied one after the other while mails are sent and the daemon is killed.
RELAY_MODES = [
    {},
    {"message": {"do": "reset", "one_in": 15}},
    {"connect": {"do": "close", "one_in": 2}, "ehlo": {"do": "reset", "one_in": 3}, "quit": "reset"},
    {"delay_seconds": 0.03},
    {"message": {"do": "keep-reset", "one_in": 15}},
    {"mail": {"do": "reset", "one_in": 10}, "rcpt": {"do": "reset", "one_in": 10}, "data": {"do": "close", "one_in": 10}},
    {"auth": "535 5.7.8 Authentication credentials invalid"},
    {"mail": {"do": "421 4.3.2 shutting down", "one_in": 5}, "message": {"do": "451 4.3.0 try later", "one_in": 10}},
    {"connect": "554 5.3.2 not today"},
    {"data": {"do": "450 4.2.0 greylisted", "one_in": 5}, "message": {"do": "close", "one_in": 15}},
]


class SmtpRelayTestCase(daemon_fixture.DaemonTestCase):
    def new_fixture_with_relay(self, connections=None, **named):
        relay = SmtpRelay()
        self.addCleanup(relay.close)
        fixture = self.new_fixture(**named)
        fixture.email = relay.settings(fixture.folder, connections=connections)
        fixture.write_settings()
        return fixture.seed(), relay

    def states(self, fixture):
        """Address -> (state, uncertain_retries, last_reply) of its outbox row."""
        rows = fixture.query("SELECT t.email, d.state, d.uncertain_retries, d.last_reply FROM mail_outbox d "
                           "JOIN recipient_transaction t ON t.id = d.transaction_id")
        return {email: (state, int(repeats), reply) for email, state, repeats, reply in rows}

    def drain(self, fixture, *states):
        """Skips backoff times until no row is in one of these states."""
        def drained():
            skip_backoff(fixture, states)
            mail = fixture.status()["mail"]
            return all(mail[state] == 0 for state in (*states, "sending"))

        daemon_fixture.wait_until(drained, "the outbox to drain", 120 + GIFTS, pace_seconds=0.3)


class KillTestWithRelay(SmtpRelayTestCase):
    def test_nothing_is_lost_and_only_uncertain_mails_repeat(self):
        fixture, relay = self.new_fixture_with_relay()
        load = GiftLoad(fixture, count=GIFTS, clients=8)
        mailed = load.mailed_addresses()
        refused, greylisted = set(mailed[::23]), set(mailed[5::19])
        refusals = {f"rcpt:{address}": "550 5.1.1 no such user" for address in refused}
        refusals |= {f"rcpt:{address}": "450 4.7.1 greylisted" for address in greylisted - refused}
        relay.behave_as(refusals)
        fixture.start()
        load.start()

        begun = time.monotonic()
        relay_modes = itertools.cycle(RELAY_MODES)
        for kill in range(1, KILLS + 1):
            relay.behave_as({**refusals, **next(relay_modes)})
            self.wait_progress(fixture, relay, len(mailed) * kill // (KILLS + 2))
            self.assertIsNone(load.fault)
            fixture.kill()
            fixture.start(wait=False)
        load.join()
        relay.behave_as({phase: reply for phase, reply in refusals.items() if reply.startswith("550")})
        fixture.wait_ready()
        self.drain(fixture, "queued")

        # Only mails with an unknown outcome are open now; all others arrived once or were refused.
        states, arrivals = self.states(fixture), relay.arrivals()
        self.assertEqual(set(states), set(mailed))
        uncertain = {address for address, (state, _, _) in states.items() if state == "uncertain"}
        print(f"{len(mailed)} mails, {KILLS} kills, {len(uncertain)} uncertain, {len(refused)} refused, "
              f"{time.monotonic() - begun:.1f} s ", end="", flush=True)
        self.assertEqual({address for address, (state, _, _) in states.items() if state == "undelivered"}, refused - uncertain)
        for address in refused - uncertain:
            self.assertIn("550", states[address][2])
        for address in set(mailed) - refused - uncertain:
            self.assertEqual((states[address][0], states[address][1], len(arrivals.get(address, []))), ("accepted", 0, 1), address)
        for address in uncertain:
            self.assertLessEqual(len(arrivals.get(address, [])), 1, address)
        listed = {row["email"] for row in fixture.status()["mail"]["uncertain_or_held"]}
        self.assertLessEqual(listed, uncertain)
        self.assertEqual(bool(listed), bool(uncertain))

        # 15 minutes later.
        self.drain(fixture, "queued", "uncertain")
        states, arrivals = self.states(fixture), relay.arrivals()
        for address in set(mailed) - refused:
            self.assertEqual(states[address][0], "accepted", address)
            self.assertGreaterEqual(len(arrivals.get(address, [])), 1, address)
            self.assertEqual(len(set(arrivals[address])), 1, "a repeat has the same Message-ID")
            if address not in uncertain:
                self.assertEqual(len(arrivals[address]), 1, address)
        self.assertEqual(set(arrivals) & refused, set())
        self.assertEqual({address for address, (state, _, _) in states.items() if state == "undelivered"}, refused)

        self.wait_synced(fixture)
        check_stored_once(self, fixture, load)
        for record in fixture.gift_records():
            if record["DeliveryType"] == "email":
                expected = "undelivered" if record["Recipient_Email"] in refused else "delivered"
                self.assertEqual(record["RecipientTransactionStatus"], expected, record)
        self.assertNotIn(PASSWORD, fixture.whole_log())

    def wait_progress(self, fixture, relay, goal):
        """Waits until `goal` mails arrived, or until the relay's mode lets none through and a pause was probed a few times."""
        tries = itertools.count()

        def reached():
            skip_backoff(fixture)
            return len(relay.journal()) >= goal or next(tries) > 30

        daemon_fixture.wait_until(reached, f"{goal} mails", 300, pace_seconds=0.1)

    def wait_synced(self, fixture):
        daemon_fixture.wait_until(lambda: fixture.status()["sync"]["queued"] == 0, "an empty sync queue", pace_seconds=0.3)


class RelayFaults(SmtpRelayTestCase):
    def send(self, fixture, count):
        with Client(fixture) as client:
            response = client.send_gift(*(f"gift{number}@example.com" for number in range(count)))
        self.assertEqual(response.status, 201, response)

    def wait_pause(self, fixture):
        return daemon_fixture.wait_until(lambda: fixture.status()["mail"]["pause"], "delivery to be paused", pace_seconds=0.2)

    def wait_next_attempt(self, fixture):
        failures = fixture.status()["mail"]["pause"]["failures"]
        skip_backoff(fixture)
        daemon_fixture.wait_until(lambda: fixture.status()["mail"]["pause"]["failures"] > failures, "another try", pace_seconds=0.2)

    def check_recovered(self, fixture, relay, count):
        self.drain(fixture, "queued")
        self.assertEqual({address: len(ids) for address, ids in relay.arrivals().items()},
                         {f"gift{number}@example.com": 1 for number in range(count)})
        mail = fixture.status()["mail"]
        self.assertEqual((mail["accepted"], mail["undelivered"], mail["pause"]), (count, 0, None))
        self.assertIn("mail delivery resumed", fixture.whole_log())

    def test_an_outage_makes_nothing_undelivered(self):
        fixture, relay = self.new_fixture_with_relay()
        fixture.start()
        relay.stop()
        self.send(fixture, 5)
        pause = self.wait_pause(fixture)
        self.assertIn(f"connect to 127.0.0.1 port {relay.port}", pause["reason"])
        self.assertGreater(pause["until"], pause["since"])
        for _ in range(8):  # it retries with growing intervals
            self.wait_next_attempt(fixture)
        mail = fixture.status()["mail"]
        self.assertEqual((mail["queued"], mail["undelivered"], mail["uncertain"]), (5, 0, 0))
        self.assertEqual(fixture.whole_log().count("mail delivery paused"), 1, "the pause is logged when it begins, not for each retry")
        self.assertEqual({record["RecipientTransactionStatus"] for record in fixture.gift_records()}, {"sent"})
        self.assertIn("PAUSED", fixture.status_text())
        fixture.restart()  # the pause survives a restart
        self.assertIsNotNone(fixture.status()["mail"]["pause"])
        relay.start()
        self.check_recovered(fixture, relay, 5)

    def test_a_relay_that_refuses_every_mail_makes_nothing_undelivered(self):
        fixture, relay = self.new_fixture_with_relay()
        relay.behave(rcpt="554 5.7.1 Relay access denied")
        fixture.start()
        self.send(fixture, 8)
        self.assertIn("554 5.7.1 Relay access denied", self.wait_pause(fixture)["reason"])
        fixture.kill()
        relay.behave(message="550-5.7.60 Client does not have\r\n550 5.7.60 permissions to send as this sender")
        fixture.start()

        def is_refused_otherwise():
            skip_backoff(fixture)
            pause = fixture.status()["mail"]["pause"]
            return pause and "5.7.60 permissions" in pause["reason"]

        daemon_fixture.wait_until(is_refused_otherwise, "the other refusal", pace_seconds=0.3)
        mail = fixture.status()["mail"]
        self.assertEqual((mail["queued"], mail["undelivered"]), (8, 0))
        relay.behave()
        self.check_recovered(fixture, relay, 8)

    def test_a_wrong_password_pauses_and_is_never_shown(self):
        fixture, relay = self.new_fixture_with_relay()
        (fixture.folder / "relay-password").write_text("a wrong Password 123", encoding="utf-8")
        fixture.start()
        self.send(fixture, 3)
        pause = self.wait_pause(fixture)
        self.assertRegex(pause["reason"].lower(), "login|password|auth")
        self.assertIn("535", pause["reason"])
        shown = fixture.whole_log() + fixture.status_text() + fixture.status_text("--json") + fixture.ctl("settings", "show")
        for secret in ("a wrong Password 123", PASSWORD):
            self.assertNotIn(secret, shown)
        self.assertEqual(fixture.status()["mail"]["undelivered"], 0)
        (fixture.folder / "relay-password").write_text(PASSWORD, encoding="utf-8")
        fixture.signal(daemon_fixture.signal.SIGHUP)
        daemon_fixture.wait_until(lambda: "settings reloaded" in fixture.whole_log(), "the reload")
        self.check_recovered(fixture, relay, 3)

    def test_a_sender_gets_one_mail_about_a_bounce(self):
        fixture, relay = self.new_fixture_with_relay(connections=1)
        fixture.email["undelivered_notice"] = "each"
        fixture.write_settings()
        refusals = {f"rcpt:gift{number}@example.com": "550 5.1.1 no such user" for number in range(2)}
        relay.behave_as({**refusals, f"rcpt:{daemon_fixture.SENDER}": "450 4.2.0 try later"})
        fixture.start()
        self.send(fixture, 1)

        def counts(table, condition):
            return int(fixture.query(f"SELECT count(*) FROM {table} WHERE {condition}")[0][0])

        def kill_when(table, condition, count):
            daemon_fixture.wait_until(lambda: counts(table, condition) == count, f"{count} {table}: {condition}", pace_seconds=0.1)
            fixture.kill()

        kill_when("recipient_transaction", "status = 'undelivered'", 1)
        fixture.start()
        kill_when("mail_outbox", "kind = 'sender' AND state = 'queued' AND attempt > 0", 1)  # deferred
        relay.behave_as(refusals)
        fixture.start()
        self.drain(fixture, "queued")
        self.assertEqual(len(relay.arrivals()[daemon_fixture.SENDER]), 1)
        self.assertTrue(relay.arrivals()[daemon_fixture.SENDER][0].strip("<>").startswith("sender-"))

        self.send(fixture, 2)
        kill_when("recipient_transaction", "status = 'undelivered'", 3)
        fixture.start()
        daemon_fixture.wait_until(lambda: counts("sender_notice", "mail_number = 0") == 2, "the next notices", pace_seconds=0.1)
        self.assertEqual(counts("sender_notice", "mail_number = 1"), 1)
        self.assertEqual(list(relay.arrivals()), [daemon_fixture.SENDER])
        self.assertEqual(len(relay.arrivals()[daemon_fixture.SENDER]), 1, "its next mail leaves ten minutes later")

    def test_a_silent_relay_does_not_hold_up_requests_and_sync(self):
        fixture, relay = self.new_fixture_with_relay(connections=1)
        relay.behave(rcpt="silent")
        fixture.start()
        begun = time.monotonic()
        self.send(fixture, 3)
        self.assertLess(time.monotonic() - begun, 10)
        daemon_fixture.wait_until(lambda: len(fixture.gift_records()) == 3, "the records", pace_seconds=0.2)
        daemon_fixture.wait_until(lambda: "rcpt" in relay.phases(), "the relay to fall silent")
        fixture.kill()  # a stop would wait for the mail that is being sent
        relay.behave()
        fixture.start()
        self.drain(fixture, "queued")
        states = self.states(fixture)
        self.assertEqual(sum(state == "accepted" for state, _, _ in states.values()), 2, states)
        self.assertEqual(sum(state == "uncertain" for state, _, _ in states.values()), 1, states)


if __name__ == "__main__":
    daemon_fixture.main()
