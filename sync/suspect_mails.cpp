#include "sync/suspect_mails.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace giftsync::sync {
namespace {

std::string_view domain_of(std::string_view address) {
  const std::size_t at = address.rfind('@');
  return at == std::string_view::npos ? address : address.substr(at + 1);
}

}  // namespace

bool is_relays_fault(std::span<const std::string> recipients) {
  const std::set<std::string_view> different(recipients.begin(), recipients.end());
  return different.size() >= kMinSuspectRecipients;
}

std::size_t most_telling(std::span<const std::string> waiting, std::span<const std::string> suspects) {
  const auto first_without = [&](auto&& part_of) {
    const auto found = std::find_if(waiting.begin(), waiting.end(), [&](const std::string& address) {
      return std::none_of(suspects.begin(), suspects.end(), [&](const std::string& suspect) {
        return part_of(std::string_view(suspect)) == part_of(std::string_view(address));
      });
    });
    return static_cast<std::size_t>(found - waiting.begin());
  };
  const std::size_t other_domain = first_without(domain_of);
  if (other_domain < waiting.size()) return other_domain;
  const std::size_t other_address = first_without([](std::string_view address) { return address; });
  return other_address < waiting.size() ? other_address : 0;
}

std::vector<std::string> recipients_of(std::span<const SuspectMail> suspects) {
  std::vector<std::string> recipients;
  for (const SuspectMail& suspect : suspects) recipients.push_back(suspect.recipient);
  return recipients;
}

}  // namespace giftsync::sync
