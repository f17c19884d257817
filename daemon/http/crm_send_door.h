// daemon/http: POST {admin_url}/api/v1/crm/gift_requests: the CRM's own sending interface sends at once, on
// behalf of a CRM user (Spec 5.6). It proves whose CRM it is by the header Organization-Token; the sender
// must meet the preconditions of sync/send_permission.h. The rest is endpoint A.
#pragma once

#include "daemon/clock.h"
#include "daemon/http/gift_api.h"
#include "daemon/http/http_message.h"
#include "daemon/http/request_rate.h"
#include "schema/crm.h"
#include "schema/store/store.h"
#include "sync/send_permission.h"

namespace giftsync::daemon {

/// Any thread. Throws schema::BrokenWorld when store or CRM fail; nothing is acknowledged then.
class CrmSendDoor {
 public:
  /// `requests_per_minute`: of each organization; 0 for no limit. `crm_has_users`: see SenderFacts.
  CrmSendDoor(schema::Store& store, schema::Crm& crm, GiftApi& api, GiftApiOptions options,
              std::int64_t requests_per_minute, Clock clock, bool crm_has_users = true)
      : store_(store),
        crm_(crm),
        api_(api),
        options_(options),
        clock_(std::move(clock)),
        crm_has_users_(crm_has_users),
        rate_(requests_per_minute, clock_) {}

  HttpResponse answer(const HttpRequest& request);

 private:
  HttpResponse answer_with(const HttpRequest& request, const std::string& token);
  HttpResponse answer_for(const HttpRequest& request, sync::SenderFacts facts, schema::UtcMillis now);

  schema::Store& store_;
  schema::Crm& crm_;
  GiftApi& api_;
  const GiftApiOptions options_;
  const Clock clock_;
  const bool crm_has_users_;
  RequestRate rate_;
};

}  // namespace giftsync::daemon
