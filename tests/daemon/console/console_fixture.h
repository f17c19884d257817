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
  ConsoleFixture() {
    options_.admin_url = "https://admin.example.com";
    options_.clock = [this] { return now_; };
    options_.settings.enabled = true;
    in_force_.store.connection = temporary_.address().connection;
    options_.attention = [this] {
      const auto stats = store::store_stats(wiring::store_dsn(in_force_.store), now_, now_);
      return wiring::attention_facts(in_force_, store_, stats, "giftsyncctl ", now_);
    };
    console_ = std::make_unique<Console>(store_, options_);
  }

  UserId user(const std::string& email, const RoleSet& roles,
              std::optional<OrganizationId> organization = {}) {
    store::ConsoleUser made;
    made.email = email;
    made.organization = organization;
    for (const Role role : roles) made.roles.push_back({role, RoleOrigin::granted, "root", now_});
    return store_.console_users.create(made, {}).value();
  }
  /// The token of a sign-in link for the user.
  std::string link_for(UserId user, const std::string& token = "a-token") {
    store_.console_sessions.create_link({sha256_hex(token), user, "root", now_, now_ + 600'000}, {});
    return token;
  }
  http::HttpRequest request(const std::string& method, const std::string& path) const {
    http::HttpRequest made;
    made.method = method;
    made.path = path.substr(0, path.find('?'));
    if (path.find('?') != std::string::npos) made.query = path.substr(path.find('?') + 1);
    made.client = "192.0.2.7";
    made.headers = {{"Host", "admin.example.com"}, {"User-Agent", "A <b>browser</b>"}};
    if (!cookie_.empty()) made.headers.emplace("Cookie", std::string(kSession) + "=" + cookie_);
    for (const auto& [name, value] : other_cookies_) made.headers.emplace("Cookie", name + "=" + value);
    return made;
  }
  http::HttpResponse send(const http::HttpRequest& given) {
    http::HttpResponse response = console_->handle(given).wait();
    for (const auto& [key, set] : response.headers)
      if (key == "Set-Cookie") keep_cookie(set);
    return response;
  }
  http::HttpResponse get(const std::string& path) { return send(request("GET", path)); }
  http::HttpResponse post(const std::string& path, const std::string& body = "",
                          const std::string& origin = "https://admin.example.com") {
    http::HttpRequest made = request("POST", path);
    made.headers.emplace("Origin", origin);
    made.headers.emplace("Content-Type", "application/x-www-form-urlencoded");
    made.body = body;
    return send(made);
  }
  void sign_in(UserId user) {
    static int number = 0;
    cookie_.clear();
    const std::string token = link_for(user, "token" + std::to_string(number++));
    ASSERT_EQ(post("/console/link/" + token).status, 303);
  }
  static std::string header(const http::HttpResponse& response, std::string_view name) {
    for (const auto& [key, value] : response.headers)
      if (key == name) return value;
    return {};
  }
  /// The form token behind the form that posts to a path.
  static std::string form_token_in(const std::string& page, const std::string& action) {
    const std::string key = "name=\"form_token\" value=\"";
    const std::size_t at = page.find(key, page.find("action=\"" + action + "\"")) + key.size();
    return page.substr(at, page.find('"', at) - at);
  }
  /// The hidden field of that name; empty when the page has none.
  static std::string hidden_in(const std::string& page, const std::string& name) {
    const std::string key = "<input type=\"hidden\" name=\"" + name + "\" value=\"";
    const std::size_t found = page.find(key);
    if (found == std::string::npos) return {};
    const std::size_t at = found + key.size();
    return page.substr(at, page.find('"', at) - at);
  }
  /// The time of the pause that the form which posts to a path ends; as a further field.
  static std::string paused_at_in(const std::string& page, const std::string& action) {
    const std::size_t at = page.find("action=\"" + action + "\"");
    return at == std::string::npos ? "" : "&paused_at=" + hidden_in(page.substr(at), "paused_at");
  }
  /// An event of the source in quarantine, whose status is `word`.
  void quarantine(const std::string& source, const std::string& word) {
    store_.sources.open(source, "", now_);
    store::InboundBatch batch;
    batch.source = source;
    batch.now = now_;
    store::InboundItem item;
    item.quarantined = true;
    item.event.reason = store::QuarantineReason::unknown_status;
    item.event.status_word = word;
    item.event.detail = "no such word";
    item.event.digest = "digest of " + word;
    item.event.payload = R"({"recipient_email":"secret@example.com"})";
    item.event.received_at = now_;
    batch.items = {item};
    store_.sources.accept(batch);
  }

  void keep_cookie(const std::string& set) {
    const std::string name = set.substr(0, set.find('='));
    const std::string value = set.substr(name.size() + 1, set.find(';') - name.size() - 1);
    if (name == kSession)
      cookie_ = value;
    else if (value.empty())
      other_cookies_.erase(name);
    else
      other_cookies_[name] = value;
  }

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
