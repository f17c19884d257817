#!/usr/bin/python3
"""Two daemons on one PostgreSQL; one of them is suspended until its leases expire, and resumed. Run by scripts/with-postgresql.

By default leases end because the test ends them in the store, as the database's clock would; LEASES=real waits for them
(two minutes for each of ROUNDS). GIFTS (120) requests, ROUNDS (2).
"""
import json
import os
import signal
import threading
import time

import daemon_fixture
from gift_load import GiftLoad, wait_until_idle, check_stored_once, skip_backoff
from http_client import Client
from smtp_relay import SmtpRelay

GIFTS = int(os.environ.get("GIFTS", "120"))
ROUNDS = int(os.environ.get("ROUNDS", "2"))
WAIT_FOR_LEASES = os.environ.get("LEASES") == "real"
LONGEST_LEASE_SECONDS = 95
RESPONSE_SECONDS = 45


def end_leases(fixture):
    """Expires the leases of a daemon that is suspended or killed."""
    if WAIT_FOR_LEASES:
        time.sleep(LONGEST_LEASE_SECONDS)
        return
    mine = f"lease_owner LIKE '% 127.0.0.1:{fixture.port}%'"
    for table in ("crm_outbox", "mail_outbox"):
        fixture.query(f"SET lock_timeout = '5s'; UPDATE {table} SET lease_until = 0 WHERE transaction_id IN (SELECT transaction_id "
                      f"FROM {table} WHERE {mine} FOR UPDATE SKIP LOCKED)")


class RecordWatcher:
    """Reads the gift records repeatedly and records every version or time that decreases."""

    COLUMNS = "recipienttransactionid, record_version, recipienttransactionstatus, opened_date_time, redeemed_date_time"

    def __init__(self, fixture):
        self.fixture, self.seen, self.faults, self.rounds = fixture, {}, [], 0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(0.3):
            self.check_records_once()

    def check_records_once(self):
        for number, version, status, opened, redeemed in self.fixture.query(f"SELECT {self.COLUMNS} FROM crm_gift_record"):
            now = (int(version), status, opened, redeemed)
            before = self.seen.get(number, now)
            vanished = (before[2] and not opened) or (before[3] and not redeemed)
            if now[0] < before[0] or vanished or (now[0] == before[0] and now != before):
                self.faults.append((number, before, now))
            self.seen[number] = now
        self.rounds += 1

    def finish(self):
        self.stopping.set()
        self.thread.join()
        self.check_records_once()
        return self.faults


class TwoDaemons(daemon_fixture.DaemonTestCase):
    def new_pair(self):
        relay = SmtpRelay()
        self.addCleanup(relay.close)
        store = daemon_fixture.store_settings("postgresql")
        first = self.new_fixture(store=store)
        second = self.new_fixture(store=store, folder=first.folder, name="second")
        for one in (first, second):
            one.email = relay.settings(first.folder)
            one.write_settings()
        second.key = first.seed().key
        first.start()
        second.start()
        return first, second, relay

    def change(self, fixture, ids, status, minute):
        lines = [json.dumps({"recipient_transaction_id": number, "status": status,
                             "occurred_at": f"2020-11-20T10:{minute:02d}:00Z"}) for number in ids]
        fixture.ctl("change", "import", fixture.write(f"{status}.ndjson", "\n".join(lines) + "\n"))

    def test_one_is_suspended_and_resumed_under_load(self):
        first, second, relay = self.new_pair()
        watch = RecordWatcher(first)
        load = GiftLoad(first, second, count=GIFTS, clients=16).start()
        stalls = []
        for number in range(ROUNDS):
            sleeper, other = (second, first) if number % 2 else (first, second)
            load.wait_acknowledged(GIFTS * number // (ROUNDS + 2))
            sleeper.signal(signal.SIGSTOP)
            try:
                stalls.append(self.wait_for_response(other, number))
                known = [one["recipient_transaction_id"] for data in list(load.acknowledged.values()) for one in data["recipients"]]
                self.change(other, known[::3], "opened", number)
                end_leases(sleeper)
                self.wait_record(other, self.send(other, f"marker{number}@example.com"))
                self.change(other, known[::6], "redeemed", 30 + number)
            finally:
                sleeper.signal(signal.SIGCONT)
        load.join()
        for _ in range(3):  # rows that a suspended daemon had claimed are uncertain
            skip_backoff(first, ("queued", "uncertain"))
            wait_until_idle(first)
        faults = watch.finish()
        print(f"{GIFTS} requests, {ROUNDS} stops, {watch.rounds} rounds, longest wait for a response {max(stalls):.1f} s ",
              end="", flush=True)
        self.assertEqual(faults, [], "a record went back in time")
        self.assertLess(max(stalls), RESPONSE_SECONDS, "a suspended daemon delayed the other one")
        self.assertEqual(set(load.refused) - {409, 503}, set())
        check_stored_once(self, first, load)
        self.check_mails(first, relay, load)
        self.check_records(first)

    def send(self, fixture, address):
        with Client(fixture) as client:
            response = client.send_gift(address)
        self.assertEqual(response.status, 201, response)
        return response.json()["data"]["recipients"][0]["recipient_transaction_id"]

    def wait_for_response(self, fixture, number):
        begun = time.monotonic()
        self.send(fixture, f"meanwhile{number}@example.com")
        return time.monotonic() - begun

    @staticmethod
    def wait_record(fixture, number):
        """Waits until the running daemon has synced this gift."""
        daemon_fixture.wait_until(lambda: fixture.query(f"SELECT 1 FROM crm_gift_record WHERE recipienttransactionid = {number}"),
                         f"the record of gift {number}", 120, pace_seconds=0.3)

    def check_mails(self, fixture, relay, load):
        repeats = dict(fixture.query("SELECT t.email, d.uncertain_retries FROM mail_outbox d JOIN recipient_transaction t ON t.id = d.transaction_id"))
        arrivals = relay.arrivals()
        over = {email for (email,) in fixture.query(
            "SELECT t.email FROM mail_outbox d JOIN recipient_transaction t ON t.id = d.transaction_id "
            "WHERE d.state = 'withdrawn' AND t.status = 'redeemed'")}
        self.assertEqual(set(load.mailed_addresses()) - set(arrivals) - over, set(), "mails are missing")
        doubled = {address: ids for address, ids in arrivals.items() if len(ids) > 1}
        for address, ids in doubled.items():
            self.assertGreaterEqual(int(repeats[address]), 1, f"{address} came twice and was never uncertain")
            self.assertEqual(len(set(ids)), 1)
        print(f"{len(doubled)} mails repeated ", end="", flush=True)

    def check_records(self, fixture):
        """Each record agrees with the store's change log."""
        rows = fixture.query("SELECT t.id, t.status, t.version, r.recipienttransactionstatus, r.record_version FROM recipient_transaction t "
                           "JOIN crm_gift_record r ON r.recipienttransactionid = t.id")
        for number, status, version, shown, record_version in rows:
            self.assertEqual((shown, record_version), (status, version), number)
        redeemed = {row[0] for row in fixture.query("SELECT DISTINCT transaction_id FROM change_log WHERE status = 'redeemed'")}
        self.assertEqual({row[0] for row in rows if row[3] == "redeemed"}, redeemed)

    # OPS-9
    def test_both_serve_the_same_links_and_keys(self):
        first, second, _ = self.new_pair()
        with Client(first) as one, Client(second) as other:
            sent = one.send_gift("shared@example.com", idempotency_key="shared")
            self.assertEqual(sent.status, 201, sent)
            self.assertEqual(other.send_gift("shared@example.com", idempotency_key="shared").body, sent.body)
            record = daemon_fixture.wait_until(first.gift_records, "the record", pace_seconds=0.2)[0]
            path = record["RecipientTransactionLink"].removeprefix(first.url).removeprefix(second.url)
            for client in (one, other):
                self.assertEqual(client.get(path, authorization=False).status, 200)
                self.assertEqual(client.get(f"/api/v1/gift_requests/{sent.json()['data']['id']}").status, 200)
        first.kill()  # the second one serves everything
        with Client(second) as other:
            self.assertEqual(other.send_gift("alone@example.com").status, 201)
        wait_until_idle(second)


if __name__ == "__main__":
    daemon_fixture.main()
