// An org with the package of another owner, written in bare mode: a lease that two adapters share, and the
// versions that the store has.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/dependency_error.h"
#include "tests/salesforce/fake_org/foreign_package.h"
#include "tests/salesforce/salesforce_crm_fixture.h"

namespace giftsync::salesforce {

class BareOrgTest : public SalesforceCrmTest {
 protected:
  BareOrgTest() {
    server_.with_org([](Org& org) { org.deploy(tests::fake_org::foreign_package(org.files(), "thx")); });
    crm_ = make_bare("one");
  }

  static OrgNames names_of_org() { return {.name_space = "thx"}; }

  /// A daemon with that name. It does not wait for another one.
  std::unique_ptr<crm::Crm> make_bare(const std::string& owner, OrgNames names = names_of_org()) {
    SalesforceCrmOptions options{.names = ApiNames(std::move(names)), .match_fields = match_fields()};
    options.names.skip_field(GiftField::created_by);
    options.mode_facts = facts();
    options.bare = BareOptions{.lease = {[this, owner](std::int64_t millis) { return take(owner, millis); },
                                         [this, owner](std::int64_t) {
                                           ++renewals_;
                                           return lease_owner_ == owner;
                                         },
                                         [this, owner] {
                                           if (lease_owner_ == owner) lease_owner_.clear();
                                           if (on_release_) on_release_();
                                         }},
                               .newest_versions =
                                   [this](std::span<const TransactionId> ids) {
                                     std::vector<std::pair<TransactionId, std::int64_t>> found;
                                     for (const TransactionId id : ids) {
                                       if (const auto at = versions_.find(id.value); at != versions_.end())
                                         found.emplace_back(id, at->second);
                                     }
                                     return found;
                                   },
                               .longest_wait_millis = 0};
    options.clock = [this] { return UtcMillis{system_now().value + crm_offset_}; };
    return make_salesforce_crm(client_, std::move(options));
  }

  LeaseHolder take(const std::string& owner, std::int64_t millis) {
    if (lease_owner_.empty()) lease_owner_ = owner;
    return {lease_owner_ == owner, lease_owner_, millis};
  }
  std::string refusal(const std::vector<crm::GiftUpsert>& rows) {
    return refusal_of([&] { write(rows); });
  }
  template <class Action>
  static std::string refusal_of(Action action) {
    try {
      action();
    } catch (const giftsync::DependencyPause& pause) {
      return pause.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return "";
  }
  void change(const Json& change) {
    server_.with_org([&](Org& org) { org.change(change); });
  }
  static constexpr const char* kKey = "thx__RecipientTransactionId__c";
  void make_key_unique() { change({{"object", "thx__Gift_Record__c"}, {"field", kKey}, {"unique", true}}); }
  std::string records() { return scalar("SELECT count(*) FROM crm_gift_record WHERE isdeleted = 0"); }
  static crm::GiftUpsert sent(std::int64_t transaction, std::int64_t version, bool exists = false) {
    crm::GiftUpsert row = upsert(transaction, version, exists);
    row.record.set(GiftField::sent_at, UtcMillis{1'795'264'267'000});
    return row;
  }

  std::string lease_owner_;
  std::function<void()> on_release_ = nullptr;
  int renewals_ = 0;
  std::map<std::int64_t, std::int64_t> versions_;  ///< of the store
};

}  // namespace giftsync::salesforce
