// The overview: health in a sentence each, and the failures of gift records by class.
#include <array>

#include "daemon/console/access.h"
#include "daemon/console/pages.h"
#include "daemon/console/request_access.h"

namespace giftsync::daemon::console {
namespace {

using schema::store::Viewer;

/// The states of mails that the page shows. Those of most mails, accepted above all, take long to count.
constexpr std::array kShownMails{schema::DeliveryState::queued, schema::DeliveryState::uncertain,
                                 schema::DeliveryState::held};

/// What belongs to no single organization, read once for a page.
struct InstallationState {
  std::vector<std::pair<schema::DeliveryState, std::int64_t>> mails;
  std::vector<schema::store::SourceSummary> sources;
};

struct HealthLine {
  std::string_view part;  ///< the key of its name
  bool is_good = true;
  std::string text;
  std::string page = {};  ///< of the part; below the console's root, may be empty
  std::string list = {};  ///< of what the text counts; may be empty
};

HealthLine daemon_line(const std::vector<schema::store::SeenDaemonInstance>& daemons) {
  if (daemons.empty()) return {"daemon", true, texts().text("daemon_unknown")};
  const schema::store::DaemonInstance& first = daemons.front().instance;
  if (!first.reload_faults.empty())
    return {"daemon", false, texts().text("daemon_reload_refused", {{"host", first.host}})};
  return {"daemon", true,
          texts().text("daemon_runs", {{"count", std::to_string(daemons.size())},
                                       {"version", first.version},
                                       {"time", minute(first.started_at)}})};
}

HealthLine mail_line(schema::store::Store& store, const InstallationState& state, const Viewer& viewer) {
  const auto pauses = store.deliveries.breakers();
  if (!pauses.empty())
    return {"mail", false,
            texts().text("mail_paused", {{"time", minute(pauses.front().since)},
                                         {"reason", shown_text(viewer, pauses.front().reason)}}),
            "/mail"};
  std::int64_t held = 0;
  std::int64_t queued = 0;
  std::int64_t uncertain = 0;
  for (const auto& [mail, count] : state.mails) {
    if (mail == schema::DeliveryState::held) held = count;
    if (mail == schema::DeliveryState::queued) queued = count;
    if (mail == schema::DeliveryState::uncertain) uncertain = count;
  }
  if (held > 0)
    return {"mail", false, texts().text("mail_are_held", {{"count", std::to_string(held)}}), "/mail",
            "/mail?state=held"};
  if (queued + uncertain == 0) return {"mail", true, texts().text("mail_idle"), "/mail"};
  return {"mail", true, texts().text("mail_waiting", {{"count", std::to_string(queued + uncertain)}}),
          "/mail", uncertain == 0 ? "/mail?state=queued" : "/mail"};
}

HealthLine crm_line(const schema::store::SyncQueue::Counts& counts, const Viewer& viewer) {
  if (counts.failing > 0)
    return {"crm", false,
            texts().text("crm_is_failing", {{"count", std::to_string(counts.failing)},
                                            {"error", shown_error(viewer, counts.last_error)}}),
            "/crm", "/gifts?crm=failing"};
  if (counts.waiting > 0)
    return {"crm", true, texts().text("crm_is_waiting", {{"count", std::to_string(counts.waiting)}}), "/crm",
            "/gifts?crm=waiting"};
  return {"crm", true, texts().text("crm_is_current"), "/crm"};
}

HealthLine sources_line(const std::vector<schema::store::SourceSummary>& sources, const Viewer& viewer) {
  if (sources.empty()) return {"sources", true, texts().text("sources_none"), "/sources"};
  std::int64_t quarantined = 0;
  for (const schema::store::SourceSummary& source : sources) {
    quarantined += source.quarantined;
    if (source.state != "ok" && source.state != "new")
      return {"sources", false,
              texts().text("source_is", {{"name", source.name},
                                         {"state", source.state},
                                         {"reason", shown_text(viewer, source.reason)}}),
              "/sources"};
  }
  if (quarantined > 0)
    return {"sources", false, texts().text("sources_quarantined", {{"count", std::to_string(quarantined)}}),
            "/sources", "/sources"};
  return {"sources", true, texts().text("sources_ok", {{"count", std::to_string(sources.size())}}),
          "/sources", "/sources"};
}

Data health_data(const std::string& base, const std::vector<HealthLine>& lines) {
  return list_of(lines, [&](const HealthLine& line) {
    Data one;
    one.set("part", texts().text("part_" + std::string(line.part)));
    one.set("good", line.is_good);
    one.set("word", texts().text(line.is_good ? "health_good" : "health_bad"));
    one.set("text", line.text);
    if (!line.page.empty()) one.set("page", base + line.page);
    if (!line.list.empty()) one.set("list", base + line.list);
    return one;
  });
}

/// What the user can act on, each with the page for it (CON-35).
/// `installation`: null for a viewer of one organization.
void add_waiting(Data& data, const PageCall& call, std::size_t failure_classes,
                 const InstallationState* installation) {
  Data list(Data::type::list);
  const auto add = [&](const std::string& url, std::string_view key, std::int64_t count,
                       bool is_cut = false) {
    if (count == 0) return;
    const std::string number = std::to_string(count);
    Data one;
    one.set("url", url);
    one.set("text",
            texts().text(key, {{"count", is_cut ? texts().text("more_than", {{"count", number}}) : number}}));
    list << one;
  };
  const WaitingRequests requests = requests_to_decide(call);
  add(url_of(call, requests.numbers.size() == 1 ? path_of_request(requests.numbers.front()) : "/requests"),
      "requests_wait", static_cast<std::int64_t>(requests.numbers.size()), requests.is_cut);
  if (may(call.viewer().roles, Permission::act_on_gifts))
    add(call.url().base + "/gifts?status=undelivered", "undelivered_wait",
        call.store().console_gifts.count_undelivered(
            call.viewer(), call.now - schema::store::ConsoleGifts::kUndeliveredDays * platform::kDayMillis));
  const bool operates = may(call.viewer().roles, Permission::operate);
  if (operates || may(call.viewer().roles, Permission::decide_requests))
    add(call.url().base + "/requests?state=failed", "failed_requests_wait",
        static_cast<std::int64_t>(count_failed_requests(call)));
  if (operates) {
    if (installation) {
      for (const auto& [mail, count] : installation->mails)
        if (mail == schema::DeliveryState::held)
          add(call.url().base + "/mail?state=held", "held_mails_wait", count);
      for (const schema::store::SourceSummary& source : installation->sources)
        add(url_of(call, "/sources/" + source.name), "quarantined_wait", source.quarantined);
    }
  }
  if (may(call.viewer().roles, Permission::act_on_crm))
    add(call.url().base + "/crm", "failures_wait", static_cast<std::int64_t>(failure_classes));
  set_list(data, "waiting", list);
}

}  // namespace

http::HttpResponse overview_page(const PageCall& call) {
  const schema::store::Viewer& viewer = call.viewer();
  Data data;
  std::optional<InstallationState> installation;
  if (sees_installation(viewer)) {
    installation = {call.store().deliveries.count_by_state(kShownMails), call.store().sources.list()};
    data.set("health", health_data(call.url().base, {daemon_line(call.console.options.daemons()),
                                                     {"store", true, texts().text("store_answers")},
                                                     mail_line(call.store(), *installation, viewer),
                                                     crm_line(call.store().sync.counts(), viewer),
                                                     sources_line(installation->sources, viewer)}));
    data.set("has_health", true);
  }
  const auto classes = newest_first(call.store().console_gifts.failure_classes(viewer));
  set_list(data, "failures", list_of(classes, [&](const auto& one) {
             return failure_data(call, one, failure_class_number(one.error));
           }));
  add_waiting(data, call, classes.size(), installation ? &*installation : nullptr);
  data.set("no_failures", texts().text(viewer.sees_all_senders() ? "no_failures" : "no_own_failures"));
  return page(call, "overview", texts().text("overview"), std::move(data));
}

}  // namespace giftsync::daemon::console
