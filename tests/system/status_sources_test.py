#!/usr/bin/python3
"""Sources of status changes: signed webhooks, and polls of a vendor's feed that has a memory."""
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

import house
from http_client import Client

SECRET = base64.b64encode(b"a secret of 24 bytes, ok").decode()
OLD_SECRET = base64.b64encode(b"an older one of 24 bytes").decode()
FIELDS = {"transaction_id": "/gift/id", "status": "/what", "occurred_at": "/when", "event_id": "/event"}
WORDS = {"viewed": "opened", "claimed": "redeemed", "ping": "ignore"}


def at(minute):
    return f"2020-11-20T10:{minute:02d}:00.000Z"


def report(transaction, word, minute, event=None, **more):
    return {"gift": {"id": transaction}, "what": word, "when": at(minute), "event": event or f"{transaction}-{word}-{minute}",
            **more}


def sources(*all_of_them):
    """JSON is YAML."""
    return "sources: " + json.dumps(all_of_them) + "\n"


def webhook(name="vendor", **more):
    return {"name": name, "secret": [SECRET, OLD_SECRET], "fields": FIELDS, "status_map": WORDS, **more}


class Vendor:
    """A feed of events over HTTP that remembers what it was asked."""

    def __init__(self, page=3):
        self.events = []
        self.page = page
        self.asked = []
        self.fault = None  # (status, headers) for every answer
        self.slow = 0
        self.compress = False  # asked for or not
        self.encoding = None  # what it calls a body that is not compressed
        self.lock = threading.Lock()
        vendor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                vendor.answer(self)

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

    def answer(self, handler):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(handler.path).query))
        with self.lock:
            self.asked.append((query, dict(handler.headers)))
            fault, slow = self.fault, self.slow
            begin = int(query.get("after", 0))
            wanted = [one for one in self.events if one.get("when", "") >= query.get("from", "")]
            some = wanted[begin:begin + self.page]
        if slow:
            time.sleep(slow)
        body = json.dumps({"data": some, "paging": {"cursor": str(begin + len(some))}}).encode()
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
            "status_map": WORDS, "cursor": {"pointer": "/paging/cursor", "parameter": "after"},
            "headers": {"Authorization": "Bearer of news"}, **more}


class SourceTest(house.HouseTest):
    def furnished(self, more):
        place = self.new_house(more=more).furnish().start()
        self.client = Client(place)
        self.addCleanup(self.client.close)
        return place

    def new_gifts(self, place, count):
        answer = self.client.send_gift(*(f"gift{number}@example.com" for number in range(count)))
        self.assertEqual(answer.status, 201, answer)
        ids = [one["recipient_transaction_id"] for one in answer.json()["data"]["recipients"]]
        self.wait_records(place, ids, lambda record: record["RecipientTransactionStatus"] == "delivered")
        return ids

    def wait_records(self, place, ids, condition):
        def found():
            records = {record["RecipientTransactionId"]: record for record in place.gift_records()}
            wanted = [records.get(number) for number in ids]
            return wanted if all(record and condition(record) for record in wanted) else None

        return house.wait_until(found, f"records {ids[:3]}... to follow", pace_seconds=0.2)

    @staticmethod
    def source(place, name):
        return next(one for one in place.ctl_json("source", "list") if one["name"] == name)

    def wait_source(self, place, name, **expected):
        def found():
            row = self.source(place, name)
            return row if all(row[key] == value for key, value in expected.items()) else None

        return house.wait_until(found, f"source {name} to have {expected}", pace_seconds=0.2)


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

    def test_a_signed_message_moves_the_record_and_a_replay_changes_nothing(self):
        place = self.furnished(sources(webhook()))
        one, two = self.new_gifts(place, 2)
        answer = self.call("vendor", report(one, "viewed", 5), "msg_first")
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json()["data"]["accepted"], 1)
        record = self.wait_records(place, [one], lambda r: r["RecipientTransactionStatus"] == "opened")[0]
        self.assertEqual(record["Opened_Date_Time"], at(5))
        replay = self.call("vendor", report(one, "claimed", 6), "msg_first")
        self.assertEqual((replay.status, replay.json()["data"]["accepted"]), (200, 0))
        batch = [report(two, "viewed", 7), report(two, "claimed", 8), report(two, "ping", 9)]
        answer = self.call("vendor", batch, secret=OLD_SECRET)
        self.assertEqual(answer.json()["data"], {"accepted": 2, "repeated": 0, "held": 0, "ignored": 1, "kept_aside": 0,
                                                 "gifts": 0})
        self.wait_records(place, [two], lambda r: r["RecipientTransactionStatus"] == "redeemed")
        history = place.ctl_json("gift", "show", str(one))["history"]
        self.assertEqual([change["status"] for change in history if change["source"] == "vendor"], ["opened"])

    def test_what_must_not_come_in_does_not(self):
        place = self.furnished(sources(webhook(), webhook("second", signature="basic", secret="user:pass")))
        number = self.new_gifts(place, 1)[0]
        good = report(number, "claimed", 6)
        self.assertEqual(self.call("vendor", good, spoil=True).status, 401)
        self.assertEqual(self.call("vendor", good, when=time.time() - 301).status, 401)
        self.assertEqual(self.call("second", good).status, 401)
        self.assertEqual(self.call("nobody", good).status, 404)
        self.assertEqual(self.call("vendor", "{").status, 400)
        self.assertEqual(self.call("vendor", {"gift": {}}).status, 400)
        self.assertEqual(self.call("vendor", good, **{"Content-Type": "text/xml"}).status, 415)
        self.assertEqual(self.call("vendor", [report(number, "ping", 1, event="x" * 2_000_000)]).status, 413)
        self.client.close()
        self.client = Client(place)
        get = self.client.get("/api/v1/webhooks/status_changes/vendor")
        self.assertEqual((get.status, get.headers["Allow"]), (405, "POST"))
        basic = {"Authorization": "Basic " + base64.b64encode(b"user:pass").decode()}
        self.assertEqual(self.call("second", report(number, "viewed", 2), **basic).status, 200)
        self.wait_records(place, [number], lambda r: r["RecipientTransactionStatus"] == "opened")
        for _ in range(50):
            self.assertEqual(self.call("vendor", good, spoil=True).status, 401)
        self.wait_source(place, "vendor", refused=56)  # 52 for their signature, 4 for what was in them
        lines = [line for line in place.whole_log().splitlines() if "source vendor" in line and "refused" in line]
        self.assertEqual(len(lines), 1, "one line, not one for each message")
        self.assertNotIn(SECRET, place.whole_log())

    def test_an_unmapped_word_is_kept_and_applied_once_the_map_knows_it(self):
        place = self.furnished(sources(webhook()))
        number = self.new_gifts(place, 1)[0]
        answer = self.call("vendor", [report(number, "unwrapped", 5), report(number, "viewed", 99 - 50)])
        self.assertEqual(answer.json()["data"]["kept_aside"], 1)
        future = report(number, "claimed", 1)
        future["when"] = "2199-01-01T00:00:00Z"
        self.assertEqual(self.call("vendor", future).json()["data"]["kept_aside"], 1)
        aside = place.ctl_json("source", "aside", "vendor")
        self.assertEqual([(one["reason"], one["word"]) for one in aside], [("word", "unwrapped"), ("time", "claimed")])
        self.wait_records(place, [number], lambda r: r["RecipientTransactionStatus"] == "opened")
        place.write_settings(sources(webhook(status_map={**WORDS, "unwrapped": "redeemed"})))
        self.client.close()
        place.restart()
        record = self.wait_records(place, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")[0]
        self.assertEqual(record["Redeemed_Date_Time"], at(5))
        self.assertEqual([one["reason"] for one in place.ctl_json("source", "aside")], ["time"])
        self.assertIn("1 discarded", place.ctl("source", "discard", "vendor", "aside"))

    def test_a_gift_that_was_sent_elsewhere_gets_its_record(self):
        fields = {**FIELDS, "recipient_email": "/to", "first_name": "/name", "sender_email": "/by", "gift_id": "/item",
                  "sent_at": "/sent", "costs": {"shipping": "/shipping"}}
        place = self.new_house(more=sources(webhook("app", transactions="external", fields=fields)) +
                               "").furnish()
        place.ctl("crm", "import", "--object", "contact",
                  place.write("contact.csv", "Id,Email,Name\n003A,ada@example.com,Ada\n"))
        place.ctl("crm", "import", "--object", "user",
                  place.write("user.csv", "Id,Name,Email,IsActive\n005R,Rose,rose@example.com,true\n"))
        place.start()
        self.client = Client(place)
        self.addCleanup(self.client.close)
        number = 8_000_000_123
        early = self.call("app", report(number, "claimed", 9))
        self.assertEqual(early.json()["data"]["held"], 1)
        told = report(number, "viewed", 5, to="Ada@Example.com", name="Ada", by="rose@example.com", item=7,
                      sent=at(1), shipping=4.95)
        self.assertEqual(self.call("app", told).json()["data"]["gifts"], 1)
        record = self.wait_records(place, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")[0]
        self.assertEqual(record["RecipientContactId"], "003A")
        self.assertEqual((record["SenderId"], record["Actual_Sender"], record["CreatedById"]), ("005R", "005R", "005R"))
        self.assertEqual((record["RecipientTransactionCreatedAt"], record["Opened_Date_Time"], record["Redeemed_Date_Time"]),
                         (at(1), at(5), at(9)))
        self.assertEqual(record["Name"], "Coffee for Ada")
        self.assertEqual(record["Shipping_Cost"], "4.95")
        self.call("app", report(number, "viewed", 6, sent=at(0)))
        sent_at = lambda when: lambda r: r["RecipientTransactionCreatedAt"] == when
        self.wait_records(place, [number], sent_at(at(0)))
        earlier = [one["id"] for one in place.ctl_json("change", "list", "--gift", str(number))
                   if (one["status"], one["occurred_at"]) == ("sent", at(0))]
        self.assertEqual(len(earlier), 1)
        place.ctl("change", "void", str(earlier[0]))
        self.wait_records(place, [number], sent_at(at(1)))
        self.assertEqual(list(place.outbox.glob("*.eml")) if place.outbox.exists() else [], [])
        own = self.new_gifts(place, 1)[0]
        self.assertLess(own, 1_000_000, "our ids do not follow the vendor's")
        stolen = self.call("app", report(own, "claimed", 9))
        self.assertEqual(stolen.json()["data"]["kept_aside"], 1)
        self.client.close()
        place.restart()
        self.client = Client(place)
        self.assertLess(self.new_gifts(place, 1)[0], 1_000_000)
        self.assertIn("other_origin", [one["reason"] for one in place.ctl_json("source", "aside")])

    def reload(self, place, more):
        reloads = place.whole_log().count("settings reloaded")
        self.client.close()
        place.write_settings(more)
        place.signal(signal.SIGHUP)
        house.wait_until(lambda: place.whole_log().count("settings reloaded") > reloads, "the settings to be reloaded")
        place.wait_ready()

    def test_what_was_acknowledged_makes_its_gift_once_its_source_is_set_up_right(self):
        told = lambda number: report(number, "made", 3, to=f"gift{number}@example.com")
        words = {**WORDS, "made": "sent"}
        with_recipient = {**FIELDS, "recipient_email": "/to"}
        own = sources(webhook(fields=with_recipient, status_map=words))
        external = sources(webhook(fields=with_recipient, status_map=words, transactions="external"))
        blind = sources(webhook(fields=FIELDS, status_map=words, transactions="external"))
        place = self.furnished(own)
        self.assertEqual(self.call("vendor", told(8000), "msg_1").json()["data"]["held"], 1)
        self.assertEqual(self.call("vendor", report(8000, "viewed", 5), "msg_2").json()["data"]["held"], 1)
        self.reload(place, external)
        self.wait_records(place, [8000], lambda r: r["RecipientTransactionStatus"] == "opened")
        self.wait_source(place, "vendor", held=0, kept_aside=0, gifts=1)
        house.wait_until(lambda: not place.ctl_json("source", "aside", "vendor", "--held"), "the kept reports to go")
        again = self.call("vendor", told(8000), "msg_1").json()["data"]
        self.assertEqual((again["repeated"], again["accepted"], again["gifts"]), (1, 0, 0), "judged anew, and known")

        self.reload(place, blind)
        self.assertIn("neither fields.recipient_email nor fields.recipient_phone", place.whole_log())
        check = subprocess.run([house.GIFTSYNCD, "--config", str(place.settings), "--check"], capture_output=True, text=True,
                               check=False)
        self.assertEqual(check.returncode, 0, check.stderr)
        self.assertIn("sources[1].transactions: external with neither", check.stderr)
        self.assertEqual(self.call("vendor", told(8001), "msg_3").json()["data"]["held"], 1)
        kept = place.ctl_json("source", "aside", "vendor", "--held")
        self.assertEqual([(one["reason"], one["recipient_transaction_id"]) for one in kept], [("no_gift", "8001")])
        self.assertIn("it tells no recipient", kept[0]["detail"])
        self.assertEqual(place.ctl_json("source", "aside"), [])
        self.reload(place, external)
        self.wait_records(place, [8001], lambda r: r["RecipientTransactionStatus"] == "sent")

        self.reload(place, blind)
        self.assertEqual(self.call("vendor", told(8002), "msg_4").json()["data"]["held"], 1)
        place.ctl("source", "discard", "vendor", "held")
        self.reload(place, external)
        self.assertEqual(self.call("vendor", told(8002), "msg_4").json()["data"]["gifts"], 1, "a redelivery is read anew")
        self.assertEqual(self.call("vendor", told(8002), "msg_4").json()["message"], "Known already.")


    def test_a_renamed_source_is_told_whose_its_gifts_are(self):
        app = lambda name: sources(webhook(name, transactions="external", fields={**FIELDS, "recipient_email": "/to",
                                                                                 "sent_at": "/sent"}))
        place = self.furnished(app("app"))
        number = 8_000_000_124
        told = report(number, "viewed", 5, to="ada@example.com", sent=at(1))
        self.assertEqual(self.call("app", told).json()["data"]["gifts"], 1)

        def rename(name):
            self.client.close()
            place.write_settings(app(name))
            place.restart()
            self.client = Client(place)
            self.addCleanup(self.client.close)

        rename("app-2")
        claimed = report(number, "claimed", 9, to="ada@example.com", sent=at(1))
        self.assertEqual(self.call("app-2", claimed).json()["data"]["kept_aside"], 1)
        aside = place.ctl_json("source", "aside", "app-2")
        self.assertIn(f"transaction {number} belongs to source app: ", aside[0]["detail"])
        self.assertIn("give it its old name back", aside[0]["detail"])
        lines = [line for line in place.whole_log().splitlines() if "is not in the settings any more" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("source app is not in the settings any more: its 1 gifts are not followed", lines[0])
        self.assertIn("source    app: removed", place.ctl("status"))
        rename("app")
        self.assertEqual(self.call("app", claimed).json()["data"]["accepted"], 1)
        self.wait_records(place, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")


class Polls(SourceTest):
    def vendor(self, **named):
        made = Vendor(**named)
        self.addCleanup(made.close)
        return made

    def test_pages_are_followed_and_the_cursor_outlives_a_restart(self):
        vendor = self.vendor()
        place = self.furnished(sources(feed(vendor)))
        ids = self.new_gifts(place, 8)
        vendor.add(*(report(number, "viewed", 10 + n) for n, number in enumerate(ids)))
        for n, record in enumerate(self.wait_records(place, ids, lambda r: r["RecipientTransactionStatus"] == "opened")):
            self.assertEqual(record["Opened_Date_Time"], at(10 + n))
        self.wait_source(place, "feed", state="works", accepted=8)
        self.client.close()
        place.stop()
        with vendor.lock:
            self.assertEqual(vendor.asked[0][1]["Authorization"], "Bearer of news")
            vendor.asked.clear()
        place.start()
        house.wait_until(lambda: vendor.asked, "the vendor to be asked again")
        self.assertEqual(vendor.asked[0][0]["after"], "8")
        vendor.add(report(ids[0], "claimed", 50))
        self.wait_records(place, ids[:1], lambda r: r["RecipientTransactionStatus"] == "redeemed")
        self.assertEqual(self.source(place, "feed")["repeated"], 0)
        self.assertIn("If-None-Match", {name for _, headers in vendor.asked for name in headers})

    def test_killed_again_and_again_it_neither_loses_nor_repeats(self):
        vendor = self.vendor(page=2)
        place = self.furnished(sources(feed(vendor)))
        ids = self.new_gifts(place, 40)
        self.client.close()
        vendor.slow = 0.03
        vendor.add(*(report(number, word, minute) for number in ids for word, minute in (("viewed", 1), ("claimed", 2))))
        for pause in (0.05, 0.2, 0.35, 0.1, 0.25):
            asked = len(vendor.asked)
            house.wait_until(lambda: len(vendor.asked) > asked + pause * 20, "some pages to be asked for")
            place.kill()
            place.start()
        records = self.wait_records(place, ids, lambda r: r["RecipientTransactionStatus"] == "redeemed")
        self.assertEqual({(r["Opened_Date_Time"], r["Redeemed_Date_Time"]) for r in records}, {(at(1), at(2))})
        row = self.wait_source(place, "feed", state="works", accepted=80)
        self.assertLessEqual(row["repeated"], 0, "each page is stored with the position that covers it")

    def test_a_vendor_that_is_down_is_said_once_and_waited_for(self):
        vendor = self.vendor()
        other = self.vendor()
        place = self.furnished(sources(feed(vendor), feed(other, name="other")))
        number = self.new_gifts(place, 1)[0]
        self.wait_source(place, "feed", state="works")
        vendor.fault = (503, {"Retry-After": "1"})
        vendor.add(report(number, "viewed", 5))
        self.wait_source(place, "feed", failures=3)
        other.add(report(number, "claimed", 6))
        self.wait_records(place, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")
        vendor.fault = None
        record = self.wait_records(place, [number], lambda r: r["Opened_Date_Time"] is not None)[0]
        self.assertEqual(record["Opened_Date_Time"], at(5))
        self.wait_source(place, "feed", failures=0)
        told = [line for line in place.whole_log().splitlines() if "source feed: fails" in line]
        self.assertLessEqual(len(told), 1, told)

    def test_garbage_does_not_move_the_position(self):
        vendor = self.vendor()
        place = self.furnished(sources(feed(vendor, interval=1)))
        number = self.new_gifts(place, 1)[0]
        vendor.fault = (200, {})
        house.wait_until(lambda: self.source(place, "feed")["failures"] > 0, "the garbage to be noticed", pace_seconds=0.2)
        self.assertEqual(self.source(place, "feed")["accepted"], 0)
        vendor.add(report(number, "viewed", 5), {"no": "report"}, report(number, "claimed", 6))
        vendor.fault = None
        self.wait_records(place, [number], lambda r: r["RecipientTransactionStatus"] == "redeemed")
        self.assertEqual([one["reason"] for one in place.ctl_json("source", "aside")], ["faulty"])

    def test_a_backlog_within_the_overlap_is_read_to_its_end(self):
        vendor = self.vendor(page=10)
        by_time = feed(vendor, since="from")
        del by_time["cursor"]
        place = self.furnished(sources(by_time))
        ids = self.new_gifts(place, 40)
        second = lambda n: (datetime.datetime(2020, 11, 20, 10) + datetime.timedelta(seconds=n)).isoformat() + ".000Z"
        vendor.add(*({**report(number, "viewed", 0), "when": second(n)} for n, number in enumerate(ids)))
        for n, record in enumerate(self.wait_records(place, ids, lambda r: r["RecipientTransactionStatus"] == "opened")):
            self.assertEqual(record["Opened_Date_Time"], second(n))
        self.wait_source(place, "feed", state="works", accepted=40, reason=None)
        vendor.add({**report(ids[0], "claimed", 0), "when": second(60)})
        self.wait_records(place, ids[:1], lambda r: r["RecipientTransactionStatus"] == "redeemed")

    def test_compressed_answers_are_read_and_no_content_is_nothing_new(self):
        vendor = self.vendor()
        vendor.compress = True
        place = self.furnished(sources(feed(vendor)))
        number = self.new_gifts(place, 1)[0]
        vendor.add(report(number, "viewed", 5))
        self.wait_records(place, [number], lambda r: r["RecipientTransactionStatus"] == "opened")
        self.assertIn("gzip", vendor.asked[-1][1]["Accept-Encoding"])
        vendor.fault = (204, {})
        asked = len(vendor.asked)
        house.wait_until(lambda: len(vendor.asked) > asked + 2, "some empty answers")
        row = self.source(place, "feed")
        self.assertEqual((row["state"], row["failures"]), ("works", 0))
        vendor.fault = None
        vendor.add(report(number, "claimed", 6, event="x" * 20_000_000))  # 20 KB on the wire
        self.wait_source(place, "feed", state="fails", reason="more than 16777216 bytes")

    def test_an_encoding_that_is_none_does_not_stop_a_poll(self):
        vendor = self.vendor()
        vendor.encoding = "utf-8"
        place = self.furnished(sources(feed(vendor)))
        number = self.new_gifts(place, 1)[0]
        vendor.add(report(number, "viewed", 5))
        self.wait_records(place, [number], lambda r: r["RecipientTransactionStatus"] == "opened")
        self.wait_source(place, "feed", state="works", failures=0)

    def test_it_follows_no_one_to_another_host(self):
        vendor = self.vendor()
        elsewhere = self.vendor()
        vendor.fault = (302, {"Location": elsewhere.url})
        place = self.furnished(sources(feed(vendor)))
        house.wait_until(lambda: self.source(place, "feed")["failures"] > 0, "the redirect to be refused", pace_seconds=0.2)
        self.assertEqual(elsewhere.asked, [])
        self.assertIn("another host", place.whole_log())


if __name__ == "__main__":
    house.main()
