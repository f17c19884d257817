// cli: the audit event of a verb that changes something (CON-8): the transaction of its first change inserts
// it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "cli/command_tree.h"
#include "cli/console.h"
#include "daemon/config/settings.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/store.h"

namespace giftsync::cli {

// Which verbs change something, and what their audit events say (CON-8).

enum class Effect {
  reading,
  changing,  ///< the next change inserts the event of the row
  own,       ///< the verb's action makes its events itself
  outside,   ///< it changes nothing that giftsync keeps
};

/// One verb. Secrets and the texts of gifts are in no option that `detail` names.
struct CommandEffect {
  std::string_view verb;  ///< "item codes import"; its event's action is "item.codes.import"
  Effect effect;
  std::string_view kind{};    ///< of the event's object
  std::string_view id{};      ///< the option with the object's name; empty: its action names it
  std::string_view detail{};  ///< the options that the event repeats: "--plan --none"
};

/// Every verb, in the order of the help.
std::span<const CommandEffect> command_effects();

/// Null for an unknown verb.
const CommandEffect* find_effect(std::string_view verb);

/// "item codes import".
std::string name_of_verb(const Command& verb);

class CommandAudit {
 public:
  /// `verb` was parsed; all must outlive it.
  CommandAudit(const Console& console, const config::Settings& settings, const Command& verb);

  /// The store is open: from now on a change is the verb's, of a verb whose action names the object from then
  /// on.
  void begin(store::Store& store);
  /// The next change is about this object, whether or not one was inserted before.
  void set_object(const std::string& id, const std::string& detail);
  /// A further event with the outcome of all, unless nothing was changed.
  void add_total(const std::string& detail);

 private:
  store::AuditEvent event() const;

  const Console& console_;
  const config::Settings& settings_;
  const CommandEffect& effect_;
  std::string object_;
  std::string detail_;
  store::Store* store_ = nullptr;
  std::optional<store::NextChange> next_change_;
};

/// What the next change is about, for verbs whose options do not say it: "gsk_live_x3Kd9aQ", each of several
/// objects, or "" for many. `detail`: instead of the options that the event repeats. Without an audit
/// nothing.
void audit_object(const Console& console, const std::string& id, const std::string& detail = {});
void audit_total(const Console& console, const std::string& detail);

// What commands share that add to the audit log: the event, and finding a user of the console.

/// An event of the operating system's user (os_user.h), done now, about a user of the console; `user` without
/// values: about none.
store::AuditEvent command_event(const Console& console, const std::string& action,
                                const store::ConsoleUser& user, const std::string& detail = {});

/// The same about a gift, of the organization of its sender's account.
store::AuditEvent gift_command_event(const Console& console, store::Store& store, const std::string& action,
                                     TransactionId gift);

/// The user with that address. Otherwise prints the message and returns the exit code (65).
tl::expected<store::ConsoleUser, int> find_user(const Console& console, store::Store& store,
                                                const std::string& email);

}  // namespace giftsync::cli
