#!/usr/bin/python3
"""Two daemons on one PostgreSQL post the events of one feed: the one that posts is suspended in the middle of a batch until its lease
has ended, resumed, and killed. Each event arrives, in the order of its gift, and the place in the feed never goes back. Run by
scripts/with-postgresql.

By default the lease ends because the test ends it in the store, as the database's clock would; LEASES=real waits for it (a minute for
each of ROUNDS). GIFTS (24) for each of ROUNDS (2), each a suspension and a kill.

covers: HOOK-1 HOOK-5
"""
import collections
import http.server
import json
import os
import signal
import threading
import time

import daemon_fixture
from daemon_fixture import wait_until
from http_client import Client

GIFTS = int(os.environ.get("GIFTS", "24"))
KILLS = int(os.environ.get("KILLS", "1"))
STOPS = int(os.environ.get("STOPS", "1"))
WAIT_FOR_LEASES = os.environ.get("LEASES") == "real"
LEASE_SECONDS = 65
MORE = 'feed: { enabled: true }\nwebhooks: { allowed_networks: ["127.0.0.0/8"] }\n'
LEASE = "name LIKE 'webhook %' AND name NOT LIKE '%next%' AND lease_owner <> ''"


class Receiver:
    """Takes each call after a moment, so that a batch lasts, and keeps what came in its order."""

    def __init__(self, delay_seconds):
        self.calls = []  # (seq, gift, version of the change, version shown)
        self.lock = threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                receiver.take(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                time.sleep(delay_seconds)
                self.send_response(204)
                self.end_headers()

            def handle_one_request(self):
                try:
                    super().handle_one_request()
                except OSError:  # the daemon was killed
                    self.close_connection = True

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/hook"

    def take(self, event):
        data = event["data"]
        seq = int(data["event_id"].rpartition("_")[2])
        with self.lock:
            self.calls.append((seq, data["recipient_transaction_id"], data["change"]["version"], data["gift"]["version"]))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class PlaceWatcher:
    """Reads the endpoint's place all the time."""

    def __init__(self, fixture):
        self.fixture, self.places = fixture, []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(0.1):
            self.places += [int(row[0]) for row in self.fixture.query("SELECT position FROM webhook_endpoint")]

    def finish(self):
        self.stopping.set()
        self.thread.join()
        return self.places


class WebhooksOfTwoDaemons(daemon_fixture.DaemonTestCase):
    def new_pair(self):
        store = daemon_fixture.store_settings("postgresql")
        first = self.new_fixture(store=store, more=MORE)
        second = self.new_fixture(store=store, folder=first.folder, name="second", more=MORE)
        second.key = first.seed().key
        first.start()
        second.start()
        return first, second

    def test_a_suspended_and_a_killed_daemon_lose_no_event(self):
        receiver = Receiver(0.03)
        self.addCleanup(receiver.close)
        self.pair = self.new_pair()
        self.pair[0].ctl("webhook", "create", "--name", "crm", "--url", receiver.url, "--types", "gift.*")
        watcher = PlaceWatcher(self.pair[0])
        self.addCleanup(watcher.finish)
        handovers = 0
        for number in range(KILLS + STOPS):
            handovers += self.interrupt(receiver, f"round{number}", self.kill if number < KILLS else self.suspend)
        self.wait_posted(receiver)
        places = watcher.finish()
        events = {call[0] for call in receiver.calls}
        print(f"{len(receiver.calls)} calls, {len(events)} events, {handovers} handovers ", end="", flush=True)
        self.assertEqual(handovers, KILLS + STOPS)
        self.assertEqual(places, sorted(places), "the place went back")
        first_calls = collections.defaultdict(list)
        seen = set()
        for seq, gift, changed, shown in receiver.calls:
            self.assertGreaterEqual(shown, changed, "the gift is older than the event")
            if seq not in seen:
                first_calls[gift].append(seq)
            seen.add(seq)
        for gift, seqs in first_calls.items():
            self.assertEqual(seqs, sorted(seqs), f"events of gift {gift} in another order")
        wait_until(lambda: self.pair[0].query("SELECT count(*) FROM webhook_retry") == [("0",)], "no event that waits to be tried again")

    def interrupt(self, receiver, name, how):
        """Makes events, interrupts the daemon that posts them once it has begun, and waits until the other one has posted the rest.
        Returns whether that has taken the lease."""
        before = len(receiver.calls)
        without_outcome = before - self.attempts()  # of killed daemons
        posting, other = self.posting_and_other()
        self.make_events(other, name)
        wait_until(lambda: len(receiver.calls) > before + GIFTS // 4, "some calls", pace_seconds=0.002)
        how(receiver, posting, without_outcome)
        return int(self.posting_and_other() == (other, posting))

    def suspend(self, receiver, posting, without_outcome):
        posting.signal(signal.SIGSTOP)
        try:
            self.end_lease(posting)
            self.wait_posted(receiver)
        finally:
            posting.signal(signal.SIGCONT)
        # It stores what became of its batch, though the other one has stored more.
        wait_until(lambda: self.attempts() + without_outcome >= len(receiver.calls), "an outcome of each call", pace_seconds=0.1)

    def attempts(self):
        return int(self.pair[0].query("SELECT count(*) FROM webhook_attempt")[0][0])

    def kill(self, receiver, posting, _):
        posting.kill()
        self.end_lease(posting)
        self.wait_posted(receiver)
        posting.start()

    def end_lease(self, fixture):
        if WAIT_FOR_LEASES:
            time.sleep(LEASE_SECONDS)
        else:
            fixture.query(f"UPDATE writer_lease SET lease_until = 0 WHERE {LEASE} AND lease_owner LIKE '% 127.0.0.1:{fixture.port}%'")

    def posting_and_other(self):
        """The pair, the one that has the lease first."""
        def found():
            owners = [row[0] for row in self.pair[0].query(f"SELECT lease_owner FROM writer_lease WHERE {LEASE}")]
            return [one for one in self.pair if any(f"127.0.0.1:{one.port}" in owner for owner in owners)]

        [posting] = wait_until(found, "a daemon that posts", pace_seconds=0.1)
        return posting, next(one for one in self.pair if one is not posting)

    def make_events(self, fixture, name):
        with Client(fixture) as client:
            response = client.send_gift(*(f"{name}.{number}@example.com" for number in range(GIFTS)))
        self.assertEqual(response.status, 201, response)
        ids = [one["recipient_transaction_id"] for one in response.json()["data"]["recipients"]]
        lines = [json.dumps({"recipient_transaction_id": gift, "status": status, "occurred_at": f"2020-11-20T10:{minute:02d}:00Z"})
                 for gift in ids for minute, status in enumerate(("opened", "redeemed"))]
        fixture.ctl("change", "import", fixture.write(f"{name}.ndjson", "\n".join(lines) + "\n"))

    def wait_posted(self, receiver):
        """Until each event of the feed has come and is stored as posted, and no mark waits for the feed."""
        def all_came():
            [(marks, place)] = self.pair[0].query("SELECT (SELECT count(*) FROM feed_queue), position FROM webhook_endpoint")
            events = {int(row[0]) for row in self.pair[0].query("SELECT seq FROM feed_event")}
            return int(marks) == 0 and int(place) >= max(events) and events == {call[0] for call in list(receiver.calls)}

        wait_until(all_came, "each event to come", 120, pace_seconds=0.1)


if __name__ == "__main__":
    daemon_fixture.main()
