// daemon/cli: what is wrong with a command line, in words that help: the nearest noun, verb or option to a
// misspelt one, or the list of what there is.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace giftsync::daemon {

/// The first unknown noun, verb or option, or a noun without its verb; empty when there is none. Values are
/// not looked at.
std::optional<std::string> usage_fault(const CLI::App& root, const std::vector<std::string>& words);

/// A refusal of the parser as one sentence, with where to read on.
std::string parse_fault(const CLI::App& root, const CLI::ParseError& error);

}  // namespace giftsync::daemon
