#include "sync/access/sending_policy.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "schema/store/gift/erased_address.h"

namespace giftsync::sync {
namespace {

constexpr std::int64_t kRefreshMillis = 500;
/// While a thread refreshes, the others use what was there for so long; both stay below a second.
constexpr std::int64_t kStaleMillis = 300;
/// So soon after the last refresh only the entries of the last ten minutes are read again: what was committed
/// since then is no older. A transaction takes less than one minute (ARCH-19), and a clock may be set back a
/// little.
constexpr std::int64_t kRecentMillis = kMinuteMillis;
constexpr std::int64_t kReadMillis = 10 * kMinuteMillis;
constexpr std::string_view kSubdomains = "*.";

std::uint64_t hash_of(std::string_view pattern) {
  return std::hash<std::string_view>()(pattern);
}

/// The part behind the last @; empty without one.
std::string_view domain_of(std::string_view key) {
  const std::size_t at = key.rfind('@');
  return at == std::string_view::npos ? std::string_view() : key.substr(at + 1);
}

/// Calls visit(pattern) for each pattern that matches a domain, the most special first.
template <class Visit>
void each_domain_pattern(std::string_view domain, const Visit& visit) {
  for (bool is_parent = false; !domain.empty(); is_parent = true) {
    if (is_parent) visit(std::string(kSubdomains) + std::string(domain));
    visit(std::string(domain));
    const std::size_t dot = domain.find('.');
    if (dot == std::string_view::npos) return;
    domain.remove_prefix(dot + 1);
  }
}

/// " on 2026-11-21"; nothing for an erased person, whose entry has the day of the erasure.
std::string on_day(const store::DoNotSendEntry& entry) {
  return entry.pattern_hash.empty() ? " on " + to_rfc3339(entry.added_at).substr(0, 10) : std::string();
}

/// A gift whose recipient was erased has no address any more.
std::optional<SendingFinding> erased_finding(const std::string& email) {
  if (!store::is_erased_address(email)) return std::nullopt;
  return SendingFinding{"do_not_send", "The recipient's data was erased."};
}

bool is_stronger(const store::DoNotSendEntry& a, const store::DoNotSendEntry& b) {
  return a.reason < b.reason;
}

}  // namespace

tl::expected<std::string, std::string> do_not_send_pattern(std::string_view text) {
  constexpr const char* kAllowed =
      "; allowed are an address such as ana@example.com, a domain such as example.com, and *.example.com for "
      "subdomains alone";
  std::string_view rest = trimmed(text);
  if (rest.empty()) return tl::unexpected(std::string("is empty") + kAllowed);
  const std::size_t at = rest.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view local = rest.substr(0, at);
    const std::string domain = normalized_domain(rest.substr(at + 1));
    if (!domain.empty() && (local.empty() || local == "*"))
      return tl::unexpected("is no address; write " + domain + " for the whole domain");
    if (const auto error = email_error(rest)) return tl::unexpected(*error + kAllowed);
    return email_key(rest);
  }
  const bool is_of_subdomains = rest.starts_with(kSubdomains);
  if (is_of_subdomains) rest.remove_prefix(kSubdomains.size());
  if (rest.ends_with('.')) rest.remove_suffix(1);
  const std::string domain = normalized_domain(rest);
  if (domain.empty()) return tl::unexpected(std::string("is neither an address nor a domain") + kAllowed);
  return std::string(is_of_subdomains ? kSubdomains : "") + domain;
}

bool is_top_level_pattern(std::string_view pattern) {
  if (pattern.starts_with(kSubdomains)) pattern.remove_prefix(kSubdomains.size());
  return pattern.find_first_of("@.") == std::string_view::npos;
}

std::vector<std::string> patterns_of(std::string_view email) {
  std::vector<std::string> patterns{email_key(email)};
  const std::string key = patterns.front();
  each_domain_pattern(domain_of(key), [&](std::string pattern) { patterns.push_back(std::move(pattern)); });
  return patterns;
}

std::optional<std::string> do_not_send_comment_error(std::string_view text) {
  constexpr std::size_t kMaxCodePoints = 255;
  if (is_plain_line(text) && count_code_points(text) <= kMaxCodePoints) return std::nullopt;
  return "is no comment; allowed: at most " + std::to_string(kMaxCodePoints) +
         " characters of UTF-8 on one line, without control characters and bidirectional overrides";
}

bool is_wish(DoNotSendReason reason) {
  return reason == DoNotSendReason::opted_out || reason == DoNotSendReason::complained;
}

std::string audited_pattern(std::string_view pattern) {
  const std::size_t at = pattern.rfind('@');
  return at == std::string_view::npos ? std::string(pattern) : "***" + std::string(pattern.substr(at));
}

std::string describe(const store::DoNotSendEntry& entry) {
  const std::string day = on_day(entry);
  const bool is_address = !entry.pattern_hash.empty() || entry.pattern.find('@') != std::string::npos;
  switch (entry.reason) {
    case DoNotSendReason::blocked:
      return is_address ? "No gifts are sent to this address: an admin listed it" + day + "."
                        : "No gifts are sent to " + entry.pattern + ": an admin listed it" + day + ".";
    case DoNotSendReason::opted_out:
      return "The recipient asked" + day + " to get no more gifts.";
    case DoNotSendReason::complained:
      return "The recipient reported a gift as unwanted mail" + day + ".";
    case DoNotSendReason::bounced:
      return "The recipient's mail server said" + day + " that this address does not exist.";
  }
  return {};
}

std::optional<SendingFinding> domain_finding(std::span<const std::string> allowed_domains,
                                             const std::string& email) {
  if (auto finding = erased_finding(email)) return finding;
  if (allowed_domains.empty()) return std::nullopt;
  const std::string key = email_key(email);
  bool is_allowed = false;
  each_domain_pattern(domain_of(key), [&](const std::string& pattern) {
    is_allowed = is_allowed ||
                 std::find(allowed_domains.begin(), allowed_domains.end(), pattern) != allowed_domains.end();
  });
  if (is_allowed) return std::nullopt;
  return SendingFinding{"recipient_not_allowed",
                        "This installation sends only to the domains in sending.allowed_domains."};
}

std::map<std::size_t, store::DoNotSendEntry> find_listed(store::DoNotSend& list,
                                                         std::span<const std::string> emails, UtcMillis now) {
  std::vector<std::vector<std::string>> patterns;
  std::vector<std::string> all;
  for (const std::string& email : emails) {
    patterns.push_back(patterns_of(email));
    all.insert(all.end(), patterns.back().begin(), patterns.back().end());
  }
  const std::map<std::string, store::DoNotSendEntry> entries = list.find(all, now);
  std::map<std::size_t, store::DoNotSendEntry> listed;
  for (std::size_t i = 0; i < patterns.size() && !entries.empty(); ++i) {
    for (const std::string& pattern : patterns[i]) {
      const auto entry = entries.find(pattern);
      if (entry == entries.end()) continue;
      const auto [kept, is_first] = listed.try_emplace(i, entry->second);
      if (!is_first && is_stronger(entry->second, kept->second)) kept->second = entry->second;
    }
  }
  return listed;
}

std::vector<std::optional<SendingFinding>> refused_recipients(store::DoNotSend& list,
                                                              std::span<const std::string> allowed_domains,
                                                              std::span<const std::string> emails,
                                                              UtcMillis now) {
  std::vector<std::optional<SendingFinding>> findings;
  for (const std::string& email : emails) findings.push_back(domain_finding(allowed_domains, email));
  for (const auto& [place, entry] : find_listed(list, emails, now))
    findings[place] = SendingFinding{"do_not_send", describe(entry)};
  return findings;
}

SendingPolicy::SendingPolicy(store::DoNotSend& list, std::vector<std::string> allowed_domains,
                             std::function<UtcMillis()> now)
    : list_(list), allowed_domains_(std::move(allowed_domains)), now_(std::move(now)) {}

std::vector<std::optional<SendingFinding>> SendingPolicy::check(std::span<const std::string> emails) {
  refresh();
  std::vector<std::optional<SendingFinding>> findings(emails.size());
  std::vector<std::size_t> places;
  std::vector<std::string> suspects;
  for (std::size_t i = 0; i < emails.size(); ++i) {
    findings[i] = domain_finding(allowed_domains_, emails[i]);
    if (!may_be_listed(emails[i])) continue;
    places.push_back(i);
    suspects.push_back(emails[i]);
  }
  if (suspects.empty()) return findings;
  for (const auto& [place, entry] : find_listed(list_, suspects, now_()))
    findings[places[place]] = SendingFinding{"do_not_send", describe(entry)};
  return findings;
}

std::optional<SendingFinding> SendingPolicy::check_mail(const std::string& email) {
  if (auto finding = domain_finding(allowed_domains_, email)) return finding;
  refresh();
  if (!may_be_listed(email)) return std::nullopt;
  const auto listed = find_listed(list_, std::span(&email, 1), now_());
  if (listed.empty() || listed.begin()->second.reason == DoNotSendReason::bounced) return std::nullopt;
  return SendingFinding{"do_not_send", describe(listed.begin()->second)};
}

bool SendingPolicy::is_fresh(std::int64_t max_age_millis) const {
  const UtcMillis now = now_();
  const std::shared_lock lock(mutex_);
  // The age must not be negative: after the clock is set back the list would stay as it is.
  return refreshed_at_ && now >= *refreshed_at_ && now < *refreshed_at_ + max_age_millis;
}

void SendingPolicy::refresh() {
  if (is_fresh(kRefreshMillis)) return;
  std::unique_lock refreshing(refresh_mutex_, std::try_to_lock);
  if (!refreshing) {
    if (is_fresh(kRefreshMillis + kStaleMillis)) return;
    refreshing.lock();
    if (is_fresh(kRefreshMillis)) return;
  }
  const UtcMillis now = now_();
  std::string revision = list_.revision();
  std::vector<std::uint64_t> added;
  if (revision != revision_) {
    std::optional<std::int64_t> of_last_millis;
    if (is_fresh(kRecentMillis)) of_last_millis = kReadMillis;
    for (const std::string& pattern : list_.patterns(of_last_millis)) added.push_back(hash_of(pattern));
  }
  std::erase_if(added, [&](std::uint64_t hash) { return std::ranges::binary_search(listed_, hash); });
  std::ranges::sort(added);
  added.erase(std::unique(added.begin(), added.end()), added.end());
  revision_ = std::move(revision);
  const std::unique_lock lock(mutex_);
  const auto before = static_cast<std::ptrdiff_t>(listed_.size());
  listed_.insert(listed_.end(), added.begin(), added.end());
  if (!added.empty()) std::inplace_merge(listed_.begin(), listed_.begin() + before, listed_.end());
  refreshed_at_ = now;
}

bool SendingPolicy::may_be_listed(const std::string& email) const {
  {
    const std::shared_lock lock(mutex_);
    if (listed_.empty()) return false;
  }
  std::vector<std::string> patterns = patterns_of(email);
  if (list_.has_erased_address_key()) patterns.push_back(list_.mark_of(patterns.front()));
  const std::shared_lock lock(mutex_);
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return std::ranges::binary_search(listed_, hash_of(pattern));
  });
}

}  // namespace giftsync::sync
