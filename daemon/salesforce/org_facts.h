// daemon/salesforce: what an org tells about itself to the user with whom giftsync signs in: objects and
// fields as this user may read and write them, validation rules, rows that it sees, its locale, calls. Values
// only; what follows from them is in org_findings.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace giftsync::daemon::salesforce {

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

/// Of the user with whom giftsync signs in.
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

}  // namespace giftsync::daemon::salesforce
