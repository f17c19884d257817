#!/usr/bin/python3
"""The feed over kills: a reader that goes on behind its cursor ends with the state of the store. Two daemons on one PostgreSQL, and
one on SQLite. Run by scripts/with-postgresql. SECONDS (6) of random writes, KILLS (2).

covers: API-10 API-12
"""
import json
import os
import random
import threading
import time

import daemon_fixture
from daemon_fixture import wait_until
from http_client import NO_RESPONSE, Client

SECONDS = float(os.environ.get("SECONDS", "6"))
KILLS = int(os.environ.get("KILLS", "2"))
WRITERS = 4
EVENTS = "/api/v1/events?limit=100"
FEED = "feed: { enabled: true }\n"
STATE = "SELECT id, status, version FROM recipient_transaction"
MARKS = "SELECT count(*) FROM feed_queue"


class Reader:
    """Follows `next` at random daemons, in a thread of its own."""

    def __init__(self, daemons):
        self.daemons, self.after, self.state, self.faults, self.events = daemons, None, {}, [], 0
        self.is_at_end = False
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping.is_set():
            try:
                with Client(random.choice(self.daemons)) as client:
                    self.read(client)
            except NO_RESPONSE:
                self.stopping.wait(0.05)

    def read(self, client):
        while not self.stopping.is_set():
            response = client.get(EVENTS + (f"&after={self.after}" if self.after else ""))
            if response.status == 503:
                return
            if response.status != 200:
                self.faults.append(repr(response))
                self.stopping.set()
                return
            page = response.json()
            for event in page["data"]:
                self.take(event)
            self.after = page["next"]
            self.is_at_end = not page["has_more"]
            if self.is_at_end:
                self.stopping.wait(0.05)
                return

    def take(self, event):
        self.events += 1
        gift, change = event["recipient_transaction_id"], event["change"]
        before = self.state.get(gift)
        if (before is None) != (event["type"] == "gift.sent"):
            self.faults.append(f"{event} after {before}")
        elif before and (change["from"] != before[0] or change["version"] < before[1]):
            self.faults.append(f"{event} after {before}")
        self.state[gift] = (change["to"], change["version"])

    def finish(self):
        self.stopping.set()
        self.thread.join()


class Writers:
    """Gift requests at random daemons and status changes by commands, until the time is over. Some have no response."""

    def __init__(self, daemons):
        self.daemons, self.end, self.faults = daemons, time.monotonic() + SECONDS, []
        self.threads = [threading.Thread(target=self.send, args=(number,)) for number in range(WRITERS)]
        self.threads.append(threading.Thread(target=self.change))
        for thread in self.threads:
            thread.start()

    def send(self, number):
        sent = 0
        while time.monotonic() < self.end:
            try:
                with Client(random.choice(self.daemons)) as client:
                    response = client.send_gift(f"p{number}.{sent}@example.com")
                if response.status not in (201, 503):
                    self.faults.append(repr(response))
            except NO_RESPONSE:
                pass
            sent += 1

    def change(self):
        fixture, choice = self.daemons[0], random.Random(7)
        while time.monotonic() < self.end:
            ids = [row[0] for row in fixture.query("SELECT id FROM recipient_transaction ORDER BY id DESC LIMIT 300")]
            lines = [json.dumps({"recipient_transaction_id": int(number), "status": choice.choice(("opened", "undelivered", "redeemed", "donated")),
                                 "occurred_at": f"2020-11-20T10:{choice.randrange(60):02d}:00Z"})
                     for number in choice.sample(ids, min(30, len(ids)))]
            if lines:
                fixture.ctl("change", "import", fixture.write("changes.ndjson", "\n".join(lines) + "\n"))

    def join(self):
        for thread in self.threads:
            thread.join()


class Feed(daemon_fixture.DaemonTestCase):
    def check(self, daemons):
        reader = Reader(daemons)
        self.addCleanup(reader.finish)
        writers = Writers(daemons)
        for number in range(KILLS):
            due = time.monotonic() + SECONDS / (KILLS + 1)
            wait_until(lambda due=due: time.monotonic() > due, "the next kill", SECONDS + 60)
            victim = daemons[number % len(daemons)]
            victim.kill()
            victim.start()
        writers.join()
        self.assertGreater(len(self.stored(daemons[0])), 20)
        # A mail whose outcome a kill made unknown is sent again later.
        wait_until(lambda: reader.faults or (reader.is_at_end and int(daemons[0].query(MARKS)[0][0]) == 0 and
                                             reader.state == self.stored(daemons[0])),
                   "the reader to see the store's state", 120, pace_seconds=0.3)
        reader.finish()
        print(f"{len(reader.state)} gifts, {reader.events} events, {KILLS} kills ", end="", flush=True)
        self.assertEqual(reader.faults, [])
        self.assertEqual(writers.faults, [])

    @staticmethod
    def stored(fixture):
        return {int(number): (status, int(version)) for number, status, version in fixture.query(STATE)}

    def test_a_reader_of_two_daemons_misses_nothing(self):
        store = daemon_fixture.store_settings("postgresql")
        first = self.new_fixture(store=store, more=FEED)
        email = {"transport": "file", "directory": "outbox2", "from": "gifts@example.com"}
        second = self.new_fixture(store=store, email=email, folder=first.folder, name="second", more=FEED)
        second.key = first.seed().key
        first.start()
        second.start()
        self.check([first, second])

    def test_a_reader_of_sqlite_misses_nothing(self):
        fixture = self.new_fixture(more=FEED)
        fixture.seed().start()
        self.check([fixture])

    def test_the_feed_ends_and_begins_again(self):
        fixture = self.new_fixture(more=FEED)
        fixture.seed().start()
        with Client(fixture) as client:
            client.send_gift("ada@example.com")
            page = wait_until(lambda: next((page for page in [client.get(EVENTS).json()] if page["data"]), None), "the event of the gift")
            self.assertEqual(page["data"][0]["type"], "gift.sent")
            place = page["next"]
        fixture.stop()
        fixture.write_settings()
        fixture.start()
        with Client(fixture) as client:
            self.assertEqual(client.get(EVENTS).json()["code"], "feed_off")
            self.assertEqual(client.send_gift("ben@example.com").status, 201)
        wait_until(lambda: int(fixture.query(MARKS)[0][0]) == 0, "the marks of before to be published")
        fixture.stop()
        fixture.write_settings(FEED)
        fixture.start()
        with Client(fixture) as client:
            expired = client.get(f"{EVENTS}&after={place}")
            self.assertEqual((expired.status, expired.json()["code"]), (410, "cursor_expired"))
            self.assertEqual(client.get(EVENTS).status, 200)
        before = fixture.query("SELECT value FROM store_metadata WHERE name = 'feed'")
        self.assertIn("the feed begins again", fixture.ctl("db", "restored"))
        self.assertNotEqual(fixture.query("SELECT value FROM store_metadata WHERE name = 'feed'"), before)


if __name__ == "__main__":
    daemon_fixture.main()
