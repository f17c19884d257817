#include "daemon/cli/source_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "daemon/settings/settings_fault.h"
#include "daemon/settings/source_rules.h"

namespace giftsync::daemon {
namespace {

std::set<std::string> source_names(Installation& place) {
  std::set<std::string> names;
  for (const SourceSettings& source : place.settings.sources) names.insert(source.name);
  for (const schema::SourceStanding& row : place.store.sources.standings()) names.insert(row.name);
  return names;
}

std::string known_names(const std::set<std::string>& names) {
  if (names.empty()) return "the settings name none (sources)";
  return fmt::format("known: {}", fmt::join(names, ", "));
}

}  // namespace

std::optional<std::string> unknown_source(Installation& place, const std::string& name) {
  const std::set<std::string> names = source_names(place);
  if (names.contains(name)) return std::nullopt;
  return fmt::format("there is no source {}; {}", in_quotes(name), known_names(names));
}

std::optional<std::string> unknown_change_source(Installation& place, const std::string& name) {
  const auto own = own_source_names();
  if (std::find(own.begin(), own.end(), name) != own.end()) return std::nullopt;
  auto fault = unknown_source(place, name);
  if (fault) *fault += fmt::format("; giftsync's own: {}", fmt::join(own, ", "));
  return fault;
}

}  // namespace giftsync::daemon
