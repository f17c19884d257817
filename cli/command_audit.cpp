#include "cli/command_audit.h"

#include <algorithm>

#include "daemon/wiring/database_config.h"
#include "platform/text.h"

namespace giftsync::cli {
namespace {

constexpr CommandEffect kEffects[] = {
    {"db version", Effect::reading},
    {"db migrate", Effect::own},
    {"db accept-server", Effect::own},
    {"db restored", Effect::own},
    {"db check", Effect::own},
    {"account create", Effect::changing, "account", "--email", "--plan --organization --with-key"},
    {"account list", Effect::reading},
    {"account set-plan", Effect::changing, "account", "EMAIL", "--plan"},
    {"account activate", Effect::changing, "account", "EMAIL"},
    {"account deactivate", Effect::changing, "account", "EMAIL"},
    {"account set-organization", Effect::changing, "account", "EMAIL", "--organization --none"},
    {"organization create", Effect::changing, "organization", "--name"},
    {"organization list", Effect::reading},
    {"organization rotate", Effect::changing, "organization", "NAME", "--grace"},
    {"organization revoke", Effect::changing, "organization"},
    {"organization pause-token", Effect::changing, "organization"},
    {"organization release-token", Effect::changing, "organization"},
    {"key create", Effect::changing, "key", "", "--account --name --scope --test"},
    {"key list", Effect::reading},
    {"key revoke", Effect::changing, "key"},
    {"key rotate", Effect::changing, "key", "", "--grace"},
    {"key pause", Effect::changing, "key", "", "--reason"},
    {"key release", Effect::changing, "key"},
    {"item import", Effect::changing, "item", "", "FILE"},
    {"item list", Effect::reading},
    {"item codes import", Effect::changing, "item", "ITEM_ID", "FILE"},
    {"item codes list", Effect::reading},
    {"crm check", Effect::reading},
    {"crm setup", Effect::outside},
    {"crm list", Effect::reading},
    {"crm show", Effect::reading},
    {"crm accept-org", Effect::changing, "crm", "ID"},
    {"crm retry", Effect::own},
    {"crm messages create", Effect::changing, "crm-message-url"},
    {"crm messages list", Effect::reading},
    {"crm messages rotate", Effect::changing, "crm-message-url", "", "--grace"},
    {"crm messages delete", Effect::changing, "crm-message-url"},
    {"crm import", Effect::changing, "crm", "--object", "FILE"},
    {"gift list", Effect::reading},
    {"gift show", Effect::reading},
    {"gift link", Effect::changing, "gift", "ID", "--contact --lead --none --by-rules --reason"},
    {"gift resend", Effect::changing, "gift", "ID", "--email"},
    {"gift cancel", Effect::changing, "gift", "ID"},
    {"gift extend", Effect::changing, "gift", "ID", "--until"},
    {"gift export", Effect::reading},
    {"gift validate", Effect::reading},
    {"gift purge-test", Effect::changing, "gift", "", "--older"},
    {"mail list", Effect::reading},
    {"mail retry", Effect::own},
    {"mail pause", Effect::changing, "mail", "", "--reason"},
    {"mail resume", Effect::changing, "mail"},
    {"do-not-send list", Effect::reading},
    {"do-not-send add", Effect::changing, "do-not-send"},
    {"do-not-send remove", Effect::changing, "do-not-send"},
    {"do-not-send import", Effect::changing, "do-not-send"},
    {"do-not-send check", Effect::reading},
    {"budget list", Effect::reading},
    {"budget set", Effect::own},
    {"budget unset", Effect::own},
    {"budget check", Effect::reading},
    {"held list", Effect::reading},
    {"held show", Effect::reading},
    {"held approve", Effect::own},
    {"held reject", Effect::own},
    {"person export", Effect::own},
    {"person erase", Effect::own},
    {"change import", Effect::changing, "change", "", "FILE"},
    {"change list", Effect::reading},
    {"change void", Effect::changing, "change", "ID", "--reason"},
    {"change restore", Effect::changing, "change", "ID", "--reason"},
    {"change purge", Effect::changing, "source", "--source", "--orphaned --older-than"},
    {"source list", Effect::reading},
    {"source quarantine", Effect::reading},
    {"source purge", Effect::changing, "source", "NAME", "--reason"},
    {"source refused", Effect::reading},
    {"source try", Effect::reading},
    {"source reset-cursor", Effect::changing, "source", "NAME"},
    {"source set-cursor", Effect::changing, "source"},
    {"webhook create", Effect::own},
    {"webhook list", Effect::reading},
    {"webhook show", Effect::reading},
    {"webhook update", Effect::own},
    {"webhook delete", Effect::own},
    {"webhook rotate", Effect::own},
    {"webhook test", Effect::outside},
    {"webhook replay", Effect::own},
    {"webhook retry", Effect::own},
    {"webhook enable", Effect::own},
    {"webhook disable", Effect::own},
    {"webhook attempts", Effect::reading},
    {"match", Effect::reading},
    {"rematch", Effect::changing, "gift", "", "--unmatched --converted"},
    {"task list", Effect::reading},
    {"request create", Effect::changing, "request"},
    {"request list", Effect::reading},
    {"request show", Effect::reading},
    {"request check", Effect::reading},
    {"request approve", Effect::changing, "request", "", "--comment"},
    {"request reject", Effect::changing, "request", "", "--comment"},
    {"request retry", Effect::changing, "request", "", "--all"},
    {"backfill gift-records", Effect::changing, "crm", "", "--recreate --restart"},
    {"backfill status-timestamps", Effect::changing, "crm", "", "--restart"},
    {"sso list", Effect::reading},
    {"sso show", Effect::reading},
    {"sso check", Effect::reading},
    {"sso sign-in-test", Effect::reading},
    {"sso route", Effect::reading},
    {"user create", Effect::own},
    {"user list", Effect::reading},
    {"user grant", Effect::own},
    {"user revoke", Effect::own},
    {"user activate", Effect::own},
    {"user deactivate", Effect::own},
    {"user unlink", Effect::own},
    {"console sign-in-link", Effect::own},
    {"session list", Effect::reading},
    {"session end", Effect::own},
    {"audit list", Effect::reading},
    {"report", Effect::reading},
    {"status", Effect::reading},
    {"settings show", Effect::reading},
    {"secret rotate", Effect::changing, "server-secret"},
    {"secret show", Effect::reading},
};

}  // namespace

std::span<const CommandEffect> command_effects() {
  return kEffects;
}

const CommandEffect* find_effect(std::string_view verb) {
  const auto* found = std::find_if(std::begin(kEffects), std::end(kEffects),
                                   [&](const CommandEffect& effect) { return effect.verb == verb; });
  return found == std::end(kEffects) ? nullptr : found;
}

namespace {

constexpr CommandEffect kNone{};

const CommandEffect& effect_of(const Command& verb) {
  const CommandEffect* found = find_effect(name_of_verb(verb));
  return found ? *found : kNone;
}

/// The words of an option; the name of a flag that was given.
std::string value_of(const Command& verb, std::string_view name) {
  const Option* option = name.empty() ? nullptr : verb.find(name);
  if (option == nullptr || !option->is_given) return {};
  if (option->is_flag()) return std::string(name);
  std::string text;
  for (const std::string& word : option->words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::string detail_of(const Command& verb, std::string_view options) {
  std::string detail;
  while (!options.empty()) {
    const std::string_view name = options.substr(0, options.find(' '));
    options.remove_prefix(std::min(name.size() + 1, options.size()));
    const std::string value = value_of(verb, name);
    if (value.empty()) continue;
    detail += detail.empty() ? "" : " ";
    detail += value == name || !name.starts_with("--") ? value : std::string(name) + " " + value;
  }
  return detail;
}

}  // namespace

std::string name_of_verb(const Command& verb) {
  return verb.parent && verb.parent->parent ? name_of_verb(*verb.parent) + " " + verb.name : verb.name;
}

CommandAudit::CommandAudit(const Console& console, const config::Settings& settings, const Command& verb)
    : console_(console),
      settings_(settings),
      effect_(effect_of(verb)),
      object_(value_of(verb, effect_.id)),
      detail_(detail_of(verb, effect_.detail)) {}

void CommandAudit::begin(store::Store& store) {
  store_ = &store;
  if (effect_.effect != Effect::changing) return;
  next_change_.emplace(wiring::store_dsn(settings_.store));
  if (!effect_.id.empty()) next_change_->set_event(event());
}

void CommandAudit::set_object(const std::string& id, const std::string& detail) {
  object_ = id;
  if (!detail.empty()) detail_ = detail;
  if (next_change_) next_change_->set_event(event());
}

void CommandAudit::add_total(const std::string& detail) {
  if (!next_change_ || !next_change_->has_inserted()) return;
  next_change_->drop_event();  // of a change that was not made
  store::AuditEvent total = event();
  total.detail = detail;
  std::replace(total.detail.begin(), total.detail.end(), '\n', ' ');
  store_->audit.add(total);
}

store::AuditEvent CommandAudit::event() const {
  std::string action(effect_.verb);
  std::replace(action.begin(), action.end(), ' ', '.');
  const auto gift = parse_number<std::int64_t>(object_);
  store::AuditEvent made = effect_.kind == "gift" && gift
                               ? gift_command_event(console_, *store_, action, {*gift})
                               : command_event(console_, action, {});
  made.object_kind = effect_.kind;
  made.object_id = object_;
  made.detail = detail_;
  return made;
}

void audit_object(const Console& console, const std::string& id, const std::string& detail) {
  if (console.audit) console.audit->set_object(id, detail);
}

void audit_total(const Console& console, const std::string& detail) {
  if (console.audit) console.audit->add_total(detail);
}

}  // namespace giftsync::cli
