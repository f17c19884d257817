// daemon/sources: what the settings of a source amount to, ready for work: pointers parsed, words looked up,
// presets spelt out.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/settings/settings.h"
#include "daemon/sources/json_pointer.h"
#include "daemon/sources/raw_report.h"
#include "schema/words.h"

namespace giftsync::daemon {

struct SourcePlan {
  SourceSettings settings;
  std::string origin;  ///< of the transactions it reports on: empty for ours, else its own name
  std::optional<JsonPointer> items;
  std::vector<std::pair<ReportField, JsonPointer>> pointers;
  /// Nullopt: the word is ignored.
  std::map<std::string, std::optional<schema::Status>, std::less<>> words;
  std::set<schema::Status> may_set;
  std::string installation;  ///< of our Message-IDs, for presets
};

/// `settings` have been checked. `installation` tells our mails from others'.
SourcePlan make_source_plan(const SourceSettings& settings, const std::string& installation);

}  // namespace giftsync::daemon
