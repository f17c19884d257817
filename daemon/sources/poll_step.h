// daemon/sources: one round of requests to one poll source: its pages one after the other, each stored
// together with the cursor that covers it, so a killed daemon resumes there (SRC-36). The step returns what
// it did; the worker that runs it only sets the pace.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/sources/event_ingestor.h"
#include "daemon/sources/poll_cursor.h"
#include "platform/clock.h"
#include "platform/http_client.h"

namespace giftsync::sources {

struct PollContext {
  store::Store& store;
  EventIngestor& ingestor;
  SourceHealthMonitor& health_monitor;
  HttpGet fetch;
  Clock clock;
  std::function<double()> random;  ///< from 0 to 1: jitter
  std::string owner;               ///< owner of the lease
};

struct PollStats {
  bool claimed = false;
  std::size_t pages = 0;
  std::size_t accepted = 0;
  std::size_t duplicates = 0;
  std::size_t orphaned = 0;
  std::size_t quarantined = 0;
  bool has_more = false;  ///< there are more pages; run the step again at once
};

/// Throws DependencyError when the store fails.
PollStats poll_step(const CompiledSource& source, const PollContext& context,
                    const std::function<bool()>& keep_going);

}  // namespace giftsync::sources
