// daemon: from settings.lifecycle to what gifts are stamped with.
#pragma once

#include "daemon/settings/settings.h"
#include "sync/lifecycle_terms.h"

namespace giftsync::daemon {

/// Of gifts that giftsync mails.
sync::LifecycleTerms lifecycle_terms(const LifecycleSettings& settings);

}  // namespace giftsync::daemon
