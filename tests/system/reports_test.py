#!/usr/bin/python3
"""The counts of reports in a running daemon: they follow changes, and those of gifts from before them are made up over kills."""
import daemon_fixture
from gift_load import wait_until_idle
from http_client import SEND, Client, gift_request

GIFTS = 40


class Reports(daemon_fixture.DaemonTestCase):
    def rows(self, fixture, by="campaign"):
        return {row["key"]: row for row in fixture.ctl_json("report", "--by", by)["rows"]}

    # NUM-4, NUM-7
    def test_the_numbers_follow_changes(self):
        fixture = self.new_fixture().seed().start()
        with Client(fixture) as client:
            made = client.post(SEND, {**gift_request("ada@example.com", "bea@example.com"), "utm_campaign_id": "autumn"},
                               headers={"Idempotency-Key": "one"})
            self.assertEqual(made.status, 201, made)
            gift = made.json()["data"]["recipients"][0]["recipient_transaction_id"]
        row = daemon_fixture.wait_until(lambda: self.rows(fixture).get("=autumn"), "the campaign's row", pace_seconds=0.2)
        self.assertEqual((row["name"], row["sent"], row["refunded"]), ("autumn", 2, 0))
        fixture.ctl("gift", "cancel", str(gift), "--yes")
        row = daemon_fixture.wait_until(
            lambda: (found := self.rows(fixture)["=autumn"])["refunded"] == 1 and found, "the refund", pace_seconds=0.2)
        self.assertEqual(float(row["cost"]), 2 * float(row["spend"]))
        self.assertEqual(self.rows(fixture, "month").popitem()[1]["sent"], 2)
        fixture.ctl("db", "check")

    # NUM-5
    def test_gifts_from_before_the_counts_are_counted_over_kills(self):
        fixture = self.new_fixture().seed().start()
        with Client(fixture) as client:
            for number in range(GIFTS):
                self.assertEqual(client.send_gift(f"p{number}@example.com", idempotency_key=f"k{number}").status, 201)
        wait_until_idle(fixture, 60)
        fixture.stop()
        # As the version before left them: on many days, and nothing is counted.
        fixture.query("UPDATE recipient_transaction SET sent_at = sent_at - id % 20 * 86400000")
        for table in ("gift_rollup", "gift_rollup_delta"):
            fixture.query(f"DELETE FROM {table}")
        fixture.query("DELETE FROM store_metadata WHERE name = 'gift_rollup_filled'")
        for _ in range(3):
            fixture.start()
            fixture.kill()
        fixture.start()
        daemon_fixture.wait_until(lambda: fixture.ctl_json("report", "--by", "source")["summary"]["is_whole"], "all days",
                                  pace_seconds=0.2)
        fixture.ctl("db", "check")
        self.assertEqual(fixture.ctl_json("report", "--by", "source", "--since", "30d")["summary"]["total"]["sent"], GIFTS)


if __name__ == "__main__":
    daemon_fixture.main()
