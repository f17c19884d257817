// A console over a store, and a browser that keeps its cookie.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "daemon/console/console.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/org_status.h"
#include "platform/digest.h"
#include "tests/support/temporary_store.h"

namespace giftsync::console {

class ConsoleFixture : public testing::Test {
 protected:
  ConsoleFixture();

  UserId user(const std::string& email, const RoleSet& roles,
              std::optional<OrganizationId> organization = {});
  /// The token of a sign-in link for the user.
  std::string link_for(UserId user, const std::string& token = "a-token");
  http::HttpRequest request(const std::string& method, const std::string& path) const;
  http::HttpResponse send(const http::HttpRequest& given);
  http::HttpResponse get(const std::string& path) { return send(request("GET", path)); }
  http::HttpResponse post(const std::string& path, const std::string& body = "",
                          const std::string& origin = "https://admin.example.com");
  void sign_in(UserId user);
  static std::string header(const http::HttpResponse& response, std::string_view name);
  /// The form token behind the form that posts to a path.
  static std::string form_token_in(const std::string& page, const std::string& action);
  /// The hidden field of that name; empty when the page has none.
  static std::string hidden_in(const std::string& page, const std::string& name);
  /// The time of the pause that the form which posts to a path ends; as a further field.
  static std::string paused_at_in(const std::string& page, const std::string& action);
  /// An event of the source in quarantine, whose status is `word`.
  void quarantine(const std::string& source, const std::string& word);

  void keep_cookie(const std::string& set);

  static constexpr const char* kSession = "__Host-giftsync_session";
  UtcMillis now_{1'795'264'267'000};
  tests::TemporaryStore temporary_;
  store::Store& store_ = *temporary_;
  config::Settings in_force_;
  ConsoleOptions options_;
  std::unique_ptr<Console> console_;
  std::string cookie_;                                ///< of the session
  std::map<std::string, std::string> other_cookies_;  ///< by name
};

}  // namespace giftsync::console
