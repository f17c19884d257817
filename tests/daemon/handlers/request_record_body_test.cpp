// The body of POST /api/v1/request_records: what is required, and what is only a warning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/handlers/request_record_handler.h"

namespace giftsync::handlers {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

auto issue(const std::string& field, const std::string& code, const std::string& message) {
  return AllOf(Field(&http::FieldIssue::field, field), Field(&http::FieldIssue::code, code),
               Field(&http::FieldIssue::message, HasSubstr(message)));
}

http::FieldIssues errors_of(std::string_view body) {
  const auto read = parse_request_record_body(body);
  return read ? http::FieldIssues{} : std::get<http::FieldIssues>(read.error());
}

http::FieldIssues warnings_of(std::string_view body) {
  const auto read = parse_request_record_body(body);
  EXPECT_TRUE(read.has_value());
  return read ? read->warnings.list() : http::FieldIssues{};
}

// REQ-42
TEST(RequestRecordBody, NeedsGiftAndRecipient) {
  EXPECT_THAT(errors_of(R"({"gift_id": 7, "recipient_email": "kim@example.com", "message": "Hi"})"),
              ElementsAre(issue("Gift_Id", "missing", R"(Found "gift_id": write it "Gift_Id")"),
                          issue("Recipient_Email", "missing", R"(write it "Recipient_Email")")));
  EXPECT_THAT(errors_of(R"({"Gift_Id": " ", "Recipient_Lead": ""})"),
              ElementsAre(issue("Gift_Id", "missing", "required"),
                          issue("Recipient_Email", "missing", "Recipient_Contact or Recipient_Lead")));
  for (const char* recipient : {R"("Recipient_Email": "kim@example.com")", R"("Recipient_Contact": "003A")",
                                R"("Recipient_Lead": "00QA")"})
    EXPECT_THAT(warnings_of(R"({"Gift_Id": 7, )" + std::string(recipient) + "}"), IsEmpty()) << recipient;
}

// REQ-42
TEST(RequestRecordBody, WarnsOfUnknownMembersAndAddresses) {
  EXPECT_THAT(warnings_of(R"({"Gift_Id": 7, "Recipient_Email": "kim", "message": "Hi", "Unheard": 1})"),
              ElementsAre(issue("Recipient_Email", "invalid_email", "no gift can be sent"),
                          issue("message", "unknown_member", "did you mean Message?"),
                          issue("Unheard", "unknown_member",
                                R"("Unheard" is not a member of this request and was ignored.)")));
}

}  // namespace
}  // namespace giftsync::handlers
