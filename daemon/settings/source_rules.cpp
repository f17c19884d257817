#include "daemon/settings/source_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "daemon/crypto/digest.h"
#include "daemon/crypto/public_key.h"
#include "daemon/settings/text_rules.h"
#include "daemon/sources/json_pointer.h"
#include "schema/text.h"
#include "schema/words.h"

namespace giftsync::daemon {
namespace {

constexpr std::array<std::string_view, 5> kPresetNames{"none", "ses", "postmark", "mailgun", "sendgrid"};
constexpr std::array<std::string_view, 8> kOwnNames{"import", "mailer",   "page", "timer",
                                                    "admin",  "giftsync", "crm",  "status_log"};

bool is_faulty(const GivenSettings& one, const std::string& path) {
  return one.faulty.contains(path) || one.faulty.contains("sources");
}

/// Of the key, else of the innermost section around it that the file has.
int line_of(const GivenSettings& one, std::string path) {
  while (!one.has(path) && path.rfind('.') != std::string::npos) path.resize(path.rfind('.'));
  return one.lines.at(one.has(path) ? path : "sources");
}

void refuse(GivenSettings& one, const std::string& path, std::string found, std::string allowed,
            std::string next_step) {
  one.faults.push_back(
      {line_of(one, path), path, std::move(found), std::move(allowed), std::move(next_step)});
}

void require(GivenSettings& one, const std::string& path) {
  if (one.has(path) || is_faulty(one, path)) return;
  refuse(one, path, "nothing", allowed_by(find_settings_key(path)->rule),
         "add it, or choose a preset that needs none");
}

/// What a preset settles cannot be set beside it.
void check_preset(GivenSettings& one) {
  const SourceSettings& source = one.settings.sources.back();
  const std::string preset = fmt::format("preset: {}", kPresetNames[static_cast<std::size_t>(source.preset)]);
  for (const auto& [path, line] : std::map<std::string, int>(one.lines)) {
    const bool is_settled = path == "sources.signature" || path == "sources.items" ||
                            path == "sources.status_map" || path == "sources.transactions" ||
                            path == "sources.fields";
    if (!is_settled) continue;
    refuse(one, path, fmt::format("a key that {} settles", preset), "only without a preset", "remove it");
  }
  for (const std::string& word : source.may_set) {
    if (word == "delivered" || word == "undelivered" || word == "opened") continue;
    refuse(one, "sources.may_set", fmt::format("{} with {}", in_quotes(word), preset),
           "delivered, undelivered, opened", "remove it: a mail provider knows of mails only");
  }
}

void check_meaning(GivenSettings& one) {
  for (const char* path :
       {"sources.fields.transaction_id", "sources.fields.status", "sources.fields.occurred_at"})
    require(one, path);
}

/// Without showing any of it.
const char* form_fault(const SourceSettings& source, const std::string& secret) {
  const bool is_standard =
      source.preset == SourcePreset::none && source.signature == SourceSignature::standard;
  const bool is_basic = source.preset == SourcePreset::postmark ||
                        (source.preset == SourcePreset::none && source.signature == SourceSignature::basic);
  if (is_standard && !standard_webhook_key(secret))
    return "base64 of at least 16 bytes, with or without whsec_";
  if (is_basic && (secret.find(':') == std::string::npos || secret.starts_with(':'))) return "user:password";
  if (source.preset == SourcePreset::sendgrid && !PublicKey::from_base64(secret))
    return "the verification key (base64) of the event webhook";
  return nullptr;
}

void check_secrets(GivenSettings& one) {
  const SourceSettings& source = one.settings.sources.back();
  if (is_faulty(one, "sources.secret")) return;
  if (source.preset == SourcePreset::ses) {
    if (one.has("sources.secret")) {
      refuse(one, "sources.secret", "a key that preset: ses leaves without effect",
             "only with another preset or none", "remove it: SNS signs with a certificate");
    }
    return;
  }
  require(one, "sources.secret");
  for (const Secret& secret : source.secrets) {
    if (const char* allowed = form_fault(source, secret.reveal()))
      refuse(one, "sources.secret", "a secret of another form", allowed, "copy it again, whole");
  }
}

void check_paging(GivenSettings& one) {
  const bool pointer = one.has("sources.cursor.pointer");
  const bool parameter = one.has("sources.cursor.parameter");
  if (pointer != parameter) {
    const std::string present = pointer ? "sources.cursor.pointer" : "sources.cursor.parameter";
    const std::string missing = pointer ? "sources.cursor.parameter" : "sources.cursor.pointer";
    refuse(one, missing, "nothing beside " + present, "both or neither",
           "add " + missing + ", or remove " + present);
  }
  for (const char* other : {"sources.since", "sources.next"}) {
    if (!pointer || !one.has(other)) continue;
    refuse(one, other, "a key beside sources.cursor", "one way to go on", "remove one of the two");
  }
  if (one.has("sources.overlap") && !one.has("sources.since")) {
    refuse(one, "sources.overlap", "a key without sources.since, which leaves it without effect",
           "only with sources.since", "remove it, or set sources.since");
  }
}

bool may_report_sent(const SourceSettings& source) {
  const auto is_sent = [](const auto& meaning) { return meaning.second == "sent"; };
  const bool is_known =
      source.status_map.empty() || std::any_of(source.status_map.begin(), source.status_map.end(), is_sent);
  const bool is_allowed = source.may_set.empty() || std::find(source.may_set.begin(), source.may_set.end(),
                                                              "sent") != source.may_set.end();
  return is_known && is_allowed;
}

/// No fault: a source may move gifts that are known from elsewhere, or from before an edit of its settings.
void warn_of_gifts_never_made(GivenSettings& one) {
  const SourceSettings& source = one.settings.sources.back();
  if (!source.external || source.preset != SourcePreset::none || is_faulty(one, "sources.fields")) return;
  const auto has = [&](const std::string& field) {
    return one.has("sources.fields." + field) || is_faulty(one, "sources.fields." + field);
  };
  const auto warn = [&](const std::string& missing, const std::string& next_step) {
    one.warnings.push_back(
        {line_of(one, "sources.transactions"), "sources.transactions",
         fmt::format("external with {}: no gift can be made from its reports, and changes of gifts that are "
                     "not known are held; {}",
                     missing, next_step)});
  };
  if (!has("recipient_email") && !has("recipient_phone"))
    warn("neither fields.recipient_email nor fields.recipient_phone",
         "add the pointer of one of them, unless all its gifts are known already");
  else if (!has("sent_at") && !may_report_sent(source))
    warn("neither fields.sent_at nor reports of sent",
         "add fields.sent_at, or have status_map and may_set take sent");
}

void warn_of_clear_text(GivenSettings& one) {
  const SourceSettings& source = one.settings.sources.back();
  if (!source.url.starts_with("http:") || source.headers.empty()) return;
  const std::string_view host = std::string_view(source.url).substr(7);
  if (host.starts_with("127.0.0.1") || host.starts_with("[::1]") || host.starts_with("localhost")) return;
  one.warnings.push_back({line_of(one, "sources.url"), "sources.url",
                          "secret headers go over the network in clear; use https://"});
}

}  // namespace

void check_source(GivenSettings& one) {
  const SourceSettings& source = one.settings.sources.back();
  if (is_faulty(one, "sources.type") || is_faulty(one, "sources.preset")) return;
  warn_of_gifts_never_made(one);
  if (source.kind == SourceKind::poll) {
    check_meaning(one);
    check_paging(one);
    warn_of_clear_text(one);
    return;
  }
  if (source.preset == SourcePreset::none) {
    check_meaning(one);
  } else {
    check_preset(one);
  }
  check_secrets(one);
}

TextFault check_source_name(std::string& text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (!std::all_of(text.begin(), text.end(), fits))
    return "which has other characters than lower-case letters, digits, - and _";
  if (text.size() > 64) return "which has more than 64 characters";
  if (std::find(kOwnNames.begin(), kOwnNames.end(), text) != kOwnNames.end())
    return "which giftsync uses itself";
  return std::nullopt;
}

TextFault check_status_word(std::string& text) {
  if (schema::status_from_word(text)) return std::nullopt;
  return "which is no status";
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
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kTokenMarks.find(c) != std::string_view::npos;
  };
  if (text.empty() || !std::all_of(text.begin(), text.end(), fits)) return "which is no header's name";
  constexpr std::array<std::string_view, 7> kOwn{"host",       "content-length", "transfer-encoding",
                                                 "connection", "if-none-match",  "accept-encoding",
                                                 "upgrade"};
  if (std::find(kOwn.begin(), kOwn.end(), schema::ascii_lower(text)) != kOwn.end())
    return "which giftsync sets itself";
  return std::nullopt;
}

TextFault check_topic_arn(std::string& text) {
  const bool starts = text.starts_with("arn:aws") && text.find(":sns:") != std::string::npos;
  if (!starts || std::count(text.begin(), text.end(), ':') != 5) return "which is no ARN of an SNS topic";
  return check_plain_text(text);
}

std::span<const std::string_view> own_source_names() {
  return kOwnNames;
}

}  // namespace giftsync::daemon
