// sync: an approver's decision on a request, by command or over HTTP (design 3.3). The book decides between
// approvers, daemons and edits of the moment; the CRM is written after it.
#pragma once

#include <optional>
#include <string>

#include "schema/crm.h"
#include "schema/store/store.h"
#include "sync/request_step.h"

namespace giftsync::sync {

struct Verdict {
  RequestAct act = RequestAct::approve;  ///< approve or reject
  std::string who;
  std::string comment;
};

struct VerdictOutcome {
  enum class Kind {
    done,
    unknown,  ///< there is no such request
    illegal,  ///< `why` names what is possible
    changed,  ///< somebody changed it at the same moment; `why` says what counts
  };
  Kind kind = Kind::done;
  std::string why;
  std::string id;
  std::string number;
  schema::RequestStatus status = schema::RequestStatus::pending;  ///< after it
};

/// An approval binds to the record as it is read here.
VerdictOutcome decide_request(schema::Store& store, schema::Crm& crm, const std::string& number_or_id,
                              const Verdict& verdict, schema::UtcMillis now);

}  // namespace giftsync::sync
