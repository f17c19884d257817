// The sign-in connections, and the settings in force (CON-34). No secret is on either. Only for viewers of
// all organizations.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

#include "daemon/config/connection_urls.h"
#include "daemon/config/effective_settings.h"
#include "daemon/console/pages.h"
#include "platform/keys.h"

namespace giftsync::console {
namespace {

using config::SsoConnectionSettings;
using config::SsoKind;

/// Until when the certificate in the file is valid, or what is wrong with it.
std::string certificate_text(const std::string& path, UtcMillis now) {
  if (path.empty()) return {};
  std::stringstream pem;
  pem << std::ifstream(path).rdbuf();
  const auto info = parse_certificate(pem.str());
  if (!info) return texts().text("certificate_unreadable", {{"file", path}, {"reason", info.error()}});
  const CertificateIssues issues = validate_certificate(*info, now);
  std::string text = texts().text("certificate_until", {{"time", minute(info->not_after)}});
  for (const auto& fault : issues.faults) text += "; " + fault.clause;
  for (const std::string& warning : issues.warnings) text += "; " + warning;
  return text;
}

/// What `giftsyncctl sso show` prints for the provider's administrator.
Data urls_of(const config::Settings& settings, const SsoConnectionSettings& connection_settings) {
  Data lines(Data::type::list);
  add_line(lines, "post_back_url", config::post_back_url(settings.sso, connection_settings));
  add_line(lines, "login_redirect_url", config::login_redirect_url(settings.sso));
  if (connection_settings.kind == SsoKind::saml) {
    add_line(lines, "entity_id", config::saml_entity_id(settings.sso, connection_settings));
    add_line(lines, "metadata_url", config::saml_metadata_url(settings, connection_settings));
    return lines;
  }
  const config::ProviderEndpoints provider = config::provider_endpoints(settings.sso, connection_settings);
  add_line(lines, "client_id", connection_settings.client_id);
  add_line(lines, "issuer", provider.issuer);
  add_line(lines, "discovery_endpoint", provider.discovery);
  return lines;
}

Data state_lines(const PageCall& call, const SsoConnectionSettings& settings,
                 const store::SignInConnectionState& state) {
  Data lines(Data::type::list);
  add_line(lines, "kind", std::string(config::to_word(settings.kind)));
  add_line(lines, "domains", fmt::format("{}", fmt::join(config::all_domains(settings), ", ")));
  add_line(lines, "tenant", state.tenant);
  add_line(lines, "certificate", certificate_text(settings.certificate, call.now));
  add_line(lines, "next_certificate", certificate_text(settings.next_certificate, call.now));
  add_time(lines, "last_sign_in", state.last_success_at);
  add_time(lines, "last_error_at", state.last_error_at);
  add_line(lines, "last_error", with_readable_times(state.last_error));
  return lines;
}

/// The settings of one section of the file.
struct SettingSection {
  std::string name;
  std::size_t keys = 0;
  std::size_t set_in_file = 0;
  Data rows = Data(Data::type::list);
};

/// The section of the key "limits.max_recipients" or "sources[0].url"; made when it is the first one.
SettingSection& section_of(std::vector<SettingSection>& sections, const std::string& key) {
  const std::string name = key.substr(0, key.find_first_of(".["));
  for (SettingSection& section : sections)
    if (section.name == name) return section;
  sections.push_back({.name = name});
  return sections.back();
}

}  // namespace

http::HttpResponse connections_page(const PageCall& call) {
  const config::Settings* settings = call.console.options.in_force;
  if (!settings || !sees_installation(call.viewer())) return not_found(call);
  std::map<std::string, store::SignInConnectionState> states;
  for (const auto& one : call.store().sign_in_connections.list()) states[one.name] = one;
  const auto row_data = [&](const SsoConnectionSettings& connection_settings) {
    Data row;
    row.set("name", connection_settings.name);
    row.set("facts", state_lines(call, connection_settings, states[connection_settings.name]));
    row.set("urls", urls_of(*settings, connection_settings));
    return row;
  };
  Data data;
  set_list(data, "rows", list_of(settings->sso.connections, row_data));
  return page(call, "connections", texts().text("connections"), std::move(data));
}

http::HttpResponse settings_page(const PageCall& call) {
  const config::Settings* settings = call.console.options.in_force;
  if (!settings || !sees_installation(call.viewer())) return not_found(call);
  std::vector<SettingSection> sections;
  for (const config::EffectiveSetting& effective_setting : config::effective_settings(*settings)) {
    SettingSection& section = section_of(sections, effective_setting.key);
    ++section.keys;
    if (effective_setting.provenance.line > 0) ++section.set_in_file;
    Data row;
    row.set("key", effective_setting.key);
    row.set("value", effective_setting.value == "null" ? "" : effective_setting.value);
    row.set("from", config::provenance_text(effective_setting, settings->file));
    section.rows << row;
  }
  const auto section_data = [](const SettingSection& section) {
    Data made;
    made.set("name", section.name);
    made.set("counts", texts().text("setting_counts", {{"keys", std::to_string(section.keys)},
                                                       {"set", std::to_string(section.set_in_file)}}));
    made.set("rows", section.rows);
    return made;
  };
  Data data;
  data.set("sections", list_of(sections, section_data));
  return page(call, "settings", texts().text("settings"), std::move(data));
}

}  // namespace giftsync::console
