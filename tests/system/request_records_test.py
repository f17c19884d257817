#!/usr/bin/python3
"""Request records that CRM automation inserts with plain SQL while the daemon runs: approved, rejected, edited, invalid or deleted;
over HTTP and by command; and REQUESTS (400) at once while the daemon is killed KILLS (5) times. Each approved record gets exactly
one gift, the others get none.
"""
import collections
import os
import signal
import threading
import time

import daemon_fixture
from http_client import Client
from mails import Collector

REQUESTS = int(os.environ.get("REQUESTS", "400"))
KILLS = int(os.environ.get("KILLS", "5"))
RECORDS = "/api/v1/request_records"
USERS = ("INSERT INTO crm_user (id, name, email, isactive) VALUES ('005A', 'Ana', 'ana@example.com', true), "
         "('005B', 'Bo', 'bo@example.com', true), ('005N', 'Nora', 'nora@example.com', true)")
SETS = ("INSERT INTO crm_permission_set_assignment (id, assigneeid, permissionsetname, isactive) "
        "VALUES ('0PaA', '005A', 'Standard_User', true)")


def text(value):
    return "NULL" if value is None else str(value).lower() if isinstance(value, bool) else "'" + str(value).replace("'", "''") + "'"


class RequestRecordTestCase(daemon_fixture.DaemonTestCase):
    back_end = "sqlite"

    def new_seeded_fixture(self, **named):
        """A fixture whose CRM has users, and whose account belongs to an organization with a token."""
        fixture = self.new_fixture(store=daemon_fixture.store_settings(self.back_end), **named)
        catalogue = fixture.write("items.csv", daemon_fixture.ITEMS)

        def make():
            fixture.ctl("db", "migrate")
            token = fixture.ctl("organization", "create", "--name", "Edge").strip()
            fixture.ctl("item", "import", catalogue)
            for address, name in ((daemon_fixture.SENDER, "Ana Lima"), ("bo@example.com", "Bo")):
                fixture.ctl("account", "create", "--email", address, "--name", name, "--plan", "team", "--organization", "Edge")
            fixture.query(USERS)
            fixture.query(SETS)
            return token, fixture.new_key(daemon_fixture.SENDER)

        token, fixture.key = fixture.make_once(make, "requests")
        fixture.write("token", token)
        fixture.write_settings('requests: { enabled: true, organization_token: "file:token" }\n')
        os.chmod(fixture.folder / "token", 0o600)
        return fixture

    @staticmethod
    def ask(fixture, name, **fields):
        """Inserts a row as a CRM flow does."""
        row = {"id": name, "gift_id": "7", "recipient_email": f"{name}@example.com", "message": f"Hello {name}",
               "sender": "005A", "auto_approved": True, **fields}
        fixture.query(f"INSERT INTO crm_request_record ({', '.join(row)}) VALUES ({', '.join(text(one) for one in row.values())})")

    @staticmethod
    def edit(fixture, name, **fields):
        fixture.query("UPDATE crm_request_record SET " + ", ".join(f"{key} = {text(value)}" for key, value in fields.items()) +
                    f" WHERE id = '{name}'")

    @staticmethod
    def row(fixture, name):
        found = fixture.query(f"SELECT request_status, coalesce(error_log, '') FROM crm_request_record WHERE id = '{name}'")
        return found[0] if found else None

    def wait_row(self, fixture, name, status, error=""):
        return daemon_fixture.wait_until(lambda: (row := self.row(fixture, name)) and row[0] == status and error in row[1] and row,
                                f"{name} to be {status} ({error}), it is {self.row(fixture, name)}", seconds=20, pace_seconds=0.05)

    @staticmethod
    def gifts(fixture):
        """Address -> count of its gifts."""
        return collections.Counter(email for (email,) in fixture.query("SELECT email FROM recipient_transaction"))


class RequestsOfTheCrm(RequestRecordTestCase):
    """Rows that the tables' triggers watch: on both back ends."""

    # SYNC-29
    def test_each_kind_of_request(self):
        fixture = self.new_seeded_fixture().start()
        begun = time.monotonic()
        self.ask(fixture, "auto")
        self.wait_row(fixture, "auto", "Sent")
        self.assertLess(time.monotonic() - begun, 4, "a change takes effect within 2 s")
        self.ask(fixture, "manual", auto_approved=False, lastmodifiedbyid="005B")
        self.ask(fixture, "flow", auto_approved=None)
        self.ask(fixture, "rejected", auto_approved=False)
        self.ask(fixture, "unknown_gift", gift_id="4711")
        self.ask(fixture, "no_number", gift_id="abc")
        self.ask(fixture, "long", message="x" * 200_000)
        self.ask(fixture, "both", recipient_contact="003A", recipient_lead="00QA")
        self.ask(fixture, "no_account", sender="005N")
        self.ask(fixture, "no_set", sender="005B")
        self.ask(fixture, "was_sent", request_status="Sent")
        self.wait_row(fixture, "unknown_gift", "Approved", "no item \"4711\"")
        self.wait_row(fixture, "no_number", "Approved", "is not a number")
        self.wait_row(fixture, "long", "Approved", "200000 characters")
        self.wait_row(fixture, "both", "Approved", "both set")
        self.wait_row(fixture, "no_account", "Approved", "account")
        self.wait_row(fixture, "no_set", "Approved", "permission set")
        self.wait_row(fixture, "was_sent", "Sent", "sent no gift")
        self.wait_row(fixture, "manual", "Pending")
        self.assertEqual(fixture.query("SELECT auto_approved FROM crm_request_record WHERE id = 'flow'"),
                         [("f",)] if self.back_end == "postgresql" else [(0,)])
        # Decisions in the CRM and by command, and illegal transitions.
        self.edit(fixture, "manual", request_status="Approved", lastmodifiedbyid="005B")
        self.wait_row(fixture, "manual", "Sent")
        number = next(one["Name"] for one in fixture.ctl_json("request", "list") if one["Id"] == "rejected")
        self.assertEqual(fixture.ctl("request", "reject", number, "--comment", "not now", "--yes").split(), [number, "Rejected"])
        self.edit(fixture, "rejected", request_status="Approved")
        self.wait_row(fixture, "rejected", "Rejected", "stays Rejected")
        self.edit(fixture, "auto", request_status="Rejected")
        self.wait_row(fixture, "auto", "Sent", "A sent request stays Sent")
        # Corrections: a record is edited; a missing permission is retried.
        self.edit(fixture, "unknown_gift", gift_id="8")
        self.assertEqual(self.wait_row(fixture, "unknown_gift", "Sent")[1], "")
        fixture.query("INSERT INTO crm_permission_set_assignment (id, assigneeid, permissionsetname, isactive) "
                    "VALUES ('0PaB', '005B', 'Admin', true)")
        self.assertEqual(self.wait_row(fixture, "no_set", "Sent")[1], "")
        detail = fixture.ctl_json("request", "show", number)
        self.assertEqual([(one["from"], one["to"], one["comment"]) for one in detail["transitions"]][:2],
                         [(None, "pending", "first seen"), ("pending", "rejected", "not now")])
        self.assertEqual(self.gifts(fixture), collections.Counter(
            f"{name}@example.com" for name in ("auto", "manual", "unknown_gift", "no_set")))
        self.assertEqual(len(fixture.ctl_json("request", "list", "--status", "Sent")), 5)
        record = daemon_fixture.wait_until(lambda: next((one for one in fixture.gift_records()
                                                if one["Recipient_Email"] == "auto@example.com"), None), "the gift record",
                                  pace_seconds=0.1)
        self.assertEqual(record["SenderId"], "005A")
        self.assertEqual(float(record["RecipientTransactionPrice"]), 5.40, "the price excludes carbon-neutral and shipping costs")

    # REQ-8, REQ-51
    def test_an_empty_status_and_an_approval_that_an_edit_has_reset(self):
        fixture = self.new_seeded_fixture()
        self.ask(fixture, "edited", request_status="Approved")
        self.edit(fixture, "edited", message="Something else")
        self.assertEqual(self.row(fixture, "edited")[0], "Pending", "the trigger has reset the approval")
        self.ask(fixture, "empty", request_status="")
        self.ask(fixture, "manual", request_status="", auto_approved=False)
        fixture.start()
        for name in ("edited", "empty"):
            self.wait_row(fixture, name, "Sent")
        self.assertEqual(fixture.query("SELECT message FROM recipient_transaction WHERE email = 'edited@example.com'"), [("Something else",)])
        states = [one["to"] for one in fixture.ctl_json("request", "show", "manual")["transitions"]]
        self.assertEqual(states, ["pending"])
        self.assertEqual(self.gifts(fixture), collections.Counter(["edited@example.com", "empty@example.com"]))

    def test_deleted_before_sending_and_edited_after_approval(self):
        fixture = self.new_seeded_fixture()
        fixture.query("DELETE FROM crm_permission_set_assignment")
        fixture.start()
        for name in ("deleted", "edited", "unchecked"):
            self.ask(fixture, name, auto_approved=name == "unchecked", request_status="Approved")
            self.wait_row(fixture, name, "Approved", "permission set")
        fixture.query("DELETE FROM crm_request_record WHERE id = 'deleted'")
        self.edit(fixture, "edited", message="Something else")
        self.wait_row(fixture, "edited", "Pending", "Changed after approval")
        fixture.query(SETS)
        self.wait_row(fixture, "unchecked", "Sent")
        daemon_fixture.wait_until(lambda: "was deleted in the CRM before it was sent" in fixture.whole_log(), "the log line")
        self.assertEqual(self.gifts(fixture), collections.Counter(["unchecked@example.com"]))

    def test_deleted_records_stay_readable_and_unread_queue_rows_are_removed(self):
        fixture = self.new_seeded_fixture().start()
        self.ask(fixture, "gone")
        self.wait_row(fixture, "gone", "Sent")
        fixture.query("DELETE FROM crm_request_record WHERE id = 'gone'")
        daemon_fixture.wait_until(lambda: fixture.ctl_json("request", "show", "R-000001")["deleted"], "the deletion to be seen")
        detail = fixture.ctl_json("request", "show", "gone")
        self.assertEqual((detail["Name"], detail["Request_Status"], len(detail["recipient_transaction_ids"])), ("R-000001", "Sent", 1))
        self.assertIn("Deleted", fixture.ctl("request", "show", "R-000001"))
        fixture.stop()
        fixture.write_settings()
        self.ask(fixture, "unread")
        fixture.start()
        daemon_fixture.wait_until(lambda: fixture.query("SELECT count(*) FROM crm_request_queue")[0][0] in (0, "0"), "the queue rows to be removed", 40)
        fixture.stop()
        fixture.write_settings('requests: { enabled: true, organization_token: "file:token" }\n')
        fixture.start()
        self.wait_row(fixture, "unread", "Sent")


class RequestsOfTheCrmOnPostgresql(RequestsOfTheCrm):
    back_end = "postgresql"


class Requests(RequestRecordTestCase):
    """What is decided above the tables is the same on every back end."""

    def test_a_wrong_token_is_reported_and_corrected_while_the_daemon_runs(self):
        fixture = self.new_seeded_fixture().start()
        mended = fixture.ctl("organization", "rotate", "Edge", "--grace", "0").strip()
        self.ask(fixture, "wrong")
        self.wait_row(fixture, "wrong", "Approved", "rganization token")
        fixture.write("token", mended)
        fixture.signal(signal.SIGHUP)
        self.wait_row(fixture, "wrong", "Sent")
        self.assertEqual(self.gifts(fixture), collections.Counter(["wrong@example.com"]))

    # REQ-44, REQ-45, REQ-46, REQ-43, HTTP-51
    def test_over_http(self):
        fixture = self.new_seeded_fixture().start()
        approver = fixture.new_key("bo@example.com", "--scope", "approve")
        own = fixture.new_key(daemon_fixture.SENDER, "--scope", "approve,request")
        body = {"Gift_Id": 7, "Recipient_Email": "kim@example.com", "Message": "Hello", "Include_Shipping": True, "Extra": 1}
        with Client(fixture) as client, Client(fixture, key=approver) as bo, Client(fixture, key=own) as self_approver:
            made = client.post(RECORDS, body)
            self.assertEqual(made.status, 201, made)
            data = made.json()["data"]
            self.assertEqual(data["Request_Status"], "Pending")
            self.assertEqual(fixture.query(f"SELECT sender FROM crm_request_record WHERE name = '{data['Name']}'"), [("005A",)],
                             "the CRM user with the address of the key's account")
            self.assertEqual([one["code"] for one in made.json()["warnings"]], ["unknown_member"])
            path = f"{RECORDS}/{data['Name']}"
            self.assertEqual(client.post(RECORDS, {"gift_id": 7, "recipient_email": "kim@example.com"}).status, 400)
            unknown = client.post(RECORDS, {**body, "Gift_Id": 77, "Extra": None})
            self.assertEqual([one["code"] for one in unknown.json()["warnings"]], ["unknown_member", "unknown_gift"], unknown)
            self.assertEqual(client.post(RECORDS, {**body, "Auto_Approved": True}).status, 403)
            own_approval = self_approver.post(RECORDS, {**body, "Auto_Approved": True})
            self.assertEqual((own_approval.status, own_approval.json()["code"]), (403, "may_not_auto_approve"),
                             "no one approves their own request, in this way either")
            self.assertEqual(client.post(RECORDS, {**body, "Message": 5, "Auto_Approved": "yes"}).status, 400)
            self.assertEqual(client.post(path + "/approve", {}).status, 403, "the scope approve is missing")
            self.assertEqual(self_approver.post(path + "/approve", {}).json()["code"], "own_request")
            self.assertEqual(bo.post(f"{RECORDS}/R-999999/approve", {}).status, 404)
            seen = client.get(path)
            self.assertEqual(seen.json()["data"]["content"]["Message"], body["Message"])
            stale = {"headers": {"If-Match": '"0123"'}}
            changed = bo.post(path + "/approve", {"comment": "fine"}, **stale)
            self.assertEqual((changed.status, changed.json()["code"]), (412, "content_changed"))
            self.assertEqual(bo.post(path + "/approve", {"comment": "fine"}, headers={"If-Match": seen.headers["ETag"]}).status, 200)
            daemon_fixture.wait_until(lambda: client.get(path).json()["data"]["Request_Status"] == "Sent", "the request to be sent")
            late = bo.post(path + "/reject", {})
            self.assertEqual((late.status, late.json()["code"]), (409, "illegal_move"))
            self.assertEqual(bo.get(path).status, 403, "the scope request is missing")
            again = {"headers": {"Idempotency-Key": "one-lunch"}}
            lunch = [client.post(RECORDS, {**body, "Recipient_Email": "lunch@example.com"}, **again) for _ in range(3)]
            self.assertEqual(len({(one.status, one.json()["data"]["Id"], one.json()["data"]["Name"]) for one in lunch}), 1, lunch)
            self.assertEqual(client.post(RECORDS, body, **again).status, 422)
            fixture.kill()
            fixture.start()
        with Client(fixture) as client, Client(fixture, key=fixture.new_key("bo@example.com")) as other, Client(fixture, key=approver) as bo:
            self.assertEqual(client.post(RECORDS, {**body, "Recipient_Email": "lunch@example.com"}, **again).json()["data"]["Id"],
                             lunch[0].json()["data"]["Id"], "the same record after a kill -9")
            self.assertEqual(len(fixture.query("SELECT id FROM crm_request_record WHERE recipient_email = 'lunch@example.com'")), 1)
            self.assertEqual(other.get(path).status, 404, "another account's record")
            second = client.post(RECORDS, body).json()["data"]["Name"]
            self.assertEqual(bo.post(f"{RECORDS}/{second}/reject", b"").status, 200)
            fixture.ctl("key", "pause", fixture.key[:16])
            daemon_fixture.wait_until(lambda: client.post(RECORDS, {}).json().get("code") == "key_paused", "the pause of the key")
            self.assertEqual(client.post(RECORDS, body).status, 403, "a paused key asks for nothing")
            self.assertEqual(client.get(path).status, 200)
        transitions = fixture.ctl_json("request", "show", data["Name"])["transitions"]
        self.assertIn(("bo@example.com", "approved", "fine"), [(one["actor"], one["to"], one["comment"]) for one in transitions])
        self.assertEqual(self.gifts(fixture), collections.Counter(["kim@example.com"]))

    # REQ-50, REQ-49
    def test_the_requester_reads_the_urls_from_the_request_record(self):
        fixture = self.new_seeded_fixture().start()
        approver = fixture.new_key("bo@example.com", "--scope", "approve,request")
        self.ask(fixture, "linked", send_type="link")
        self.wait_row(fixture, "linked", "Sent")
        names = ("gift_redemption_url", "gift_donation_url")
        path = f"{RECORDS}/linked"
        with Client(fixture) as ana, Client(fixture, key=approver) as bo:
            def read(caller, where=path):
                response = caller.get(where)
                self.assertEqual(response.status, 200, response)
                return [response.json()["data"][name] for name in names]
            urls = read(ana)
            for url in urls:
                page = ana.get(url.removeprefix(fixture.url), authorization=False)
                self.assertEqual(page.status, 200, page)
                self.assertIn("Hello linked", page.body.decode())
            self.assertEqual(read(bo), [None, None], "an approver gets no URLs")
            detail = fixture.ctl_json("request", "show", "linked")
            self.assertEqual([detail[name] for name in names], urls)
            shown = fixture.ctl("request", "show", "linked")
            self.assertEqual([url for url in urls if url not in shown], [])
            self.edit(fixture, "linked", sender="005B")
            self.assertEqual(read(bo), [None, None], "a later edit of Sender grants no access to the URLs")
            self.edit(fixture, "linked", sender="005A")
            made = ana.post(RECORDS, {"Gift_Id": 7, "Recipient_Email": "kim@example.com", "Message": "Hello", "Send_Type": "link"})
            asked = f"{RECORDS}/{made.json()['data']['Name']}"
            self.assertEqual(read(ana, asked), [None, None], "nothing is sent yet")
            self.assertEqual(bo.post(asked + "/approve", {}).status, 200)
            daemon_fixture.wait_until(lambda: all(read(ana, asked)), "the URLs of the record that was created over HTTP")
            gift = str(detail["recipient_transaction_ids"][0])
            self.assertIn(f"request {detail['Name']} asked for its links", fixture.try_ctl("gift", "resend", gift).stderr)
            fixture.ctl("gift", "cancel", gift, "--yes")
            self.assertEqual(read(ana), [None, None], "the URLs are withheld once they are of no use")
        log = fixture.whole_log()
        self.assertEqual([url for url in urls if url.rsplit("/", 1)[1] in log], [])


class KillTest(RequestRecordTestCase):
    """REQUESTS at once; every fifth stays pending, every tenth is rejected while others are sent."""

    def ask_all(self, fixture, count=REQUESTS):
        for first in range(0, count, 100):
            rows = ", ".join(f"('k{n}', '7', 'k{n}@example.com', 'Hello', '005A', {'false' if n % 5 == 4 else 'true'})"
                             for n in range(first, min(first + 100, count)))
            fixture.query("INSERT INTO crm_request_record (id, gift_id, recipient_email, message, sender, auto_approved) VALUES " + rows)

    def reject_some(self, fixture, done):
        for number in range(0, REQUESTS, 10):
            if done.is_set():
                return
            self.edit(fixture, f"k{number}", request_status="Rejected")

    def test_one_gift_each(self):
        fixture = self.new_seeded_fixture()
        collector = Collector(fixture.outbox)
        fixture.start()
        self.ask_all(fixture)
        done = threading.Event()
        rejecting = threading.Thread(target=self.reject_some, args=(fixture, done))
        rejecting.start()
        for kill in range(1, KILLS + 1):
            goal = REQUESTS * 4 // 5 * kill // (KILLS + 1)
            daemon_fixture.wait_until(lambda: self.count(fixture, "Sent") + self.count(fixture, "Rejected") >= goal, f"{goal} requests", 120)
            fixture.kill()
            fixture.start(wait=False)
        rejecting.join(300)
        fixture.wait_ready()
        daemon_fixture.wait_until(lambda: self.count(fixture, "Approved") == 0 and self.is_idle(fixture), "all requests to be finished", 180, 0.2)
        done.set()
        sent = {name for (name,) in fixture.query("SELECT id FROM crm_request_record WHERE request_status = 'Sent'")}
        rejected = {name for (name,) in fixture.query("SELECT id FROM crm_request_record WHERE request_status = 'Rejected'")}
        pending = {name for (name,) in fixture.query("SELECT id FROM crm_request_record WHERE request_status = 'Pending'")}
        self.assertEqual(pending, {f"k{n}" for n in range(REQUESTS) if n % 5 == 4})
        self.assertEqual(len(sent) + len(rejected) + len(pending), REQUESTS)
        self.assertLessEqual(rejected, {f"k{n}" for n in range(0, REQUESTS, 10)})
        expected = collections.Counter(f"{name}@example.com" for name in sent)
        self.assertEqual(self.gifts(fixture), expected, "one gift for each Sent record, none for the others")
        wrong = fixture.query("SELECT id, error_log FROM crm_request_record WHERE error_log IS NOT NULL AND error_log <> '' "
                            "AND error_log NOT LIKE '%from Sent to Rejected%'")
        self.assertEqual(wrong, [])
        daemon_fixture.wait_until(lambda: fixture.status()["mail"]["accepted"] == len(sent), "the mails", 120, 0.2)
        mails, repeated = collector.finish()
        self.assertEqual(collections.Counter(mail.to for mail in mails), expected)
        self.assertFalse(repeated)
        print(f"{len(sent)} sent, {len(rejected)} rejected in time, {KILLS} kills ", end="", flush=True)

    @staticmethod
    def count(fixture, status):
        return int(fixture.query(f"SELECT count(*) FROM crm_request_record WHERE request_status = '{status}'")[0][0])

    @staticmethod
    def is_idle(fixture):
        return int(fixture.query("SELECT (SELECT count(*) FROM crm_request_queue) + "
                               "(SELECT count(*) FROM request_record_state WHERE next_attempt_at IS NOT NULL)")[0][0]) == 0


class KillTestOnPostgresql(KillTest):
    back_end = "postgresql"

    def test_two_daemons_share_the_queue(self):
        first = self.new_seeded_fixture()
        second = self.new_fixture(store=first.store, folder=first.folder, name="second")
        second.write_settings('requests: { enabled: true, organization_token: "file:token" }\n')
        pair = (first, second)
        for one in pair:
            one.start()
        count = REQUESTS // 3
        self.ask_all(first, count)
        for kill in range(4):
            goal = count * 4 // 5 * (kill + 1) // 5
            daemon_fixture.wait_until(lambda: self.count(first, "Sent") >= goal, f"{goal} requests", 120)
            pair[kill % 2].kill()
            pair[kill % 2].start(wait=False)
        daemon_fixture.wait_until(lambda: self.count(first, "Approved") == 0 and self.is_idle(first), "all requests to be finished", 180, 0.2)
        expected = collections.Counter(f"k{n}@example.com" for n in range(count) if n % 5 < 4)
        self.assertEqual(self.gifts(first), expected)
        self.assertEqual(first.query("SELECT count(*) FROM crm_request_record WHERE error_log <> ''")[0][0], "0")


if __name__ == "__main__":
    daemon_fixture.main()
