#!/usr/bin/python3
"""A second giftsync follows the events of a first one, by the settings of docs/operations/sources.md with this test's address and
interval, and ends with its statuses and their times: over reports that come late, kills of both, a cursor that has expired, and events
that are gone.

covers: API-11 API-12 SRC-64 SRC-65
"""
import datetime
import json
import subprocess

import daemon_fixture
import yaml
from daemon_fixture import wait_until
from http_client import Client

PAGE = daemon_fixture.ROOT / "docs" / "operations" / "sources.md"
GIFTS = 16
FEED = "feed: { enabled: true }\n"
REACHED = "SELECT DISTINCT transaction_id, status, occurred_at FROM change_log WHERE status <> 'sent'"
STATUS = "SELECT id, status FROM recipient_transaction"


def block(language):
    """Of the page's section."""
    section = PAGE.read_text(encoding="utf-8").split("## Another giftsync\n")[1]
    return section.split(f"```{language}\n")[1].split("```")[0]


class FeedAsSource(daemon_fixture.DaemonTestCase):
    def setUp(self):
        self.first = self.new_fixture(more=FEED).seed().start()
        self.second = self.new_fixture()
        key = self.first.new_key(daemon_fixture.SENDER, "--scope", "read")
        (self.second.folder / "sender.key").write_text(key + "\n", encoding="utf-8")
        (self.second.folder / "sender.key").chmod(0o600)
        settings = yaml.safe_load(block("yaml").replace("https://gifts.example.com", self.first.url))
        settings["sources"][0]["interval"] = 1
        self.second.write_settings(json.dumps(settings)[1:-1].replace('"sources"', "sources", 1) + "\n")

    def new_gifts(self):
        """At the first one, with records of the second one's CRM under the same ids."""
        with Client(self.first) as client:
            response = client.send_gift(*(f"gift{number}@example.com" for number in range(GIFTS)))
        self.assertEqual(response.status, 201, response)
        ids = [one["recipient_transaction_id"] for one in response.json()["data"]["recipients"]]
        wait_until(lambda: {row[1] for row in self.first.query(STATUS)} == {"delivered"}, "the deliveries")
        self.second.ctl("db", "migrate")
        for number in ids:
            self.second.query("INSERT INTO crm_gift_record (id, recipienttransactionid, recipient_email, recipienttransactionstatus, "
                              f"recipienttransactioncreatedat) VALUES ('r{number}', {number}, 'gift{number}@example.com', 'sent', "
                              "'2026-01-02T00:00:00.000Z')")
        return ids

    def report(self, *changes, minutes_ago=0):
        """At the first one."""
        time = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=minutes_ago)).isoformat()
        lines = [json.dumps({"recipient_transaction_id": number, "status": status, "occurred_at": time}) for number, status in changes]
        self.first.ctl("change", "import", self.first.write("changes.ndjson", "\n".join(lines) + "\n"))

    def wait_mirrored(self):
        """A poll that has failed waits for no longer than one that has not."""
        def mirrored():
            self.second.query("UPDATE source SET next_attempt_at = 0 WHERE failures > 0 AND lease_owner = ''")
            return all(set(self.second.query(sql)) == set(self.first.query(sql)) for sql in (REACHED, STATUS))

        wait_until(mirrored, "the statuses of the first one", pace_seconds=0.2)

    def test_the_second_one_has_the_statuses_of_the_first_one(self):
        ids = self.new_gifts()
        self.second.start()
        # Two of them before the second one has the gifts.
        self.report((ids[0], "opened"), (ids[1], "undelivered"))
        self.second.ctl("backfill", "gift-records")
        self.report(*((number, "opened") for number in ids[2:10]))
        self.wait_mirrored()

        # The deliveries and the redemption have their events already.
        self.report((ids[13], "redeemed"))
        self.wait_mirrored()
        self.report((ids[13], "donated"), (ids[14], "undelivered"), minutes_ago=5)
        self.wait_mirrored()
        statuses = dict(self.second.query(STATUS))
        self.assertEqual((statuses[ids[13]], statuses[ids[14]]), ("donated", "delivered"))

        self.report(*((number, "redeemed") for number in ids[2:5]))
        self.second.kill()
        self.report(*((number, "donated") for number in ids[5:8]))
        self.second.start()
        self.first.kill()
        self.first.start()
        self.report((ids[8], "undelivered"), (ids[9], "redeemed"))
        self.wait_mirrored()
        [source] = self.second.ctl_json("source", "list")
        self.assertEqual((source["state"], source["quarantined"], source["orphaned"]), ("ok", 0, 0))

        # Its cursor is of a former epoch.
        self.first.stop()
        self.first.ctl("db", "restored")
        self.first.start()
        self.report(*((number, "redeemed") for number in ids[10:13]))
        self.wait_mirrored()
        self.assertIn("source sender: its stored position was refused 2 times", self.second.whole_log())

    def test_changes_whose_events_are_gone_are_taken_from_the_list(self):
        ids = self.new_gifts()
        self.second.write_settings()
        self.report(*((number, "opened") for number in ids[:4]), (ids[0], "redeemed"), (ids[5], "redeemed"))
        [wrong] = [one["id"] for one in self.first.ctl_json("change", "list", "--gift", str(ids[5])) if one["status"] == "redeemed"]
        self.first.ctl("change", "void", str(wrong))
        self.second.ctl("backfill", "gift-records")
        for fixture, command in zip((self.first, self.second), block("sh").replace("\\\n", "").splitlines()):
            command = command.replace("giftsyncctl", f"{daemon_fixture.GIFTSYNCCTL} --config {fixture.settings}")
            ended = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.first.folder, capture_output=True, text=True,
                                   timeout=daemon_fixture.TIMEOUT_SECONDS, check=False)
            self.assertEqual(ended.returncode, 0, ended)
        self.second.start()
        expected = {number: "redeemed" if number == ids[0] else "opened" if number in ids[:4] else "delivered" for number in ids}
        for fixture in (self.first, self.second):
            wait_until(lambda fixture=fixture: dict(fixture.query(STATUS)) == expected, "the statuses")


if __name__ == "__main__":
    daemon_fixture.main()
