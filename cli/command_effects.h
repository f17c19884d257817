// cli: which verbs change something, and what their audit events say (CON-8).
#pragma once

#include <span>
#include <string_view>

namespace giftsync::cli {

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

}  // namespace giftsync::cli
