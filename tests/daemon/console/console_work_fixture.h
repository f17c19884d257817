// A console over a store and a CRM in memory with request records, a catalogue, and what people do on its
// pages.
#pragma once

#include <gmock/gmock.h>

#include "tests/daemon/console/console_fixture.h"
#include "tests/support/in_memory_request_crm.h"

namespace giftsync::console {

/// Whose user 005B has the address of ben.
class PeopleCrm : public tests::InMemoryRequestCrm {
 public:
  class Users : public tests::EmptyDirectory {
    std::vector<std::vector<crm::CrmUser>> find_users_by_email(std::span<const std::string> keys) override {
      if (is_away) throw DependencyError(true, "no response", true);
      std::vector<std::vector<crm::CrmUser>> all(keys.size());
      for (std::size_t i = 0; i < keys.size(); ++i)
        if (keys[i] == "ben@example.com") all[i].push_back({"005B", "Ben", keys[i], true});
      return all;
    }

    std::vector<std::optional<crm::CrmUser>> find_users_by_id(std::span<const std::string> ids) override {
      std::vector<std::optional<crm::CrmUser>> all(ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] == "005B") all[i] = crm::CrmUser{"005B", "Ben", "ben@example.com", true};
      return all;
    }

   public:
    bool is_away = false;
  };
  Users& directory() override { return users_; }

 private:
  Users users_;
};

class ConsoleWork : public ConsoleFixture {
 protected:
  using F = RequestRecordField;
  using State = store::RequestRecordState;
  static inline const std::string kMarkup = "<script>alert(1)</script>";

  ConsoleWork();
  /// A record of the CRM that waits, as the daemon has read it.
  void insert(const std::string& id, const std::string& message = "Thank you!",
              const std::string& requested_by = "");
  void fail(const std::string& id, const std::string& error);
  store::RequestRecordEntry known(const std::string& id);
  /// The hidden content behind the form that posts to a path.
  static std::string seen_in(const std::string& page, const std::string& action);
  http::HttpResponse press(const std::string& page, const std::string& path, const std::string& note = "");
  http::HttpResponse press_plain(const std::string& page, const std::string& path,
                                 const std::string& more = "");
  std::string form_secret();
  store::AuditEvent last_event();
  OrganizationId organization(const std::string& name);
  TransactionId gift();
  /// The gift of a request record that ben approved a minute ago.
  TransactionId gift_of_request(const std::string& id, AccountId account,
                                const std::string& requested_by = "");
  /// The gift's mail, held after an unknown outcome.
  TransactionId held_mail();

  config::Settings settings_;
  PeopleCrm crm_;
  int decided_ = 0;
};

}  // namespace giftsync::console
