#!/usr/bin/python3
"""What an integrator does over HTTP: lists by filters, pages, a nightly stream, one gift with its history, and the actions; and what
docs/operations/read-the-api.md and feed.md say, pasted as it is there, also over KILLS (1) of the daemon."""
import contextlib
import datetime
import json
import os
import re
import sqlite3
import subprocess
import sys
import urllib.parse

import daemon_fixture
from http_client import SEND, Client, gift_request
from mails import mails_in

GIFTS = "/api/v1/gifts"
KILLS = int(os.environ.get("KILLS", "1"))
NDJSON = {"Accept": "application/x-ndjson"}


class ReadApi(daemon_fixture.DaemonTestCase):
    def setUp(self):
        self.fixture = self.new_fixture().seed().start()
        self.manager = self.fixture.new_key(daemon_fixture.SENDER, "--scope", "read,manage")
        self.client = Client(self.fixture)
        self.addCleanup(self.client.close)

    def send(self, *recipients, **more):
        response = self.client.post(SEND, {**gift_request(*recipients), **more})
        self.assertEqual(response.status, 201, response)
        return [one["recipient_transaction_id"] for one in response.json()["data"]["recipients"]]

    def rows(self, **filters):
        """All pages; each continues by the URL in its header Link."""
        found, path = [], GIFTS + "?" + urllib.parse.urlencode(filters)
        while path:
            response = self.client.get(path)
            self.assertEqual(response.status, 200, response)
            found += response.json()["data"]
            link = response.headers["Link"]
            self.assertEqual(link is None, response.json()["next"] is None)
            path = link and link.removeprefix("<" + self.fixture.url).partition(">")[0]
        return found

    def ids(self, **filters):
        return [row["recipient_transaction_id"] for row in self.rows(**filters)]

    def act(self, gift, action, body=None, headers=None, expect=200):
        with Client(self.fixture, key=self.manager) as client:
            response = client.post(f"{GIFTS}/{gift}/{action}", body if body is not None else {}, headers=headers)
        self.assertEqual(response.status, expect, response)
        return response.json()

    # API-1, API-2, HTTP-58
    def test_the_gifts_of_a_campaign_that_were_redeemed(self):
        autumn = self.send({"email": "ada@example.com", "reference": "order 17"}, "bea@example.com", utm_campaign_id="autumn",
                           reference="batch 1")
        other = self.send("cleo@example.com")
        now = datetime.datetime.now(datetime.timezone.utc)
        self.fixture.ctl("change", "import", self.fixture.write("changes.ndjson", json.dumps(
            {"recipient_transaction_id": autumn[0], "status": "redeemed", "occurred_at": now.isoformat()}) + "\n"))
        monday = (now - datetime.timedelta(days=now.weekday())).date().isoformat()
        daemon_fixture.wait_until(lambda: self.ids(campaign="autumn", status="redeemed", reached_since=monday) == [autumn[0]],
                                  "the redeemed gift")
        later = (now + datetime.timedelta(minutes=1)).isoformat()
        self.assertEqual(self.ids(campaign="autumn", status="redeemed", reached_since=later), [])
        self.assertEqual(self.ids(limit=1), [*other, autumn[1], autumn[0]])
        self.assertEqual(self.ids(reference="order 17"), [autumn[0]])
        self.assertEqual(self.ids(reference="batch 1"), [autumn[1], autumn[0]])
        refused = self.client.get(GIFTS + "?staus=redeemed")
        self.assertEqual((refused.status, refused.json()["errors"][0]["field"]), (400, "staus"))
        requests = self.client.get("/api/v1/gift_requests?campaign=autumn").json()["data"]
        self.assertEqual([(one["reference"], one["gifts"]) for one in requests], [("batch 1", 2)])
        self.assertIn("order 17", self.fixture.ctl("gift", "show", str(autumn[0])))
        self.assertIn("batch 1,order 17", self.fixture.ctl("gift", "export"))

    # API-9
    def test_a_stream_has_all_rows_and_says_that_it_is_whole(self):
        for number in range(3):
            self.send(*[f"r{number}-{i}@example.com" for i in range(400)])
        response = self.client.get(GIFTS, headers=NDJSON)
        self.assertEqual(response.headers["Content-Type"], "application/x-ndjson")
        lines = [json.loads(line) for line in response.body.splitlines()]
        self.assertEqual(lines[-1], {"end": True, "rows": 1200, "next": None})
        ids = [line["recipient_transaction_id"] for line in lines[:-1]]
        self.assertEqual(ids, sorted(set(ids), reverse=True))
        self.assertEqual(len(ids), 1200)

    # API-5, API-8
    def test_one_gift_with_its_history_is_read_again_only_when_it_changes(self):
        [gift] = self.send("ada@example.com")
        daemon_fixture.wait_until(lambda: self.client.get(f"{GIFTS}/{gift}").json()["data"]["status"] == "delivered", "the delivery")
        read = self.client.get(f"{GIFTS}/{gift}")
        again = self.client.get(f"{GIFTS}/{gift}", headers={"If-None-Match": read.headers["ETag"]})
        self.assertEqual((again.status, again.body), (304, b""))
        history = self.client.get(f"{GIFTS}/{gift}/history").json()["data"]
        self.assertEqual([line["type"] for line in history], ["status", "mail", "status"])
        self.assertEqual(self.client.get(f"{GIFTS}/{gift}/match").status, 403)
        reporter = self.fixture.new_key(daemon_fixture.SENDER, "--scope", "read,report")
        with Client(self.fixture, key=reporter) as client:
            daemon_fixture.wait_until(lambda: client.get(f"{GIFTS}/{gift}/match").json()["data"], "the match")

    # API-6
    def test_cancel_extend_and_resend(self):
        first, second = self.send("ada@example.com", "bea@example.com")
        daemon_fixture.wait_until(lambda: len(mails_in(self.fixture.outbox)) == 2, "the mails")
        daemon_fixture.wait_until(lambda: set(row["status"] for row in self.rows()) == {"delivered"}, "the deliveries")
        with Client(self.fixture, key=self.manager) as client:
            etag = client.get(f"{GIFTS}/{first}").headers["ETag"]
        self.act(first, "resend", expect=428)
        self.act(first, "resend", headers={"If-Match": etag})
        self.assertEqual(self.act(first, "resend", headers={"If-Match": etag}, expect=412)["code"], "gift_changed")
        daemon_fixture.wait_until(lambda: len(mails_in(self.fixture.outbox)) == 3, "the third mail")
        expires = self.rows(email="bea@example.com")[0]["expires_at"]
        until = f"{int(expires[:4]) + 1}-01-01T00:00:00.000Z"
        self.assertEqual(self.act(second, "extend", {"until": until})["data"]["expires_at"], until)
        self.assertEqual(self.act(second, "extend", {"until": until})["message"], "Already extended.")
        by_command = self.fixture.try_ctl("gift", "extend", str(second), "--until", until)
        self.assertEqual(by_command.returncode, 0, by_command)
        self.assertIn(f"accepted until {until}", by_command.stdout + by_command.stderr)
        self.assertEqual(self.act(second, "cancel")["data"]["status"], "refunded")
        self.assertEqual(self.act(second, "cancel")["message"], "Already refunded.")
        refused = self.act(second, "extend", {"until": f"{int(until[:4]) + 1}-01-01T00:00:00Z"}, expect=409)
        self.assertEqual(refused["code"], "not_applicable")
        self.assertEqual(self.client.post(f"{GIFTS}/{first}/cancel", {}).status, 403)
        events = self.fixture.ctl_json("audit", "list", "--action", "gift.")
        self.assertIn(("gift.resend", self.manager[:16]), [(one["action"], one["session"]) for one in events])
        self.assertIn(("gift.cancel", self.manager[:16]), [(one["action"], one["session"]) for one in events])

    # API-7
    def test_the_items_that_can_be_sent(self):
        items = self.client.get("/api/v1/items").json()["data"]
        self.assertIn(7, [item["gift_id"] for item in items])
        self.assertEqual(self.client.get("/api/v1/items/7").json()["data"]["available"], True)
        self.assertEqual(self.client.get("/api/v1/items/999").status, 404)


class PastedPages(daemon_fixture.DaemonTestCase):
    def setUp(self):
        self.fixture = self.new_fixture(more="feed: { enabled: true }\n").seed(daemon_fixture.ITEMS + "1,Tea,A cup of it,4.00,0.00,0.10,0.40\n").start()

    def blocks(self, name, language):
        """With this test's address."""
        text = (daemon_fixture.ROOT / "docs" / "operations" / name).read_text(encoding="utf-8")
        return re.findall(rf"^```{language}\n(.*?)^```", text.replace("http://127.0.0.1:8480", self.fixture.url), re.M | re.S)

    def send(self, count, name):
        with Client(self.fixture) as client:
            response = client.send_gift(*(f"{name}{number}@example.com" for number in range(count)))
        self.assertEqual(response.status, 201, response)
        return [one["recipient_transaction_id"] for one in response.json()["data"]["recipients"]]

    def key_file(self, name, *scopes):
        path = self.fixture.folder / name
        path.write_text(self.fixture.new_key(daemon_fixture.SENDER, *scopes) + "\n", encoding="utf-8")

    def paste(self, text):
        """Into a shell in the fixture's folder."""
        ended = subprocess.run(["bash", "-euo", "pipefail", "-c", f'giftsyncctl() {{ "$CTL" "$@"; }}\n{text}'], cwd=self.fixture.folder,
                               capture_output=True, text=True, timeout=daemon_fixture.TIMEOUT_SECONDS, check=False,
                               env={**os.environ, "CTL": daemon_fixture.GIFTSYNCCTL, "GIFTSYNC_CONFIG": str(self.fixture.settings)})
        self.assertEqual(ended.returncode, 0, ended)
        self.assertNotRegex(ended.stderr, "curl:|jq:|bash:")
        return ended.stdout

    # API-1, API-2, API-5, API-6, API-9, API-12
    def test_each_pasted_command_does_what_its_page_says(self):
        ids = self.send(3, "kim")
        self.key_file("send.key")
        self.key_file("manage.key", "--scope", "read,manage")
        self.key_file("ana.key", "--scope", "read")
        daemon_fixture.wait_until(lambda: len(mails_in(self.fixture.outbox)) == 3, "the mails")
        begin, autumn, pages, stream, references, one, manage, items = (
            block.replace("gifts/42", f"gifts/{ids[0]}").replace("2027-01-31T18:00:00Z", self.later(60)) for block in
            self.blocks("read-the-api.md", "sh"))
        functions = "".join(line for line in begin.splitlines(True) if line.startswith(("api()", "url=")))
        self.paste(begin)
        made = self.paste(functions + references)
        self.assertEqual(made.count('"reference":"order 17, line 3"'), 1, made)
        [mine] = [row["recipient_transaction_id"] for row in self.listed() if row["reference"] == "order 17, line 3"]
        self.fixture.ctl("change", "import", self.fixture.write("changes.ndjson", json.dumps(
            {"recipient_transaction_id": mine, "status": "redeemed", "occurred_at": self.later(days=0)}) + "\n"))
        daemon_fixture.wait_until(lambda: "redeemed" in {row["status"] for row in self.listed()}, "the redeemed gift")
        self.assertRegex(self.paste(functions + autumn), r"^\d{4}-\S+\tkim@example.com\tTea\n$")
        self.assertEqual([json.loads(line)["recipient_transaction_id"] for line in self.paste(functions + pages).splitlines()],
                         sorted([*ids, mine], reverse=True))
        self.paste(functions + stream)
        self.assertEqual(len((self.fixture.folder / "gifts.complete.ndjson").read_text(encoding="utf-8").splitlines()), 1)
        self.assertIn("\tstatus\tdelivered\n", self.paste(functions + one))
        acted = self.paste(functions + manage.replace(f"{ids[0]}/cancel", f"{ids[1]}/cancel"))  # each of a gift that it applies to
        self.assertIn('"message":"Cancelled."', acted)
        self.assertIn('"email":"kim.lee@example.com"', acted)
        self.assertNotIn('"code"', acted)
        self.assertIn("Coffee", self.paste(functions + items))
        [follow] = self.blocks("feed.md", "sh")
        self.assertIn('"type":"gift.redeemed"', self.paste(follow.replace("curl ", "curl -sS ")))

    @staticmethod
    def later(days=30):
        return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def listed(self):
        with Client(self.fixture) as client:
            return client.get(f"{GIFTS}?limit=500").json()["data"]

    # API-4
    def test_the_nightly_export_misses_no_change_over_kills(self):
        [text] = self.blocks("read-the-api.md", "python")
        self.key_file("read.key", "--scope", "read")
        # Small pages; it waits for a line behind each.
        text = text.replace('"limit": 500', '"limit": 4')
        text = text.replace("page = json.load(answer)", "page = json.load(answer); print(flush=True); input()")
        script = [sys.executable, self.fixture.write("export.py", text)]
        ids = []
        for number in range(KILLS):
            ids += self.send(20, f"kim{number}.")
            self.change(ids[number::3], "opened")
            with subprocess.Popen(script, cwd=self.fixture.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL) as export:
                self.assertEqual(export.stdout.readline(), b"\n")
                self.fixture.kill()
                export.communicate(b"\n" * 100, timeout=daemon_fixture.TIMEOUT_SECONDS)
            self.assertNotEqual(export.returncode, 0)
            self.fixture.start()
            self.change(ids[number::6], "redeemed")
            ids += self.send(4, f"lee{number}.")
            daemon_fixture.wait_until(lambda: self.exported(script) == {row["recipient_transaction_id"]: (row["version"], row["status"])
                                                                        for row in self.listed()}, "the export to be complete")

    def change(self, ids, status):
        lines = [json.dumps({"recipient_transaction_id": number, "status": status, "occurred_at": self.later(days=0)}) for number in ids]
        self.fixture.ctl("change", "import", self.fixture.write("changes.ndjson", "\n".join(lines) + "\n"))
        daemon_fixture.wait_until(lambda: self.fixture.query("SELECT count(*) FROM feed_queue") == [(0,)], "the events")

    def exported(self, script):
        """By one more run."""
        subprocess.run(script, cwd=self.fixture.folder, input=b"\n" * 100, stdout=subprocess.DEVNULL,
                       timeout=daemon_fixture.TIMEOUT_SECONDS, check=True)
        with contextlib.closing(sqlite3.connect(self.fixture.folder / "gifts.db")) as exported:
            rows = exported.execute("SELECT id, version, gift FROM gift").fetchall()
        return {number: (version, json.loads(gift)["status"]) for number, version, gift in rows}


if __name__ == "__main__":
    daemon_fixture.main()
