#!/usr/bin/python3
"""Budgets and bursts in running daemons: exactly so many gifts, whatever the number of callers and however a daemon ends."""
import concurrent.futures

import daemon_fixture
from http_client import NO_RESPONSE, SEND, Client, gift_request
from mails import mails_in

CALLERS = 64


def call_all(fixture, calls, prefix="r"):
    """Each call with its own connection and recipient, until it is answered; the statuses."""

    def call(number):
        with Client(fixture) as client:
            body = gift_request(f"{prefix}{number}@example.com")
            key = {"Idempotency-Key": f"{prefix}-{number}"}
            while True:
                try:
                    return client.post(SEND, body, headers=key).status
                except NO_RESPONSE:
                    continue

    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        return pool.map(call, range(calls))


class Budgets(daemon_fixture.DaemonTestCase):
    # GUARD-8, GUARD-12
    def test_exactly_the_budget_is_sent_by_64_callers_over_a_kill(self):
        fixture = self.new_fixture(more="sending:\n  budgets:\n    account: { month_gifts: 100 }\n").seed().start()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            statuses = pool.submit(lambda: list(call_all(fixture, 300)))
            daemon_fixture.wait_until(lambda: len(mails_in(fixture.outbox)) > 10, "the first mails")
            fixture.kill()
            fixture.start()
            statuses = statuses.result()
        self.assertEqual({status: statuses.count(status) for status in set(statuses)}, {201: 100, 403: 200})
        daemon_fixture.wait_until(lambda: len(mails_in(fixture.outbox)) == 100, "all mails")
        self.assertEqual(fixture.ctl_json("budget", "check"), [])
        with Client(fixture) as client:
            refused = client.send_gift("late@example.com").json()
            self.assertEqual(refused["code"], "sending_refused")
            self.assertEqual(refused["errors"][0]["code"], "budget_exceeded")
            self.assertRegex(refused["errors"][0]["message"], r"^The account's budget of 100 gifts for \w+ \d{4} has 0 left; "
                             r"this request has 1\.$")
            self.assertRegex(refused["available_at"], r"^\d{4}-\d\d-01T00:00:00\.000Z$")
            balance = client.get("/api/v1/balance").json()["data"]["budgets"]
            self.assertEqual([(budget["scope"], budget["left_gifts"]) for budget in balance], [("account", 0)])
            self.assertIn("sending.budget_reached", [item["condition"] for item in fixture.status()["needs_attention"]])
            # GUARD-13
            fixture.ctl("budget", "set", "account", daemon_fixture.SENDER, "--month-gifts", "101")
            daemon_fixture.wait_until(lambda: client.send_gift("late@example.com").status == 201, "the larger budget")
            self.assertEqual(client.send_gift("later@example.com").status, 403)

    # GUARD-11
    def test_a_cancelled_gift_gives_its_value_back(self):
        fixture = self.new_fixture(more='sending:\n  budgets:\n    installation: { day_amount: "6.00" }\n').seed().start()
        with Client(fixture) as client:
            made = client.send_gift("kim@example.com")
            self.assertEqual(made.status, 201)
            self.assertEqual(client.send_gift("lee@example.com").status, 403)
            gift = made.json()["data"]["recipients"][0]["recipient_transaction_id"]
            fixture.ctl("gift", "cancel", str(gift), "--yes")
            daemon_fixture.wait_until(lambda: client.send_gift("lee@example.com").status == 201, "the refund")
        self.assertEqual(fixture.ctl_json("budget", "check"), [])

    # GUARD-15
    def test_a_burst_pauses_the_key_and_a_release_lets_it_send(self):
        fixture = self.new_fixture(more="sending:\n  burst: { gifts: 20, minutes: 1440 }\n").seed().start()
        statuses = list(call_all(fixture, 100))
        self.assertEqual(statuses.count(201), 20)
        self.assertEqual(statuses.count(403), 80)
        self.assertEqual(fixture.whole_log().count("is paused"), 1)
        paused = [item for item in fixture.status()["needs_attention"] if item["condition"] == "keys.paused"]
        self.assertEqual(len(paused), 1)
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("kim@example.com").json()["code"], "key_paused")
            fixture.ctl("key", "release", fixture.key[:16])
            daemon_fixture.wait_until(lambda: client.send_gift("kim@example.com").status == 201, "the release of the key")


if __name__ == "__main__":
    daemon_fixture.main()
