#include "daemon/pages/gift_pages.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "daemon/pages/gift_page.h"

namespace giftsync::daemon {
namespace {

GiftPageKind page_kind(LinkKind kind) {
  switch (kind) {
    case LinkKind::redeem:
      return GiftPageKind::redeem;
    case LinkKind::donate:
      return GiftPageKind::donate;
    case LinkKind::view:
      return GiftPageKind::view;
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::vector<StatusMoment> history_of(const schema::StatusTimes& times) {
  std::vector<StatusMoment> history;
  for (const schema::Status status : schema::kAllStatuses) {
    if (times[status]) history.push_back({status, *times[status]});
  }
  std::stable_sort(history.begin(), history.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return history;
}

GiftPageFacts facts_of(const schema::Gift& gift, LinkKind kind, const GiftLinks& links) {
  const schema::RecipientTransaction& transaction = gift.transaction;
  GiftPageFacts facts;
  facts.kind = page_kind(kind);
  facts.sender_name = gift.request.sender_name.empty() ? gift.request.sender_email : gift.request.sender_name;
  facts.recipient_name = transaction.first_name;
  if (!facts.recipient_name.empty() && !transaction.last_name.empty()) facts.recipient_name += " ";
  facts.recipient_name += transaction.last_name;
  facts.recipient_email = transaction.email;
  facts.message = transaction.message;
  facts.item_name = gift.request.item_name;
  facts.item_description = gift.request.item_description;
  if (kind == LinkKind::redeem) facts.other_url = links.to(LinkKind::donate, transaction);
  if (kind == LinkKind::donate) facts.other_url = links.to(LinkKind::redeem, transaction);
  facts.status = transaction.status;
  facts.history = history_of(transaction.times);
  facts.transaction = transaction.id;
  return facts;
}

}  // namespace

HttpResponse GiftPages::answer(const HttpRequest& request, std::string_view token) {
  const std::optional<LinkClaim> claim = links_.claim(token);
  if (!claim) return unknown_link_page();
  const std::vector<schema::Gift> found = gifts_.gifts(std::span(&claim->transaction, 1));
  if (found.empty()) return unknown_link_page();
  const schema::Gift& gift = found.front();
  if (!gift.transaction.origin.empty()) return unknown_link_page();  // it was sent elsewhere
  if (claim->kind != LinkKind::view && claim->generation != gift.transaction.generation)
    return old_link_page();
  spdlog::info("gift {}: its page was visited from {}", gift.transaction.id.value, request.client);
  return gift_page(facts_of(gift, claim->kind, links_));
}

}  // namespace giftsync::daemon
