-- The managed CRM (package version 1.8): its objects as tables that an admin may read and write with plain SQL.
-- Columns are API names without prefix and suffix, in lower case; lookups are plain text, because what they point to
-- may vanish. crm_gift_record is not here: its columns are made from kGiftFields. Types on SQLite: DATE and TIMESTAMPTZ
-- hold ISO 8601 text, BOOLEAN holds 0 or 1. What is here already from an older package stays as it is; a table gets the
-- columns that it lacks, one by one (package_steps.cpp). What matching looks up by Id is kept in the order of Id on SQLite,
-- which saves it a second search for each row.

CREATE TABLE IF NOT EXISTS crm_contact (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  salutation TEXT, firstname TEXT, lastname TEXT, name TEXT,
  email TEXT, phone TEXT, mobilephone TEXT, homephone TEXT, otherphone TEXT,
  accountid TEXT, title TEXT, department TEXT, leadsource TEXT, birthdate DATE, ownerid TEXT,
  createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
)
--@sqlite
WITHOUT ROWID
--@end
;;

CREATE TABLE IF NOT EXISTS crm_lead (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  salutation TEXT, firstname TEXT, lastname TEXT, name TEXT, company TEXT, title TEXT,
  email TEXT, phone TEXT, mobilephone TEXT,
  status TEXT, rating TEXT, leadsource TEXT, ownerid TEXT,
  isconverted BOOLEAN CHECK (isconverted IN (true, false)), converteddate DATE,
  convertedcontactid TEXT, convertedaccountid TEXT, convertedopportunityid TEXT,
  createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
)
--@sqlite
WITHOUT ROWID
--@end
;;

CREATE TABLE IF NOT EXISTS crm_account (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  name TEXT, phone TEXT, website TEXT, type TEXT, industry TEXT, ownerid TEXT,
  createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
)
--@sqlite
WITHOUT ROWID
--@end
;;

CREATE TABLE IF NOT EXISTS crm_opportunity (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  name TEXT, accountid TEXT, stagename TEXT, amount NUMERIC, closedate DATE, probability NUMERIC,
  isclosed BOOLEAN CHECK (isclosed IN (true, false)), iswon BOOLEAN CHECK (iswon IN (true, false)),
  type TEXT, leadsource TEXT, ownerid TEXT, createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
)
--@sqlite
WITHOUT ROWID
--@end
;;

CREATE TABLE IF NOT EXISTS crm_opportunity_contact_role (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  contactid TEXT, opportunityid TEXT, role TEXT, isprimary BOOLEAN CHECK (isprimary IN (true, false)),
  createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
);;
CREATE INDEX IF NOT EXISTS crm_opportunity_contact_role_contact ON crm_opportunity_contact_role (contactid);;

-- Tasks of gifts are told by RecipientTransactionId, a unique field that an admin's own tasks leave empty.
CREATE TABLE IF NOT EXISTS crm_task (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  whatid TEXT, whoid TEXT, type TEXT, status TEXT, subject TEXT, description TEXT, ownerid TEXT,
  activitydate DATE, recipienttransactionid BIGINT,
  createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
);;
CREATE UNIQUE INDEX IF NOT EXISTS crm_task_gift ON crm_task (recipienttransactionid);;

CREATE TABLE IF NOT EXISTS crm_user (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  firstname TEXT, lastname TEXT, name TEXT, email TEXT, username TEXT,
  isactive BOOLEAN CHECK (isactive IN (true, false)),
  createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
)
--@sqlite
WITHOUT ROWID
--@end
;;

CREATE TABLE IF NOT EXISTS crm_permission_set_assignment (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  assigneeid TEXT, permissionsetname TEXT, isactive BOOLEAN CHECK (isactive IN (true, false)),
  expirationdate TIMESTAMPTZ, createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
);;
CREATE INDEX IF NOT EXISTS crm_permission_set_assignment_assignee ON crm_permission_set_assignment (assigneeid);;

-- What giftsync goes by, for the CRM's people to read (the package's settings tab, since 1.8): written at each start of
-- the daemon from giftsyncd.yaml, which alone decides.
CREATE TABLE IF NOT EXISTS crm_setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);;

-- Match keys are an index that SQL alone cannot make: each address and number in the form under which its spellings are
-- equal. crm_key_field lists the columns that have one (phone keys depend on the default region); rows up to
-- `built_to` have theirs, all of them once it is complete.
CREATE TABLE IF NOT EXISTS crm_key_field (
  id @key@,
  object TEXT NOT NULL, kind TEXT NOT NULL, field TEXT NOT NULL, region TEXT NOT NULL,
  built_to TEXT NOT NULL, complete BIGINT NOT NULL,
  UNIQUE (object, kind, field, region)
);;
CREATE TABLE IF NOT EXISTS crm_match_key (
  field_id BIGINT NOT NULL, match_key TEXT NOT NULL, row_id TEXT NOT NULL,
  PRIMARY KEY (field_id, match_key, row_id)
)
--@sqlite
WITHOUT ROWID
--@end
;;
CREATE INDEX IF NOT EXISTS crm_match_key_row ON crm_match_key (row_id, field_id);;

-- Every change of a row with keys is noted here, whoever made it. An append-only log: a change is never merged into a
-- note that somebody else is about to settle.
CREATE TABLE IF NOT EXISTS crm_pending_key (
--@sqlite
  id INTEGER PRIMARY KEY,
--@postgresql
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  object TEXT NOT NULL, row_id TEXT NOT NULL
);;

--@sqlite
CREATE TRIGGER IF NOT EXISTS crm_contact_inserted AFTER INSERT ON crm_contact BEGIN
  INSERT INTO crm_pending_key (object, row_id) VALUES ('contact', new.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_contact_updated AFTER UPDATE ON crm_contact BEGIN
  INSERT INTO crm_pending_key (object, row_id) SELECT 'contact', new.id UNION SELECT 'contact', old.id;
END;;
CREATE TRIGGER IF NOT EXISTS crm_contact_deleted AFTER DELETE ON crm_contact BEGIN
  INSERT INTO crm_pending_key (object, row_id) VALUES ('contact', old.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_lead_inserted AFTER INSERT ON crm_lead BEGIN
  INSERT INTO crm_pending_key (object, row_id) VALUES ('lead', new.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_lead_updated AFTER UPDATE ON crm_lead BEGIN
  INSERT INTO crm_pending_key (object, row_id) SELECT 'lead', new.id UNION SELECT 'lead', old.id;
END;;
CREATE TRIGGER IF NOT EXISTS crm_lead_deleted AFTER DELETE ON crm_lead BEGIN
  INSERT INTO crm_pending_key (object, row_id) VALUES ('lead', old.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_user_inserted AFTER INSERT ON crm_user BEGIN
  INSERT INTO crm_pending_key (object, row_id) VALUES ('user', new.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_user_updated AFTER UPDATE ON crm_user BEGIN
  INSERT INTO crm_pending_key (object, row_id) SELECT 'user', new.id UNION SELECT 'user', old.id;
END;;
CREATE TRIGGER IF NOT EXISTS crm_user_deleted AFTER DELETE ON crm_user BEGIN
  INSERT INTO crm_pending_key (object, row_id) VALUES ('user', old.id);
END;;
--@end

-- Once a statement, not once a row, so that bulk loads stay fast. The search path is pinned, because the admin's
-- session may have another.
--@postgresql
CREATE OR REPLACE FUNCTION crm_note_written() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO crm_pending_key (object, row_id) SELECT TG_ARGV[0], id FROM written;
  RETURN NULL;
END $$;;
CREATE OR REPLACE FUNCTION crm_note_updated() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO crm_pending_key (object, row_id)
    SELECT TG_ARGV[0], id FROM written UNION SELECT TG_ARGV[0], id FROM removed;
  RETURN NULL;
END $$;;
CREATE OR REPLACE TRIGGER crm_contact_inserted AFTER INSERT ON crm_contact REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION crm_note_written('contact');;
CREATE OR REPLACE TRIGGER crm_contact_updated AFTER UPDATE ON crm_contact REFERENCING NEW TABLE AS written OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION crm_note_updated('contact');;
CREATE OR REPLACE TRIGGER crm_contact_deleted AFTER DELETE ON crm_contact REFERENCING OLD TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION crm_note_written('contact');;
CREATE OR REPLACE TRIGGER crm_lead_inserted AFTER INSERT ON crm_lead REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION crm_note_written('lead');;
CREATE OR REPLACE TRIGGER crm_lead_updated AFTER UPDATE ON crm_lead REFERENCING NEW TABLE AS written OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION crm_note_updated('lead');;
CREATE OR REPLACE TRIGGER crm_lead_deleted AFTER DELETE ON crm_lead REFERENCING OLD TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION crm_note_written('lead');;
CREATE OR REPLACE TRIGGER crm_user_inserted AFTER INSERT ON crm_user REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION crm_note_written('user');;
CREATE OR REPLACE TRIGGER crm_user_updated AFTER UPDATE ON crm_user REFERENCING NEW TABLE AS written OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION crm_note_updated('user');;
CREATE OR REPLACE TRIGGER crm_user_deleted AFTER DELETE ON crm_user REFERENCING OLD TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION crm_note_written('user');;
--@end
