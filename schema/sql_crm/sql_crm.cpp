#include "schema/sql_crm/sql_crm.h"

#include <set>

#include "schema/sql_crm/candidates.h"
#include "schema/sql_crm/gift_rows.h"

namespace giftsync::schema {
namespace {

using namespace sql_crm;

std::string sentences(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) text += (text.empty() ? "" : "; ") + fault;
  return text;
}

/// Without the empty ones, which match nothing, each one once.
template <class Rows, class KeyOf>
std::vector<std::string> distinct_keys(const Rows& rows, KeyOf&& key_of) {
  std::set<std::string> keys;
  for (const auto& row : rows) {
    if (!key_of(row).empty()) keys.insert(key_of(row));
  }
  return {keys.begin(), keys.end()};
}

template <class Found>
std::vector<Found> found_for(const FoundByKey<Found>& found, const std::string& key) {
  const auto at = found.find(key);
  return at == found.end() ? std::vector<Found>() : at->second;
}

class SqlCrm : public Crm {
 public:
  explicit SqlCrm(const SqlCrmOptions& options) : options_(options), database_(options.database) {}

  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientKeys> recipients) override;
  std::vector<std::vector<CrmUser>> find_users(std::span<const std::string> email_keys) override;

  std::vector<RowResult> upsert_gift_records(std::span<const GiftUpsert> rows) override {
    return upsert_gift_rows(database_, rows, options_.name_space);
  }
  std::vector<GiftRecord> gift_records(TransactionId after, std::size_t limit) override {
    return read_gift_rows(database_, after, limit);
  }
  std::optional<TransactionId> highest_transaction_id() override {
    return highest_gift_transaction(database_);
  }

 private:
  FoundByKey<Candidate> look_up(PersonObject object, const PersonSource& source,
                                const std::vector<KeyField>& fields, const std::vector<std::string>& names,
                                const std::vector<std::string>& keys);

  const SqlCrmOptions options_;
  sql::Database database_;
};

FoundByKey<Candidate> SqlCrm::look_up(PersonObject object, const PersonSource& source,
                                      const std::vector<KeyField>& fields,
                                      const std::vector<std::string>& names,
                                      const std::vector<std::string>& keys) {
  if (fields.empty() || keys.empty()) return {};
  const bool descending = fields_of(object, options_.match_fields).order_by.descending;
  return people_by_key(database_,
                       {object, source.order_by, descending, bring_keys_up_to_date(database_, fields), names},
                       keys);
}

std::vector<Candidates> SqlCrm::find_candidates(PersonObject object,
                                                std::span<const RecipientKeys> recipients) {
  const PersonSource source = database_.read([&](soci::session& session) {
    return person_source(session, database_.dialect(), object, options_.match_fields);
  });
  if (!source.faults.empty()) throw BrokenWorld(false, sentences(source.faults));
  const PersonMatchFields& names = fields_of(object, options_.match_fields);
  const auto by_email = look_up(object, source, source.email_fields, names.email_fields,
                                distinct_keys(recipients, [](const auto& r) { return r.email_key; }));
  const auto by_phone = look_up(object, source, source.phone_fields, names.phone_fields,
                                distinct_keys(recipients, [](const auto& r) { return r.phone_key; }));
  std::vector<Candidates> answers;
  answers.reserve(recipients.size());
  for (const RecipientKeys& keys : recipients) {
    answers.push_back({found_for(by_email, keys.email_key), found_for(by_phone, keys.phone_key)});
  }
  return answers;
}

std::vector<std::vector<CrmUser>> SqlCrm::find_users(std::span<const std::string> email_keys) {
  FoundByKey<CrmUser> found;
  const std::vector<std::string> keys = distinct_keys(email_keys, [](const auto& key) { return key; });
  if (!keys.empty()) {
    const KeyField email{"user", KeyField::Kind::email, "email", ""};
    found = users_by_key(database_, bring_keys_up_to_date(database_, {email}).front(), keys);
  }
  std::vector<std::vector<CrmUser>> answers;
  answers.reserve(email_keys.size());
  for (const std::string& key : email_keys) answers.push_back(found_for(found, key));
  return answers;
}

}  // namespace

std::unique_ptr<Crm> make_sql_crm(const SqlCrmOptions& options) {
  return std::make_unique<SqlCrm>(options);
}

std::vector<std::string> match_field_faults(const SqlCrmOptions& options) {
  sql::Database database(options.database);
  return database.read([&](soci::session& session) {
    std::vector<std::string> faults;
    for (const PersonObject object : {PersonObject::contact, PersonObject::lead}) {
      const auto source = person_source(session, database.dialect(), object, options.match_fields);
      faults.insert(faults.end(), source.faults.begin(), source.faults.end());
    }
    return faults;
  });
}

}  // namespace giftsync::schema
