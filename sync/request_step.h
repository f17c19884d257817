// sync: one round of seeing to the CRM's request records (design 3.3). It takes those that were changed or
// whose time has come, judges each, claims those that are approved, sends them and says so in the CRM. Every
// move is in the book before the CRM is written; a gift is created under its record's own key. So a round may
// die anywhere, and two daemons may run it at once: what is left is seen to again, and no request is sent
// twice.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/store/store.h"
#include "sync/request_look.h"
#include "sync/request_order.h"
#include "sync/send_permission.h"

namespace giftsync::sync {

/// Whether somebody may send from the CRM (Spec 5.6).
struct SenderVerdict {
  std::optional<schema::Account> account;  ///< who sends; empty when nobody may
  std::string fault;                       ///< why not, and what to do
};

struct RequestRules {
  bool auto_approved_default = false;
  std::string integration_user = {};  ///< CRM user id: Last Modified By of requests that giftsync writes
  OrderLimits limits = {};
  /// The page of a gift, which ends with its number; empty when there is none.
  std::function<std::string(schema::GiftId)> item_link = [](schema::GiftId) { return std::string(); };
  /// One answer for each of these CRM users.
  std::function<std::vector<SenderVerdict>(std::span<const std::string> user_ids)> check_senders;
};

struct RequestReport {
  std::size_t looked = 0;
  std::size_t sent = 0;
  std::size_t failed = 0;  ///< approved, and not sent: Error Log says why
  bool more = false;       ///< there is more to do at once
  std::vector<std::string> notes;
};

/// Throws schema::BrokenWorld when store or CRM fail.
RequestReport request_step(schema::Store& store, schema::Crm& crm, const RequestRules& rules,
                           schema::UtcMillis now);

/// By the preconditions of Spec 5.6, which are checked in store and CRM.
std::vector<SenderVerdict> check_senders(schema::AccountBook& accounts, schema::Crm& crm,
                                         const TokenStanding& token, std::span<const std::string> user_ids,
                                         schema::UtcMillis now);

/// A request that is read together with what it leaves to others.
struct SeenRequest {
  schema::RequestRecord row;
  schema::RequestRecord completed;
  bool person_found = true;  ///< the contact or lead that it names
};
std::vector<SeenRequest> complete_all(schema::Crm& crm, std::vector<schema::RequestRecord> rows);

}  // namespace giftsync::sync
