#!/usr/bin/python3
"""Gift requests over HTTP: responses, mails and CRM records."""
import os
import re
import subprocess

import daemon_fixture
from http_client import SEND, URLS, Client, gift_request
from mails import mails_in

OTHER_SENDER = "bo@example.com"


class GiftRequests(daemon_fixture.DaemonTestCase):
    """On SQLite; postgresql_outage_test.py runs the same tests on PostgreSQL."""

    back_end = "sqlite"

    @classmethod
    def setUpClass(cls):
        cls.share_fixture(store=daemon_fixture.store_settings(cls.back_end))

    def setUp(self):
        self.client = Client(self.fixture)
        self.addCleanup(self.client.close)

    def send(self, *recipients, **named):
        response = self.client.send_gift(*recipients, **named)
        self.assertEqual(response.status, 201, response)
        return response.json()["data"]

    def records_by_id(self):
        return {record["RecipientTransactionId"]: record for record in self.fixture.gift_records()}

    def wait_record(self, transaction, status):
        def found():
            record = self.records_by_id().get(transaction)
            return record if record and record["RecipientTransactionStatus"] == status else None

        return daemon_fixture.wait_until(found, f"record {transaction} to be {status}")

    def mails_to(self, address):
        return [mail for mail in mails_in(self.fixture.outbox) if mail.to == address]

    def wait_mail(self, address):
        return daemon_fixture.wait_until(lambda: self.mails_to(address), f"a mail to {address}")[0]

    def count_transactions(self):
        return int(self.fixture.query("SELECT count(*) FROM recipient_transaction")[0][0])

    # ---- giftsyncctl ----------------------------------------------------------------------------------------------
    def list_accounts_to(self, out):
        ended = subprocess.run([daemon_fixture.GIFTSYNCCTL, "--config", str(self.fixture.settings), "account", "list"], stdout=out,
                               stderr=subprocess.PIPE, text=True, timeout=daemon_fixture.TIMEOUT_SECONDS, check=False)
        return ended.returncode, ended.stderr

    def test_a_closed_pipe_is_no_error_and_a_full_disk_is(self):
        read, write = os.pipe()
        os.close(read)
        self.assertEqual(self.list_accounts_to(write), (141, ""))
        os.close(write)
        with open("/dev/full", "w", encoding="utf-8") as full:
            code, said = self.list_accounts_to(full)
        self.assertEqual(code, 74)
        self.assertIn("could not be written", said)

    # ---- POST /api/v1/gift_requests ----------------------------------------------------------------------------------
    # HTTP-27
    def test_gifts_by_email_reach_recipients_and_crm(self):
        response = self.client.send_gift(
            {"email": "loewe@example.com", "first_name": "Ada", "last_name": "Löwe", "message": "Danke!\nBis bald\n.\n.."},
            {"email": "grace@example.com", "message": "Second"}, gift_id="8")
        self.assertEqual(response.status, 201, response)
        self.assertEqual(response.headers["Content-Type"], "application/json")
        body = response.json()
        self.assertEqual(body["message"], "GiftRequest created successfully.")
        first, second = body["data"]["recipients"]
        self.assertEqual({**first, "recipient_transaction_id": 0},
                         {"recipient_transaction_id": 0, "email": "loewe@example.com", "phone_number": ""})
        self.assertIsInstance(body["data"]["id"], int)
        self.assertNotEqual(first["recipient_transaction_id"], second["recipient_transaction_id"])

        record = self.wait_record(first["recipient_transaction_id"], "delivered")
        self.assertEqual(record["Recipient_Email"], "loewe@example.com")
        self.assertEqual(record["DeliveryType"], "email")
        self.assertEqual(record["Message"], "Danke!\nBis bald\n.\n..")
        self.assertEqual(record["Name"], "Mug for Ada Löwe")
        self.assertEqual(record["Sender_Email"], daemon_fixture.SENDER)
        self.assertEqual(record["GiftId"], 8)
        costs = ["Item_Cost", "Shipping_Cost", "Carbon_Neutral_Cost", "Transaction_Fee", "RecipientTransactionPrice"]
        self.assertEqual([record[name] for name in costs], ["12.30", "4.95", "0.25", "1.00", "18.50"])
        self.assertRegex(record["RecipientTransactionCreatedAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertIs(record["Delivered"], True)
        self.assertIsNone(record["Opened_Date_Time"])

        mail = self.wait_mail("loewe@example.com")
        self.assertEqual(mail.defects, [])
        self.assertIn("Danke!\nBis bald\n.\n..", mail.text)
        self.assertIn("Mug", mail.subject)
        self.assertIn("Ana Lima", str(mail.headers["From"]))
        self.assertEqual(mail.headers["Reply-To"].addresses[0].addr_spec, daemon_fixture.SENDER)
        self.assertEqual(len(set(mail.links)), 3)
        self.assertEqual(mail.headers["List-Unsubscribe"], f"<{mail.links[2]}>")

    def test_a_key_works_with_and_without_bearer(self):
        for value in (self.fixture.key, f"Bearer {self.fixture.key}", f"bearer {self.fixture.key}"):
            response = self.client.post(SEND, gift_request("a@example.com"), headers={"Authorization": value})
            self.assertEqual(response.status, 201, response)

    def test_hostile_fields_add_no_mail_headers(self):
        self.send({"email": "eve@example.com", "message": "Hi\r\n.\r\nBcc: x@example.com\r\n\r\nEnd <b>&amp;</b>"})
        mail = self.wait_mail("eve@example.com")
        self.assertEqual(set(mail.headers.keys()),
                         {"From", "Reply-To", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version",
                          "Content-Type", "List-Unsubscribe", "List-Unsubscribe-Post"})
        self.assertIn("Bcc: x@example.com", mail.text)
        self.assertIn("&lt;b&gt;&amp;amp;&lt;/b&gt;", mail.html)
        response = self.client.send_gift({"email": "eve@example.com", "first_name": "Eve\r\nBcc: x@example.com"})
        self.assertEqual(response.status, 400, response)

    # ---- POST /api/v1/webhooks/gift_requests -------------------------------------------------------------------------
    # HTTP-9, HTTP-2, SYNC-73
    def test_urls_are_returned_and_nothing_is_mailed(self):
        body = {**gift_request("zoe@example.com", {"email": "li@example.com", "first_name": "Li"}, by_email=False),
                "utm_campaign_id": "autumn"}
        response = self.client.post(URLS, body)
        self.assertEqual(response.status, 200, response)
        self.assertEqual(response.json()["message"], "GiftRequest created successfully.")
        recipients = response.json()["data"]["recipients"]
        self.assertEqual([one["email"] for one in recipients], ["zoe@example.com", "li@example.com"])
        links = [one[name] for one in recipients for name in ("gift_redemption_url", "gift_donation_url")]
        self.assertEqual(len(set(links)), 4)
        for link in links:
            self.assertTrue(link.startswith(self.fixture.url), link)
        self.assertEqual(set(recipients[0]), {"recipient_transaction_id", "email", "phone_number", "gift_redemption_url",
                                              "gift_donation_url"})
        self.assertEqual(recipients[0]["phone_number"], "")
        record = self.wait_record(recipients[0]["recipient_transaction_id"], "sent")
        self.assertIsNone(record["DeliveryType"])
        self.assertEqual(self.fixture.query("SELECT utm_campaign_id FROM crm_gift_record WHERE recipienttransactionid = "
                                            f"{recipients[0]['recipient_transaction_id']}"), [("autumn",)])
        read = self.client.get(f"{SEND}/{response.json()['data']['id']}").json()["data"]
        self.assertEqual((read["utm_campaign_id"], read["delivery"]), ("autumn", "urls"))
        story = self.fixture.ctl_json("gift", "show", str(recipients[0]["recipient_transaction_id"]))
        self.assertIsNone(story["delivery"])

    # ---- Refusals ---------------------------------------------------------------------------------------------------
    def test_every_fault_is_listed_and_nothing_is_created(self):
        body = {"gift_id": "x", "recipients": [
            {"email": "good@example.com", "message": "Good", "gift_redeem_type": "email"},
            {"email": "no-at-sign", "gift_redeem_type": "sms"},
            {"first_name": 7, "message": "", "gift_redeem_type": "email"}, "text"]}
        before = self.count_transactions()
        response = self.client.post(SEND, body)
        self.assertEqual(response.status, 400, response)
        self.assertEqual(response.headers["Content-Type"], "application/problem+json")
        problem = response.json()
        self.assertEqual(problem["status"], 400)
        self.assertTrue(problem["message"])
        self.assertEqual({fault["field"] for fault in problem["errors"]},
                         {"gift_id", "recipients[1].email", "recipients[1].message", "recipients[1].gift_redeem_type",
                          "recipients[2].email", "recipients[2].first_name", "recipients[2].message", "recipients[3]"})
        for fault in problem["errors"]:
            self.assertTrue(fault["code"] and fault["message"], fault)
        self.assertEqual(self.count_transactions(), before)

    # HTTP-4
    def test_refusals_carry_the_right_status(self):
        good = gift_request("ada@example.com")
        cases = [
            (400, "POST", SEND, {**good, "gift_id": 999}, {}),
            (400, "POST", SEND, {**good, "recipients": []}, {}),
            (400, "POST", SEND, {"gift_id": 7}, {}),
            (401, "POST", SEND, good, {"Authorization": ""}),
            (401, "POST", SEND, good, {"Authorization": "gsk_live_" + "x" * 38}),
            (401, "POST", SEND, good, {"Authorization": "Basic " + self.fixture.key}),
            (404, "GET", SEND + "/999999999", None, {}),
            (404, "GET", SEND + "/x", None, {}),
            (404, "GET", "/nowhere", None, {}),
            (405, "DELETE", SEND, None, {}),
            (405, "GET", URLS, None, {}),
            (415, "POST", SEND, b"gift_id=7", {"Content-Type": "application/x-www-form-urlencoded"}),
        ]
        for status, method, path, body, headers in cases:
            with self.subTest(status=status, method=method, path=path, headers=headers):
                response = self.client.request(method, path, body, headers)
                self.assertEqual(response.status, status, response)
                self.assertEqual(response.headers["Content-Type"], "application/problem+json")
                self.assertTrue(response.headers["Request-Id"])
                self.assertEqual(response.json()["status"], status)
                self.assertNotIn(self.fixture.key, response.body.decode())

    # HTTP-24
    def test_a_leftover_placeholder_is_refused(self):
        before = self.count_transactions()
        response = self.client.send_gift("a@example.com", {"email": "b@example.com", "message": "Hello {{first_name}}"})
        self.assertEqual(response.status, 400, response)
        fault = response.json()["errors"][0]
        self.assertEqual((fault["field"], fault["code"]), ("recipients[1].message", "placeholder"))
        self.assertIn("limits.placeholders: warn", fault["message"])
        self.assertEqual(self.count_transactions(), before)

    # HTTP-52
    def test_a_second_request_without_a_key_for_the_same_gift_warns(self):
        first = self.client.send_gift("twice@example.com").json()
        self.assertEqual(first["warnings"], [])
        warning, = self.client.send_gift("Twice@example.com").json()["warnings"]
        self.assertEqual((warning["field"], warning["code"]), ("recipients[0].email", "possible_duplicate"))
        self.assertIn(f"Gift request {first['data']['id']} ", warning["message"])

    # HTTP-24
    def test_plain_warnings(self):
        fixture = self.new_fixture(more="limits: { placeholders: warn }\n").seed().start()
        client = Client(fixture)
        self.addCleanup(client.close)
        response = client.send_gift({"email": "a@example.com", "message": "Hello {{first_name}}", "nickname": "A"},
                                    "A@example.com")
        self.assertEqual(response.status, 201, response)
        self.assertEqual({(one["field"], one["code"]) for one in response.json()["warnings"]},
                         {("recipients[0].message", "placeholder"), ("recipients[0].nickname", "unknown_member"),
                          ("recipients[1].email", "duplicate_email")})

    # ---- Read side ------------------------------------------------------------------------------------------------
    # HTTP-7
    def test_a_request_is_read_by_its_own_sender_only(self):
        sent = self.send("ada@example.com")
        self.wait_record(sent["recipients"][0]["recipient_transaction_id"], "delivered")
        read = self.client.get(f"{SEND}/{sent['id']}")
        self.assertEqual(read.status, 200, read)
        state = read.json()["data"]
        self.assertEqual((state["id"], state["gift_id"], state["delivery"]), (sent["id"], 7, "email"))
        recipient = state["recipients"][0]
        self.assertEqual((recipient["email"], recipient["status"]), ("ada@example.com", "delivered"))
        self.assertLessEqual(recipient["sent_at"], recipient["delivered_at"])
        self.assertIsNone(recipient["redeemed_at"])

        self.fixture.ctl("account", "create", "--email", OTHER_SENDER, "--name", "Bo", "--plan", "enterprise")
        with Client(self.fixture, self.fixture.new_key(OTHER_SENDER)) as other:
            self.assertEqual(other.get(f"{SEND}/{sent['id']}").status, 404)
        head = self.client.request("HEAD", f"{SEND}/{sent['id']}")
        self.assertEqual((head.status, head.body), (200, b""))

    # ---- Links ------------------------------------------------------------------------------------------------------
    def test_links_show_a_page_and_change_nothing(self):
        sent = self.send({"email": "link@example.com", "first_name": "Ada", "message": "Look <here> & \"there\""})
        record = self.wait_record(sent["recipients"][0]["recipient_transaction_id"], "delivered")
        links = set(self.wait_mail("link@example.com").links[:2]) | {record["RecipientTransactionLink"]}
        self.assertEqual(len(links), 3)
        for link in sorted(links):
            path = link.removeprefix(self.fixture.url)
            for method in ("GET", "HEAD", "GET"):
                response = self.client.request(method, path, authorization=False)
                self.assertEqual(response.status, 200, response)
                self.assertTrue(response.headers["Content-Type"].startswith("text/html"))
            self.assertIn("Look &lt;here&gt; &amp;", response.body.decode())
            self.assertIn("Coffee", response.body.decode())
            decided = self.client.request("POST", path, b"", authorization=False)
            self.assertEqual(decided.status, 405 if link == record["RecipientTransactionLink"] else 303, "a post without a choice")
            last = "A" if path[-1] != "A" else "B"
            self.assertEqual(self.client.get(path[:-2] + last * 2, authorization=False).status, 404)
        self.assertEqual(self.client.get("/g/", authorization=False).status, 404)
        self.assertEqual(self.records_by_id()[record["RecipientTransactionId"]], record)
        story = self.fixture.ctl_json("gift", "show", str(record["RecipientTransactionId"]))
        self.assertEqual([change["status"] for change in story["history"]], ["delivered"])

    # ---- Idempotency ----------------------------------------------------------------------------------------------
    # HTTP-35
    def test_a_repeated_key_gets_the_same_response_and_sends_nothing(self):
        before = self.count_transactions()
        first = self.client.send_gift("once@example.com", idempotency_key="order-1")
        self.assertEqual(first.status, 201, first)

        def repeat(client, body=None, key='"order-1"', path=SEND):
            body = body or gift_request("once@example.com", by_email=path == SEND)
            return client.post(path, body, headers={"Idempotency-Key": key})

        self.assertEqual(repeat(self.client).body, first.body)
        reordered = {"recipients": [{"gift_redeem_type": "email", "message": "Thank you!", "email": "once@example.com"}],
                     "gift_id": 7}
        self.assertEqual(repeat(self.client, reordered, "order-1").body, first.body)
        mismatch = repeat(self.client, gift_request("eve@example.com"))
        self.assertEqual((mismatch.status, mismatch.json()["code"]), (422, "idempotency_mismatch"))

        self.client.close()
        self.fixture.restart()
        self.assertEqual(repeat(self.client).body, first.body)
        self.fixture.key = self.fixture.ctl("key", "rotate", self.fixture.key[:16], "--grace", "0").strip()
        with Client(self.fixture) as client:
            self.assertEqual(repeat(client).body, first.body)
            urls = repeat(client, path=URLS)
            self.assertEqual(urls.status, 200, urls)
            self.assertNotEqual(urls.json()["data"]["id"], first.json()["data"]["id"])
            self.assertEqual(repeat(client, path=URLS).body, urls.body)
        self.assertEqual(self.count_transactions(), before + 2)
        self.wait_mail("once@example.com")
        self.assertEqual(len(self.mails_to("once@example.com")), 1)

    # HTTP-34
    def test_a_refused_request_leaves_its_key_free(self):
        refused = self.client.send_gift("no-at-sign", idempotency_key="order-2")
        self.assertEqual(refused.status, 400, refused)
        self.assertEqual(self.client.send_gift("ada@example.com", idempotency_key="order-2").status, 201)
        for key in ("", "x" * 256, "ümlaut"):
            response = self.client.post(SEND, gift_request("a@example.com"), headers={"Idempotency-Key": key.encode()})
            self.assertEqual(response.status, 400, (key, response))

    # ---- The listing ----------------------------------------------------------------------------------------------
    def test_the_listing_has_every_field_of_the_record(self):
        sent = self.send("ada@example.com")
        record = self.wait_record(sent["recipients"][0]["recipient_transaction_id"], "delivered")
        expected = """Account Actual_Sender Carbon_Neutral_Cost Deal_Stage Delivered DeliveryType Delivered_Date_Time
            Description Donated_Date_Time Expired_Date_Time Item_Cost RecipientTransactionLink Message Name Opened
            Opened_Date_Time Opportunity RecipientContactId Recipient_Email RecipientLeadId Recipient_Phone_Number Redeemed
            Redeemed_Date_Time Refunded_Date_Time SenderId Sender_Email Shipping_Cost RecipientTransactionStatus GiftId
            RecipientTransactionCreatedAt RecipientTransactionPrice Transaction_Fee RecipientTransactionId
            Undelivered_Date_Time CreatedById LastModifiedById OwnerId""".split()
        self.assertEqual(set(record), {*expected, "utm_campaign_id", "external_id", "has_record", "crm_state"})
        for name in ("Item_Cost", "Shipping_Cost", "RecipientTransactionPrice"):
            self.assertTrue(re.fullmatch(r"\d+\.\d\d", record[name]), record[name])


if __name__ == "__main__":
    daemon_fixture.main()
