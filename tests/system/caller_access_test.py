#!/usr/bin/python3
"""Keys and accounts in a running daemon: what giftsyncctl changes beside it is in force within a moment."""
import house
from http_client import SEND, Client, gift_request

# Promised is a second; the rest is for a busy build machine.
EFFECT_SECONDS = 5
# As much of a key as listings show.
PREFIX = len("gsk_live_") + 7


class CallerAccess(house.HouseTest):
    @classmethod
    def setUpClass(cls):
        cls.share_house()

    def new_caller(self, name, plan="team", *scopes):
        """An account of its own, its first key, and a client that uses it."""
        email = f"{name}@example.com"
        self.house.ctl("account", "create", "--email", email, "--name", name.title(), "--plan", plan)
        key = self.house.new_key(email, *scopes)
        client = Client(self.house, key)
        self.addCleanup(client.close)
        return email, key, client

    def wait_status(self, client, status):
        house.wait_until(lambda: client.send_gift("a@example.com").status == status, f"status {status}", EFFECT_SECONDS)

    def test_a_revoked_key_is_refused(self):
        _, key, client = self.new_caller("revoked")
        self.assertEqual(client.send_gift("a@example.com").status, 201)
        self.house.ctl("key", "revoke", key[:PREFIX])
        self.wait_status(client, 401)
        answer = client.send_gift("a@example.com")
        self.assertEqual(answer.json()["code"], "refused_api_key")
        self.assertIn("WWW-Authenticate", answer.headers)
        self.house.ctl("key", "revoke", key[:PREFIX])

    def test_a_rotated_key_lives_as_long_as_its_overlap(self):
        _, old, client = self.new_caller("rotating")
        with_overlap = self.house.ctl("key", "rotate", old[:PREFIX], "--overlap", "1h").strip()
        self.assertEqual(client.send_gift("a@example.com").status, 201)
        with Client(self.house, with_overlap) as newer:
            self.assertEqual(newer.send_gift("a@example.com").status, 201)
            newest = self.house.ctl("key", "rotate", with_overlap[:PREFIX], "--overlap", "0").strip()
            self.wait_status(newer, 401)
        with Client(self.house, newest) as client:
            self.assertEqual(client.send_gift("a@example.com").status, 201)
        self.house.ctl("key", "rotate", with_overlap[:PREFIX], expect=65)

    def test_a_deactivated_account_is_refused_until_it_is_activated(self):
        email, _, client = self.new_caller("sleeping")
        self.assertEqual(client.send_gift("a@example.com").status, 201)
        self.house.ctl("account", "deactivate", email)
        self.wait_status(client, 401)
        self.house.ctl("account", "activate", email)
        self.wait_status(client, 201)

    def test_the_plan_decides_on_api_access(self):
        for plan, status in (("individual", 403), ("enterprise", 201), ("enterprise_plus", 201)):
            _, _, client = self.new_caller(plan.replace("_", "-"), plan)
            answer = client.send_gift("a@example.com")
            self.assertEqual(answer.status, status, answer)
            if status == 403:
                self.assertEqual(answer.json()["code"], "plan_without_api_access")

    def test_another_plan_is_in_force_without_a_restart(self):
        email, _, client = self.new_caller("growing", "individual")
        self.assertEqual(client.send_gift("a@example.com").status, 403)
        self.house.ctl("account", "plan", "--email", email, "--plan", "team")
        self.wait_status(client, 201)
        self.house.ctl("account", "plan", "--email", email, "--plan", "individual")
        self.wait_status(client, 403)

    def test_scopes_limit_a_key(self):
        _, _, reader = self.new_caller("reader", "team", "--scope", "read")
        answer = reader.send_gift("a@example.com")
        self.assertEqual((answer.status, answer.json()["code"]), (403, "missing_scope"))
        self.assertEqual(reader.get(f"{SEND}/999999").status, 404)

    def test_keys_are_listed_by_prefix_with_their_last_use_and_stored_hashed(self):
        _, key, client = self.new_caller("listed")
        self.assertRegex(key, r"^gsk_live_[0-9A-Za-z]{36,}$")
        self.assertEqual(client.send_gift("a@example.com").status, 201)

        self.house.restart()  # a stop writes down what housekeeping would write a little later
        row = next(row for row in self.house.ctl_json("key", "list") if key.startswith(row["prefix"]))
        self.assertEqual((row["state"], row["scopes"]), ("active", ["send", "read", "request"]))
        self.assertIsNotNone(row["last_used_at"])
        listing = self.house.ctl("key", "list") + self.house.ctl("key", "list", "--json")
        self.assertNotIn(key, listing)
        for path in self.house.folder.iterdir():
            if path.is_file():
                self.assertNotIn(key.encode(), path.read_bytes(), path)

    def test_an_item_is_sent_as_soon_as_it_is_imported(self):
        client = Client(self.house)
        self.addCleanup(client.close)
        self.assertEqual(client.send_gift("a@example.com", gift_id=77).status, 400)
        self.house.ctl("item", "import", self.house.write("late.csv", house.ITEMS.splitlines()[0] + "\n77,Late,,1,0,0,0\n"))
        house.wait_until(lambda: client.send_gift("a@example.com", gift_id=77).status == 201, "item 77", EFFECT_SECONDS)

    def test_many_faulty_keys_get_the_same_answer(self):
        with Client(self.house) as client:
            bodies = set()
            for key in ("", " ", "x", self.house.key[:-1], self.house.key + "0", self.house.key.swapcase(), "gsk_live_",
                        "Bearer", "Bearer ", f"Bearer  {self.house.key} x", "\t", "ключ".encode(), b"\xff\xfe", "a" * 4000):
                answer = client.post(SEND, gift_request("a@example.com"), headers={"Authorization": key})
                self.assertEqual(answer.status, 401, (key, answer))
                bodies.add(answer.json()["code"])
            self.assertLessEqual(bodies, {"missing_api_key", "refused_api_key"})


if __name__ == "__main__":
    house.main()
