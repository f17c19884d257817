// Databases of old package versions, from before giftsync recorded the version, with their own DDL and data:
// the input of an upgrade.
#pragma once

#include <string>
#include <string_view>

#include "schema/sql/database.h"

namespace giftsync::crm::managed {

/// The customer's own objects, the same in both versions. Alma matches, her opportunity is open.
inline constexpr std::string_view kOldObjects = R"sql(
CREATE TABLE crm_contact (id TEXT NOT NULL PRIMARY KEY, firstname TEXT, lastname TEXT, name TEXT, email TEXT,
  phone TEXT, mobilephone TEXT, accountid TEXT, favourite_colour TEXT, createddate TIMESTAMPTZ,
  lastmodifieddate TIMESTAMPTZ);;
CREATE TABLE crm_lead (id TEXT NOT NULL PRIMARY KEY, name TEXT, email TEXT, phone TEXT, mobilephone TEXT,
  isconverted BOOLEAN, createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ);;
CREATE TABLE crm_user (id TEXT NOT NULL PRIMARY KEY, name TEXT, email TEXT, isactive BOOLEAN);;
CREATE TABLE crm_task (id TEXT NOT NULL PRIMARY KEY, whatid TEXT, whoid TEXT, status TEXT, subject TEXT,
  createddate TIMESTAMPTZ, lastmodifieddate TIMESTAMPTZ);;
INSERT INTO crm_contact (id, firstname, lastname, email, favourite_colour)
  VALUES ('003A', 'Alma', 'Ruiz', 'Alma@Example.com ', 'green');;
INSERT INTO crm_lead (id, name, email, isconverted) VALUES ('00QA', 'Bo Lund', 'bo@example.com', false);;
INSERT INTO crm_task (id, whatid, subject, status) VALUES ('00TA', 'a0G1', 'Call Alma', 'Open');;
)sql";

/// The gift record of 1.1; 1.3 adds to it.
inline constexpr std::string_view kGiftColumns11 = R"sql(
CREATE TABLE crm_gift_record (id TEXT NOT NULL PRIMARY KEY, createddate @time@, lastmodifieddate @time@,
  name TEXT, recipienttransactionid BIGINT NOT NULL UNIQUE, recipienttransactionstatus TEXT,
  recipienttransactioncreatedat @time@, recipienttransactionprice @money@, recipienttransactionlink TEXT,
  recipientcontactid TEXT, recipientleadid TEXT, recipient_email TEXT, recipient_phone_number TEXT,
  senderid TEXT, sender_email TEXT, giftid BIGINT, message TEXT, description TEXT, ownerid TEXT,
  createdbyid TEXT, lastmodifiedbyid TEXT)sql";

inline constexpr std::string_view kVersion11 = R"sql();;
CREATE TABLE crm_status_log (id TEXT NOT NULL PRIMARY KEY, recipienttransactionid BIGINT NOT NULL, status TEXT,
  createddate @time@);;
INSERT INTO crm_gift_record (id, name, recipienttransactionid, recipienttransactionstatus,
  recipienttransactioncreatedat, recipientcontactid, recipient_email, recipienttransactionprice) VALUES
  ('a0G1', 'Coffee for Alma', 41, 'opened', '2024-02-01T10:00:00.000Z', '003A', 'alma@example.com', '5.50'),
  ('a0G2', 'Coffee for Bo', 42, 'sent', '2024-02-02T10:00:00.000Z', NULL, 'bo@example.com', '5.50');;
INSERT INTO crm_status_log (id, recipienttransactionid, status, createddate) VALUES
  ('a0L1', 41, 'sent', '2024-02-01T10:00:00.000Z'), ('a0L2', 41, 'delivered', '2024-02-01T10:00:09.000Z'),
  ('a0L3', 41, 'opened', '2024-02-03T08:00:00.000Z'), ('a0L4', 42, 'sent', '2024-02-02T10:00:00.000Z');;
)sql";

inline constexpr std::string_view kVersion13 = R"sql(, account TEXT, actual_sender TEXT, opportunity TEXT,
  deal_stage TEXT, deliverytype TEXT, carbon_neutral_cost @money@, item_cost @money@, shipping_cost @money@,
  transaction_fee @money@, delivered_date_time @time@, donated_date_time @time@, expired_date_time @time@,
  opened_date_time @time@, redeemed_date_time @time@, refunded_date_time @time@,
  undelivered_date_time @time@, our_own_note TEXT);;
INSERT INTO crm_gift_record (id, name, recipienttransactionid, recipienttransactionstatus,
  recipienttransactioncreatedat, recipientcontactid, account, opportunity, deal_stage, item_cost,
  opened_date_time, our_own_note) VALUES
  ('a0G1', 'Coffee for Alma', 41, 'opened', '2024-02-01T10:00:00.000Z', '003A', '001A', '006A', 'Proposal',
   '5.50', '2024-02-03T08:00:00.000Z', 'keep me');;
)sql";

enum class OldPackage { v1_1, v1_3 };

inline std::string old_package_ddl(OldPackage package, sql::Dialect dialect) {
  std::string text(kOldObjects);
  text += kGiftColumns11;
  text += package == OldPackage::v1_1 ? kVersion11 : kVersion13;
  const auto put = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  const bool sqlite = dialect == sql::Dialect::sqlite;
  put("@time@", sqlite ? "TEXT" : "TIMESTAMPTZ");
  put("@money@", sqlite ? "TEXT" : "NUMERIC(16,2)");
  return text;
}

inline void create_old_package(OldPackage package, const sql::Dsn& address) {
  sql::Database database(address);
  database.write(
      [&](soci::session& session) { sql::run_script(session, old_package_ddl(package, address.dialect)); });
}

}  // namespace giftsync::crm::managed
