#!/usr/bin/python3
"""Gift requests that wait for approval in running daemons: each is sent once, also if several approve it and a daemon is
killed."""
import concurrent.futures

import daemon_fixture
from http_client import NO_RESPONSE, SEND, URLS, Client, gift_request
from mails import mails_in

APPROVER = "rose@example.com"
HELD = "/api/v1/held_requests"
RULES = "sending:\n  approval:\n    rules:\n      - { name: all, recipients_above: 0, items: [7] }\n"


def until_answered(fixture, path, body, key=None, headers=None):
    while True:
        try:
            with Client(fixture, key=key) as client:
                return client.post(path, body, headers=headers or {})
        except NO_RESPONSE:
            continue


class HeldRequests(daemon_fixture.DaemonTestCase):
    def approver_key(self, fixture):
        fixture.ctl("account", "create", "--email", APPROVER, "--name", "Rose", "--plan", "team")
        return fixture.new_key(APPROVER, "--scope", "approve")

    # GUARD-26, GUARD-28
    def test_each_request_is_sent_once_by_four_approvers_over_a_kill(self):
        fixture = self.new_fixture(more=RULES).seed().start()
        approver = self.approver_key(fixture)
        calls = [(gift_request(f"r{number}@example.com"), {"Idempotency-Key": f"k{number}"}) for number in range(60)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            held = list(pool.map(lambda call: until_answered(fixture, SEND, call[0], headers=call[1]), calls))
            self.assertEqual({response.status for response in held}, {202})
            ids = [response.json()["data"]["id"] for response in held]
            self.assertEqual([row["id"] for row in fixture.ctl_json("held", "list")], sorted(ids))
            self.assertEqual(len(mails_in(fixture.outbox)), 0)
            decisions = [pool.submit(until_answered, fixture, f"{HELD}/{one}/approve", {}, approver)
                         for one in ids for _ in range(4)]
            daemon_fixture.wait_until(lambda: len(mails_in(fixture.outbox)) > 5, "the first mails")
            fixture.kill()
            fixture.start()
            self.assertLessEqual({decision.result().status for decision in decisions}, {200, 409})
        daemon_fixture.wait_until(lambda: len(mails_in(fixture.outbox)) >= len(ids), "all mails")
        self.assertEqual(sorted(mail.to for mail in mails_in(fixture.outbox)), sorted(f"r{number}@example.com" for number in range(60)))
        self.assertEqual(len(fixture.ctl_json("held", "list", "--state", "sent")), 60)
        repeat = until_answered(fixture, SEND, calls[0][0], headers=calls[0][1])
        self.assertEqual((repeat.status, repeat.json()["data"]["id"]), (201, ids[0]))

    # GUARD-25, GUARD-27, GUARD-28
    def test_a_command_approves_and_rejects(self):
        fixture = self.new_fixture(more=RULES).seed().start()
        with Client(fixture) as client:
            first = client.send_gift("kim@example.com").json()["data"]["id"]
            second = client.send_gift("lee@example.com", idempotency_key="lee").json()["data"]["id"]
            urls = client.post(URLS, gift_request("bea@example.com", by_email=False), headers={"Idempotency-Key": "bea"})
            self.assertEqual(urls.status, 202)
            self.assertIn("sending.held", [item["condition"] for item in fixture.status()["needs_attention"]])
            self.assertIn("A person has to approve it by the rule", fixture.ctl("held", "show", str(first)))
            self.assertIn(f"{first} sent", fixture.ctl("held", "approve", str(first), "--comment", "as agreed", "--yes"))
            self.assertIn(f"{second} rejected", fixture.ctl("held", "reject", str(second), "--yes"))
            fixture.ctl("held", "approve", str(second), expect=65)
            daemon_fixture.wait_until(lambda: [mail.to for mail in mails_in(fixture.outbox)] == ["kim@example.com"], "the mail")
            refused = client.send_gift("lee@example.com", idempotency_key="lee")
            self.assertEqual((refused.status, refused.json()["code"]), (403, "held_request_rejected"))
            self.assertEqual(client.get(f"{SEND}/{first}").json()["data"]["state"], "sent")
            self.assertEqual(client.get(f"{SEND}/{second}").json()["data"]["state"], "rejected")
            fixture.ctl("held", "approve", "--credential", fixture.key[:16], "--yes")
            made = client.post(URLS, gift_request("bea@example.com", by_email=False), headers={"Idempotency-Key": "bea"})
            self.assertEqual(made.status, 200)
            self.assertIn("/g/", made.json()["data"]["recipients"][0]["gift_redemption_url"])
        self.assertEqual(fixture.ctl_json("held", "list"), [])


if __name__ == "__main__":
    daemon_fixture.main()
