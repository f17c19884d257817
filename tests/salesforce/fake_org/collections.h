// sObject Collections and single records: what the REST API's addresses for saves do.
#pragma once

#include <string>

#include "tests/salesforce/fake_org/api_error.h"
#include "tests/salesforce/fake_org/org.h"

namespace giftsync::tests::fake_org {

inline constexpr std::size_t kCollectionRows = 200;

/// The answers of POST and PATCH /composite/sobjects; each row's in the order given.
Json create_records(Org& org, const std::string& user, const Json& body);
Json update_records(Org& org, const std::string& user, const Json& body);
/// PATCH /composite/sobjects/Object/Field.
Json upsert_records(Org& org, const std::string& user, const std::string& object, const std::string& field,
                    const Json& body);
/// DELETE /composite/sobjects?ids=a,b&allOrNone=false.
Json delete_records(Org& org, const std::string& user, const std::string& ids, bool all_or_none);

struct SingleAnswer {
  int status = 200;
  Json body;  ///< null: no body
};
/// POST /sobjects/Object.
SingleAnswer create_record(Org& org, const std::string& user, const Object& object, const Json& body);
/// PATCH /sobjects/Object/Id.
SingleAnswer update_record(Org& org, const std::string& user, const Object& object, const std::string& id,
                           const Json& body);
/// PATCH /sobjects/Object/Field/Value.
SingleAnswer upsert_record(Org& org, const std::string& user, const Object& object, const std::string& field,
                           const std::string& value, const Json& body, const std::string& version);
SingleAnswer delete_record(Org& org, const std::string& user, const std::string& id);

/// Throws ApiError NOT_FOUND unless records can be found by the field.
const Field& key_field(const Object& object, const std::string& name);
/// The Ids of the records with the key. Throws ApiError for a key that is no value of the field.
std::vector<std::string> ids_with_key(Org& org, const Object& object, const Field& field, const Json& value);

}  // namespace giftsync::tests::fake_org
