#include "schema/words.h"

#include <cstdlib>
#include <utility>

namespace giftsync::schema {
namespace {

template <class Word>
using Spelling = std::pair<Word, std::string_view>;

constexpr Spelling<Status> kStatuses[] = {
    {Status::sent, "sent"},       {Status::delivered, "delivered"}, {Status::undelivered, "undelivered"},
    {Status::opened, "opened"},   {Status::redeemed, "redeemed"},   {Status::donated, "donated"},
    {Status::expired, "expired"}, {Status::refunded, "refunded"}};
constexpr Spelling<Premise> kPremises[] = {{Premise::none, ""},
                                           {Premise::unopened, "unopened"},
                                           {Premise::unclaimed, "unclaimed"},
                                           {Premise::expired, "expired"},
                                           {Premise::undelivered, "undelivered"}};
constexpr Spelling<SendMode> kSendModes[] = {
    {SendMode::email, "email"}, {SendMode::urls, "urls"}, {SendMode::external, "external"}};
constexpr Spelling<Plan> kPlans[] = {{Plan::individual, "individual"},
                                     {Plan::team, "team"},
                                     {Plan::enterprise, "enterprise"},
                                     {Plan::enterprise_plus, "enterprise_plus"}};
constexpr Spelling<Scope> kScopes[] = {
    {Scope::send, "send"}, {Scope::read, "read"}, {Scope::request, "request"}, {Scope::approve, "approve"}};
constexpr Spelling<DeliveryState> kDeliveryStates[] = {
    {DeliveryState::queued, "queued"},       {DeliveryState::sending, "sending"},
    {DeliveryState::uncertain, "uncertain"}, {DeliveryState::held, "held"},
    {DeliveryState::accepted, "accepted"},   {DeliveryState::undelivered, "undelivered"},
    {DeliveryState::withdrawn, "withdrawn"}};
constexpr Spelling<MailKind> kMailKinds[] = {{MailKind::gift, "gift"}, {MailKind::reminder, "reminder"}};

template <class Word, std::size_t N>
std::string_view spell(const Spelling<Word> (&table)[N], Word wanted) {
  for (const auto& [word, text] : table) {
    if (word == wanted) return text;
  }
  std::abort();  // a value outside its enumeration: a bug
}

template <class Word, std::size_t N>
std::optional<Word> read(const Spelling<Word> (&table)[N], std::string_view wanted) {
  for (const auto& [word, text] : table) {
    if (text == wanted) return word;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_word(Status status) {
  return spell(kStatuses, status);
}
std::optional<Status> status_from_word(std::string_view word) {
  return read(kStatuses, word);
}

std::string_view to_word(Premise premise) {
  return spell(kPremises, premise);
}
std::optional<Premise> premise_from_word(std::string_view word) {
  return read(kPremises, word);
}

std::string_view to_word(SendMode mode) {
  return spell(kSendModes, mode);
}
std::optional<SendMode> send_mode_from_word(std::string_view word) {
  return read(kSendModes, word);
}

std::string_view to_word(Plan plan) {
  return spell(kPlans, plan);
}
std::optional<Plan> plan_from_word(std::string_view word) {
  return read(kPlans, word);
}

std::string_view to_word(Scope scope) {
  return spell(kScopes, scope);
}
std::optional<Scope> scope_from_word(std::string_view word) {
  return read(kScopes, word);
}

std::string_view to_word(DeliveryState state) {
  return spell(kDeliveryStates, state);
}
std::optional<DeliveryState> delivery_state_from_word(std::string_view word) {
  return read(kDeliveryStates, word);
}

std::string_view to_word(MailKind kind) {
  return spell(kMailKinds, kind);
}
std::optional<MailKind> mail_kind_from_word(std::string_view word) {
  return read(kMailKinds, word);
}

}  // namespace giftsync::schema
