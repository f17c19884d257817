// cli: `gift link`.
#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/gift_detail.h"
#include "cli/json_array_writer.h"
#include "cli/os_user.h"
#include "cli/rematch_rules.h"
#include "cli/sync_drainer.h"
#include "cli/text_table.h"
#include "platform/text.h"
#include "sync/link_gift.h"

namespace giftsync::cli {
namespace {

using Kind = sync::LinkOutcome::Kind;
using Target = sync::LinkTarget::Kind;

constexpr std::size_t kMaxReasonChars = 255;

struct LinkOptions {
  std::int64_t id = 0;
  std::string contact;
  std::string lead;
  bool none = false;
  bool by_rules = false;
  std::string reason;
  bool json = false;
};

/// Empty without exactly one target.
std::optional<sync::LinkTarget> target_of(const LinkOptions& options) {
  std::vector<sync::LinkTarget> targets;
  if (!options.contact.empty()) targets.push_back({Target::contact, options.contact});
  if (!options.lead.empty()) targets.push_back({Target::lead, options.lead});
  if (options.none) targets.push_back({Target::none, ""});
  if (options.by_rules) targets.push_back({Target::by_rules, ""});
  return targets.size() == 1 ? std::optional(targets.front()) : std::nullopt;
}

std::string usage_fault(const LinkOptions& options) {
  if (!target_of(options)) return "gift link needs one of --contact ID, --lead ID, --none and --by-rules";
  const std::string_view reason = platform::trimmed(options.reason);
  if (!options.by_rules && reason.empty())
    return "gift link needs --reason: it is stored with the gift, for those who wonder later";
  if (platform::count_code_points(reason) > kMaxReasonChars)
    return fmt::format("--reason: found {} characters; allowed: at most {}",
                       platform::count_code_points(reason), kMaxReasonChars);
  return "";
}

/// Why the gift was not linked, with the exit code.
std::pair<int, std::string> failure_of(const LinkOptions& options, const sync::LinkOutcome& outcome) {
  switch (outcome.kind) {
    case Kind::unknown:
      return {EX_DATAERR, no_such_gift(options.id)};
    case Kind::undecided:
      return {EX_TEMPFAIL, fmt::format("gift {} is not matched yet; try again when the daemon has matched it",
                                       options.id)};
    case Kind::no_target:
      return {EX_DATAERR, options.contact.empty()
                              ? fmt::format("the CRM has no lead {}", printable(options.lead))
                              : fmt::format("the CRM has no contact {}", printable(options.contact))};
    default: {
      const bool may_retry = outcome.match.kind == sync::RematchResult::Kind::failed;
      return {may_retry ? EX_TEMPFAIL : EX_DATAERR,
              fmt::format("gift {} was not linked: {}", options.id, printable(outcome.match.detail))};
    }
  }
}

Json json_of(const LinkOptions& options, const sync::LinkOutcome& outcome) {
  const schema::Associations& to = outcome.match.to;
  const bool is_changed = outcome.kind != Kind::already;
  Json json = {{"recipient_transaction_id", options.id}, {"changed", is_changed}};
  if (!is_changed) return json;
  json["contact_id"] = text_or_null(to.contact_id);
  json["lead_id"] = text_or_null(to.lead_id);
  json["account_id"] = text_or_null(to.account_id);
  json["opportunity_id"] = text_or_null(to.opportunity_id);
  json["before"] = sync::describe(outcome.match.from);
  json["note"] = text_or_null(outcome.match.detail);
  return json;
}

std::string text_of(const LinkOptions& options, const sync::LinkOutcome& outcome) {
  if (outcome.kind == Kind::already)
    return fmt::format("Gift {} is {} already.", options.id,
                       options.by_rules ? "decided by the rules" : "linked so");
  return fmt::format("Gift {}: {}, before: {}{}.", options.id, printable(sync::describe(outcome.match.to)),
                     printable(sync::describe(outcome.match.from)),
                     outcome.match.detail.empty() ? "" : " (" + printable(outcome.match.detail) + ")");
}

int link(const Console& console, CliContext& ctx, const LinkOptions& options) {
  if (const std::string fault = usage_fault(options); !fault.empty()) return console.fail(EX_USAGE, fault);
  if (const auto refusal = refuse_unusable_crm(ctx.settings)) return refuse(console, *refusal);
  const sync::LinkOrder order{
      {options.id}, *target_of(options), os_user(), std::string(platform::trimmed(options.reason))};
  const sync::LinkOutcome outcome =
      sync::link_gift(ctx.store, *ctx.crm, rematch_rules(ctx), order, console.now());
  if (outcome.kind != Kind::linked && outcome.kind != Kind::already && outcome.kind != Kind::to_create) {
    const auto [code, message] = failure_of(options, outcome);
    return console.fail(code, message);
  }
  if (outcome.kind == Kind::to_create) {
    for (const std::string& message : SyncDrainer(console, ctx).write({order.gift}).messages)
      console.info(message);
  }
  if (options.json)
    console.out << json_text(json_of(options, outcome), 2) << '\n';
  else
    console.out << text_of(options, outcome) << '\n';
  return EX_OK;
}

}  // namespace

void add_gift_link_command(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<LinkOptions>();
  CLI::App* verb =
      commands.verb(noun, "link",
                    "Link a gift to the right contact or lead, or to no one. The link stays: no rematch "
                    "changes it, and \"gift "
                    "show\" tells who made it and why. A contact brings its account and its open "
                    "opportunity. Deal Stage is "
                    "never filled in.",
                    {"gift link 42 --contact 0035e00000AbCdE --reason \"Ada answered the mail\"",
                     "gift link 42 --none --reason \"a test address\"", "gift link 42 --by-rules"});
  verb->add_option("ID", options->id, "The gift's number")->required()->check(whole_number());
  verb->add_option("--contact", options->contact, "The contact's Id in the CRM")->option_text("ID");
  verb->add_option("--lead", options->lead, "The lead's Id in the CRM")->option_text("ID");
  verb->add_flag("--none", options->none, "The gift belongs to no one in the CRM");
  verb->add_flag("--by-rules", options->by_rules, "Let the matching rules decide again");
  verb->add_option("--reason", options->reason, "Why, for those who wonder later")->option_text("TEXT");
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, link);
}

}  // namespace giftsync::cli
