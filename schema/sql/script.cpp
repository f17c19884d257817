#include <algorithm>
#include <string>

#include "schema/sql/database.h"

namespace giftsync::sql {
namespace {

/// The script's lines for this back end, without comments (SOCI would treat ":name" in one as a parameter).
std::string lines_of_dialect(Dialect dialect, std::string_view script, ScriptPart part) {
  const bool is_background = part == ScriptPart::background;
  const std::string_view background = "--@background";
  const std::string name = dialect == Dialect::sqlite ? "sqlite" : "postgresql";
  const std::string marker = is_background ? std::string(background) + " " + name : "--@" + name;
  std::string selected;
  bool skipping = is_background;
  while (!script.empty()) {
    const std::size_t end = script.find('\n');
    const std::string_view line = script.substr(0, end);
    script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
    if (line == "--@end") {
      skipping = is_background;
    } else if (line == "--@after_background") {
      continue;  // of the script as a whole (schema/store/store.h), not the beginning of a block
    } else if (line.starts_with("--@")) {
      skipping = line != marker && !(is_background && line == background);
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

std::vector<std::string> statements_of(Dialect dialect, std::string_view script, ScriptPart part) {
  std::string text = lines_of_dialect(dialect, script, part);
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
