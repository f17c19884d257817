// daemon/salesforce: reads the facts of an org: six calls, the versions among them, which cost nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/salesforce/api_client.h"
#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/org_facts.h"
#include "platform/strict_json.h"

namespace giftsync::daemon::salesforce {

struct DescriptionRequest {
  const ApiNames& names;
  std::string api_version;  ///< "62.0"
  std::string user_id;      ///< of the session
};

/// Throws platform::DependencyError in words for an admin where the org does not answer or refuses what every
/// user of the API may read. With a version that the org does not have only `versions` is filled.
OrgFacts describe_org(ApiClient& client, const DescriptionRequest& request);

/// For the Tooling API: the validation rules of the gift record and the request record. Pure.
std::string rules_statement(const ApiNames& names);
/// Of its answer; nullopt for one of another form. Pure.
std::optional<std::vector<RuleFacts>> rule_facts(const platform::JsonValue& json);

/// The answer of describe. Pure.
ObjectFacts object_facts(const platform::JsonValue& json);
/// A field of describe. Pure.
FieldFacts field_facts(const platform::JsonValue& json);

}  // namespace giftsync::daemon::salesforce
