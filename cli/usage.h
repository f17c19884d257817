// cli: usage errors: suggests the nearest noun, verb or option for a misspelt one, or lists what is allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace giftsync::cli {

/// The first unknown noun, verb or option, or a missing verb; empty if there is none. Ignores values.
std::optional<std::string> usage_fault(const CLI::App& root, const std::vector<std::string>& args);

/// A parser error as one sentence with a hint to the help.
std::string parse_fault(const CLI::App& root, const CLI::ParseError& error);

}  // namespace giftsync::cli
