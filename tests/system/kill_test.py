#!/usr/bin/python3
"""A daemon that is killed repeatedly under load loses no gift and sends none twice.

GIFTS (500) requests are posted by 32 clients while the daemon is killed KILLS (10) times.
"""
import os
import time

import daemon_fixture
from gift_load import GiftLoad, wait_until_idle, check_mailed_once, check_stored_once
from mails import Collector

GIFTS = int(os.environ.get("GIFTS", "500"))
KILLS = int(os.environ.get("KILLS", "10"))


class KillTest(daemon_fixture.DaemonTestCase):
    back_end = "sqlite"
    gifts = GIFTS
    kills = KILLS

    # HTTP-5, ARCH-15
    def test_nothing_is_lost_and_nothing_duplicated(self):
        fixture = self.new_fixture(store=daemon_fixture.store_settings(self.back_end)).seed()
        collector = Collector(fixture.outbox)
        begun = time.monotonic()
        fixture.start()
        load = GiftLoad(fixture, count=self.gifts).start()
        total = load.count + load.mails_expected()
        for kill in range(1, self.kills + 1):
            # First while requests are posted, later while mails are sent.
            self.wait_progress(load, collector, total * kill // (self.kills + 1))
            fixture.kill()
            fixture.start(wait=False)
        load.join()
        wait_until_idle(fixture, 120 + self.gifts)
        mails, repeated = collector.finish()
        print(f"{load.count} requests, {len(mails)} mails, {self.kills} kills, {load.without_response} without a response, "
              f"{time.monotonic() - begun:.1f} s ", end="", flush=True)
        self.assertEqual(len(load.acknowledged), load.count)
        check_stored_once(self, fixture, load)
        check_mailed_once(self, load, mails, repeated)
        mail = fixture.status()["mail"]
        self.assertEqual({name: mail[name] for name in ("undelivered", "uncertain", "held", "pause", "accepted")},
                         {"undelivered": 0, "uncertain": 0, "held": 0, "pause": None, "accepted": load.mails_expected()})
        statuses = {record["RecipientTransactionStatus"] for record in fixture.gift_records() if record["DeliveryType"] == "email"}
        self.assertEqual(statuses, {"delivered"})
        fixture.ctl("db", "check")  # NUM-3
        fixture.stop()
        self.assertEqual(list(fixture.outbox.glob("*")) + list(fixture.outbox.glob(".*")), [], "leftover files in the outbox")

    @staticmethod
    def wait_progress(load, collector, goal):
        load.wait_for(lambda: len(load.acknowledged) + len(collector.arrivals) >= goal, f"{goal} requests and mails")


if __name__ == "__main__":
    daemon_fixture.main()
