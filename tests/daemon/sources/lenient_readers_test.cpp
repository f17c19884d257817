// Each lenient reading (docs/design/reading.md) through each reader of a source's JSON: webhook, mail
// provider presets, poll page. SES has its own file (sns_test.cpp), and so have `change import`
// (import_test.cpp) and identity providers (oidc_client_test.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/x509.h>

#include <functional>

#include "daemon/sources/poll_cursor.h"
#include "tests/daemon/sources/providers/provider_fixture.h"

namespace giftsync::sources {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kTime = "2027-01-15T07:59:00";
const std::string kOutcome = "delivered 2027-01-15T07:59:00.000Z";

/// What the sender of one event writes differently.
struct Message {
  std::string before = {};                ///< before the document
  std::string more = {};                  ///< members of the event that no pointer leads to
  std::string time = kTime + "Z";         ///< between quotation marks
  std::string id_more = {};               ///< behind the event's id, inside its quotation marks
  std::string type = "application/json";  ///< Content-Type
};

struct Reader {
  std::string name;
  std::function<std::vector<std::string>(const Message&)> read;
};

CompiledSource vendor(config::SourceKind kind) {
  config::SourceSettings settings;
  settings.name = "vendor";
  settings.kind = kind;
  settings.signature = config::SourceSignature::hmac;
  settings.signature_header = "X-Signature";
  settings.secrets = {config::Secret("hush")};
  settings.items = kind == config::SourceKind::poll ? "/data" : "";
  settings.url = "https://api.example.com/events";
  settings.cursor_pointer = kind == config::SourceKind::poll ? "/cursor" : "";
  settings.fields.transaction_id = "/id";
  settings.fields.status = "/what";
  settings.fields.occurred_at = "/at";
  settings.fields.event_id = "/event";
  return compile_source(settings, "8f3a");
}

std::string vendor_event(const Message& message) {
  return R"({"id":41,"what":"delivered","at":")" + message.time + R"(","event":"e1)" + message.id_more +
         "\"" + message.more + "}";
}

http::HttpRequest request_with(const std::string& body, const std::string& type) {
  http::HttpRequest request;
  request.body = body;
  request.headers = {{"Content-Type", type}};
  return request;
}

std::vector<std::string> read_webhook(const Message& message) {
  const CompiledSource source = vendor(config::SourceKind::webhook);
  http::HttpRequest request = request_with(message.before + vendor_event(message), message.type);
  request.headers.emplace("X-Signature", to_hex(hmac_sha256("hush", request.body)));
  return describe_outcomes(parse_webhook_message(source, request, kNow, no_fetch), source);
}

std::vector<std::string> read_poll_page(const Message& message) {
  const CompiledSource source = vendor(config::SourceKind::poll);
  HttpGetResponse response;
  response.status = 200;
  response.body =
      message.before + R"({"data":[)" + vendor_event(message) + R"(],"cursor":"c2")" + message.more + "}";
  const auto page = read_page(source, {}, source.settings.url, response, {kNow, kNow});
  if (!page) return {"invalid " + page.error()};
  EXPECT_EQ(page->after.cursor, "c2");
  return describe_outcomes(WebhookEvents{page->events, {}}, source);
}

std::vector<std::string> read_postmark(const Message& message) {
  const CompiledSource source = compiled_source_for(config::SourcePreset::postmark, "postmark:hush");
  http::HttpRequest request = request_with(
      message.before + R"({"RecordType":"Delivery","DeliveredAt":")" + message.time + R"(","MessageID":"m1)" +
          message.id_more + R"(","Metadata":{"giftsync":"gift-41.0.8f3a@example.com"})" + message.more + "}",
      message.type);
  request.headers.emplace("Authorization", "Basic " + to_base64_text("postmark:hush"));
  return describe_outcomes(parse_webhook_message(source, request, kNow, no_fetch), source);
}

std::vector<std::string> read_mailgun(const Message& message) {
  const CompiledSource source = compiled_source_for(config::SourcePreset::mailgun, "key-hush");
  const std::string timestamp = std::to_string(kNow.value / 1000);
  const std::string token = "e0b5477167110d68991efc6b9f89f0a11066af27834600e123";
  const std::string body =
      message.before + R"({"signature":{"token":")" + token + R"(","timestamp":")" + timestamp +
      R"(","signature":")" + to_hex(hmac_sha256("key-hush", timestamp + token)) +
      R"("},"event-data":{"event":"delivered","timestamp":")" + message.time + R"(","id":"m1)" +
      message.id_more + R"(","message":{"headers":{"message-id":"gift-41.0.8f3a@example.com"}})" +
      message.more + "}}";
  return describe_outcomes(parse_webhook_message(source, request_with(body, message.type), kNow, no_fetch),
                           source);
}

std::vector<std::string> read_sendgrid_list(const std::string& body, const std::string& type) {
  static const SigningKey key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  unsigned char* der = nullptr;
  const int length = i2d_PUBKEY(key.get(), &der);
  const std::string public_key = to_base64_text({reinterpret_cast<const char*>(der), std::size_t(length)});
  OPENSSL_free(der);
  const CompiledSource source = compiled_source_for(config::SourcePreset::sendgrid, public_key);
  http::HttpRequest request = request_with(body, type);
  const std::string timestamp = std::to_string(kNow.value / 1000);
  request.headers.emplace("X-Twilio-Email-Event-Webhook-Timestamp", timestamp);
  request.headers.emplace("X-Twilio-Email-Event-Webhook-Signature",
                          sign(key.get(), timestamp + body, EVP_sha256()));
  return describe_outcomes(parse_webhook_message(source, request, kNow, no_fetch), source);
}

std::vector<std::string> read_sendgrid(const Message& message) {
  return read_sendgrid_list(message.before + R"([{"event":"delivered","timestamp":")" + message.time +
                                R"(","sg_event_id":"m1)" + message.id_more +
                                R"(","giftsync":"gift-41.0.8f3a@example.com")" + message.more + "}]",
                            message.type);
}

const std::vector<Reader>& readers() {
  static const std::vector<Reader> kReaders{{"webhook", read_webhook},
                                            {"poll page", read_poll_page},
                                            {"postmark", read_postmark},
                                            {"mailgun", read_mailgun},
                                            {"sendgrid", read_sendgrid}};
  return kReaders;
}

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

// READ-2, READ-3, READ-4, READ-5, SRC-10
TEST(LenientReaders, EachReadsTheEventWhateverNoPointerLeadsTo) {
  std::vector<Message> messages{{}, {.before = "\xEF\xBB\xBF"}};
  for (const std::string& more :
       {R"(,"note":"see you \ud83d")"s, R"(,"note":"\ude00\ud83d")"s, ",\"note\":\"Ren\xE9 caf\xC3\""s,
        ",\"note\":\"\xC0\xAF\xED\xA0\x80\""s, R"(,"note":"a\u0000b","n\u0000":1)"s, ",\"note\":\"a\0b\""s,
        ",\"note\":\"a\nb\""s, R"(,"note":"it\'s")"s, R"(,"note":1,"note":2)"s,
        R"(,"note":{"deep":[{"a":1,"a":"\ud83d"}]})"s, ",\"\xFF\":1"s, R"(,"note":1e999)"s,
        ",\"note\":" + nested(100), ",\"note\":" + nested(100) + ",\"cut\":\"\xFF\",\"cut\":\"\\ud83d\""})
    messages.push_back({.more = more});
  messages.push_back({.before = "\xEF\xBB\xBF", .more = ",\"note\":\"\xFF\""});
  for (const std::string& time : {kTime + ".000+0000", "2027-01-15T07:59Z"s, "2027-01-15t13:29:00,0+05:30"s,
                                  "2027-01-15 08:59:00+01"s, "20270115T075900Z"s})
    messages.push_back({.time = time});
  for (const std::string type :
       {"application/vnd.api+json", "text/json", "application/json; charset=us-ascii"})
    messages.push_back({.type = type});
  for (const Reader& reader : readers()) {
    for (const Message& message : messages) {
      EXPECT_THAT(reader.read(message), ElementsAre(kOutcome))
          << reader.name << ": " << message.more << ' ' << message.time << ' ' << message.type;
    }
  }
}

// READ-3, SRC-10
TEST(LenientReaders, AnIdWithACharacterThatCannotBeReadIsQuarantined) {
  for (const Reader& reader : readers()) {
    for (const std::string& cut : {"\xFF"s, R"(\ud83d)"s, R"(\u0000)"s}) {
      EXPECT_THAT(reader.read({.id_more = cut}),
                  ElementsAre(HasSubstr("quarantined: no field was read: The text at")))
          << reader.name;
    }
  }
}

TEST(LenientReaders, ATimeWithoutAZoneAndAWrongStructureAreFaults) {
  for (const Reader& reader : readers()) {
    EXPECT_THAT(reader.read({.time = kTime}), ElementsAre(HasSubstr("quarantined: occurred_at: found")))
        << reader.name;
    for (const std::string& more : {",\"note\":"s, ",\"note\":\xFF"s, "}"s})
      EXPECT_THAT(reader.read({.more = more}).front(),
                  HasSubstr(reader.name == "mailgun" ? "refused" : "invalid"))
          << reader.name << more;
  }
}

// SRC-10
TEST(LenientReaders, OneEventThatCannotBeReadLeavesTheOthers) {
  const CompiledSource source = vendor(config::SourceKind::poll);
  const std::string good = vendor_event({});
  for (const std::string& bad :
       {R"({"id":41,"id":42,"what":"delivered","at":"2027-01-15T07:59:00Z"})"s,
        "{\"id\":\"4\xFF\",\"what\":\"delivered\",\"at\":\"2027-01-15T07:59:00Z\"}"s, nested(100)}) {
    HttpGetResponse response;
    response.body = R"({"data":[)" + good + "," + bad + "," + good + R"(],"cursor":"2"})";
    const auto page = read_page(source, {}, source.settings.url, response, {kNow, kNow});
    ASSERT_TRUE(page) << bad << page.error();
    EXPECT_THAT(describe_outcomes(WebhookEvents{page->events, {}}, source),
                ElementsAre(kOutcome, HasSubstr("quarantined"), kOutcome))
        << bad;
  }
}

// SRC-10
TEST(LenientReaders, OfSeveralProviderEventsOnlyTheOwnOneIsLost) {
  const auto event = [](const std::string& members) {
    return R"({"event":"delivered","timestamp":")" + kTime + R"(Z",)" + members + "}";
  };
  const std::string own = R"("giftsync":"gift-41.0.8f3a@example.com")";
  EXPECT_THAT(read_sendgrid_list(
                  "[" + event(own) + "," +
                      event(R"("smtp-id":"<abc@other.example>","email":"z","sg_event_id":"f1","email":"y")") +
                      "," + event(R"("smtp-id":"<abc@other.example>","sg_event_id":"1","sg_event_id":"2")") +
                      "," + event(own + R"(,"sg_event_id":"1","sg_event_id":"2")") + "," +
                      event(own + R"(,"giftsync":"gift-42.0.8f3a@example.com")") + "," +
                      event(own + R"(,"sg_event_id":"\ud83d")") + "]",
                  "application/json"),
              ElementsAre(kOutcome, "ignored", "ignored",
                          HasSubstr("quarantined: no field was read: The name \"sg_event_id\" appears twice"),
                          HasSubstr("quarantined: no field was read: The name \"giftsync\" appears twice"),
                          HasSubstr("quarantined: no field was read: The text at \"/sg_event_id\"")));
}

// SRC-10
TEST(LenientReaders, APageWhoseContinuationCannotBeReadIsInvalid) {
  const CompiledSource source = vendor(config::SourceKind::poll);
  for (const std::string& frame :
       {R"("data":[],"data":[],"cursor":"2")"s, R"("data":[],"cursor":"2","cursor":"3")"s,
        R"("data":[],"cursor":"2\ud83d")"s, R"("data":[],"cursor":"2\u0000")"s}) {
    HttpGetResponse response;
    response.body = "{" + frame + "}";
    EXPECT_FALSE(read_page(source, {}, source.settings.url, response, {kNow, kNow})) << frame;
  }
}

TEST(LenientReaders, AFreeTextKeepsWhatCanBeRead) {
  config::SourceSettings settings = vendor(config::SourceKind::webhook).settings;
  settings.external = true;
  settings.fields.message = "/text";
  settings.fields.first_name = "/to";
  settings.fields.recipient_email = "/email";
  const CompiledSource source = compile_source(settings, "8f3a");
  const auto read = [&](const std::string& more) {
    const auto document = parse_lenient_json("{\"id\":41,\"what\":\"sent\",\"at\":1799990000," + more + "}");
    return extract_events(document->root(), source)->front();
  };
  const sync::InboundEvent event =
      read("\"text\":\"see you \\ud83d\",\"to\":\"Ren\xE9\",\"email\":\"a@b.example\"");
  EXPECT_EQ(event.unread_reason, "");
  EXPECT_EQ(event[sync::EventField::message], "see you \xEF\xBF\xBD");
  EXPECT_EQ(event[sync::EventField::first_name], "Ren\xEF\xBF\xBD");
  EXPECT_THAT(read("\"email\":\"a\xE9@b.example\"").unread_reason, HasSubstr("\"/email\""));
}

}  // namespace
}  // namespace giftsync::sources
