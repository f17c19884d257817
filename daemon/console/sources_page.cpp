// The sources of changes, and the quarantined events of one (CON-33). Only for viewers of all organizations.
#include <fmt/format.h>

#include <map>

#include "daemon/config/connection_urls.h"
#include "daemon/console/access.h"
#include "daemon/console/pages.h"

namespace giftsync::console {
namespace {

using store::QuarantineReason;
using store::SourceSummary;

constexpr std::size_t kSampleEvents = 20;
constexpr std::size_t kMaxStatusWords = 5;

const config::SourceSettings* settings_of(const PageCall& call, const std::string& name) {
  if (!call.console.options.in_force) return nullptr;
  for (const config::SourceSettings& source : call.console.options.in_force->sources)
    if (source.name == name) return &source;
  return nullptr;
}

std::optional<SourceSummary> find_source(const PageCall& call) {
  if (!sees_installation(call.viewer())) return std::nullopt;
  for (SourceSummary& summary : call.store().sources.list())
    if (summary.name == call.parameter) return std::move(summary);
  return std::nullopt;
}

std::string path_of(const std::string& name) {
  return "/sources/" + name;
}

std::string kind_of(const PageCall& call, const std::string& name) {
  const config::SourceSettings* source = settings_of(call, name);
  if (!source) return texts().text("source_removed");
  return texts().text(source->kind == config::SourceKind::poll ? "source_poll" : "source_webhook");
}

/// The daemon's own word, with the look and the text of those that are known.
Data state_badge(const std::string& state) {
  const std::string key = "source_is_" + state;
  return badge_data(key, texts().all().contains(key) ? texts().text(key) : state);
}

bool is_fault(const SourceSummary& source) {
  return source.state == "failing" || source.state == "invalid" || source.state == "over_limit";
}

/// What is wrong with the sources, once each.
Data faults_of(const PageCall& call, const std::vector<SourceSummary>& sources) {
  Data faults(Data::type::list);
  for (const SourceSummary& source : sources) {
    if (!is_fault(source)) continue;
    Data fault;
    fault.set("name", source.name);
    fault.set("url", url_of(call, path_of(source.name)));
    fault.set("state", texts().text("source_is_" + source.state));
    fault.set("reason", shown_text(call.viewer(), with_readable_times(source.reason)));
    faults << fault;
  }
  return faults;
}

Data summary_row(const PageCall& call, const SourceSummary& source) {
  Data row;
  row.set("name", source.name);
  row.set("url", url_of(call, path_of(source.name)));
  row.set("kind", kind_of(call, source.name));
  row.set("state", state_badge(source.state));
  if (source.last_received_at) row.set("received", time_data(*source.last_received_at));
  row.set("accepted", std::to_string(source.accepted));
  row.set("orphaned", std::to_string(source.orphaned));
  row.set("quarantined", std::to_string(source.quarantined));
  row.set("refused", std::to_string(source.rejected));
  return row;
}

Data facts_of(const PageCall& call, const SourceSummary& source) {
  Data lines(Data::type::list);
  const auto time = [](std::optional<UtcMillis> at) { return at && at->value > 0 ? at : std::nullopt; };
  add_line(lines, "kind", kind_of(call, source.name));
  add_line(lines, "state", source.state);
  add_time(lines, "state_since", time(source.state_since));
  add_line(lines, "reason", shown_text(call.viewer(), with_readable_times(source.reason)));
  add_time(lines, "last_received", time(source.last_received_at));
  add_line(lines, "cursor", shown_text(call.viewer(), with_readable_times(source.cursor_state)));
  const config::SourceSettings* settings = settings_of(call, source.name);
  if (settings)
    add_line(lines, "webhook_url", config::webhook_url(call.console.options.admin_url, *settings));
  if (settings && settings->kind == config::SourceKind::poll)
    add_time(lines, "next_poll", time(source.next_attempt_at));
  add_line(lines, "accepted", std::to_string(source.accepted));
  add_line(lines, "duplicates", std::to_string(source.duplicates));
  add_line(lines, "ignored_events", std::to_string(source.ignored));
  add_line(lines, "gifts", std::to_string(source.gifts));
  add_line(lines, "orphaned", std::to_string(source.orphaned));
  add_line(lines, "quarantined", std::to_string(source.quarantined));
  add_line(lines, "refused_messages", std::to_string(source.rejected));
  add_line(lines, "last_refusal", shown_text(call.viewer(), source.last_refusal));
  return lines;
}

/// By reason: how many, some of their status words, and which setting makes them applicable.
Data reasons_of(const PageCall& call, const std::string& name) {
  struct Group {
    std::int64_t count = 0;
    std::vector<std::string> words = {};
  };
  std::map<QuarantineReason, Group> groups;
  for (const auto& one : call.store().sources.count_quarantined(name)) {
    Group& group = groups[one.reason];
    group.count += one.count;
    if (group.words.size() < kMaxStatusWords) group.words.push_back(one.status_word);
  }
  Data rows(Data::type::list);
  for (const auto& [reason, group] : groups) {
    const std::string word(to_word(reason));
    Data row;
    row.set("reason", word);
    row.set("count", std::to_string(group.count));
    set_text(row, "words", shown_text(call.viewer(), fmt::format("{}", fmt::join(group.words, ", "))));
    row.set("released_by", texts().text("released_by_" + word));
    if (may(call.viewer().roles, Permission::operate) && has_new_proof(call))
      row.set("purge", form_data(call, path_of(name) + "/purge"));
    rows << row;
  }
  return rows;
}

/// Without the vendor's text, which has personal data.
Data sample_of(const PageCall& call, const std::string& name) {
  return list_of(call.store().sources.list_quarantined(name, 0, kSampleEvents), [&](const auto& one) {
    Data row;
    row.set("id", std::to_string(one.id));
    row.set("reason", one.reason ? std::string(to_word(*one.reason)) : "");
    set_text(row, "word", shown_text(call.viewer(), one.status_word));
    set_text(row, "transaction", shown_text(call.viewer(), one.transaction));
    set_text(row, "detail", masked_text(call.viewer().is_masked(), with_readable_times(one.detail)));
    row.set("received", time_data(one.received_at));
    return row;
  });
}

}  // namespace

http::HttpResponse sources_page(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  const std::vector<SourceSummary> sources = call.store().sources.list();
  Data data;
  data.set("faults", faults_of(call, sources));
  set_list(data, "rows",
           list_of(sources, [&](const SourceSummary& summary) { return summary_row(call, summary); }));
  return page(call, "sources", texts().text("part_sources"), std::move(data));
}

http::HttpResponse source_page(const PageCall& call) {
  const auto source = find_source(call);
  if (!source) return not_found(call);
  Data data;
  data.set("state", state_badge(source->state));
  data.set("name", source->name);
  data.set("facts", facts_of(call, *source));
  data.set("has_quarantined", source->quarantined > 0);
  const bool needs_proof =
      source->quarantined > 0 && may(call.viewer().roles, Permission::operate) && !has_new_proof(call);
  if (source->quarantined > 0) {
    data.set("reasons", reasons_of(call, source->name));
    data.set("sample", sample_of(call, source->name));
    if (needs_proof) data.set("proof", new_proof_data(call, path_of(source->name)));
  }
  // Orphaned events are read again too.
  const bool has_events = source->quarantined + source->orphaned > 0;
  if (has_events && may(call.viewer().roles, Permission::operate) && settings_of(call, source->name))
    data.set("release", form_data(call, path_of(source->name) + "/release"));
  http::HttpResponse response =
      page(call, "source", texts().text("source_named", {{"name", source->name}}), std::move(data));
  if (!needs_proof) return response;
  return with_return_to(call.url(), std::move(response), url_of(call, path_of(source->name)));
}

http::HttpResponse release_events(const PageCall& call) {
  const auto source = find_source(call);
  // Without settings nothing would end it, and orphaned changes wait for its end.
  if (!source || !settings_of(call, source->name)) return not_found(call);
  call.store().sources.request_reprocessing(source->name,
                                            event_of(call, "source.release", "source", source->name));
  return redirect_with_notice(call, path_of(source->name), "events_released");
}

http::HttpResponse purge_events(const PageCall& call) {
  const auto source = find_source(call);
  const auto reason = store::quarantine_reason_from_word(field(call.form, "reason"));
  if (!source || !reason) return not_found(call);
  store::AuditEvent event = event_of(call, "source.purge", "source", source->name);
  event.detail = to_word(*reason);
  call.store().sources.purge_quarantined(source->name, reason, event);
  return redirect_with_notice(call, path_of(source->name), "events_purged");
}

}  // namespace giftsync::console
