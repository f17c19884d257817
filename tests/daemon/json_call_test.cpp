// The order in which a call with a JSON body is checked: of several faults the first one is told.
#include "daemon/http/json_call.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace giftsync::daemon {
namespace {

using Read = std::variant<std::string, JsonFault, FieldNotes>;

struct Faults {
  bool is_too_large = false;
  bool is_compressed = false;
  bool is_of_wrong_type = false;
  bool has_bad_key = false;
  Read read = std::string("good");
};

/// The code of the refusal, or the body that was read and its Idempotency-Key.
std::string outcome(const Faults& faults, Repeats repeats) {
  HttpRequest request;
  request.body_too_large = faults.is_too_large;
  if (faults.is_compressed) request.headers.emplace("Content-Encoding", "gzip");
  request.headers.emplace("Content-Type", faults.is_of_wrong_type ? "text/html" : "application/json");
  request.headers.emplace("Idempotency-Key", faults.has_bad_key ? "" : "k1");
  auto call = read_json_call(request, 100, repeats, [&] { return faults.read; });
  if (const auto* refusal = std::get_if<HttpResponse>(&call))
    return std::to_string(refusal->status) + " " + nlohmann::json::parse(refusal->body).value("code", "");
  const auto& good = std::get<JsonCall<std::string>>(call);
  return good.body + " " + good.idempotency_key.value_or("without a key");
}

TEST(JsonCall, OfSeveralFaultsTheFirstOfTheOrderIsTold) {
  const JsonFault no_json{"syntax", "The text is not valid JSON."};
  const FieldNotes no_gift{{"gift_id", "missing", "gift_id is missing."}};
  EXPECT_EQ(outcome({true, true, true, true, no_json}, Repeats::by_key), "413 body_too_large");
  EXPECT_EQ(outcome({false, true, true, true, no_json}, Repeats::by_key), "415 unsupported_content_encoding");
  EXPECT_EQ(outcome({false, false, true, true, no_json}, Repeats::by_key), "415 unsupported_media_type");
  EXPECT_EQ(outcome({false, false, false, true, no_json}, Repeats::by_key), "400 invalid_idempotency_key");
  EXPECT_EQ(outcome({false, false, false, false, no_json}, Repeats::by_key), "400 malformed_json");
  EXPECT_EQ(outcome({false, false, false, false, no_gift}, Repeats::by_key), "400 invalid");
  EXPECT_EQ(outcome({}, Repeats::by_key), "good k1");
}

TEST(JsonCall, WhereARepeatIsHarmlessNoKeyIsLookedAt) {
  EXPECT_EQ(outcome({true, true, false, true, {}}, Repeats::harmless), "413 body_too_large");
  EXPECT_EQ(outcome({false, false, true, true, {}}, Repeats::harmless), "415 unsupported_media_type");
  EXPECT_EQ(outcome({false, false, false, true, std::string("good")}, Repeats::harmless),
            "good without a key");
}

}  // namespace
}  // namespace giftsync::daemon
