// The keys of `sending.approval`.
#include <fmt/format.h>

#include "daemon/config/settings_table.h"
#include "platform/text.h"
#include "schema/ids.h"
#include "sync/access/credential.h"

namespace giftsync::config {
namespace {

using R = ApprovalRuleSettings;

constexpr std::size_t kMaxValues = 200;

template <class T>
auto rule(T R::*member) {
  return setting(&Settings::sending, &SendingSettings::approval, &SendingApprovalSettings::rules, member);
}

TextFault check_item(std::string& text) {
  const auto id = parse_number<std::int64_t>(text);
  if (!id || text.front() == '0' || *id < 1 || *id > kMaxId) return "which is not such a number";
  return std::nullopt;
}

TextFault check_credential(std::string& text) {
  if (!text.starts_with("gsk_live_") && !text.starts_with("got_live_") && !is_test_key(text))
    return "which does not begin with gsk_live_, gsk_test_ or got_live_";
  // The rest is secret, and would stand in the settings.
  if (sync::public_prefix(text) != text) return "which is longer than what listings show";
  return std::nullopt;
}

TextFault check_endpoint(std::string& text) {
  if (text == "email" || text == "urls" || text == "crm") return std::nullopt;
  return "which is none of them";
}

KeyTable rule_keys() {
  return {{"sending.approval.rules.name",
           "The rule's name, which callers and approvers read.",
           Text{rule(&R::name),
                {"1 to 64 lower-case letters, digits and -, with no - at either end", check_connection_name,
                 R"({"maxLength": 64, "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"})"}},
           {.example = "large", .is_required = true}},
          {"sending.approval.rules.amount_above",
           "Requests that cost more than this in all, fees included, and those whose cost is not known.",
           Text{rule(&R::amount_above), amount_form()},
           {.example = "\"1000.00\""}},
          {"sending.approval.rules.recipients_above",
           "Requests to more recipients than this; 0 is no condition.",
           WholeNumber{rule(&R::recipients_above), 0, 100'000, "recipients"},
           {.example = "50"}},
          {"sending.approval.rules.first_gift_to_domain",
           "Requests with a recipient in a domain to which giftsync has sent no gift before.",
           BooleanValue{rule(&R::first_gift_to_domain)}},
          {"sending.approval.rules.items",
           "Requests of these items.",
           TextList{rule(&R::items),
                    0,
                    kMaxValues,
                    {"the number of an item such as 7", check_item, R"({"type": "integer", "minimum": 1})"}},
           {.example = "[7]"}},
          {"sending.approval.rules.accounts",
           "Requests of the accounts with these addresses.",
           TextList{rule(&R::accounts), 0, kMaxValues, {"an account's e-mail address", check_email_address}},
           {.example = "[\"ana@example.com\"]"}},
          {"sending.approval.rules.credentials",
           "Requests with these API keys or organization tokens, by the first characters that giftsyncctl "
           "key list shows.",
           TextList{rule(&R::credentials),
                    0,
                    kMaxValues,
                    {"the shown beginning of a key or token", check_credential,
                     R"({"pattern": "^(gsk|got)_live_"})"}},
           {.example = "[\"gsk_live_0sFxR2\"]"}},
          {"sending.approval.rules.endpoints",
           "Requests to these: email mails gifts, urls returns their URLs, crm is the CRM's sending "
           "interface.",
           TextList{rule(&R::endpoints),
                    0,
                    3,
                    {"one of email, urls, crm", check_endpoint, R"({"enum": ["email", "urls", "crm"]})"}},
           {.example = "[urls]"}}};
}

}  // namespace

KeyTable approval_keys() {
  KeyTable keys{
      {"sending.approval.expire_days", "After how many days a held request without a decision expires.",
       WholeNumber{
           setting(&Settings::sending, &SendingSettings::approval, &SendingApprovalSettings::expire_days), 1,
           7, "days"}}};
  for (SettingsKey& key : rule_keys()) keys.push_back(std::move(key));
  return keys;
}

}  // namespace giftsync::config
