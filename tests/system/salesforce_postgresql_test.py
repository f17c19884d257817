#!/usr/bin/python3
"""Two daemons on one PostgreSQL that write to an org without giftsync's package (bare mode): one is killed while it has the
writer's lease. Run by scripts/with-postgresql.

By default the leases of the killed one end because the test ends them in the store, as the database's clock would;
LEASES=real waits for them (four minutes). GIFTS (40) requests.
"""
import os
import threading
import time

import daemon_fixture
from daemon_fixture import wait_until
from fake_org import OrgTestCase
from gift_load import GiftLoad, wait_until_idle
from http_client import Client

GIFTS = int(os.environ.get("GIFTS", "40"))
WAIT_FOR_LEASES = os.environ.get("LEASES") == "real"
LONGEST_LEASE_SECONDS = 245
TAKEOVER_SECONDS = 20
SLOW_MILLIS = 3000
RANKS = {"sent": 0, "delivered": 1, "opened": 2, "redeemed": 3}
RECORDS = "SELECT recipienttransactionid, recipienttransactionstatus FROM crm_gift_record WHERE isdeleted = 0"


class RecordWatcher:
    """Reads the org's records repeatedly, and notes every second record of a gift and every status that goes back."""

    def __init__(self, org):
        self.org, self.seen, self.faults = org, {}, []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(0.1):
            self.look()

    def look(self):
        records = [(int(float(number)), status) for number, status in self.org.sql(RECORDS)]
        if len({number for number, _ in records}) != len(records):
            self.faults.append(("a gift has two records", records))
        for number, status in records:
            before = self.seen.get(number, status)
            if RANKS[status] < RANKS[before]:
                self.faults.append((number, before, status))
            self.seen[number] = status
        return self.seen

    def finish(self):
        self.stopping.set()
        self.thread.join()
        return self.look()


class TwoWriters(OrgTestCase):
    foreign = "thx"

    def new_pair(self):
        crm = {**self.org.settings(mode="bare", share=90), "namespace": "thx"}
        store = daemon_fixture.store_settings("postgresql")
        named = [{"email": {"transport": "file", "directory": f"outbox of {name}", "from": "gifts@example.com"}, "name": name}
                 for name in ("first", "second")]
        first = self.new_fixture(store=store, crm=crm, **named[0])
        second = self.new_fixture(store=store, crm=crm, folder=first.folder, **named[1])
        second.key = first.seed().key
        return first.start(), second.start()

    def change(self, fixture, numbers, status):
        lines = [f'{{"recipient_transaction_id": {number}, "status": "{status}", "occurred_at": "2020-11-20T10:0{RANKS[status]}:00Z"}}'
                 for number in numbers]
        fixture.ctl("change", "import", fixture.write(f"{status}.ndjson", "\n".join(lines) + "\n"))

    @staticmethod
    def writer(*fixtures):
        """The fixture whose daemon has the writer's lease."""
        [owner] = fixtures[0].query("SELECT lease_owner FROM writer_lease WHERE name = 'salesforce'")[:1] or [("",)]
        return next((one for one in fixtures if f"process {one.daemon.pid}," in owner[0]), None)

    @staticmethod
    def end_leases(survivor, port, pid):
        """Those of the killed daemon."""
        if WAIT_FOR_LEASES:
            wait_until(lambda: not survivor.query(f"SELECT 1 FROM writer_lease WHERE name = 'salesforce' AND lease_owner LIKE '%process {pid},%' "
                                                  "AND lease_until > extract(epoch FROM clock_timestamp()) * 1000"),
                       "the end of the lease", LONGEST_LEASE_SECONDS, pace_seconds=0.2)
        for table in ("crm_outbox", "mail_outbox"):
            survivor.query(f"UPDATE {table} SET lease_until = 0 WHERE lease_owner LIKE '% 127.0.0.1:{port}%'")
        if not WAIT_FOR_LEASES:
            survivor.query(f"UPDATE writer_lease SET lease_until = 1 WHERE lease_owner LIKE '%process {pid},%'")

    # ORG-9, ORG-1
    def test_the_other_daemon_goes_on_when_the_writer_is_killed(self):
        pair = self.new_pair()
        watch = RecordWatcher(self.org)
        load = GiftLoad(*pair, count=GIFTS, clients=8).start()
        load.join(120)
        known = [one["recipient_transaction_id"] for data in load.acknowledged.values() for one in data["recipients"]]
        wait_until(lambda: set(known) <= set(watch.seen), "the first records", 120, pace_seconds=0.1)

        # The writer is killed while the org answers its call.
        self.org.script("POST", "settings", {"answer_delay_millis": str(SLOW_MILLIS)})
        more = GiftLoad(*pair, count=GIFTS, name="more", clients=8).start()
        self.change(pair[1], known, "opened")
        killed = wait_until(lambda: self.writer(*pair), "a writer", 60)
        [survivor] = [one for one in pair if one is not killed]
        pid = killed.daemon.pid
        killed.kill()
        self.org.script("POST", "settings", {"answer_delay_millis": ""})
        [(owner, is_running)] = survivor.query("SELECT lease_owner, lease_until > extract(epoch FROM clock_timestamp()) * 1000 "
                                               "FROM writer_lease WHERE name = 'salesforce'")
        self.assertIn(f"process {pid},", owner, "it was killed while it had the lease")
        self.assertEqual(is_running, "t")

        # Gifts are taken, nothing is written, and what it left is not written over what came meanwhile.
        self.change(survivor, known[::2], "redeemed")
        with Client(survivor) as client:
            response = client.send_gift("marker@example.com")
        self.assertEqual(response.status, 201, response)
        marker = response.json()["data"]["recipients"][0]["recipient_transaction_id"]
        wait_until(lambda: f"process {pid}," in survivor.whole_log(), "the pause of the other daemon", 60, pace_seconds=0.1)
        self.assertNotIn(marker, watch.seen)
        self.end_leases(survivor, killed.port, pid)
        ended = time.monotonic()
        wait_until(lambda: marker in watch.seen, "the record of the other daemon", 120)
        seconds = time.monotonic() - ended

        killed.start()
        more.join(120)
        for one in pair:
            wait_until_idle(one, 120)
        records = watch.finish()
        print(f"the other daemon wrote {seconds:.1f} s after the lease's end ", end="", flush=True)
        self.assertEqual(watch.faults, [])
        self.assertLess(seconds, TAKEOVER_SECONDS)
        stored = {int(number): status for number, status in survivor.query("SELECT id, status FROM recipient_transaction")}
        self.assertEqual(records, stored, "the org has what the store has")
        self.assertEqual({number for number, status in records.items() if status == "redeemed"}, set(known[::2]))
        self.assertEqual(len(stored), 1 + sum(len(load.addresses(number)) + len(more.addresses(number)) for number in range(GIFTS)))


if __name__ == "__main__":
    daemon_fixture.main()
