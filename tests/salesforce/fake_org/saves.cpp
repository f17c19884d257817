#include "tests/salesforce/fake_org/saves.h"

#include <utility>

#include "platform/text.h"
#include "tests/salesforce/fake_org/field_input.h"
#include "tests/salesforce/fake_org/formula.h"
#include "tests/salesforce/fake_org/record_ids.h"

namespace giftsync::tests::fake_org {
namespace {

RowOutcome refused(std::vector<RowError> errors) {
  return {{}, false, std::move(errors)};
}

bool is_blank(const Values& values, const std::string& field) {
  const auto found = values.find(field);
  return found == values.end() || std::holds_alternative<std::monostate>(found->second);
}

std::string text_in(const Values& values, const std::string& field) {
  const auto found = values.find(field);
  const auto* text = found == values.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

/// What Salesforce derives from other fields of standard objects.
void derive(const Object& object, Values& now) {
  if (object.find("LastName") != nullptr) {
    const std::string name = std::string(trimmed(text_in(now, "FirstName") + " " + text_in(now, "LastName")));
    if (!name.empty()) now["Name"] = name;
  }
  if (object.name == "Opportunity" && !is_blank(now, "StageName")) {
    const std::string stage = text_in(now, "StageName");
    now["IsClosed"] = stage.starts_with("Closed");
    now["IsWon"] = stage == "Closed Won";
  }
}

std::vector<RowError> check_required(const Object& object, const Values& now) {
  std::vector<std::string> missing;
  for (const Field& field : object.fields) {
    if (field.is_required && is_blank(now, field.name)) missing.push_back(field.name);
  }
  if (missing.empty()) return {};
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  return {{"REQUIRED_FIELD_MISSING", "Required fields are missing: [" + names + "]", missing}};
}

/// A task of a lead has no Related To.
std::vector<RowError> check_task(const Object& object, const Values& now) {
  if (object.name != "Task" || !text_in(now, "WhoId").starts_with("00Q") || is_blank(now, "WhatId"))
    return {};
  return {{"FIELD_INTEGRITY_EXCEPTION",
           "You can't relate this record to both a lead and another record.",
           {"WhatId"}}};
}

}  // namespace

Value SaveBlock::stamp() const {
  return to_rfc3339({org_.now().value / 1000 * 1000});
}

std::vector<RowError> SaveBlock::read_fields(const Object& object, const Json& record, bool is_new,
                                             Values& given) {
  std::vector<RowError> errors;
  for (const auto& [name, value] : record.items()) {
    if (name == "attributes" || (!is_new && equal_names(name, "Id"))) continue;
    const Field* field = object.find(name);
    const FieldAccess access = field == nullptr ? FieldAccess{} : org_.access(user_, object, *field);
    if (field == nullptr || !access.is_readable)
      return {{"INVALID_FIELD", "No such column '" + name + "' on sobject of type " + object.name}};
    if (!(is_new ? field->is_createable : field->is_updateable) || !access.is_editable)
      return {{"INVALID_FIELD_FOR_INSERT_UPDATE",
               "Unable to create/update fields: " + field->name +
                   ". Please check the security settings of this field and verify that it is read/write for "
                   "your profile or permission set.",
               {field->name}}};
    std::variant<Value, RowError> input = field_input(org_, *field, value);
    if (auto* error = std::get_if<RowError>(&input))
      errors.push_back(std::move(*error));
    else
      given[field->name] = std::get<Value>(std::move(input));
  }
  return errors;
}

/// Locks are taken on the record and on the records that it refers to.
std::vector<RowError> SaveBlock::check_lock(const Object& object, const Values& given,
                                            const std::string& own_id) {
  std::vector<std::string> ids{own_id};
  for (const auto& [name, value] : given) {
    if (object.find(name)->kind == Kind::reference && !is_blank(given, name))
      ids.push_back(std::get<std::string>(value));
  }
  const std::optional<std::string> locked = org_.faults().take_lock(ids);
  if (!locked) return {};
  return {
      {"UNABLE_TO_LOCK_ROW", "unable to obtain exclusive access to this record or 1 records: " + *locked}};
}

std::vector<RowError> SaveBlock::check_rules(const Object& object, const Values& now, const Values* before) {
  std::vector<ValidationRule> rules;
  for (const Fault& fault : org_.faults().take_for_object("rule", object.name))
    rules.push_back({"of_the_org", fault.text("formula"), fault.text("message")});
  for (const ValidationRule& rule : object.rules) {
    if (org_.is_active(object, rule)) rules.push_back(rule);
  }
  std::vector<RowError> errors;
  for (const ValidationRule& rule : rules) {
    if (is_true(org_.formula(object, rule.formula), {now, before}))
      errors.push_back({"FIELD_CUSTOM_VALIDATION_EXCEPTION", rule.message});
  }
  return errors;
}

std::vector<RowError> SaveBlock::check_unique(const Object& object, const Values& given,
                                              const std::string& own_id) {
  for (const auto& [name, value] : given) {
    const Field& field = *object.find(name);
    if (!field.is_unique || std::holds_alternative<std::monostate>(value)) continue;
    for (const std::string& id : org_.ids_with(object, field, value)) {
      if (id == own_id) continue;
      const bool is_ours = made_.contains(id);
      return {{"DUPLICATE_VALUE",
               "duplicate value found: " + (is_ours ? "<unknown>" : field.name) +
                   " duplicates value on record with id: " + (is_ours ? "<unknown>" : id.substr(0, 15))}};
    }
    if (org_.is_in_recycle_bin(object, field, value))
      return {{"DUPLICATE_VALUE",
               "duplicate value found: <unknown> duplicates value on record with id: <unknown>"}};
  }
  return {};
}

/// One kind of fault hides the next, as in Salesforce.
std::vector<RowError> SaveBlock::check(const Object& object, const Values& now, const Values* before,
                                       const Values& given) {
  const std::string own_id = before == nullptr ? std::string() : text_in(*before, "Id");
  if (auto errors = check_required(object, now); !errors.empty()) return errors;
  if (auto errors = check_task(object, now); !errors.empty()) return errors;
  if (auto errors = check_lock(object, given, own_id); !errors.empty()) return errors;
  std::vector<RowError> errors;
  for (const Fault& fault : org_.faults().take_for_object("row_error", object.name))
    errors.push_back({fault.text("status_code"), fault.text("message")});
  if (!errors.empty()) return errors;
  errors = check_rules(object, now, before);
  return errors.empty() ? check_unique(object, given, own_id) : errors;
}

void SaveBlock::set_defaults(const Object& object, const std::string& id, Values& now) {
  const Value time = stamp();
  for (const Field& field : object.fields) {
    if (field.kind == Kind::checkbox && field.formula.empty() && is_blank(now, field.name))
      now[field.name] = false;
    for (const PicklistWord& word : field.words) {
      if (word.is_default && !now.contains(field.name)) now[field.name] = word.value;
    }
    if (field.is_auto_number) now[field.name] = org_.next_number(object);
  }
  if (object.name == "Task" && !now.contains("Status")) now["Status"] = "Not Started";
  if (object.find("OwnerId") != nullptr && is_blank(now, "OwnerId")) now["OwnerId"] = user_;
  if (object.is_custom && is_blank(now, "Name")) now["Name"] = id;
  for (const char* name : {"CreatedDate", "LastModifiedDate", "SystemModstamp"}) now[name] = time;
  for (const char* name : {"CreatedById", "LastModifiedById"}) now[name] = user_;
  now["Id"] = id;
}

RowOutcome SaveBlock::create(const Object& object, const Json& record) {
  if (!org_.access(user_, object).can_create)
    return refused(
        {{"CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "entity type cannot be inserted: " + object.label}});
  Values now;
  if (auto errors = read_fields(object, record, true, now); !errors.empty())
    return refused(std::move(errors));
  const Values given = now;
  const std::string id = org_.new_id(object);
  set_defaults(object, id, now);
  derive(object, now);
  if (auto errors = check(object, now, nullptr, given); !errors.empty()) return refused(std::move(errors));
  org_.insert(object, id, now);
  made_.insert(id);
  return {id, true, {}};
}

RowOutcome SaveBlock::update(const Object& object, const std::string& id, const Json& record) {
  if (!org_.access(user_, object).can_edit)
    return refused({{"INSUFFICIENT_ACCESS_OR_READONLY", "insufficient access rights on object id"}});
  Values given;
  if (auto errors = read_fields(object, record, false, given); !errors.empty())
    return refused(std::move(errors));
  const std::optional<StoredRecord> stored = org_.find(object, id);
  if (!stored) return refused({{"INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id"}});
  if (stored->is_deleted) return refused({{"ENTITY_IS_DELETED", "entity is deleted"}});
  if (object.name == "Lead" && stored->values.at("IsConverted") == Value(true))
    return refused({{"CANNOT_UPDATE_CONVERTED_LEAD", "cannot reference converted lead"}});
  Values now = stored->values;
  for (const auto& [name, value] : given) now[name] = value;
  now["LastModifiedDate"] = now["SystemModstamp"] = stamp();
  now["LastModifiedById"] = user_;
  derive(object, now);
  if (auto errors = check(object, now, &stored->values, given); !errors.empty())
    return refused(std::move(errors));
  org_.update(object, stored->id, now);
  return {stored->id, false, {}};
}

/// Lookups of custom fields are cleared with their target; its own fields keep what they had.
void SaveBlock::clear_references(const std::string& id) {
  for (const Object& object : org_.schema().objects) {
    for (const Field& field : object.fields) {
      if (field.kind == Kind::reference && field.is_custom)
        org_.database().run(
            "UPDATE " + object.table + " SET " + field.column + " = NULL WHERE " + field.column + " = ?",
            {id});
    }
  }
}

RowOutcome SaveBlock::remove(const std::string& given) {
  const std::string id = to_long_id(given);
  const Object* object = org_.schema().find_by_prefix(id);
  const bool is_valid = is_record_id(id) && to_long_id(id.substr(0, 15)) == id;
  if (!is_valid || object == nullptr) return refused({{"MALFORMED_ID", "malformed id " + given}});
  if (!org_.access(user_, *object).can_delete)
    return refused({{"INSUFFICIENT_ACCESS_OR_READONLY", "insufficient access rights on object id"}});
  const std::optional<StoredRecord> stored = org_.find(*object, id);
  if (!stored) return refused({{"INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id"}});
  if (stored->is_deleted) return refused({{"ENTITY_IS_DELETED", "entity is deleted"}});
  if (auto errors = check_lock(*object, {}, stored->id); !errors.empty()) return refused(std::move(errors));
  org_.update(*object, stored->id,
              {{"IsDeleted", true},
               {"LastModifiedDate", stamp()},
               {"SystemModstamp", stamp()},
               {"LastModifiedById", user_}});
  clear_references(stored->id);
  return {stored->id, false, {}};
}

}  // namespace giftsync::tests::fake_org
