#!/usr/bin/python3
"""Who gets no gifts, in a running daemon: by the admin's list, and by the link in a mail."""
import urllib.parse

import daemon_fixture
from http_client import SEND, Client, gift_request
from mails import mails_in


def code_and_status(reply):
    return reply.status, reply.json().get("code")


class DoNotSend(daemon_fixture.DaemonTestCase):
    # GUARD-1, GUARD-2, GUARD-7
    def test_a_listed_domain_is_refused_within_a_second_and_a_repeat_of_a_call_is_not(self):
        fixture = self.new_fixture().seed().start()
        with Client(fixture) as client:
            repeat = {"headers": {"Idempotency-Key": "once"}}
            made = client.post(SEND, gift_request("kim@competitor.example"), **repeat)
            self.assertEqual(made.status, 201)
            fixture.ctl("do-not-send", "add", "competitor.example", "--comment", "a rival")
            daemon_fixture.wait_until(lambda: client.send_gift("lee@sales.competitor.example").status == 403, "the refusal")
            refused = client.post(SEND, gift_request("lee@competitor.example"))
            self.assertEqual(code_and_status(refused), (403, "sending_refused"))
            self.assertEqual([error["code"] for error in refused.json()["errors"]], ["do_not_send"])
            self.assertNotIn("rival", refused.body.decode())
            self.assertEqual(client.post(SEND, gift_request("kim@competitor.example"), **repeat).json(), made.json())
            self.assertEqual(client.send_gift("lee@example.com").status, 201)
            fixture.ctl("do-not-send", "remove", "competitor.example", "--yes")
            self.assertEqual(client.send_gift("lee@competitor.example").status, 201)

    # GUARD-5
    def test_a_recipient_asks_for_no_more_gifts_and_allows_them_again(self):
        fixture = self.new_fixture().seed().start()
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("kim@example.com").status, 201)
            daemon_fixture.wait_until(lambda: mails_in(fixture.outbox), "the mail")
            mail = mails_in(fixture.outbox)[0]
            self.assertEqual(mail.headers["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click")
            url = mail.headers["List-Unsubscribe"].strip("<>")
            self.assertIn(url, mail.links)
            path = urllib.parse.urlsplit(url).path
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            self.assertEqual(client.get(path).status, 200)
            self.assertEqual(client.send_gift("kim@example.com").status, 201, "a visit alone changes nothing")
            self.assertEqual(client.post(path, b"List-Unsubscribe=One-Click", headers=form).status, 200)
            daemon_fixture.wait_until(lambda: client.send_gift("Kim@Example.com").status == 403, "the refusal")
            refused = client.send_gift("kim@example.com").json()["errors"][0]["message"]
            self.assertRegex(refused, r"^The recipient asked on \d{4}-\d\d-\d\d to get no more gifts\.$")
            self.assertEqual(client.get(urllib.parse.urlsplit(mail.links[0]).path).status, 200, "the present gift stays")
            self.assertEqual(client.post(path, b"choice=allow", headers=form).status, 303)
            self.assertEqual(client.send_gift("kim@example.com").status, 201)


if __name__ == "__main__":
    daemon_fixture.main()
