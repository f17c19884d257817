// daemon/signin: the findings of a connection check.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace giftsync::daemon::signin {

struct CheckResult {
  enum class Kind {
    ok,
    warning,
    failure,     ///< sign-in does not work
    unreachable  ///< the same, and a retry may help
  };
  Kind kind = Kind::ok;
  std::string text;  ///< a sentence
};

class CheckReport {
 public:
  void add_ok(std::string text) { results_.push_back({CheckResult::Kind::ok, std::move(text)}); }
  void add_warning(std::string text) { results_.push_back({CheckResult::Kind::warning, std::move(text)}); }
  void add_failure(std::string text) { results_.push_back({CheckResult::Kind::failure, std::move(text)}); }
  void add_unreachable(std::string text) {
    results_.push_back({CheckResult::Kind::unreachable, std::move(text)});
  }
  bool has(CheckResult::Kind kind) const {
    return std::any_of(results_.begin(), results_.end(),
                       [kind](const CheckResult& one) { return one.kind == kind; });
  }
  const std::vector<CheckResult>& all() const { return results_; }

 private:
  std::vector<CheckResult> results_;
};

}  // namespace giftsync::daemon::signin
