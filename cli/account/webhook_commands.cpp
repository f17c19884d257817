// cli: `webhook`: where events are posted (HOOK-8 to HOOK-13).
#include <fmt/format.h>
#include <sysexits.h>

#include <limits>
#include <memory>
#include <utility>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/day_or_time.h"
#include "cli/listing.h"
#include "daemon/webhooks/webhook_changes.h"
#include "daemon/wiring/server_secret.h"
#include "platform/keys.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

using store::WebhookEndpoint;

webhooks::PostOptions post_options(const CliContext& ctx) {
  return webhooks::post_options(ctx.settings.webhooks.allowed_networks, ctx.settings.webhooks.ca_file);
}

webhooks::Seal seal_of(CliContext& ctx) {
  return [secret = wiring::load_server_secret(ctx.settings, ctx.store)](std::string_view text) {
    return seal_text(secret, store::kWebhookSecretLabel, text);
  };
}

/// `endpoint`: whose events it gets decides who sees the audit event.
store::AuditEvent event_of(const Console& console, const std::string& verb, const WebhookEndpoint& endpoint,
                           const std::string& detail = {}) {
  store::AuditEvent event = command_event(console, "webhook." + verb, {}, detail);
  event.object_kind = "webhook";
  event.object_id = endpoint.name;
  event.organization = endpoint.organization;
  return event;
}

int fail(const Console& console, const webhooks::WebhookFault& fault) {
  const std::string field = fault.field.empty() ? "" : "--" + fault.field + ": ";
  return console.fail(EX_DATAERR, printable(field + fault.message));
}

/// The endpoint with that name; otherwise prints the message and returns the exit code.
tl::expected<WebhookEndpoint, int> find_endpoint(const Console& console, CliContext& ctx,
                                                 const std::string& name) {
  if (auto found = ctx.store.webhooks.find(name)) return std::move(*found);
  return tl::make_unexpected(console.fail(
      EX_DATAERR,
      fmt::format("there is no webhook {}; \"giftsyncctl webhook list\" shows them", in_quotes(name))));
}

void describe(ListedRow& row, CliContext& ctx, const store::FeedState& feed,
              const WebhookEndpoint& endpoint) {
  const webhooks::WebhookBacklog backlog = webhooks::backlog_of(feed, endpoint);
  const store::WebhookRetryCounts retries = ctx.store.webhooks.count_retries(endpoint.id);
  const bool is_failing = endpoint.state == WebhookState::failing;
  row.add("name", {"NAME"}, endpoint.name);
  row.add("state", {"STATE"}, to_word(endpoint.state));
  row.add("state_since", {"SINCE (UTC)"}, std::optional(endpoint.state_since));
  row.add("waiting_events", {"BEHIND", ListedRow::Kind::number}, backlog.waiting);
  row.add("retries", {"RETRIES", ListedRow::Kind::number}, retries.waiting);
  row.add("given_up", {"GIVEN UP", ListedRow::Kind::number}, retries.given_up);
  row.add("url", {"URL", ListedRow::Kind::elastic}, endpoint.url);
  row.add_json("types", endpoint.types.empty() ? Json("*") : Json(endpoint.types));
  row.add_json("owner", text_or_null(webhooks::owner_of(ctx.store, endpoint)));
  row.add_json("test", endpoint.is_test);
  row.add_json("lost_events", backlog.lost);
  row.add_json("reason", text_or_null(endpoint.reason));
  row.add_json("next_attempt_at",
               json_time(is_failing ? std::optional(endpoint.next_attempt_at) : std::nullopt));
  row.add_json("previous_secret_until", json_time(endpoint.previous_until));
  row.add_json("attempts", endpoint.attempts);
  row.add_json("created_at", json_time(endpoint.created_at));
  row.add_json("created_by", endpoint.created_by);
  if (!endpoint.reason.empty()) row.set_below(endpoint.reason);
}

struct CreateOptions {
  std::string name;
  std::string url;
  std::vector<std::string> types;
  std::string account;
  std::string organization;
  bool test = false;
  bool json = false;
};

int create(const Console& console, CliContext& ctx, const CreateOptions& options) {
  WebhookEndpoint endpoint;
  if (!options.account.empty()) {
    const auto account = ctx.store.accounts.find_by_email(options.account);
    if (!account)
      return console.fail(
          EX_DATAERR,
          fmt::format("--account: there is no account {}; \"giftsyncctl account list\" shows them",
                      in_quotes(options.account)));
    endpoint.account = account->id;
  }
  if (!options.organization.empty()) {
    const auto organization = ctx.store.organizations.find_by_name(options.organization);
    if (!organization)
      return console.fail(
          EX_DATAERR,
          fmt::format(
              "--organization: there is no organization {}; \"giftsyncctl organization list\" shows them",
              in_quotes(options.organization)));
    endpoint.organization = organization->id;
  }
  const auto name = webhooks::checked_name(options.name);
  if (!name) return fail(console, name.error());
  const auto types = webhooks::checked_types(options.types);
  if (!types) return fail(console, types.error());
  const auto url = webhooks::checked_url(options.url, post_options(ctx));
  if (!url) return fail(console, url.error());
  endpoint.name = *name;
  endpoint.types = *types;
  endpoint.url = *url;
  endpoint.is_test = options.test;
  endpoint.created_by = os_user();
  const auto created =
      webhooks::create_webhook(ctx.store, endpoint, seal_of(ctx),
                               event_of(console, "create", endpoint, "--url " + endpoint.url), console.now());
  if (!created) return fail(console, created.error());
  const Json shown{{"name", endpoint.name}, {"url", endpoint.url}, {"secret", created->secret}};
  console.out << (options.json ? json_text(shown, 2) : created->secret) << std::endl;
  console.info(
      fmt::format("This secret is shown only now; the receiver verifies signatures with it. Events from now "
                  "on are posted; "
                  "\"giftsyncctl webhook test {}\" posts one at once.",
                  shell_word(endpoint.name)));
  return EX_OK;
}

int list(const Console& console, CliContext& ctx, const bool& json) {
  const store::FeedState feed = ctx.store.feed.state();
  Listing listing(console.out, json);
  const auto endpoints = ctx.store.webhooks.list();
  for (const WebhookEndpoint& endpoint : endpoints)
    listing.add([&](ListedRow& row) { describe(row, ctx, feed, endpoint); });
  listing.finish();
  if (endpoints.empty() && !json)
    console.info("There is no webhook; \"giftsyncctl webhook create --help\" shows how to make one.");
  return EX_OK;
}

struct NamedOptions {
  std::string name;
  bool json = false;
};

int show(const Console& console, CliContext& ctx, const NamedOptions& options) {
  const auto endpoint = find_endpoint(console, ctx, options.name);
  if (!endpoint) return endpoint.error();
  const store::FeedState feed = ctx.store.feed.state();
  if (options.json) {
    ListedRow row(true);
    describe(row, ctx, feed, *endpoint);
    console.out << json_text(row.json(), 2) << '\n';
    return EX_OK;
  }
  const auto line = [&](std::string_view title, const std::string& text) {
    if (!text.empty()) console.out << fmt::format("{:<12}{}\n", title, printable(text));
  };
  const webhooks::WebhookBacklog backlog = webhooks::backlog_of(feed, *endpoint);
  const store::WebhookRetryCounts retries = ctx.store.webhooks.count_retries(endpoint->id);
  line("Name", endpoint->name);
  line("URL", endpoint->url);
  line("Types", endpoint->types.empty() ? "all" : endpoint->types);
  const std::string owner = webhooks::owner_of(ctx.store, *endpoint);
  line("Events of", owner.empty() ? "all accounts" : owner);
  if (endpoint->is_test) line("Test", "test gifts alone");
  line("State", fmt::format("{} since {} UTC", to_word(endpoint->state), minute_text(endpoint->state_since)));
  line("Reason", endpoint->reason);
  if (endpoint->state == WebhookState::failing)
    line("Next test", minute_text(endpoint->next_attempt_at) + " UTC");
  line("Behind", pluralize(backlog.waiting, "event"));
  if (backlog.lost > 0)
    line("LOST", pluralize(backlog.lost, "event") + " that the feed does not have any more");
  line("Retries", fmt::format("{} waiting, {} given up", retries.waiting, retries.given_up));
  if (endpoint->previous_until && console.now() < *endpoint->previous_until)
    line("Rotation",
         fmt::format("the former secret signs until {} UTC", minute_text(endpoint->previous_until)));
  line("Created", fmt::format("{} UTC by {}", minute_text(endpoint->created_at), endpoint->created_by));
  return EX_OK;
}

struct UpdateOptions {
  std::string name;
  std::optional<std::string> new_name;
  std::optional<std::string> url;
  std::vector<std::string> types;
  bool all_types = false;
};

int update(const Console& console, CliContext& ctx, const UpdateOptions& options) {
  auto endpoint = find_endpoint(console, ctx, options.name);
  if (!endpoint) return endpoint.error();
  if (!options.new_name && !options.url && options.types.empty() && !options.all_types)
    return console.fail(EX_USAGE, "give --new-name, --url, --types or --all-types");
  if (options.new_name) {
    const auto name = webhooks::checked_name(*options.new_name);
    if (!name) return fail(console, name.error());
    endpoint->name = *name;
  }
  if (options.url) {
    const auto url = webhooks::checked_url(*options.url, post_options(ctx));
    if (!url) return fail(console, url.error());
    endpoint->url = *url;
  }
  if (!options.types.empty() || options.all_types) {
    const auto types = webhooks::checked_types(options.types);
    if (!types) return fail(console, types.error());
    endpoint->types = *types;
  }
  const auto updated = webhooks::update_webhook(
      ctx.store, *endpoint, event_of(console, "update", *endpoint, "--url " + endpoint->url));
  if (!updated) return fail(console, updated.error());
  console.info(
      fmt::format("Webhook {} is changed; the daemon uses it within seconds.", in_quotes(endpoint->name)));
  return EX_OK;
}

struct DeleteOptions {
  std::string name;
  bool yes = false;
};

int remove(const Console& console, CliContext& ctx, const DeleteOptions& options) {
  const auto endpoint = find_endpoint(console, ctx, options.name);
  if (!endpoint) return endpoint.error();
  if (const auto refused = refuse_unconfirmed(
          console, options.yes,
          fmt::format("Delete webhook {} with its place and its attempts?", in_quotes(endpoint->name))))
    return *refused;
  ctx.store.webhooks.remove(endpoint->id, event_of(console, "delete", *endpoint));
  console.info(fmt::format("Webhook {} is deleted.", in_quotes(endpoint->name)));
  return EX_OK;
}

struct RotateOptions {
  std::string name;
  std::string grace = "24h";
  bool force = false;
};

Check rotation_grace() {
  return {[](const std::string& text) -> std::string {
    const auto millis = parse_duration(text);
    if (millis && *millis <= webhooks::kMaxGraceMillis) return {};
    return fmt::format("found {}; allowed: a duration of at most 7d, such as 24h, or 0", in_quotes(text));
  }};
}

int rotate(const Console& console, CliContext& ctx, const RotateOptions& options) {
  const auto endpoint = find_endpoint(console, ctx, options.name);
  if (!endpoint) return endpoint.error();
  const auto secret = webhooks::rotate_webhook_secret(
      ctx.store, *endpoint, *parse_duration(options.grace), options.force, seal_of(ctx),
      event_of(console, "rotate", *endpoint, "--grace " + options.grace), console.now());
  if (!secret) return fail(console, secret.error());
  console.out << *secret << std::endl;
  console.info(fmt::format("This secret is shown only now. {}",
                           options.grace == "0" ? "The former one signs nothing any more."
                                                : "The former one also signs for " + options.grace +
                                                      ": two signatures, this one first."));
  return EX_OK;
}

int test(const Console& console, CliContext& ctx, const NamedOptions& options) {
  const auto endpoint = find_endpoint(console, ctx, options.name);
  if (!endpoint) return endpoint.error();
  const wiring::ServerSecrets secrets = wiring::load_server_secrets(ctx.settings, ctx.store);
  const auto posted = webhooks::test_webhook(
      ctx.store, *endpoint, post_options(ctx),
      [&secrets](const std::string& sealed) {
        return wiring::open_sealed_text(secrets, store::kWebhookSecretLabel, sealed);
      },
      console.now());
  if (!posted)
    return console.fail(EX_DATAERR, fmt::format("the secret was sealed with another server secret; "
                                                "\"giftsyncctl webhook rotate {} --force\" makes a new one",
                                                shell_word(endpoint->name)));
  console.out << printable(posted->describe()) << '\n';
  if (sync::outcome_of(posted->response) == sync::WebhookOutcome::accepted) return EX_OK;
  return console.fail(EX_UNAVAILABLE,
                      "the receiver did not take the test; it must answer with a status from 200 to 299");
}

void tell_backlog(const Console& console, const webhooks::WebhookBacklog& backlog) {
  console.info(fmt::format(
      "{} behind its place, of all types and accounts.{}", pluralize(backlog.waiting, "event"),
      backlog.lost == 0
          ? ""
          : fmt::format(" {} before them are not in the feed any more.", pluralize(backlog.lost, "event"))));
}

struct ReplayOptions {
  std::string name;
  std::string since;
};

int replay(const Console& console, CliContext& ctx, const ReplayOptions& options) {
  const auto endpoint = find_endpoint(console, ctx, options.name);
  if (!endpoint) return endpoint.error();
  const auto since = parse_day_or_time(options.since, console.now());
  tell_backlog(console,
               webhooks::replay_webhook(ctx.store, *endpoint, *since,
                                        event_of(console, "replay", *endpoint, "--since " + options.since)));
  return EX_OK;
}

struct RetryEventsOptions {
  std::string name;
  std::optional<std::int64_t> event;
};

int retry(const Console& console, CliContext& ctx, const RetryEventsOptions& options) {
  const auto endpoint = find_endpoint(console, ctx, options.name);
  if (!endpoint) return endpoint.error();
  const std::int64_t count = ctx.store.webhooks.retry_now(endpoint->id, options.event, console.now(),
                                                          event_of(console, "retry", *endpoint));
  if (count == 0 && options.event)
    return console.fail(EX_DATAERR, fmt::format("event {} neither waits for a retry nor was given up; "
                                                "\"giftsyncctl webhook replay\" posts others again",
                                                *options.event));
  if (endpoint->state == WebhookState::disabled) {
    console.info(fmt::format("{} {} tried once the webhook is enabled.", pluralize(count, "event"),
                             plural_verb(count, "is", "are")));
  } else {
    console.info(fmt::format("{} {} tried now.", pluralize(count, "event"), plural_verb(count, "is", "are")));
    if (endpoint->state == WebhookState::failing)
      console.info("The webhook is failing: one event tests it now, and the others follow its success.");
  }
  return EX_OK;
}

struct EnableOptions {
  std::string name;
  std::string from;
};

int enable(const Console& console, CliContext& ctx, const EnableOptions& options) {
  const auto endpoint = find_endpoint(console, ctx, options.name);
  if (!endpoint) return endpoint.error();
  std::optional<UtcMillis> from;
  if (options.from == "now")
    from = UtcMillis{std::numeric_limits<std::int64_t>::max()};
  else if (!options.from.empty())
    from = parse_day_or_time(options.from, console.now());
  const std::string detail = options.from.empty() ? "" : "--from " + options.from;
  const auto backlog = webhooks::enable_webhook(
      ctx.store, *endpoint, from, event_of(console, "enable", *endpoint, detail), console.now());
  console.info(fmt::format("Webhook {} is enabled.", in_quotes(endpoint->name)));
  tell_backlog(console, backlog);
  return EX_OK;
}

struct DisableOptions {
  std::string name;
  std::string reason;
};

int disable(const Console& console, CliContext& ctx, const DisableOptions& options) {
  const auto endpoint = find_endpoint(console, ctx, options.name);
  if (!endpoint) return endpoint.error();
  const std::string reason = options.reason.empty() ? "by " + os_user() : options.reason;
  webhooks::disable_webhook(ctx.store, *endpoint, reason, event_of(console, "disable", *endpoint, reason),
                            console.now());
  console.info(
      fmt::format("Webhook {} is disabled: within two seconds no attempt begins. Its place stays, and "
                  "events wait for \"giftsyncctl webhook enable\" while the feed keeps them.",
                  in_quotes(endpoint->name)));
  return EX_OK;
}

struct AttemptsOptions {
  std::string name;
  bool failed = false;
  std::int64_t limit = 100;
  bool json = false;
};

int attempts(const Console& console, CliContext& ctx, const AttemptsOptions& options) {
  const auto endpoint = find_endpoint(console, ctx, options.name);
  if (!endpoint) return endpoint.error();
  Listing listing(console.out, options.json);
  std::int64_t below = std::numeric_limits<std::int64_t>::max();
  std::int64_t left = options.limit;
  while (left > 0) {
    const auto page = ctx.store.webhooks.list_attempts(
        endpoint->id, options.failed, below,
        static_cast<std::size_t>(std::min<std::int64_t>(left, TextTable::kPageRows)));
    for (const store::WebhookAttempt& one : page)
      listing.add([&](ListedRow& row) {
        row.add("event", {"EVENT", ListedRow::Kind::number}, one.seq);
        row.add("attempt", {"TRY", ListedRow::Kind::number}, one.attempt);
        row.add("started_at", {"AT (UTC)"}, std::optional(one.started_at));
        row.add("millis", {"MILLIS", ListedRow::Kind::number}, one.millis);
        row.add("status", {"STATUS", ListedRow::Kind::number}, one.status);
        row.add("error", {"ERROR", ListedRow::Kind::elastic}, one.error);
        row.add("response", {"RESPONSE", ListedRow::Kind::elastic_last}, one.response);
        row.add_json("failed", one.failed);
      });
    if (page.empty()) break;
    below = page.back().number;
    left -= static_cast<std::int64_t>(page.size());
  }
  listing.finish();
  return EX_OK;
}

template <class Options>
Command* named_verb(Commands& commands, Command& noun, const std::string& name, const std::string& about,
                    const std::vector<std::string>& examples, const std::shared_ptr<Options>& options) {
  Command* verb = commands.verb(noun, name, about, examples);
  verb->add_option("NAME", options->name, "Name of the webhook")->required();
  return verb;
}

void add_create(Commands& commands, Command& noun) {
  const auto options = std::make_shared<CreateOptions>();
  Command* verb = commands.verb(
      noun, "create",
      "Post events to a URL from now on. Prints only the secret on stdout, with which the receiver verifies "
      "signatures; it is shown only once.",
      {"webhook create --name crm --url https://crm.example.com/giftsync",
       "webhook create --name crm --url https://crm.example.com/giftsync --types 'gift.*' --account "
       "rose@example.com"});
  verb->add_option("--name", options->name, "What you call it")->required()->option_text("NAME REQUIRED");
  verb->add_option("--url", options->url,
                   "Where events are posted: https, or http into webhooks.allowed_networks")
      ->required()
      ->option_text("URL REQUIRED");
  verb->add_option("--types", options->types, "Only events of these types, such as gift.opened or gift.*")
      ->delimiter(',')
      ->option_text("TYPE,...");
  auto* const account =
      verb->add_option("--account", options->account, "Only events of this account")->option_text("EMAIL");
  verb->add_option("--organization", options->organization, "Only events of this organization's accounts")
      ->option_text("NAME")
      ->excludes(account);
  verb->add_flag("--test", options->test, "Events of test gifts, and no others");
  verb->add_flag("--json", options->json, "Print JSON, with the secret");
  commands.run(verb, options, create);
}

void add_update(Commands& commands, Command& noun) {
  const auto options = std::make_shared<UpdateOptions>();
  Command* verb = named_verb(commands, noun, "update", "Change the name, URL or types of a webhook.",
                             {"webhook update crm --url https://crm.example.com/v2",
                              "webhook update crm --types gift.redeemed,gift.donated"},
                             options);
  verb->add_option("--new-name", options->new_name, "Another name")->option_text("NAME");
  verb->add_option("--url", options->url, "Another URL")->option_text("URL");
  Option* types = verb->add_option("--types", options->types, "Only events of these types")
                      ->delimiter(',')
                      ->option_text("TYPE,...");
  verb->add_flag("--all-types", options->all_types, "Events of all types")->excludes(types);
  commands.run(verb, options, update);
}

void add_secret_verbs(Commands& commands, Command& noun) {
  const auto options = std::make_shared<RotateOptions>();
  Command* verb = named_verb(commands, noun, "rotate",
                             "Make a new secret, and print it. The present one also signs for a while.",
                             {"webhook rotate crm", "webhook rotate crm --grace 0 --force"}, options);
  verb->add_option("--grace", options->grace, "How long the present secret also signs (default 24h)")
      ->option_text("DURATION")
      ->check(rotation_grace());
  verb->add_flag("--force", options->force, "Also while a former secret still signs, which then ends");
  commands.run(verb, options, rotate);
  const auto tested = std::make_shared<NamedOptions>();
  verb = named_verb(commands, noun, "test",
                    "Post one event of type endpoint.test at once, also to a disabled webhook, and show the "
                    "response.",
                    {"webhook test crm"}, tested);
  commands.run(verb, tested, test);
}

void add_place_verbs(Commands& commands, Command& noun) {
  const auto replayed = std::make_shared<ReplayOptions>();
  Command* verb = named_verb(
      commands, noun, "replay", "Post events again that were recorded since a time, with the same ids.",
      {"webhook replay crm --since 2026-11-20", "webhook replay crm --since 6h"}, replayed);
  verb->add_option("--since", replayed->since, "A day, a time, or so long ago")
      ->required()
      ->option_text("TIME REQUIRED")
      ->check(day_or_time());
  commands.run(verb, replayed, replay);
  const auto retried = std::make_shared<RetryEventsOptions>();
  verb = named_verb(commands, noun, "retry", "Try events now that wait for a retry or were given up.",
                    {"webhook retry crm", "webhook retry crm --event 48213"}, retried);
  verb->add_option("--event", retried->event, "Only this event; webhook attempts shows its number")
      ->option_text("NUMBER");
  commands.run(verb, retried, retry);
  const auto enabled = std::make_shared<EnableOptions>();
  verb = named_verb(commands, noun, "enable",
                    "Post to a disabled webhook again, from its place on, and say how many events wait.",
                    {"webhook enable crm", "webhook enable crm --from now"}, enabled);
  verb->add_option("--from", enabled->from, "From another place on: now, a day, a time, or so long ago")
      ->option_text("TIME")
      ->check({[](const std::string& text) {
        return text == "now" ? std::string() : day_or_time().find_fault(text);
      }});
  commands.run(verb, enabled, enable);
  const auto disabled = std::make_shared<DisableOptions>();
  verb = named_verb(commands, noun, "disable",
                    "Post nothing more to a webhook. Its place stays; the feed keeps events for "
                    "feed.keep_days.",
                    {"webhook disable crm --reason 'receiver moves'"}, disabled);
  verb->add_option("--reason", disabled->reason, "Why, for the other admins")
      ->option_text("TEXT")
      ->check(plain_reason());
  commands.run(verb, disabled, disable);
}

void add_attempts(Commands& commands, Command& noun) {
  const auto options = std::make_shared<AttemptsOptions>();
  Command* verb =
      named_verb(commands, noun, "attempts",
                 "List the attempts to post to a webhook, the newest first, with the responses.",
                 {"webhook attempts crm --failed", "webhook attempts crm --limit 20 --json"}, options);
  verb->add_flag("--failed", options->failed, "Only attempts that failed");
  verb->add_option("--limit", options->limit, "At most N attempts (default 100)")
      ->option_text("N")
      ->check(whole_number());
  verb->add_flag("--json", options->json, "Print a JSON array");
  commands.run(verb, options, attempts);
}

}  // namespace

void add_webhook_commands(Commands& commands) {
  Command* noun = commands.noun("webhook", "Where events are posted");
  add_create(commands, *noun);
  Command* verb = commands.verb(*noun, "list", "List webhooks with their state and how far they are behind.",
                                {"webhook list", "webhook list --json"});
  commands.run(verb, json_flag(verb, "Print a JSON array"), list);
  const auto shown = std::make_shared<NamedOptions>();
  verb = named_verb(commands, *noun, "show", "Show one webhook.", {"webhook show crm"}, shown);
  verb->add_flag("--json", shown->json, "Print JSON");
  commands.run(verb, shown, show);
  add_update(commands, *noun);
  const auto deleted = std::make_shared<DeleteOptions>();
  verb = named_verb(commands, *noun, "delete", "Delete a webhook, with its place and its attempts.",
                    {"webhook delete crm --yes"}, deleted);
  add_yes_flag(*verb, deleted->yes);
  commands.run(verb, deleted, remove);
  add_secret_verbs(commands, *noun);
  add_place_verbs(commands, *noun);
  add_attempts(commands, *noun);
}

}  // namespace giftsync::cli
