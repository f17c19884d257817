#!/usr/bin/python3
"""A daemon that is killed again and again under load loses nothing and sends nothing twice.

GIFTS (1000) requests are posted by 32 clients while the daemon is killed KILLS (20) times.
"""
import os
import time

import house
from gift_load import GiftLoad, at_rest, check_mailed_once, check_stored_once
from mails import Collector

GIFTS = int(os.environ.get("GIFTS", "1000"))
KILLS = int(os.environ.get("KILLS", "20"))


class Killed(house.HouseTest):
    back_end = "sqlite"
    gifts = GIFTS
    kills = KILLS

    def test_nothing_is_lost_and_nothing_doubled(self):
        given = self.new_house(store=house.store_settings(self.back_end)).furnish()
        collector = Collector(given.outbox)
        begun = time.monotonic()
        given.start()
        load = GiftLoad(given, count=self.gifts).start()
        total = load.count + load.mails_expected()
        for kill in range(1, self.kills + 1):
            # While requests come in, and later while mails go out.
            self.wait_progress(load, collector, total * kill // (self.kills + 1))
            given.kill()
            given.start(wait=False)
        load.join()
        at_rest(given, 120 + self.gifts)
        mails, repeated = collector.finish()
        print(f"{load.count} requests, {len(mails)} mails, {self.kills} kills, {load.unanswered} without an answer, "
              f"{time.monotonic() - begun:.1f} s ", end="", flush=True)
        self.assertEqual(len(load.acknowledged), load.count)
        check_stored_once(self, given, load)
        check_mailed_once(self, load, mails, repeated)
        mail = given.status()["mail"]
        self.assertEqual({name: mail[name] for name in ("undelivered", "uncertain", "held", "pause", "accepted")},
                         {"undelivered": 0, "uncertain": 0, "held": 0, "pause": None, "accepted": load.mails_expected()})
        statuses = {record["RecipientTransactionStatus"] for record in given.gift_records() if record["DeliveryType"] == "email"}
        self.assertEqual(statuses, {"delivered"})
        given.stop()
        self.assertEqual(list(given.outbox.glob("*")) + list(given.outbox.glob(".*")), [], "something was left in the outbox")

    @staticmethod
    def wait_progress(load, collector, goal):
        load.wait_for(lambda: len(load.acknowledged) + len(collector.arrivals) >= goal, f"{goal} requests and mails")


if __name__ == "__main__":
    house.main()
