// daemon/config: a suggestion for a misspelt word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace giftsync::daemon::config {

/// The known word with the fewest single-letter changes (insert, delete, replace, swap of neighbours) from
/// `word`, the first of equals; empty when even that one differs in more than a third of its letters (two in
/// a short one).
std::string suggestion_for(std::string_view word, const std::vector<std::string>& known);

}  // namespace giftsync::daemon::config
