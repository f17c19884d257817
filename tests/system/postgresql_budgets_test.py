#!/usr/bin/python3
"""Four daemons on one PostgreSQL with one budget; all callers use all of them, and one daemon after the other is killed. Exactly the
gifts of the budget are sent. Run by scripts/with-postgresql.

GIFTS (100) in the budget, CALLS (300), KILLS (2).
"""
import concurrent.futures
import os

import daemon_fixture
from gift_load import skip_backoff, wait_until_idle
from http_client import NO_RESPONSE, SEND, Client, gift_request
from smtp_relay import SmtpRelay

DAEMONS = 4
CALLERS = 64
GIFTS = int(os.environ.get("GIFTS", "100"))
CALLS = int(os.environ.get("CALLS", "300"))
KILLS = int(os.environ.get("KILLS", "2"))


class BudgetOfSeveralDaemons(daemon_fixture.DaemonTestCase):
    def new_daemons(self, relay):
        store = daemon_fixture.store_settings("postgresql")
        daemons = []
        for number in range(DAEMONS):
            daemon = self.new_fixture(store=store, folder=daemons[0].folder if daemons else None, name=f"daemon{number}")
            daemon.email = relay.settings(daemon.folder)
            daemon.write_settings(f"sending:\n  budgets:\n    installation: {{ month_gifts: {GIFTS} }}\n")
            daemon.key = daemons[0].key if daemons else daemon.seed().key
            daemons.append(daemon.start())
        return daemons

    # GUARD-12
    def test_exactly_the_budget_is_sent_by_four_daemons_over_kills(self):
        relay = SmtpRelay()
        self.addCleanup(relay.close)
        daemons = self.new_daemons(relay)

        def call(number):
            """Repeats an unanswered call at the next daemon, as a caller behind a load balancer does."""
            for attempt in range(1000):
                try:
                    with Client(daemons[(number + attempt) % DAEMONS]) as client:
                        answer = client.post(SEND, gift_request(f"r{number}@example.com"), headers={"Idempotency-Key": f"r{number}"})
                except NO_RESPONSE:
                    continue
                if answer.status < 500:
                    return answer.status
            return None

        with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
            answers = [pool.submit(call, number) for number in range(CALLS)]
            for kill in range(KILLS):
                after = (kill + 1) * GIFTS // (KILLS + 1)
                daemon_fixture.wait_until(lambda at=after: sum(a.done() for a in answers) >= at, "answers before a kill", 300)
                daemons[kill % DAEMONS].kill()
                daemons[kill % DAEMONS].start()
            statuses = [answer.result() for answer in answers]
        self.assertEqual({status: statuses.count(status) for status in set(statuses)}, {201: GIFTS, 403: CALLS - GIFTS})
        for _ in range(3):  # rows that a killed daemon had claimed are uncertain
            skip_backoff(daemons[0], ("queued", "uncertain"))
            wait_until_idle(daemons[0])
        arrivals = relay.arrivals()
        self.assertEqual([len(set(ids)) for ids in arrivals.values()], [1] * GIFTS)
        self.assertEqual(daemons[0].query("SELECT COUNT(*) FROM crm_gift_record"), [(str(GIFTS),)])
        self.assertEqual(daemons[0].ctl_json("budget", "check"), [])


if __name__ == "__main__":
    daemon_fixture.main()
