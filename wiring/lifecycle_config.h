// wiring: the terms that gifts are stamped with, from settings.lifecycle.
#pragma once

#include "daemon/config/settings.h"
#include "sync/lifecycle_terms.h"

namespace giftsync::wiring {

/// The terms of gifts that giftsync mails.
sync::LifecycleTerms lifecycle_terms(const daemon::config::LifecycleSettings& settings);

}  // namespace giftsync::wiring
