// Saves of single records by a user, in Salesforce's order: fields and values, required fields, triggers and
// validation rules, unique values, stamps.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/salesforce/fake_org/api_error.h"
#include "tests/salesforce/fake_org/org.h"

namespace giftsync::tests::fake_org {

struct RowOutcome {
  std::string id;
  bool is_created = false;
  std::vector<RowError> errors;
  bool is_success() const { return errors.empty(); }
};

/// The saves of one block of records, which Salesforce does together.
class SaveBlock {
 public:
  SaveBlock(Org& org, std::string user) : org_(org), user_(std::move(user)) {}

  RowOutcome create(const Object& object, const Json& record);
  RowOutcome update(const Object& object, const std::string& id, const Json& record);
  RowOutcome remove(const std::string& id);

 private:
  std::vector<RowError> read_fields(const Object& object, const Json& record, bool is_new, Values& given);
  std::vector<RowError> check(const Object& object, const Values& now, const Values* before,
                              const Values& given);
  std::vector<RowError> check_unique(const Object& object, const Values& given, const std::string& own_id);
  std::vector<RowError> check_rules(const Object& object, const Values& now, const Values* before);
  std::vector<RowError> check_lock(const Object& object, const Values& given, const std::string& own_id);
  void set_defaults(const Object& object, const std::string& id, Values& now);
  void clear_references(const std::string& id);
  Value stamp() const;

  Org& org_;
  std::string user_;
  std::set<std::string> made_;  ///< in this block: their Ids are not known yet
};

}  // namespace giftsync::tests::fake_org
