#include "sync/attention.h"

#include <algorithm>

#include "platform/visible_text.h"
#include "schema/enums.h"
#include "sync/access/budget_use.h"
#include "sync/access/credential_changes.h"
#include "sync/crm/backfill_runs.h"

namespace giftsync::sync {
namespace {

using Facts = AttentionFacts;
using Findings = std::vector<Finding>;

constexpr auto kParts = enum_words<Part>({{Part::daemon, "daemon"},
                                          {Part::store, "store"},
                                          {Part::mail, "mail"},
                                          {Part::crm, "crm"},
                                          {Part::requests, "requests"},
                                          {Part::sources, "sources"},
                                          {Part::items, "items"},
                                          {Part::keys, "keys"},
                                          {Part::sending, "sending"},
                                          {Part::webhooks, "webhooks"}});

/// One refused message is the message's fault; so many without an accepted one are the settings' or the
/// vendor's.
constexpr std::int64_t kManyRefusedInRow = 10;

using Daemon = store::SeenDaemonInstance;

/// After a crash it was started again, at another address.
bool is_replaced(const Facts& facts, const Daemon& row) {
  return std::any_of(facts.daemons.begin(), facts.daemons.end(), [&](const Daemon& other) {
    return other.unseen_millis <= kMaxUnseenMillis && other.instance.host == row.instance.host &&
           other.instance.settings_file == row.instance.settings_file;
  });
}

Findings unseen_daemons(const Facts& facts) {
  Findings found;
  for (const Daemon& row : facts.daemons)
    if (row.unseen_millis > kMaxUnseenMillis && !is_replaced(facts, row))
      found.push_back(
          {"giftsyncd on " + host_name(row) + " was not seen since " + minute_text(row.last_seen_at) + " UTC",
           "systemctl status giftsyncd on that host"});
  return found;
}

Findings refused_reloads(const Facts& facts) {
  Findings found;
  for (const Daemon& row : facts.daemons)
    if (!row.instance.reload_faults.empty())
      found.push_back({"the last reload of giftsyncd on " + host_name(row) + " was refused",
                       "correct " + row.instance.settings_file + ", then systemctl reload giftsyncd"});
  return found;
}

Findings faulty_settings(const Facts& facts) {
  if (facts.settings_faults.empty()) return {};
  return {{"the settings file is faulty: " + facts.settings_faults.front(),
           "giftsyncd --check lists every fault"}};
}

Findings doubted_clock(const Facts& facts) {
  if (facts.clock_doubt.empty()) return {};
  return {
      {facts.clock_doubt,
       "timedatectl  # correct the clock within that time, and nothing is lost; if it is right now, wait"}};
}

Findings bad_certificate(const Facts& facts, CertificateState state) {
  if (!facts.certificate || facts.certificate->state != state) return {};
  const auto& [file, dates, found] = *facts.certificate;
  const std::string begin = "the certificate in " + file;
  const std::string renew = "renew it; giftsyncd takes the new files by itself, without a reload";
  switch (state) {
    case CertificateState::ending:
      return {{begin + " expires at " + minute_text(dates.not_after) + " UTC", renew}};
    case CertificateState::expired:
      return {{begin + " has expired, so clients refuse giftsyncd, since " + minute_text(dates.not_after) +
                   " UTC",
               renew}};
    case CertificateState::not_yet_valid:
      return {{begin + " is not valid before " + minute_text(dates.not_before) +
                   " UTC: clients refuse giftsyncd, unless it goes on with the former one",
               "timedatectl  # if the clock is right, use the former certificate until then"}};
    case CertificateState::good:
      break;
  }
  return {};
}

Findings full_disk(const Facts& facts) {
  if (facts.full_disk.empty()) return {};
  return {{facts.full_disk, "free some space there; giftsyncd then goes on by itself"}};
}

Findings failing_upgrade(const Facts& facts) {
  if (facts.upgrade.fault.empty()) return {};
  return {{"an upgrade of the store cannot go on: " + facts.upgrade.present + ": " + facts.upgrade.fault,
           "correct what the reason names; giftsyncd tries it again every minute"}};
}

Findings gifts_in_future(const Facts& facts) {
  if (facts.gifts_in_future == 0) return {};
  return {{count_text(facts.gifts_in_future, "gift") + (facts.gifts_in_future == 1 ? " has" : " have") +
               " a time in the future, from a wrong clock or time zone",
           facts.program + "change list --newest --limit 100; \"Wrong clock\" in troubleshooting.md"}};
}

Findings paused_mail(const Facts& facts) {
  Findings found;
  for (const store::CircuitBreaker& pause : facts.mail_pauses)
    found.push_back({"mail delivery is paused on " + pause.daemon + ": " + pause.reason,
                     "correct email.from, email.smtp with its password, or email.directory, and reload the "
                     "daemon; or correct the relay; the "
                     "daemon tries again from time to time"});
  return found;
}

Findings paused_by_admin(const Facts& facts) {
  if (!facts.admin_pause) return {};
  return {{describe(*facts.admin_pause),
           facts.program + "mail resume  # sends " + count_text(facts.waiting_mails, "waiting mail")}};
}

Findings deferred_by_relay(const Facts& facts) {
  Findings found;
  for (const SharedReply& shared_reply : facts.shared_replies)
    if (shared_reply.state == DeliveryState::queued)
      found.push_back({count_text(shared_reply.mails, "mail") + " wait, the first since " +
                           minute_text(shared_reply.since) + " UTC" +
                           ": the relay defers each with: " + shared_reply.reply,
                       "correct the relay; " + facts.program + "mail retry --all tries them now"});
  return found;
}

Findings undelivered_alike(const Facts& facts) {
  Findings found;
  for (const SharedReply& shared_reply : facts.shared_replies)
    if (shared_reply.state != DeliveryState::queued)
      found.push_back({count_text(shared_reply.mails, "mail") +
                           " within an hour ended undelivered with the same reply: " + shared_reply.reply,
                       "if that is the relay's fault, correct it, then " + facts.program +
                           "gift resend --reply " + shell_word(shared_reply.reply) + " --since " +
                           to_rfc3339(shared_reply.since)});
  return found;
}

Findings held_mails(const Facts& facts) {
  if (facts.held_mails == 0) return {};
  return {{count_text(facts.held_mails, "mail") + (facts.held_mails == 1 ? " is held" : " are held"),
           "search the relay's log for it, then " + facts.program + "gift resend ID; " + facts.program +
               "mail list shows each"}};
}

Findings rejected_records(const Facts& facts) {
  if (facts.rejected_records == 0) return {};
  return {{"the CRM rejected " + count_text(facts.rejected_records, "gift record"),
           facts.program + "gift list --refused tells why"}};
}

/// Besides those whose record the CRM rejected; also gifts whose task it refuses. While the CRM is paused
/// that is why.
Findings failing_gifts(const Facts& facts) {
  if (!facts.crm_pauses.empty()) return {};
  const std::int64_t failing = facts.sync.failing - facts.rejected_records;
  if (failing <= 0) return {};
  return {
      {count_text(failing, "gift") + " cannot be written to the CRM; most often: " + facts.sync.last_error,
       "correct the cause, or wait for the CRM; the daemon tries again from time to time"}};
}

Findings failed_backfills(const Facts& facts) {
  Findings found;
  for (const store::BackfillRun& run : facts.backfills) {
    if (state_of(run) != BackfillState::failed) continue;
    found.push_back({"the backfill " + run.name + " of " + minute_text(run.started_at) +
                         " UTC did not come to its end: " + run.error,
                     facts.program + "backfill " + run.name + "  # goes on where it stopped", run.name});
  }
  return found;
}

Findings failing_requests(const Facts& facts) {
  if (facts.requests_in_error == 0) return {};
  return {{count_text(facts.requests_in_error, "request record") +
               (facts.requests_in_error == 1 ? " is" : " are") + " in error",
           facts.program + "request list"}};
}

/// `what`: of one source, empty when it does not hold.
template <class What>
Findings of_sources(const Facts& facts, const std::string& command, const What& what) {
  Findings found;
  for (const store::SourceSummary& row : facts.sources)
    if (const std::string text = what(row); !text.empty())
      found.push_back({"source " + row.name + text, facts.program + command + row.name, row.name});
  return found;
}

Findings refused_messages(const Facts& facts) {
  return of_sources(facts, "source refused ", [](const store::SourceSummary& row) {
    if (row.refused_in_row < kManyRefusedInRow) return std::string();
    return ": " + std::to_string(row.refused_in_row) + " messages in a row were refused: " + row.last_refusal;
  });
}

Findings failing_sources(const Facts& facts) {
  Findings found = of_sources(facts, "", [](const store::SourceSummary& row) {
    if (row.state != "failing" && row.state != "invalid" && row.state != "over_limit") return std::string();
    return " is " + row.state + (row.reason.empty() ? "" : ": ") + row.reason;
  });
  for (Finding& finding : found) finding.next_step = facts.program + "source list";
  return found;
}

Findings quarantined_events(const Facts& facts) {
  return of_sources(facts, "source quarantine ", [](const store::SourceSummary& row) {
    if (row.quarantined == 0) return std::string();
    return ": " + pluralize(row.quarantined, "event") + " in quarantine";
  });
}

Findings missing_codes(const Facts& facts) {
  Findings found;
  for (const store::GiftCodeCounts& row : facts.codes) {
    const std::string item = std::to_string(row.gift.value);
    if (row.left == 0)
      found.push_back({"item " + item + " has no gift codes left",
                       facts.program + "item codes import " + item + " FILE", item});
  }
  return found;
}

Findings paused_credentials(const Facts& facts) {
  Findings found;
  for (const store::Credential& credential : facts.paused_credentials) {
    const bool is_key = credential.kind == CredentialKind::api_key;
    found.push_back({(is_key ? "the API key " : "the organization token ") + credential.prefix + " of " +
                         credential.owner + " is paused since " + minute_text(*credential.paused_at) +
                         " UTC" + (credential.pause_reason.empty() ? "" : ": ") + credential.pause_reason,
                     facts.program + release_command(credential) + "  # lets it send again",
                     credential.prefix});
  }
  return found;
}

/// The options of "budget set" that raise each limit that is used up to twice what is used: also a limit that
/// was set below it. Of an amount whose rest pays for no gift to twice the limit.
std::string raised(const UsedUpBudget& budget) {
  const store::BudgetLimits& limits = budget.limit.limits;
  const std::string option = is_month(budget.limit) ? " --month-" : " --day-";
  std::string options;
  if (limits.gifts && budget.used.gifts >= *limits.gifts)
    options += option + "gifts " + std::to_string(2 * std::max<std::int64_t>(budget.used.gifts, 1));
  if (limits.amount && (options.empty() || budget.used.amount >= *limits.amount))
    options +=
        option + "amount " + to_decimal(Money{2 * std::max(budget.used.amount, *limits.amount).minor_units});
  return options;
}

Findings used_up_budgets(const Facts& facts) {
  Findings found;
  for (const UsedUpBudget& budget : facts.used_up_budgets) {
    const store::BudgetLimits& limits = budget.limit.limits;
    const bool has_name = !budget.name.empty();
    std::string used;
    if (limits.gifts) used = std::to_string(budget.used.gifts) + " of " + pluralize(*limits.gifts, "gift");
    if (limits.amount)
      used +=
          (used.empty() ? "" : ", ") + to_decimal(budget.used.amount) + " of " + to_decimal(*limits.amount);
    if (percent_used(limits, budget.used) < 100) used += ", and the rest pays for no gift";
    found.push_back({"the budget of " + budget.kind + (has_name ? " " + budget.name : "") + " for " +
                         budget.limit.period + " is used up: " + used,
                     facts.program + "budget set " + budget.kind +
                         (has_name ? " " + shell_word(budget.name) : "") + raised(budget) +
                         "  # raises it; it begins again " + minute_text(budget.limit.ends_at) + " UTC",
                     budget.name});
  }
  if (facts.more_used_up_budgets > 0)
    found.push_back({pluralize(facts.more_used_up_budgets, "more budget") +
                         (facts.more_used_up_budgets == 1 ? " is" : " are") + " used up",
                     facts.program + "budget list --json  # shows all"});
  return found;
}

Findings held_requests(const Facts& facts) {
  if (facts.waiting_requests == 0) return {};
  return {{count_text(facts.waiting_requests, "gift request") +
               (facts.waiting_requests == 1 ? " waits" : " wait") + " for approval",
           facts.program + "held list  # shows them with the reasons"}};
}

Findings webhooks_in(const Facts& facts, WebhookState state, const std::string& next_step) {
  Findings found;
  for (const store::WebhookEndpoint& endpoint : facts.webhooks)
    if (endpoint.state == state)
      found.push_back({"webhook " + endpoint.name + " is " + std::string(to_word(state)) + " since " +
                           minute_text(endpoint.state_since) + " UTC" +
                           (endpoint.reason.empty() ? "" : ": ") + endpoint.reason,
                       facts.program + "webhook " + next_step + " " + shell_word(endpoint.name),
                       endpoint.name});
  return found;
}

Findings webhooks_without_feed(const Facts& facts) {
  const auto count = std::count_if(
      facts.webhooks.begin(), facts.webhooks.end(),
      [](const store::WebhookEndpoint& endpoint) { return endpoint.state != WebhookState::disabled; });
  if (facts.is_feed_on || count == 0) return {};
  return {{"no new events come for " + pluralize(count, "webhook") + ", since feed.enabled is false",
           "set feed.enabled to true and reload, or " + facts.program + "webhook disable NAME"}};
}

struct Condition {
  const char* name;
  Part part;
  Findings (*find)(const Facts&);
};

/// docs/operations/monitoring.md lists them (static design_test).
constexpr Condition kConditions[] = {
    {"daemon.fault", Part::daemon, [](const Facts& facts) { return facts.daemon_faults; }},
    {"daemon.unseen", Part::daemon, unseen_daemons},
    {"daemon.reload_refused", Part::daemon, refused_reloads},
    {"daemon.settings_faulty", Part::daemon, faulty_settings},
    {"daemon.clock_doubted", Part::daemon, doubted_clock},
    {"tls.certificate_expired", Part::daemon,
     [](const Facts& facts) { return bad_certificate(facts, CertificateState::expired); }},
    {"tls.certificate_not_yet_valid", Part::daemon,
     [](const Facts& facts) { return bad_certificate(facts, CertificateState::not_yet_valid); }},
    {"tls.certificate_expiring", Part::daemon,
     [](const Facts& facts) { return bad_certificate(facts, CertificateState::ending); }},
    {"store.disk_full", Part::store, full_disk},
    {"store.upgrade_failing", Part::store, failing_upgrade},
    {"store.gifts_in_future", Part::store, gifts_in_future},
    {"mail.paused", Part::mail, paused_mail},
    {"mail.paused_by_admin", Part::mail, paused_by_admin},
    {"mail.deferred_alike", Part::mail, deferred_by_relay},
    {"mail.undelivered_alike", Part::mail, undelivered_alike},
    {"mail.held", Part::mail, held_mails},
    {"crm.paused", Part::crm, [](const Facts& facts) { return facts.crm_pauses; }},
    {"crm.rejected", Part::crm, rejected_records},
    {"crm.failing", Part::crm, failing_gifts},
    {"crm.backfill_failed", Part::crm, failed_backfills},
    {"requests.in_error", Part::requests, failing_requests},
    {"sources.refused_in_row", Part::sources, refused_messages},
    {"sources.failing", Part::sources, failing_sources},
    {"sources.quarantined", Part::sources, quarantined_events},
    {"items.no_codes", Part::items, missing_codes},
    {"keys.paused", Part::keys, paused_credentials},
    {"sending.budget_reached", Part::sending, used_up_budgets},
    {"sending.held", Part::sending, held_requests},
    {"webhooks.failing", Part::webhooks,
     [](const Facts& facts) { return webhooks_in(facts, WebhookState::failing, "attempts --failed"); }},
    {"webhooks.disabled", Part::webhooks,
     [](const Facts& facts) { return webhooks_in(facts, WebhookState::disabled, "enable"); }},
    {"webhooks.feed_off", Part::webhooks, webhooks_without_feed},
};

}  // namespace

std::string_view to_word(Part part) {
  return kParts.word_of(part);
}

std::vector<AttentionItem> needs_attention(const AttentionFacts& facts) {
  std::vector<AttentionItem> items;
  for (const Condition& condition : kConditions)
    for (Finding& finding : condition.find(facts))
      items.push_back({std::move(finding), condition.name, condition.part});
  return items;
}

std::string host_name(const store::SeenDaemonInstance& daemon) {
  return daemon.instance.host.substr(0, daemon.instance.host.find(' '));
}

}  // namespace giftsync::sync
