#include "sync/gift/cancel_search.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::sync {
namespace {

/// A key that was created on a host with another clock may have gifts that seem older than it.
constexpr std::int64_t kClockDifferenceMillis = kDayMillis;

bool is_match(const store::Gift& gift, const CancelFilter& filter) {
  return (!filter.key || gift.request.credential_prefix == filter.key->prefix) &&
         (!filter.campaign || gift.request.utm_campaign_id == filter.campaign) &&
         (!filter.since || gift.transaction.times[Status::sent] >= *filter.since) &&
         (!filter.until || gift.transaction.times[Status::sent] < *filter.until);
}

/// Those of one request, the latest first.
std::vector<store::Gift> gifts_of_request(store::Store& store, const CancelFilter& filter) {
  std::vector<store::Gift> gifts;
  const auto request = store.gifts.find_gift_request({*filter.request});
  if (!request || request->is_test != filter.test) return gifts;
  for (store::RecipientTransaction& transaction : store.gifts.find_recipients(request->id)) {
    store::Gift gift{*request, std::move(transaction)};
    if (is_match(gift, filter)) gifts.push_back(std::move(gift));
  }
  std::reverse(gifts.begin(), gifts.end());
  return gifts;
}

store::GiftFilter store_filter(const CancelFilter& filter) {
  store::GiftFilter wanted;
  wanted.campaign = filter.campaign;
  wanted.since = filter.since;
  wanted.until = filter.until;
  wanted.test = filter.test;
  if (!filter.key) return wanted;
  wanted.key = filter.key->prefix;
  wanted.since =
      std::max(filter.since.value_or(UtcMillis{0}), filter.key->created_at - kClockDifferenceMillis);
  return wanted;
}

/// Which of these can be cancelled, decided as cancel() does.
std::vector<store::Gift> cancellable(store::Store& store, std::vector<store::Gift> gifts) {
  std::vector<TransactionId> ids;
  for (const store::Gift& gift : gifts) ids.push_back(gift.transaction.id);
  std::map<TransactionId, std::vector<store::ChangeSpan>> changes;
  for (const store::ChangeSpan& span : store.changes.spans_of(ids)) changes[span.transaction].push_back(span);
  std::vector<store::Gift> open;
  for (store::Gift& gift : gifts) {
    store::MailContext view{std::move(gift), {}, std::nullopt};
    if (const auto found = changes.find(view.gift.transaction.id); found != changes.end())
      view.changes = std::move(found->second);
    if (cancel_problem(view).empty()) open.push_back(std::move(view.gift));
  }
  return open;
}

bool is_withdrawn_by_cancel(DeliveryState state) {
  return state == DeliveryState::queued || state == DeliveryState::sending ||
         state == DeliveryState::uncertain || state == DeliveryState::held;
}

void add_mail(CancelPreview& preview, const store::ListedMail& mail) {
  const bool is_waiting = is_withdrawn_by_cancel(mail.state);
  (is_waiting ? preview.waiting : preview.others).push_back(mail.transaction);
  const bool has_left = mail.state == DeliveryState::accepted || mail.state == DeliveryState::undelivered ||
                        mail.kind == MailKind::reminder;
  ++(has_left ? preview.left : mail.attempts > 0 ? preview.maybe_left : preview.not_left);
}

void add_gifts(store::Store& store, CancelPreview& preview, std::vector<store::Gift> matching) {
  if (matching.empty()) return;
  preview.matching += matching.size();
  const std::vector<store::Gift> gifts = cancellable(store, std::move(matching));
  std::vector<TransactionId> ids;
  for (const store::Gift& gift : gifts) ids.push_back(gift.transaction.id);
  std::map<TransactionId, store::ListedMail> mails;
  if (!ids.empty()) {
    for (store::ListedMail& mail : store.deliveries.list(store::Viewer::of_command_line(), ids))
      mails.emplace(mail.transaction, std::move(mail));
  }
  for (const store::Gift& gift : gifts) {
    if (const auto mail = mails.find(gift.transaction.id); mail != mails.end()) {
      add_mail(preview, mail->second);
    } else {
      preview.others.push_back(gift.transaction.id);
      ++preview.as_urls;
    }
    preview.total_price = preview.total_price + gift.request.costs.total();
    if (!gift.request.costs.item) ++preview.unknown_prices;
    preview.senders.insert(gift.request.sender_email);
    if (preview.first.size() < CancelPreview::kMaxShown) preview.first.push_back(gift);
  }
  if (!gifts.empty()) preview.oldest = gifts.back();
}

}  // namespace

CancelPreview find_gifts_to_cancel(store::Store& store, const CancelFilter& filter,
                                   const CancelSearchGoesOn& goes_on) {
  CancelPreview preview;
  if (filter.request) {
    add_gifts(store, preview, gifts_of_request(store, filter));
    return preview;
  }
  const store::GiftFilter wanted = store_filter(filter);
  for (std::optional below = store::SentPosition::end(); below;) {
    store::LatestGifts found = store.gifts.search_latest(wanted, *below);
    add_gifts(store, preview, std::move(found.gifts));
    below = found.next;
    if (!below || goes_on(preview, *below)) continue;
    preview.searched_back_to = below->sent_at;
    return preview;
  }
  return preview;
}

void cancel_found(const CancelPreview& found, const std::function<ActionResult(TransactionId)>& cancel_one,
                  const std::function<bool()>& goes_on, CancelRun& run) {
  for (const auto* gifts : {&found.waiting, &found.others}) {
    for (const TransactionId gift : *gifts) {
      run.is_interrupted = !goes_on();
      if (run.is_interrupted) return;
      const ActionResult result = cancel_one(gift);
      if (result.kind == ActionResult::Kind::done)
        run.cancelled.push_back(gift);
      else
        run.left_out.push_back({gift, result.reason});
    }
  }
}

std::size_t count_unsent(store::Store& store, std::vector<TransactionId> gifts) {
  if (gifts.empty()) return 0;
  const auto mails = store.deliveries.list(store::Viewer::of_command_line(), gifts);
  return static_cast<std::size_t>(std::count_if(mails.begin(), mails.end(), [](const auto& mail) {
    return mail.state == DeliveryState::withdrawn && mail.attempts == 0;
  }));
}

std::string option_words(const CancelFilter& filter) {
  std::string words;
  const auto add = [&](std::string_view option, const std::string& value) {
    words.append(words.empty() ? "" : " ").append(option).append(" ").append(shell_word(value));
  };
  if (filter.key) add("--key", filter.key->prefix);
  if (filter.request) add("--request", std::to_string(*filter.request));
  if (filter.campaign) add("--campaign", *filter.campaign);
  if (filter.since) add("--since", to_rfc3339(*filter.since));
  return words;
}

}  // namespace giftsync::sync
