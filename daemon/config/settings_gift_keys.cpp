// The keys of `email`.
#include "daemon/config/settings_table.h"
#include "daemon/content/branding.h"
#include "platform/text.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::config {

KeyTable email_keys() {
  using E = EmailSettings;
  const OnlyWith smtp{"email.transport", "smtp"};
  return {
      {"email.transport", "How mails are sent: smtp through a mail relay, file as one .eml file each.",
       choice({"smtp", "file"}, setting(&Settings::email, &E::transport))},
      {"email.directory",
       "The folder for the .eml files; it is created when missing.",
       FilePath{setting(&Settings::email, &E::directory), "a folder's path such as outbox", false},
       {.example = "\"/var/lib/giftsync/outbox\"",
        .is_required = true,
        .only_with = {"email.transport", "file"}}},
      {"email.from",
       "The address that gift mails come from.",
       Text{setting(&Settings::email, &E::from),
            {"an e-mail address such as gifts@example.com", check_email_address,
             R"({"maxLength": 254, "pattern": "^\\s*[^@\\s]+@[^@\\s]+\\s*$"})"}},
       {.example = "\"gifts@example.com\"", .is_required = true}},
      {"email.delivered_when",
       "A gift counts as delivered when the relay accepted its mail (accepted) or when a report says so "
       "(reported).",
       choice({"reported", "accepted"}, setting(&Settings::email, &E::delivered_when_accepted))},
      {"email.uncertain",
       "A mail whose acceptance is unknown is sent again after 15 minutes (retry) or held for the admin "
       "(hold).",
       choice({"retry", "hold"}, setting(&Settings::email, &E::hold_uncertain))},
      {"email.undelivered_notice",
       "Whether senders are mailed which of their gifts became undelivered: never, each time (a sender at "
       "most every ten minutes), or daily (at most once in 24 hours).",
       choice({"never", "each", "daily"}, setting(&Settings::email, &E::undelivered_notice))},
      {"email.smtp.url",
       "The mail relay; smtp:// begins unencrypted and upgrades to TLS, smtps:// begins with TLS.",
       Text{setting(&Settings::email, &E::smtp_url),
            {"smtp://HOST:PORT or smtps://HOST:PORT such as smtp://relay.example.com:587", check_smtp_url,
             R"({"pattern": "^[Ss][Mm][Tt][Pp][Ss]?://[^/?#@\\s]+/?$"})"}},
       {.example = "\"smtp://relay.example.com:587\"", .is_required = true, .only_with = smtp}},
      {"email.smtp.username",
       "The user name at the relay; without it there is no login.",
       Text{setting(&Settings::email, &E::smtp_username), plain_text("a user name")},
       {.example = "\"gifts\"", .only_with = smtp, .only_beside = "email.smtp.password"}},
      {"email.smtp.password",
       "The password at the relay, as a reference to a secret.",
       SecretReference{setting(&Settings::email, &E::smtp_password)},
       {.example = "\"credential:smtp-password\"", .only_with = smtp, .only_beside = "email.smtp.username"}},
      {"email.smtp.require_tls",
       "Whether a relay that offers no TLS is refused.",
       BooleanValue{setting(&Settings::email, &E::smtp_require_tls)},
       {.only_with = smtp}},
      {"email.smtp.ca_file",
       "The certificate authorities (PEM) that verify the relay, in place of the system's.",
       FilePath{setting(&Settings::email, &E::smtp_ca_file), kReadableFile, true},
       {.example = "\"/etc/ssl/certs/ca-certificates.crt\"", .only_with = smtp}},
      {"email.smtp.client_name",
       "The name that giftsync gives the relay in EHLO; without it the host's name if it has a "
       "domain, else the domain of email.from.",
       Text{setting(&Settings::email, &E::smtp_client_name),
            {"a full host name such as gifts.example.com", check_domain, R"({"pattern": "^[^\\s@]+$"})"}},
       {.example = "\"gifts.example.com\"", .only_with = smtp}},
      {"email.smtp.connections",
       "Connections to the relay at once; a relay far away needs more for the same speed.",
       WholeNumber{setting(&Settings::email, &E::smtp_connections), 1, 64, "connections"},
       {.only_with = smtp}}};
}

// The keys of `pages`.

KeyTable page_keys() {
  using P = PageSettings;
  const TextForm name = plain_text("a name of at most 255 characters");
  return {
      {"pages.company_name",
       "The company's name, shown to recipients on pages and in mails.",
       Text{setting(&Settings::pages, &P::company_name), name},
       {.example = "\"Edge Communications\""}},
      {"pages.colour",
       "The company's colour; where text in it would be hard to read, pages and mails use a darker or "
       "lighter shade.",
       Text{setting(&Settings::pages, &P::colour),
            {"red, green and blue in hex such as \"#0a6650\", in quotes", check_colour,
             R"({"pattern": "^#[0-9A-Fa-f]{6}$"})"}}},
      {"pages.logo",
       "The company's logo, shown on pages.",
       FilePath{setting(&Settings::pages, &P::logo), std::string(content::kLogoAllowed), true},
       {.example = "\"logo.svg\""}},
      {"pages.language",
       "The language of mails, and of pages for recipients whose browser accepts no available language.",
       Text{setting(&Settings::pages, &P::language),
            {"an available language such as en, de or es", check_language,
             R"({"pattern": "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"})"}}},
      {"pages.charities.name",
       "The charity's name.",
       Text{setting(&Settings::pages, &P::charities, &CharitySettings::name), name},
       {.example = "\"Doctors Without Borders\"", .is_required = true}},
      {"pages.charities.link",
       "The charity's own page.",
       Text{setting(&Settings::pages, &P::charities, &CharitySettings::link),
            {"an https:// URL such as https://charity.example.org", check_sign_in_url, kHttpsQueryPattern}},
       {.example = "\"https://www.doctorswithoutborders.org\""}}};
}

// The keys of `lifecycle` (LIFE-2).

namespace {

constexpr std::int64_t kMaxDays = 3650;
constexpr std::int64_t kMaxReminderDay = 365;
constexpr std::size_t kMaxReminders = 5;

WholeNumber days(std::int64_t LifecycleSettings::*member) {
  return {setting(&Settings::lifecycle, member), 1, kMaxDays, "days"};
}

TextFault check_zone(std::string& text) {
  return sync::is_time_zone(text) ? TextFault() : TextFault("which the system's zone data do not have");
}

TextFault check_reminder_day(std::string& text) {
  const auto day = parse_number<std::int64_t>(text);
  if (!day || text.front() == '0' || *day < 1 || *day > kMaxReminderDay) return "which is not such a number";
  return std::nullopt;
}

}  // namespace

TextForm time_zone_form() {
  return {"an IANA time zone such as UTC or Europe/Berlin", check_zone,
          R"({"maxLength": 64, "pattern": "^[A-Za-z0-9_+-][A-Za-z0-9_+/-]*$"})"};
}

KeyTable lifecycle_keys() {
  using L = LifecycleSettings;
  return {
      {"lifecycle.expire_unopened_days", "Days from sending until an unopened mailed gift expires.",
       days(&L::expire_unopened_days)},
      {"lifecycle.expire_unopened_link_days",
       "The same for gifts whose URLs were issued, since campaigns mail them later.",
       days(&L::expire_unopened_link_days)},
      {"lifecycle.expire_opened_days",
       "Days from opening until a gift expires that was neither accepted nor donated.",
       days(&L::expire_opened_days)},
      {"lifecycle.refund_undelivered_days",
       "Days from the failure of its mail until a gift is refunded, unless it is sent again.",
       days(&L::refund_undelivered_days)},
      {"lifecycle.refund", "When expired gifts are refunded: on_day, a day of the next month, or at_once.",
       choice({"on_day", "at_once"}, setting(&Settings::lifecycle, &L::refund_at_once))},
      {"lifecycle.refund_day",
       "The day for refund: on_day; gifts are refunded when it begins.",
       WholeNumber{setting(&Settings::lifecycle, &L::refund_day), 1, 28, "day of the month"},
       {.only_with = {"lifecycle.refund", "on_day"}}},
      {"lifecycle.time_zone", "The time zone in which days and months begin.",
       Text{setting(&Settings::lifecycle, &L::time_zone), time_zone_form()}},
      {"lifecycle.reminder_days",
       "Days from sending until the recipient of an unopened mailed gift is reminded.",
       TextList{setting(&Settings::lifecycle, &L::reminder_days),
                0,
                kMaxReminders,
                {"a whole number from 1 to 365 (days)", check_reminder_day,
                 R"({"type": "integer", "minimum": 1, "maximum": 365})"}},
       {.example = "[7, 21]"}}};
}

// The keys of `matching`.

namespace {

constexpr std::size_t kMaxFields = 10;

const TextForm kField{"a field's API name such as Email or Work_Email__c", check_field_name, kNamePattern};

template <class... Members>
void add_order_by(KeyTable& keys, const std::string& object, const std::string& several, Members... members) {
  keys.push_back({"matching." + object + ".order_by.field",
                  "The field that decides between several " + several + "; then the id does.",
                  Text{setting(&Settings::matching, members..., &OrderBySettings::field), kField}});
  keys.push_back(
      {"matching." + object + ".order_by.direction",
       "DESC takes the " + object + " with the highest value, ASC the lowest.",
       choice({"ASC", "DESC"}, setting(&Settings::matching, members..., &OrderBySettings::descending))});
}

void add_person(KeyTable& keys, const std::string& person, PersonMatchingSettings MatchingSettings::*member) {
  using P = PersonMatchingSettings;
  keys.push_back({"matching." + person + ".email_fields",
                  "The fields of a " + person + " that hold e-mail addresses.",
                  TextList{setting(&Settings::matching, member, &P::email_fields), 1, kMaxFields, kField}});
  keys.push_back(
      {"matching." + person + ".phone_fields",
       "The fields of a " + person + " that hold phone numbers, used when no e-mail address matches.",
       TextList{setting(&Settings::matching, member, &P::phone_fields), 0, kMaxFields, kField}});
  add_order_by(keys, person, "matching " + person + "s", member, &P::order_by);
}

}  // namespace

KeyTable matching_keys() {
  using M = MatchingSettings;
  using O = OpportunityMatchingSettings;
  KeyTable keys;
  add_person(keys, "contact", &M::contact);
  add_person(keys, "lead", &M::lead);
  keys.push_back({"matching.opportunity.enabled",
                  "Whether a gift to a contact is linked to an open opportunity of the contact's roles.",
                  BooleanValue{setting(&Settings::matching, &M::opportunity, &O::enabled)}});
  add_order_by(keys, "opportunity", "open opportunities", &M::opportunity, &O::order_by);
  keys.push_back({"matching.on_no_match",
                  "How to treat a gift without a matching contact or lead: create makes its record without a "
                  "person, skip makes none.",
                  choice({"create", "skip"}, setting(&Settings::matching, &M::skip_unmatched))});
  keys.push_back({"matching.default_region", "The region of phone numbers without a country code.",
                  Text{setting(&Settings::matching, &M::default_region),
                       {"a two-letter region (ISO 3166) in capital letters such as US or DE", check_region,
                        R"({"pattern": "^[A-Z]{2}$"})"}}});
  return keys;
}

}  // namespace giftsync::config
