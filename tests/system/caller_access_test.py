#!/usr/bin/python3
"""Keys and accounts in a running daemon: changes by giftsyncctl take effect within a second."""
import daemon_fixture
from http_client import SEND, Client, gift_request

# The limit is one second; the rest allows for a busy build machine.
EFFECT_SECONDS = 5
# The length of the prefix in listings.
PREFIX = len("gsk_live_") + 7


class CallerAccess(daemon_fixture.DaemonTestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_fixture()

    def new_caller(self, name, plan="team", *scopes):
        """A new account, its first key, and a client that uses it."""
        email = f"{name}@example.com"
        self.fixture.ctl("account", "create", "--email", email, "--name", name.title(), "--plan", plan)
        key = self.fixture.new_key(email, *scopes)
        client = Client(self.fixture, key)
        self.addCleanup(client.close)
        return email, key, client

    def wait_status(self, client, status):
        daemon_fixture.wait_until(lambda: client.send_gift("a@example.com").status == status, f"status {status}", EFFECT_SECONDS)

    def test_a_revoked_key_is_refused(self):
        _, key, client = self.new_caller("revoked")
        self.assertEqual(client.send_gift("a@example.com").status, 201)
        self.fixture.ctl("key", "revoke", key[:PREFIX], "--yes")
        self.wait_status(client, 401)
        response = client.send_gift("a@example.com")
        self.assertEqual(response.json()["code"], "refused_api_key")
        self.assertIn("WWW-Authenticate", response.headers)
        self.fixture.ctl("key", "revoke", key[:PREFIX], "--yes")

    def test_a_rotated_key_works_for_its_grace_period(self):
        _, old, client = self.new_caller("rotating")
        with_overlap = self.fixture.ctl("key", "rotate", old[:PREFIX], "--grace", "1h").strip()
        self.assertEqual(client.send_gift("a@example.com").status, 201)
        with Client(self.fixture, with_overlap) as newer:
            self.assertEqual(newer.send_gift("a@example.com").status, 201)
            newest = self.fixture.ctl("key", "rotate", with_overlap[:PREFIX], "--grace", "0").strip()
            self.wait_status(newer, 401)
        with Client(self.fixture, newest) as client:
            self.assertEqual(client.send_gift("a@example.com").status, 201)
        self.fixture.ctl("key", "rotate", with_overlap[:PREFIX], expect=65)

    def test_a_deactivated_account_is_refused_until_it_is_activated(self):
        email, _, client = self.new_caller("sleeping")
        self.assertEqual(client.send_gift("a@example.com").status, 201)
        self.fixture.ctl("account", "deactivate", email)
        self.wait_status(client, 401)
        self.fixture.ctl("account", "activate", email)
        self.wait_status(client, 201)

    # HTTP-26
    def test_the_plan_decides_on_api_access(self):
        for plan, status in (("individual", 403), ("enterprise", 201), ("enterprise_plus", 201)):
            _, _, client = self.new_caller(plan.replace("_", "-"), plan)
            response = client.send_gift("a@example.com")
            self.assertEqual(response.status, status, response)
            if status == 403:
                self.assertEqual(response.json()["code"], "plan_without_api_access")

    # REQ-40
    def test_a_new_plan_takes_effect_without_a_restart(self):
        email, _, client = self.new_caller("growing", "individual")
        self.assertEqual(client.send_gift("a@example.com").status, 403)
        self.fixture.ctl("account", "set-plan", email, "--plan", "team")
        self.wait_status(client, 201)
        self.fixture.ctl("account", "set-plan", email, "--plan", "individual")
        self.wait_status(client, 403)

    # HTTP-10
    def test_requests_per_minute_are_limited_for_each_key(self):
        fixture = self.new_fixture(more="limits: { requests_per_minute: 2 }\n").seed().start()
        with Client(fixture) as first, Client(fixture, fixture.new_key(daemon_fixture.SENDER)) as second:
            for remaining in ("1", "0"):
                response = first.send_gift("a@example.com")
                self.assertEqual((response.status, response.headers["RateLimit-Remaining"]), (201, remaining), response)
            refused = first.send_gift("a@example.com")
            self.assertEqual((refused.status, refused.headers["RateLimit-Limit"]), (429, "2"), refused)
            self.assertIn(int(refused.headers["Retry-After"]), range(1, 61))
            self.assertEqual(second.send_gift("a@example.com").status, 201, "another key of the account")

    # HTTP-28
    def test_scopes_limit_a_key(self):
        _, _, reader = self.new_caller("reader", "team", "--scope", "read")
        response = reader.send_gift("a@example.com")
        self.assertEqual((response.status, response.json()["code"]), (403, "missing_scope"))
        self.assertEqual(reader.get(f"{SEND}/999999").status, 404)

    # HTTP-28
    def test_keys_are_listed_by_prefix_with_their_last_use_and_stored_hashed(self):
        _, key, client = self.new_caller("listed")
        self.assertRegex(key, r"^gsk_live_[0-9A-Za-z]{36,}$")
        self.assertEqual(client.send_gift("a@example.com").status, 201)

        self.fixture.restart()  # a stop flushes what maintenance would flush later
        row = next(row for row in self.fixture.ctl_json("key", "list") if key.startswith(row["prefix"]))
        self.assertEqual((row["state"], row["scopes"]), ("active", ["send", "read", "request"]))
        self.assertIsNotNone(row["last_used_at"])
        listing = self.fixture.ctl("key", "list") + self.fixture.ctl("key", "list", "--json")
        self.assertNotIn(key, listing)
        for path in self.fixture.folder.iterdir():
            if path.is_file():
                self.assertNotIn(key.encode(), path.read_bytes(), path)

    def test_an_item_is_sent_as_soon_as_it_is_imported(self):
        client = Client(self.fixture)
        self.addCleanup(client.close)
        self.assertEqual(client.send_gift("a@example.com", gift_id=77).status, 400)
        self.fixture.ctl("item", "import", self.fixture.write("late.csv", daemon_fixture.ITEMS.splitlines()[0] + "\n77,Late,,1,0,0,0\n"))
        daemon_fixture.wait_until(lambda: client.send_gift("a@example.com", gift_id=77).status == 201, "item 77", EFFECT_SECONDS)

    def test_all_invalid_keys_get_the_same_response(self):
        with Client(self.fixture) as client:
            bodies = set()
            for key in ("", " ", "x", self.fixture.key[:-1], self.fixture.key + "0", self.fixture.key.swapcase(), "gsk_live_",
                        "Bearer", "Bearer ", f"Bearer  {self.fixture.key} x", "\t", "ключ".encode(), b"\xff\xfe", "a" * 4000):
                response = client.post(SEND, gift_request("a@example.com"), headers={"Authorization": key})
                self.assertEqual(response.status, 401, (key, response))
                bodies.add(response.json()["code"])
            self.assertLessEqual(bodies, {"missing_api_key", "refused_api_key"})


if __name__ == "__main__":
    daemon_fixture.main()
