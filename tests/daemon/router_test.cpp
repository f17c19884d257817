// Which door serves which path, and what a caller reads who came to the wrong one.
#include "daemon/http/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/crypto/link_token.h"
#include "tests/daemon/temporary_store.h"

namespace giftsync::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr schema::UtcMillis kNow{1'795'264'267'000};
constexpr ServedPaths kOneDoor{true, true};
constexpr ServedPaths kBaseDoor{true, false};
constexpr ServedPaths kAdminDoor{false, true};

const std::vector<std::string> kBasePaths{"/api/v1/gift_requests", "/api/v1/gift_requests/7", "/g/abc"};
const std::vector<std::string> kAdminPaths{"/api/v1/webhooks/gift_requests",
                                           "/api/v1/crm/gift_requests",
                                           "/api/v1/webhooks/status_changes/vendor",
                                           "/api/v1/sso/metadata/okta",
                                           "/api/v1/request_records",
                                           "/api/v1/request_records/R-000001/approve"};

class RouterTest : public ::testing::Test {
 protected:
  HttpResponse post(const std::string& path, ServedPaths served) {
    HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.client = "127.0.0.1";
    return router_.answer(request, served);
  }
  std::string message(const std::string& path, ServedPaths served) {
    const HttpResponse answer = post(path, served);
    EXPECT_EQ(answer.status, 404) << path;
    return nlohmann::json::parse(answer.body).value("message", "");
  }
  static HttpResponse taken() {
    HttpResponse response;
    response.status = 202;
    return response;
  }

  TemporaryStore store_;
  const Clock clock_ = [] { return kNow; };
  const LinkSigner signer_{std::string(32, 's')};
  const GiftLinks links_{"http://127.0.0.1", signer_};
  GiftWriter writer_{store_->gifts};
  KeyGate gate_{store_->accounts, clock_, 0};
  GiftApi api_{*store_, writer_, gate_, links_, GiftApiOptions{}, clock_, [] {}};
  RequestLog log_{clock_};
  Router router_{api_,
                 [](const HttpRequest&, std::string_view) { return taken(); },
                 [](const HttpRequest&, std::string_view) { return taken(); },
                 [](const HttpRequest&) { return taken(); },
                 [](std::string_view) { return taken(); },
                 [](const HttpRequest&, std::string_view) { return taken(); },
                 [] { return true; },
                 log_,
                 clock_};
};

TEST_F(RouterTest, OneDoorServesEveryPath) {
  for (const auto& paths : {kBasePaths, kAdminPaths}) {
    for (const std::string& path : paths) EXPECT_NE(post(path, kOneDoor).status, 404) << path;
  }
}

TEST_F(RouterTest, EachOfTwoDoorsNamesTheOtherForItsPaths) {
  for (const std::string& path : kAdminPaths) {
    EXPECT_NE(post(path, kAdminDoor).status, 404) << path;
    EXPECT_THAT(message(path, kBaseDoor), HasSubstr("the setting server.admin_url")) << path;
  }
  for (const std::string& path : kBasePaths) {
    EXPECT_NE(post(path, kBaseDoor).status, 404) << path;
    EXPECT_THAT(message(path, kAdminDoor), HasSubstr("the setting server.base_url")) << path;
  }
}

TEST_F(RouterTest, WhatNoDoorServesIsToldAsBefore) {
  for (const std::string path : {"/", "/api/v1/gift_requestsx", "/api/v1/request_recordsx", "/favicon.ico"}) {
    for (const ServedPaths doors : {kOneDoor, kBaseDoor, kAdminDoor}) {
      EXPECT_THAT(message(path, doors), HasSubstr("There is nothing at this address.")) << path;
      EXPECT_THAT(message(path, doors), Not(HasSubstr("the setting"))) << path;
    }
  }
}

}  // namespace
}  // namespace giftsync::daemon
