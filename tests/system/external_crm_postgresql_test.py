#!/usr/bin/python3
"""The unchanged example of docs/operations/external-crm.md (settings, privileges, indexes) with tables of a replication that
assigns ids later. PGHOSTADDR and PGPORT redirect db.example.com."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import daemon_fixture
from http_client import Client

DOCUMENT = (daemon_fixture.ROOT / "docs" / "operations" / "external-crm.md").read_text(encoding="utf-8")
TABLES = """
CREATE SCHEMA salesforce;
CREATE TABLE salesforce.contact (id SERIAL PRIMARY KEY, sfid VARCHAR(18) UNIQUE, systemmodstamp TIMESTAMP, name VARCHAR(121),
  email VARCHAR(80), phone VARCHAR(40), mobile VARCHAR(40), accountid VARCHAR(18), lastmodifieddate TIMESTAMP, _hc_lastop VARCHAR(32));
CREATE TABLE salesforce.lead (id SERIAL PRIMARY KEY, sfid VARCHAR(18) UNIQUE, name VARCHAR(121), email VARCHAR(80), phone VARCHAR(40),
  mobilephone VARCHAR(40), isconverted BOOLEAN, convertedcontactid VARCHAR(18), lastmodifieddate TIMESTAMP);
CREATE TABLE salesforce.account (id SERIAL PRIMARY KEY, sfid VARCHAR(18) UNIQUE, name VARCHAR(255));
CREATE TABLE salesforce.opportunity (id SERIAL PRIMARY KEY, sfid VARCHAR(18) UNIQUE, name VARCHAR(120), accountid VARCHAR(18),
  stagename VARCHAR(255), isclosed BOOLEAN, closedate DATE);
CREATE TABLE salesforce.opportunitycontactrole (id SERIAL PRIMARY KEY, sfid VARCHAR(18), contactid VARCHAR(18), opportunityid VARCHAR(18));
CREATE TABLE salesforce.task (id SERIAL PRIMARY KEY, sfid VARCHAR(18), whatid VARCHAR(18), whoid VARCHAR(18), type VARCHAR(255),
  status VARCHAR(255), subject VARCHAR(255), ownerid VARCHAR(18), ns__recipienttransactionid__c DOUBLE PRECISION UNIQUE);
CREATE TABLE salesforce.ns__gift_record__c (id SERIAL PRIMARY KEY, sfid VARCHAR(18) UNIQUE, isdeleted BOOLEAN, createddate TIMESTAMP,
  name VARCHAR(80), ns__account__c VARCHAR(18), ns__actual_sender__c VARCHAR(18), ns__carbon_neutral_cost__c DOUBLE PRECISION,
  ns__deal_stage__c VARCHAR(255), ns__deliverytype__c VARCHAR(255), ns__delivered_date_time__c TIMESTAMP, ns__description__c TEXT,
  ns__donated_date_time__c TIMESTAMP, ns__expired_date_time__c TIMESTAMP, ns__item_cost__c DOUBLE PRECISION, ns__link__c VARCHAR(255),
  ns__message__c TEXT, ns__opened_date_time__c TIMESTAMP, ns__opportunity__c VARCHAR(18), ns__recipientcontactid__c VARCHAR(18),
  ns__recipient_email__c VARCHAR(80), ns__recipientleadid__c VARCHAR(18), ns__recipient_phone_number__c VARCHAR(40),
  ns__redeemed_date_time__c TIMESTAMP, ns__refunded_date_time__c TIMESTAMP, ns__senderid__c VARCHAR(18), ns__sender_email__c VARCHAR(80),
  ns__shipping_cost__c DOUBLE PRECISION, ns__recipienttransactionstatus__c VARCHAR(255), ns__giftid__c DOUBLE PRECISION,
  ns__recipienttransactioncreatedat__c TIMESTAMP, ns__recipienttransactionprice__c DOUBLE PRECISION,
  ns__transaction_fee__c DOUBLE PRECISION, ns__recipienttransactionid__c DOUBLE PRECISION, ns__undelivered_date_time__c TIMESTAMP);
CREATE TABLE salesforce.ns__status_log__c (id SERIAL PRIMARY KEY, ns__transaction__c DOUBLE PRECISION, ns__status__c VARCHAR(255),
  createddate TIMESTAMP);
INSERT INTO salesforce.account (sfid, name) VALUES ('001A', 'Edge');
INSERT INTO salesforce.contact (sfid, name, email, phone, accountid, lastmodifieddate) VALUES
  ('003A', 'Rose', ' Rose@Edge.com', NULL, '001A', '2026-01-01'), ('003B', 'Old Rose', 'rose@edge.com', NULL, NULL, '2020-01-01');
INSERT INTO salesforce.opportunity (sfid, name, accountid, stagename, isclosed, closedate) VALUES ('006A', 'Pads', '001A', 'Proposal', false, '2027-01-01');
INSERT INTO salesforce.opportunitycontactrole (sfid, contactid, opportunityid) VALUES ('00KA', '003A', '006A');
INSERT INTO salesforce.lead (sfid, name, email, isconverted) VALUES ('00QA', 'Bo', 'bo@example.com', false);
"""
GIFT = "salesforce.ns__gift_record__c"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.S)


class ExternalCrm(daemon_fixture.DaemonTestCase):
    def setUp(self):
        server = os.environ.get("GIFTSYNC_TEST_PG")
        if not server:
            raise unittest.SkipTest("GIFTSYNC_TEST_PG is not set: run scripts/with-postgresql")
        parts = dict(part.split("=", 1) for part in server.split())
        parts["user"] = "postgres"  # may create roles
        server = " ".join(f"{key}={value}" for key, value in parts.items())
        self.admin = " ".join(f"{key}={value}" for key, value in {**parts, "dbname": "crm"}.items())
        self.sql("DROP DATABASE IF EXISTS crm WITH (FORCE)", server)
        self.sql("CREATE DATABASE crm", server)
        self.sql("DO $$ BEGIN CREATE ROLE giftsync LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$", server)
        self.sql(TABLES)
        rights, indexes = blocks("sql")
        self.sql(rights)
        self.sql(indexes)
        credentials = tempfile.TemporaryDirectory()
        self.addCleanup(credentials.cleanup)
        password = pathlib.Path(credentials.name) / "crm-password"
        password.write_text("never-asked-for\n", encoding="utf-8")
        password.chmod(0o600)
        for name, value in {"PGHOSTADDR": "127.0.0.1", "PGPORT": parts["port"], "CREDENTIALS_DIRECTORY": credentials.name}.items():
            before = os.environ.get(name)
            os.environ[name] = value
            self.addCleanup(lambda name=name, before=before: os.environ.update({name: before}) if before else os.environ.pop(name))

    def sql(self, text, connection=None):
        program = os.path.join(os.environ["GIFTSYNC_TEST_PG_BIN"], "psql")
        environment = {key: value for key, value in os.environ.items() if key not in ("PGHOSTADDR", "PGPORT")}
        ended = subprocess.run([program, "-X", "-q", "-t", "-A", "-F", "|", "-v", "ON_ERROR_STOP=1", "-c", text, connection or self.admin],
                               capture_output=True, text=True, timeout=60, check=False, env=environment)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.strip()

    def example_fixture(self, more="", crm="", **named):
        """`more` and `crm` are further lines of the settings and of their section crm."""
        fixture = self.new_fixture(**named)
        settings = fixture.settings.read_text(encoding="utf-8")
        example, = blocks("yaml")
        fixture.settings.write_text(settings.replace("crm:    { type: sql }\n", example + crm) + more, encoding="utf-8")
        return fixture

    def backfill(self, fixture, name, *arguments):
        return fixture.ctl_json("backfill", name, *arguments)["summary"]

    def wait_until_synced(self, fixture):
        daemon_fixture.wait_until(lambda: not fixture.query("SELECT 1 FROM crm_outbox LIMIT 1"), "the daemon to have synced everything", pace_seconds=0.1)

    def wait_row(self, columns, expected, table=GIFT, where="true"):
        daemon_fixture.wait_until(lambda: self.sql(f"SELECT {columns} FROM {table} WHERE {where}") == expected,
                         f"{table} to hold {expected}; it has {self.sql(f'SELECT {columns} FROM {table} WHERE {where}')}",
                         seconds=30, pace_seconds=0.2)

    def test_the_documented_example_works(self):
        before = self.sql("SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'salesforce'::regnamespace")
        fixture = self.example_fixture().seed().start()
        with Client(fixture) as client:
            data = client.send_gift("ROSE@edge.com", "bo@example.com").json()["data"]["recipients"]
        rose, bo = (one["recipient_transaction_id"] for one in data)
        self.wait_row("ns__recipientcontactid__c, ns__account__c, ns__opportunity__c, ns__deal_stage__c, ns__recipienttransactionstatus__c, sfid",
                      "003A|001A|006A|Proposal|delivered|", where=f"ns__recipienttransactionid__c = {rose}")
        self.wait_row("ns__recipientleadid__c, ns__recipientcontactid__c, ns__recipienttransactionprice__c", "00QA||5.5",
                      where=f"ns__recipienttransactionid__c = {bo}")
        change = fixture.write("changes.ndjson", f'{{"recipient_transaction_id": {rose}, "status": "redeemed", '
                                               '"occurred_at": "2026-11-21T12:00:00.250Z", "event_id": "e1"}\n')
        fixture.ctl("change", "import", change)
        self.wait_row("ns__recipienttransactionstatus__c, ns__redeemed_date_time__c", "redeemed|2026-11-21 12:00:00.25",
                      where=f"ns__recipienttransactionid__c = {rose}")
        self.assertEqual({record["RecipientContactId"] for record in fixture.gift_records()}, {"003A", None})
        self.assertIn("opportunity: 006A", fixture.ctl("match", "--email", "rose@edge.com"))
        checked = fixture.ctl("crm", "check")
        self.assertIn("has every table and column", checked)
        self.assertIn("salesforce.ns__gift_record__c: a row counts as deleted where isdeleted is true", checked)
        self.assertIn("salesforce.contact: no column says which rows are deleted", checked)
        self.assertEqual(fixture.ctl("crm", "import", "--object", "contact", change, expect=78), "")
        self.assertIn("crm of crm.connection", fixture.ctl("db", "version"))
        self.assertNotIn("no index", fixture.whole_log())
        after = self.sql("SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'salesforce'::regnamespace")
        self.assertEqual(after, before, "giftsync changed the schema")

    def test_a_task_waits_for_the_id_of_its_gift_record(self):
        self.sql("GRANT INSERT, UPDATE ON salesforce.task TO giftsync")
        fixture = self.example_fixture("tasks: { enabled: true }\n").seed().start()
        with Client(fixture) as client:
            client.send_gift("rose@edge.com")
        self.wait_row("ns__recipienttransactionstatus__c", "delivered")
        daemon_fixture.wait_until(lambda: "no Id yet" in fixture.whole_log(), "the task to wait")
        self.assertEqual(self.sql("SELECT count(*) FROM salesforce.task"), "0")
        self.assertEqual(fixture.gift_records()[0]["RecipientContactId"], "003A", "the gift record is complete")
        self.sql(f"UPDATE {GIFT} SET sfid = 'a0G' || id")
        self.wait_row("whatid, whoid, status", "a0G1|003A|Not Started", table="salesforce.task")

    # SYNC-42
    def test_deleted_rows_match_nothing(self):
        self.sql("ALTER TABLE salesforce.contact ADD COLUMN isdeleted BOOLEAN")
        self.sql("REVOKE SELECT ON salesforce.contact FROM giftsync; GRANT SELECT (sfid, name, email, phone, mobile, accountid, "
                 "lastmodifieddate) ON salesforce.contact TO giftsync")
        self.sql("INSERT INTO salesforce.contact (sfid, name, email, lastmodifieddate, isdeleted) VALUES "
                 "('003DEL', 'Dan, deleted', 'dan@x.example', '2026-05-02', true), ('003LIV', 'Dan', E'dan@x.example\\r', '2026-05-01', false), "
                 "('003GON', 'Gil, deleted', 'gil@x.example', '2026-05-01', true)")
        fixture = self.example_fixture().seed()
        refused = fixture.try_ctl("crm", "check")
        self.assertEqual(refused.returncode, 78)
        self.assertIn("GRANT SELECT (isdeleted) ON salesforce.contact TO giftsync", refused.stderr)
        self.sql("GRANT SELECT (isdeleted) ON salesforce.contact TO giftsync")
        fixture.start()
        with Client(fixture) as client:
            data = client.send_gift("dan@x.example", "gil@x.example").json()["data"]["recipients"]
        dan, gil = (one["recipient_transaction_id"] for one in data)
        self.wait_row("ns__recipientcontactid__c, ns__recipienttransactionstatus__c", "003LIV|delivered",
                      where=f"ns__recipienttransactionid__c = {dan}")
        self.wait_row("ns__recipientcontactid__c, ns__recipienttransactionstatus__c", "|delivered",
                      where=f"ns__recipienttransactionid__c = {gil}")
        self.assertNotIn("003DEL", fixture.ctl("match", "--email", "dan@x.example"))
        self.assertIn("salesforce.contact: a row counts as deleted where isdeleted is true", fixture.ctl("crm", "check"))

    # SYNC-45
    def test_user_fields_are_written_where_columns_names_them(self):
        self.sql(f"ALTER TABLE {GIFT} ADD COLUMN createdbyid VARCHAR(18), ADD COLUMN ownerid VARCHAR(18)")
        fixture = self.example_fixture(crm="  integration_user: 005I\n").seed().start()
        with Client(fixture) as client:
            client.send_gift("rose@edge.com")
            self.wait_row("count(*), count(createdbyid), count(ownerid)", "1|0|0")
            fixture.stop()
            settings = fixture.settings.read_text(encoding="utf-8")
            fixture.settings.write_text(settings.replace("columns: {", "columns: { gift_record.OwnerId: ownerid,"), encoding="utf-8")
            fixture.start()
        with Client(fixture) as client:
            client.send_gift("bo@example.com")
        self.wait_row("count(*), count(createdbyid), max(ownerid)", "2|0|005I")

    def test_gift_records_are_backfilled(self):
        fixture = self.example_fixture().seed().start()
        with Client(fixture) as client:
            data = client.send_gift("rose@edge.com", "bo@example.com", "unknown@example.com").json()["data"]["recipients"]
        rose, bo, unknown = (one["recipient_transaction_id"] for one in data)
        daemon_fixture.wait_until(lambda: [one["RecipientTransactionStatus"] for one in fixture.gift_records()] == ["delivered"] * 3, "the records",
                         pace_seconds=0.2)
        self.wait_until_synced(fixture)
        before = self.sql(f"SELECT * FROM {GIFT} ORDER BY id")
        summary = self.backfill(fixture, "gift-records")
        self.assertEqual((summary["unchanged"], summary["other_differences"]), (3, 0), "columns that the CRM lacks are no difference")
        self.assertEqual(self.sql(f"SELECT * FROM {GIFT} ORDER BY id"), before)

        self.sql(f"UPDATE {GIFT} SET ns__recipienttransactionstatus__c = 'lost', ns__item_cost__c = 99, ns__delivered_date_time__c = NULL, "
                 f"name = 'Mine' WHERE ns__recipienttransactionid__c = {rose}")
        self.sql(f"DELETE FROM {GIFT} WHERE ns__recipienttransactionid__c = {bo}")
        self.sql(f"INSERT INTO {GIFT} (sfid, ns__recipienttransactionid__c, ns__recipienttransactionstatus__c, ns__recipient_email__c, "
                 "ns__recipienttransactioncreatedat__c, ns__recipientcontactid__c, ns__opened_date_time__c, ns__item_cost__c) VALUES "
                 "('a0GOLD', 5000000, 'opened', 'old@example.com', '2020-01-01', '003A', '2020-01-02', 3.5)")
        drifted = self.sql(f"SELECT * FROM {GIFT} ORDER BY id")
        dry = self.backfill(fixture, "gift-records", "--dry-run")
        self.assertEqual((dry["repaired"], dry["deleted_in_crm"], dry["adopted"], dry["unchanged"]), (1, 1, 1, 1))
        self.assertEqual(self.sql(f"SELECT * FROM {GIFT} ORDER BY id"), drifted, "a dry run wrote something")
        self.assertEqual({key: value for key, value in self.backfill(fixture, "gift-records").items() if key != "dry_run"},
                         {key: value for key, value in dry.items() if key != "dry_run"})
        self.wait_row("ns__recipienttransactionstatus__c, ns__item_cost__c, name, ns__delivered_date_time__c IS NULL", "delivered|5|Mine|f",
                      where=f"ns__recipienttransactionid__c = {rose}")
        self.assertEqual(self.backfill(fixture, "gift-records", "--recreate")["recreated"], 1)
        self.wait_row("ns__recipientleadid__c, ns__recipienttransactionstatus__c", "00QA|delivered", where=f"ns__recipienttransactionid__c = {bo}")
        self.wait_until_synced(fixture)
        after = self.sql(f"SELECT * FROM {GIFT} ORDER BY id")
        summary = self.backfill(fixture, "gift-records")
        self.assertEqual((summary["unchanged"], summary["other_differences"]), (4, 1), "a second run finds only the corrected name")
        self.assertEqual(self.sql(f"SELECT * FROM {GIFT} ORDER BY id"), after)

        fixture.ctl("change", "import", fixture.write("old.ndjson", '{"recipient_transaction_id": 5000000, "status": "redeemed", '
                                                                '"occurred_at": "2021-01-01T00:00:00Z"}\n'))
        self.wait_row("ns__recipienttransactionstatus__c, ns__opened_date_time__c, ns__item_cost__c, ns__recipienttransactionprice__c",
                      "redeemed|2020-01-02 00:00:00|3.5|", where="sfid = 'a0GOLD'")
        self.check_rematch(fixture, unknown)

    def check_rematch(self, fixture, unknown):
        """A matching contact is added after the gift was sent."""
        self.sql("INSERT INTO salesforce.contact (sfid, name, email) VALUES ('003N', 'Nora', 'unknown@example.com')")
        would, = fixture.ctl_json("rematch", "--unmatched", "--dry-run")["gifts"]
        self.assertEqual((would["recipient_transaction_id"], would["outcome"]), (unknown, "relinked"))
        fixture.ctl("rematch", "--unmatched")
        self.wait_row("ns__recipientcontactid__c", "003N", where=f"ns__recipienttransactionid__c = {unknown}")
        self.assertEqual(fixture.ctl_json("rematch", "--unmatched")["gifts"], [])

    def test_timestamps_are_backfilled_from_the_status_log(self):
        self.sql(f"INSERT INTO {GIFT} (sfid, ns__recipienttransactionid__c, ns__opened_date_time__c) SELECT 'a0G' || i, 5000000 + i, "
                 "CASE WHEN i = 7 THEN timestamp '2019-05-05' END FROM generate_series(1, 3000) AS i")
        for status, day in (("Delivered", 1), ("opened", 2), ("redeemed", 3), ("bounced", 4)):
            self.sql("INSERT INTO salesforce.ns__status_log__c (ns__transaction__c, ns__status__c, createddate) SELECT 5000000 + i, "
                     f"'{status}', timestamp '2020-01-0{day} 10:00' FROM generate_series(1, 3000) AS i")
        status_log, = blocks("yml")  # further lines of the section crm
        fixture = self.example_fixture(crm=status_log).seed().start()
        dry = self.backfill(fixture, "status-timestamps", "--dry-run")
        self.assertEqual((dry["rows"], dry["used"], dry["not_needed"], dry["unknown_statuses"]), (12000, 8999, 1, {"bounced": 3000}))
        self.assertEqual(self.sql(f"SELECT count(*) FROM {GIFT} WHERE ns__redeemed_date_time__c IS NOT NULL"), "0")
        self.assertEqual(self.backfill(fixture, "status-timestamps")["timestamps"], 8999)
        self.assertEqual(self.sql(f"SELECT DISTINCT ns__delivered_date_time__c, ns__opened_date_time__c, ns__redeemed_date_time__c FROM {GIFT} "
                                  "ORDER BY 2"), "2020-01-01 10:00:00|2019-05-05 00:00:00|2020-01-03 10:00:00\n"
                                                 "2020-01-01 10:00:00|2020-01-02 10:00:00|2020-01-03 10:00:00")
        self.assertEqual(self.backfill(fixture, "status-timestamps")["timestamps"], 0, "a second run changes nothing")

    # SYNC-24
    def test_two_daemons_write_each_record_of_a_slow_crm_once(self):
        store = daemon_fixture.store_settings("postgresql")
        first = self.example_fixture(store=store)
        second = self.example_fixture(store=store, folder=first.folder, name="second")
        second.key = first.seed().key
        first.start()
        second.start()
        with Client(first) as client:
            data = client.send_gift(*(f"p{number}@example.com" for number in range(300))).json()["data"]["recipients"]
        self.wait_row("count(*)", "300", where="ns__recipienttransactionstatus__c = 'delivered'")
        self.wait_until_synced(first)
        self.sql("""
            CREATE TABLE salesforce.update_count (id SERIAL);
            CREATE FUNCTION salesforce.be_slow() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN INSERT INTO salesforce.update_count DEFAULT VALUES; PERFORM pg_sleep(0.02); RETURN NEW; END $$;
            CREATE TRIGGER slow BEFORE UPDATE ON salesforce.ns__gift_record__c FOR EACH ROW EXECUTE FUNCTION salesforce.be_slow()""")
        lines = (f'{{"recipient_transaction_id": {one["recipient_transaction_id"]}, "status": "opened", '
                 '"occurred_at": "2026-11-21T12:00:00Z"}\n' for one in data)
        first.ctl("change", "import", first.write("opened.ndjson", "".join(lines)))
        writes = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'UPDATE%'"
        daemon_fixture.wait_until(lambda: self.sql(writes), "a daemon to write")
        # What 35 more seconds do.
        first.query("UPDATE crm_outbox SET lease_until = lease_until - 35000 WHERE lease_owner <> ''")
        self.wait_until_synced(first)
        self.assertEqual(self.sql(f"SELECT count(*) FROM {GIFT} WHERE ns__recipienttransactionstatus__c = 'opened'"), "300")
        self.assertEqual(self.sql("SELECT count(*) FROM salesforce.update_count"), "300", "records were written again and again")

    def test_an_unavailable_crm_is_named(self):
        fixture = self.example_fixture().seed()
        self.sql("ALTER DATABASE crm RENAME TO elsewhere", self.admin.replace("dbname=crm", "dbname=postgres"))
        try:
            self.assertIn("crm.connection", fixture.try_ctl("gift", "list").stderr)
            fixture.start(wait=False)
            self.assertEqual(fixture.wait_end(), 69)
            self.assertIn(f"(crm.connection in {fixture.settings})", fixture.whole_log())
        finally:
            self.sql("ALTER DATABASE elsewhere RENAME TO crm", self.admin.replace("dbname=crm", "dbname=postgres"))

    def test_a_phone_with_an_extension_is_found_beside_the_documented_index(self):
        index, _ = blocks("postgresql")
        self.sql(index)
        self.sql("INSERT INTO salesforce.contact (sfid, name, phone) VALUES ('003P', 'Pia', '+1 650 867 3450 ext. 7')")
        fixture = self.example_fixture().seed()
        self.assertIn("003P", fixture.ctl("match", "--phone", "+1 650-867-3450"))

    def test_missing_privileges_are_named_with_their_remedy(self):
        self.sql(f"REVOKE UPDATE ON {GIFT} FROM giftsync")
        fixture = self.example_fixture().seed()
        fixture.start(wait=False)
        self.assertEqual(fixture.wait_end(), 78)
        update = f"GRANT UPDATE ON {GIFT} TO giftsync"
        self.assertIn(update, fixture.whole_log())
        self.sql("REVOKE USAGE ON SCHEMA salesforce FROM giftsync")
        checked = fixture.try_ctl("crm", "check")
        self.assertEqual(checked.returncode, 78)
        for expected in (update, "crm.schema", "GRANT USAGE ON SCHEMA salesforce TO giftsync"):
            self.assertIn(expected, checked.stderr)
        listed = fixture.try_ctl("gift", "list")
        self.assertEqual(listed.returncode, 78, "a missing privilege is a configuration error")
        self.assertIn("GRANT USAGE ON SCHEMA salesforce TO giftsync", listed.stderr)

    def test_a_revoked_privilege_is_shown_by_status(self):
        fixture = self.example_fixture().seed().start()
        self.sql(f"REVOKE INSERT ON {GIFT} FROM giftsync")
        with Client(fixture) as client:
            client.send_gift("rose@edge.com")
        insert = f"GRANT INSERT ON {GIFT} TO giftsync"
        daemon_fixture.wait_until(lambda: insert in (fixture.status()["sync"]["last_error"] or ""), "the reason in the status", pace_seconds=0.2)
        output = fixture.status_text()
        self.assertIn("1 queued, 1 failing", output)
        self.assertIn("permission denied for table ns__gift_record__c", output)
        self.sql(insert)
        self.wait_row("ns__recipienttransactionstatus__c", "delivered")
        self.wait_until_synced(fixture)
        self.assertIsNone(fixture.status()["sync"]["last_error"])

    def test_all_missing_tables_are_named_and_nothing_runs(self):
        self.sql("DROP INDEX salesforce.gift_transaction; DROP INDEX salesforce.contact_email_address; DROP TABLE salesforce.account; "
                 f"ALTER TABLE {GIFT} DROP COLUMN ns__opened_date_time__c; ALTER TABLE {GIFT} ALTER COLUMN ns__message__c TYPE INT USING 1")
        fixture = self.example_fixture().seed()
        fixture.start(wait=False)
        self.assertEqual(fixture.wait_end(), 78)
        log = fixture.whole_log()
        checked = fixture.try_ctl("crm", "check")
        self.assertEqual(checked.returncode, 78)
        for command in (("match", "--email", "rose@edge.com"), ("rematch", "--unmatched"), ("backfill", "gift-records"),
                        ("backfill", "status-timestamps")):
            self.assertIn("crm.tables.account", fixture.try_ctl(*command).stderr, command)
        for expected in ("crm.tables.account", "crm.columns.gift_record.Opened_Date_Time", "ns__message__c is of type integer",
                      "CREATE UNIQUE INDEX ON salesforce.ns__gift_record__c", "CREATE INDEX contact_email_address ON salesforce.contact (lower(btrim(email, E'"):
            self.assertIn(expected, log)
            self.assertIn(expected, checked.stderr)


if __name__ == "__main__":
    daemon_fixture.main()
