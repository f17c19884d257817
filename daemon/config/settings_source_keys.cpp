// The keys of `sources`; each accessor refers to the last element.
#include <utility>

#include "daemon/config/settings_keys.h"

namespace giftsync::daemon::config {
namespace {

using S = SourceSettings;
using F = SourceFieldSettings;

constexpr std::size_t kMaxSecrets = 5;
constexpr std::size_t kMaxStatusValues = 500;
constexpr std::size_t kMaxHeaders = 20;
constexpr const char* kPointerAllowed = "a JSON pointer (RFC 6901) such as /data/id";

/// setting(&SourceSettings::fields, &SourceFieldSettings::status): the accessor of one value of the last
/// source.
template <class... Members>
auto setting(Members... members) {
  using Value = std::remove_reference_t<decltype((std::declval<SourceSettings&>().*....*members))>;
  return Accessor<Value>(
      [members...](Settings& settings) -> Value& { return (settings.sources.back().*....*members); });
}

template <class T>
Choice choice(std::vector<std::string> values, Accessor<T> accessor) {
  return {std::move(values),
          [accessor](Settings& settings, std::size_t index) { accessor(settings) = static_cast<T>(index); },
          [accessor](Settings& settings) { return static_cast<std::size_t>(accessor(settings)); }};
}

Text pointer(std::string F::*member) {
  return {setting(&S::fields, member), kPointerAllowed, check_json_pointer};
}

void add_kind(std::vector<SettingsKey>& keys) {
  const OnlyWith webhook{"sources.type", "webhook"};
  keys.push_back(
      {"sources.name",
       "The source's name, shown with each of its changes and the last part of a webhook's address; it must "
       "not change, because the gifts of an external source are identified by it and their id.",
       Text{setting(&S::name), "1 to 64 lower-case letters, digits, - and _", check_source_name}, true});
  keys.push_back({"sources.type",
                  "webhook: the source calls POST {admin_url}/api/v1/webhooks/status_changes/{name}; poll: "
                  "giftsync requests its feed.",
                  choice<SourceKind>({"webhook", "poll"}, setting(&S::kind))});
  keys.push_back(
      {"sources.preset",
       "A mail provider whose format and signature are built in: ses (through SNS), postmark, mailgun or "
       "sendgrid.",
       choice<SourcePreset>({"none", "ses", "postmark", "mailgun", "sendgrid"}, setting(&S::preset)), false,
       webhook});
  keys.push_back({"sources.signature",
                  "How a message is authenticated: standard (Standard Webhooks), hmac (HMAC-SHA256 of "
                  "the body in a header) or basic (user name and password).",
                  choice<SourceSignature>({"standard", "hmac", "basic"}, setting(&S::signature)), false,
                  webhook});
  keys.push_back(
      {"sources.signature_header",
       "The header that carries the signature, in hex or base64, with or without sha256= before it.",
       Text{setting(&S::signature_header), "a header's name such as X-Signature", check_header_name},
       true,
       {"sources.signature", "hmac"}});
  keys.push_back({"sources.secret",
                  "The secret shared with the source, or several during a rotation; for basic user:password, "
                  "for sendgrid its verification key.",
                  SecretList{setting(&S::secrets), kMaxSecrets}, false, webhook});
  keys.push_back({"sources.topic",
                  "The ARN of the SNS topic that SES reports to; messages of other topics are refused.",
                  Text{setting(&S::topic), "an ARN such as arn:aws:sns:eu-west-1:123456789012:gift-mails",
                       check_topic_arn},
                  true,
                  {"sources.preset", "ses"}});
}

void add_meaning(std::vector<SettingsKey>& keys) {
  keys.push_back({"sources.transactions",
                  "own: it reports on gifts that giftsync sent; external: on gifts that another system sent, "
                  "under that system's ids, whole numbers from 1 to 9007199254740992.",
                  choice<bool>({"own", "external"}, setting(&S::external))});
  keys.push_back(
      {"sources.may_set",
       "The statuses that the source may report; empty allows all, a preset delivered, "
       "undelivered and opened.",
       TextList{setting(&S::may_set), 0, 8,
                "one of sent, delivered, undelivered, opened, redeemed, donated, expired, refunded",
                check_status_word}});
  keys.push_back({"sources.status_map",
                  "The status for each of the source's values; ignore skips a value, events with other "
                  "values are quarantined; without it the source must use giftsync's values.",
                  ChoiceMap{setting(&S::status_map),
                            kMaxStatusValues,
                            "a value of the source",
                            {"sent", "delivered", "undelivered", "opened", "redeemed", "donated", "expired",
                             "refunded", "ignore"}}});
  keys.push_back(
      {"sources.items",
       "Where the list of events is in a document; without it the document is the list, or one event.",
       Text{setting(&S::items), kPointerAllowed, check_json_pointer}});
}

void add_fields(std::vector<SettingsKey>& keys) {
  const auto field = [&](const char* name, const char* meaning, std::string F::*member) {
    keys.push_back({std::string("sources.fields.") + name, meaning, pointer(member)});
  };
  field("transaction_id", "Where the id of the recipient transaction is in an event.", &F::transaction_id);
  field("status", "Where the status is.", &F::status);
  field("occurred_at",
        "Where the time of the status is: RFC 3339, or seconds or milliseconds since 1970 as a number.",
        &F::occurred_at);
  field("event_id", "Where the event's own id is.", &F::event_id);
  field("recipient_email",
        "For gifts of an external source: where the recipient's e-mail address is; without it and a phone "
        "number no gift is made.",
        &F::recipient_email);
  field("recipient_phone", "Where the recipient's phone number is.", &F::recipient_phone);
  field("first_name", "Where the recipient's first name is.", &F::first_name);
  field("last_name", "Where the recipient's last name is.", &F::last_name);
  field("sender_email", "Where the e-mail address of the CRM user who sent the gift is.", &F::sender_email);
  field("gift_id", "Where the item's id is.", &F::gift_id);
  field("message", "Where the message is.", &F::message);
  field("sent_at", "Where the time of sending is; it counts like an event sent at that time.", &F::sent_at);
  field("costs.item", "Where the item's cost is, as a decimal number.", &F::item_cost);
  field("costs.shipping", "Where the shipping cost is.", &F::shipping_cost);
  field("costs.carbon_neutral", "Where the carbon neutral cost is.", &F::carbon_neutral_cost);
  field("costs.transaction_fee", "Where the transaction fee is.", &F::transaction_fee);
}

void add_poll(std::vector<SettingsKey>& keys) {
  const OnlyWith poll{"sources.type", "poll"};
  keys.push_back(
      {"sources.url", "The feed's address; it responds to GET with JSON.",
       Text{setting(&S::url), "an http:// or https:// URL such as https://api.example.com/v1/events",
            check_feed_url},
       true, poll});
  keys.push_back({"sources.interval",
                  "The time between two polls, in seconds, with up to a tenth of random jitter.",
                  WholeNumber{setting(&S::interval_seconds), 1, 86'400, "seconds"}, false, poll});
  keys.push_back({"sources.cursor.pointer", "Where the cursor of the next page is in a page.",
                  Text{setting(&S::cursor_pointer), kPointerAllowed, check_json_pointer}, false, poll});
  keys.push_back({"sources.cursor.parameter", "The query parameter for the cursor.",
                  Text{setting(&S::cursor_parameter), "a query parameter's name", check_plain_text}, false,
                  poll});
  keys.push_back({"sources.since",
                  "The query parameter for the time (RFC 3339) from which changes are requested.",
                  Text{setting(&S::since), "a query parameter's name", check_plain_text}, false, poll});
  keys.push_back(
      {"sources.overlap",
       "How far before the last known change a poll starts, so that late changes are not missed, in seconds.",
       WholeNumber{setting(&S::overlap_seconds), 0, 604'800, "seconds"}, false, poll});
  keys.push_back({"sources.next", "Where the URL of the next page is in a page, or link for the Link header.",
                  Text{setting(&S::next), "a JSON pointer such as /paging/next, or link", check_next_page},
                  false, poll});
  keys.push_back(
      {"sources.headers", "Headers to send, such as Authorization, each as a reference to a secret.",
       SecretMap{setting(&S::headers), kMaxHeaders, "a header's name", check_header_name}, false, poll});
  keys.push_back({"sources.ca_file",
                  "The certificate authorities (PEM) that verify the feed, in place of the system's.",
                  FilePath{setting(&S::ca_file), "a readable file's path", true}, false, poll});
}

}  // namespace

void add_source_keys(std::vector<SettingsKey>& keys) {
  add_kind(keys);
  add_meaning(keys);
  add_fields(keys);
  add_poll(keys);
}

}  // namespace giftsync::daemon::config
