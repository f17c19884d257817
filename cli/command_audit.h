// cli: the audit event of a verb that changes something (CON-8): the transaction of its first change inserts
// it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/command_effects.h"
#include "cli/console.h"
#include "daemon/config/settings.h"
#include "schema/store/next_change.h"
#include "schema/store/store.h"

namespace giftsync::cli {

/// "item codes import".
std::string name_of_verb(const CLI::App& verb);

class CommandAudit {
 public:
  /// `verb` was parsed; all must outlive it.
  CommandAudit(const Console& console, const daemon::config::Settings& settings, const CLI::App& verb);

  /// The store is open: from now on a change is the verb's, of a verb whose action names the object from then
  /// on.
  void begin(schema::store::Store& store);
  /// The next change is about this object, whether or not one was inserted before.
  void set_object(const std::string& id, const std::string& detail);
  /// A further event with the outcome of all, unless nothing was changed.
  void add_total(const std::string& detail);

 private:
  schema::store::AuditEvent event() const;

  const Console& console_;
  const daemon::config::Settings& settings_;
  const CommandEffect& effect_;
  std::string object_;
  std::string detail_;
  schema::store::Store* store_ = nullptr;
  std::optional<schema::store::NextChange> next_change_;
};

/// What the next change is about, for verbs whose options do not say it: "gsk_live_x3Kd9aQ", each of several
/// objects, or "" for many. `detail`: instead of the options that the event repeats. Without an audit
/// nothing.
void audit_object(const Console& console, const std::string& id, const std::string& detail = {});
void audit_total(const Console& console, const std::string& detail);

}  // namespace giftsync::cli
