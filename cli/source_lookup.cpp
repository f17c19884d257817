#include "cli/source_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "daemon/config/source_checks.h"
#include "platform/quoted_text.h"

namespace giftsync::cli {
namespace {

std::set<std::string> source_names(CliContext& ctx) {
  std::set<std::string> names;
  for (const daemon::config::SourceSettings& source : ctx.settings.sources) names.insert(source.name);
  for (const schema::store::SourceSummary& row : ctx.store.sources.list()) names.insert(row.name);
  return names;
}

std::string known_names(const std::set<std::string>& names) {
  if (names.empty()) return "the settings name none (sources)";
  return fmt::format("known: {}", fmt::join(names, ", "));
}

}  // namespace

std::optional<std::string> source_fault(CliContext& ctx, const std::string& name) {
  const std::set<std::string> names = source_names(ctx);
  if (names.contains(name)) return std::nullopt;
  return fmt::format("there is no source {}; {}", platform::in_quotes(name), known_names(names));
}

std::optional<std::string> change_source_fault(CliContext& ctx, const std::string& name) {
  const auto own = daemon::config::reserved_source_names();
  if (std::find(own.begin(), own.end(), name) != own.end()) return std::nullopt;
  auto fault = source_fault(ctx, name);
  if (fault) *fault += fmt::format("; reserved names of giftsync: {}", fmt::join(own, ", "));
  return fault;
}

}  // namespace giftsync::cli
