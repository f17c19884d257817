#!/usr/bin/python3
"""Request records that the CRM's own automation makes with plain SQL while the daemon runs: approved, rejected, edited,
faulty, deleted half-way; over HTTP and by command; and REQUESTS (1000) at once while the daemon is killed KILLS (5) times:
exactly one gift for each that is approved, none for the others.
"""
import collections
import os
import signal
import threading
import time

import house
from http_client import Client
from mails import Collector

REQUESTS = int(os.environ.get("REQUESTS", "1000"))
KILLS = int(os.environ.get("KILLS", "5"))
RECORDS = "/api/v1/request_records"
USERS = ("INSERT INTO crm_user (id, name, email, isactive) VALUES ('005A', 'Ana', 'ana@example.com', true), "
         "('005B', 'Bo', 'bo@example.com', true), ('005N', 'Nobody', 'nobody@example.com', true)")
SETS = ("INSERT INTO crm_permission_set_assignment (id, assigneeid, permissionsetname, isactive) "
        "VALUES ('0PaA', '005A', 'Standard_User', true)")


def text(value):
    return "NULL" if value is None else str(value).lower() if isinstance(value, bool) else "'" + str(value).replace("'", "''") + "'"


class RequestHouse(house.HouseTest):
    back_end = "sqlite"

    def furnished(self, **named):
        """A house whose CRM has users, and whose account belongs to an organization with a token."""
        given = self.new_house(store=house.store_settings(self.back_end), **named)
        token = given.ctl("organization", "create", "--name", "Edge").strip()
        given.write("token", token)
        given.write_settings('requests: { enabled: true, organization_token: "file:token" }\n')
        os.chmod(given.folder / "token", 0o600)
        given.ctl("item", "import", given.write("items.csv", house.ITEMS))
        given.ctl("account", "create", "--email", house.SENDER, "--name", "Ana Lima", "--plan", "team", "--organization", "Edge")
        given.ctl("account", "create", "--email", "bo@example.com", "--name", "Bo", "--plan", "team", "--organization", "Edge")
        given.query(USERS)
        given.query(SETS)
        given.key = given.new_key(house.SENDER)
        return given

    @staticmethod
    def ask(given, name, **fields):
        """A row as a flow inserts it."""
        row = {"id": name, "gift_id": "7", "recipient_email": f"{name}@example.com", "message": f"Hello {name}",
               "sender": "005A", "auto_approved": True, **fields}
        given.query(f"INSERT INTO crm_request_record ({', '.join(row)}) VALUES ({', '.join(text(one) for one in row.values())})")

    @staticmethod
    def edit(given, name, **fields):
        given.query("UPDATE crm_request_record SET " + ", ".join(f"{key} = {text(value)}" for key, value in fields.items()) +
                    f" WHERE id = '{name}'")

    @staticmethod
    def row(given, name):
        found = given.query(f"SELECT request_status, coalesce(error_log, '') FROM crm_request_record WHERE id = '{name}'")
        return found[0] if found else None

    def wait_row(self, given, name, status, told=""):
        return house.wait_until(lambda: (row := self.row(given, name)) and row[0] == status and told in row[1] and row,
                                f"{name} to be {status} ({told}), it is {self.row(given, name)}", seconds=20, pace_seconds=0.05)

    @staticmethod
    def gifts(given):
        """How many gifts each address got."""
        return collections.Counter(email for (email,) in given.query("SELECT email FROM recipient_transaction"))


class Requests(RequestHouse):
    def test_each_kind_of_request(self):
        given = self.furnished().start()
        begun = time.monotonic()
        self.ask(given, "auto")
        self.wait_row(given, "auto", "Sent")
        self.assertLess(time.monotonic() - begun, 4, "a change takes effect within 2 s")
        self.ask(given, "manual", auto_approved=False, lastmodifiedbyid="005B")
        self.ask(given, "flow", auto_approved=None)
        self.ask(given, "rejected", auto_approved=False)
        self.ask(given, "unknown_gift", gift_id="4711")
        self.ask(given, "no_number", gift_id="abc")
        self.ask(given, "long", message="x" * 200_000)
        self.ask(given, "both", recipient_contact="003A", recipient_lead="00QA")
        self.ask(given, "nobody", sender="005N")
        self.ask(given, "no_set", sender="005B")
        self.ask(given, "was_sent", request_status="Sent")
        self.wait_row(given, "unknown_gift", "Approved", "no gift \"4711\"")
        self.wait_row(given, "no_number", "Approved", "is no number")
        self.wait_row(given, "long", "Approved", "200000 characters")
        self.wait_row(given, "both", "Approved", "both set")
        self.wait_row(given, "nobody", "Approved", "account")
        self.wait_row(given, "no_set", "Approved", "permission set")
        self.wait_row(given, "was_sent", "Sent", "sent no gift")
        self.wait_row(given, "manual", "Pending")
        self.assertEqual(given.query("SELECT auto_approved FROM crm_request_record WHERE id = 'flow'"),
                         [("f",)] if self.back_end == "postgresql" else [(0,)])
        # In the CRM, by command, and what is not legal.
        self.edit(given, "manual", request_status="Approved", lastmodifiedbyid="005B")
        self.wait_row(given, "manual", "Sent")
        number = next(one["Name"] for one in given.ctl_json("request", "list") if one["Id"] == "rejected")
        self.assertEqual(given.ctl("request", "reject", number, "--comment", "not now").split(), [number, "Rejected"])
        self.edit(given, "rejected", request_status="Approved")
        self.wait_row(given, "rejected", "Rejected", "stays Rejected")
        self.edit(given, "auto", request_status="Rejected")
        self.wait_row(given, "auto", "Sent", "A sent request stays Sent")
        # Mended: a record by its edit, a permission by itself.
        self.edit(given, "unknown_gift", gift_id="8")
        self.assertEqual(self.wait_row(given, "unknown_gift", "Sent")[1], "")
        given.query("INSERT INTO crm_permission_set_assignment (id, assigneeid, permissionsetname, isactive) "
                    "VALUES ('0PaB', '005B', 'Admin', true)")
        self.assertEqual(self.wait_row(given, "no_set", "Sent")[1], "")
        story = given.ctl_json("request", "show", number)
        self.assertEqual([(one["from"], one["to"], one["comment"]) for one in story["moves"]][:2],
                         [(None, "pending", "first seen"), ("pending", "rejected", "not now")])
        self.assertEqual(self.gifts(given), collections.Counter(
            f"{name}@example.com" for name in ("auto", "manual", "unknown_gift", "no_set")))
        self.assertEqual(len(given.ctl_json("request", "list", "--status", "Sent")), 5)
        record = house.wait_until(lambda: next((one for one in given.gift_records()
                                                if one["Recipient_Email"] == "auto@example.com"), None), "the gift record",
                                  pace_seconds=0.1)
        self.assertEqual(record["SenderId"], "005A")
        self.assertEqual(float(record["RecipientTransactionPrice"]), 5.40, "without carbon and shipping, which it does not include")

    def test_deleted_half_way_and_edited_after_approval(self):
        given = self.furnished()
        given.query("DELETE FROM crm_permission_set_assignment")
        given.start()
        for name in ("deleted", "edited", "unchecked"):
            self.ask(given, name, auto_approved=name == "unchecked", request_status="Approved")
            self.wait_row(given, name, "Approved", "permission set")
        given.query("DELETE FROM crm_request_record WHERE id = 'deleted'")
        self.edit(given, "edited", message="Something else")
        self.wait_row(given, "edited", "Pending", "Changed after approval")
        given.query(SETS)
        self.wait_row(given, "unchecked", "Sent")
        house.wait_until(lambda: "was deleted in the CRM before it was sent" in given.whole_log(), "the log to tell")
        self.assertEqual(self.gifts(given), collections.Counter(["unchecked@example.com"]))

    def test_a_wrong_token_is_told_and_mended_beside_the_running_daemon(self):
        given = self.furnished().start()
        mended = given.ctl("organization", "rotate", "Edge", "--overlap", "0").strip()
        self.ask(given, "wrong")
        self.wait_row(given, "wrong", "Approved", "rganization token")
        given.write("token", mended)
        given.signal(signal.SIGHUP)
        self.wait_row(given, "wrong", "Sent")
        self.assertEqual(self.gifts(given), collections.Counter(["wrong@example.com"]))

    def test_what_is_deleted_is_still_told_and_what_nobody_reads_is_not_kept(self):
        given = self.furnished().start()
        self.ask(given, "gone")
        self.wait_row(given, "gone", "Sent")
        given.query("DELETE FROM crm_request_record WHERE id = 'gone'")
        house.wait_until(lambda: given.ctl_json("request", "show", "R-000001")["deleted"], "the deletion to be seen")
        story = given.ctl_json("request", "show", "gone")
        self.assertEqual((story["Name"], story["Request_Status"], len(story["recipient_transaction_ids"])), ("R-000001", "Sent", 1))
        self.assertIn("Deleted", given.ctl("request", "show", "R-000001"))
        given.stop()
        given.write_settings()
        self.ask(given, "unread")
        given.start()
        house.wait_until(lambda: given.query("SELECT count(*) FROM crm_pending_request")[0][0] in (0, "0"), "the notes to go", 40)
        given.stop()
        given.write_settings('requests: { enabled: true, organization_token: "file:token" }\n')
        given.start()
        self.wait_row(given, "unread", "Sent")

    def test_over_http(self):
        given = self.furnished().start()
        approver = given.new_key("bo@example.com", "--scope", "approve")
        own = given.new_key(house.SENDER, "--scope", "approve,request")
        body = {"Gift_Id": 7, "Recipient_Email": "kim@example.com", "Message": "Hello", "Include_Shipping": True, "Extra": 1}
        with Client(given) as client, Client(given, key=approver) as bo, Client(given, key=own) as self_approver:
            made = client.post(RECORDS, body)
            self.assertEqual(made.status, 201, made)
            data = made.json()["data"]
            self.assertEqual(data["Request_Status"], "Pending")
            self.assertEqual([one["code"] for one in made.json()["warnings"]], ["unknown_member"])
            path = f"{RECORDS}/{data['Name']}"
            self.assertEqual(client.post(RECORDS, {**body, "Auto_Approved": True}).status, 403)
            self.assertEqual(client.post(RECORDS, {**body, "Message": 5, "Auto_Approved": "yes"}).status, 400)
            self.assertEqual(client.post(path + "/approve", {}).status, 403, "the scope approve is missing")
            self.assertEqual(self_approver.post(path + "/approve", {}).json()["code"], "own_request")
            self.assertEqual(bo.post(f"{RECORDS}/R-999999/approve", {}).status, 404)
            self.assertEqual(bo.post(path + "/approve", {"comment": "fine"}).status, 200)
            house.wait_until(lambda: client.get(path).json()["data"]["Request_Status"] == "Sent", "the request to be sent")
            late = bo.post(path + "/reject", {})
            self.assertEqual((late.status, late.json()["code"]), (409, "illegal_move"))
            self.assertEqual(bo.get(path).status, 403, "the scope request is missing")
            again = {"headers": {"Idempotency-Key": "one-lunch"}}
            lunch = [client.post(RECORDS, {**body, "Recipient_Email": "lunch@example.com"}, **again) for _ in range(3)]
            self.assertEqual(len({(one.status, one.json()["data"]["Id"], one.json()["data"]["Name"]) for one in lunch}), 1, lunch)
            self.assertEqual(client.post(RECORDS, body, **again).status, 422)
            given.kill()
            given.start()
        with Client(given) as client, Client(given, key=given.new_key("bo@example.com")) as other, Client(given, key=approver) as bo:
            self.assertEqual(client.post(RECORDS, {**body, "Recipient_Email": "lunch@example.com"}, **again).json()["data"]["Id"],
                             lunch[0].json()["data"]["Id"], "the same record after a kill -9")
            self.assertEqual(len(given.query("SELECT id FROM crm_request_record WHERE recipient_email = 'lunch@example.com'")), 1)
            self.assertEqual(other.get(path).status, 404, "somebody else's")
            second = client.post(RECORDS, body).json()["data"]["Name"]
            self.assertEqual(bo.post(f"{RECORDS}/{second}/reject", b"").status, 200)
        moves = given.ctl_json("request", "show", data["Name"])["moves"]
        self.assertIn(("bo@example.com", "approved", "fine"), [(one["who"], one["to"], one["comment"]) for one in moves])
        self.assertEqual(self.gifts(given), collections.Counter(["kim@example.com"]))


    def test_urls_are_read_where_the_request_is_by_whoever_asked(self):
        given = self.furnished().start()
        approver = given.new_key("bo@example.com", "--scope", "approve,request")
        self.ask(given, "linked", send_type="link")
        self.wait_row(given, "linked", "Sent")
        names = ("gift_redemption_url", "gift_donation_url")
        path = f"{RECORDS}/linked"
        with Client(given) as ana, Client(given, key=approver) as bo:
            def read(caller, where=path):
                answer = caller.get(where)
                self.assertEqual(answer.status, 200, answer)
                return [answer.json()["data"][name] for name in names]
            urls = read(ana)
            for url in urls:
                page = ana.get(url.removeprefix(given.url), authorization=False)
                self.assertEqual(page.status, 200, page)
                self.assertIn("Hello linked", page.body.decode())
            self.assertEqual(read(bo), [None, None], "who approves has no use for them")
            story = given.ctl_json("request", "show", "linked")
            self.assertEqual([story[name] for name in names], urls)
            shown = given.ctl("request", "show", "linked")
            self.assertEqual([url for url in urls if url not in shown], [])
            self.edit(given, "linked", sender="005B")
            self.assertEqual(read(bo), [None, None], "a Sender who is edited in later gets no gift of others")
            self.edit(given, "linked", sender="005A")
            made = ana.post(RECORDS, {"Gift_Id": 7, "Recipient_Email": "kim@example.com", "Message": "Hello", "Send_Type": "link"})
            asked = f"{RECORDS}/{made.json()['data']['Name']}"
            self.assertEqual(read(ana, asked), [None, None], "nothing is sent yet")
            self.assertEqual(bo.post(asked + "/approve", {}).status, 200)
            house.wait_until(lambda: all(read(ana, asked)), "the URLs of what was asked for over HTTP")
            gift = str(story["recipient_transaction_ids"][0])
            self.assertIn(f"giftsyncctl request show {story['Name']}", given.try_ctl("gift", "resend", gift).stderr)
            given.ctl("gift", "cancel", gift)
            self.assertEqual(read(ana), [None, None], "they take nothing any more")
        log = given.whole_log()
        self.assertEqual([url for url in urls if url.rsplit("/", 1)[1] in log], [])


class RequestsOnPostgresql(Requests):
    back_end = "postgresql"


class Killed(RequestHouse):
    """A thousand at once; every fifth waits, every tenth is rejected while it is being sent."""

    def ask_all(self, given, count=REQUESTS):
        for first in range(0, count, 100):
            rows = ", ".join(f"('k{n}', '7', 'k{n}@example.com', 'Hello', '005A', {'false' if n % 5 == 4 else 'true'})"
                             for n in range(first, min(first + 100, count)))
            given.query("INSERT INTO crm_request_record (id, gift_id, recipient_email, message, sender, auto_approved) VALUES " + rows)

    def reject_some(self, given, done):
        for number in range(0, REQUESTS, 10):
            if done.is_set():
                return
            self.edit(given, f"k{number}", request_status="Rejected")

    def test_one_gift_each(self):
        given = self.furnished()
        collector = Collector(given.outbox)
        given.start()
        self.ask_all(given)
        done = threading.Event()
        rejecting = threading.Thread(target=self.reject_some, args=(given, done))
        rejecting.start()
        for kill in range(1, KILLS + 1):
            goal = REQUESTS * 4 // 5 * kill // (KILLS + 1)
            house.wait_until(lambda: self.count(given, "Sent") + self.count(given, "Rejected") >= goal, f"{goal} requests", 120)
            given.kill()
            given.start(wait=False)
        rejecting.join(300)
        given.wait_ready()
        house.wait_until(lambda: self.count(given, "Approved") == 0 and self.at_rest(given), "the requests to come to rest", 180, 0.2)
        done.set()
        sent = {name for (name,) in given.query("SELECT id FROM crm_request_record WHERE request_status = 'Sent'")}
        rejected = {name for (name,) in given.query("SELECT id FROM crm_request_record WHERE request_status = 'Rejected'")}
        pending = {name for (name,) in given.query("SELECT id FROM crm_request_record WHERE request_status = 'Pending'")}
        self.assertEqual(pending, {f"k{n}" for n in range(REQUESTS) if n % 5 == 4})
        self.assertEqual(len(sent) + len(rejected) + len(pending), REQUESTS)
        self.assertLessEqual(rejected, {f"k{n}" for n in range(0, REQUESTS, 10)})
        expected = collections.Counter(f"{name}@example.com" for name in sent)
        self.assertEqual(self.gifts(given), expected, "one gift for each that is Sent, none for any other")
        wrong = given.query("SELECT id, error_log FROM crm_request_record WHERE error_log IS NOT NULL AND error_log <> '' "
                            "AND error_log NOT LIKE '%from Sent to Rejected%'")
        self.assertEqual(wrong, [])
        house.wait_until(lambda: given.status()["mail"]["accepted"] == len(sent), "the mails", 120, 0.2)
        mails, repeated = collector.finish()
        self.assertEqual(collections.Counter(mail.to for mail in mails), expected)
        self.assertFalse(repeated)
        print(f"{len(sent)} sent, {len(rejected)} rejected in time, {KILLS} kills ", end="", flush=True)

    @staticmethod
    def count(given, status):
        return int(given.query(f"SELECT count(*) FROM crm_request_record WHERE request_status = '{status}'")[0][0])

    @staticmethod
    def at_rest(given):
        return int(given.query("SELECT (SELECT count(*) FROM crm_pending_request) + "
                               "(SELECT count(*) FROM request_state WHERE due_at IS NOT NULL)")[0][0]) == 0


class KilledOnPostgresql(Killed):
    back_end = "postgresql"

    def test_two_daemons_share_them(self):
        first = self.furnished()
        second = self.new_house(store=first.store, folder=first.folder, name="second")
        second.write_settings('requests: { enabled: true, organization_token: "file:token" }\n')
        pair = (first, second)
        for one in pair:
            one.start()
        count = REQUESTS // 3
        self.ask_all(first, count)
        for kill in range(4):
            goal = count * 4 // 5 * (kill + 1) // 5
            house.wait_until(lambda: self.count(first, "Sent") >= goal, f"{goal} requests", 120)
            pair[kill % 2].kill()
            pair[kill % 2].start(wait=False)
        house.wait_until(lambda: self.count(first, "Approved") == 0 and self.at_rest(first), "the requests to come to rest", 180, 0.2)
        expected = collections.Counter(f"k{n}@example.com" for n in range(count) if n % 5 < 4)
        self.assertEqual(self.gifts(first), expected)
        self.assertEqual(first.query("SELECT count(*) FROM crm_request_record WHERE error_log <> ''")[0][0], "0")


if __name__ == "__main__":
    house.main()
