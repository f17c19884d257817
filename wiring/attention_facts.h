// wiring: what an installation's store and CRM say about its health, for `status` and the console (OPS-27).
#pragma once

#include <string>

#include "daemon/config/settings.h"
#include "schema/store/store.h"
#include "schema/store/store_stats.h"
#include "sync/attention.h"

namespace giftsync::wiring {

/// Everything but the daemons and the settings file on disk. `program`: "giftsyncctl ", for commands that can
/// be copied. `stats`: of now, which callers show too. Its counts are bounded (OPS-33). Any thread.
sync::AttentionFacts attention_facts(const daemon::config::Settings& settings, schema::store::Store& store,
                                     const schema::store::StoreStats& stats, const std::string& program,
                                     platform::UtcMillis now);

}  // namespace giftsync::wiring
