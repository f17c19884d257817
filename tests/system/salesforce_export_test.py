#!/usr/bin/python3
"""Gifts to the people of a Salesforce export; skipped where the export is missing.

The expected lookups are computed from the CSV files: contacts by e-mail, else leads that are not converted; the export has no
LastModifiedDate, so of several the lowest Id wins. The opportunity is the open one of the contact's roles that closes first; the
account is the contact's, else the opportunity's, if it still exists.
"""
import csv
import unittest

import daemon_fixture
from http_client import Client

EXPORT = daemon_fixture.ROOT.parent / "shared" / "data" / "salesforce-org"
OBJECTS = ("account", "contact", "lead", "opportunity", "opportunity_contact_role")
NAMED = ("rose@edge.com", "ROSE@EDGE.COM", "ldcruz@uog.com", "example@example.com", "bertha@fcof.net", "pat@pyramid.net",
         "unknown@nowhere.test")


def rows_of(name):
    with open(EXPORT / f"{name}.csv", encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def long_id(text):
    """Salesforce's form of 18 characters, in which Ids are stored (MATCH-34)."""
    if not text or len(text) != 15:
        return text
    parts = [text[at:at + 5] for at in (0, 5, 10)]
    return text + "".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"[sum(1 << i for i, c in enumerate(part) if c.isupper())] for part in parts)


def holders(rows, address):
    return sorted((row for row in rows if row["Email"].strip().lower() == address.strip().lower()), key=lambda row: row["Id"])


def open_opportunities(crm, contact):
    named = {role["OpportunityId"] for role in crm["opportunity_contact_role"] if role["ContactId"] == contact["Id"]}
    found = [row for row in crm["opportunity"] if row["Id"] in named and row["IsClosed"].lower() != "true"]
    return sorted(found, key=lambda row: (not row["CloseDate"], row["CloseDate"], row["Id"]))


def expected_links(crm, address):
    """(contact, account, lead, opportunity, deal stage), with Ids as they are stored"""
    contact, account, lead, opportunity, stage = links_in_export(crm, address)
    return long_id(contact), long_id(account), long_id(lead), long_id(opportunity), stage


def links_in_export(crm, address):
    accounts = {row["Id"] for row in crm["account"]}
    matching = holders(crm["contact"], address)
    if matching:
        chosen = next(iter(open_opportunities(crm, matching[0])), None)
        candidates = [matching[0]["AccountId"]] + ([chosen["AccountId"]] if chosen else [])
        account = next((one for one in candidates if one in accounts), None)
        return matching[0]["Id"], account, None, chosen and chosen["Id"], chosen and chosen["StageName"]
    open_leads = [lead for lead in holders(crm["lead"], address) if lead["IsConverted"].lower() != "true"]
    return None, None, open_leads[0]["Id"] if open_leads else None, None, None


@unittest.skipUnless(EXPORT.is_dir(), f"{EXPORT} is not there")
class SalesforceExport(daemon_fixture.DaemonTestCase):
    back_end = "sqlite"

    @classmethod
    def setUpClass(cls):
        cls.share_fixture(store=daemon_fixture.store_settings(cls.back_end))
        for name in OBJECTS:
            cls.fixture.ctl("crm", "import", "--object", name, str(EXPORT / f"{name}.csv"))
        cls.crm = {name: rows_of(name) for name in OBJECTS}
        cls.contacts, cls.leads = cls.crm["contact"], cls.crm["lead"]

    def addresses(self):
        """Each address once that a gift request accepts; some addresses of the export are invalid."""
        found = {}
        for row in self.contacts + self.leads:
            if row["Email"].strip():
                found.setdefault(row["Email"].strip().lower(), row["Email"].strip())
        return list(found.values())

    def test_the_named_people_are_what_the_export_says(self):
        """The data contains the cases that this test is about."""
        self.assertEqual(len(holders(self.contacts, "rose@edge.com")), 1)
        self.assertGreater(len(holders(self.contacts, "example@example.com")), 1)
        self.assertTrue(holders(self.leads, "bertha@fcof.net") and not holders(self.contacts, "bertha@fcof.net"))
        self.assertTrue(holders(self.leads, "pat@pyramid.net") and holders(self.contacts, "pat@pyramid.net"))

    def test_each_gift_is_linked_as_specified(self):
        with Client(self.fixture) as client:
            addresses, refused = list(NAMED), []
            for address in self.addresses():
                response = client.send_gift(address)
                self.assertIn(response.status, (201, 400), response)
                if response.status == 400:
                    self.assertEqual([fault["code"] for fault in response.json()["errors"]], ["invalid_email"])
                    refused.append(address)
                else:
                    addresses.append(address)
            response = client.send_gift(*NAMED)
            self.assertEqual(response.status, 201, response)
        records = daemon_fixture.wait_until(lambda: (found := self.fixture.gift_records()) and len(found) == len(addresses) and found,
                                   "the records", pace_seconds=0.2)
        self.assertEqual(sorted(record["Recipient_Email"] for record in records), sorted(addresses))
        linked = with_opportunity = 0
        for record in records:
            links = tuple(record[name] for name in ("RecipientContactId", "Account", "RecipientLeadId", "Opportunity", "Deal_Stage"))
            self.assertEqual(links, expected_links(self.crm, record["Recipient_Email"]), record["Recipient_Email"])
            with_opportunity += record["Opportunity"] is not None
            self.assertFalse(record["RecipientContactId"] and record["RecipientLeadId"])
            linked += any(links)
        print(f"{len(records)} records, {linked} linked, {with_opportunity} with an opportunity, refused addresses {refused} ", end="", flush=True)
        self.assertLess(len(refused), 5)
        self.assertGreater(with_opportunity, 5)
        self.assertEqual(self.fixture.ctl_json("rematch", "--unmatched", "--dry-run")["gifts"], [], "a rematch finds the same")

    def test_the_match_is_explained(self):
        for address in NAMED:
            contact, _, lead, opportunity, _ = expected_links(self.crm, address)
            text = self.fixture.ctl("match", "--email", address)
            if opportunity:
                self.assertIn(f"opportunity: {opportunity}", text)
            if contact or lead:
                self.assertIn(contact or lead, text)
            others = [long_id(row["Id"]) for row in holders(self.contacts, address)[1:2]]
            for other in others:
                self.assertIn(other, text, "the runner-up is printed")

    def test_a_second_import_changes_nothing(self):
        before = self.fixture.ctl_json("match", "--email", "rose@edge.com")
        for name in OBJECTS:
            output = self.fixture.ctl("crm", "import", "--object", name, str(EXPORT / f"{name}.csv"))
            self.assertIn(f"{len(rows_of(name))} unchanged", output)
        self.assertEqual(self.fixture.ctl_json("match", "--email", "rose@edge.com"), before)


class SalesforceExportOnPostgresql(SalesforceExport):
    back_end = "postgresql"


if __name__ == "__main__":
    daemon_fixture.main()
