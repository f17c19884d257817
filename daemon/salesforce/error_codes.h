// daemon/salesforce: the codes of Salesforce's errors with their classes. A code that depends on the
// operation or on words has the class of the usual case. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "daemon/salesforce/error_class.h"

namespace giftsync::daemon::salesforce {

std::optional<ErrorClass> class_of_code(std::string_view code);

}  // namespace giftsync::daemon::salesforce
