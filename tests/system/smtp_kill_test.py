#!/usr/bin/python3
"""Mails through a relay that misbehaves, sent by a daemon that is killed: nothing is lost, nothing comes twice by mistake.

GIFTS (300) requests, KILLS (10). What a mail waits for (a pause, the minute after a 4xx, the quarter of an hour of an
uncertain one) is made to have passed in the store.
"""
import itertools
import os
import time

import house
from gift_load import GiftLoad, check_stored_once, let_waits_pass
from http_client import Client
from relay import PASSWORD, Relay

GIFTS = int(os.environ.get("GIFTS", "300"))
KILLS = int(os.environ.get("KILLS", "10"))

# One after the other, while mails go out and the daemon is killed.
MOODS = [
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


class RelayTest(house.HouseTest):
    def new_house_with_relay(self, **named):
        relay = Relay()
        self.addCleanup(relay.close)
        given = self.new_house(**named)
        given.email = relay.settings(given.folder)
        given.write_settings()
        return given.furnish(), relay

    def states(self, given):
        """Address -> (state, repeats, last reply) of its outbox row."""
        rows = given.query("SELECT t.email, d.state, d.repeats, d.last_reply FROM delivery d "
                           "JOIN recipient_transaction t ON t.id = d.transaction_id")
        return {email: (state, int(repeats), reply) for email, state, repeats, reply in rows}

    def drain(self, given, *states):
        """Lets time pass until only rows in other states are left; then nothing more can happen by itself."""
        def drained():
            let_waits_pass(given, states)
            mail = given.status()["mail"]
            return all(mail[state] == 0 for state in (*states, "sending"))

        house.wait_until(drained, "the outbox to drain", 120 + GIFTS, pace_seconds=0.3)


class KilledWithRelay(RelayTest):
    def test_nothing_is_lost_and_only_uncertain_mails_repeat(self):
        given, relay = self.new_house_with_relay()
        load = GiftLoad(given, count=GIFTS, clients=8)
        mailed = load.mailed_addresses()
        refused, greylisted = set(mailed[::23]), set(mailed[5::19])
        refusals = {f"rcpt:{address}": "550 5.1.1 no such user" for address in refused}
        refusals |= {f"rcpt:{address}": "450 4.7.1 greylisted" for address in greylisted - refused}
        relay.behave_as(refusals)
        given.start()
        load.start()

        begun = time.monotonic()
        moods = itertools.cycle(MOODS)
        for kill in range(1, KILLS + 1):
            relay.behave_as({**refusals, **next(moods)})
            self.wait_progress(given, relay, len(mailed) * kill // (KILLS + 2))
            self.assertIsNone(load.fault)
            given.kill()
            given.start(wait=False)
        load.join()
        relay.behave_as({moment: reply for moment, reply in refusals.items() if reply.startswith("550")})
        given.wait_ready()
        self.drain(given, "queued")

        # Now only those are open whose arrival nobody knows; all others arrived once, but for the refused ones.
        states, arrivals = self.states(given), relay.arrivals()
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
        listed = {row["email"] for row in given.status()["mail"]["unsure"]}
        self.assertLessEqual(listed, uncertain)
        self.assertEqual(bool(listed), bool(uncertain))

        # A quarter of an hour later.
        self.drain(given, "queued", "uncertain")
        states, arrivals = self.states(given), relay.arrivals()
        for address in set(mailed) - refused:
            self.assertEqual(states[address][0], "accepted", address)
            self.assertGreaterEqual(len(arrivals.get(address, [])), 1, address)
            self.assertEqual(len(set(arrivals[address])), 1, "a repeat has the same Message-ID")
            if address not in uncertain:
                self.assertEqual(len(arrivals[address]), 1, address)
        self.assertEqual(set(arrivals) & refused, set())
        self.assertEqual({address for address, (state, _, _) in states.items() if state == "undelivered"}, refused)

        self.wait_synced(given)
        check_stored_once(self, given, load)
        for record in given.gift_records():
            if record["DeliveryType"] == "email":
                expected = "undelivered" if record["Recipient_Email"] in refused else "delivered"
                self.assertEqual(record["RecipientTransactionStatus"], expected, record)
        self.assertNotIn(PASSWORD, given.whole_log())

    def wait_progress(self, given, relay, goal):
        """Until as many mails arrived, or the relay's mood lets none through: a pause has been tested a few times."""
        tries = itertools.count()

        def reached():
            let_waits_pass(given)
            return len(relay.journal()) >= goal or next(tries) > 30

        house.wait_until(reached, f"{goal} mails", 300, pace_seconds=0.1)

    def wait_synced(self, given):
        house.wait_until(lambda: given.status()["sync"]["waiting"] == 0, "sync to come to rest", pace_seconds=0.3)


class RelayFaults(RelayTest):
    def send(self, given, count):
        with Client(given) as client:
            answer = client.send_gift(*(f"gift{number}@example.com" for number in range(count)))
        self.assertEqual(answer.status, 201, answer)

    def wait_pause(self, given):
        return house.wait_until(lambda: given.status()["mail"]["pause"], "the outbox to rest", pace_seconds=0.2)

    def wait_another_try(self, given):
        failures = given.status()["mail"]["pause"]["failures"]
        let_waits_pass(given)
        house.wait_until(lambda: given.status()["mail"]["pause"]["failures"] > failures, "another try", pace_seconds=0.2)

    def check_well(self, given, relay, count):
        self.drain(given, "queued")
        self.assertEqual({address: len(ids) for address, ids in relay.arrivals().items()},
                         {f"gift{number}@example.com": 1 for number in range(count)})
        mail = given.status()["mail"]
        self.assertEqual((mail["accepted"], mail["undelivered"], mail["pause"]), (count, 0, None))
        self.assertIn("works again", given.whole_log())

    def test_an_outage_makes_nothing_undelivered(self):
        given, relay = self.new_house_with_relay()
        given.start()
        relay.stop()
        self.send(given, 5)
        pause = self.wait_pause(given)
        self.assertIn(f"connect to 127.0.0.1 port {relay.port}", pause["reason"])
        self.assertGreater(pause["until"], pause["since"])
        for _ in range(8):  # it tries again and again, ever more rarely
            self.wait_another_try(given)
        mail = given.status()["mail"]
        self.assertEqual((mail["queued"], mail["undelivered"], mail["uncertain"]), (5, 0, 0))
        self.assertEqual(given.whole_log().count("the outbox rests"), 1, "one line when it begins, not one for each try")
        self.assertEqual({record["RecipientTransactionStatus"] for record in given.gift_records()}, {"sent"})
        self.assertIn("PAUSED", given.ctl("status"))
        given.restart()  # the pause outlives it
        self.assertIsNotNone(given.status()["mail"]["pause"])
        relay.start()
        self.check_well(given, relay, 5)

    def test_a_wrong_password_pauses_and_is_never_shown(self):
        given, relay = self.new_house_with_relay()
        (given.folder / "relay-password").write_text("a wrong Password 123", encoding="utf-8")
        given.start()
        self.send(given, 3)
        pause = self.wait_pause(given)
        self.assertRegex(pause["reason"].lower(), "login|password|auth")
        self.assertIn("535", pause["reason"])
        shown = given.whole_log() + given.ctl("status") + given.ctl("status", "--json") + given.ctl("settings", "show")
        for secret in ("a wrong Password 123", PASSWORD):
            self.assertNotIn(secret, shown)
        self.assertEqual(given.status()["mail"]["undelivered"], 0)
        (given.folder / "relay-password").write_text(PASSWORD, encoding="utf-8")
        given.signal(house.signal.SIGHUP)
        house.wait_until(lambda: "settings reloaded" in given.whole_log(), "the reload")
        self.check_well(given, relay, 3)

    def test_a_silent_relay_does_not_hold_up_requests_and_sync(self):
        given, relay = self.new_house_with_relay()
        relay.behave(rcpt="silent")
        given.start()
        begun = time.monotonic()
        self.send(given, 3)
        self.assertLess(time.monotonic() - begun, 10)
        house.wait_until(lambda: len(given.gift_records()) == 3, "the records", pace_seconds=0.2)
        house.wait_until(lambda: "rcpt" in relay.moments(), "the relay to fall silent")
        given.kill()  # a stop would wait for the mail in hand
        relay.behave()
        given.start()
        self.drain(given, "queued")
        states = self.states(given)
        self.assertEqual(sum(state == "accepted" for state, _, _ in states.values()), 2, states)
        self.assertEqual(sum(state == "uncertain" for state, _, _ in states.values()), 1, states)


if __name__ == "__main__":
    house.main()
