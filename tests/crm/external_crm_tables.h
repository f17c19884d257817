// An external CRM for the conformance tests: the tables and columns of the managed CRM, so that the same
// plain SQL works on both, created by their owner with the owner's ids, defaults and constraints, without
// versions, match keys and triggers.
#pragma once

#include <map>
#include <string>

#include "crm/sql/external/external_crm.h"
#include "schema/sql/database.h"

namespace giftsync::crm {

inline constexpr std::string_view kExternalObjects = R"sql(
CREATE TABLE crm_contact (id TEXT PRIMARY KEY, firstname TEXT, lastname TEXT,
  name TEXT GENERATED ALWAYS AS (firstname || ' ' || lastname) STORED, email TEXT, phone TEXT, mobilephone TEXT,
  accountid TEXT, title TEXT, birthdate DATE, lastmodifieddate TIMESTAMPTZ);;
CREATE TABLE crm_lead (id TEXT PRIMARY KEY, name TEXT, email TEXT, phone TEXT, mobilephone TEXT, isconverted BOOLEAN,
  convertedcontactid TEXT, lastmodifieddate TIMESTAMPTZ);;
CREATE TABLE crm_account (id TEXT PRIMARY KEY, name TEXT, ownerid TEXT);;
CREATE TABLE crm_opportunity (id TEXT PRIMARY KEY, name TEXT, accountid TEXT, stagename TEXT, isclosed BOOLEAN,
  closedate DATE);;
CREATE TABLE crm_opportunity_contact_role (id TEXT PRIMARY KEY, contactid TEXT, opportunityid TEXT);;
CREATE TABLE crm_user (id TEXT PRIMARY KEY, name TEXT, email TEXT, isactive BOOLEAN);;
CREATE TABLE crm_task (id TEXT PRIMARY KEY DEFAULT (@new_id@), whatid TEXT, whoid TEXT, type TEXT, status TEXT,
  subject TEXT, ownerid TEXT, description TEXT, activitydate DATE, recipienttransactionid BIGINT UNIQUE);;
)sql";

inline std::string external_gift_table(sql::Dialect dialect) {
  const bool sqlite = dialect == sql::Dialect::sqlite;
  std::string text =
      "CREATE TABLE crm_gift_record (id TEXT PRIMARY KEY DEFAULT (@new_id@), record_version BIGINT";
  for (const FieldDescriptor& field : kGiftFields) {
    if (field.type == FieldType::checkbox) continue;
    text.append(", ").append(field.column);
    if (field.type == FieldType::currency)
      text += sqlite ? " TEXT" : " NUMERIC(16,2)";
    else if (field.type == FieldType::number)
      text += " BIGINT";
    else
      text += field.type == FieldType::date_time && !sqlite ? " TIMESTAMPTZ" : " TEXT";
    if (&field == &descriptor_of(GiftField::transaction_id)) text += " NOT NULL UNIQUE";
  }
  return text + ", CHECK (recipientcontactid IS NULL OR recipientleadid IS NULL));;\n";
}

inline void create_external_crm(const sql::Dsn& address) {
  const bool sqlite = address.dialect == sql::Dialect::sqlite;
  const std::string new_id = sqlite ? "lower(hex(randomblob(9)))" : "left(md5(cast(random() as text)), 18)";
  std::string script = std::string(kExternalObjects) + external_gift_table(address.dialect);
  for (std::size_t at = 0; (at = script.find("@new_id@")) != std::string::npos;)
    script.replace(at, 8, new_id);
  sql::Database database(address);
  database.write([&](soci::session& session) { sql::run_script(session, script); });
}

/// Every object and field is where the managed CRM has it.
inline crm::external::ExternalCrmNames external_crm_names() {
  crm::external::ExternalCrmNames names;
  names.name_space = "giftsync";
  names.columns = {{"task.RecipientTransactionId", "recipienttransactionid"}};
  for (const std::string& object : kExternalCrmObjects) names.tables[object] = "crm_" + object;
  for (const FieldDescriptor& field : kGiftFields) {
    if (field.owner != FieldOwner::crm)
      names.columns["gift_record." + std::string(field.name)] = std::string(field.column);
  }
  return names;
}

}  // namespace giftsync::crm
