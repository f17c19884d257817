// giftsyncctl with a store of its own against a fake org over HTTP.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/cli_fixture.h"
#include "tests/salesforce/fake_org/server.h"
#include "tests/salesforce/fake_org_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {

class OrgCommandTest : public testing::Test {
 protected:
  using Json = nlohmann::json;
  using Org = tests::fake_org::Org;

  OrgCommandTest() {
    server_.with_org([&](Org& org) {
      user_ = org.add_user("integration@example.com", "giftsync_Integration");
      org.set("consumer_key", "consumer");
      org.set("client_secret", "secret");
      org.set("run_as", "integration@example.com");
    });
    write_settings("");
  }
  /// `salesforce` follows the keys of crm.salesforce, `crm` those of crm, `rest` is other sections.
  void write_settings(const std::string& salesforce, const std::string& crm = "",
                      const std::string& rest = "") {
    write_settings_for(server_.url(), salesforce, crm, rest);
  }
  void write_settings_for(const std::string& domain, const std::string& salesforce = "",
                          const std::string& crm = "", const std::string& rest = "") {
    cli_.write_settings("crm:\n  type: salesforce\n  integration_user: " + user_ + "\n" + crm +
                        "  salesforce: { domain: \"" + domain +
                        "\", flow: client_credentials, client_id: consumer, client_secret: secret" +
                        salesforce + " }\n" + rest);
  }
  void sql(const std::string& statement) {
    server_.with_org([&](Org& org) { org.database().run_script(statement); });
  }
  int calls() {
    int calls = 0;
    server_.with_org([&](Org& org) { calls = org.calls(); });
    return calls;
  }
  /// Each call is refused with this code until end_faults().
  void refuse_calls(const std::string& code, const std::string& words) {
    const Json body = Json::array({{{"errorCode", code}, {"message", words}}});
    server_.with_org([&](Org& org) {
      org.faults().add({{"kind", "answer"},
                        {"status", 403},
                        {"content_type", "application/json"},
                        {"body", body.dump()},
                        {"path", "/services/data"},
                        {"times", 0}});
    });
  }
  void refuse_for_the_quota() { refuse_calls("REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded."); }
  void end_faults() {
    server_.with_org([](Org& org) { org.faults().clear(); });
  }

  tests::fake_org::Server server_{0, ":memory:", tests::fake_org::salesforce_project()};
  std::string user_;
  CliFixture cli_;
};

}  // namespace giftsync::cli
