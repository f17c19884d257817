#!/usr/bin/python3
"""Gifts whose CRM is an org of Salesforce (the fake org of the tests): records and tasks are read from the org by its REST API."""
import json
import re
import threading
import time
import urllib.parse

import daemon_fixture
from console_test import Browser
from daemon_fixture import wait_until
from fake_org import OrgTestCase
from gift_load import GiftLoad
from http_client import Client
from mails import mails_in

TASKS = "tasks: { enabled: true }\n"


class SalesforceTest(OrgTestCase):
    def start(self, more=TASKS, **salesforce):
        return self.new_fixture(crm=self.org.settings(**salesforce), more=more).seed().start()

    def send(self, fixture, *recipients):
        """The Transaction Ids by address."""
        with Client(fixture) as client:
            response = client.send_gift(*recipients)
        self.assertIn(response.status, (200, 201), response)
        return {one["email"]: one["recipient_transaction_id"] for one in response.json()["data"]["recipients"]}

    def wait_records(self, gifts, status="delivered"):
        def all_there():
            records = self.org.gift_records()
            found = [number for number in gifts
                     if records.get(number, {}).get("RecipientTransactionStatus__c") == status]
            return records if len(found) == len(gifts) else None
        return wait_until(all_there, f"{len(gifts)} gift records that are {status}", pace_seconds=0.1)

    # ORG-1, ORG-2
    def test_gifts_become_records_and_tasks_of_the_org(self):
        account = self.org.create("Account", Name="Edge")
        contact = self.org.create("Contact", LastName="Lovelace", Email="ada@example.com", AccountId=account)
        lead = self.org.create("Lead", LastName="Hopper", Company="Navy", Email="grace@example.com")
        fixture = self.start()
        gifts = self.send(fixture, "Ada@Example.com", "grace@example.com", "unknown@example.com")
        by_address = {address.lower(): number for address, number in gifts.items()}
        records = self.wait_records(by_address.values())
        self.assertEqual(len(records), 3)
        ada = records[by_address["ada@example.com"]]
        self.assertEqual((ada["RecipientContactId__c"], ada["Account__c"], ada["RecipientLeadId__c"]), (contact, account, None))
        self.assertEqual(float(ada["RecipientTransactionPrice__c"]), 5.50)
        self.assertGreater(int(ada["Record_Version__c"]), 0)
        self.assertEqual(records[by_address["grace@example.com"]]["RecipientLeadId__c"], lead)
        self.assertIsNone(records[by_address["unknown@example.com"]]["RecipientContactId__c"])
        tasks = wait_until(lambda: len(self.org.tasks()) == 3 and self.org.tasks(), "the tasks")
        self.assertEqual({number: task["WhatId"] for number, task in tasks.items()},
                         {number: record["Id"] for number, record in records.items()})
        self.assertEqual(tasks[by_address["ada@example.com"]]["WhoId"], contact)

        # A command has the daemon's session, and the store shows it to no one.
        listed = {record["RecipientTransactionId"]: record["RecipientTransactionStatus"] for record in fixture.gift_records()}
        self.assertEqual(listed, {number: "delivered" for number in gifts.values()})
        self.assertEqual(self.org.sessions_of_giftsync(), 1)
        [(sealed,)] = fixture.query("SELECT value FROM store_metadata WHERE name = 'salesforce_token'")
        [(token,)] = self.org.sql(f"SELECT token FROM org_session WHERE user_id = '{self.org.user}'")
        self.assertNotIn(token, sealed)
        self.assertNotIn(token, fixture.whole_log())

        # A daemon without a session signs in again.
        self.end_session(fixture)
        more = self.send(fixture, "later@example.com")
        self.wait_records(more.values())
        self.assertEqual(self.org.sessions_of_giftsync(), 1)
        self.assertEqual(json.loads(fixture.status_text("--json"))["sync"]["failing"], 0)

    def end_session(self, fixture):
        """Not by the org alone: one that it ends within a minute of its sign-in is replaced a minute later."""
        fixture.stop()
        self.org.script("DELETE", "sessions")
        fixture.query("DELETE FROM store_metadata WHERE name = 'salesforce_token'")
        fixture.start()

    # ORG-1
    def test_a_killed_daemon_makes_no_second_record(self):
        fixture = self.start()
        load = GiftLoad(fixture, count=60, clients=8).start()
        for kill in range(1, 4):
            load.wait_for(lambda goal=60 * kill // 4: len(load.acknowledged) >= goal, "gifts")
            self.org.script("POST", "faults", {"kind": "cut", "when": "after_commit", "path": "/composite", "times": 1})
            wait_until(lambda goal=10 * kill: len(self.org.gift_records()) >= goal, "records")
            fixture.kill()
            fixture.start(wait=False)
        load.join(60)
        numbers = [one["recipient_transaction_id"] for data in load.acknowledged.values() for one in data["recipients"]]
        by_mail = {number for data in load.acknowledged.values() if load.by_email(self.number_of(load, data))
                   for number in [one["recipient_transaction_id"] for one in data["recipients"]]}
        records = self.wait_records(by_mail)
        wait_until(lambda: len(self.org.gift_records()) == len(numbers), "all records")
        self.assertEqual(set(self.org.gift_records()), set(numbers))
        tasks = wait_until(lambda: len(self.org.tasks()) == len(numbers) and self.org.tasks(), "all tasks")
        self.assertEqual(set(tasks), set(numbers))
        self.assertTrue(all(int(record["Record_Version__c"]) > 0 for record in records.values()))

    @staticmethod
    def number_of(load, data):
        return next(number for number, one in load.acknowledged.items() if one is data)

    # CON-24
    def test_pages_of_the_console_ask_the_org_on_a_button_only(self):
        contact = self.org.create("Contact", LastName="Lovelace", Email="ada@example.com")
        fixture = self.start(more=TASKS + "console: { enabled: true }\n")
        [number] = self.send(fixture, "ada@example.com").values()
        self.wait_records([number])
        wait_until(lambda: len(self.org.tasks()) == 1, "the task")
        fixture.ctl("user", "create", "--email", "ana@example.com", "--grant", "operator")
        browser = Browser(fixture)
        link = fixture.ctl("console", "sign-in-link", "--user", "ana@example.com").strip()
        self.assertEqual(browser.post(urllib.parse.urlsplit(link).path)[0].status, 303)
        gift = f"/console/gifts/{number}"
        for path, most, text in (("/console/match", 3, contact[:15]), (f"{gift}/match", 12, "nothing would change"),
                                 (f"{gift}/record", 1, contact[:15])):
            before = self.org.calls()
            page = browser.get(path)[1]
            self.assertIn(f"Costs up to {most} calls", page)
            self.assertEqual(self.org.calls(), before, path)
            token = re.search(rf'action="{path}">\s*<input type="hidden" name="form_token" value="([^"]+)"', page).group(1)
            response, shown = browser.post(path, {"form_token": token, "email": "ada@example.com"})
            self.assertEqual(response.status, 200, path)
            self.assertIn(text, shown, path)
            self.assertIn("are left", shown, path)
            self.assertLessEqual(self.org.calls() - before, most, path)

    # ORG-16
    def test_an_org_that_does_not_answer_stops_no_other_page(self):
        fixture = self.start(more=TASKS + "console: { enabled: true }\n")
        self.wait_records(self.send(fixture, "ada@example.com").values())
        wait_until(lambda: len(self.org.tasks()) == 1, "the task")
        fixture.ctl("user", "create", "--email", "ana@example.com", "--grant", "operator")
        path, asked, browsers = "/console/match", [], []
        for _ in range(5):
            browsers.append(Browser(fixture))
            link = fixture.ctl("console", "sign-in-link", "--user", "ana@example.com").strip()
            self.assertEqual(browsers[-1].post(urllib.parse.urlsplit(link).path)[0].status, 303)

        def ask(browser):
            page = browser.get(path)[1]
            token = re.search(rf'action="{path}">\s*<input type="hidden" name="form_token" value="([^"]+)"', page).group(1)
            begun = time.monotonic()
            shown = browser.post(path, {"form_token": token, "email": "ada@example.com"})[1]
            asked.append((time.monotonic() - begun, "Other pages are asking the CRM now" in shown, "Salesforce did not answer" in shown))

        self.org.script("POST", "settings", {"answer_delay_millis": "20000"})
        threads = [threading.Thread(target=ask, args=(browser,), daemon=True) for browser in browsers[:4]]
        for thread in threads:
            thread.start()
        wait_until(lambda: len([one for one in asked if one[1]]) == 2, "two pages that say that others ask", 8)
        self.assertEqual(browsers[4].get("/console/")[0].status, 200)
        self.assertEqual(len(asked), 2, "the other two still ask")
        for thread in threads:
            thread.join(30)
        self.assertEqual(sorted(one[1:] for one in asked), [(False, True), (False, True), (True, False), (True, False)], asked)
        self.assertLess(max(one[0] for one in asked), 18, "the org would have answered after 20 s")
        self.org.script("POST", "settings", {"answer_delay_millis": ""})

    def test_the_check_examines_the_org(self):
        fixture = self.start()
        checked = json.loads(fixture.ctl("crm", "check", "--json"))
        self.assertEqual((checked["good"], checked["mode"], checked["faults"]), (True, "guarded", []), checked)
        self.assertEqual(checked["organization_id"][:15], self.org.organization()[:15])
        self.assertIn("mode guarded", fixture.ctl("crm", "check"))

    # ORG-3, ORG-4
    def test_another_org_pauses_the_crm_and_nothing_else(self):
        fixture = self.start()
        self.wait_records(self.send(fixture, "before@example.com").values())
        known = self.org.organization()
        other = "00D" + "9" * 12 + "AAA"
        self.org.sql(f"UPDATE crm_organization SET id = '{other}'")
        self.end_session(fixture)
        gifts = self.send(fixture, "meanwhile@example.com")
        wait_until(lambda: known in fixture.log() and other in fixture.log(), "both orgs in the log")
        wait_until(lambda: [mail for mail in mails_in(fixture.outbox) if mail.to == "meanwhile@example.com"], "the mail")
        fixture.restart()
        calls = self.org.calls()
        self.send(fixture, "after.restart@example.com")
        wait_until(lambda: known in (fixture.status()["sync"]["last_error"] or ""), "the fault in the status", pace_seconds=0.3)
        status = fixture.status()
        self.assertEqual((status["salesforce"]["organization_id"][:15], status["salesforce"]["other_organization_id"]),
                         (known[:15], other))
        self.assertIn(other, status["needs_attention"][0]["what"])
        with Client(fixture) as client:
            ready = client.get("/-/ready")
        self.assertEqual(ready.status, 200)
        self.assertRegex(ready.body.decode(), f"\ncrm: paused: .*{other}.*{known[:15]}")
        self.assertEqual(self.org.calls(), calls)

        wrong = fixture.try_ctl("crm", "accept-org", known, "--yes")
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn(other, wrong.stderr)
        unconfirmed = fixture.try_ctl("crm", "accept-org", other)
        self.assertEqual(unconfirmed.returncode, 64)
        self.assertIn("1 gift with records in the org " + known[:15], unconfirmed.stderr)
        self.assertIn(other, fixture.ctl("crm", "accept-org", other, "--yes"))
        self.assertEqual(len(self.wait_records(gifts.values())), 3)
        self.assertIsNone(fixture.status()["salesforce"]["other_organization_id"])

    # ORG-5
    def test_the_calls_of_all_processes_are_counted_together(self):
        fixture = self.start(share=50)
        self.wait_records(self.send(fixture, "ada@example.com").values())
        self.assertEqual(len(fixture.gift_records()), 1)
        before = self.org.calls()
        shown = fixture.status()["salesforce"]["calls"]
        self.assertEqual((shown["share"], shown["org_limit"], shown["resting_until"]), (7500, 15000, None))
        # Those of the test's own queries are the org's, not giftsync's.
        self.assertLess(shown["own_in_24_hours"], before)
        fixture.gift_records()
        self.assertGreater(fixture.status()["salesforce"]["calls"]["own_in_24_hours"], shown["own_in_24_hours"])
        self.assertRegex(fixture.status_text(), r"\norg +00D\w+, \d+ calls within 24 hours of giftsync's 7500; the org has used")

        # A quota that is used up is a pause with a time, for commands too.
        refusal = [{"errorCode": "REQUEST_LIMIT_EXCEEDED", "message": "TotalRequests Limit exceeded."}]
        self.org.script("POST", "faults", {"kind": "answer", "status": 403, "content_type": "application/json",
                                           "body": json.dumps(refusal), "path": "/composite", "times": 1})
        self.send(fixture, "grace@example.com")
        wait_until(lambda: fixture.status()["salesforce"]["calls"]["resting_until"], "the rest", pace_seconds=0.3)
        calls = self.org.calls()
        listed = fixture.try_ctl("gift", "list")
        self.assertNotEqual(listed.returncode, 0)
        self.assertIn("REQUEST_LIMIT_EXCEEDED", listed.stderr)
        fixture.restart()
        self.assertEqual(self.org.calls(), calls)
        status = fixture.status()
        self.assertIn("REQUEST_LIMIT_EXCEEDED", status["salesforce"]["calls"]["resting_reason"])
        self.assertTrue([one for one in status["needs_attention"] if "REQUEST_LIMIT_EXCEEDED" in one["what"]], status)
        with Client(fixture) as client:
            ready = client.get("/-/ready")
        self.assertEqual(ready.status, 200)
        self.assertIn("\ncrm: paused: no call before ", ready.body.decode())

        # SYNC-70: an admin need not wait for the end of the pause.
        fixture.ctl("crm", "retry", "--all")
        wait_until(lambda: len(self.org.gift_records()) == 2, "the record that waited", pace_seconds=0.1)


if __name__ == "__main__":
    daemon_fixture.main()
