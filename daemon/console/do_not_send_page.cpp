// Who gets no gifts: find, list, add, remove (CON-65). Only for viewers of all organizations. No address of
// the list is in a URL but the one that a user looks for.
#include <algorithm>
#include <span>

#include "daemon/console/access.h"
#include "daemon/console/gift_filter.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "schema/store/gift/erased_address.h"
#include "sync/access/sending_policy.h"

namespace giftsync::console {
namespace {

using store::DoNotSendEntry;

constexpr std::string_view kPath = "/do-not-send";
/// Each page reads those before it.
constexpr std::size_t kMaxPages = 100;

bool is_address(std::string_view pattern) {
  return pattern.find('@') != std::string_view::npos;
}

http::HttpResponse redirect_to_list(const PageCall& call, const std::string& notice) {
  return redirect_with_notice(call, std::string(kPath), notice);
}

/// What the URL asks for.
struct Asked {
  std::string find = {};     ///< as it was typed
  std::string pattern = {};  ///< the same as it is compared
  store::DoNotSendFilter filter = {};
  std::size_t page = 1;
  std::vector<NotApplied> not_applied = {};
};

Asked asked_of(const PageCall& call) {
  Asked asked;
  asked.not_applied = unknown_filters(call.query, {"find", "reason", "page"});
  asked.find = trimmed(field(call.query, "find"));
  if (!asked.find.empty()) {
    const auto pattern = sync::do_not_send_pattern(asked.find);
    // The answer would tell whether an address is listed.
    if (call.viewer().is_masked() && is_address(asked.find))
      asked.not_applied.push_back({"find", asked.find, "filter_hidden"});
    else if (!pattern)
      asked.not_applied.push_back({"find", asked.find, "filter_find_pattern"});
    else
      asked.pattern = *pattern;
  }
  if (const std::string reason = field(call.query, "reason"); !reason.empty()) {
    asked.filter.reason = do_not_send_reason_from_word(reason);
    if (!asked.filter.reason)
      asked.not_applied.push_back({"reason", reason});
    else if (!asked.find.empty())
      asked.not_applied.push_back({"reason", reason, "filter_with_find"});
  }
  if (const std::string page = field(call.query, "page"); !page.empty()) {
    const auto number = parse_number<std::size_t>(page);
    if (number && *number >= 1 && *number <= kMaxPages)
      asked.page = *number;
    else
      asked.not_applied.push_back({"page", page});
  }
  return asked;
}

Data row_data(const PageCall& call, const DoNotSendEntry& entry) {
  const bool is_masked = call.viewer().is_masked();
  Data row;
  set_address(row, "pattern",
              is_address(entry.pattern) ? masked_address(is_masked, entry.pattern) : entry.pattern);
  row.set("reason", word_text("do_not_send_is_", entry.reason));
  set_text(row, "comment", masked_text(is_masked, entry.comment));
  row.set("added", time_data(entry.added_at));
  set_address(row, "by", shown_text(call.viewer(), entry.added_by));
  if (entry.expires_at) row.set("end", time_data(*entry.expires_at));
  if (!may(call.viewer().roles, Permission::act_on_list)) return row;
  Data remove = form_data(call, std::string(kPath) + "/remove");
  remove.set("whole", entry.pattern);
  remove.set("word", std::string(to_word(entry.reason)));
  remove.set("is_wish", sync::is_wish(entry.reason));
  row.set("remove", remove);
  return row;
}

Data counts_data(const PageCall& call) {
  const auto counts = call.store().do_not_send.count(call.now);
  return list_of(kAllDoNotSendReasons, [&](DoNotSendReason reason) {
    const auto count = counts.find(reason);
    Data one;
    one.set("label", word_text("do_not_send_is_", reason));
    one.set("value", std::to_string(count == counts.end() ? 0 : count->second));
    one.set("list", call.url().base + std::string(kPath) + "?" +
                        query_of({{"reason", std::string(to_word(reason))}}));
    return one;
  });
}

/// The entry that decides about the address, or the domain's own one. Sets what is said about it.
std::vector<DoNotSendEntry> find_entry(const PageCall& call, const Asked& asked, Data& data) {
  std::vector<DoNotSendEntry> found;
  const std::span<const std::string> one(&asked.pattern, 1);
  if (is_address(asked.pattern)) {
    for (auto& [place, entry] : sync::find_listed(call.store().do_not_send, one, call.now))
      found.push_back(entry);
  } else {
    for (auto& [pattern, entry] : call.store().do_not_send.find(one, call.now)) found.push_back(entry);
  }
  const std::string& what = asked.pattern;
  if (!found.empty())
    data.set("verdict",
             texts().text("do_not_send_listed", {{"what", what}, {"why", sync::describe(found.front())}}));
  else
    data.set("verdict",
             texts().text(is_address(what) ? "do_not_send_free" : "do_not_send_no_entry", {{"what", what}}));
  return found;
}

/// Those of the page. Sets the links to the others.
std::vector<DoNotSendEntry> list_page(const PageCall& call, const Asked& asked, Data& data) {
  const std::size_t end = asked.page * kRowsWithForms;
  auto entries = call.store().do_not_send.list(asked.filter, "", end + 1, call.now);
  const bool has_more = entries.size() > end;
  if (has_more) entries.resize(end);
  entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(
                                                       std::min(entries.size(), end - kRowsWithForms)));
  const std::string url = call.url().base + std::string(kPath);
  const auto page_url = [&](const std::string& page) {
    const std::string query = query_of({{"reason", field(call.query, "reason")}, {"page", page}});
    return query.empty() ? url : url + "?" + query;
  };
  if (asked.page > 1) data.set("first", page_url(""));
  if (has_more && asked.page < kMaxPages) data.set("next", page_url(std::to_string(asked.page + 1)));
  data.set("has_more", has_more && asked.page == kMaxPages);
  return entries;
}

Data reason_options(const Asked& asked) {
  Data options(Data::type::list);
  options << option_data("", texts().text("do_not_send_any"), !asked.filter.reason);
  for (const DoNotSendReason reason : kAllDoNotSendReasons)
    options << option_data(std::string(to_word(reason)), word_text("do_not_send_is_", reason),
                           asked.filter.reason == reason);
  return options;
}

/// The entry of the form; else the notice that says what is wrong.
tl::expected<DoNotSendEntry, std::string> entry_of_form(const PageCall& call) {
  DoNotSendEntry entry;
  const auto pattern = sync::do_not_send_pattern(field(call.form, "pattern"));
  if (!pattern) return tl::unexpected<std::string>("do_not_send_bad_pattern");
  entry.pattern = *pattern;
  entry.comment = trimmed(field(call.form, "comment"));
  if (sync::do_not_send_comment_error(entry.comment))
    return tl::unexpected<std::string>("do_not_send_bad_comment");
  if (const std::string until(trimmed(field(call.form, "until"))); !until.empty()) {
    entry.expires_at = day_from(until);
    if (!entry.expires_at || *entry.expires_at <= call.now)
      return tl::unexpected<std::string>("do_not_send_bad_end");
  }
  if (sync::is_top_level_pattern(entry.pattern) && field(call.form, "top_level") != "1")
    return tl::unexpected<std::string>("do_not_send_is_top_level");
  entry.added_by = call.by->user.email;
  return entry;
}

store::AuditEvent event_for(const PageCall& call, const std::string& action, const std::string& pattern) {
  return event_of(call, "do-not-send." + action, "do-not-send", sync::audited_pattern(pattern));
}

}  // namespace

http::HttpResponse do_not_send_page(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  const Asked asked = asked_of(call);
  Data data;
  set_not_applied(data, asked.not_applied, call.url().base + std::string(kPath));
  std::vector<DoNotSendEntry> entries;
  if (asked.not_applied.empty())
    entries = asked.pattern.empty() ? list_page(call, asked, data) : find_entry(call, asked, data);
  set_list(data, "rows",
           list_of(entries, [&](const DoNotSendEntry& entry) { return row_data(call, entry); }));
  data.set("find", asked.find);
  data.set("hint",
           texts().text(call.viewer().is_masked() ? "do_not_send_find_masked" : "do_not_send_find_hint"));
  data.set("reasons", reason_options(asked));
  data.set("counts", counts_data(call));
  const bool may_change = may(call.viewer().roles, Permission::act_on_list);
  data.set("may_change", may_change);
  if (may_change) data.set("add", form_data(call, std::string(kPath) + "/add"));
  return page(call, "do_not_send", texts().text("do_not_send"), std::move(data));
}

http::HttpResponse add_do_not_send(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  const auto entry = entry_of_form(call);
  if (!entry) return redirect_to_list(call, entry.error());
  store::AuditEvent event = event_for(call, "add", entry->pattern);
  event.detail = "blocked entries";
  const bool is_changed = call.store().do_not_send.add(std::span(&*entry, 1), event) > 0;
  return redirect_to_list(call, is_changed ? "entry_added" : "do_not_send_unchanged");
}

http::HttpResponse remove_do_not_send(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  const std::string stored = field(call.form, "pattern");
  auto pattern = sync::do_not_send_pattern(stored);
  if (store::is_erased_address(stored)) pattern = stored;
  const auto reason = do_not_send_reason_from_word(field(call.form, "reason"));
  if (!pattern || !reason) return not_found(call);
  if (sync::is_wish(*reason) && field(call.form, "confirm") != "1")
    return redirect_to_list(call, "not_confirmed");
  store::AuditEvent event = event_for(call, "remove", *pattern);
  event.detail = to_word(*reason);
  // The reason that the page showed: another one may need a tick.
  const bool is_removed = call.store().do_not_send.remove(*pattern, *reason, event);
  return redirect_to_list(call, is_removed ? "entry_removed" : "do_not_send_not_there");
}

}  // namespace giftsync::console
