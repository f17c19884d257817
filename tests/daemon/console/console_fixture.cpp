#include "tests/daemon/console/console_fixture.h"

namespace giftsync::console {

ConsoleFixture::ConsoleFixture() {
  options_.admin_url = "https://admin.example.com";
  options_.clock = [this] { return now_; };
  options_.settings.enabled = true;
  options_.webhooks.post = webhooks::post_options({"127.0.0.0/8"}, "");
  options_.webhooks.seal = [](std::string_view text) { return "sealed " + std::string(text); };
  options_.webhooks.unseal = [](const std::string& sealed) { return std::optional(sealed.substr(7)); };
  in_force_.store.connection = temporary_.address().connection;
  options_.attention = [this] {
    const auto stats = store::store_stats(wiring::store_dsn(in_force_.store), now_, now_);
    return wiring::attention_facts(in_force_, store_, stats, "giftsyncctl ", now_);
  };
  console_ = std::make_unique<Console>(store_, options_);
}

UserId ConsoleFixture::user(const std::string& email, const RoleSet& roles,
                            std::optional<OrganizationId> organization) {
  store::ConsoleUser made;
  made.email = email;
  made.organization = organization;
  for (const Role role : roles) made.roles.push_back({role, RoleOrigin::granted, "root", now_});
  return store_.console_users.create(made, {}).value();
}

std::string ConsoleFixture::link_for(UserId user, const std::string& token) {
  store_.console_sessions.create_link({sha256_hex(token), user, "root", now_, now_ + 600'000}, {});
  return token;
}

http::HttpRequest ConsoleFixture::request(const std::string& method, const std::string& path) const {
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

http::HttpResponse ConsoleFixture::send(const http::HttpRequest& given) {
  http::HttpResponse response = console_->handle(given).wait();
  for (const auto& [key, set] : response.headers)
    if (key == "Set-Cookie") keep_cookie(set);
  return response;
}

http::HttpResponse ConsoleFixture::post(const std::string& path, const std::string& body,
                                        const std::string& origin) {
  http::HttpRequest made = request("POST", path);
  made.headers.emplace("Origin", origin);
  made.headers.emplace("Content-Type", "application/x-www-form-urlencoded");
  made.body = body;
  return send(made);
}

void ConsoleFixture::sign_in(UserId user) {
  static int number = 0;
  cookie_.clear();
  const std::string token = link_for(user, "token" + std::to_string(number++));
  ASSERT_EQ(post("/console/link/" + token).status, 303);
}

std::string ConsoleFixture::header(const http::HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return {};
}

std::string ConsoleFixture::form_token_in(const std::string& page, const std::string& action) {
  const std::string key = "name=\"form_token\" value=\"";
  const std::size_t at = page.find(key, page.find("action=\"" + action + "\"")) + key.size();
  return page.substr(at, page.find('"', at) - at);
}

std::string ConsoleFixture::hidden_in(const std::string& page, const std::string& name) {
  const std::string key = "<input type=\"hidden\" name=\"" + name + "\" value=\"";
  const std::size_t found = page.find(key);
  if (found == std::string::npos) return {};
  const std::size_t at = found + key.size();
  return page.substr(at, page.find('"', at) - at);
}

std::string ConsoleFixture::paused_at_in(const std::string& page, const std::string& action) {
  const std::size_t at = page.find("action=\"" + action + "\"");
  return at == std::string::npos ? "" : "&paused_at=" + hidden_in(page.substr(at), "paused_at");
}

void ConsoleFixture::quarantine(const std::string& source, const std::string& word) {
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

void ConsoleFixture::keep_cookie(const std::string& set) {
  const std::string name = set.substr(0, set.find('='));
  const std::string value = set.substr(name.size() + 1, set.find(';') - name.size() - 1);
  if (name == kSession)
    cookie_ = value;
  else if (value.empty())
    other_cookies_.erase(name);
  else
    other_cookies_[name] = value;
}

}  // namespace giftsync::console
