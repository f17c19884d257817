#!/usr/bin/python3
"""How many gifts a recipient gets: 64 callers of four daemons on one PostgreSQL make one gift. Run by scripts/with-postgresql."""
import concurrent.futures

import daemon_fixture
from http_client import SEND, Client, gift_request

CALLERS = 64
SETTINGS = "sending:\n  frequency: { gifts: 1, days: 30 }\n"


class Frequency(daemon_fixture.DaemonTestCase):
    # GUARD-19
    def test_of_64_callers_of_four_daemons_one_makes_a_gift(self):
        store = daemon_fixture.store_settings("postgresql")
        daemons = []
        for number in range(4):
            one = self.new_fixture(store=store, folder=daemons[0].folder if daemons else None, name=f"daemon{number}",
                                   more=SETTINGS)
            one.key = daemons[0].key if daemons else one.seed().key
            daemons.append(one.start())

        def call(number):
            with Client(daemons[number % 4]) as client:
                return client.post(SEND, gift_request("kim@example.com")).json()

        with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
            answers = list(pool.map(call, range(CALLERS)))
        refused = [answer for answer in answers if answer.get("code") == "sending_refused"]
        self.assertEqual(len(refused), CALLERS - 1, answers)
        for answer in refused:
            self.assertEqual(answer["errors"][0]["code"], "recent_gift")
            self.assertRegex(answer["errors"][0]["message"], r"^kim@example\.com got 1 gift in the last 30 days \(the newest on "
                             r"\d{4}-\d\d-\d\d\); the limit is 1\.$")
        self.assertEqual(daemons[0].query("SELECT count(*) FROM recipient_transaction"), [("1",)])


if __name__ == "__main__":
    daemon_fixture.main()
