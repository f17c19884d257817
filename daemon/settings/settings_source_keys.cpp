// The part of the table of keys that belongs to `sources`: each place leads to the last element.
#include <utility>

#include "daemon/settings/settings_keys.h"

namespace giftsync::daemon {
namespace {

using S = SourceSettings;
using F = SourceFieldSettings;

constexpr std::size_t kMaxSecrets = 5;
constexpr std::size_t kMaxWords = 500;
constexpr std::size_t kMaxHeaders = 20;
constexpr const char* kPointerAllowed = "a JSON pointer (RFC 6901) such as /data/id";

/// of(&SourceSettings::fields, &SourceFieldSettings::status): the way to one value of the last source.
template <class... Members>
auto of(Members... members) {
  using Value = std::remove_reference_t<decltype((std::declval<SourceSettings&>().*....*members))>;
  return Place<Value>(
      [members...](Settings& settings) -> Value& { return (settings.sources.back().*....*members); });
}

template <class T>
Choice choice(std::vector<std::string> words, Place<T> place) {
  return {std::move(words),
          [place](Settings& settings, std::size_t word) { place(settings) = static_cast<T>(word); },
          [place](Settings& settings) { return static_cast<std::size_t>(place(settings)); }};
}

Text pointer(std::string F::*member) {
  return {of(&S::fields, member), kPointerAllowed, check_json_pointer};
}

void add_kind(std::vector<SettingsKey>& keys) {
  const OnlyWith webhook{"sources.type", "webhook"};
  keys.push_back(
      {"sources.name",
       "The source's name, shown with every change of it and the last part of a webhook's address; it stays, "
       "for gifts that the source tells of go by their id and its name.",
       Text{of(&S::name), "1 to 64 lower-case letters, digits, - and _", check_source_name}, true});
  keys.push_back({"sources.type",
                  "webhook: the source calls POST {admin_url}/api/v1/webhooks/status_changes/{name}; poll: "
                  "giftsync asks it.",
                  choice<SourceKind>({"webhook", "poll"}, of(&S::kind))});
  keys.push_back({"sources.preset",
                  "A mail provider whose reports need no pointers, words and signature of their own: ses "
                  "(through SNS), postmark, mailgun or sendgrid.",
                  choice<SourcePreset>({"none", "ses", "postmark", "mailgun", "sendgrid"}, of(&S::preset)),
                  false, webhook});
  keys.push_back({"sources.signature",
                  "How a message proves where it is from: standard (Standard Webhooks), hmac (HMAC-SHA256 of "
                  "the body in a header) or basic (user name and password).",
                  choice<SourceSignature>({"standard", "hmac", "basic"}, of(&S::signature)), false, webhook});
  keys.push_back(
      {"sources.signature_header",
       "The header that carries the signature, in hex or base64, with or without sha256= before it.",
       Text{of(&S::signature_header), "a header's name such as X-Signature", check_header_name},
       true,
       {"sources.signature", "hmac"}});
  keys.push_back({"sources.secret",
                  "The secret shared with the source, or several while one takes another's place; for basic "
                  "user:password, for sendgrid its verification key.",
                  SecretList{of(&S::secrets), kMaxSecrets}, false, webhook});
  keys.push_back(
      {"sources.topic",
       "The ARN of the SNS topic that SES reports to; messages of every other one are refused.",
       Text{of(&S::topic), "an ARN such as arn:aws:sns:eu-west-1:123456789012:gift-mails", check_topic_arn},
       true,
       {"sources.preset", "ses"}});
}

void add_meaning(std::vector<SettingsKey>& keys) {
  keys.push_back({"sources.transactions",
                  "own: it reports on gifts that giftsync sent; external: on gifts that were sent elsewhere, "
                  "under ids of its own, whole numbers from 1 to 9007199254740992.",
                  choice<bool>({"own", "external"}, of(&S::external))});
  keys.push_back(
      {"sources.may_set",
       "The statuses that the source may report; empty allows all, a preset delivered, "
       "undelivered and opened.",
       TextList{of(&S::may_set), 0, 8,
                "one of sent, delivered, undelivered, opened, redeemed, donated, expired, refunded",
                check_status_word}});
  keys.push_back(
      {"sources.status_map",
       "What the source's own words for statuses mean; ignore skips a word, others are kept aside; "
       "without it our own words are taken.",
       WordMap{of(&S::status_map),
               kMaxWords,
               "a word of the source",
               {"sent", "delivered", "undelivered", "opened", "redeemed", "donated", "expired", "refunded",
                "ignore"}}});
  keys.push_back({"sources.items",
                  "Where the list of reports stands in a document; without it the document is the list, or "
                  "one report.",
                  Text{of(&S::items), kPointerAllowed, check_json_pointer}});
}

void add_fields(std::vector<SettingsKey>& keys) {
  const auto field = [&](const char* name, const char* meaning, std::string F::*member) {
    keys.push_back({std::string("sources.fields.") + name, meaning, pointer(member)});
  };
  field("transaction_id", "Where in a report the id of the recipient transaction stands.",
        &F::transaction_id);
  field("status", "Where the word for the status stands.", &F::status);
  field("occurred_at", "Where its time stands: RFC 3339, or seconds or milliseconds since 1970 as a number.",
        &F::occurred_at);
  field("event_id", "Where the report's own id stands.", &F::event_id);
  field(
      "recipient_email",
      "Of a gift sent elsewhere: where the recipient's e-mail address stands; without it and a phone number "
      "no gift is made.",
      &F::recipient_email);
  field("recipient_phone", "Where the recipient's phone number stands.", &F::recipient_phone);
  field("first_name", "Where the recipient's first name stands.", &F::first_name);
  field("last_name", "Where the recipient's last name stands.", &F::last_name);
  field("sender_email", "Where the e-mail address of the CRM user who sent it stands.", &F::sender_email);
  field("gift_id", "Where the item's id stands.", &F::gift_id);
  field("message", "Where the message stands.", &F::message);
  field("sent_at", "Where the time of its sending stands; it counts like a report of sent at that time.",
        &F::sent_at);
  field("costs.item", "Where the item's cost stands, as a decimal number.", &F::item_cost);
  field("costs.shipping", "Where the shipping cost stands.", &F::shipping_cost);
  field("costs.carbon_neutral", "Where the carbon neutral cost stands.", &F::carbon_neutral_cost);
  field("costs.transaction_fee", "Where the transaction fee stands.", &F::transaction_fee);
}

void add_poll(std::vector<SettingsKey>& keys) {
  const OnlyWith poll{"sources.type", "poll"};
  keys.push_back({"sources.url", "The feed's address; it answers GET with JSON.",
                  Text{of(&S::url), "an http:// or https:// URL such as https://api.example.com/v1/events",
                       check_feed_url},
                  true, poll});
  keys.push_back({"sources.interval",
                  "How long to wait between two polls, in seconds; a tenth is left to chance.",
                  WholeNumber{of(&S::interval_seconds), 1, 86'400, "seconds"}, false, poll});
  keys.push_back({"sources.cursor.pointer", "Where in a page the cursor of the next one stands.",
                  Text{of(&S::cursor_pointer), kPointerAllowed, check_json_pointer}, false, poll});
  keys.push_back({"sources.cursor.parameter", "The query parameter that takes the cursor.",
                  Text{of(&S::cursor_parameter), "a query parameter's name", check_plain_text}, false, poll});
  keys.push_back({"sources.since",
                  "The query parameter that takes the time (RFC 3339) from which on changes are wanted.",
                  Text{of(&S::since), "a query parameter's name", check_plain_text}, false, poll});
  keys.push_back({"sources.overlap",
                  "How far before the last known change a poll asks again, so that late ones are not missed, "
                  "in seconds.",
                  WholeNumber{of(&S::overlap_seconds), 0, 604'800, "seconds"}, false, poll});
  keys.push_back(
      {"sources.next", "Where in a page the URL of the next one stands, or link for the Link header.",
       Text{of(&S::next), "a JSON pointer such as /paging/next, or link", check_next_page}, false, poll});
  keys.push_back(
      {"sources.headers", "Headers to send, such as Authorization, each as a reference to a secret.",
       SecretMap{of(&S::headers), kMaxHeaders, "a header's name", check_header_name}, false, poll});
  keys.push_back({"sources.ca_file",
                  "The certificate authorities (PEM) that the feed is checked against, in place of the "
                  "system's.",
                  FilePath{of(&S::ca_file), "a readable file's path", true}, false, poll});
}

}  // namespace

void add_source_keys(std::vector<SettingsKey>& keys) {
  add_kind(keys);
  add_meaning(keys);
  add_fields(keys);
  add_poll(keys);
}

}  // namespace giftsync::daemon
