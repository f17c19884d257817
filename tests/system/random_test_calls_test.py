#!/usr/bin/python3
"""Random calls of test keys, from several callers and over kills: nothing leaves. CALLS (default 60) and KILLS (default 1) set the
size."""
import concurrent.futures
import os
import random

import daemon_fixture
from fake_org import OrgTestCase
from http_client import NO_RESPONSE, SEND, URLS, Client, gift_request
from smtp_relay import SmtpRelay

CALLS = int(os.environ.get("CALLS", "60"))
KILLS = int(os.environ.get("KILLS", "1"))
CALLERS = 8
ADDRESSES = [f"{outcome}{label}@giftsync.test" for label in ("", "+two") for outcome in (
    "delivered", "undelivered", "opened", "redeemed", "donated", "expired", "refunded", "complained", "opted-out", "held",
    "do-not-send", "opend")] + ["kim@example.com", "lee@example.com", "Kim@EXAMPLE.com", "no-address", "lea@bücher.example"]
ANSWERS = (None, None, None, None, "429", "500", "503", "lost", "unknown")
# The managed CRM's rows, of which none may appear.
RECORDS = "SELECT (SELECT count(*) FROM crm_gift_record) + (SELECT count(*) FROM crm_task)"
UNFINISHED = """SELECT (SELECT count(*) FROM recipient_transaction WHERE due_at IS NOT NULL) +
  (SELECT count(*) FROM recipient_transaction t WHERE NOT EXISTS (SELECT 1 FROM test_record r WHERE r.transaction_id = t.id))"""


class RandomTestCalls(OrgTestCase):
    def call(self, fixture, number):
        """One call, whatever comes of it."""
        choice = random.Random(number)
        path = choice.choice((SEND, URLS)) + choice.choice(("", "", "", "/validate"))
        body = gift_request(*choice.choices(ADDRESSES, k=choice.randint(1, 3)), by_email=path.startswith(SEND))
        headers = {"Idempotency-Key": f"k{choice.randint(1, CALLS)}"} if choice.random() < 0.5 else {}
        if answer := choice.choice(ANSWERS):
            headers["Giftsync-Test-Response"] = answer

        def status():
            try:
                with Client(fixture, key=fixture.test_key) as client:
                    return client.post(path, body, headers=headers).status
            except NO_RESPONSE:
                return "lost" if answer == "lost" else None

        return daemon_fixture.wait_until(status, "a response", pace_seconds=0.1)

    def run_calls(self, fixture):
        """Starts the daemon; returns when each test gift has come to its end."""
        fixture.test_key = fixture.new_key(daemon_fixture.SENDER, "--name", "trial", "--test")
        fixture.start()
        with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
            calls = [pool.submit(self.call, fixture, number) for number in range(CALLS)]
            for kill in range(KILLS):
                daemon_fixture.wait_until(lambda wanted=(kill + 1) * CALLS // (KILLS + 2): sum(one.done() for one in calls) >= wanted,
                                          "calls before a kill")
                fixture.kill()
                fixture.start()
            done = [one.result() for one in calls]
        self.assertLessEqual({200, 201, 202, 400, 403, 429, 500, 503}, set(done))
        daemon_fixture.wait_until(lambda: fixture.query(UNFINISHED)[0][0] == 0, "the end of each test gift", 300, 0.5)
        made = fixture.query("SELECT count(*) FROM recipient_transaction")[0][0]
        self.assertGreater(made, CALLS // 4)
        self.assertEqual(fixture.query("SELECT count(*) FROM recipient_transaction WHERE is_test = 0")[0][0], 0)
        self.assertEqual(fixture.ctl_json("gift", "list"), [])
        self.assertEqual(fixture.ctl_json("do-not-send", "list"), [])
        fixture.ctl("gift", "purge-test")
        self.assertEqual(fixture.query("SELECT (SELECT count(*) FROM recipient_transaction) + (SELECT count(*) FROM test_record)")[0][0], 0)

    # covers: TEST-2, TEST-3
    def test_no_file_and_no_row_of_the_managed_crm_is_written(self):
        fixture = self.new_fixture().seed()
        self.run_calls(fixture)
        self.assertEqual(list(fixture.outbox.glob("*")) if fixture.outbox.exists() else [], [])
        self.assertEqual(fixture.query(RECORDS)[0][0], 0)

    # covers: TEST-2, TEST-3
    def test_the_relay_gets_no_mail_and_the_org_no_row(self):
        relay = SmtpRelay()
        self.addCleanup(relay.close)
        fixture = self.new_fixture(crm=self.org.settings())
        fixture.email = relay.settings(fixture.folder)
        fixture.write_settings()
        self.run_calls(fixture.seed())
        self.assertNotIn("data", relay.phases())
        self.assertEqual(relay.journal(), [])
        self.assertEqual((self.org.gift_records(), self.org.tasks()), ({}, {}))


if __name__ == "__main__":
    daemon_fixture.main()
