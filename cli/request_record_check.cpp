#include "cli/request_record_check.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include "cli/commands.h"
#include "cli/daemon_report.h"
#include "cli/json_array_writer.h"
#include "cli/text_table.h"
#include "daemon/config/effective_settings.h"
#include "platform/plural.h"
#include "platform/quoted_text.h"
#include "sync/request_record_check.h"
#include "wiring/components_config.h"
#include "wiring/database_config.h"

namespace giftsync::cli {
namespace {

constexpr int kExitWithFindings = 1;

/// The check reads the file; the daemon may run with other settings of request records.
std::optional<sync::RequestRecordFinding> unloaded_settings(const daemon::config::Settings& settings) {
  const auto daemon =
      find_own_daemon(schema::store::DaemonInstances(wiring::store_dsn(settings.store)).list(),
                      place_of(settings), probe_daemon);
  const auto in_force =
      daemon ? daemon::config::effective_settings_from(daemon->instance.settings) : std::nullopt;
  if (!in_force) return std::nullopt;
  std::vector<std::string> keys;
  for (const auto& one : daemon::config::differences(*in_force, daemon::config::effective_settings(settings)))
    if (one.key.starts_with("requests.")) keys.push_back(one.key);
  if (keys.empty()) return std::nullopt;
  return sync::RequestRecordFinding{
      "settings", fmt::format("the daemon runs with another {} than the file", fmt::join(keys, ", ")),
      "systemctl reload giftsyncd", true};
}

std::optional<sync::RequestRecordCheck> check(CliContext& ctx, const std::string& number) {
  const sync::RequestRecordRules rules = wiring::request_record_rules(ctx.settings, ctx.store, *ctx.crm);
  auto checked = sync::check_request_record(ctx.store, *ctx.crm, rules, ctx.settings.requests.enabled, number,
                                            ctx.store.request_records.now());
  if (!checked || checked->is_sent) return checked;
  if (auto finding = unloaded_settings(ctx.settings))
    checked->findings.insert(checked->findings.begin(), std::move(*finding));
  return checked;
}

/// The command, for this settings file.
std::string next_step(const CliContext& ctx, const sync::RequestRecordFinding& finding) {
  constexpr std::string_view kProgram = "giftsyncctl ";
  if (!finding.command.starts_with(kProgram)) return finding.command;
  return program_with(ctx.settings) + finding.command.substr(kProgram.size());
}

Json finding_json(const CliContext& ctx, const sync::RequestRecordFinding& finding) {
  return {{"check", finding.check},
          {"message", finding.message},
          {"command", text_or_null(next_step(ctx, finding))},
          {"is_retried", finding.is_retried}};
}

Json check_json(const CliContext& ctx, const sync::RequestRecordCheck& check) {
  Json findings = Json::array();
  for (const sync::RequestRecordFinding& finding : check.findings)
    findings.push_back(finding_json(ctx, finding));
  return {{"Id", check.id},
          {"Name", check.number},
          {"Request_Status", check.status ? Json(to_word(*check.status)) : Json(nullptr)},
          {"sent", check.is_sent},
          {"findings", std::move(findings)}};
}

std::string next_line(const CliContext& ctx, const sync::RequestRecordFinding& finding) {
  const std::string command = next_step(ctx, finding);
  return "  next: " + (command.empty() ? "edit the record in the CRM" : printable(command));
}

void print_text(const Console& console, const CliContext& ctx, const sync::RequestRecordCheck& check) {
  if (check.findings.empty()) {
    fmt::print(console.out, "{}: {}\n", check.number,
               check.is_sent ? "its gift was sent" : "nothing keeps it from being sent");
    return;
  }
  fmt::print(console.out, "{}: {} {} it from being sent\n", check.number,
             platform::pluralize(check.findings.size(), "finding"),
             platform::plural_verb(check.findings.size(), "keeps", "keep"));
  for (const sync::RequestRecordFinding& finding : check.findings)
    fmt::print(console.out, "{}: {}\n{}\n", finding.check, printable(finding.message),
               next_line(ctx, finding));
}

}  // namespace

int print_request_record_check(const Console& console, CliContext& ctx, const std::string& number,
                               bool json) {
  const std::optional<sync::RequestRecordCheck> checked = check(ctx, number);
  if (!checked) {
    return console.fail(EX_DATAERR,
                        fmt::format("there is no request {}; \"giftsyncctl request list\" shows them",
                                    platform::in_quotes(number)));
  }
  if (json)
    fmt::print(console.out, "{}\n", json_text(check_json(ctx, *checked), 2));
  else
    print_text(console, ctx, *checked);
  return checked->findings.empty() ? EX_OK : kExitWithFindings;
}

void warn_of_findings(const Console& console, CliContext& ctx, const std::string& id) {
  const std::optional<sync::RequestRecordCheck> checked = check(ctx, id);
  if (!checked) return;
  for (const sync::RequestRecordFinding& finding : checked->findings) {
    console.info(fmt::format("warning: {} is not sent yet: {}: {}", checked->number, finding.check,
                             printable(finding.message)));
    console.info(next_line(ctx, finding));
  }
}

}  // namespace giftsync::cli
