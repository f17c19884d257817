// cli: the question before a command that cannot be undone (OPS-28): asked on a terminal, answered by --yes
// elsewhere.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <optional>
#include <string>

#include "cli/console.h"

namespace giftsync::cli {

enum class Confirmation {
  given,
  declined,
  not_possible,  ///< no terminal to ask on, and no --yes
};

/// Asks "QUESTION [y/N] " on `err` and reads one line from `in`: y or yes, in any case, confirms. Asks
/// nothing with `yes` or without a terminal.
Confirmation confirmation_of(const std::string& question, bool yes, bool is_terminal, std::istream& in,
                             std::ostream& err);

/// Adds the flag --yes.
void add_yes_flag(CLI::App& verb, bool& yes);

/// Nothing if the command may go on; else its exit code (64), after a message. `question` says what the
/// command will do: "Cancel gift 3?".
std::optional<int> refuse_unconfirmed(const Console& console, bool yes, const std::string& question);

}  // namespace giftsync::cli
