// sync: checks whether a request record can be sent, without a change to store or CRM (REQ-52).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/crm/crm.h"
#include "schema/store/store.h"
#include "sync/request_record_defaults.h"
#include "sync/request_record_findings.h"
#include "sync/request_record_step.h"

namespace giftsync::sync {

struct RequestRecordCheck {
  std::string id;
  std::string number;
  std::optional<schema::RequestRecordStatus> status;  ///< as in the CRM; nullopt: none, or deleted there
  bool is_sent = false;                               ///< it has its gift
  std::vector<RequestRecordFinding> findings;         ///< in the order in which they are corrected
};

/// Nullopt when neither CRM nor store has such a record. `requests_enabled`: requests.enabled. Throws
/// platform::DependencyError when store or CRM fail.
std::optional<RequestRecordCheck> check_request_record(schema::store::Store& store, schema::crm::Crm& crm,
                                                       const RequestRecordRules& rules, bool requests_enabled,
                                                       const std::string& number_or_id,
                                                       platform::UtcMillis now);

/// What would keep a record from being sent if it were approved now, whatever its status. `loaded`: as it was
/// read. The catalogue, and the CRM and store about the sender, are read. Throws platform::DependencyError
/// when they fail.
std::vector<RequestRecordFinding> findings_when_approved(schema::store::Store& store,
                                                         const LoadedRequestRecord& loaded,
                                                         const RequestRecordRules& rules);

}  // namespace giftsync::sync
