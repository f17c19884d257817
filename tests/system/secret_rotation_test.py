#!/usr/bin/python3
"""A rotation of the server secret while the daemon runs: which links work before and after it."""
import urllib.parse

import daemon_fixture
from http_client import Client
from mails import mails_in

EX_CONFIG = 78
TAKEN = "new links are made with the new one"


class SecretRotation(daemon_fixture.DaemonTestCase):
    def mailed_path(self, fixture, client, address):
        """The path of the first link in a new mail to that address."""
        self.assertEqual(client.send_gift(address).status, 201)

        def mail():
            return next((mail for mail in mails_in(fixture.outbox) if mail.to == address), None)

        daemon_fixture.wait_until(mail, f"the mail to {address}")
        return urllib.parse.urlsplit(mail().links[0]).path

    def rotate(self, fixture, *arguments):
        before = fixture.whole_log().count(TAKEN)
        fingerprint = fixture.ctl("secret", "rotate", "--yes", *arguments).strip()
        daemon_fixture.wait_until(lambda: fixture.whole_log().count(TAKEN) == before + 1, "the new secret in the log")
        return fingerprint

    # OPS-37, OPS-38
    def test_a_running_daemon_takes_the_new_secret_and_former_links_work_until_their_end(self):
        fixture = self.new_fixture().seed().start()
        with Client(fixture) as client:
            first = self.mailed_path(fixture, client, "first@example.com")
            secret = fixture.folder / "giftsync.secret"
            former = secret.read_text()
            fingerprint = self.rotate(fixture)
            self.assertNotEqual(secret.read_text(), former)
            self.assertEqual(secret.stat().st_mode & 0o777, 0o600)
            second = self.mailed_path(fixture, client, "second@example.com")
            self.assertEqual([client.get(path).status for path in (first, second)], [200, 200])
            fixture.restart()
        with Client(fixture) as client:
            self.assertEqual([client.get(path).status for path in (first, second)], [200, 200])
            self.rotate(fixture, "--force", "--grace", "0")
            third = self.mailed_path(fixture, client, "third@example.com")
            self.assertEqual([client.get(path).status for path in (first, second, third)], [404, 404, 200])
        listed = fixture.ctl_json("secret", "show")
        self.assertEqual([(row["fingerprint"], row["state"]) for row in listed[1:]], [(fingerprint, "ended")])
        self.assertNotIn(former.strip(), fixture.whole_log())

    # OPS-38
    def test_a_daemon_without_the_secret_of_its_store_ends(self):
        fixture = self.new_fixture().seed().start()
        fixture.query(f"UPDATE store_metadata SET value = '{'0' * 32}' WHERE name = 'server_secret_fingerprint'")
        self.assertEqual(fixture.wait_end(), EX_CONFIG)
        self.assertIn("giftsyncctl secret rotate", fixture.whole_log())


if __name__ == "__main__":
    daemon_fixture.main()
