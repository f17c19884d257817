// daemon/sources: one round of asking one source: its pages one after the other, each stored together with
// the position that covers it, so that a daemon that dies anywhere goes on where it was (design 3.1). The
// step returns what it did; the loop that runs it only paces it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/clock.h"
#include "daemon/sources/poll_position.h"
#include "daemon/sources/source_intake.h"
#include "daemon/sources/web_fetch.h"

namespace giftsync::daemon {

struct PollTools {
  schema::Store& store;
  SourceIntake& intake;
  SourceWatch& watch;
  WebFetch fetch;
  Clock clock;
  std::function<double()> random;  ///< from 0 to 1: jitter
  std::string owner;               ///< of the lease
};

struct PollReport {
  bool claimed = false;
  std::size_t pages = 0;
  std::size_t accepted = 0;
  std::size_t repeated = 0;
  std::size_t held = 0;
  std::size_t kept_aside = 0;
  bool more = false;  ///< there are more pages; run it again at once
};

/// Throws schema::BrokenWorld when the store fails.
PollReport poll_step(const SourcePlan& plan, const PollTools& tools, const std::function<bool()>& keep_going);

}  // namespace giftsync::daemon
