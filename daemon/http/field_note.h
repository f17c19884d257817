// daemon/http: a remark on one field of a request's body: a fault (the request is refused) or a warning (it
// is not).
#pragma once

#include <string>
#include <vector>

namespace giftsync::daemon {

struct FieldNote {
  std::string field;    ///< "gift_id", "recipients[3].email"; empty for the body as a whole
  std::string code;     ///< stable word for programs: "missing", "invalid_email"
  std::string message;  ///< sentence for people: what was found, what is allowed
};

using FieldNotes = std::vector<FieldNote>;

}  // namespace giftsync::daemon
