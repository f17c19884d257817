// The overview: health in a sentence each, the numbers of 30 days, and the failures of gift records by class.
#include <algorithm>
#include <array>
#include <cctype>

#include "daemon/console/access.h"
#include "daemon/console/charts.h"
#include "daemon/console/pages.h"
#include "sync/attention.h"
#include "sync/crm/backfill_runs.h"

namespace giftsync::console {
namespace {

using store::Viewer;

/// The days of the numbers and of the chart.
constexpr std::int64_t kNumberDays = 30;
constexpr std::int64_t kUndeliveredDays = store::ConsoleGifts::kUndeliveredDays;

/// The states of mails that wait. Those of most mails, accepted above all, take long to count.
constexpr std::array kWaitingMails{DeliveryState::queued, DeliveryState::uncertain};

struct HealthLine {
  std::string_view part;  ///< the key of its name
  bool is_good = true;
  std::string text;
  std::string page = {};       ///< of the part; below the console's root, may be empty
  std::string list = {};       ///< of what the text counts; may be empty
  std::string_view word = {};  ///< the key of its verdict; empty: by is_good
};

std::string page_of(sync::Part part) {
  const bool has_page = part != sync::Part::daemon && part != sync::Part::store && part != sync::Part::items;
  return has_page ? "/" + std::string(to_word(part)) : std::string();
}

/// What a condition has counted, as a list; empty: there is none.
std::string list_of_found(const sync::AttentionItem& item) {
  if (item.condition == "mail.held") return "/mail?state=held";
  if (item.condition == "mail.paused_by_admin") return "/mail?state=queued";
  if (item.condition == "keys.paused") return "/sending#paused";  // tokens, too
  if (item.condition == "crm.failing") return "/gifts?crm=failing";
  if (item.condition == "crm.rejected") return "/gifts?crm=rejected";
  if (item.condition == "sending.held") return "/held";
  if (item.condition == "requests.in_error") return "/requests?state=failed";
  return item.part == sync::Part::sources ? "/sources/" + item.object : std::string();
}

HealthLine daemon_line(const std::vector<store::SeenDaemonInstance>& daemons) {
  if (daemons.empty()) return {"daemon", true, texts().text("daemon_unknown")};
  const store::DaemonInstance& first = daemons.front().instance;
  return {"daemon", true,
          texts().text("daemon_runs", {{"count", std::to_string(daemons.size())},
                                       {"version", first.version},
                                       {"time", minute(first.started_at)}})};
}

HealthLine mail_line(store::Store& store) {
  std::int64_t waiting = 0;
  bool has_uncertain = false;
  for (const auto& [mail, count] : store.deliveries.count_by_state(kWaitingMails)) {
    waiting += count;
    has_uncertain = has_uncertain || (mail == DeliveryState::uncertain && count > 0);
  }
  if (waiting == 0) return {"mail", true, texts().text("mail_idle"), "/mail"};
  return {"mail", true, texts().text("mail_waiting", {{"count", sync::count_text(waiting)}}), "/mail",
          has_uncertain ? "/mail" : "/mail?state=queued"};
}

/// What the CRM has of the gifts, and of how many it has nothing.
void add_crm_lines(std::vector<HealthLine>& lines, store::Store& store, std::int64_t waiting) {
  const auto add = [&](std::string_view text, const std::string& state, std::int64_t count) {
    lines.push_back({"crm", true, texts().text(text, {{"count", sync::count_text(count)}}), "/crm",
                     "/gifts?crm=" + state});
  };
  const std::int64_t skipped = store.sync.count_states(store::CrmSyncStatus::skipped);
  const std::int64_t deleted = store.sync.count_states(store::CrmSyncStatus::deleted);
  if (waiting > 0)
    add("crm_is_waiting", "waiting", waiting);
  else
    lines.push_back({"crm", true,
                     texts().text(skipped + deleted > 0 ? "crm_is_current_else" : "crm_is_current"), "/crm"});
  if (skipped > 0) add("crm_has_skipped", "skipped", skipped);
  if (deleted > 0) add("crm_has_deleted", "deleted", deleted);
}

/// The latest run of each backfill; what it left is no fault, and said as `status` says it.
void add_backfill_lines(std::vector<HealthLine>& lines, const PageCall& call,
                        const sync::AttentionFacts& facts) {
  for (const store::BackfillRun& run : facts.backfills) {
    if (sync::state_of(run) != sync::BackfillState::failed)  // that one needs attention
      lines.push_back({"crm", true, texts().text("backfill_run", {{"what", sync::describe(run)}}), "/crm"});
    for (const std::string& warning : sync::warnings(run, facts.program, call.now))
      lines.push_back({"crm",
                       true,
                       texts().text("backfill_warning", {{"what", warning}}),
                       "/crm",
                       {},
                       "health_to_look_at"});
  }
}

HealthLine sources_line(const std::vector<store::SourceSummary>& sources) {
  if (sources.empty()) return {"sources", true, texts().text("sources_none"), "/sources"};
  return {"sources", true, texts().text("sources_ok", {{"count", std::to_string(sources.size())}}),
          "/sources", "/sources"};
}

/// Without a limit it is no fault, and said as `status` says it.
HealthLine sending_line(bool has_limit) {
  if (has_limit) return {"sending", true, texts().text("sending_ok"), "/sending"};
  return {"sending", true, texts().text("sending_no_limit"), "/sending", {}, "health_no_limit"};
}

/// What needs an admin, by the same verdict as `status` (OPS-27), each with its next step; a part in which
/// nothing does is good.
std::vector<HealthLine> health_of(const PageCall& call, sync::AttentionFacts facts) {
  const Viewer& viewer = call.viewer();
  facts.daemons = call.console.options.daemons();
  const std::int64_t waiting = facts.sync.waiting;
  facts.sync.last_error = shown_error(viewer, facts.sync.last_error);
  const std::vector<sync::AttentionItem> items = sync::needs_attention(facts);
  std::vector<HealthLine> lines;
  for (const sync::Part part : sync::kAllParts) {
    const std::string_view word = to_word(part);
    bool is_good = true;
    for (const sync::AttentionItem& item : items) {
      if (item.part != part) continue;
      is_good = false;
      std::string what = shown_text(viewer, item.what);
      what.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(what.front())));
      lines.push_back(
          {word, false,
           texts().text("attention", {{"what", what}, {"next", shown_text(viewer, item.next_step)}}),
           page_of(part), list_of_found(item)});
    }
    if (part == sync::Part::crm) add_backfill_lines(lines, call, facts);
    if (!is_good) continue;
    if (part == sync::Part::store) lines.push_back({"store", true, texts().text("store_answers")});
    if (part == sync::Part::daemon) lines.push_back(daemon_line(facts.daemons));
    if (part == sync::Part::mail) lines.push_back(mail_line(call.store()));
    if (part == sync::Part::crm) add_crm_lines(lines, call.store(), waiting);
    if (part == sync::Part::sources) lines.push_back(sources_line(facts.sources));
    if (part == sync::Part::sending) lines.push_back(sending_line(facts.has_sending_limit));
  }
  return lines;
}

Data health_data(const std::string& base, const std::vector<HealthLine>& lines) {
  return list_of(lines, [&](const HealthLine& line) {
    Data data;
    data.set("part", texts().text("part_" + std::string(line.part)));
    data.set("good", line.is_good);
    const std::string_view verdict = line.is_good ? "health_good" : "health_bad";
    const Data look = badge_data(line.word.empty() ? verdict : line.word);
    for (const char* name : {"word", "tint", "icon"}) data.set(name, *look.get(name));
    data.set("text", line.text);
    if (!line.page.empty()) data.set("page", base + line.page);
    if (!line.list.empty()) data.set("list", base + line.list);
    return data;
  });
}

/// What of the gifts that were sent came to a status.
struct Reached {
  Status status;
  std::string_view text;  ///< the key of its name
  const char* tint;       ///< of its bar in the funnel
  Change::Kind kind = Change::Kind::more_is_better;
};
constexpr Reached kReached[] = {{Status::delivered, "status_delivered", "seen"},
                                {Status::opened, "status_opened", "seen"},
                                {Status::redeemed, "status_redeemed", "redeemed"},
                                {Status::donated, "status_donated", "donated", Change::Kind::plain}};

/// A number of the period against the period before.
Data stat_data(std::string_view text, const std::string& value, const std::string& share,
               const Change& change) {
  Data stat;
  stat.set("name", texts().text(text));
  stat.set("value", value);
  set_text(stat, "share", share);
  if (const auto shown = change_data(change)) stat.set("change", *shown);
  return stat;
}

Data stats_data(const sync::Overview& numbers, const std::string& list, const std::string& currency) {
  const std::int64_t sent = numbers.period[Status::sent];
  const std::int64_t sent_before = numbers.before[Status::sent];
  Data stats(Data::type::list);
  Data first = stat_data("status_sent", grouped(sent), {}, {.by = relative_change(sent, sent_before)});
  first.set("url", list);
  stats << first;
  for (const Reached& one : kReached) {
    const std::int64_t count = numbers.period[one.status];
    stats << stat_data(one.text, grouped(count), share_text(count, sent),
                       {.by = change_of_share(count, sent, numbers.before[one.status], sent_before),
                        .unit = "pt",
                        .kind = one.kind});
  }
  // From 10,000 on without cents: the number has one column of six.
  constexpr std::int64_t kLongAmount = 1'000'000;
  constexpr std::int64_t kUnit = 100;
  const Money spend = numbers.period.spend();
  const std::string amount =
      spend.minor_units < kLongAmount ? grouped(spend) : grouped((spend.minor_units + kUnit / 2) / kUnit);
  stats << stat_data("spend", amount, currency,
                     {.by = relative_change(spend.minor_units, numbers.before.spend().minor_units),
                      .kind = Change::Kind::plain});
  Data data;
  data.set("label", texts().text("gift_numbers"));
  data.set("stats", stats);
  return data;
}

Data funnel_data(const GiftNumbers& numbers) {
  const std::int64_t sent = numbers[Status::sent];
  Data list(Data::type::list);
  const auto add = [&](std::string_view text, const char* tint, std::int64_t count) {
    Data bar;
    bar.set("name", texts().text(text));
    bar.set("tint", tint);
    bar.set("count", grouped(count));
    bar.set("share", share_text(count, sent));
    bar.set("width", length_of(count, sent));
    list << bar;
  };
  add("status_sent", "sent", sent);
  for (const Reached& one : kReached) add(one.text, one.tint, numbers[one.status]);
  return list;
}

Data days_chart(const sync::Overview& numbers, std::int64_t today) {
  using Form = ChartSeries::Form;
  const auto series_of = [&](std::string_view text, Status status, std::string_view tint, Form form) {
    ChartSeries series{
        .name = texts().text(text), .tint = tint, .form = form, .total = grouped(numbers.period[status])};
    for (const sync::DayNumbers& day : numbers.days) series.values.push_back(day.numbers[status]);
    return series;
  };
  const auto most =
      std::max_element(numbers.days.begin(), numbers.days.end(), [](const auto& one, const auto& other) {
        return one.numbers[Status::sent] < other.numbers[Status::sent];
      });
  Chart chart;
  chart.label = texts().text("gifts_by_day_label", {{"sent", grouped(numbers.period[Status::sent])},
                                                    {"opened", grouped(numbers.period[Status::opened])},
                                                    {"redeemed", grouped(numbers.period[Status::redeemed])},
                                                    {"day", day_label(most->day, today)},
                                                    {"most", grouped(most->numbers[Status::sent])}});
  chart.head = texts().text("day");
  for (const sync::DayNumbers& day : numbers.days) chart.points.push_back(day_label(day.day, today));
  chart.series = {series_of("status_sent", Status::sent, "sent", Form::columns),
                  series_of("status_opened", Status::opened, "seen", Form::dashed),
                  series_of("status_redeemed", Status::redeemed, "redeemed", Form::line)};
  chart.nothing = texts().text("no_gift_in_period");
  return chart_data(chart);
}

/// The numbers of the gifts that the viewer sees, if there are such gifts that are counted (CON-73).
void add_numbers(Data& data, const PageCall& call) {
  const auto counted = counted_gifts(call.viewer());
  if (!counted || call.viewer().test) return;
  const std::int64_t today = utc_day(call.now);
  const std::int64_t first = today - kNumberDays + 1;
  const sync::Overview numbers = sync::overview(
      call.store().rollups,
      {.first_day = first, .last_day = today, .part = counted->part, .organization = counted->organization});
  data.set("has_numbers", true);
  data.set("period", texts().text("against_before",
                                  {{"first", day_label(first, today)}, {"last", day_label(today, today)}}));
  set_text(data, "not_whole", not_whole_text(numbers.progress, first - kNumberDays, today));
  data.set("numbers",
           stats_data(numbers, call.url().base + "/gifts?" + query_of({{"since", utc_day_text(first)}}),
                      currency_of(call)));
  data.set("days", days_chart(numbers, today));
  data.set("funnel", funnel_data(numbers.period));
}

/// What the user can act on, each with the page for it (CON-35).
/// `installation`: null for a viewer of one organization.
void add_waiting(Data& data, const PageCall& call, std::size_t failure_classes,
                 const sync::AttentionFacts* installation) {
  Data list(Data::type::list);
  struct Kind {
    std::string_view key;  ///< of its text
    const char* icon;
    const char* tint;
  };
  const auto add = [&](const std::string& url, const Kind& kind, std::int64_t count, bool is_cut = false,
                       const std::string& name = "") {
    if (count == 0) return;
    const std::string number = sync::count_text(count);
    Data one;
    one.set("url", url);
    one.set("icon", kind.icon);
    one.set("tint", kind.tint);
    one.set("text", texts().text(kind.key, {{"name", name}}));
    one.set("count", is_cut ? texts().text("more_than", {{"count", number}}) : number);
    list << one;
  };
  const WaitingRequests requests = requests_to_decide(call);
  add(url_of(call, requests.numbers.size() == 1 ? path_of_request(requests.numbers.front()) : "/requests"),
      {"requests_wait", "stamp", "warn"}, static_cast<std::int64_t>(requests.numbers.size()),
      requests.is_cut);
  if (may(call.viewer().roles, Permission::decide_requests)) {
    const auto held = call.store().held.list(waiting_held_requests(call), {}, kPageRows + 1);
    const bool is_cut = held.size() > kPageRows;
    add(url_of(call, held.size() == 1 ? "/held/" + std::to_string(held.front().id.value) : "/held"),
        {"held_requests_wait", "pause", "warn"}, static_cast<std::int64_t>(is_cut ? kPageRows : held.size()),
        is_cut);
  }
  if (may(call.viewer().roles, Permission::act_on_gifts))
    add(call.url().base + "/gifts?undelivered_days=" + std::to_string(kUndeliveredDays),
        {"undelivered_wait", "cross", "bad"},
        call.store().console_gifts.count_undelivered(call.viewer(),
                                                     call.now - kUndeliveredDays * kDayMillis));
  const bool operates = may(call.viewer().roles, Permission::operate);
  if (operates || may(call.viewer().roles, Permission::decide_requests))
    add(call.url().base + "/requests?state=failed", {"failed_requests_wait", "tri", "bad"},
        static_cast<std::int64_t>(count_failed_requests(call)));
  if (operates) {
    if (installation) {
      add(call.url().base + "/mail?state=held", {"held_mails_wait", "mail", "warn"},
          installation->held_mails);
      for (const store::SourceSummary& source : installation->sources)
        add(url_of(call, "/sources/" + source.name), {"quarantined_wait", "pulse", "warn"},
            source.quarantined, false, source.name);
    }
  }
  if (may(call.viewer().roles, Permission::act_on_crm))
    add(call.url().base + "/crm", {"failures_wait", "cloud", "bad"},
        static_cast<std::int64_t>(failure_classes));
  set_list(data, "waiting", list);
}

}  // namespace

http::HttpResponse overview_page(const PageCall& call) {
  const store::Viewer& viewer = call.viewer();
  Data data;
  std::optional<sync::AttentionFacts> installation;
  if (sees_installation(viewer)) {
    installation = call.console.options.attention();
    data.set("health", health_data(call.url().base, health_of(call, *installation)));
    data.set("has_health", true);
  }
  add_numbers(data, call);
  const auto classes = newest_first(call.store().console_gifts.failure_classes(viewer));
  set_list(data, "failures", list_of(classes, [&](const auto& one) {
             return failure_data(call, one, failure_class_number(one.error));
           }));
  add_waiting(data, call, classes.size(), installation ? &*installation : nullptr);
  data.set("no_failures", texts().text(viewer.sees_all_senders() ? "no_failures" : "no_own_failures"));
  return page(call, "overview", texts().text("overview"), std::move(data));
}

}  // namespace giftsync::console
