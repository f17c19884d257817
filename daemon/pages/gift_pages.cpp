#include "daemon/pages/gift_pages.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "daemon/campaign_link.h"
#include "daemon/http/problem.h"
#include "daemon/pages/page_answer.h"
#include "daemon/pages/posted_form.h"
#include "sync/lifecycle_rules.h"
#include "sync/recipient_choice.h"

namespace giftsync::daemon {
namespace {

using schema::DecidedOutcome;
using schema::Status;

/// The way back to the page that has just been posted, and what it is to say beside what stands.
constexpr std::string_view kThanks = "thanks";
constexpr std::string_view kLater = "later";
constexpr std::string_view kChooseFirst = "choose";
/// What precedes the logo's name: no token has a slash.
constexpr std::string_view kAssets = "-/";
constexpr std::int64_t kWarnedForMillis = schema::kHourMillis;

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
  for (const Status status : schema::kAllStatuses) {
    if (times[status]) history.push_back({status, *times[status]});
  }
  std::stable_sort(history.begin(), history.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return history;
}

/// What the query says is only said when it is so: anybody may write a query.
GiftPageNews news_of(std::string_view query, GiftPageKind kind, Status status) {
  const bool is_decided = status == (kind == GiftPageKind::donate ? Status::donated : Status::redeemed);
  if (query == kThanks && is_decided) return GiftPageNews::thanks;
  if (query == kLater && kind == GiftPageKind::redeem) return GiftPageNews::later;
  if (query == kChooseFirst && kind == GiftPageKind::donate) return GiftPageNews::choose_first;
  return GiftPageNews::none;
}

/// 303 to the page itself. Relative, so that it is right whatever address a proxy serves it under.
HttpResponse back_to(std::string_view token, std::string_view query) {
  HttpResponse response;
  response.status = 303;
  response.headers = private_headers();
  response.headers.emplace_back("Location",
                                std::string(token) + (query.empty() ? "" : "?") + std::string(query));
  return response;
}

HttpResponse no_content() {
  HttpResponse response;
  response.status = 204;
  response.headers = private_headers();
  return response;
}

/// As it stands now, which the gift's own row may not tell yet. Nothing once that has passed: an admin has
/// voided the expiry, or the timer comes in a moment.
std::optional<schema::UtcMillis> until_of(schema::Gift gift, const sync::FoldedStatus& state,
                                          schema::UtcMillis now) {
  gift.transaction.status = state.status;
  gift.transaction.times = state.times;
  const auto until = sync::claimable_until(gift);
  return until && *until > now ? until : std::nullopt;
}

bool reads(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace

/// A request that has found its gift.
struct GiftPages::Visit {
  const HttpRequest& request;
  std::string_view token;
  LinkKind kind;
  const schema::Gift& gift;
  const Words& words;
};

HttpResponse GiftPages::answer(const HttpRequest& request, std::string_view rest) {
  if (!reads(request) && request.method != "POST") return method_not_allowed({"GET", "HEAD", "POST"});
  if (face_.logo && rest == std::string(kAssets) + face_.logo->name)
    return reads(request) ? logo() : method_not_allowed({"GET", "HEAD"});
  const Words& words = words_for(request.header("Accept-Language").value_or(""), options_.language);
  const std::optional<LinkClaim> claim = links_.claim(rest);
  if (!claim) return unknown(request, words);
  const std::vector<schema::Gift> found = store_.gifts.gifts(std::span(&claim->transaction, 1));
  if (found.empty()) return unknown_link_page(words, face_);
  const schema::Gift& gift = found.front();
  if (!gift.transaction.origin.empty()) return unknown_link_page(words, face_);  // it was sent elsewhere
  // A record's link is written once, and nothing can be taken with it.
  if (claim->kind != LinkKind::view && claim->generation != gift.transaction.generation)
    return old_link_page(words, face_);
  const Visit visit{request, rest, claim->kind, gift, words};
  return reads(request) ? show(visit) : act(visit);
}

HttpResponse GiftPages::unknown(const HttpRequest& request, const Words& words) {
  const auto retry_after = guesses_.count(request.client, options_.clock());
  return retry_after ? slow_down_page(words, face_, *retry_after) : unknown_link_page(words, face_);
}

HttpResponse GiftPages::logo() const {
  HttpResponse response;
  response.headers = {{"Content-Type", face_.logo->type},
                      {"Cache-Control", "public, max-age=31536000, immutable"},
                      {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"},
                      {"X-Content-Type-Options", "nosniff"}};
  response.body = face_.logo->bytes;
  return response;
}

HttpResponse GiftPages::show(const Visit& visit) {
  spdlog::info("gift {}: its page was visited from {}", visit.gift.transaction.id.value,
               visit.request.client);
  return gift_page(facts_of(visit), visit.words, face_);
}

GiftPageFacts GiftPages::facts_of(const Visit& visit) {
  const schema::RecipientTransaction& transaction = visit.gift.transaction;
  const schema::GiftRequest& request = visit.gift.request;
  const sync::FoldedStatus state = sync::standing(store_.changes, transaction);
  GiftPageFacts facts;
  facts.kind = page_kind(visit.kind);
  facts.status = state.status;
  facts.news = news_of(visit.request.query, facts.kind, facts.status);
  facts.sender_name = request.sender_name.empty() ? request.sender_email : request.sender_name;
  facts.recipient_name = transaction.first_name;
  if (!facts.recipient_name.empty() && !transaction.last_name.empty()) facts.recipient_name += " ";
  facts.recipient_name += transaction.last_name;
  facts.recipient_email = transaction.email;
  facts.message = transaction.message;
  facts.item_name = request.item_name;
  facts.item_description = request.item_description;
  if (visit.kind == LinkKind::redeem) facts.other_url = links_.to(LinkKind::donate, transaction);
  if (visit.kind == LinkKind::donate) facts.other_url = links_.to(LinkKind::redeem, transaction);
  facts.history = history_of(state.times);
  facts.transaction = transaction.id;
  facts.charities = options_.charities;
  facts.until = until_of(visit.gift, state, options_.clock());
  if (state.status == Status::donated) facts.donation = store_.donations.donation(transaction.id);
  add_item(facts, visit);
  return facts;
}

/// What the catalogue says of the item today.
void GiftPages::add_item(GiftPageFacts& facts, const Visit& visit) {
  const std::optional<schema::GiftItem> item = store_.catalogue.item(visit.gift.request.gift);
  if (item) facts.picture = item->picture;
  // Only who accepted it learns how to enjoy it, and under the link for that.
  if (facts.status != Status::redeemed || facts.kind != GiftPageKind::redeem) return;
  facts.code = store_.codes.code_of(visit.gift.transaction.id).value_or("");
  if (!item) return;
  facts.redemption_text = item->redemption_text;
  facts.redemption_link =
      with_campaign(item->redemption_link, visit.gift.request.utm_campaign_id.value_or(""));
}

HttpResponse GiftPages::act(const Visit& visit) {
  if (visit.kind == LinkKind::view) return method_not_allowed({"GET", "HEAD"});
  if (is_from_elsewhere(visit.request, options_.base_url)) {
    spdlog::warn("gift {}: a decision that came from another site's page was refused",
                 visit.gift.transaction.id.value);
    return from_elsewhere_page(visit.words, face_, links_.to(visit.kind, visit.gift.transaction));
  }
  const auto fields = posted_fields(visit.request.body);
  const auto field = [&](const char* name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  };
  const std::string choice = field("choice");
  const schema::TransactionId id = visit.gift.transaction.id;
  const schema::UtcMillis now = options_.clock();
  if (choice == "opened") {
    if (sync::note_opened(store_.changes, id, now) == DecidedOutcome::accepted) options_.wake_sync();
    return no_content();
  }
  if (choice == "accept" && visit.kind == LinkKind::redeem)
    return decide(visit, Status::redeemed, store_.codes.one_for(visit.gift.request.gift, id, now));
  if (choice == "donate" && visit.kind == LinkKind::donate) return donate(visit, field("charity"));
  return back_to(visit.token, "");
}

HttpResponse GiftPages::donate(const Visit& visit, const std::string& charity) {
  schema::Donation donation;
  if (!options_.charities.empty()) {
    const auto chosen = std::find_if(options_.charities.begin(), options_.charities.end(),
                                     [&](const CharitySettings& one) { return one.name == charity; });
    if (chosen == options_.charities.end()) return back_to(visit.token, kChooseFirst);
    donation = {chosen->name, chosen->link};
  }
  return decide(visit, Status::donated, store_.donations.record(visit.gift.transaction.id, donation));
}

HttpResponse GiftPages::decide(const Visit& visit, Status choice, const schema::HandOut& hand_out) {
  const schema::TransactionId id = visit.gift.transaction.id;
  const sync::Decided decided =
      sync::choose(store_.changes, id, choice, options_.clock(),
                   schema::LifeBook::while_link_is_good(visit.gift.transaction).and_then(hand_out));
  if (decided.outcome == DecidedOutcome::nothing_to_hand_out) {
    if (is_old(visit.gift.transaction)) return back_to(visit.token, "");
    watch_codes(visit.gift, true);
    return back_to(visit.token, kLater);
  }
  if (decided.outcome == DecidedOutcome::accepted) {
    spdlog::info("gift {}: {} on its page from {}", id.value, schema::to_word(choice), visit.request.client);
    options_.wake_sync();
    if (choice == Status::redeemed) watch_codes(visit.gift, false);
  }
  return back_to(visit.token, decided.stands.status == choice ? kThanks : "");
}

/// A newer link has taken the place of the one that was followed.
bool GiftPages::is_old(const schema::RecipientTransaction& seen) {
  const std::vector<schema::Gift> found = store_.gifts.gifts(std::span(&seen.id, 1));
  return found.empty() || found.front().transaction.generation != seen.generation;
}

/// Warns once an hour for each item while its codes run out.
void GiftPages::watch_codes(const schema::Gift& gift, bool ran_out) {
  const schema::GiftId item = gift.request.gift;
  if (!ran_out && !store_.codes.code_of(gift.transaction.id)) return;
  const std::int64_t left = store_.codes.count_left(item, options_.few_codes + 1);
  if (!ran_out && left > options_.few_codes) return;
  const schema::UtcMillis now = options_.clock();
  {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = warned_.try_emplace({item, ran_out}, now);
    if (!is_new && now >= known->second && now < known->second + kWarnedForMillis) return;
    known->second = now;
  }
  if (ran_out) {
    spdlog::error(
        "gift {}: nothing could be handed out, item {} has no codes left; the gift is kept. Bring in more "
        "with "
        "\"giftsyncctl item import-codes {} FILE.csv\"",
        gift.transaction.id.value, item.value, item.value);
  } else {
    spdlog::warn(
        "item {} has {} codes left; bring in more with \"giftsyncctl item import-codes {} FILE.csv\"",
        item.value, left, item.value);
  }
}

}  // namespace giftsync::daemon
