#!/usr/bin/python3
"""Sources of status changes: signed webhooks, and polls of a vendor's feed."""
import base64
import datetime
import gzip
import hashlib
import hmac
import http.server
import itertools
import json
import signal
import subprocess
import threading
import time
import urllib.parse

import daemon_fixture
from http_client import Client

SECRET = base64.b64encode(b"a secret of 24 bytes, ok").decode()
OLD_SECRET = base64.b64encode(b"an older one of 24 bytes").decode()
FIELDS = {"transaction_id": "/gift/id", "status": "/what", "occurred_at": "/when", "event_id": "/event"}
STATUS_MAP = {"viewed": "opened", "claimed": "redeemed", "ping": "ignore"}


def at(minute):
    return f"2020-11-20T10:{minute:02d}:00.000Z"


def report(transaction, word, minute, event=None, **more):
    return {"gift": {"id": transaction}, "what": word, "when": at(minute), "event": event or f"{transaction}-{word}-{minute}",
            **more}


def sources(*all_of_them):
    """JSON is YAML."""
    return "sources: " + json.dumps(all_of_them) + "\n"


def webhook(name="vendor", **more):
    return {"name": name, "secret": [SECRET, OLD_SECRET], "fields": FIELDS, "status_map": STATUS_MAP, **more}


class FakeFeed:
    """A feed of events over HTTP that records its requests."""

    def __init__(self, page=3):
        self.events = []
        self.page = page
        self.requests = []
        self.fault = None  # (status, headers) of every response
        self.newest_first = False  # as a list whose last page has no cursor
        self.is_expired = lambda cursor: False  # answered with 410
        self.delay_seconds = 0
        self.compress = False  # whether or not the client accepts it
        self.encoding = None  # the Content-Encoding of a body that is not compressed
        self.lock = threading.Lock()
        vendor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                vendor.respond(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/events?v=1"

    def add(self, *events):
        with self.lock:
            self.events.extend(events)

    def respond(self, handler):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(handler.path).query))
        with self.lock:
            self.requests.append((query, dict(handler.headers)))
            fault, delay_seconds = self.fault, self.delay_seconds
            begin = int(query.get("after", 0))
            wanted = [one for one in self.events if one.get("when", "") >= query.get("from", "")]
            if self.newest_first:
                wanted.reverse()
            some = wanted[begin:begin + self.page]
            has_cursor = not self.newest_first or begin + len(some) < len(wanted)
            if "after" in query and self.is_expired(query["after"]):
                fault = (410, {})
        if delay_seconds:
            time.sleep(delay_seconds)
        body = json.dumps({"data": some, "paging": {"cursor": str(begin + len(some)) if has_cursor else None}}).encode()
        etag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
        status, headers = fault or (200, {"ETag": etag})
        if not fault and handler.headers.get("If-None-Match") == etag:
            status, body = 304, b""
        if fault:
            body = b"" if status == 204 else b"<html>out of order</html>"
        handler.send_response(status)
        if self.compress and body:
            body = gzip.compress(body)
            handler.send_header("Content-Encoding", "gzip")
        elif self.encoding:
            handler.send_header("Content-Encoding", self.encoding)
        for name, value in headers.items():
            handler.send_header(name, value)
        if status != 204:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        try:
            handler.wfile.write(body)
        except OSError:
            pass  # the daemon was killed

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def feed(vendor, **more):
    return {"name": "feed", "type": "poll", "url": vendor.url, "interval": 1, "items": "/data", "fields": FIELDS,
            "status_map": STATUS_MAP, "cursor": {"pointer": "/paging/cursor", "parameter": "after"},
            "headers": {"Authorization": "Bearer feed-token"}, **more}


class SourceTest(daemon_fixture.DaemonTestCase):
    def new_seeded_fixture(self, more):
        fixture = self.new_fixture(more=more).seed().start()
        self.client = Client(fixture)
        self.addCleanup(self.client.close)
        return fixture

    def new_gifts(self, fixture, count):
        response = self.client.send_gift(*(f"gift{number}@example.com" for number in range(count)))
        self.assertEqual(response.status, 201, response)
        ids = [one["recipient_transaction_id"] for one in response.json()["data"]["recipients"]]
        self.wait_records(fixture, ids, lambda record: record["RecipientTransactionStatus"] == "delivered")
        return ids

    def wait_records(self, fixture, ids, condition):
        def found():
            records = {record["RecipientTransactionId"]: record for record in fixture.gift_records()}
            wanted = [records.get(number) for number in ids]
            return wanted if all(record and condition(record) for record in wanted) else None

        return daemon_fixture.wait_until(found, f"records {ids[:3]}... to follow", pace_seconds=0.2)

    @staticmethod
    def source(fixture, name):
        return next(one for one in fixture.ctl_json("source", "list") if one["name"] == name)

    def wait_source(self, fixture, name, **expected):
        def found():
            row = self.source(fixture, name)
            return row if all(row[key] == value for key, value in expected.items()) else None

        return daemon_fixture.wait_until(found, f"source {name} to have {expected}", pace_seconds=0.2)


class Webhooks(SourceTest):
    message_numbers = itertools.count(1)

    def call(self, name, body, message_id=None, secret=SECRET, when=None, spoil=False, **headers):
        text = body if isinstance(body, str) else json.dumps(body)
        message_id = message_id or f"msg_{next(self.message_numbers)}"
        timestamp = str(int(when or time.time()))
        code = hmac.new(base64.b64decode(secret), f"{message_id}.{timestamp}.{text}".encode(), hashlib.sha256).digest()
        signed = {"webhook-id": message_id, "webhook-timestamp": timestamp,
                  "webhook-signature": "v1," + base64.b64encode(code).decode(), **headers}
        return self.client.request("POST", f"/api/v1/webhooks/status_changes/{name}", text + (" " if spoil else ""),
                                   {"Content-Type": "application/json", **signed})

    # ARCH-29, SRC-22
    def test_a_signed_message_updates_the_record_and_a_replay_changes_nothing(self):
        fixture = self.new_seeded_fixture(sources(webhook()))
        one, two = self.new_gifts(fixture, 2)
        response = self.call("vendor", report(one, "viewed", 5), "msg_first")
        self.assertEqual(response.status, 200, response)
        self.assertEqual(response.json()["data"]["accepted"], 1)
        record = self.wait_records(fixture, [one], lambda r: r["RecipientTransactionStatus"] == "opened")[0]
        self.assertEqual(record["Opened_Date_Time"], at(5))
        replay = self.call("vendor", report(one, "claimed", 6), "msg_first")
        self.assertEqual((replay.status, replay.json()["data"]["accepted"]), (200, 0))
        batch = [report(two, "viewed", 7), report(two, "claimed", 8), report(two, "ping", 9)]
        response = self.call("vendor", batch, secret=OLD_SECRET)
        self.assertEqual(response.json()["data"], {"accepted": 2, "duplicates": 0, "orphaned": 0, "ignored": 1, "quarantined": 0,
                                                 "gifts": 0})
        ignored = fixture.ctl_json("source", "quarantine", "vendor", "--ignored")
        self.assertEqual([(one["state"], one["source_status"]) for one in ignored], [("ignored", "ping")])
        self.wait_records(fixture, [two], lambda r: r["RecipientTransactionStatus"] == "redeemed")
        history = fixture.ctl_json("gift", "show", str(one))["history"]
        self.assertEqual([change["status"] for change in history if change["source"] == "vendor"], ["opened"])

    # SRC-25
    def test_invalid_messages_are_refused(self):
        fixture = self.new_seeded_fixture(sources(webhook(), webhook("second", signature="basic", secret="user:a-long-enough-password")))
        number = self.new_gifts(fixture, 1)[0]
        good = report(number, "claimed", 6)
        self.assertEqual(self.call("vendor", good, spoil=True).status, 401)
        self.assertEqual(self.call("vendor", good, when=time.time() - 301).status, 401)
        self.assertEqual(self.call("second", good).status, 401)
        self.assertEqual(self.call("unknown", good).status, 404)
        self.assertEqual(self.call("vendor", "{").status, 400)
        self.assertEqual(self.call("vendor", {"gift": {}}).status, 400)
        self.assertEqual(self.call("vendor", good, **{"Content-Type": "text/xml"}).status, 415)
        self.assertEqual(self.call("vendor", [report(number, "ping", 1, event="x" * 2_000_000)]).status, 413)
        self.client.close()
        self.client = Client(fixture)
        get = self.client.get("/api/v1/webhooks/status_changes/vendor")
        self.assertEqual((get.status, get.headers["Allow"]), (405, "POST"))
        basic = {"Authorization": "Basic " + base64.b64encode(b"user:a-long-enough-password").decode()}
        self.assertEqual(self.call("second", report(number, "viewed", 2), **basic).status, 200)
        self.wait_records(fixture, [number], lambda r: r["RecipientTransactionStatus"] == "opened")
        for _ in range(50):
            self.assertEqual(self.call("vendor", good, spoil=True).status, 401)
        self.wait_source(fixture, "vendor", refused=56)  # 52 for their signature, 4 for their content
        lines = [line for line in fixture.whole_log().splitlines() if "source vendor: a message was refused" in line]
        self.assertEqual(len(lines), 2, "one log line for those with a signature and one for the others, not one for each message")
        self.assertNotIn(SECRET, fixture.whole_log())

    # SRC-29, SRC-59, SRC-60, SRC-61
    def test_a_refused_message_is_kept_logged_and_shown_and_changes_no_state(self):
        fixture = self.new_seeded_fixture("log: { format: json }\n" + sources(webhook()))
        number = self.new_gifts(fixture, 1)[0]
        self.assertEqual(self.call("vendor", report(number, "viewed", 5)).status, 200)
        self.wait_source(fixture, "vendor", state="ok", accepted=1)
        body = json.dumps({"gift": {"id": "kim.secret@example.com"}, "what": "viewed"}, indent=3) + "\n"
        self.assertEqual(self.call("vendor", body, "msg_bad").status, 400)
        called_at = time.monotonic()
        self.assertEqual(self.call("vendor", body, spoil=True).status, 401)
        row = self.wait_source(fixture, "vendor", refused=2)
        self.assertLess(time.monotonic() - called_at, 10, "counters used to be up to 15 s old")
        self.assertEqual((row["state"], row["refused_in_row"]), ("ok", 1))
        self.assertIn("signature", row["last_refusal"])
        kept = fixture.ctl_json("source", "refused", "vendor")
        self.assertEqual([(one["message_id"], one["http_status"], one["size"]) for one in kept], [("msg_bad", 400, len(body))])
        self.assertIn("transaction_id", kept[0]["reason"])
        self.assertEqual(fixture.ctl("source", "refused", "vendor", "--show", str(kept[0]["id"])), body)
        lines = [json.loads(line) for line in fixture.whole_log().splitlines()]
        refusals = [line for line in lines if line["message"].startswith("refused: POST /api/v1/webhooks/status_changes/vendor: ")]
        self.assertEqual([(line["source"], line["reason"]) for line in refusals],
                         [("vendor", "no event could be read: occurred_at, transaction_id"), ("vendor", "it came with a wrong signature")])
        self.assertNotIn("kim.secret", fixture.whole_log())

    # SRC-60
    def test_the_last_use_of_a_key_is_shown_soon(self):
        fixture = self.new_seeded_fixture("")
        used_at = time.monotonic()
        self.new_gifts(fixture, 1)
        daemon_fixture.wait_until(lambda: any(key["last_used_at"] for key in fixture.ctl_json("key", "list")), "the key's last use",
                                  pace_seconds=0.2)
        self.assertLess(time.monotonic() - used_at, 10)

    # SRC-62
    def test_a_sample_is_tried_without_a_change(self):
        fields = {**FIELDS, "recipient_email": "/to", "sent_at": "/sent"}
        app = webhook("app", transactions="external", transaction_ids="allot", fields=fields)
        fixture = self.new_seeded_fixture(sources(app))
        sample = [report("ord_1", "viewed", 5, to="ada@example.com", sent=at(1)), report("ord_2", "claimed", 6)]
        path = fixture.write("sample.json", json.dumps(sample))
        text = fixture.ctl("source", "try", "app", path, expect=1)
        self.assertIn('gift "ord_1" would be created', text)
        self.assertIn("1 of 2 events would be applied; nothing was changed", text)
        events = json.loads(fixture.ctl("source", "try", "app", path, "--json", expect=1))["events"]
        self.assertEqual([(one["outcome"], one["gift"]) for one in events], [("accepted", "created"), ("orphaned", "unknown")])
        self.assertIn("fields.recipient_email", events[1]["detail"])
        data = self.call("app", sample).json()["data"]
        self.assertEqual((data["accepted"], data["orphaned"], data["gifts"]), (1, 1, 1))
        events = json.loads(fixture.ctl("source", "try", "app", path, "--json", expect=1))["events"]
        self.assertEqual([(one["outcome"], one["gift"]) for one in events], [("duplicate", "exists"), ("duplicate", "unknown")])

    # SRC-9
    def test_an_unmapped_status_is_quarantined_and_applied_once_mapped(self):
        fixture = self.new_seeded_fixture(sources(webhook()))
        number = self.new_gifts(fixture, 1)[0]
        response = self.call("vendor", [report(number, "unwrapped", 5), report(number, "viewed", 99 - 50)])
        self.assertEqual(response.json()["data"]["quarantined"], 1)
        future = report(number, "claimed", 1)
        future["when"] = "2199-01-01T00:00:00Z"
        self.assertEqual(self.call("vendor", future).json()["data"]["quarantined"], 1)
        quarantined = fixture.ctl_json("source", "quarantine", "vendor")
        self.assertEqual([(one["reason"], one["source_status"]) for one in quarantined], [("unknown_status", "unwrapped"), ("implausible_time", "claimed")])
        self.wait_records(fixture, [number], lambda r: r["RecipientTransactionStatus"] == "opened")
        fixture.write_settings(sources(webhook(status_map={**STATUS_MAP, "unwrapped": "redeemed"})))
        self.client.close()
        fixture.restart()
        record = self.wait_records(fixture, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")[0]
        self.assertEqual(record["Redeemed_Date_Time"], at(5))
        self.assertEqual([one["reason"] for one in fixture.ctl_json("source", "quarantine")], ["implausible_time"])
        self.assertIn("1 purged", fixture.ctl("source", "purge", "vendor", "--reason", "all", "--yes"))

    def test_an_external_gift_gets_its_record(self):
        fields = {**FIELDS, "recipient_email": "/to", "first_name": "/name", "sender_email": "/by", "gift_id": "/item",
                  "sent_at": "/sent", "costs": {"shipping": "/shipping"}}
        fixture = self.new_fixture(more=sources(webhook("app", transactions="external", fields=fields)) +
                               "").seed()
        fixture.ctl("crm", "import", "--object", "contact",
                  fixture.write("contact.csv", "Id,Email,Name\n003A,ada@example.com,Ada\n"))
        fixture.ctl("crm", "import", "--object", "user",
                  fixture.write("user.csv", "Id,Name,Email,IsActive\n005R,Rose,rose@example.com,true\n"))
        fixture.start()
        self.client = Client(fixture)
        self.addCleanup(self.client.close)
        number = 8_000_000_123
        early = self.call("app", report(number, "claimed", 9))
        self.assertEqual(early.json()["data"]["orphaned"], 1)
        opened = report(number, "viewed", 5, to="Ada@Example.com", name="Ada", by="rose@example.com", item=7,
                      sent=at(1), shipping=4.95)
        self.assertEqual(self.call("app", opened).json()["data"]["gifts"], 1)
        record = self.wait_records(fixture, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")[0]
        self.assertEqual(record["RecipientContactId"], "003A")
        self.assertEqual((record["SenderId"], record["Actual_Sender"], record["CreatedById"]), ("005R", "005R", "005R"))
        self.assertEqual((record["RecipientTransactionCreatedAt"], record["Opened_Date_Time"], record["Redeemed_Date_Time"]),
                         (at(1), at(5), at(9)))
        self.assertEqual(record["Name"], "Coffee for Ada")
        self.assertEqual(record["Shipping_Cost"], "4.95")
        self.call("app", report(number, "viewed", 6, sent=at(0)))
        sent_at = lambda when: lambda r: r["RecipientTransactionCreatedAt"] == when
        self.wait_records(fixture, [number], sent_at(at(0)))
        earlier = [one["id"] for one in fixture.ctl_json("change", "list", "--gift", str(number))
                   if (one["status"], one["occurred_at"]) == ("sent", at(0))]
        self.assertEqual(len(earlier), 1)
        fixture.ctl("change", "void", str(earlier[0]))
        self.wait_records(fixture, [number], sent_at(at(1)))
        self.assertEqual(list(fixture.outbox.glob("*.eml")) if fixture.outbox.exists() else [], [])
        own = self.new_gifts(fixture, 1)[0]
        self.assertLess(own, 1_000_000, "giftsync's ids do not continue the vendor's")
        stolen = self.call("app", report(own, "claimed", 9))
        self.assertEqual(stolen.json()["data"]["quarantined"], 1)
        self.client.close()
        fixture.restart()
        self.client = Client(fixture)
        self.assertLess(self.new_gifts(fixture, 1)[0], 1_000_000)
        self.assertIn("other_source", [one["reason"] for one in fixture.ctl_json("source", "quarantine")])

    # SRC-58
    def test_a_vendor_with_ids_of_its_own(self):
        fields = {**FIELDS, "recipient_email": "/to", "sent_at": "/sent"}
        keeping = sources(webhook("app", transactions="external", fields=fields))
        allotting = sources(webhook("app", transactions="external", transaction_ids="allot", fields=fields))
        fixture = self.new_seeded_fixture(keeping)
        uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
        self.assertEqual(self.call("app", report(8_000_000_126, "viewed", 2, to="ada@example.com", sent=at(1)))
                         .json()["data"]["gifts"], 1)
        made = report(uuid, "viewed", 5, to="ada@example.com", sent=at(1))
        page = self.call("app", [made, report(8_000_000_126, "viewed", 3)])
        self.assertEqual(page.json()["data"]["quarantined"], 1)
        self.assertIn("set transaction_ids: allot", fixture.ctl_json("source", "quarantine")[0]["detail"])
        early = self.call("app", [report("ord_1a2b", "claimed", 9), report(8_000_000_126, "viewed", 4)])
        self.assertEqual(early.json()["data"]["quarantined"], 1)

        self.reload(fixture, allotting)
        self.wait_source(fixture, "app", quarantined=0, gifts=2, orphaned=1)
        gift = fixture.ctl_json("gift", "show", "--external", uuid)
        self.assertEqual((gift["recipient"]["external_id"], gift["recipient"]["origin"]), (uuid, "app"))
        self.assertLess(gift["recipient_transaction_id"], 1_000_000, "a number of giftsync's own")
        self.wait_records(fixture, [gift["recipient_transaction_id"]], lambda r: r["RecipientTransactionStatus"] == "opened")
        waiting = fixture.ctl_json("change", "list", "--orphaned")
        self.assertEqual([one["external_id"] for one in waiting], ["ord_1a2b"])
        self.assertIn("external id ord_1a2b", fixture.ctl("change", "list", "--orphaned"))
        order = report("ord_1a2b", "viewed", 5, to="ada@example.com", sent=at(1))
        self.assertEqual(self.call("app", order).json()["data"]["gifts"], 1)
        number = fixture.ctl_json("gift", "show", "--external", "ord_1a2b")["recipient_transaction_id"]
        self.assertEqual(number, waiting[0]["recipient_transaction_id"])
        self.wait_records(fixture, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")
        self.assertEqual(self.call("app", report(8_000_000_126, "claimed", 9)).json()["data"]["accepted"], 1)
        self.wait_records(fixture, [8_000_000_126], lambda r: r["RecipientTransactionStatus"] == "redeemed")
        own = self.new_gifts(fixture, 1)[0]
        self.assertNotIn(own, (number, gift["recipient_transaction_id"]))
        listed = {one["RecipientTransactionId"]: one["external_id"] for one in fixture.ctl_json("gift", "list")}
        self.assertEqual(listed[number], "ord_1a2b")
        self.assertIn("ord_1a2b", fixture.ctl("gift", "list"))
        self.assertIn(uuid, fixture.ctl("gift", "export"))
        self.assertIn("no source has reported a gift \"ord_x\"", fixture.try_ctl("gift", "show", "--external", "ord_x").stderr)

    # LIFE-1
    def test_timers_leave_external_gifts_alone(self):
        fields = {**FIELDS, "recipient_email": "/to", "sent_at": "/sent"}
        fixture = self.new_seeded_fixture(sources(webhook("app", transactions="external", fields=fields)))
        own, external = self.new_gifts(fixture, 1)[0], 8_000_000_125
        self.call("app", report(external, "viewed", 5, to="ada@example.com", sent=at(1)))
        self.wait_records(fixture, [external], lambda r: r["RecipientTransactionStatus"] == "opened")
        self.assertEqual(fixture.query(f"SELECT due_at FROM recipient_transaction WHERE id = {external}"), [(None,)])
        years = 800 * 24 * 3600 * 1000
        fixture.query(f"UPDATE recipient_transaction SET sent_at = sent_at - {years}, due_at = due_at - {years}")
        self.wait_records(fixture, [own], lambda r: r["RecipientTransactionStatus"] in ("expired", "refunded"))
        self.wait_records(fixture, [external], lambda r: r["RecipientTransactionStatus"] == "opened")

    def reload(self, fixture, more):
        reloads = fixture.whole_log().count("settings reloaded")
        self.client.close()
        fixture.write_settings(more)
        fixture.signal(signal.SIGHUP)
        daemon_fixture.wait_until(lambda: fixture.whole_log().count("settings reloaded") > reloads, "the settings to be reloaded")
        fixture.wait_ready()

    def test_orphaned_events_create_gifts_after_the_settings_are_corrected(self):
        made = lambda number: report(number, "made", 3, to=f"gift{number}@example.com")
        status_map = {**STATUS_MAP, "made": "sent"}
        with_recipient = {**FIELDS, "recipient_email": "/to"}
        own = sources(webhook(fields=with_recipient, status_map=status_map))
        external = sources(webhook(fields=with_recipient, status_map=status_map, transactions="external"))
        without_recipient = sources(webhook(fields=FIELDS, status_map=status_map, transactions="external"))
        fixture = self.new_seeded_fixture(own)
        self.assertEqual(self.call("vendor", made(8000), "msg_1").json()["data"]["orphaned"], 1)
        self.assertEqual(self.call("vendor", report(8000, "viewed", 5), "msg_2").json()["data"]["orphaned"], 1)
        self.reload(fixture, external)
        self.wait_records(fixture, [8000], lambda r: r["RecipientTransactionStatus"] == "opened")
        self.wait_source(fixture, "vendor", orphaned=0, quarantined=0, gifts=1)
        daemon_fixture.wait_until(lambda: not fixture.ctl_json("source", "quarantine", "vendor", "--orphaned"), "no orphaned events")
        again = self.call("vendor", made(8000), "msg_1").json()["data"]
        self.assertEqual((again["duplicates"], again["accepted"], again["gifts"]), (1, 0, 0), "the event is evaluated again and is a duplicate")

        self.reload(fixture, without_recipient)
        self.assertIn("neither fields.recipient_email nor fields.recipient_phone", fixture.whole_log())
        check = subprocess.run([daemon_fixture.GIFTSYNCD, "--config", str(fixture.settings), "--check"], capture_output=True, text=True,
                               check=False)
        self.assertEqual(check.returncode, 0, check.stderr)
        self.assertIn("sources[0].transactions: external with neither", check.stderr)
        self.assertEqual(self.call("vendor", made(8001), "msg_3").json()["data"]["orphaned"], 1)
        kept = fixture.ctl_json("source", "quarantine", "vendor", "--orphaned")
        self.assertEqual([(one["state"], one["recipient_transaction_id"]) for one in kept], [("orphaned", "8001")])
        self.assertIn("it has no recipient", kept[0]["detail"])
        self.assertEqual(fixture.ctl_json("source", "quarantine"), [])
        self.reload(fixture, external)
        self.wait_records(fixture, [8001], lambda r: r["RecipientTransactionStatus"] == "sent")

        self.reload(fixture, without_recipient)
        self.assertEqual(self.call("vendor", made(8002), "msg_4").json()["data"]["orphaned"], 1)
        fixture.ctl("source", "purge", "vendor", "--reason", "orphaned", "--yes")
        self.reload(fixture, external)
        self.assertEqual(self.call("vendor", made(8002), "msg_4").json()["data"]["gifts"], 1, "a purged event is accepted again")
        self.assertEqual(self.call("vendor", made(8002), "msg_4").json()["message"], "Duplicate.")


    # SRC-21
    def test_a_renamed_source_cannot_update_gifts_of_its_old_name(self):
        app = lambda name: sources(webhook(name, transactions="external", fields={**FIELDS, "recipient_email": "/to",
                                                                                 "sent_at": "/sent"}))
        fixture = self.new_seeded_fixture(app("app"))
        number = 8_000_000_124
        opened = report(number, "viewed", 5, to="ada@example.com", sent=at(1))
        self.assertEqual(self.call("app", opened).json()["data"]["gifts"], 1)

        def rename(name):
            self.client.close()
            fixture.write_settings(app(name))
            fixture.restart()
            self.client = Client(fixture)
            self.addCleanup(self.client.close)

        rename("app-2")
        claimed = report(number, "claimed", 9, to="ada@example.com", sent=at(1))
        self.assertEqual(self.call("app-2", claimed).json()["data"]["quarantined"], 1)
        quarantined = fixture.ctl_json("source", "quarantine", "app-2")
        self.assertIn(f"transaction {number} belongs to source app: ", quarantined[0]["detail"])
        self.assertIn("restore its old name", quarantined[0]["detail"])
        lines = [line for line in fixture.whole_log().splitlines() if "was removed from the settings" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("source app was removed from the settings: its 1 gifts no longer receive updates", lines[0])
        self.assertIn("source    app: removed", fixture.status_text())
        rename("app")
        self.assertEqual(self.call("app", claimed).json()["data"]["accepted"], 1)
        self.wait_records(fixture, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")


class Polls(SourceTest):
    def vendor(self, **named):
        made = FakeFeed(**named)
        self.addCleanup(made.close)
        return made

    def test_pages_are_followed_and_the_cursor_survives_a_restart(self):
        vendor = self.vendor()
        fixture = self.new_seeded_fixture(sources(feed(vendor)))
        ids = self.new_gifts(fixture, 8)
        vendor.add(*(report(number, "viewed", 10 + n) for n, number in enumerate(ids)))
        for n, record in enumerate(self.wait_records(fixture, ids, lambda r: r["RecipientTransactionStatus"] == "opened")):
            self.assertEqual(record["Opened_Date_Time"], at(10 + n))
        self.wait_source(fixture, "feed", state="ok", accepted=8)
        self.client.close()
        fixture.stop()
        with vendor.lock:
            self.assertEqual(vendor.requests[0][1]["Authorization"], "Bearer feed-token")
            vendor.requests.clear()
        fixture.start()
        daemon_fixture.wait_until(lambda: vendor.requests, "a request after the restart")
        self.assertEqual(vendor.requests[0][0]["after"], "8")
        vendor.add(report(ids[0], "claimed", 50))
        self.wait_records(fixture, ids[:1], lambda r: r["RecipientTransactionStatus"] == "redeemed")
        self.assertEqual(self.source(fixture, "feed")["duplicates"], 0)
        self.assertIn("If-None-Match", {name for _, headers in vendor.requests for name in headers})

    def test_repeated_kills_neither_lose_nor_repeat(self):
        vendor = self.vendor(page=2)
        fixture = self.new_seeded_fixture(sources(feed(vendor)))
        ids = self.new_gifts(fixture, 40)
        self.client.close()
        vendor.delay_seconds = 0.03
        second = lambda n: f"2020-11-20T10:{n // 60:02d}:{n % 60:02d}.000Z"
        vendor.add(*({**report(number, word, 0), "when": second(2 * n + later)}
                     for n, number in enumerate(ids) for later, word in enumerate(("viewed", "claimed"))))
        for pause in (0.05, 0.2, 0.35, 0.1, 0.25):
            requests = len(vendor.requests)
            daemon_fixture.wait_until(lambda: len(vendor.requests) > requests + pause * 20, "requests for some pages")
            fixture.kill()
            fixture.start()
        records = self.wait_records(fixture, ids, lambda r: r["RecipientTransactionStatus"] == "redeemed")
        self.assertEqual([(r["Opened_Date_Time"], r["Redeemed_Date_Time"]) for r in records],
                         [(second(2 * n), second(2 * n + 1)) for n in range(len(ids))])
        row = self.wait_source(fixture, "feed", state="ok", accepted=80)
        self.assertLessEqual(row["duplicates"], 0, "a page and its cursor are stored in one transaction")

    def test_a_feed_that_is_down_is_logged_once_and_retried(self):
        vendor = self.vendor()
        other = self.vendor()
        fixture = self.new_seeded_fixture(sources(feed(vendor), feed(other, name="other")))
        number = self.new_gifts(fixture, 1)[0]
        self.wait_source(fixture, "feed", state="ok")
        vendor.fault = (503, {"Retry-After": "1"})
        vendor.add(report(number, "viewed", 5))
        self.wait_source(fixture, "feed", failures=2)
        other.add(report(number, "claimed", 6))
        self.wait_records(fixture, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")
        vendor.fault = None
        record = self.wait_records(fixture, [number], lambda r: r["Opened_Date_Time"] is not None)[0]
        self.assertEqual(record["Opened_Date_Time"], at(5))
        self.wait_source(fixture, "feed", failures=0)
        logged = [line for line in fixture.whole_log().splitlines() if "source feed: failing" in line]
        self.assertLessEqual(len(logged), 1, logged)

    # SRC-64
    def test_a_list_that_returns_the_newest_first_is_read_from_its_beginning(self):
        vendor = self.vendor()
        vendor.newest_first = True
        fixture = self.new_seeded_fixture(sources(feed(vendor)))
        ids = self.new_gifts(fixture, 12)
        for n, number in enumerate(ids):
            vendor.add(report(number, "viewed", 10 + n))
            if n >= 7:
                self.wait_source(fixture, "feed", state="ok", accepted=n + 1, reason=None)
        self.wait_records(fixture, ids, lambda r: r["RecipientTransactionStatus"] == "opened")

    # SRC-65
    def test_an_expired_cursor_begins_the_feed_again_also_after_a_restart(self):
        vendor = self.vendor()
        fixture = self.new_seeded_fixture(sources(feed(vendor)))
        ids = self.new_gifts(fixture, 7)
        vendor.add(*(report(number, "viewed", 10 + n) for n, number in enumerate(ids[:6])))
        self.wait_source(fixture, "feed", state="ok", accepted=6)
        self.client.close()
        vendor.is_expired = lambda cursor: cursor == "6"
        self.wait_source(fixture, "feed", state="failing", failures=2)
        with vendor.lock:
            vendor.requests.clear()
        fixture.restart()
        vendor.add(report(ids[6], "viewed", 20))
        vendor.is_expired = lambda cursor: cursor == "6" and len(vendor.requests) < 2
        self.wait_source(fixture, "feed", state="ok", accepted=7)
        self.assertNotIn("after", vendor.requests[0][0])
        self.assertIn("source feed: its stored position was refused 2 times, so it is read from its beginning", fixture.whole_log())

    def test_invalid_responses_do_not_move_the_cursor(self):
        vendor = self.vendor()
        fixture = self.new_seeded_fixture(sources(feed(vendor, interval=1)))
        number = self.new_gifts(fixture, 1)[0]
        vendor.fault = (200, {})
        daemon_fixture.wait_until(lambda: self.source(fixture, "feed")["failures"] > 0, "the invalid response to be counted", pace_seconds=0.2)
        self.assertEqual(self.source(fixture, "feed")["accepted"], 0)
        vendor.add(report(number, "viewed", 5), {"no": "report"}, report(number, "claimed", 6))
        vendor.fault = None
        self.wait_records(fixture, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")
        self.assertEqual([one["reason"] for one in fixture.ctl_json("source", "quarantine")], ["malformed"])

    def test_a_backlog_within_the_overlap_is_read_to_its_end(self):
        vendor = self.vendor(page=10)
        by_time = feed(vendor, since="from", page_size=10)
        del by_time["cursor"]
        fixture = self.new_seeded_fixture(sources(by_time))
        ids = self.new_gifts(fixture, 40)
        second = lambda n: (datetime.datetime(2020, 11, 20, 10) + datetime.timedelta(seconds=n)).isoformat() + ".000Z"
        vendor.add(*({**report(number, "viewed", 0), "when": second(n)} for n, number in enumerate(ids)))
        for n, record in enumerate(self.wait_records(fixture, ids, lambda r: r["RecipientTransactionStatus"] == "opened")):
            self.assertEqual(record["Opened_Date_Time"], second(n))
        self.wait_source(fixture, "feed", state="ok", accepted=40, reason=None)
        vendor.add({**report(ids[0], "claimed", 0), "when": second(60)})
        self.wait_records(fixture, ids[:1], lambda r: r["RecipientTransactionStatus"] == "redeemed")

    def test_compressed_responses_are_read_and_204_means_no_events(self):
        vendor = self.vendor()
        vendor.compress = True
        fixture = self.new_seeded_fixture(sources(feed(vendor)))
        number = self.new_gifts(fixture, 1)[0]
        vendor.add(report(number, "viewed", 5))
        self.wait_records(fixture, [number], lambda r: r["RecipientTransactionStatus"] == "opened")
        self.assertIn("gzip", vendor.requests[-1][1]["Accept-Encoding"])
        vendor.fault = (204, {})
        requests = len(vendor.requests)
        daemon_fixture.wait_until(lambda: len(vendor.requests) > requests + 2, "some empty responses")
        row = self.source(fixture, "feed")
        self.assertEqual((row["state"], row["failures"]), ("ok", 0))
        vendor.fault = None
        vendor.add(report(number, "claimed", 6, event="x" * 20_000_000))  # 20 KB on the wire
        self.wait_source(fixture, "feed", state="failing", reason="more than 16777216 bytes")

    def test_an_invalid_encoding_does_not_stop_a_poll(self):
        vendor = self.vendor()
        vendor.encoding = "utf-8"
        fixture = self.new_seeded_fixture(sources(feed(vendor)))
        number = self.new_gifts(fixture, 1)[0]
        vendor.add(report(number, "viewed", 5))
        self.wait_records(fixture, [number], lambda r: r["RecipientTransactionStatus"] == "opened")
        self.wait_source(fixture, "feed", state="ok", failures=0)

    def test_redirects_to_another_host_are_refused(self):
        vendor = self.vendor()
        elsewhere = self.vendor()
        vendor.fault = (302, {"Location": elsewhere.url})
        fixture = self.new_seeded_fixture(sources(feed(vendor)))
        daemon_fixture.wait_until(lambda: self.source(fixture, "feed")["failures"] > 0, "the redirect to be refused", pace_seconds=0.2)
        self.assertEqual(elsewhere.requests, [])
        self.assertIn("another port", fixture.whole_log())


if __name__ == "__main__":
    daemon_fixture.main()
