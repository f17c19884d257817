#include "cli/confirmation.h"

#include <sysexits.h>
#include <unistd.h>

#include <iostream>

#include "platform/text.h"

namespace giftsync::cli {
namespace {

/// True if a person can see the question and answer it.
bool can_ask(const Console& console) {
  return console.err_is_terminal && &console.in == &std::cin && isatty(STDIN_FILENO) == 1;
}

}  // namespace

Confirmation confirmation_of(const std::string& question, bool yes, bool is_terminal, std::istream& in,
                             std::ostream& err) {
  if (yes) return Confirmation::given;
  if (!is_terminal) return Confirmation::not_possible;
  err << question << " [y/N] " << std::flush;
  std::string line;
  std::getline(in, line);
  const std::string answer = platform::ascii_lower(platform::trimmed(line));
  return answer == "y" || answer == "yes" ? Confirmation::given : Confirmation::declined;
}

void add_yes_flag(CLI::App& verb, bool& yes) {
  verb.add_flag("--yes", yes, "Do not ask for confirmation; required without a terminal");
}

std::optional<int> refuse_unconfirmed(const Console& console, bool yes, const std::string& question) {
  switch (confirmation_of(question, yes, can_ask(console), console.in, console.err)) {
    case Confirmation::given:
      return std::nullopt;
    case Confirmation::declined:
      return console.fail(EX_USAGE, "not confirmed; nothing was changed");
    case Confirmation::not_possible:
      break;
  }
  return console.fail(EX_USAGE, question + " This cannot be undone; add --yes to confirm it");
}

}  // namespace giftsync::cli
