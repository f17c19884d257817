// The keys of `sources`.
#include <fmt/format.h>

#include "daemon/config/settings_table.h"

namespace giftsync::config {
namespace {

using S = SourceSettings;
using F = SourceFieldSettings;

constexpr std::size_t kMaxSecrets = 5;
constexpr std::size_t kMaxStatusValues = 500;
constexpr std::size_t kMaxHeaders = 20;

const TextForm kPointer{"a JSON pointer (RFC 6901) such as /data/id", check_json_pointer,
                        R"({"pattern": "^/"})"};
const std::vector<std::string> kStatuses{"sent",     "delivered", "undelivered", "opened",
                                         "redeemed", "donated",   "expired",     "refunded"};

template <class T>
auto source(T S::*member) {
  return setting(&Settings::sources, member);
}

KeyTable kind_keys() {
  const OnlyWith webhook{"sources.type", "webhook"};
  return {{"sources.name",
           "The source's name, shown with each of its changes and the last part of a webhook's address; it "
           "must not change, because the gifts of an external source are identified by it and their id.",
           Text{source(&S::name),
                {"1 to 64 lower-case letters, digits, - and _", check_source_name,
                 R"({"maxLength": 64, "pattern": "^[a-z0-9_-]+$"})"}},
           {.example = "vendor", .is_required = true}},
          {"sources.type",
           "webhook: the source calls POST {admin_url}/api/v1/webhooks/status_changes/{name}; poll: giftsync "
           "requests its feed.",
           choice({"webhook", "poll"}, source(&S::kind))},
          {"sources.preset",
           "A mail provider whose format and signature are built in: ses (through SNS), postmark, mailgun or "
           "sendgrid.",
           choice({"none", "ses", "postmark", "mailgun", "sendgrid"}, source(&S::preset)),
           {.only_with = webhook}},
          {"sources.signature",
           "How a message is authenticated: standard (Standard Webhooks), hmac (HMAC-SHA256 of the body in a "
           "header) or basic (user name and password). Not with a preset.",
           choice({"standard", "hmac", "basic"}, source(&S::signature)),
           {.only_with = webhook}},
          {"sources.signature_header",
           "The header with a signature or several, in hex or base64, with or without sha256= before each.",
           Text{source(&S::signature_header), {"a header's name such as X-Signature", check_header_name}},
           {.example = "X-Signature", .is_required = true, .only_with = {"sources.signature", "hmac"}}},
          {"sources.secret",
           "The secret shared with the source, or several during a rotation; for basic user:password, for "
           "sendgrid its verification key. Required unless preset is ses.",
           SecretList{source(&S::secrets), kMaxSecrets},
           {.example = "\"credential:vendor-secret\"", .only_with = webhook}},
          {"sources.allow_short_secrets",
           "Accept a secret, or a password of basic and postmark, of fewer than 16 bytes, because the sender "
           "offers no longer one. With a guessed secret any status can be reported.",
           BooleanValue{source(&S::allow_short_secrets)},
           {.only_with = webhook}},
          {"sources.topic",
           "The ARN of the SNS topic that SES reports to; messages of other topics are refused.",
           Text{source(&S::topic),
                {"an ARN such as arn:aws:sns:eu-west-1:123456789012:gift-mails", check_topic_arn,
                 fmt::format(R"({{"pattern": "{}"}})", kTopicArnPattern)}},
           {.example = "\"arn:aws:sns:eu-west-1:123456789012:gift-mails\"",
            .is_required = true,
            .only_with = {"sources.preset", "ses"}}}};
}

KeyTable meaning_keys() {
  std::vector<std::string> meanings = kStatuses;
  meanings.push_back("ignore");
  return {{"sources.transactions",
           "own: it reports on gifts that giftsync sent; external: on gifts that another system sent, under "
           "that system's ids. Not with a preset.",
           choice({"own", "external"}, source(&S::external))},
          {"sources.transaction_ids",
           "The ids of an external source. allot: they are texts of up to 255 characters such as ord_1a2b or "
           "a UUID; each gift gets a Transaction Id of giftsync's own and keeps the source's id beside it. "
           "keep: they are whole numbers from 1 to 9007199254740992 and become the Transaction Ids, for "
           "gifts whose records are in the CRM already. Numbers of small size collide with giftsync's own: "
           "choose allot, or a high store.first_transaction_id. It may change from keep to allot, not back.",
           choice({"keep", "allot"}, source(&S::allots_ids)),
           {.only_with = {"sources.transactions", "external"}}},
          {"sources.may_set",
           "The statuses that the source may report; empty allows all, a preset delivered, undelivered and "
           "opened.",
           TextList{source(&S::may_set),
                    0,
                    kStatuses.size(),
                    {fmt::format("one of {}", fmt::join(kStatuses, ", ")), check_status_word,
                     fmt::format(R"({{"enum": ["{}"]}})", fmt::join(kStatuses, "\", \""))}}},
          {"sources.status_map",
           "The status for each of the source's values; ignore skips a value, events with other values are "
           "quarantined; without it the source must use giftsync's values. Not with a preset.",
           ChoiceMap{source(&S::status_map), kMaxStatusValues, "a value of the source", meanings},
           {.example = "{ viewed: opened, claimed: redeemed, queued: ignore }"}},
          {"sources.items",
           "Where the list of events is in a document; without it the document is the list, or one event. "
           "Not with a preset.",
           Text{source(&S::items), kPointer},
           {.example = "/data"}}};
}

KeyTable field_keys() {
  struct Field {
    const char* name;
    const char* description;
    const char* example;
    std::string F::*member;
  };
  KeyTable keys;
  for (const Field& field : {
           Field{"transaction_id",
                 "Where the id of the recipient transaction is in an event. Needed without a preset.", "/id",
                 &F::transaction_id},
           {"status", "Where the status is. Needed without a preset.", "/status", &F::status},
           {"occurred_at",
            "Where the time of the status is: ISO 8601 with a zone, or seconds or milliseconds since 1970 as "
            "a number. Needed without a preset.",
            "/time", &F::occurred_at},
           {"event_id", "Where the event's own id is.", "/event", &F::event_id},
           {"recipient_email",
            "For gifts of an external source: where the recipient's e-mail address is; without it and a "
            "phone number no gift is made.",
            "/to/email", &F::recipient_email},
           {"recipient_phone", "Where the recipient's phone number is.", "/to/phone", &F::recipient_phone},
           {"first_name", "Where the recipient's first name is.", "/to/first", &F::first_name},
           {"last_name", "Where the recipient's last name is.", "/to/last", &F::last_name},
           {"sender_email", "Where the e-mail address of the CRM user who sent the gift is.", "/from",
            &F::sender_email},
           {"gift_id", "Where the item's id is.", "/gift", &F::gift_id},
           {"message", "Where the message is.", "/text", &F::message},
           {"sent_at", "Where the time of sending is; it counts like an event sent at that time.", "/sent",
            &F::sent_at},
           {"costs.item", "Where the item's cost is, as a decimal number.", "/cost/item", &F::item_cost},
           {"costs.shipping", "Where the shipping cost is.", "/cost/shipping", &F::shipping_cost},
           {"costs.carbon_neutral", "Where the carbon neutral cost is.", "/cost/carbon",
            &F::carbon_neutral_cost},
           {"costs.transaction_fee", "Where the transaction fee is.", "/cost/fee", &F::transaction_fee},
       }) {
    keys.push_back({std::string("sources.fields.") + field.name,
                    field.description,
                    Text{setting(&Settings::sources, &S::fields, field.member), kPointer},
                    {.example = field.example}});
  }
  return keys;
}

KeyTable poll_keys() {
  const OnlyWith poll{"sources.type", "poll"};
  const TextForm parameter{"a query parameter's name", check_plain_text};
  return {
      {"sources.url",
       "The feed's address; it responds to GET with JSON.",
       Text{source(&S::url),
            {"an http:// or https:// URL such as https://api.example.com/v1/events", check_feed_url,
             R"({"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\s][^#\\s]*$"})"}},
       {.example = "\"https://api.example.com/v1/events\"", .is_required = true, .only_with = poll}},
      {"sources.interval",
       "The time between two polls, in seconds, with up to a tenth of random jitter.",
       WholeNumber{source(&S::interval_seconds), 1, 86'400, "seconds"},
       {.only_with = poll}},
      {"sources.cursor.pointer",
       "Where the cursor of the next page is in a page.",
       Text{source(&S::cursor_pointer), kPointer},
       {.example = "/paging/cursor", .only_with = poll, .only_beside = "sources.cursor.parameter"}},
      {"sources.cursor.parameter",
       "The query parameter for the cursor.",
       Text{source(&S::cursor_parameter), parameter},
       {.example = "after", .only_with = poll, .only_beside = "sources.cursor.pointer"}},
      {"sources.since",
       "The query parameter for the time (RFC 3339) from which changes are requested. The feed filters "
       "fields.occurred_at by it. Needs next; or page_size, and items ascending by that time. Not beside "
       "cursor.",
       Text{source(&S::since), parameter},
       {.example = "updated_since", .only_with = poll}},
      {"sources.page_size",
       "How many items a full page has, those that cannot be read too. Required with since, unless next is "
       "set.",
       WholeNumber{source(&S::page_size), 2, 10'000, "items"},
       {.example = "100", .only_with = poll, .only_beside = "sources.since"}},
      {"sources.overlap",
       "How far before the last known change a poll starts, so that late changes are not missed, in seconds.",
       WholeNumber{source(&S::overlap_seconds), 0, 604'800, "seconds"},
       {.only_with = poll, .only_beside = "sources.since"}},
      {"sources.next",
       "Where the URL of the next page is in a page, or link for the Link header. Not beside cursor.",
       Text{source(&S::next),
            {"a JSON pointer such as /paging/next, or link", check_next_page, R"({"pattern": "^/|^link$"})"}},
       {.example = "link", .only_with = poll}},
      {"sources.headers",
       "Headers to send, such as Authorization, each as a reference to a secret.",
       SecretMap{source(&S::headers), kMaxHeaders, {"a header's name", check_header_name}},
       {.example = "{ Authorization: \"credential:vendor-token\" }", .only_with = poll}},
      {"sources.ca_file",
       "The certificate authorities (PEM) that verify the feed, in place of the system's.",
       FilePath{source(&S::ca_file), kReadableFile, true},
       {.example = "\"/etc/ssl/certs/ca-certificates.crt\"", .only_with = poll}}};
}

}  // namespace

KeyTable source_keys() {
  return joined({kind_keys, meaning_keys, field_keys, poll_keys});
}

}  // namespace giftsync::config
