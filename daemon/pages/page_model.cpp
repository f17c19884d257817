#include "daemon/pages/page_model.h"

#include <algorithm>

#include "sync/lifecycle_rules.h"
#include "sync/recipient_actions.h"
#include "sync/utm_link.h"

namespace giftsync::daemon::pages {
namespace {

std::vector<StatusEvent> history_of(const schema::StatusTimes& times) {
  std::vector<StatusEvent> history;
  for (const schema::Status status : schema::kAllStatuses) {
    if (times[status]) history.push_back({status, *times[status]});
  }
  std::stable_sort(history.begin(), history.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return history;
}

/// A notice of the query is shown only when it is true: anyone can write a query.
PageNotice notice_of(std::string_view query, sync::LinkKind kind, schema::Status status) {
  const bool is_decided =
      status == (kind == sync::LinkKind::donate ? schema::Status::donated : schema::Status::redeemed);
  if (query == kThanks && is_decided) return PageNotice::thanks;
  if (query == kOutOfCodes && kind == sync::LinkKind::redeem) return PageNotice::out_of_codes;
  if (query == kCharityMissing && kind == sync::LinkKind::donate) return PageNotice::charity_missing;
  return PageNotice::none;
}

/// Nullopt once the time has passed: an admin has voided the expiry, or the timer is about to run.
std::optional<platform::UtcMillis> claimable_until_of(const schema::store::Gift& gift,
                                                      const sync::FoldedStatus& state,
                                                      platform::UtcMillis now) {
  const auto end = sync::next_end(gift, state);
  return end && end->at > now ? std::optional(end->at) : std::nullopt;
}

void set_recipient(GiftPageModel& model, const schema::store::RecipientTransaction& transaction) {
  model.recipient_name = transaction.first_name;
  if (!model.recipient_name.empty() && !transaction.last_name.empty()) model.recipient_name += " ";
  model.recipient_name += transaction.last_name;
  model.recipient_email = transaction.email;
  model.message = transaction.message;
}

void set_other_url(GiftPageModel& model, const sync::GiftLinks& links,
                   const schema::store::RecipientTransaction& transaction) {
  if (model.kind == sync::LinkKind::redeem)
    model.other_url = links.url_for(sync::LinkKind::donate, transaction);
  if (model.kind == sync::LinkKind::donate)
    model.other_url = links.url_for(sync::LinkKind::redeem, transaction);
}

/// Redemption text and code are shown only after acceptance, and only under the redemption link.
void set_redemption(GiftPageModel& model, const schema::store::PageView& view) {
  if (model.status != schema::Status::redeemed || model.kind != sync::LinkKind::redeem) return;
  model.code = view.code;
  model.redemption_text = view.redemption_text;
  model.redemption_link =
      sync::add_utm_campaign(view.redemption_link, view.gift.request.utm_campaign_id.value_or(""));
}

}  // namespace

GiftPageModel page_model(const schema::store::PageView& view, const PageVisit& visit,
                         const sync::GiftLinks& links,
                         const std::vector<config::CharitySettings>& charities) {
  const auto& [request, transaction] = view.gift;
  const sync::FoldedStatus state = sync::current_status(transaction, view.changes);
  GiftPageModel model;
  model.kind = visit.kind;
  model.status = state.status;
  model.notice = notice_of(visit.query, visit.kind, state.status);
  model.sender_name = request.sender_name.empty() ? request.sender_email : request.sender_name;
  if (!visit.is_revoked_view) set_recipient(model, transaction);
  model.item_name = request.item_name;
  model.item_description = request.item_description;
  model.picture = view.picture;
  set_other_url(model, links, transaction);
  model.history = history_of(state.times);
  model.transaction = transaction.id;
  if (visit.kind == sync::LinkKind::donate) model.charities = charities;
  model.until = claimable_until_of(view.gift, state, visit.now);
  if (state.status == schema::Status::donated) model.donation = view.donation;
  set_redemption(model, view);
  return model;
}

}  // namespace giftsync::daemon::pages
