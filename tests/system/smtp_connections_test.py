#!/usr/bin/python3
"""Several connections to one relay: a daemon that is killed while all of them send loses and doubles no mail, and a campaign holds
up no other request (MAIL-29, MAIL-30, MAIL-31).

MAILS (400), KILLS (3).
"""
import os
import time

import daemon_fixture
from http_client import Client
from smtp_kill_test import SmtpRelayTestCase

MAILS = int(os.environ.get("MAILS", "400"))
KILLS = int(os.environ.get("KILLS", "3"))
CONNECTIONS = 8
CAMPAIGN = 1000


class SeveralConnections(SmtpRelayTestCase):
    def send(self, fixture, addresses):
        with Client(fixture) as client:
            response = client.send_gift(*addresses)
        self.assertEqual(response.status, 201, response)

    def test_kills_lose_and_double_no_mail(self):
        fixture, relay = self.new_fixture_with_relay(connections=CONNECTIONS)
        relay.behave_as({"delay_seconds": 0.02})
        fixture.start()
        addresses = [f"r{number}@example.com" for number in range(MAILS)]
        self.send(fixture, addresses)
        for kill in range(1, KILLS + 1):
            goal = MAILS * kill // (KILLS + 1)
            daemon_fixture.wait_until(lambda: len(relay.journal()) >= goal, f"{goal} mails", 120, pace_seconds=0.05)
            fixture.kill()
            fixture.start()
        self.drain(fixture, "queued")
        self.assertGreater(len({entry["connection"] for entry in relay.phase_entries() if entry["phase"] == "message"}), KILLS + 1)

        states, arrivals = self.states(fixture), relay.arrivals()
        self.assertEqual(set(states), set(addresses))
        uncertain = {address for address, (state, _, _) in states.items() if state == "uncertain"}
        self.assertLessEqual(len(uncertain), KILLS * CONNECTIONS, "only mails that were being sent")
        for address in addresses:
            count = len(arrivals.get(address, []))
            if address in uncertain:
                self.assertLessEqual(count, 1, address)
            else:
                self.assertEqual((states[address][0], count), ("accepted", 1), address)

        self.drain(fixture, "queued", "uncertain")  # 15 minutes later
        arrivals = relay.arrivals()
        for address in addresses:
            self.assertGreaterEqual(len(arrivals.get(address, [])), 1, address)
            if address not in uncertain:
                self.assertEqual(len(arrivals[address]), 1, address)

    def test_another_request_does_not_wait_for_a_campaign(self):
        fixture, relay = self.new_fixture_with_relay(connections=4)
        relay.behave_as({"delay_seconds": 0.02})
        fixture.start()
        self.send(fixture, [f"c{number}@example.com" for number in range(CAMPAIGN)])
        daemon_fixture.wait_until(lambda: len(relay.journal()) >= 20, "the campaign to begin", 60, pace_seconds=0.05)
        sent_at = time.time()
        self.send(fixture, ["other@example.com"])
        daemon_fixture.wait_until(lambda: "other@example.com" in relay.arrivals(), "the other gift", 60, pace_seconds=0.1)
        arrived_at = next(entry["time"] for entry in relay.journal() if entry["to"] == ["other@example.com"])
        self.assertLess(arrived_at - sent_at, 5)
        self.assertLess(len(relay.journal()), CAMPAIGN, "the campaign was still being sent")


if __name__ == "__main__":
    daemon_fixture.main()
