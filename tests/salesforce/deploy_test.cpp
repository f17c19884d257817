// giftsync's package is deployed into an org without it, as "giftsyncctl crm setup" does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "crm/salesforce/org/package.h"
#include "crm/salesforce/org/package_deploy.h"
#include "tests/salesforce/fake_org/server.h"
#include "tests/salesforce/fake_org_fixture.h"

namespace giftsync::salesforce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using tests::fake_org::Json;
using tests::fake_org::Org;

class DeployTest : public testing::Test {
 protected:
  DeployTest() {
    server_.with_org(
        [&](Org& org) { admin_ = session(org, org.add_user("admin@example.com", "System_Administrator")); });
  }
  static std::string session(Org& org, const std::string& user) {
    org.database().run("INSERT INTO org_session (token, user_id, ends_at) VALUES (?, ?, ?)",
                       {"token of " + user, user, static_cast<double>(org.now().value + kDayMillis)});
    return "token of " + user;
  }
  PackageDeploy deploy_as(const std::string& token) { return {http_, {server_.url(), token}}; }
  static std::string zip(const std::vector<SourceFile>& files) { return zip_of(files); }
  static std::vector<SourceFile> package() { return metadata_package(package_sources(), "62.0"); }

  /// Follows the deployment to its end.
  Deployment run(const std::vector<SourceFile>& files, bool is_check_only = false) {
    PackageDeploy deploy = deploy_as(admin_);
    auto deployment = deploy.begin(zip(files), is_check_only);
    EXPECT_TRUE(deployment.has_value()) << deployment.error().message;
    while (deployment && !deployment->is_done) {
      ++looks_;
      deployment = deploy.look(deployment->id);
      EXPECT_TRUE(deployment.has_value()) << deployment.error().message;
    }
    return deployment.value_or(Deployment{});
  }
  bool has_object(const std::string& name) {
    bool found = false;
    server_.with_org([&](Org& org) { found = org.schema().find(name) != nullptr; });
    return found;
  }
  static SourceFile& file(std::vector<SourceFile>& files, const std::string& path) {
    return *std::ranges::find(files, path, &SourceFile::path);
  }
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }

  tests::fake_org::Server server_{0, ":memory:", "/nonexistent"};
  HttpClient http_{{.bypass_proxy = true}};
  std::string admin_;
  int looks_ = 0;
};

TEST_F(DeployTest, MakesTheObjectsOfThePackage) {
  EXPECT_FALSE(has_object("Gift_Record__c"));
  const Deployment done = run(package());
  EXPECT_TRUE(done.is_success) << (done.failures.empty() ? done.status : to_text(done.failures[0]));
  EXPECT_GT(done.total, 80U);
  EXPECT_EQ(done.deployed, done.total);
  EXPECT_EQ(looks_, 2) << "the first look finds it in progress";
  EXPECT_TRUE(has_object("Gift_Record__c"));
  server_.with_org([&](Org& org) {
    std::set<std::string> deployed;
    for (const auto& [path, text] : org.files()) deployed.insert(path);
    std::set<std::string> committed;
    for (const auto& [path, text] : tests::fake_org::read_project(tests::fake_org::salesforce_project()))
      committed.insert(path);
    EXPECT_EQ(deployed, committed) << "the package has every file of the project";
    const std::string user = org.add_user("integration@example.com", "giftsync_Integration");
    const auto* gift = org.schema().find("Gift_Record__c");
    EXPECT_TRUE(org.access(user, *gift, *gift->find("Record_Version__c")).is_editable);
    EXPECT_NE(org.schema().find("Task")->find("RecipientTransactionId__c"), nullptr);
  });
}

TEST_F(DeployTest, ADeploymentCanBeRepeated) {
  run(package());
  EXPECT_TRUE(run(package()).is_success);
}

TEST_F(DeployTest, AProductionOrgTakesIt) {
  server_.with_org([](Org& org) { org.set("production", "true"); });
  EXPECT_TRUE(run(package(), true).is_success);
  EXPECT_TRUE(run(package()).is_success);
}

TEST_F(DeployTest, WhatTheOrgHasWithOtherContentsIsNamed) {
  server_.with_org([](Org& org) { org.set("foreign_permission_sets", "Admin, xyz__Admin"); });
  EXPECT_THAT(run(package(), true).replaced, ElementsAre("PermissionSet Admin"));
  run(package());
  EXPECT_THAT(run(package(), true).replaced, IsEmpty());
  std::vector<SourceFile> newer = package();
  replace(file(newer, "layouts/Gift_Record__c-Gift Record Layout.layout").text, "<label>Information<",
          "<label>Gift<");
  EXPECT_THAT(run(newer, true).replaced, ElementsAre("Layout Gift_Record__c-Gift Record Layout"));
}

TEST_F(DeployTest, ACheckChangesNothing) {
  EXPECT_TRUE(run(package(), true).is_success);
  EXPECT_FALSE(has_object("Gift_Record__c"));
}

TEST_F(DeployTest, AWrongFormulaIsNamedWithFileAndLine) {
  std::vector<SourceFile> files = package();
  replace(file(files, "objects/Gift_Record__c.object").text, "ISCHANGED(Record_Version__c)",
          "ISCHANGED(Gone__c)");
  const Deployment done = run(files);
  EXPECT_FALSE(done.is_success);
  ASSERT_THAT(done.failures, SizeIs(1));
  EXPECT_EQ(done.failures[0].name, "Gift_Record__c.Only_Newer");
  EXPECT_EQ(done.failures[0].file, "objects/Gift_Record__c.object");
  EXPECT_GT(done.failures[0].line, 1);
  EXPECT_THAT(to_text(done.failures[0]), HasSubstr("Gone__c"));
  EXPECT_FALSE(has_object("Gift_Record__c")) << "all or nothing";
}

TEST_F(DeployTest, PermissionsForAFieldThatIsNotThereAreRefused) {
  std::vector<SourceFile> files = package();
  replace(file(files, "permissionsets/Admin.permissionset").text, "Gift_Record__c.Message__c",
          "Gift_Record__c.Massage__c");
  const Deployment done = run(files);
  ASSERT_THAT(done.failures, SizeIs(1));
  EXPECT_THAT(done.failures[0].problem, HasSubstr("no CustomField named Gift_Record__c.Massage__c found"));
}

TEST_F(DeployTest, EveryComponentIsInPackageXml) {
  std::vector<SourceFile> files = package();
  replace(file(files, "package.xml").text, "<members>Gift_Record__c.Message__c</members>", "");
  ASSERT_THAT(run(files).failures, SizeIs(1));
}

TEST_F(DeployTest, AnOrdinaryUserMayNotDeploy) {
  std::string token;
  server_.with_org([&](Org& org) { token = session(org, org.add_user("kim@example.com", "None")); });
  const auto refused = deploy_as(token).begin(zip(package()), false);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("Modify Metadata"));
}

TEST_F(DeployTest, AnEndedSessionIsRefusedWithTheNextStep) {
  const auto refused = deploy_as("old").begin(zip(package()), false);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("new access token"));
}

}  // namespace
}  // namespace giftsync::salesforce
