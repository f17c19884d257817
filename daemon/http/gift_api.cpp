#include "daemon/http/gift_api.h"

#include <charconv>

#include "daemon/crypto/digest.h"
#include "daemon/http/gift_request_answers.h"
#include "daemon/http/json_call.h"
#include "daemon/http/problem.h"
#include "schema/broken_world.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kBusyRetrySeconds = 1;

HttpResponse json_answer(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  response.body = std::move(body);
  return response;
}

std::optional<schema::GiftRequestId> request_id_of(std::string_view text) {
  std::int64_t id = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool whole = fault == std::errc() && end == text.data() + text.size();
  if (!whole || id < 1 || id > schema::kMaxId || text.front() == '0') return std::nullopt;
  return schema::GiftRequestId{id};
}

schema::NewGiftRequest draft(GiftRequestBody body, schema::SendMode mode, const schema::Account& sender,
                             const schema::GiftItem& item, schema::UtcMillis now) {
  schema::NewGiftRequest asked;
  asked.request.account = sender.id;
  asked.request.mode = mode;
  asked.request.gift = item.id;
  asked.request.item_name = item.name;
  asked.request.item_description = item.description;
  asked.request.costs = item.costs;
  asked.request.sender_email = sender.email;
  asked.request.sender_name = sender.name;
  asked.request.utm_campaign_id = std::move(body.utm_campaign_id);
  asked.request.created_at = now;
  asked.warnings = warnings_json(body.warnings);
  for (RecipientBody& recipient : body.recipients) {
    asked.recipients.push_back({std::move(recipient.email), std::move(recipient.first_name),
                                std::move(recipient.last_name), std::move(recipient.message)});
  }
  return asked;
}

}  // namespace

GiftApi::GiftApi(schema::Store& store, GiftWriter& writer, KeyGate& gate, const GiftLinks& links,
                 GiftApiOptions options, Clock clock, std::function<void()> on_created)
    : store_(store),
      writer_(writer),
      gate_(gate),
      links_(links),
      options_(options),
      clock_(std::move(clock)),
      on_created_(std::move(on_created)),
      items_(clock_, [this](const schema::GiftId& id) { return store_.catalogue.item(id); }) {}

HttpResponse GiftApi::create(const HttpRequest& request, schema::SendMode mode) {
  return gate_.answer(request, schema::Scope::send,
                      [&](const schema::KeyHolder& caller) { return create_for(request, mode, caller); });
}

HttpResponse GiftApi::create_for(const HttpRequest& request, schema::SendMode mode,
                                 const schema::KeyHolder& caller) {
  auto call = read_json_call(request, options_.max_body_bytes, Repeats::by_key,
                             [&] { return read_gift_request_body(request.body, mode, options_.limits); });
  if (auto* refusal = std::get_if<HttpResponse>(&call)) return std::move(*refusal);
  auto& [body, key] = std::get<JsonCall<GiftRequestBody>>(call);
  return send(std::move(body), mode, caller.account, key);
}

HttpResponse GiftApi::send(GiftRequestBody body, schema::SendMode mode, const schema::Account& sender,
                           const std::optional<std::string>& idempotency_key,
                           const std::string& triggered_by) {
  std::optional<schema::IdempotencyKey> idempotency;
  if (idempotency_key) idempotency = {*idempotency_key, to_hex(sha256(body.canonical))};
  // A replay is answered from what was stored, so a gift that has left the catalogue since does not matter to
  // it.
  const std::shared_ptr<const schema::GiftItem> item = items_.get(body.gift);
  if (!item || !item->active) {
    if (!idempotency) return unknown_gift(body.gift);
    const auto first = store_.gifts.first_use(sender.id, mode, *idempotency);
    if (!first) return unknown_gift(body.gift);
    if (first->kind == schema::CreateOutcome::Kind::body_mismatch) return idempotency_mismatch();
    return created_answer(*first, mode);
  }
  schema::NewGiftRequest asked = draft(std::move(body), mode, sender, *item, clock_());
  asked.request.triggered_by = triggered_by;
  asked.idempotency = std::move(idempotency);
  return create_once(std::move(asked));
}

HttpResponse GiftApi::create_once(schema::NewGiftRequest asked) {
  const schema::SendMode mode = asked.request.mode;
  std::optional<KeysAtWork::Hold> hold;
  if (asked.idempotency) {
    hold.emplace(keys_at_work_.take(std::to_string(asked.request.account.value) + " " +
                                    std::string(to_word(mode)) + " " + asked.idempotency->key));
    if (!*hold) return idempotency_key_in_use();
  }
  const std::optional<schema::CreateOutcome> outcome = writer_.create(std::move(asked));
  if (!outcome) return unavailable(kBusyRetrySeconds);
  switch (outcome->kind) {
    case schema::CreateOutcome::Kind::body_mismatch:
      return idempotency_mismatch();
    case schema::CreateOutcome::Kind::failed:
    case schema::CreateOutcome::Kind::unknown:
      throw schema::BrokenWorld(outcome->transient, outcome->error);
    case schema::CreateOutcome::Kind::created:
      on_created_();
      break;
    case schema::CreateOutcome::Kind::replayed:
      break;
  }
  return created_answer(*outcome, mode);
}

HttpResponse GiftApi::created_answer(const schema::CreateOutcome& outcome, schema::SendMode mode) const {
  std::vector<RecipientAnswer> recipients;
  recipients.reserve(outcome.recipients.size());
  for (const schema::RecipientTransaction& one : outcome.recipients) {
    RecipientAnswer& answer = recipients.emplace_back(RecipientAnswer{one.id, one.email, "", "", ""});
    if (mode == schema::SendMode::email) continue;
    answer.redemption_url = links_.to(LinkKind::redeem, one);
    answer.donation_url = links_.to(LinkKind::donate, one);
  }
  if (mode == schema::SendMode::email)
    return json_answer(201, gift_request_mailed_body(outcome.request, recipients, outcome.warnings));
  return json_answer(200, gift_request_urls_body(outcome.request, recipients, outcome.warnings));
}

HttpResponse GiftApi::read(const HttpRequest& request, std::string_view id) {
  return gate_.answer(request, schema::Scope::read,
                      [&](const schema::KeyHolder& caller) { return read_for(id, caller); });
}

HttpResponse GiftApi::read_for(std::string_view id_text, const schema::KeyHolder& caller) {
  const auto id = request_id_of(id_text);
  if (!id) return unknown_gift_request();
  const std::optional<schema::GiftRequest> found = store_.gifts.request(*id);
  if (!found || found->account != caller.account.id) return unknown_gift_request();
  GiftRequestState state{*id, found->gift, found->created_at, found->utm_campaign_id, found->mode, {}};
  for (const schema::RecipientTransaction& one : store_.gifts.recipients(*id)) {
    RecipientState& recipient = state.recipients.emplace_back();
    recipient.id = one.id;
    recipient.email = one.email;
    recipient.status = one.status;
    for (const schema::Status status : schema::kAllStatuses) {
      recipient.times[static_cast<std::size_t>(status)] = one.times[status];
    }
  }
  return json_answer(200, gift_request_state_body(state));
}

}  // namespace giftsync::daemon
