#!/usr/bin/python3
"""The first contact of docs/operations/salesforce.md, step by step, with an org that answers as a production org does and whose users
have the profile that the guide names. The guide's own commands and settings are used, with this test's address and folder in place
of its examples, so a wrong one fails. What a person clicks in Setup is done through /__org with the names that the guide gives.
"""
import os
import re
import shutil
import subprocess
import tempfile
import textwrap

import daemon_fixture
import fake_org
import yaml
from daemon_fixture import wait_until
from http_client import Client

GUIDE = daemon_fixture.ROOT / "docs" / "operations" / "salesforce.md"
TOKEN = "00D!AQ.session.of.the.admin"
# The Salesforce CLI since version 2.136.8.
SF = f"""#!/bin/sh
case "$*" in
"org login web --instance-url ORG --alias acme") ;;
"org auth show-access-token --target-org acme --json")
  printf '{{\n  "status": 0,\n  "result": {{\n    "accessToken": "{TOKEN}"\n  }},\n  "warnings": []\n}}\n' ;;
"org display"*) printf '{{"status":0,"result":{{"accessToken":"[REDACTED] Use sf org auth show-access-token to view"}}}}\n' ;;
*) echo "sf does not know: $*" >&2; exit 2 ;;
esac
"""


def guide_steps():
    """Number to text, without the indentation of the list."""
    section = GUIDE.read_text(encoding="utf-8").split("## First contact\n")[1].split("\nInstead of key and certificate")[0]
    parts = re.split(r"^(\d+)\. +", section, flags=re.MULTILINE)[1:]
    return {int(number): textwrap.dedent("   " + text) for number, text in zip(parts[::2], parts[1::2])}


def blocks(text, language):
    return [textwrap.dedent(block) for block in re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)]


class GuideTest(daemon_fixture.DaemonTestCase):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix="giftsync-guide.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        switches = {"production": "true", "profile": "minimum", "foreign_permission_sets": "xyz__Admin"}
        self.org = fake_org.FakeOrg(folder, switches=switches, is_empty=True)
        self.addCleanup(self.org.close)
        self.etc = self.org.folder / "etc"
        programs = self.org.folder / "bin"
        for made in (self.etc, programs):
            made.mkdir()
        (programs / "sf").write_text(SF.replace("ORG", self.org.url), encoding="utf-8")
        (programs / "sf").chmod(0o755)
        (programs / "giftsyncctl").symlink_to(daemon_fixture.GIFTSYNCCTL)
        self.path = f"{programs}:{os.environ['PATH']}"
        self.settings = self.etc / "giftsyncd.yaml"
        self.steps = guide_steps()

    def here(self, text):
        return text.replace("/etc/giftsync", str(self.etc)).replace("https://acme.my.salesforce.com", self.org.url)

    def run_step(self, number):
        """Runs the commands of a step; returns what they print."""
        printed = []
        for block in blocks(self.steps[number], "sh"):
            # The user giftsync is made by the installation.
            script = "set -euo pipefail; chown() { [ $# = 2 ] && [ -f $2 ]; }\n" + self.here(block)
            ended = subprocess.run(["bash", "-c", script], cwd=self.org.folder, capture_output=True, text=True, check=False,
                                   timeout=daemon_fixture.TIMEOUT_SECONDS,
                                   env={**os.environ, "PATH": self.path, "GIFTSYNC_CONFIG": str(self.settings)})
            self.assertEqual(ended.returncode, 0, f"step {number}:\n{block}{ended.stdout}{ended.stderr}")
            printed.append(ended.stdout)
        self.assertTrue(printed, f"step {number} has no commands")
        return "".join(printed)

    def set_named(self, label):
        """The deployed permission set that Setup shows under the label."""
        [(path,)] = self.org.sql("SELECT path FROM org_metadata WHERE path LIKE 'permissionsets/%' AND text LIKE "
                                 f"'%<label>{label}</label>%'")
        return path.removeprefix("permissionsets/").removesuffix(".permissionset-meta.xml")

    def assign(self, username, permission_set):
        self.org.sql("INSERT INTO crm_permission_set_assignment (assigneeid, permissionsetname) VALUES "
                     f"('{self.org.user_id(username)}', '{permission_set}')")

    # ORG-17
    def test_the_twelve_steps_end_with_a_gift_in_the_org(self):
        self.assertEqual(sorted(self.steps), list(range(1, 13)))
        admin = self.org.script("POST", "users", {"username": fake_org.ADMIN, "permission_set": "System_Administrator"})["id"]
        self.org.sql(f"INSERT INTO org_session (token, user_id, ends_at) VALUES ('{TOKEN}', '{admin}', 9e15)")
        self.run_step(1)

        checked = self.run_step(2)
        self.assertRegex(checked, r"\d+ components would be deployed\n")
        self.assertNotIn("would replace", checked, "a set of another package is another one")
        self.assertEqual(self.org.sql("SELECT count(*) FROM org_metadata"), [["0"]])
        self.assertEqual((self.org.folder / "token").stat().st_mode & 0o077, 0)
        self.assertRegex(self.run_step(3), r"\d+ components deployed\n")
        self.assertFalse((self.org.folder / "token").exists())

        [crm] = [yaml.safe_load(self.here(block))["crm"] for block in blocks(self.steps[9], "yml")]
        user = crm["salesforce"]["username"]
        self.assertIn("Minimum Access - API Only Integrations", re.sub(r"\s+", " ", self.steps[4]).replace("*", ""))
        assignments = re.sub(r"\s+", " ", self.steps[5])
        label = re.search(r"Permission Set Assignments, Edit Assignments\*: \*([^*]+)\*", assignments)[1]
        self.org.script("POST", "users", {"username": user, "permission_set": self.set_named(label)})
        of_admin = self.set_named(re.search(r"own user's page assign \*([^*]+)\*", assignments)[1])
        self.assign(fake_org.ADMIN, of_admin)

        certificate = re.search(r"JWT Bearer Flow\* with the file `([^`]+)`", re.sub(r"\s+", " ", self.steps[6]))[1]
        self.assertIn(f"*{label}*", re.sub(r"\s+", " ", self.steps[7]))
        self.assertIn("consumer key", self.steps[8])
        self.org.script("POST", "settings", {"certificate": (self.etc / certificate).read_text(encoding="ascii"),
                                             "consumer_key": crm["salesforce"]["client_id"], "client_secret": "of the test",
                                             "run_as": fake_org.ADMIN})

        fixture = self.new_fixture(crm=crm, more="tasks: { enabled: true }\n")
        self.settings = fixture.settings
        self.run_step(9)
        self.run_step(10)
        check = fixture.ctl_json("crm", "check")
        warnings = [one for one in check["findings"] if one["severity"] != "note"]
        self.assertEqual([one["subject"] for one in warnings], ["crm.integration_user"], check)
        self.assertEqual((check["mode"], check["good"], check["faults"]), ("guarded", True, []))

        self.assertIn("systemctl enable --now giftsyncd", self.steps[11])
        fixture.seed().start()
        self.org.sign_in("of the test", crm["salesforce"]["client_id"])
        contact = self.org.create("Contact", LastName="Lovelace", Email="ada@example.com")
        self.assertIn("Send a gift to a contact", self.steps[12])
        with Client(fixture) as client:
            client.send_gift("ada@example.com")
        [record] = wait_until(self.org.gift_records, "the gift record").values()
        self.assertEqual(record["RecipientContactId__c"], contact)
        [task] = wait_until(self.org.tasks, "the task").values()
        self.assertEqual((task["WhatId"], task["WhoId"]), (record["Id"], contact))
        self.assertEqual(fixture.status()["sync"]["failing"], 0)
        [(text,)] = self.org.sql(f"SELECT text FROM org_metadata WHERE path = 'permissionsets/{of_admin}.permissionset-meta.xml'")
        self.assertRegex(text, r"<application>giftsync</application>\s*<visible>true</visible>")


if __name__ == "__main__":
    daemon_fixture.main()
