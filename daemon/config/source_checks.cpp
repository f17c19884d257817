#include "daemon/config/source_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "daemon/config/text_checks.h"
#include "platform/digest.h"
#include "platform/keys.h"
#include "platform/lenient_json.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/enums.h"

namespace giftsync::config {
namespace {

constexpr std::array<std::string_view, 5> kPresetNames{"none", "ses", "postmark", "mailgun", "sendgrid"};
constexpr std::size_t kMinSecretBytes = 16;
constexpr std::array<std::string_view, 8> kReservedSourceNames{"import", "mailer",   "page", "timer",
                                                               "admin",  "giftsync", "crm",  "status_log"};

bool is_faulty(const ParsedConfig& config, const std::string& path) {
  return config.faulty.contains(path) || config.faulty.contains("sources");
}

void require(ParsedConfig& config, const std::string& path) {
  if (config.has(path) || is_faulty(config, path)) return;
  config.refuse(path, "nothing", allowed_by(find_settings_key(path)->rule),
                "add it, or choose a preset that needs none");
}

/// Refuses keys that a preset fixes.
void check_preset(ParsedConfig& config) {
  const SourceSettings& source = config.settings.sources.back();
  const std::string preset = fmt::format("preset: {}", kPresetNames[static_cast<std::size_t>(source.preset)]);
  for (const auto& [path, line] : std::map<std::string, int>(config.lines)) {
    const bool is_fixed_by_preset = path == "sources.signature" || path == "sources.items" ||
                                    path == "sources.status_map" || path == "sources.transactions" ||
                                    path == "sources.fields";
    if (!is_fixed_by_preset) continue;
    config.refuse(path, fmt::format("a key that {} fixes", preset), "only without a preset", "remove it");
  }
  for (const std::string& status : source.may_set) {
    if (status == "delivered" || status == "undelivered" || status == "opened") continue;
    config.refuse("sources.may_set", fmt::format("{} with {}", in_quotes(status), preset),
                  "delivered, undelivered, opened", "remove it: a mail provider reports only on mails");
  }
}

void check_required_fields(ParsedConfig& config) {
  for (const char* path :
       {"sources.fields.transaction_id", "sources.fields.status", "sources.fields.occurred_at"})
    require(config, path);
}

/// The part of the secret that a sender must not be able to guess.
std::size_t unguessable_bytes(const std::string& secret, bool is_basic) {
  return is_basic ? secret.size() - secret.find(':') - 1 : secret.size();
}

/// Never shows any part of the secret.
const char* secret_format_fault(const SourceSettings& source, const std::string& secret) {
  const bool is_standard =
      source.preset == SourcePreset::none && source.signature == SourceSignature::standard;
  const bool is_basic = source.preset == SourcePreset::postmark ||
                        (source.preset == SourcePreset::none && source.signature == SourceSignature::basic);
  if (is_standard && !standard_webhook_key(secret))
    return "base64 of at least 16 bytes, with or without whsec_";
  if (is_basic && (secret.find(':') == std::string::npos || secret.starts_with(':'))) return "user:password";
  if (source.preset == SourcePreset::sendgrid && !PublicKey::from_base64(secret))
    return "the verification key (base64) of the event webhook";
  const bool is_chosen = is_basic || source.preset == SourcePreset::mailgun ||
                         (source.preset == SourcePreset::none && source.signature == SourceSignature::hmac);
  if (!is_chosen) return nullptr;
  const std::size_t length = unguessable_bytes(secret, is_basic);
  if (length == 0) return "user:password with a password";
  if (length < kMinSecretBytes && !source.allow_short_secrets)
    return is_basic ? "a password of at least 16 bytes, or allow_short_secrets: true"
                    : "a secret of at least 16 bytes, or allow_short_secrets: true";
  return nullptr;
}

void check_secrets(ParsedConfig& config) {
  const SourceSettings& source = config.settings.sources.back();
  if (is_faulty(config, "sources.secret")) return;
  if (source.preset == SourcePreset::ses) {
    if (config.has("sources.secret")) {
      config.refuse("sources.secret", "a key that preset: ses leaves without effect",
                    "only with another preset or none", "remove it: SNS signs with a certificate");
    }
    return;
  }
  require(config, "sources.secret");
  for (const Secret& secret : source.secrets) {
    if (const char* allowed = secret_format_fault(source, secret.reveal()))
      config.refuse("sources.secret", "a malformed or weak secret", allowed,
                    "copy it again, whole, or make a longer one: openssl rand -hex 32");
  }
}

/// A poll by time must know a full page from the last one (SRC-46).
void check_time_paging(ParsedConfig& config) {
  if (!config.has("sources.since")) return;
  const bool has_next = config.has("sources.next");
  if (has_next && config.has("sources.page_size")) {
    config.refuse("sources.page_size", "a key beside sources.next, which leaves it without effect",
                  "only without sources.next", "remove one of the two");
  }
  if (has_next || config.has("sources.page_size") || config.has("sources.cursor.pointer") ||
      is_faulty(config, "sources.page_size") || is_faulty(config, "sources.next"))
    return;
  config.refuse(
      "sources.page_size", "nothing beside sources.since, so a full page is not known from the last one",
      allowed_by(find_settings_key("sources.page_size")->rule),
      "add the number of items in a full page of the feed, or set next or cursor to continue by the "
      "feed's own links");
}

void check_paging(ParsedConfig& config) {
  const bool pointer = config.has("sources.cursor.pointer");
  const bool parameter = config.has("sources.cursor.parameter");
  if (pointer != parameter) {
    const std::string present = pointer ? "sources.cursor.pointer" : "sources.cursor.parameter";
    const std::string missing = pointer ? "sources.cursor.parameter" : "sources.cursor.pointer";
    config.refuse(missing, "nothing beside " + present, "both or neither",
                  "add " + missing + ", or remove " + present);
  }
  for (const char* other : {"sources.since", "sources.next"}) {
    if (!pointer || !config.has(other)) continue;
    config.refuse(other, "a key beside sources.cursor", "one way to continue", "remove one of the two");
  }
  for (const char* dependent : {"sources.overlap", "sources.page_size"}) {
    if (!config.has(dependent) || config.has("sources.since")) continue;
    config.refuse(dependent, "a key without sources.since, which leaves it without effect",
                  "only with sources.since", "remove it, or set sources.since");
  }
  check_time_paging(config);
}

bool may_report_sent(const SourceSettings& source) {
  const auto is_sent = [](const auto& meaning) { return meaning.second == "sent"; };
  const bool is_known =
      source.status_map.empty() || std::any_of(source.status_map.begin(), source.status_map.end(), is_sent);
  const bool is_allowed = source.may_set.empty() || std::find(source.may_set.begin(), source.may_set.end(),
                                                              "sent") != source.may_set.end();
  return is_known && is_allowed;
}

/// A text id is quarantined at the first event. A number that should be allotted is not, so the choice is
/// asked for.
void warn_of_undeclared_ids(ParsedConfig& config) {
  const SourceSettings& source = config.settings.sources.back();
  if (!source.external || config.has("sources.transaction_ids") ||
      is_faulty(config, "sources.transaction_ids"))
    return;
  config.warnings.push_back(
      {config.line_of("sources.transactions"), "sources.transaction_ids",
       "not set: the source's ids are taken as Transaction Ids (keep); set allot, which "
       "takes ids of any kind, "
       "or keep, if records with these ids are in the CRM already"});
}

/// Warnings only: a source may report on gifts that are known from another source, or from before a settings
/// change.
void warn_if_no_gift_possible(ParsedConfig& config) {
  const SourceSettings& source = config.settings.sources.back();
  if (!source.external || source.preset != SourcePreset::none || is_faulty(config, "sources.fields")) return;
  const auto has = [&](const std::string& field) {
    return config.has("sources.fields." + field) || is_faulty(config, "sources.fields." + field);
  };
  const auto warn = [&](const std::string& missing, const std::string& next_step) {
    config.warnings.push_back(
        {config.line_of("sources.transactions"), "sources.transactions",
         fmt::format("external with {}: no gift can be created from its events, and changes of unknown gifts "
                     "become orphaned; {}",
                     missing, next_step)});
  };
  if (!has("recipient_email") && !has("recipient_phone"))
    warn("neither fields.recipient_email nor fields.recipient_phone",
         "add the pointer of one of them, unless all its gifts are known already");
  else if (!has("sent_at") && !may_report_sent(source))
    warn("neither fields.sent_at nor sent events",
         "add fields.sent_at, or allow sent in status_map and may_set");
}

void warn_of_plaintext_headers(ParsedConfig& config) {
  const SourceSettings& source = config.settings.sources.back();
  if (!source.url.starts_with("http:") || source.headers.empty()) return;
  if (is_loopback_host(host_of_url(source.url))) return;
  config.warnings.push_back(
      {config.line_of("sources.url"), "sources.url", "secret headers are sent unencrypted; use https://"});
}

}  // namespace

void check_source(ParsedConfig& config) {
  const SourceSettings& source = config.settings.sources.back();
  if (is_faulty(config, "sources.type") || is_faulty(config, "sources.preset")) return;
  warn_if_no_gift_possible(config);
  warn_of_undeclared_ids(config);
  if (source.kind == SourceKind::poll) {
    check_required_fields(config);
    check_paging(config);
    warn_of_plaintext_headers(config);
    return;
  }
  if (source.preset == SourcePreset::none) {
    check_required_fields(config);
  } else {
    check_preset(config);
  }
  check_secrets(config);
}

TextFault check_source_name(std::string& text) {
  if (!has_only_lower_case(text, "-_"))
    return "which has characters other than lower-case letters, digits, - and _";
  if (text.size() > 64) return "which has more than 64 characters";
  if (std::find(kReservedSourceNames.begin(), kReservedSourceNames.end(), text) != kReservedSourceNames.end())
    return "which giftsync uses itself";
  return std::nullopt;
}

TextFault check_status_word(std::string& text) {
  if (status_from_word(text)) return std::nullopt;
  return "which is not a status";
}

TextFault check_json_pointer(std::string& text) {
  if (!text.starts_with('/')) return "which does not begin with /";
  if (!JsonPointer::parse(text)) return "which has a ~ that is neither ~0 nor ~1";
  return std::nullopt;
}

TextFault check_next_page(std::string& text) {
  return text == "link" ? std::nullopt : check_json_pointer(text);
}

TextFault check_header_name(std::string& text) {
  constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";
  const std::string name = ascii_lower(text);
  if (text.empty() || !has_only_lower_case(name, kTokenMarks)) return "which is not a header's name";
  constexpr std::array<std::string_view, 7> kReservedHeaders{
      "host",   "content-length", "transfer-encoding", "connection", "if-none-match", "accept-encoding",
      "upgrade"};
  if (std::find(kReservedHeaders.begin(), kReservedHeaders.end(), name) != kReservedHeaders.end())
    return "which giftsync sets itself";
  return std::nullopt;
}

TextFault check_topic_arn(std::string& text) {
  static const std::regex kForm(kTopicArnPattern);
  if (!std::regex_match(text, kForm)) return "which is not an ARN of an SNS topic";
  return std::nullopt;
}

std::span<const std::string_view> reserved_source_names() {
  return kReservedSourceNames;
}

}  // namespace giftsync::config
