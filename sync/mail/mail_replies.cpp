#include "sync/mail/mail_replies.h"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include "platform/text.h"

namespace giftsync::sync {
namespace {

constexpr std::size_t kCodeWords = 2;  // "554 5.7.1"

bool differs_by_mail(std::string_view word) {
  const std::size_t dot = word.find('.');
  return word.starts_with('<') || word.find_first_of("@0123456789") != std::string_view::npos ||
         (dot != std::string_view::npos && dot + 1 < word.size());  // a host
}

bool is_many(const SharedReply& one, UtcMillis now) {
  if (one.state == DeliveryState::undelivered) return one.mails >= kManyUndelivered;
  return one.mails >= kManyDeferred && has_elapsed(one.since, kLongDeferredMillis, now);
}

}  // namespace

std::string reply_class(std::string_view reply) {
  std::istringstream words{std::string(reply)};
  std::string kept;
  std::size_t count = 0;
  for (std::string word; words >> word;) {
    const bool is_code = ++count <= kCodeWords && word.find_first_not_of("0123456789.-") == std::string::npos;
    if (is_code || !differs_by_mail(word)) kept += word + ' ';
  }
  return kept;
}

bool is_reply_like(std::string_view reply, std::string_view text) {
  return ascii_lower(reply).find(ascii_lower(text)) != std::string::npos ||
         reply_class(reply) == reply_class(text);
}

std::vector<SharedReply> shared_replies(std::span<const store::FailedMail> mails, UtcMillis now) {
  std::map<std::pair<DeliveryState, std::string>, SharedReply> classes;
  for (const store::FailedMail& mail : mails) {
    // A 5xx of a mail that waits is in the pause's reason, or soon decided.
    if (mail.state == DeliveryState::queued && !mail.reply.starts_with('4')) continue;
    const auto [found, is_new] = classes.try_emplace({mail.state, reply_class(mail.reply)},
                                                     SharedReply{mail.state, mail.reply, 0, mail.since});
    ++found->second.mails;
    found->second.since = std::min(found->second.since, mail.since);
  }
  std::vector<SharedReply> many;
  for (auto& [key, one] : classes)
    if (is_many(one, now)) many.push_back(std::move(one));
  std::ranges::stable_sort(many, std::greater{}, &SharedReply::mails);
  return many;
}

}  // namespace giftsync::sync
