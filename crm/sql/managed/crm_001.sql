-- The managed CRM (package version 1.8): its objects as tables that an admin may read and write with plain SQL. Columns are API
-- names without prefix and suffix, in lower case; lookups are plain text, because their targets may be deleted. crm_gift_record
-- is not here: it is created from kGiftFields. Types on SQLite: DATE and TIMESTAMPTZ are ISO 8601 text, BOOLEAN is 0 or 1.
-- Existing tables of an older package stay and get the missing columns one by one (upgrade_steps.cpp). On SQLite tables that
-- matching looks up by Id are stored in the order of Id, which saves a second search per row; PostgreSQL compares those Ids
-- byte by byte.

CREATE TABLE IF NOT EXISTS crm_contact (
  id @id@ NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
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
  id @id@ NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
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
  id @id@ NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  name TEXT, phone TEXT, website TEXT, type TEXT, industry TEXT, ownerid TEXT,
  createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
)
--@sqlite
WITHOUT ROWID
--@end
;;

CREATE TABLE IF NOT EXISTS crm_opportunity (
  id @id@ NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  name TEXT, accountid TEXT, stagename TEXT, amount NUMERIC, closedate DATE, probability NUMERIC,
  isclosed BOOLEAN CHECK (isclosed IN (true, false)), iswon BOOLEAN CHECK (iswon IN (true, false)),
  type TEXT, leadsource TEXT, ownerid TEXT, createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
)
--@sqlite
WITHOUT ROWID
--@end
;;

CREATE TABLE IF NOT EXISTS crm_opportunity_contact_role (
  id @id@ NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
  contactid @id@, opportunityid @id@, role TEXT, isprimary BOOLEAN CHECK (isprimary IN (true, false)),
  createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ
);;
CREATE INDEX IF NOT EXISTS crm_opportunity_contact_role_contact ON crm_opportunity_contact_role (contactid);;

-- Tasks of gifts are identified by RecipientTransactionId, a unique field that an admin's own tasks leave empty.
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

-- Request records (REQ-1, REQ-2; the fields are kRequestRecordFields). The CRM's own automation inserts rows with plain SQL:
-- Id, Request Number, dates and an empty status get defaults. `claimed`: a daemon has claimed the record for sending.
-- `creation_key`: the key under which giftsync created it once. Request Numbers are never reused, like an auto number.
CREATE TABLE IF NOT EXISTS crm_request_record (
--@sqlite
  id TEXT NOT NULL PRIMARY KEY DEFAULT ('a1R' || substr(lower(hex(randomblob(8))), 1, 15)) CHECK (length(id) BETWEEN 1 AND 255),
--@postgresql
  id TEXT NOT NULL PRIMARY KEY DEFAULT ('a1R' || substr(replace(cast(gen_random_uuid() AS text), '-', ''), 1, 15)) CHECK (length(id) BETWEEN 1 AND 255),
--@end
  name TEXT UNIQUE, account TEXT, opportunity TEXT,
  auto_approved BOOLEAN CHECK (auto_approved IN (true, false)),
  credit_card_id TEXT, gift_category_id TEXT, gift_id TEXT, gift_item_description TEXT,
  include_shipping BOOLEAN CHECK (include_shipping IN (true, false)),
  include_carbon_neutral_cost BOOLEAN CHECK (include_carbon_neutral_cost IN (true, false)),
  item_link TEXT, payment_method TEXT, request_status TEXT, root_gift_id TEXT, send_type TEXT,
  third_party_gift_id TEXT, third_party_vendor TEXT, error_log TEXT,
  use_user_balance BOOLEAN CHECK (use_user_balance IN (true, false)),
  recipient_contact TEXT, recipient_lead TEXT, recipient_email TEXT, recipient_first_name TEXT, recipient_last_name TEXT,
  message TEXT, sender TEXT,
  createdbyid TEXT, createddate TIMESTAMPTZ, lastmodifiedbyid TEXT, lastmodifieddate TIMESTAMPTZ, ownerid TEXT,
  claimed BOOLEAN NOT NULL DEFAULT false CHECK (claimed IN (true, false)),
  creation_key TEXT UNIQUE
);;
CREATE INDEX IF NOT EXISTS crm_request_record_status ON crm_request_record (request_status);;

-- Every change of a request record, by any writer: the request worker's input. Append-only, like crm_match_key_queue, and read
-- by its own ids: neither a slow transaction nor a wrong clock hides a row.
CREATE TABLE IF NOT EXISTS crm_request_queue (
--@sqlite
  id INTEGER PRIMARY KEY,
--@postgresql
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  row_id TEXT NOT NULL
);;
CREATE INDEX IF NOT EXISTS crm_request_queue_row ON crm_request_queue (row_id);;

--@sqlite
CREATE TABLE IF NOT EXISTS crm_counter (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);;
INSERT INTO crm_counter (name, value) VALUES ('request_number', 0) ON CONFLICT (name) DO NOTHING;;
CREATE TRIGGER IF NOT EXISTS crm_request_inserted AFTER INSERT ON crm_request_record BEGIN
  UPDATE crm_counter SET value = value + 1 WHERE name = 'request_number';
  UPDATE crm_request_record SET
    name = (SELECT printf('R-%06d', value) FROM crm_counter WHERE crm_counter.name = 'request_number'),
    request_status = coalesce(nullif(trim(request_status), ''), 'Pending'),
    createddate = coalesce(createddate, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    lastmodifieddate = coalesce(lastmodifieddate, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    lastmodifiedbyid = coalesce(lastmodifiedbyid, createdbyid, ownerid)
    WHERE id = new.id;
  INSERT INTO crm_request_queue (row_id) VALUES (new.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_request_updated AFTER UPDATE ON crm_request_record BEGIN
  INSERT INTO crm_request_queue (row_id) SELECT new.id UNION SELECT old.id;
END;;
CREATE TRIGGER IF NOT EXISTS crm_request_last_modified AFTER UPDATE ON crm_request_record
  WHEN new.name IS old.name AND new.lastmodifieddate IS old.lastmodifieddate
    AND new.lastmodifieddate IS NOT strftime('%Y-%m-%dT%H:%M:%fZ', 'now') BEGIN
  UPDATE crm_request_record SET lastmodifieddate = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = new.id;
END;;
-- The approval binds to this content: an edit before giftsync has processed the approval invalidates it.
CREATE TRIGGER IF NOT EXISTS crm_request_approval_reset AFTER UPDATE ON crm_request_record
  WHEN old.request_status = 'Approved' AND new.request_status = 'Approved' AND NOT old.claimed AND NOT new.claimed AND (
   new.credit_card_id IS NOT old.credit_card_id OR new.gift_category_id IS NOT old.gift_category_id OR
    new.gift_id IS NOT old.gift_id OR new.gift_item_description IS NOT old.gift_item_description OR
    new.include_shipping IS NOT old.include_shipping OR
    new.include_carbon_neutral_cost IS NOT old.include_carbon_neutral_cost OR
    new.payment_method IS NOT old.payment_method OR new.root_gift_id IS NOT old.root_gift_id OR
    new.send_type IS NOT old.send_type OR new.third_party_gift_id IS NOT old.third_party_gift_id OR
    new.third_party_vendor IS NOT old.third_party_vendor OR new.use_user_balance IS NOT old.use_user_balance OR
    new.recipient_contact IS NOT old.recipient_contact OR new.recipient_lead IS NOT old.recipient_lead OR
    new.recipient_email IS NOT old.recipient_email OR new.recipient_first_name IS NOT old.recipient_first_name OR
    new.recipient_last_name IS NOT old.recipient_last_name OR new.message IS NOT old.message OR
    new.sender IS NOT old.sender) BEGIN
  UPDATE crm_request_record SET request_status = 'Pending' WHERE id = new.id;
END;;
CREATE TRIGGER IF NOT EXISTS crm_request_deleted AFTER DELETE ON crm_request_record BEGIN
  INSERT INTO crm_request_queue (row_id) VALUES (old.id);
END;;
--@postgresql
CREATE SEQUENCE IF NOT EXISTS crm_request_number;;
CREATE OR REPLACE FUNCTION crm_request_before_write() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  number TEXT;
BEGIN
  IF TG_OP = 'INSERT' THEN
    number := cast(nextval('crm_request_number') AS text);
    NEW.name := 'R-' || lpad(number, greatest(6, length(number)), '0');
    NEW.request_status := coalesce(nullif(trim(NEW.request_status), ''), 'Pending');
    NEW.createddate := coalesce(NEW.createddate, date_trunc('milliseconds', now()));
    NEW.lastmodifieddate := coalesce(NEW.lastmodifieddate, date_trunc('milliseconds', now()));
    NEW.lastmodifiedbyid := coalesce(NEW.lastmodifiedbyid, NEW.createdbyid, NEW.ownerid);
    RETURN NEW;
  END IF;
  IF NEW.lastmodifieddate IS NOT DISTINCT FROM OLD.lastmodifieddate THEN
    NEW.lastmodifieddate := date_trunc('milliseconds', now());
  END IF;
  -- The approval binds to this content: an edit before giftsync has processed the approval invalidates it.
  IF OLD.request_status = 'Approved' AND NEW.request_status = 'Approved' AND NOT OLD.claimed AND NOT NEW.claimed AND
    (NEW.credit_card_id, NEW.gift_category_id, NEW.gift_id, NEW.gift_item_description, NEW.include_shipping,
    NEW.include_carbon_neutral_cost, NEW.payment_method, NEW.root_gift_id, NEW.send_type, NEW.third_party_gift_id,
    NEW.third_party_vendor, NEW.use_user_balance, NEW.recipient_contact, NEW.recipient_lead, NEW.recipient_email,
    NEW.recipient_first_name, NEW.recipient_last_name, NEW.message, NEW.sender)
    IS DISTINCT FROM
    (OLD.credit_card_id, OLD.gift_category_id, OLD.gift_id, OLD.gift_item_description, OLD.include_shipping,
    OLD.include_carbon_neutral_cost, OLD.payment_method, OLD.root_gift_id, OLD.send_type, OLD.third_party_gift_id,
    OLD.third_party_vendor, OLD.use_user_balance, OLD.recipient_contact, OLD.recipient_lead, OLD.recipient_email,
    OLD.recipient_first_name, OLD.recipient_last_name, OLD.message, OLD.sender)
  THEN
    NEW.request_status := 'Pending';
  END IF;
  RETURN NEW;
END $$;;
CREATE OR REPLACE FUNCTION crm_enqueue_request() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO crm_request_queue (row_id) SELECT id FROM changed_rows;
  RETURN NULL;
END $$;;
CREATE OR REPLACE FUNCTION crm_enqueue_request_update() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO crm_request_queue (row_id) SELECT id FROM changed_rows UNION SELECT id FROM old_rows;
  RETURN NULL;
END $$;;
CREATE OR REPLACE TRIGGER crm_request_before_write BEFORE INSERT OR UPDATE ON crm_request_record
  FOR EACH ROW EXECUTE FUNCTION crm_request_before_write();;
CREATE OR REPLACE TRIGGER crm_request_inserted AFTER INSERT ON crm_request_record REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_request();;
CREATE OR REPLACE TRIGGER crm_request_updated AFTER UPDATE ON crm_request_record REFERENCING NEW TABLE AS changed_rows OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_request_update();;
CREATE OR REPLACE TRIGGER crm_request_deleted AFTER DELETE ON crm_request_record REFERENCING OLD TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_request();;
--@end

-- The settings in force, for the CRM's users to read (the package's settings tab, since 1.8). Written at each start of the
-- daemon; giftsyncd.yaml is authoritative.
CREATE TABLE IF NOT EXISTS crm_setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);;

-- Match keys are an index that SQL alone cannot make: each address and number in the form under which its spellings are
-- equal. crm_match_key_field lists the columns that have one (phone keys depend on the default region); rows up to
-- `indexed_to_id` have theirs, all of them once it is complete.
CREATE TABLE IF NOT EXISTS crm_match_key_field (
  id @key@,
  object TEXT NOT NULL, kind TEXT NOT NULL, column_name TEXT NOT NULL, region TEXT NOT NULL,
  indexed_to_id TEXT NOT NULL, complete BIGINT NOT NULL,
  UNIQUE (object, kind, column_name, region)
);;
CREATE TABLE IF NOT EXISTS crm_match_key (
  field_id BIGINT NOT NULL, match_key @id@ NOT NULL, row_id TEXT NOT NULL,
  PRIMARY KEY (field_id, match_key, row_id)
)
--@sqlite
WITHOUT ROWID
--@end
;;
CREATE INDEX IF NOT EXISTS crm_match_key_row ON crm_match_key (row_id, field_id);;

-- Every change of a row with keys is queued here, by any writer. Append-only: a change is never merged into an entry that
-- another process is about to process.
CREATE TABLE IF NOT EXISTS crm_match_key_queue (
--@sqlite
  id INTEGER PRIMARY KEY,
--@postgresql
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
--@end
  object TEXT NOT NULL, row_id TEXT NOT NULL
);;

--@sqlite
CREATE TRIGGER IF NOT EXISTS crm_contact_inserted AFTER INSERT ON crm_contact BEGIN
  INSERT INTO crm_match_key_queue (object, row_id) VALUES ('contact', new.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_contact_updated AFTER UPDATE ON crm_contact BEGIN
  INSERT INTO crm_match_key_queue (object, row_id) SELECT 'contact', new.id UNION SELECT 'contact', old.id;
END;;
CREATE TRIGGER IF NOT EXISTS crm_contact_deleted AFTER DELETE ON crm_contact BEGIN
  INSERT INTO crm_match_key_queue (object, row_id) VALUES ('contact', old.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_lead_inserted AFTER INSERT ON crm_lead BEGIN
  INSERT INTO crm_match_key_queue (object, row_id) VALUES ('lead', new.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_lead_updated AFTER UPDATE ON crm_lead BEGIN
  INSERT INTO crm_match_key_queue (object, row_id) SELECT 'lead', new.id UNION SELECT 'lead', old.id;
END;;
CREATE TRIGGER IF NOT EXISTS crm_lead_deleted AFTER DELETE ON crm_lead BEGIN
  INSERT INTO crm_match_key_queue (object, row_id) VALUES ('lead', old.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_user_inserted AFTER INSERT ON crm_user BEGIN
  INSERT INTO crm_match_key_queue (object, row_id) VALUES ('user', new.id);
END;;
CREATE TRIGGER IF NOT EXISTS crm_user_updated AFTER UPDATE ON crm_user BEGIN
  INSERT INTO crm_match_key_queue (object, row_id) SELECT 'user', new.id UNION SELECT 'user', old.id;
END;;
CREATE TRIGGER IF NOT EXISTS crm_user_deleted AFTER DELETE ON crm_user BEGIN
  INSERT INTO crm_match_key_queue (object, row_id) VALUES ('user', old.id);
END;;
--@end

-- Once a statement, not once a row, so that bulk loads stay fast. The search path is pinned, because the admin's
-- session may have another.
--@postgresql
CREATE OR REPLACE FUNCTION crm_enqueue_match_keys() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO crm_match_key_queue (object, row_id) SELECT TG_ARGV[0], id FROM changed_rows;
  RETURN NULL;
END $$;;
CREATE OR REPLACE FUNCTION crm_enqueue_match_keys_update() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO crm_match_key_queue (object, row_id)
    SELECT TG_ARGV[0], id FROM changed_rows UNION SELECT TG_ARGV[0], id FROM old_rows;
  RETURN NULL;
END $$;;
CREATE OR REPLACE TRIGGER crm_contact_inserted AFTER INSERT ON crm_contact REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_match_keys('contact');;
CREATE OR REPLACE TRIGGER crm_contact_updated AFTER UPDATE ON crm_contact REFERENCING NEW TABLE AS changed_rows OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_match_keys_update('contact');;
CREATE OR REPLACE TRIGGER crm_contact_deleted AFTER DELETE ON crm_contact REFERENCING OLD TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_match_keys('contact');;
CREATE OR REPLACE TRIGGER crm_lead_inserted AFTER INSERT ON crm_lead REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_match_keys('lead');;
CREATE OR REPLACE TRIGGER crm_lead_updated AFTER UPDATE ON crm_lead REFERENCING NEW TABLE AS changed_rows OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_match_keys_update('lead');;
CREATE OR REPLACE TRIGGER crm_lead_deleted AFTER DELETE ON crm_lead REFERENCING OLD TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_match_keys('lead');;
CREATE OR REPLACE TRIGGER crm_user_inserted AFTER INSERT ON crm_user REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_match_keys('user');;
CREATE OR REPLACE TRIGGER crm_user_updated AFTER UPDATE ON crm_user REFERENCING NEW TABLE AS changed_rows OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_match_keys_update('user');;
CREATE OR REPLACE TRIGGER crm_user_deleted AFTER DELETE ON crm_user REFERENCING OLD TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION crm_enqueue_match_keys('user');;
--@end
