#include "cli/request/request_record_detail.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include "cli/commands.h"
#include "cli/daemon_report.h"
#include "daemon/config/effective_settings.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/server_secret.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/gift/gift_links.h"
#include "sync/request/request_record_state_machine.h"
#include "sync/request/request_record_step.h"

namespace giftsync::cli {
namespace {

using F = RequestRecordField;

Json value_json(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* yes = std::get_if<bool>(&value)) return *yes;
  if (const auto* time = std::get_if<UtcMillis>(&value)) return json_time(*time);
  return nullptr;
}

std::string value_text(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text);
  if (const auto* yes = std::get_if<bool>(&value)) return *yes ? "yes" : "no";
  if (const auto* time = std::get_if<UtcMillis>(&value)) return to_rfc3339(*time);
  return {};
}

/// The rows of the store for a request record.
struct RecordDetail {
  std::optional<store::RequestRecordEntry> known;
  std::vector<store::RequestRecordTransition> transitions;
  std::optional<store::RequestRecordGift> sent;
  std::vector<store::RecipientTransaction> gifts;
  std::optional<sync::RequestUrls> links;  ///< for a gift issued as URLs
  std::string no_urls_reason;              ///< why such a gift has none
};

void load_urls(CliContext& ctx, const store::RecipientTransaction& gift, RecordDetail& detail) {
  if (const auto end = sync::urls_end_status(ctx.store.changes, gift)) {
    detail.no_urls_reason = fmt::format("no longer available: the gift was {}", to_word(*end));
    return;
  }
  try {
    const sync::LinkSigner signer(wiring::load_server_secret(ctx.settings, ctx.store));
    detail.links = sync::request_urls(sync::GiftLinks(ctx.settings.server.base_url, signer), gift);
  } catch (const wiring::ConfigError& fault) {
    // This user cannot read the secret, which signs the URLs.
    detail.no_urls_reason = fmt::format("not shown: {}", fault.what());
  }
}

RecordDetail load_detail(CliContext& ctx, const std::string& id) {
  RecordDetail detail;
  const std::span ids(&id, 1);
  const auto known = ctx.store.request_records.find(ids);
  if (!known.empty()) detail.known = known.front();
  detail.transitions = ctx.store.request_records.find_transitions(id);
  const auto sent = ctx.store.request_records.find_gifts_by_record(ids);
  if (sent.empty()) return detail;
  detail.sent = sent.front();
  detail.gifts = ctx.store.gifts.find_recipients(sent.front().gift_request);
  const auto request = ctx.store.gifts.find_gift_request(sent.front().gift_request);
  if (request && request->mode == SendMode::urls && !detail.gifts.empty())
    load_urls(ctx, detail.gifts.front(), detail);
  return detail;
}

/// A request record that was deleted in the CRM, built from the rows of the store.
std::optional<RequestRecord> deleted_request(CliContext& ctx, const std::string& number) {
  const auto known = ctx.store.request_records.find_by_number_or_id(number);
  if (!known) return std::nullopt;
  RequestRecord row;
  row.id = known->record_id;
  row.set(F::number, known->number);
  row.set(F::status, std::string(to_word(sync::crm_status_for(known->state))));
  if (!known->error.empty()) row.set(F::error_log, known->error);
  return row;
}

Json record_detail_json(const RequestRecord& row, const RecordDetail& detail) {
  Json json = request_json(row);
  json["deleted"] = detail.known && detail.known->deleted;
  json["state"] = detail.known ? Json(to_word(detail.known->state)) : Json(nullptr);
  json["requested_by"] = detail.known ? text_or_null(detail.known->requested_by) : Json(nullptr);
  json["approved_by"] = detail.known ? text_or_null(detail.known->approved_by) : Json(nullptr);
  json["next_attempt_at"] =
      detail.known && detail.known->failures > 0 ? json_time(detail.known->next_attempt_at) : Json(nullptr);
  Json transitions = Json::array();
  for (const store::RequestRecordTransition& transition : detail.transitions) {
    transitions.push_back({{"at", json_time(transition.at)},
                           {"actor", transition.who},
                           {"from", text_or_null(transition.from)},
                           {"to", transition.to},
                           {"comment", text_or_null(transition.comment)}});
  }
  json["transitions"] = std::move(transitions);
  json["gift_request_id"] = detail.sent ? Json(detail.sent->gift_request.value) : Json(nullptr);
  Json gifts = Json::array();
  for (const auto& gift : detail.gifts) gifts.push_back(gift.id.value);
  json["recipient_transaction_ids"] = std::move(gifts);
  json["gift_redemption_url"] = detail.links ? Json(detail.links->redemption_url) : Json(nullptr);
  json["gift_donation_url"] = detail.links ? Json(detail.links->donation_url) : Json(nullptr);
  return json;
}

void print_text(const Console& console, const RequestRecord& row, const RecordDetail& detail) {
  std::size_t width = 0;
  for (const FieldDescriptor& field : kRequestRecordFields) width = std::max(width, field.label.size());
  const auto print = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) fmt::print(console.out, "{:<{}}  {}\n", label, width, value);
  };
  for (std::size_t i = 0; i < kRequestRecordFieldCount; ++i)
    print(kRequestRecordFields[i].label, value_text(row.get(static_cast<F>(i))));
  if (detail.known) {
    print("Requested by", printable(detail.known->requested_by));
    print("Deleted", detail.known->deleted ? "in the CRM; these are the values of the store" : "");
  }
  if (detail.sent) print("Gift request", std::to_string(detail.sent->gift_request.value));
  for (const auto& gift : detail.gifts)
    print("Gift", fmt::format("{0} (giftsyncctl gift show {0})", gift.id.value));
  if (detail.links) {
    print("Redemption URL", detail.links->redemption_url);
    print("Donation URL", detail.links->donation_url);
  }
  print("URLs", printable(detail.no_urls_reason));
  fmt::print(console.out, "\n");
  TextTable table(console.out, {{"WHEN"}, {"FROM"}, {"TO"}, {"ACTOR", TextTable::Kind::elastic}});
  for (const store::RequestRecordTransition& transition : detail.transitions)
    table.add({to_rfc3339(transition.at), transition.from, transition.to, printable(transition.who)},
              printable(transition.comment));
  table.finish();
}

}  // namespace

Json request_json(const RequestRecord& record) {
  Json json{{"Id", record.id}};
  for (std::size_t i = 0; i < kRequestRecordFieldCount; ++i)
    json[std::string(kRequestRecordFields[i].name)] = value_json(record.get(static_cast<F>(i)));
  return json;
}

Json request_record_summary(const RequestRecord& record) {
  return {{"Id", record.id}, {"Name", record.text(F::number)}, {"Request_Status", record.text(F::status)}};
}

std::string request_value_text(const RequestRecord& record, RequestRecordField field) {
  return value_text(record.get(field));
}

int show_request_record(const Console& console, CliContext& ctx, const std::string& number, bool json) {
  auto row = ctx.crm->request_records()->find_one(number);
  if (!row) row = deleted_request(ctx, number);
  if (!row) {
    return console.fail(
        EX_DATAERR,
        fmt::format("there is no request {}; \"giftsyncctl request list\" shows them", in_quotes(number)));
  }
  const RecordDetail detail = load_detail(ctx, row->id);
  if (json) {
    fmt::print(console.out, "{}\n", json_text(record_detail_json(*row, detail), 2));
    if (!detail.no_urls_reason.empty()) console.info("The gift's URLs: " + detail.no_urls_reason + ".");
  } else {
    print_text(console, *row, detail);
  }
  return EX_OK;
}

namespace {

constexpr int kExitWithFindings = 1;

/// The check reads the file; the daemon may run with other settings of request records.
std::optional<sync::RequestRecordFinding> unloaded_settings(const config::Settings& settings) {
  const auto daemon = find_own_daemon(store::DaemonInstances(wiring::store_dsn(settings.store)).list(),
                                      place_of(settings), probe_daemon);
  const auto in_force = daemon ? config::effective_settings_from(daemon->instance.settings) : std::nullopt;
  if (!in_force) return std::nullopt;
  std::vector<std::string> keys;
  for (const auto& effective_setting : config::differences(*in_force, config::effective_settings(settings)))
    if (effective_setting.key.starts_with("requests.")) keys.push_back(effective_setting.key);
  if (keys.empty()) return std::nullopt;
  return sync::RequestRecordFinding{
      "settings", fmt::format("the daemon runs with another {} than the file", fmt::join(keys, ", ")),
      "systemctl reload giftsyncd", true};
}

std::optional<sync::RequestRecordCheck> check(CliContext& ctx, const std::string& number) {
  const sync::RequestRecordRules rules = wiring::request_record_rules(ctx.settings, ctx.store, *ctx.crm);
  auto checked =
      sync::check_request_record(ctx.store.request_records, ctx.store.catalogue, *ctx.crm, rules,
                                 ctx.settings.requests.enabled, number, ctx.store.request_records.now());
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
             pluralize(check.findings.size(), "finding"),
             plural_verb(check.findings.size(), "keeps", "keep"));
  for (const sync::RequestRecordFinding& finding : check.findings)
    fmt::print(console.out, "{}: {}\n{}\n", finding.check, printable(finding.message),
               next_line(ctx, finding));
}

}  // namespace

int print_request_record_check(const Console& console, CliContext& ctx, const std::string& number,
                               bool json) {
  const std::optional<sync::RequestRecordCheck> checked = check(ctx, number);
  if (!checked) {
    return console.fail(
        EX_DATAERR,
        fmt::format("there is no request {}; \"giftsyncctl request list\" shows them", in_quotes(number)));
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
