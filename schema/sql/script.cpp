#include <algorithm>
#include <string>

#include "schema/sql/database.h"

namespace giftsync::sql {
namespace {

/// The script's lines for this back end, without comments (SOCI would treat ":name" in one as a parameter).
std::string lines_of_dialect(Dialect dialect, std::string_view script) {
  const std::string_view marker = dialect == Dialect::sqlite ? "--@sqlite" : "--@postgresql";
  std::string selected;
  bool skipping = false;
  while (!script.empty()) {
    const std::size_t end = script.find('\n');
    const std::string_view line = script.substr(0, end);
    script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
    if (line.starts_with("--@")) {
      skipping = line != "--@end" && line != marker;
    } else if (!skipping) {
      selected.append(line.substr(0, line.find("--"))).append("\n");
    }
  }
  return selected;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

std::vector<std::string> statements_of(Dialect dialect, std::string_view script) {
  std::string text = lines_of_dialect(dialect, script);
  replace_all(text, "@key@", dialect == Dialect::sqlite ? "INTEGER PRIMARY KEY" : "BIGINT PRIMARY KEY");
  replace_all(text, "@id@", dialect == Dialect::sqlite ? "TEXT" : "TEXT COLLATE \"C\"");
  std::vector<std::string> statements;
  for (std::size_t at = 0, end = 0; (end = text.find(";;\n", at)) != std::string::npos; at = end + 3) {
    at = std::min(text.find_first_not_of('\n', at), end);
    statements.push_back(text.substr(at, end - at));
  }
  return statements;
}

void run_script(soci::session& session, std::string_view script) {
  for (const std::string& statement : statements_of(session, script)) session << statement;
}

}  // namespace giftsync::sql
