#include "tests/salesforce/org_under_test.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <regex>
#include <utility>

#include "crm/salesforce/salesforce_crm.h"
#include "platform/http_client.h"
#include "platform/text.h"
#include "tests/salesforce/fake_org/foreign_package.h"
#include "tests/salesforce/fake_org/projects.h"
#include "tests/salesforce/fake_org/server.h"
#include "tests/salesforce/short_ids.h"
#include "tests/source_folder.h"

namespace giftsync::tests {
namespace {

constexpr const char* kNameSpace = "thx";

/// What an org does to values that its users enter.
constexpr const char* kKeptValues =
    "UPDATE crm_contact SET email = trim(email) WHERE email <> trim(email);"
    "UPDATE crm_user SET isactive = 1 WHERE isactive IS NULL";

class Facts {
 public:
  salesforce::FactStorage storage() {
    return {[this](const std::string& name) {
              const std::lock_guard lock(mutex_);
              const auto found = facts_.find(name);
              return found == facts_.end() ? std::nullopt : std::optional(found->second);
            },
            [this](const std::string& name, const std::string& value) {
              const std::lock_guard lock(mutex_);
              facts_[name] = value;
            },
            [this](const std::string& name, const std::string& value) {
              const std::lock_guard lock(mutex_);
              return facts_.try_emplace(name, value).first->second;
            }};
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> facts_;  // guarded by mutex_
};

/// The lease of a store that several CRMs share.
class Lease {
 public:
  std::string new_writer() {
    const std::lock_guard lock(mutex_);
    return "writer " + std::to_string(++writers_);
  }
  salesforce::LeaseHolder take(const std::string& writer) {
    const std::lock_guard lock(mutex_);
    if (owner_.empty()) owner_ = writer;
    return {owner_ == writer, owner_, kMinuteMillis};
  }
  void release(const std::string& writer) {
    const std::lock_guard lock(mutex_);
    if (owner_ == writer) owner_.clear();
  }

 private:
  std::mutex mutex_;
  int writers_ = 0;    // guarded by mutex_
  std::string owner_;  // guarded by mutex_
};

fake_org::Field field_of(const std::string& column, const std::string& type) {
  fake_org::Field field;
  field.name = field.label = field.column = column;
  field.kind = fake_org::Kind::text;
  field.length = 255;
  if (ascii_lower(type) == "numeric") {
    field.kind = fake_org::Kind::number;
    field.precision = 18;
    field.scale = 2;
  }
  return field;
}

}  // namespace

struct OrgUnderTest::Parts {
  Parts(Package of, salesforce::NewestVersions newest)
      : package(of),
        newest_versions(std::move(newest)),
        tokens([this](UtcMillis) { return sign_in(); }, "settings", "secret", facts.storage(), system_now),
        client(http, tokens) {
    server.with_org([this](fake_org::Org& org) {
      if (package == Package::foreign) org.deploy(fake_org::foreign_package(org.files(), kNameSpace));
      user = org.add_user("integration@example.com", "giftsync_Integration");
      organization = org.organization_id();
      gift_ids = org.schema().find(names().object("gift_record"))->key_prefix;
    });
  }

  salesforce::ApiNames names() const {
    if (package == Package::own) return salesforce::ApiNames(salesforce::OrgNames{});
    return salesforce::ApiNames({.name_space = kNameSpace});
  }

  /// The conformance tests have one process; its turns are one after another.
  /// Each CRM is a writer of its own. It waits as long as another one writes.
  salesforce::BareOptions bare_options() {
    const std::string writer = lease.new_writer();
    return {.lease = {[this, writer](std::int64_t) { return lease.take(writer); },
                      [this, writer](std::int64_t) { return lease.take(writer).is_this; },
                      [this, writer] { lease.release(writer); }},
            .newest_versions = newest_versions,
            .longest_wait_millis = kMinuteMillis};
  }

  salesforce::SignInOutcome sign_in() {
    const std::string token = "session " + std::to_string(++sign_ins);
    server.with_org([&](fake_org::Org& org) {
      org.database().run("INSERT INTO org_session (token, user_id, ends_at) VALUES (?, ?, ?)",
                         {token, user, static_cast<double>(org.now().value + kDayMillis)});
    });
    return salesforce::Session{token, server.url(), organization, user};
  }

  const Package package;
  const salesforce::NewestVersions newest_versions;
  fake_org::Server server{0, ":memory:", std::filesystem::path(kSourceFolder) / "conf" / "salesforce"};
  std::string user;
  std::string organization;
  std::string gift_ids;
  int sign_ins = 0;
  Facts facts;
  Lease lease;
  HttpClient http{{.bypass_proxy = true}};
  salesforce::AccessTokens tokens;
  salesforce::ApiClient client;
};

OrgUnderTest::OrgUnderTest(Package package, salesforce::NewestVersions newest_versions)
    : parts_(std::make_unique<Parts>(package, std::move(newest_versions))) {}
OrgUnderTest::~OrgUnderTest() = default;

std::unique_ptr<crm::Crm> OrgUnderTest::crm(const crm::MatchFields& fields) {
  salesforce::SalesforceCrmOptions options{.names = parts_->names(), .match_fields = fields};
  if (parts_->package == Package::foreign) {
    options.mode_facts = parts_->facts.storage();
    options.bare = parts_->bare_options();
  }
  options.governor = {.share_percent = 100, .keep_free_percent = 0};
  options.names.skip_field(GiftField::created_by);
  return with_short_ids(salesforce::make_salesforce_crm(parts_->client, std::move(options)));
}

void OrgUnderTest::add_status_log() {
  parts_->server.with_org([this](fake_org::Org& org) { fake_org::add_status_log(org, parts_->user); });
}

void OrgUnderTest::sql(const std::string& statement) {
  static const std::regex kNewColumn(R"(ALTER TABLE (\w+) ADD COLUMN (\w+) (\w+))");
  std::smatch match;
  const bool is_new_column = std::regex_match(statement, match, kNewColumn);
  parts_->server.with_org([&](fake_org::Org& org) {
    if (is_new_column) return org.add_field(match[1].str(), field_of(match[2].str(), match[3].str()));
    org.database().run(with_org_ids(statement, parts_->gift_ids));
    org.database().run_script(kKeptValues);
  });
}

std::string OrgUnderTest::scalar(const std::string& query) {
  std::string text = "null";
  parts_->server.with_org([&](fake_org::Org& org) {
    const auto rows = org.database().run(with_org_ids(query, parts_->gift_ids));
    if (!rows.empty()) text = with_short_names(rows[0][0].value_or("null"));
  });
  return text;
}

}  // namespace giftsync::tests
