#include "daemon/cli/gift_story.h"

#include "daemon/cli/change_list.h"
#include "daemon/cli/gift_json.h"
#include "sync/adoption.h"
#include "sync/rematch.h"
#include "sync/status_rules.h"

namespace giftsync::daemon {
namespace {

using schema::Status;

std::optional<schema::GiftRecord> record_of(schema::Crm& crm, schema::TransactionId id) {
  const auto found = crm.gift_records({id.value - 1}, 1);
  if (found.empty() || found.front().transaction() != id) return std::nullopt;
  return found.front();
}

std::vector<ToldChange> history_of(schema::ChangeLog& log, schema::TransactionId id) {
  const std::vector<schema::StatusChange> changes = log.history(id);
  std::vector<ToldChange> told;
  for (const schema::StatusChange& change : changes)
    told.push_back({change, sync::contradiction(change, changes)});
  return told;
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json lines_of(std::string_view text) {
  Json lines = Json::array();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(std::string(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

Json request_json(const schema::GiftRequest& request) {
  return {{"id", request.id.value},
          {"account_id", request.account.value},
          {"mode", to_word(request.mode)},
          {"gift_id", request.gift.value},
          {"item_name", request.item_name},
          {"item_description", request.item_description},
          {"costs", costs_json(request.costs)},
          {"sender_email", request.sender_email},
          {"sender_name", request.sender_name},
          {"utm_campaign_id", request.utm_campaign_id ? Json(*request.utm_campaign_id) : Json(nullptr)},
          {"created_at", json_time(request.created_at)}};
}

Json recipient_json(const schema::RecipientTransaction& transaction) {
  return {{"email", transaction.email},
          {"first_name", text_or_null(transaction.first_name)},
          {"last_name", text_or_null(transaction.last_name)},
          {"message", transaction.message},
          {"phone", text_or_null(transaction.phone)},
          {"origin", text_or_null(transaction.origin)}};
}

Json times_json(const schema::StatusTimes& times) {
  Json json = Json::object();
  for (const Status status : schema::kAllStatuses)
    json[std::string(to_word(status))] = json_time(times[status]);
  return json;
}

Json mirror_json(const GiftStory& story) {
  if (!story.mirror) return nullptr;
  const schema::GiftMirror& mirror = *story.mirror;
  const schema::MatchDecision& decision = mirror.decision;
  return {{"state", to_word(mirror.state)},
          {"decided_at", json_time(mirror.decided_at)},
          {"contact_id", text_or_null(decision.contact_id)},
          {"account_id", text_or_null(decision.account_id)},
          {"lead_id", text_or_null(decision.lead_id)},
          {"opportunity_id", text_or_null(decision.opportunity_id)},
          {"deal_stage", text_or_null(decision.deal_stage)},
          {"sender_id", text_or_null(decision.sender_id)},
          {"reason", decision.reason},
          {"warnings", lines_of(decision.warnings)},
          {"linked_by_hand", text_or_null(story.linked_by_hand)},
          {"rematch_needed", mirror.needs_rematch},
          {"task", to_word(mirror.task)},
          {"written_version", mirror.written_version},
          {"error", text_or_null(mirror.error)}};
}

Json delivery_json(const schema::DeliveryRow& row) {
  return {{"state", to_word(row.state)},
          {"attempts", tries_of(row)},
          {"repeats", row.repeats},
          {"kind", to_word(row.kind)},
          {"number", row.number},
          {"message_id", text_or_null(row.message_id)},
          {"last_reply", text_or_null(row.last_reply)},
          {"due_at", json_time(row.due_at)},
          {"updated_at", json_time(row.updated_at)}};
}

Json donation_json(const schema::Donation& donation) {
  return {{"charity", text_or_null(donation.charity)}, {"link", text_or_null(donation.link)}};
}

Json told_json(const ToldChange& told) {
  Json json = change_json(told.change);
  json["contradiction"] = text_or_null(told.contradiction);
  return json;
}

/// From the history, which the gift's row may not show yet.
void look_ahead(GiftStory& story) {
  const schema::RecipientTransaction& transaction = story.gift.transaction;
  const auto terms = sync::terms_from_text(story.gift.request.terms);
  if (!terms || !transaction.origin.empty() || !transaction.due_at) return;
  std::vector<schema::StatusChange> changes;
  for (const ToldChange& told : story.history) changes.push_back(told.change);
  const sync::FoldedStatus state = sync::fold(*transaction.times[Status::sent], changes);
  story.next = sync::next_outcome(*terms, state, transaction.resent_at);
  story.reminder = sync::next_reminder(*terms, story.gift.request.mode, state, transaction.resent_at,
                                       transaction.reminded_day, {0});
}

Json acts_json(const std::vector<schema::GiftAct>& acts) {
  Json json = Json::array();
  for (const schema::GiftAct& act : acts) {
    json.push_back({{"at", json_time(act.at)},
                    {"what", to_word(act.kind)},
                    {"who", act.who},
                    {"remark", text_or_null(act.remark)}});
  }
  return json;
}

Json to_come_json(const GiftStory& story) {
  Json json = {{"status", nullptr}, {"at", nullptr}, {"because", nullptr}, {"reminder_at", nullptr}};
  if (story.next) {
    json["status"] = to_word(story.next->status);
    json["at"] = json_time(story.next->at);
    json["because"] = to_word(story.next->premise);
  }
  if (story.reminder) json["reminder_at"] = json_time(story.reminder->at);
  return json;
}

}  // namespace

std::string linked_by_hand(const schema::Crm& crm, const schema::GiftMirror& mirror,
                           const schema::GiftRecord& record) {
  if (mirror.state != schema::MirrorState::written) return {};
  const schema::Associations links = schema::associations_of(record);
  return links == sync::links_shown(crm, mirror.decision) ? std::string() : sync::in_words(links);
}

std::optional<GiftStory> gift_story(Installation& place, schema::TransactionId id) {
  auto gifts = place.store.gifts.gifts(std::span(&id, 1));
  if (gifts.empty()) return std::nullopt;
  auto mirrors = place.store.sync.mirrors(std::span(&id, 1));
  GiftStory story{std::move(gifts.front()),
                  std::nullopt,
                  record_of(*place.crm, id),
                  place.store.deliveries.row(id),
                  history_of(place.store.changes, id),
                  {},
                  {},
                  {}};
  story.acts = place.store.life.acts_of(id);
  look_ahead(story);
  story.donation = place.store.donations.donation(id);
  story.has_code = place.store.codes.code_of(id).has_value();
  if (!mirrors.empty()) story.mirror = std::move(mirrors.front());
  if (story.record) story.is_sending_guessed = sync::is_sending_guessed(story.gift, *story.record);
  if (story.mirror && story.record)
    story.linked_by_hand = linked_by_hand(*place.crm, *story.mirror, *story.record);
  return story;
}

Json story_json(const GiftStory& story) {
  const schema::RecipientTransaction& transaction = story.gift.transaction;
  Json history = Json::array();
  for (const ToldChange& told : story.history) history.push_back(told_json(told));
  return {{"recipient_transaction_id", transaction.id.value},
          {"status", to_word(transaction.status)},
          {"times", times_json(transaction.times)},
          {"sent_is_guessed", story.is_sending_guessed},
          {"contradictory", transaction.contradictory},
          {"version", transaction.version},
          {"recipient", recipient_json(transaction)},
          {"request", request_json(story.gift.request)},
          {"match", mirror_json(story)},
          {"delivery", story.delivery ? delivery_json(*story.delivery) : Json(nullptr)},
          {"history", history},
          {"donation", story.donation ? donation_json(*story.donation) : Json(nullptr)},
          {"has_code", story.has_code},
          {"acts", acts_json(story.acts)},
          {"to_come", to_come_json(story)},
          {"terms", text_or_null(story.gift.request.terms)},
          {"record_version", story.record ? Json(story.record->version) : Json(nullptr)},
          {"record", story.record ? gift_record_json(*story.record) : Json(nullptr)}};
}

}  // namespace giftsync::daemon
