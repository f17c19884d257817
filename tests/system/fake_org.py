"""The fake org of the tests (tests/salesforce/fake_org) as a process, and what a test reads and changes in it.

FAKE_ORG names the program (CTest sets it; default: build/dev/bin).
"""
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import urllib.parse

import daemon_fixture

FAKE_ORG = os.environ.get("FAKE_ORG", str(daemon_fixture.PROGRAMS / "fake_org"))
DATA = "/services/data/v62.0"
CLIENT = "3MVG9.giftsync"
INTEGRATION_USER = "giftsync@acme.example"
ADMIN = "admin@acme.example"


class FakeOrg:
    """An org with giftsync's package, its integration user and an administrator, through whom a test reads. `foreign`: the
    namespace of another owner, whose package is there instead. `switches`: what this org answers differently, see
    tests/salesforce/fake_org/README.md. `is_empty`: without package, users and app."""

    def __init__(self, folder, foreign=None, switches=None, is_empty=False):
        self.folder = pathlib.Path(folder)
        self.key = self.folder / "salesforce.key"
        self.token = None
        self.process = subprocess.Popen([FAKE_ORG, "--port", "0", "--db", str(self.folder / "org.db"),
                                         *(["--foreign", foreign] if foreign else []),
                                         *(["--project", "/nonexistent"] if is_empty else []),
                                         *(f"--set={name}={value}" for name, value in (switches or {}).items())],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"
        if not is_empty:
            self.make_users()

    def make_users(self):
        """The app with its certificate, and the two users."""
        certificate = self.folder / "salesforce.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-keyout", str(self.key), "-out", str(certificate),
                        "-subj", "/CN=giftsync"], check=True, capture_output=True, timeout=daemon_fixture.TIMEOUT_SECONDS)
        self.key.chmod(0o600)
        self.script("POST", "settings", {"consumer_key": CLIENT, "certificate": certificate.read_text(encoding="ascii"),
                                         "client_secret": "secret of the admin's app", "run_as": ADMIN})
        self.user = self.script("POST", "users", {"username": INTEGRATION_USER, "permission_set": "giftsync_Integration"})["id"]
        self.script("POST", "users", {"username": ADMIN, "permission_set": "Admin"})

    def close(self):
        self.process.terminate()
        self.process.wait(daemon_fixture.TIMEOUT_SECONDS)
        self.process.stdout.close()

    def settings(self, **more):
        """The section `crm` of giftsync's settings."""
        return {"type": "salesforce", "salesforce": {"domain": self.url, "client_id": CLIENT, "username": INTEGRATION_USER,
                                                     "private_key": f"file:{self.key}", **more}}

    def exchange(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=daemon_fixture.TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        return response.status, json.loads(text) if text else None

    def script(self, method, what, body=None):
        """What the org's makers do to it: see /__org in tests/salesforce/fake_org/scripts.cpp."""
        status, answer = self.exchange(method, f"/__org/{what}", None if body is None else json.dumps(body),
                                       {"Content-Type": "application/json"})
        assert status == 200, (status, answer)
        return answer

    def calls(self):
        return self.script("GET", "counters")["calls"]

    def sql(self, text):
        return self.script("POST", "sql", {"sql": text})["rows"]

    def sessions_of_giftsync(self):
        return int(self.sql(f"SELECT count(*) FROM org_session WHERE user_id = '{self.user}'")[0][0])

    def organization(self):
        return self.sql("SELECT id FROM crm_organization")[0][0]

    # ---- The REST API, as the administrator -----------------------------------------------------------------------
    def sign_in(self, secret="secret of the admin's app", client=CLIENT):
        form = urllib.parse.urlencode({"grant_type": "client_credentials", "client_id": client, "client_secret": secret})
        status, answer = self.exchange("POST", "/services/oauth2/token", form,
                                       {"Content-Type": "application/x-www-form-urlencoded"})
        assert status == 200, (status, answer)
        self.token = answer["access_token"]

    def act_as(self, username):
        """Whose calls rest() makes from now on."""
        self.script("POST", "settings", {"run_as": username})
        self.token = None

    def user_id(self, username):
        return self.sql(f"SELECT id FROM crm_user WHERE username = '{username}'")[0][0]

    def rest(self, method, path, body=None):
        for _ in range(2):
            if self.token is None:
                self.sign_in()
            status, answer = self.exchange(method, DATA + path, None if body is None else json.dumps(body),
                                           {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
            if status != 401:
                break
            self.token = None
        assert status in (200, 201), (status, answer)
        return answer

    def query(self, soql):
        answer = self.rest("GET", "/query?" + urllib.parse.urlencode({"q": soql}))
        records = answer["records"]
        while not answer["done"]:
            answer = self.rest("GET", answer["nextRecordsUrl"].removeprefix(DATA))
            records += answer["records"]
        return records

    def create(self, kind, **fields):
        [row] = self.rest("POST", "/composite/sobjects", {"records": [{"attributes": {"type": kind}, **fields}]})
        assert row["success"], row
        return row["id"]

    def update(self, kind, record, **fields):
        [row] = self.rest("PATCH", "/composite/sobjects", {"records": [{"attributes": {"type": kind}, "id": record, **fields}]})
        assert row["success"], row

    def gift_records(self):
        """By Transaction Id."""
        fields = ("Id, RecipientTransactionId__c, RecipientTransactionStatus__c, Recipient_Email__c, RecipientContactId__c, "
                  "RecipientLeadId__c, Account__c, Record_Version__c, RecipientTransactionPrice__c")
        records = self.query(f"SELECT {fields} FROM Gift_Record__c ORDER BY RecipientTransactionId__c")
        by_transaction = {int(record["RecipientTransactionId__c"]): record for record in records}
        assert len(by_transaction) == len(records), "a gift has two records"
        return by_transaction

    def tasks(self):
        """By Transaction Id."""
        records = self.query("SELECT Id, RecipientTransactionId__c, WhatId, WhoId, Status FROM Task")
        by_transaction = {int(record["RecipientTransactionId__c"]): record for record in records}
        assert len(by_transaction) == len(records), "a gift has two tasks"
        return by_transaction


class OrgTestCase(daemon_fixture.DaemonTestCase):
    """A test with a fresh org, `self.org`."""

    foreign = None
    switches = None

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="giftsync-org.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.org = FakeOrg(folder, self.foreign, self.switches)
        self.addCleanup(self.org.close)
