// cli: the words that may follow on a command line, for the shells' completion. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace giftsync::cli {

/// What may stand in place of the last one of `words`, which may be empty or only begun: nouns and verbs, the
/// options of the verb, or the values that an option allows. Empty where anything may follow, such as a file
/// or an id.
std::vector<std::string> completions(const CLI::App& root, const std::vector<std::string>& words);

}  // namespace giftsync::cli
