// sync: the gifts that a filter means to cancel (MAIL-21), what their cancellation does, and their
// cancellation one after the other, which may stop at any gift and go on later. Any thread. Throws
// DependencyError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schema/store/account/credentials.h"
#include "schema/store/store.h"
#include "sync/gift/gift_actions.h"

namespace giftsync::sync {

/// All that is given must hold.
struct CancelFilter {
  std::optional<store::Credential> key;  ///< the API key or organization token that asked for the gift
  std::optional<std::int64_t> request;   ///< the gift request
  std::optional<std::string> campaign;   ///< the exact utm_campaign_id
  std::optional<UtcMillis> since;        ///< sent then or later
  std::optional<UtcMillis> until;        ///< sent before then; no option of the command
  bool test = false;                     ///< gifts of test keys, and no others

  /// Whether it selects by the time alone, so that gifts of all senders match.
  bool is_time_alone() const { return !key && !request && !campaign; }
};

/// As words of a command that finds the same gifts later: "--key gsk_live_x3Kd9aQ --since 2026-11-21T...".
std::string option_words(const CancelFilter& filter);

/// What was found. The lists have the gifts that can be cancelled, the latest sent first.
struct CancelPreview {
  static constexpr std::size_t kMaxShown = 5;

  std::size_t matching = 0;                   ///< with those that ended or were sent elsewhere
  std::vector<TransactionId> waiting;         ///< a cancellation withdraws their mails
  std::vector<TransactionId> others;          ///< their mails left, or their links were issued as URLs
  std::size_t not_left = 0;                   ///< mails that were never tried
  std::size_t maybe_left = 0;                 ///< mails that were tried and may have arrived
  std::size_t left = 0;                       ///< mails that the relay accepted or refused
  std::size_t as_urls = 0;                    ///< gifts without a mail
  std::optional<Money> total_price;           ///< the known ones; absent when none is known
  std::size_t unknown_prices = 0;             ///< gifts whose item has no known cost
  std::set<std::string> senders;              ///< their addresses
  std::vector<store::Gift> first;             ///< kMaxShown at most
  std::optional<store::Gift> oldest;          ///< of those that can be cancelled
  std::optional<UtcMillis> searched_back_to;  ///< the search stopped there

  std::size_t cancellable() const { return waiting.size() + others.size(); }
};

/// Whether the search goes on below that place; asked after each 5,000 gifts.
using CancelSearchGoesOn = std::function<bool(const CancelPreview& found, const store::SentPosition& below)>;

/// Searches by an index of Sent At from the latest gift to the filter's time; a key's gifts no further than
/// to its creation, those of a request by the request.
CancelPreview find_gifts_to_cancel(store::Store& store, const CancelFilter& filter,
                                   const CancelSearchGoesOn& goes_on);

struct LeftOut {
  TransactionId gift;
  std::string reason;
};

/// What was done so far.
struct CancelRun {
  std::vector<TransactionId> cancelled;
  std::vector<LeftOut> left_out;
  bool is_interrupted = false;

  std::size_t handled() const { return cancelled.size() + left_out.size(); }
};

/// Cancels what was found, those whose mails wait first. `cancel_one` cancels a gift; `goes_on` is asked
/// before each. A gift that ended meanwhile is left out. `run` says what was done also when this throws.
void cancel_found(const CancelPreview& found, const std::function<ActionResult(TransactionId)>& cancel_one,
                  const std::function<bool()>& goes_on, CancelRun& run);

/// How many mails of these gifts were withdrawn before they were tried.
std::size_t count_unsent(store::Store& store, std::vector<TransactionId> gifts);

}  // namespace giftsync::sync
