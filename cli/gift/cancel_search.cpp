#include "cli/gift/cancel_search.h"

#include <fmt/format.h>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {

sync::CancelPreview find_gifts_to_cancel(const Console& console, store::Store& store,
                                         const sync::CancelFilter& filter) {
  ProgressLine progress(console);
  return sync::find_gifts_to_cancel(
      store, filter, [&](const sync::CancelPreview& found, const store::SentPosition& below) {
        if (console.err_is_terminal)
          progress.show(fmt::format("\033[Ksearching, {} found, at {} UTC", pluralize(found.matching, "gift"),
                                    minute_text(below.sent_at)));
        return true;
      });
}

Json filter_json(const sync::CancelFilter& filter) {
  return {{"key", filter.key ? Json(filter.key->prefix) : Json(nullptr)},
          {"request", filter.request ? Json(*filter.request) : Json(nullptr)},
          {"campaign", filter.campaign ? Json(*filter.campaign) : Json(nullptr)},
          {"since", json_time(filter.since)}};
}

namespace {

std::string line_of(const store::Gift& gift) {
  return fmt::format(
      "gift {} to {}, {} UTC, {} of {}: {}", gift.transaction.id.value, printable(gift.transaction.email),
      minute_text(gift.transaction.times[Status::sent]), printable(gift.request.item_name),
      printable(gift.request.sender_email),
      gift.request.costs.total() ? to_decimal(gift.request.costs.total()) : std::string("price unknown"));
}

Json gift_json(const store::Gift& gift) {
  return {{"recipient_transaction_id", gift.transaction.id.value},
          {"recipient_email", text_or_null(gift.transaction.email)},
          {"sender_email", text_or_null(gift.request.sender_email)},
          {"item_name", text_or_null(gift.request.item_name)},
          {"sent_at", json_time(gift.transaction.times[Status::sent])},
          {"total_price", json_amount(gift.request.costs.total())}};
}

}  // namespace

void print(const Console& console, const sync::CancelPreview& preview) {
  const std::size_t count = preview.cancellable();
  console.info(
      fmt::format("{} found. {} can be cancelled{}.", pluralize(preview.matching, "gift"), count,
                  count < preview.matching
                      ? "; the others were claimed, expired or refunded before, or sent by another system"
                      : ""));
  if (count == 0) return;
  for (const store::Gift& gift : preview.first) console.info(line_of(gift));
  // The oldest shows whether good gifts of before are among them.
  if (count > preview.first.size())
    console.info(
        fmt::format("and {} more, the oldest: {}", count - preview.first.size(), line_of(*preview.oldest)));
  console.info(fmt::format(
      "Total price: {}{}, of {}.",
      preview.total_price ? to_decimal(preview.total_price) : std::string("unknown"),
      preview.unknown_prices == 0
          ? std::string()
          : fmt::format(" and the unknown price of {}", pluralize(preview.unknown_prices, "gift")),
      pluralize(preview.senders.size(), "sender")));
  std::string mails =
      fmt::format("Mails: {} not left yet, to be withdrawn; {} already left", preview.not_left, preview.left);
  if (preview.maybe_left > 0)
    mails += fmt::format("; {} tried, which may have arrived and {} not tried again", preview.maybe_left,
                         plural_verb(preview.maybe_left, "is", "are"));
  if (preview.as_urls > 0)
    mails += preview.oldest->request.is_test
                 ? fmt::format("; {} without a mail", pluralize(preview.as_urls, "test gift"))
                 : fmt::format("; {} without a mail, whose links were issued as URLs",
                               pluralize(preview.as_urls, "gift"));
  console.info(mails + ".");
}

Json preview_json(const sync::CancelPreview& preview, const std::string& currency) {
  Json first = Json::array();
  for (const store::Gift& gift : preview.first) first.push_back(gift_json(gift));
  Json json{{"matching", preview.matching},
            {"cancellable", preview.cancellable()},
            {"mails_not_left", preview.not_left},
            {"mails_maybe_left", preview.maybe_left},
            {"mails_left", preview.left},
            {"issued_as_urls", preview.as_urls},
            {"total_price", json_amount(preview.total_price)},
            {"unknown_prices", preview.unknown_prices},
            {"senders", preview.senders.size()},
            {"first_gifts", std::move(first)},
            {"oldest_gift", preview.oldest ? gift_json(*preview.oldest) : Json(nullptr)}};
  add_currency(json, currency);
  return json;
}

}  // namespace giftsync::cli
