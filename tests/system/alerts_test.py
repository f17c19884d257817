#!/usr/bin/python3
"""alerts.mail_to: one mail when a condition of the status begins and one when it ends, also while all mail is paused, over a kill and
a restart (OPS-43, OPS-45, OPS-46)."""
import daemon_fixture
from smtp_kill_test import SmtpRelayTestCase


class Alerts(SmtpRelayTestCase):
    def test_a_condition_is_mailed_when_it_begins_and_when_it_ends(self):
        fixture, relay = self.new_fixture_with_relay()
        fixture.write_settings('alerts: { mail_to: ["ops@example.com", "ana@example.com"], digest_minutes: 0 }\n')
        fixture.ctl("mail", "pause", "--reason", "wrong item")
        fixture.start()
        self.wait_mails(relay, 2)
        # A mail may come twice when the daemon is killed before this.
        daemon_fixture.wait_until(lambda: fixture.query("SELECT name FROM alert WHERE begin_mailed_at IS NOT NULL"), "the record of it")
        fixture.kill()
        fixture.start()
        self.wait_look(fixture)
        fixture.restart()  # a stop waits for the end of a look
        fixture.ctl("mail", "resume")
        fixture.restart()
        self.wait_mails(relay, 4)
        fixture.restart()
        self.wait_look(fixture)
        fixture.stop()
        mails = [(entry["to"][0], entry["text"]) for entry in self.mails(relay)]
        self.assertEqual([to for to, _ in mails], ["ops@example.com", "ana@example.com"] * 2)
        for _, text in mails[:2]:
            self.assertIn("Subject: giftsync on 127.0.0.1: 1 condition needs attention", text)
            self.assertIn("mail.paused_by_admin: since 20", text)
            self.assertIn("  mail is paused since", text)
            self.assertIn("wrong item", text)
            self.assertIn("  Next: giftsyncctl mail resume", text)
            self.assertIn("Auto-Submitted: auto-generated", text)
        for _, text in mails[2:]:
            self.assertIn("Subject: giftsync on 127.0.0.1: 1 condition has ended", text)
            self.assertIn("UTC, less than a minute", text)
        self.assertEqual(len({entry["message_id"] for entry in self.mails(relay)}), 4)
        self.assertEqual(fixture.query("SELECT name FROM alert"), [])
        self.assertIn("alert mailed: 1 begun, 0 ended", fixture.whole_log())

    def mails(self, relay):
        entries = relay.journal()
        for entry in entries:
            with open(entry["path"], encoding="utf-8") as file:
                entry["text"] = file.read().replace("=\n", "")
        return entries

    def wait_mails(self, relay, count):
        daemon_fixture.wait_until(lambda: len(relay.journal()) >= count, f"{count} mails")

    def wait_look(self, fixture):
        """Until the daemon, which has just been started, has begun to look at the conditions."""
        daemon_fixture.wait_until(lambda: fixture.query("SELECT name FROM writer_lease WHERE name = 'alerts' AND lease_until > 0"),
                                  "a look at the conditions")


if __name__ == "__main__":
    daemon_fixture.main()
