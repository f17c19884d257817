#!/usr/bin/python3
"""What an admin stops by hand in a running daemon: all mail, and what a key sends."""
import daemon_fixture
from http_client import SEND, Client, gift_request
from mails import mails_in


class Pauses(daemon_fixture.DaemonTestCase):
    # MAIL-36
    def test_no_mail_leaves_while_mail_is_paused_also_after_a_restart(self):
        fixture = self.new_fixture().seed().start()
        fixture.ctl("mail", "pause", "--reason", "wrong item")
        daemon_fixture.wait_until(lambda: "wrong item" in fixture.whole_log(), "the pause in the log")
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("kim@example.com").status, 201, "requests are accepted")
        fixture.restart()
        daemon_fixture.wait_until(lambda: fixture.whole_log().count("wrong item") == 2, "the pause in the log of the new process")
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("lee@example.com").status, 201)
        fixture.ctl("mail", "retry", "--all")
        paused = fixture.status()["mail"]
        self.assertEqual((paused["queued"], paused["paused_by_admin"]["reason"]), (2, "wrong item"))
        self.assertEqual(mails_in(fixture.outbox), [])
        fixture.ctl("mail", "resume")
        daemon_fixture.wait_until(lambda: len(mails_in(fixture.outbox)) == 2, "both mails")
        daemon_fixture.wait_until(lambda: "mail is sent again" in fixture.whole_log(), "the end of the pause in the log")

    # HTTP-51
    def test_a_paused_key_creates_nothing_and_reads_on(self):
        fixture = self.new_fixture().seed().start()
        with Client(fixture) as client:
            repeat = {"headers": {"Idempotency-Key": "once"}}
            made = client.post(SEND, gift_request("kim@example.com"), **repeat)
            self.assertEqual(made.status, 201)
            fixture.ctl("key", "pause", fixture.key[:16], "--reason", "runaway script")
            daemon_fixture.wait_until(lambda: client.send_gift("lee@example.com").status == 403, "the pause of the key")
            refused = client.post(SEND, gift_request("kim@example.com"), **repeat)
            self.assertEqual((refused.status, refused.json()["code"]), (403, "key_paused"), "a repeat too")
            self.assertNotIn("runaway", refused.json()["detail"])
            self.assertEqual(client.get(f"{SEND}/{made.json()['data']['id']}").status, 200)
            self.assertIn("keys.paused", [item["condition"] for item in fixture.status()["needs_attention"]])
            fixture.ctl("key", "release", fixture.key[:16])
            daemon_fixture.wait_until(lambda: client.send_gift("may@example.com").status == 201, "the release of the key")
            again = client.post(SEND, gift_request("kim@example.com"), **repeat)
            self.assertEqual((again.status, again.json()), (201, made.json()))


if __name__ == "__main__":
    daemon_fixture.main()
