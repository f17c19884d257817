// The cancellation of many gifts: those of a key, a request, a campaign or a time (CON-68). A preview, then
// as many as a post may take, then the rest. For users of all organizations.
#include <chrono>

#include "daemon/console/access.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/gift_filter.h"
#include "daemon/console/pages.h"
#include "platform/dependency_error.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/access/credential.h"
#include "sync/gift/cancel_search.h"

namespace giftsync::console {
namespace {

using sync::CancelFilter;
using sync::CancelPreview;

constexpr std::string_view kPath = "/cancel-gifts";
/// More may take longer than one press.
constexpr std::size_t kManyGifts = 1000;

constexpr std::string_view kKey = "key";
constexpr std::string_view kPart = "cancelled_part";

using Fields = std::map<std::string, std::string>;

struct Asked {
  CancelFilter filter = {};
  Fields kept = {};  ///< the fields that name the filter
  std::vector<NotApplied> not_applied = {};

  bool is_given() const { return !kept.empty(); }
};

std::optional<store::Credential> find_credential(const PageCall& call, const std::string& first_characters) {
  for (const CredentialKind kind : {CredentialKind::api_key, CredentialKind::organization_token})
    for (store::Credential& credential : call.store().credentials.list(call.viewer(), kind))
      if (credential.prefix == sync::public_prefix(first_characters)) return std::move(credential);
  return std::nullopt;
}

std::optional<UtcMillis> time_from(const std::string& text) {
  const auto day = day_from(text);
  return day ? day : from_rfc3339(text);
}

/// What a URL or a form asks for.
Asked asked_of(const PageCall& call, const Fields& fields) {
  Asked asked;
  asked.filter.test = call.viewer().test;
  const auto each = [&](std::string_view name, const auto& apply) {
    std::string value(trimmed(field(fields, std::string(name))));
    if (value.empty()) return;
    if (name == kKey) value = sync::public_prefix(value);  // the rest is a secret
    if (apply(value))
      asked.kept[std::string(name)] = value;
    else
      asked.not_applied.push_back({std::string(name), value});
  };
  each(kKey, [&](const std::string& value) {
    asked.filter.key = find_credential(call, value);
    return asked.filter.key.has_value();
  });
  each("request", [&](const std::string& value) {
    asked.filter.request = parse_number<std::int64_t>(value);
    if (!asked.filter.request) return false;
    const auto request = call.store().gifts.find_gift_request({*asked.filter.request});
    return request && request->is_test == asked.filter.test;
  });
  each("campaign", [&](const std::string& value) {
    asked.filter.campaign = value;
    return true;
  });
  each("since", [&](const std::string& value) {
    asked.filter.since = time_from(value);
    return asked.filter.since.has_value();
  });
  return asked;
}

CancelPreview find_gifts(const PageCall& call, const CancelFilter& filter) {
  int parts = 0;
  return sync::find_gifts_to_cancel(call.store(), filter, [&](const auto&...) {
    return ++parts < call.console.options.cancel_search_parts;
  });
}

std::string price_of(const PageCall& call, std::optional<Money> price) {
  return price ? amount_on_page(call, price) : texts().text("cancel_price_unknown");
}

/// The counts of `gift cancel --dry-run`.
Data facts_of(const PageCall& call, const CancelPreview& found) {
  Data lines(Data::type::list);
  const auto add = [&](std::string_view key, std::size_t count) {
    add_line(lines, key, std::to_string(count));
  };
  add("cancel_found", found.matching);
  add("cancel_cancellable", found.cancellable());
  add_line(lines, "total_cost", price_of(call, found.total_price));
  if (found.unknown_prices > 0) add("cancel_unknown_prices", found.unknown_prices);
  add("cancel_senders", found.senders.size());
  add("cancel_not_left", found.not_left);
  if (found.maybe_left > 0) add("cancel_maybe_left", found.maybe_left);
  add("cancel_left", found.left);
  if (found.as_urls > 0) add("cancel_as_urls", found.as_urls);
  return lines;
}

Data gift_data(const PageCall& call, const store::Gift& gift) {
  Data row;
  row.set("id", std::to_string(gift.transaction.id.value));
  set_address(row, "recipient", gift.transaction.email);
  set_address(row, "sender", gift.request.sender_email);
  set_text(row, "item", gift.request.item_name);
  if (const auto sent = gift.transaction.times[Status::sent]) row.set("sent", time_data(*sent));
  row.set("cost", price_of(call, gift.request.costs.total()));
  return row;
}

/// The form of what the page showed: gifts that are sent later are not meant.
Data run_form(const PageCall& call, const Asked& asked, const CancelPreview& found) {
  Data form = form_data(call, std::string(kPath) + "/run");
  for (const auto& [name, value] : asked.kept) form.set(name, value);
  form.set("until", to_rfc3339(call.now + 1));
  const std::string count = std::to_string(found.cancellable());
  form.set("confirmation",
           texts().text(asked.filter.is_time_alone() && !found.searched_back_to ? "cancel_confirm_all"
                                                                                : "cancel_confirm_many",
                        {{"count", count}}));
  if (found.cancellable() > kManyGifts)
    form.set("parts",
             texts().text("cancel_in_parts",
                          {{"count", std::to_string(call.console.options.cancel_millis / kSecondMillis)}}));
  // Each further press does what was confirmed by the first one.
  if (field(call.query, "notice") == kPart) form.set("is_confirmed", true);
  return form;
}

/// Whether the credential may bring further gifts, which a run does not find.
bool still_sends(const PageCall& call, const CancelFilter& filter) {
  if (!filter.key) return false;
  const sync::CredentialState state = sync::state_of(*filter.key, call.now);
  return sync::is_usable(state) && state != sync::CredentialState::paused;
}

std::string command_of(const Asked& asked) {
  return "giftsyncctl gift cancel " + sync::option_words(asked.filter);
}

/// Adds what was found, and the form where it may be posted. Returns whether a new proof is missing.
bool add_preview(Data& data, const PageCall& call, const Asked& asked) try {
  const CancelPreview found = find_gifts(call, asked.filter);
  data.set("has_preview", true);
  data.set("facts", facts_of(call, found));
  set_list(data, "rows",
           list_of(found.first, [&](const store::Gift& gift) { return gift_data(call, gift); }));
  if (found.searched_back_to) {
    data.set("searched", texts().text("searched", {{"time", minute(*found.searched_back_to)}}));
    data.set("command", command_of(asked));
  }
  if (still_sends(call, asked.filter)) {
    Data key;
    key.set("prefix", asked.filter.key->prefix);
    key.set("url", call.url().base + "/keys?" + query_of({{"find", asked.filter.key->prefix}}));
    data.set("still_sends", key);
  }
  if (found.cancellable() == 0) return false;
  if (!has_new_proof(call)) {
    data.set("proof", new_proof_data(call, std::string(kPath), asked.kept));
    return true;
  }
  data.set("run", run_form(call, asked, found));
  return false;
} catch (const ReadTooLong&) {
  data.set("has_preview", false);
  data.set("too_long", command_of(asked));
  return false;
}

/// The event of the whole. When the store has failed meanwhile, those of the gifts must suffice.
void add_total(const PageCall& call, const std::string& words, const sync::CancelRun& run) try {
  store::AuditEvent total = event_of(call, "gift.cancel", "gift");
  total.detail = words + ": " + pluralize(run.cancelled.size(), "gift") + " cancelled, " +
                 std::to_string(run.left_out.size()) + " left out";
  call.store().audit.add(total);
} catch (const DependencyError&) {
  return;
}

/// Back to the same filter, which finds what is left.
http::HttpResponse redirect_to_rest(const PageCall& call, const Asked& asked, const std::string& notice,
                                    std::size_t count = 0) {
  return redirect_with_notice(call, std::string(kPath), notice, static_cast<std::int64_t>(count), asked.kept);
}

}  // namespace

http::HttpResponse cancel_page(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  Asked asked = asked_of(call, call.query);
  for (NotApplied& unknown : unknown_filters(call.query, {"key", "request", "campaign", "since"}))
    asked.not_applied.push_back(std::move(unknown));
  Data data;
  for (const char* name : {"request", "campaign", "since"}) data.set(name, field(call.query, name));
  data.set("key", sync::public_prefix(trimmed(field(call.query, "key"))));
  set_not_applied(data, asked.not_applied, call.url().base + std::string(kPath));
  const bool needs_proof = asked.not_applied.empty() && asked.is_given() && add_preview(data, call, asked);
  http::HttpResponse response = page(call, "cancel", texts().text("cancel_gifts"), std::move(data));
  if (!needs_proof) return response;
  return with_return_to(call.url(), std::move(response),
                        url_of(call, std::string(kPath)) + "?" + query_of(asked.kept));
}

http::HttpResponse run_cancel(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  Asked asked = asked_of(call, call.form);
  asked.filter.until = from_rfc3339(field(call.form, "until"));
  if (!asked.is_given() || !asked.not_applied.empty() || !asked.filter.until)
    return redirect_with_notice(call, std::string(kPath), "cancel_no_filter");
  if (field(call.form, "confirm") != "1") return redirect_to_rest(call, asked, "not_confirmed");
  const std::string words = sync::option_words(asked.filter);
  const auto cancel_one = [&](TransactionId id) {
    const auto gift = call.store().console_gifts.find(call.viewer(), id);
    if (!gift) return sync::ActionResult{sync::ActionResult::Kind::refused, "it is not there", {}, false, {}};
    store::AuditEvent event = gift_event(call, "gift.cancel", gift->gift);
    event.detail = words;
    return sync::cancel(call.store().changes, call.store().lifecycle, id, call.by->user.email, call.now,
                        event);
  };
  const CancelPreview found = find_gifts(call, asked.filter);
  const auto ends_at =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(call.console.options.cancel_millis);
  sync::CancelRun run;
  try {
    sync::cancel_found(
        found, cancel_one, [&] { return run.handled() == 0 || std::chrono::steady_clock::now() < ends_at; },
        run);
  } catch (const DependencyError&) {
    if (run.cancelled.empty()) throw;
    run.is_interrupted = true;  // what was cancelled before stays cancelled, and the page says so
  }
  if (run.cancelled.empty()) return redirect_to_rest(call, asked, "not_done");
  add_total(call, words, run);
  call.console.options.wake_workers();
  const bool is_part = run.is_interrupted || found.searched_back_to.has_value();
  return redirect_to_rest(call, asked, is_part ? std::string(kPart) : "cancelled_many", run.cancelled.size());
}

}  // namespace giftsync::console
