// tests/bench: fills a managed CRM with contacts and leads, and measures matching:
// matching::match_recipients for 200 recipients at a time, with explanations. scripts/bench builds and calls
// it:
//   match_bench load BACKEND DATABASE CONTACTS LEADS RECIPIENTS-FILE
//   match_bench measure BACKEND DATABASE RECIPIENTS-FILE SECONDS
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "crm/sql/managed/managed_crm.h"
#include "matching/match_decision.h"
#include "schema/contact_normalization.h"
#include "schema/sql/database.h"
#include "schema/store/store.h"

namespace {

using namespace giftsync;

constexpr std::size_t kBatches = 50;
constexpr std::size_t kBatchSize = 200;

sql::Dsn dsn_of(const std::string& back_end, const std::string& database) {
  return {back_end == "sqlite" ? sql::Dialect::sqlite : sql::Dialect::postgresql, database};
}

crm::MatchFields match_fields() {
  const crm::PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
  return {person, person, "US"};
}

std::string numbers(const std::string& count) {
  return "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < " + count + ") ";
}

/// Two people share every tenth address and number. Half of the contacts have an opportunity.
std::vector<std::string> people(const std::string& contacts, const std::string& leads) {
  return {
      "INSERT INTO crm_account (id, name) " + numbers("1000") + "SELECT '001' || i, 'Account ' || i FROM n",
      "INSERT INTO crm_contact (id, firstname, lastname, email, phone, mobilephone, accountid, "
      "lastmodifieddate) " +
          numbers(contacts) +
          "SELECT '003' || i, 'First' || i, 'Last' || i, 'Person' || (CASE WHEN i % 20 = 19 THEN i - 1 ELSE "
          "i END) || "
          "'@Example' || ((i % 1000) / 20) || '.com', '(201) ' || (2000000 + i), NULL, '001' || (i % 1000), "
          "@time@ FROM "
          "n",
      "INSERT INTO crm_lead (id, firstname, lastname, email, phone, isconverted, lastmodifieddate) " +
          numbers(leads) +
          "SELECT '00Q' || i, 'First' || i, 'Last' || i, 'lead' || i || '@example.org', '(305) ' || (2000000 "
          "+ i), "
          "i % 10 = 9, @time@ FROM n",
      "INSERT INTO crm_opportunity (id, name, stagename, isclosed, closedate, accountid) " +
          numbers(contacts) +
          "SELECT '006' || i, 'Deal ' || i, 'New', i % 5 = 4, @date@, '001' || (i % 1000) FROM n WHERE i % 2 "
          "= 0",
      "INSERT INTO crm_opportunity_contact_role (id, contactid, opportunityid) " + numbers(contacts) +
          "SELECT '00K' || i, '003' || i, '006' || i FROM n WHERE i % 2 = 0"};
}

/// The same people with their match keys, for the bare SELECTs.
std::vector<std::string> bare_tables() {
  const auto keys = [](const char* object, const char* kind, const char* field) {
    return std::string(
               " LEFT JOIN (SELECT row_id, min(match_key) AS match_key FROM crm_match_key WHERE field_id = "
               "(SELECT id FROM crm_match_key_field WHERE object = '") +
           object + "' AND kind = '" + kind + "' AND column_name = '" + field + "') GROUP BY row_id) AS " +
           field + " ON " + field + ".row_id = p.id";
  };
  std::vector<std::string> statements;
  for (const char* object : {"contact", "lead"}) {
    const std::string table = std::string("bench_") + object;
    const std::string name = "trim(coalesce(p.firstname, '') || ' ' || coalesce(p.lastname, ''))";
    statements.push_back("CREATE TABLE " + table + " AS SELECT p.id, " + name +
                         " AS name, p.lastmodifieddate, " +
                         (*object == 'c' ? "p.accountid" : "p.isconverted") +
                         ", email.match_key AS email_key, phone.match_key AS phone_key, "
                         "mobilephone.match_key AS mobile_key FROM crm_" +
                         object + " p" + keys(object, "email_2", "email") + keys(object, "phone_2", "phone") +
                         keys(object, "phone_2", "mobilephone"));
    for (const char* column : {"email_key", "phone_key", "mobile_key"})
      statements.push_back("CREATE INDEX " + table + "_" + column + " ON " + table + " (" + column + ")");
  }
  return statements;
}

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at; (at = text.find(word)) != std::string::npos;) text.replace(at, word.size(), by);
  return text;
}

void run(sql::Database& database, std::string statement) {
  const bool postgresql = database.dialect() == sql::Dialect::postgresql;
  const std::string time =
      "CASE WHEN i % 2 = 0 THEN '2026-01-02T10:00:00.000Z' ELSE '2026-03-04T10:00:00.000Z' END";
  statement =
      replaced(std::move(statement), "@time@", postgresql ? "cast(" + time + " as timestamptz)" : time);
  statement =
      replaced(std::move(statement), "@date@", postgresql ? "cast('2027-01-01' as date)" : "'2027-01-01'");
  database.write([&](soci::session& session) { session << statement; });
}

crm::RecipientMatchKeys recipient(std::uint64_t random, std::uint64_t kind, std::uint64_t contacts,
                                  std::uint64_t leads) {
  const std::uint64_t i = random % contacts;
  if (kind < 6) {
    return {giftsync::email_key("person" + std::to_string(i % 20 == 19 ? i - 1 : i) + "@example" +
                                std::to_string(i % 1000 / 20) + ".com"),
            ""};
  }
  if (kind < 8) return {giftsync::email_key("lead" + std::to_string(random % leads) + "@example.org"), ""};
  if (kind == 8) return {"", giftsync::phone_key("+1 201 " + std::to_string(2000000 + i), "US")};
  return {giftsync::email_key("unmatched" + std::to_string(i) + "@example.net"),
          giftsync::phone_key("+1 415 " + std::to_string(2000000 + i), "US")};
}

/// The same recipients each time: of 10, 6 match a contact by e-mail, 2 a lead, 1 a contact by phone,
/// 1 nothing.
void write_recipients(const std::string& file, std::uint64_t contacts, std::uint64_t leads) {
  std::ofstream out(file);
  std::uint64_t random = 88172645463325252u;
  for (std::size_t i = 0; i < kBatches * kBatchSize; ++i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    const crm::RecipientMatchKeys keys = recipient(random >> 8, i % 10, contacts, leads);
    out << keys.email_key << '\t' << keys.phone_key << '\n';
  }
}

std::vector<crm::RecipientMatchKeys> read_recipients(const std::string& file) {
  std::ifstream in(file);
  std::vector<crm::RecipientMatchKeys> all;
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    all.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return all;
}

void load(const sql::Dsn& dsn, const std::string& contacts, const std::string& leads,
          const std::string& file) {
  store::migrate_store(dsn);
  crm::managed::migrate_managed_crm(dsn);
  sql::Database database(dsn);
  for (std::string& statement : people(contacts, leads)) run(database, std::move(statement));
  const auto crm = crm::managed::make_managed_crm({dsn, "giftsync", match_fields()});
  const crm::RecipientMatchKeys first{"first@example.net",
                                      ""};  // the first lookup of each object makes its keys
  for (const crm::PersonObject object : {crm::PersonObject::contact, crm::PersonObject::lead})
    crm->directory().find_candidates(object, std::span(&first, 1));
  // Does not wait for PostgreSQL's autovacuum.
  const auto analyze = [&] {
    if (dsn.dialect == sql::Dialect::postgresql)
      database.read([](soci::session& session) { session << "ANALYZE"; });
  };
  analyze();
  for (std::string& statement : bare_tables()) run(database, std::move(statement));
  analyze();
  write_recipients(file, std::stoull(contacts), std::stoull(leads));
}

void measure(const sql::Dsn& dsn, const std::string& file, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto crm = crm::managed::make_managed_crm({dsn, "giftsync", match_fields()});
  const std::vector<crm::RecipientMatchKeys> recipients = read_recipients(file);
  std::vector<std::vector<crm::RecipientMatchKeys>> batches;
  for (std::size_t at = 0; at + kBatchSize <= recipients.size(); at += kBatchSize)
    batches.emplace_back(recipients.begin() + static_cast<std::ptrdiff_t>(at),
                         recipients.begin() + static_cast<std::ptrdiff_t>(at + kBatchSize));
  long contacts = 0;
  long leads = 0;
  long opportunities = 0;
  for (const auto& batch : batches) {  // warms up and counts the matches
    for (const store::MatchDecision& decision :
         matching::match_recipients(crm->directory(), match_fields(), batch)) {
      contacts += decision.contact_id.empty() ? 0 : 1;
      leads += decision.lead_id.empty() ? 0 : 1;
      opportunities += decision.opportunity_id.empty() ? 0 : 1;
    }
  }
  std::size_t done = 0;
  const auto started = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - started).count(); };
  for (; passed() < seconds; ++done)
    matching::match_recipients(crm->directory(), match_fields(), batches[done % batches.size()]);
  std::printf("{\"batch_millis\": %.3f, \"contacts\": %ld, \"leads\": %ld, \"opportunities\": %ld}\n",
              passed() * 1000 / static_cast<double>(done), contacts, leads, opportunities);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 7 && std::strcmp(argv[1], "load") == 0) {
      load(dsn_of(argv[2], argv[3]), argv[4], argv[5], argv[6]);
      return 0;
    }
    if (argc == 6 && std::strcmp(argv[1], "measure") == 0) {
      measure(dsn_of(argv[2], argv[3]), argv[4], std::stod(argv[5]));
      return 0;
    }
    std::cerr << "match_bench load BACKEND DATABASE CONTACTS LEADS RECIPIENTS | measure BACKEND DATABASE "
                 "RECIPIENTS "
                 "SECONDS; scripts/bench calls it\n";
    return 64;
  } catch (const std::exception& fault) {
    std::cerr << "match_bench: " << fault.what() << '\n';
    return 70;
  }
}
