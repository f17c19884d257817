#include "sync/gift/test_gifts.h"

#include <algorithm>

#include "platform/json.h"
#include "schema/contact_normalization.h"
#include "schema/enums.h"

namespace giftsync::sync {
namespace {

using Outcome = TestOutcome;

constexpr auto kOutcomes = enum_words<Outcome>({{Outcome::delivered, "delivered"},
                                                {Outcome::undelivered, "undelivered"},
                                                {Outcome::opened, "opened"},
                                                {Outcome::redeemed, "redeemed"},
                                                {Outcome::donated, "donated"},
                                                {Outcome::expired, "expired"},
                                                {Outcome::refunded, "refunded"},
                                                {Outcome::complained, "complained"},
                                                {Outcome::opted_out, "opted-out"},
                                                {Outcome::do_not_send, "do-not-send"},
                                                {Outcome::held, "held"}});

std::vector<Status> steps_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::undelivered:
      return {Status::undelivered};
    case Outcome::opened:
    case Outcome::opted_out:
      return {Status::delivered, Status::opened};
    case Outcome::redeemed:
      return {Status::delivered, Status::opened, Status::redeemed};
    case Outcome::donated:
      return {Status::delivered, Status::opened, Status::donated};
    case Outcome::expired:
      return {Status::delivered, Status::expired};
    case Outcome::refunded:
      return {Status::delivered, Status::expired, Status::refunded};
    case Outcome::delivered:
    case Outcome::complained:
    case Outcome::do_not_send:
    case Outcome::held:
      break;
  }
  return {Status::delivered};
}

std::vector<Status> steps_of(const store::Gift& gift) {
  if (const auto outcome = test_outcome_of(gift.transaction.email)) return steps_of(*outcome);
  // The caller mails the URLs: nothing says that they arrive.
  return gift.request.mode == SendMode::email ? std::vector{Status::delivered} : std::vector<Status>();
}

struct ValueAsJson {
  nlohmann::ordered_json operator()(std::monostate) const { return nullptr; }
  nlohmann::ordered_json operator()(const std::string& text) const { return text; }
  nlohmann::ordered_json operator()(std::int64_t number) const { return number; }
  nlohmann::ordered_json operator()(Money amount) const { return to_decimal(amount); }
  nlohmann::ordered_json operator()(UtcMillis time) const { return to_rfc3339(time); }
  nlohmann::ordered_json operator()(bool checked) const { return checked; }
};

}  // namespace

std::string test_outcome_words() {
  std::string words;
  for (int i = 0; i <= static_cast<int>(Outcome::held); ++i)
    words.append(words.empty() ? "" : ", ").append(kOutcomes.word_of(static_cast<Outcome>(i)));
  return words;
}

bool is_test_address(std::string_view email) {
  const std::string key = email_key(email);
  const std::size_t at = key.rfind('@');
  return at != std::string::npos && std::string_view(key).substr(at + 1) == kTestDomain;
}

std::optional<TestOutcome> test_outcome_of(std::string_view email) {
  if (!is_test_address(email)) return std::nullopt;
  const std::string key = email_key(email);
  return kOutcomes.parse(std::string_view(key).substr(0, std::min(key.find('+'), key.rfind('@'))));
}

std::optional<DueOutcome> next_test_step(const store::Gift& gift, const FoldedStatus& state) {
  // A cancellation, or an acceptance on the gift's page, ends them.
  if (state.times[Status::redeemed] || state.times[Status::donated] || state.times[Status::refunded])
    return std::nullopt;
  std::int64_t seconds = 0;
  for (const Status step : steps_of(gift)) {
    ++seconds;
    if (!state.times[step])
      return DueOutcome{step, step == Status::refunded ? Premise::expired : Premise::none,
                        *state.times[Status::sent] + seconds * kSecondMillis};
  }
  return std::nullopt;
}

std::string test_record_json(const GiftRecord& record, const std::vector<std::string>& warnings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    json[std::string(descriptor_of(field).name)] = std::visit(ValueAsJson{}, record.get(field));
  }
  json["warnings"] = warnings;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::int64_t purge_test_gifts(store::TestGifts& test_gifts, UtcMillis before,
                              const std::function<bool()>& may_continue) {
  std::int64_t deleted = 0;
  while (may_continue()) {
    const std::int64_t some = test_gifts.purge(before);
    if (some == 0) break;
    deleted += some;
  }
  return deleted;
}

}  // namespace giftsync::sync
