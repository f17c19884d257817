#!/usr/bin/python3
"""Everything at once, with daemons that are killed and a relay and a CRM that are away now and then; at the end an audit that adds
up: each acknowledged request, change and decision is once in store, CRM and mails. scripts/soak runs it for longer.

SOAK_MINUTES (1), SOAK_STORE (sqlite or postgresql), SOAK_DAEMONS (1 on sqlite, else 2), SOAK_KILLS a minute (6), SOAK_PAUSE seconds
of each client after a call (0.05).
"""
import collections
import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

import daemon_fixture
import mixed_load
from gift_load import skip_backoff, wait_until_idle
from http_client import SEND, gift_request
from mixed_load import Caller, MixedLoad
from smtp_relay import SmtpRelay
from status_sources_test import FakeFeed, feed

MINUTES = float(os.environ.get("SOAK_MINUTES", "1"))
STORE = os.environ.get("SOAK_STORE", "sqlite")
DAEMONS = int(os.environ.get("SOAK_DAEMONS", "1" if STORE == "sqlite" else "2"))
KILLS_PER_MINUTE = float(os.environ.get("SOAK_KILLS", "6"))
PAUSE_SECONDS = float(os.environ.get("SOAK_PAUSE", "0.05"))
MAX_RESIDENT_KILOBYTES = int(os.environ.get("SOAK_MAX_KILOBYTES", str(192 * 1024)))
DAY = 24 * 60 * 60 * 1000
RELAY_AWAY_SECONDS = 4
CRM_AWAY_SECONDS = 3
BACKFILL_SECONDS = 600


def settings(feed_server):
    sources = [mixed_load.SOURCE, feed(feed_server)]
    return f"sources: {json.dumps(sources)}\nlifecycle: {{ reminder_days: [7], refund: at_once }}\n"


class Timers:
    """Gifts whose deadline is moved into the past once their mail left: each has to expire and to be refunded, once."""

    def __init__(self, soak):
        self.soak, self.number, self.gifts, self.aged = soak, 0, [], set()

    def send(self):
        caller = Caller(self.soak.load, self.number)
        response = caller.call("POST", SEND, gift_request(f"timer{self.number}@example.com"), {"Idempotency-Key": f"timer-{self.number}"})
        caller.close()
        self.soak.assertEqual(response.status, 201, response)
        self.gifts.append(response.json()["data"]["recipients"][0]["recipient_transaction_id"])
        self.number += 1

    def age(self):
        waiting = [gift for gift in self.gifts if gift not in self.aged]
        if not waiting:
            return
        listed = ", ".join(map(str, waiting))
        sent = {int(gift) for (gift,) in self.soak.store.query(
            f"SELECT id FROM recipient_transaction WHERE id IN ({listed}) AND sent_at IS NOT NULL AND due_at IS NOT NULL")}
        for gift in sent:  # a new version: else a daemon that folds the gift at this moment writes the old times back
            self.soak.store.query(f"UPDATE recipient_transaction SET version = version + 1, sent_at = sent_at - {40 * DAY}, "
                                  f"due_at = due_at - {40 * DAY} WHERE id = {gift}")
        self.aged |= sent

    def audit(self):
        counted = collections.Counter((int(gift), status) for gift, status in self.soak.store.query(
            "SELECT transaction_id, status FROM change_log WHERE source = 'timer'"))
        wrong = {gift: (counted[gift, "expired"], counted[gift, "refunded"]) for gift in self.aged
                 if (counted[gift, "expired"], counted[gift, "refunded"]) != (1, 1)}
        self.soak.assertEqual(wrong, {}, "timers decided not once")


class Feed:
    """A polled feed that reports on decided gifts."""

    def __init__(self, soak):
        self.soak, self.server, self.reported = soak, FakeFeed(page=20), set()

    def add(self):
        new = [gift for gift in list(self.soak.load.decisions) if gift not in self.reported][:20]
        when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        self.server.add(*({"gift": {"id": gift}, "what": "viewed", "when": when, "event": f"feed-{gift}"} for gift in new))
        self.reported.update(new)

    def stored(self):
        return collections.Counter(int(gift) for (gift,) in self.soak.store.query("SELECT transaction_id FROM change_log WHERE source = 'feed'"))

    def audit(self):
        daemon_fixture.wait_until(lambda: len(self.stored()) >= len(self.reported), "the feed's events", pace_seconds=0.5)
        self.soak.assertEqual(self.stored(), collections.Counter(self.reported), "events of the feed lost or doubled")


class SoakTest(daemon_fixture.DaemonTestCase):
    def setUp(self):
        if STORE == "postgresql" and "GIFTSYNC_TEST_PG" not in os.environ:
            raise unittest.SkipTest("GIFTSYNC_TEST_PG is not set: run scripts/with-postgresql")
        self.random = random.Random(11)
        self.counts = collections.Counter()
        self.samples = []  # (seconds, resident kilobytes of each daemon, queued mails, queued records)
        self.backfill = None
        self.relay = SmtpRelay()
        self.addCleanup(self.relay.close)
        self.feed = Feed(self)
        self.addCleanup(self.feed.server.close)
        self.daemons = self.new_daemons()
        self.store = self.daemons[0]
        self.load = MixedLoad(*self.daemons, name="soak", pause_seconds=PAUSE_SECONDS)
        self.timers = Timers(self)

    def new_daemons(self):
        store = daemon_fixture.store_settings(STORE)
        daemons = []
        for number in range(DAEMONS):
            folder = daemons[0].folder if daemons else None
            one = self.new_fixture(store=store, folder=folder, name=f"daemon{number}")
            one.email = self.relay.settings(one.folder)
            one.write_settings(settings(self.feed.server))
            one.key = daemons[0].key if daemons else one.seed().key
            daemons.append(one.start())
        return daemons

    # ---- What happens beside the load ------------------------------------------------------------------------------
    def kill_one(self):
        one = self.random.choice(self.daemons)
        one.kill()
        one.start(wait=False)
        self.counts["kills"] += 1

    def reload_one(self):
        one = self.random.choice(self.daemons)
        if one.is_ready():  # before it blocks the signal, SIGHUP would end it
            one.signal(signal.SIGHUP)
            self.counts["reloads"] += 1

    def relay_away(self):
        self.relay.stop()
        threading.Timer(RELAY_AWAY_SECONDS, self.relay.start).start()
        self.counts["relay away"] += 1

    def crm_away(self):
        """The CRM's tables are locked. On SQLite that is the whole store."""
        threading.Thread(target=self.lock_crm, daemon=True).start()
        self.counts["CRM away"] += 1

    def lock_crm(self):
        if STORE == "postgresql":
            self.store.psql(f"BEGIN; LOCK TABLE crm_gift_record IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({CRM_AWAY_SECONDS}); COMMIT;")
            return
        with contextlib.closing(sqlite3.connect(self.store.folder / "giftsync.db", timeout=30, isolation_level=None)) as store:
            store.execute("BEGIN IMMEDIATE")
            time.sleep(CRM_AWAY_SECONDS)
            store.execute("ROLLBACK")

    def run_backfill(self):
        """The next one, when the last one has ended: to wait for it would delay everything else of the schedule."""
        if self.backfill is not None and self.backfill.poll() is None:
            return
        self.end_backfill()
        self.backfill = subprocess.Popen([daemon_fixture.GIFTSYNCCTL, "--config", str(self.store.settings), "backfill", "gift-records"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def end_backfill(self):
        if self.backfill is None:
            return
        _, errors = self.backfill.communicate(timeout=BACKFILL_SECONDS)
        self.assertEqual(self.backfill.returncode, 0, errors)
        self.backfill = None
        self.counts["backfills"] += 1

    def sample(self):
        """Queue lengths straight from the store: a daemon may be starting."""
        mails = self.count("SELECT count(*) FROM mail_outbox WHERE state IN ('queued', 'sending')")
        records = self.count("SELECT count(*) FROM crm_outbox")
        resident = [one.resident_kilobytes() for one in self.daemons]
        self.samples.append((time.monotonic() - self.begun, max(resident), mails, records))

    def count(self, sql):
        return int(self.store.query(sql)[0][0])

    # ---- The run ---------------------------------------------------------------------------------------------------
    def run_schedule(self, seconds):
        """Each job at its pace, in this thread; in the last seconds nothing new is broken."""
        paces = [(60 / KILLS_PER_MINUTE, self.kill_one), (7, self.reload_one), (23, self.relay_away), (19, self.crm_away),
                 (29, self.run_backfill), (3, self.timers.send), (2, self.timers.age), (1, self.feed.add), (3, self.sample)]
        due = [self.begun + pace for pace, _ in paces]
        while (now := time.monotonic()) < self.begun + seconds:
            for index, (pace, job) in enumerate(paces):
                if due[index] <= now:
                    job()
                    due[index] = max(due[index] + pace, now)
            self.load.stopping.wait(0.05)
            self.assertEqual(self.load.faults, [])

    def end(self):
        self.load.finish()
        self.end_backfill()
        for one in self.daemons:
            one.wait_ready()
        daemon_fixture.wait_until(lambda: self.relay.process is not None, "the relay")
        for _ in range(3):  # mails in the hands of a daemon that was killed are uncertain
            skip_backoff(self.store, ("queued", "uncertain"))
            wait_until_idle(self.store)
        self.timers.age()
        daemon_fixture.wait_until(lambda: self.count("SELECT count(*) FROM recipient_transaction WHERE due_at <= "
                                                     f"{int(time.time() * 1000)}") == 0, "the timers", pace_seconds=0.5)
        wait_until_idle(self.store)

    def check_is_flat(self):
        """The last third has no longer queues than the second one, and no daemon grew large."""
        if not daemon_fixture.IS_SANITIZED:
            self.assertLess(max(sample[1] for sample in self.samples), MAX_RESIDENT_KILOBYTES)
        third = len(self.samples) // 3
        if third < 4:
            return  # too short to tell growth from an outage
        for column, name in ((2, "mails"), (3, "records")):
            middle = min(sample[column] for sample in self.samples[third:2 * third])
            last = min(sample[column] for sample in self.samples[2 * third:])
            self.assertLessEqual(last, 2 * middle + 500, f"queued {name} grow")

    def check_counts(self):
        """NUM-3: over all days the counts of reports are what the gifts say. age() moved gifts to other days behind the daemons' backs,
        and so what redeeming took."""
        lacking = collections.Counter()
        for row in json.loads(self.store.try_ctl("db", "check", "--json").stdout):
            if not row["number"].startswith(("redeem_seconds", "redeemed_")):
                lacking[row["organization"], row["by"], row["key"], row["number"]] += row["gifts"] - row["counted"]
        self.assertEqual({key: count for key, count in lacking.items() if count}, {}, "counts of reports are wrong")

    def test_nothing_is_lost_or_doubled(self):
        self.begun = time.monotonic()
        self.load.start()
        self.run_schedule(60 * MINUTES)
        self.end()
        taken = time.monotonic() - self.begun
        print(f"{self.load.summary()}; {dict(self.counts)}, {len(self.timers.aged)} timers, {len(self.feed.reported)} events of the feed, "
              f"at most {max(sample[1] for sample in self.samples) // 1024} MiB, {max(sample[2] for sample in self.samples)} queued mails, "
              f"{max(sample[3] for sample in self.samples)} queued records; {taken:.0f} s ", end="", flush=True)
        self.check_is_flat()
        self.feed.audit()
        wait_until_idle(self.store)
        self.timers.audit()
        self.check_counts()
        mixed_load.audit(self, self.store, self.load, self.relay.arrivals())
        print(f"\nsoak passed: {STORE}, {DAEMONS} daemon{'s' if DAEMONS > 1 else ''}, {self.counts['kills']} kills in {taken / 60:.1f} minutes; "
              f"{len(self.load.requests)} requests, {len(self.load.changes)} changes, {len(self.load.decisions)} decisions, "
              f"{len(self.timers.aged)} timers and {len(self.feed.reported)} events: none lost, none doubled", flush=True)


if __name__ == "__main__":
    daemon_fixture.main()
