// crm/salesforce: reads the facts of an org: six calls, the versions among them, which cost nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "crm/salesforce/calls/api_client.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/call_governor.h"
#include "crm/salesforce/calls/org_calls.h"
#include "platform/strict_json.h"

namespace giftsync::salesforce {

// What an org tells about itself to the user with whom giftsync signs in: objects and
// fields as this user may read and write them, validation rules, rows that it sees, its locale, calls. Values
// only; what follows from them is in org_findings.h.

struct FieldFacts {
  std::string name = {};
  std::string type = {};  ///< as describe has it: "string", "double", "reference"
  int length = 0;         ///< characters of texts
  int precision = 0;      ///< digits of numbers
  int scale = 0;          ///< those behind the point
  bool is_createable = false;
  bool is_updateable = false;
  bool is_unique = false;
  bool is_external_id = false;
  bool is_filterable = false;
  bool is_sortable = false;
  bool is_restricted = false;             ///< a picklist that takes no other word
  std::vector<std::string> words = {};    ///< of a picklist, the active ones
  std::vector<std::string> targets = {};  ///< objects that a lookup may refer to
  bool is_checked_by_default = false;     ///< of a checkbox

  /// A field of a lookup or formula may be read only.
  bool is_writable() const { return is_createable && is_updateable; }
};

struct ObjectFacts {
  std::string name = {};
  bool is_createable = false;
  bool is_updateable = false;
  std::map<std::string, FieldFacts> fields = {};  ///< by name in lower case; only those that the user sees
  std::string key_prefix = {};                    ///< with which the Ids of its records begin: "a0B"

  /// Null when the object has no such field or the user does not see it; also for an empty name.
  const FieldFacts* find(std::string_view name) const;
};

struct RuleFacts {
  std::string object = {};
  std::string name = {};
  bool is_active = false;
  std::string message = {};
};

/// The user with whom giftsync signs in.
struct UserFacts {
  std::string id = {};
  std::string username = {};
  std::string locale = {};  ///< "en_US"; texts are compared by it
  std::string language = {};
};

struct CallFacts {
  std::int64_t limit = 0;  ///< in 24 hours
  std::int64_t remaining = 0;
};

/// A nullopt is what the user may not read.
struct OrgFacts {
  std::vector<std::string> versions = {};  ///< of the API: "62.0", ascending
  std::string organization_id = {};
  std::string organization_name = {};
  std::string edition = {};
  bool is_sandbox = false;
  UserFacts user = {};
  std::vector<std::string> object_names = {};          ///< all that the user sees
  std::map<std::string, ObjectFacts> objects = {};     ///< by the name that settings use: "gift_record"
  std::optional<std::set<std::string>> view_all = {};  ///< names of objects whose every row the user sees
  std::optional<std::vector<RuleFacts>> rules = {};    ///< of the gift record and the request record
  std::optional<CallFacts> calls = {};

  /// `object` as in the settings. Null when the user does not see it.
  const ObjectFacts* find(std::string_view object) const;
};

struct DescriptionRequest {
  const ApiNames& names;
  std::string api_version;  ///< "62.0"
  std::string user_id;      ///< of the session
};

/// Throws giftsync::DependencyError in words for an admin where the org does not answer or refuses what every
/// user of the API may read. With a version that the org does not have only `versions` is filled.
OrgFacts describe_org(ApiClient& client, const DescriptionRequest& request);

/// For the Tooling API: the validation rules of the gift record and the request record. Pure.
std::string rules_statement(const ApiNames& names);
/// The rules in its answer; nullopt for one of another form. Pure.
std::optional<std::vector<RuleFacts>> rule_facts(const JsonValue& json);

/// The answer of describe. Pure.
ObjectFacts object_facts(const JsonValue& json);
/// A field of describe. Pure.
FieldFacts field_facts(const JsonValue& json);

// The fields of one object, as the integration user sees them. Any thread.

/// In the org's order; one call. Nullopt when the org has no such object or the user may not read it. Throws
/// giftsync::DependencyError.
std::optional<std::vector<FieldFacts>> describe_fields(OrgCalls& calls, const std::string& object,
                                                       CallPurpose purpose);

/// Null when there is none of that name, which is compared without case.
const FieldFacts* find_field(const std::vector<FieldFacts>& fields, std::string_view name);

}  // namespace giftsync::salesforce
