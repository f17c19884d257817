// daemon/sso: what a check of a connection found, in words.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace giftsync::daemon {

struct Finding {
  enum class Kind {
    good,
    warning,
    fault,       ///< nobody can sign in this way
    unreachable  ///< the same, and trying again may help
  };
  Kind kind = Kind::good;
  std::string text;  ///< a sentence
};

class Findings {
 public:
  void good(std::string text) { all_.push_back({Finding::Kind::good, std::move(text)}); }
  void warn(std::string text) { all_.push_back({Finding::Kind::warning, std::move(text)}); }
  void fault(std::string text) { all_.push_back({Finding::Kind::fault, std::move(text)}); }
  void unreachable(std::string text) { all_.push_back({Finding::Kind::unreachable, std::move(text)}); }
  bool has(Finding::Kind kind) const {
    return std::any_of(all_.begin(), all_.end(), [kind](const Finding& one) { return one.kind == kind; });
  }
  const std::vector<Finding>& all() const { return all_; }

 private:
  std::vector<Finding> all_;
};

}  // namespace giftsync::daemon
