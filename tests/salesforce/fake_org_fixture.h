// A fake org in memory with giftsync's package and its integration user, for tests without sockets.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/salesforce/fake_org/api.h"
#include "tests/source_folder.h"

namespace giftsync::tests::fake_org {

inline std::filesystem::path salesforce_project() {
  return std::filesystem::path(kSourceFolder) / "conf" / "salesforce";
}

class FakeOrgTest : public ::testing::Test {
 protected:
  FakeOrgTest() : org(":memory:", salesforce_project()), api(org) {
    user = org.add_user("integration@example.com", "giftsync_Integration");
    token = session_of(user);
  }

  std::string session_of(const std::string& user_id) {
    const std::string made = "token of " + user_id;
    org.database().run("INSERT INTO org_session (token, user_id, ends_at) VALUES (?, ?, ?)",
                       {made, user_id, static_cast<double>(org.now().value + kDayMillis)});
    return made;
  }

  ApiAnswer call(const std::string& method, const std::string& address, const Json& body = nullptr,
                 Headers headers = {}) {
    ApiRequest request;
    request.method = method;
    set_address(request, "/services/data/v62.0" + address);
    request.headers = std::move(headers);
    request.headers["Authorization"] = "Bearer " + token;
    if (!body.is_null()) request.body = body.dump();
    return api.answer(request);
  }

  Json query(const std::string& soql, const std::string& kind = "query") {
    std::string encoded;
    for (const char c : soql)
      encoded += c == ' ' ? "+" : c == '+' ? "%2B" : c == '%' ? "%25" : c == '&' ? "%26" : std::string(1, c);
    return call("GET", "/" + kind + "?q=" + encoded).body;
  }

  /// The values of the first field of the records.
  std::vector<std::string> names(const std::string& soql, const std::string& kind = "query") {
    const Json answer = query(soql, kind);
    std::vector<std::string> found;
    if (!answer.is_object()) {
      ADD_FAILURE() << answer.dump();
      return found;
    }
    for (const Json& record : answer["records"]) {
      const Json& value = std::next(record.begin()).value();
      found.push_back(value.is_string() ? value.get<std::string>() : json_text(value));
    }
    return found;
  }

  Json create(const std::string& type, const std::vector<Json>& records) {
    return call("POST", "/composite/sobjects", {{"records", typed(type, records)}}).body;
  }
  Json update(const std::string& type, const std::vector<Json>& records) {
    return call("PATCH", "/composite/sobjects", {{"records", typed(type, records)}}).body;
  }
  static Json typed(const std::string& type, const std::vector<Json>& records) {
    Json list = Json::array();
    for (const Json& record : records) {
      Json made{{"attributes", {{"type", type}}}};
      made.update(record);
      list.push_back(std::move(made));
    }
    return list;
  }

  /// "ok", or the first error's code and words.
  static std::string outcome(const Json& row) {
    if (!row.is_object() || !row.contains("success")) return row.dump();
    if (row["success"].get<bool>()) return "ok";
    return row["errors"][0]["statusCode"].get<std::string>() + " " +
           row["errors"][0]["message"].get<std::string>();
  }
  std::string id_of_new(const std::string& type, const Json& record) {
    const Json rows = create(type, {record});
    EXPECT_EQ(outcome(rows[0]), "ok");
    return rows[0].value("id", "");
  }
  void sql(const std::string& statement) { org.database().run_script(statement); }

  Org org;
  Api api;
  std::string user;
  std::string token;
};

}  // namespace giftsync::tests::fake_org
