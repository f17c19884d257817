#include "tests/salesforce/fake_org/collections.h"

#include <algorithm>
#include <functional>
#include <set>

#include "tests/salesforce/fake_org/field_input.h"
#include "tests/salesforce/fake_org/record_ids.h"
#include "tests/salesforce/fake_org/saves.h"

namespace giftsync::tests::fake_org {
namespace {

Json errors_json(const std::vector<RowError>& errors, const char* code_name) {
  Json list = Json::array();
  for (const RowError& error : errors) {
    if (std::string_view(code_name) == "statusCode")
      list.push_back({{"statusCode", error.code}, {"message", error.message}, {"fields", error.fields}});
    else if (error.code == "INVALID_FIELD" && error.fields.empty())  // refused before any save
      list.push_back({{"message", error.message}, {"errorCode", error.code}});
    else
      list.push_back({{"message", error.message}, {"errorCode", error.code}, {"fields", error.fields}});
  }
  return list;
}

Json row_json(const RowOutcome& outcome, bool tells_created) {
  Json row = Json::object();
  if (!outcome.id.empty()) row["id"] = outcome.id;
  row["success"] = outcome.is_success();
  row["errors"] = errors_json(outcome.errors, "statusCode");
  if (tells_created) row["created"] = outcome.is_created;
  return row;
}

const Json& records_of(const Json& body) {
  if (!body.is_object() || !body.contains("records") || !body["records"].is_array())
    throw ApiError(400, "JSON_PARSER_ERROR", "The request body must have records");
  const Json& records = body["records"];
  if (records.empty()) throw ApiError(400, "REQUIRED_FIELD_MISSING", "At least 1 record is required");
  if (records.size() > kCollectionRows)
    throw ApiError(400, "EXCEEDED_ID_LIMIT",
                   "record limit reached. cannot submit more than 200 records into this call");
  for (const Json& record : records) {
    if (!record.is_object() || !record.contains("attributes") || !record["attributes"].contains("type"))
      throw ApiError(400, "JSON_PARSER_ERROR", "Each record must have attributes with its type");
  }
  return records;
}

/// Null for an object that is not there, or that the user does not see.
const Object* object_of(Org& org, const std::string& user, const Json& record) {
  const Object* object = org.schema().find(record["attributes"]["type"].get<std::string>());
  return object != nullptr && org.access(user, *object).can_read ? object : nullptr;
}

RowOutcome unknown_type(const Json& record) {
  return {{},
          false,
          {{"INVALID_TYPE",
            "sObject type '" + record["attributes"]["type"].get<std::string>() + "' is not supported."}}};
}

/// With allOrNone, a refused row undoes all others.
Json run_block(Org& org, bool all_or_none, std::size_t rows, bool tells_created,
               const std::function<RowOutcome(std::size_t)>& save) {
  Savepoint savepoint(org.database());
  std::vector<RowOutcome> outcomes;
  bool has_refused = false;
  for (std::size_t at = 0; at < rows; ++at) {
    outcomes.push_back(save(at));
    has_refused |= !outcomes.back().is_success();
    if (outcomes.back().is_success() || !org.is_on("refuses_parts")) continue;
    const RowError& error = outcomes.back().errors.front();
    if (error.code == "INVALID_FIELD" || error.code == "INVALID_TYPE")
      throw ApiError(400, error.code, error.message);
  }
  if (all_or_none && has_refused) {
    for (RowOutcome& outcome : outcomes) {
      if (outcome.is_success())
        outcome = {{},
                   outcome.is_created,
                   {{"ALL_OR_NONE_OPERATION_ROLLED_BACK",
                     "Record rolled back because not all records were valid and the request was using "
                     "AllOrNone header"}}};
    }
  } else {
    savepoint.commit();
  }
  Json answer = Json::array();
  for (const RowOutcome& outcome : outcomes) answer.push_back(row_json(outcome, tells_created));
  return answer;
}

Json member(const Json& record, const std::string& name) {
  for (const auto& [key, value] : record.items()) {
    if (equal_names(key, name)) return value;
  }
  return nullptr;
}

RowOutcome upsert_row(Org& org, SaveBlock& block, const Object& object, const Field& field,
                      const Json& record, std::set<std::string>& seen) {
  const Json key = member(record, field.name);
  if (key.is_null()) {
    if (field.kind == Kind::id) {
      Json rest = record;
      rest.erase(field.name);
      return block.create(object, rest);
    }
    return {{}, false, {{"MISSING_ARGUMENT", field.name + " not specified"}}};
  }
  if (!seen.insert(key.dump()).second)
    return {{},
            false,
            {{"DUPLICATE_VALUE",
              "Duplicate external id specified: " + (key.is_string() ? key.get<std::string>() : key.dump()),
              {field.name}}}};
  const std::vector<std::string> ids = ids_with_key(org, object, field, key);
  if (ids.size() > 1)
    return {
        {},
        false,
        {{"DUPLICATE_EXTERNAL_ID",
          field.name + ": more than one record found for external id field: [" + ids[0] + ", " + ids[1] + "]",
          {field.name}}}};
  if (!ids.empty()) return block.update(object, ids[0], record);
  RowOutcome outcome = block.create(object, record);
  outcome.is_created = true;  // also of a refused row: what the upsert was about to do
  return outcome;
}

SingleAnswer single_answer(const RowOutcome& outcome, int success_status) {
  if (!outcome.is_success()) {
    const std::string& code = outcome.errors.front().code;
    const bool is_gone = code == "INVALID_CROSS_REFERENCE_KEY" || code == "ENTITY_IS_DELETED";
    return {is_gone ? 404 : 400, errors_json(outcome.errors, "errorCode")};
  }
  if (success_status == 204) return {204, nullptr};
  return {success_status, Json{{"id", outcome.id}, {"success", true}, {"errors", Json::array()}}};
}

/// A single save is one transaction; nothing of a refused one stays.
RowOutcome save_alone(Org& org, const std::string& user, const std::function<RowOutcome(SaveBlock&)>& save) {
  Savepoint savepoint(org.database());
  SaveBlock block(org, user);
  RowOutcome outcome = save(block);
  if (outcome.is_success()) savepoint.commit();
  return outcome;
}

}  // namespace

const Field& key_field(const Object& object, const std::string& name) {
  const Field* field = object.find(name);
  const bool is_key = field != nullptr && (field->is_external_id || field->kind == Kind::id ||
                                           (!field->is_custom && field->kind == Kind::email));
  if (!is_key)
    throw ApiError(404, "NOT_FOUND",
                   "Provided external ID field does not exist or is not accessible: " + name);
  return *field;
}

std::vector<std::string> ids_with_key(Org& org, const Object& object, const Field& field, const Json& value) {
  if (field.kind == Kind::id) {
    const auto record = org.find(object, value.get<std::string>());
    return record && !record->is_deleted ? std::vector{record->id} : std::vector<std::string>{};
  }
  const std::variant<Value, RowError> key = field_input(org, field, value);
  if (const auto* error = std::get_if<RowError>(&key)) throw ApiError(400, error->code, error->message);
  return org.ids_with(object, field, std::get<Value>(key));
}

Json create_records(Org& org, const std::string& user, const Json& body) {
  const Json& records = records_of(body);
  SaveBlock block(org, user);
  return run_block(org, body.value("allOrNone", false), records.size(), false, [&](std::size_t at) {
    const Object* object = object_of(org, user, records[at]);
    return object == nullptr ? unknown_type(records[at]) : block.create(*object, records[at]);
  });
}

Json update_records(Org& org, const std::string& user, const Json& body) {
  const Json& records = records_of(body);
  SaveBlock block(org, user);
  return run_block(org, body.value("allOrNone", false), records.size(), false, [&](std::size_t at) {
    const Object* object = object_of(org, user, records[at]);
    if (object == nullptr) return unknown_type(records[at]);
    const Json id = member(records[at], "Id");
    if (!id.is_string())
      return RowOutcome{{}, false, {{"MISSING_ARGUMENT", "Id not specified in an update call"}}};
    return block.update(*object, id.get<std::string>(), records[at]);
  });
}

Json upsert_records(Org& org, const std::string& user, const std::string& object_name,
                    const std::string& field_name, const Json& body) {
  const Object* object = org.schema().find(object_name);
  if (object == nullptr || !org.access(user, *object).can_read)
    throw ApiError(404, "NOT_FOUND", "The requested resource does not exist");
  const Field& field = key_field(*object, field_name);
  const Json& records = records_of(body);
  SaveBlock block(org, user);
  std::set<std::string> seen;
  return run_block(org, body.value("allOrNone", false), records.size(), true,
                   [&](std::size_t at) { return upsert_row(org, block, *object, field, records[at], seen); });
}

Json delete_records(Org& org, const std::string& user, const std::string& text, bool all_or_none) {
  std::vector<std::string> ids;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    ids.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (ids.empty()) throw ApiError(400, "REQUIRED_FIELD_MISSING", "At least 1 record is required");
  if (ids.size() > kCollectionRows)
    throw ApiError(400, "EXCEEDED_ID_LIMIT",
                   "record limit reached. cannot submit more than 200 records into this call");
  SaveBlock block(org, user);
  return run_block(org, all_or_none, ids.size(), false,
                   [&](std::size_t at) { return block.remove(ids[at]); });
}

SingleAnswer create_record(Org& org, const std::string& user, const Object& object, const Json& body) {
  return single_answer(save_alone(org, user, [&](SaveBlock& block) { return block.create(object, body); }),
                       201);
}

SingleAnswer update_record(Org& org, const std::string& user, const Object& object, const std::string& id,
                           const Json& body) {
  if (body.contains("Id") || body.contains("id"))
    throw ApiError(400, "INVALID_FIELD", "The Id field should not be specified in the sobject data.");
  return single_answer(
      save_alone(org, user, [&](SaveBlock& block) { return block.update(object, id, body); }), 204);
}

SingleAnswer upsert_record(Org& org, const std::string& user, const Object& object,
                           const std::string& field_name, const std::string& value, const Json& body,
                           const std::string& version) {
  const Field& field = key_field(object, field_name);
  const std::vector<std::string> ids = ids_with_key(org, object, field, value);
  if (ids.size() > 1) {
    Json links = Json::array();
    for (const std::string& id : ids)
      links.push_back("/services/data/" + version + "/sobjects/" + object.name + "/" + id);
    return {300, links};
  }
  if (body.contains(field.name))
    throw ApiError(400, "INVALID_FIELD",
                   "The " + field.name + " field should not be specified in the sobject data.");
  Json record = body;
  if (ids.empty() && field.kind != Kind::id) record[field.name] = value;
  const RowOutcome outcome = save_alone(org, user, [&](SaveBlock& block) {
    return ids.empty() ? block.create(object, record) : block.update(object, ids[0], record);
  });
  SingleAnswer answer = single_answer(outcome, outcome.is_created ? 201 : 200);
  if (outcome.is_success()) answer.body["created"] = outcome.is_created;
  return answer;
}

SingleAnswer delete_record(Org& org, const std::string& user, const std::string& id) {
  return single_answer(save_alone(org, user, [&](SaveBlock& block) { return block.remove(id); }), 204);
}

}  // namespace giftsync::tests::fake_org
