#include "cli/command_audit.h"

#include <algorithm>

#include "cli/console_audit.h"
#include "platform/text.h"
#include "wiring/database_config.h"

namespace giftsync::cli {
namespace {

constexpr CommandEffect kNone{};

const CommandEffect& effect_of(const CLI::App& verb) {
  const CommandEffect* found = find_effect(name_of_verb(verb));
  return found ? *found : kNone;
}

/// The words of an option; the name of a flag that was given.
std::string value_of(const CLI::App& verb, std::string_view name) {
  const CLI::Option* option = name.empty() ? nullptr : verb.get_option_no_throw(std::string(name));
  if (option == nullptr || option->count() == 0) return {};
  if (option->get_expected_max() == 0) return std::string(name);
  std::string text;
  for (const std::string& word : option->results()) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::string detail_of(const CLI::App& verb, std::string_view options) {
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

std::string name_of_verb(const CLI::App& verb) {
  const CLI::App* parent = verb.get_parent();
  return parent && parent->get_parent() ? name_of_verb(*parent) + " " + verb.get_name() : verb.get_name();
}

CommandAudit::CommandAudit(const Console& console, const daemon::config::Settings& settings,
                           const CLI::App& verb)
    : console_(console),
      settings_(settings),
      effect_(effect_of(verb)),
      object_(value_of(verb, effect_.id)),
      detail_(detail_of(verb, effect_.detail)) {}

void CommandAudit::begin(schema::store::Store& store) {
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
  schema::store::AuditEvent total = event();
  total.detail = detail;
  std::replace(total.detail.begin(), total.detail.end(), '\n', ' ');
  store_->audit.add(total);
}

schema::store::AuditEvent CommandAudit::event() const {
  std::string action(effect_.verb);
  std::replace(action.begin(), action.end(), ' ', '.');
  const auto gift = platform::parse_number<std::int64_t>(object_);
  schema::store::AuditEvent made = effect_.kind == "gift" && gift
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
