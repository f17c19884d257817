// daemon/http: POST /api/v1/webhooks/status_changes/{source}: where sources report status changes
// (design 3.4). An answer of 2xx means that everything in the message is durable.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/clock.h"
#include "daemon/http/http_message.h"
#include "daemon/sources/source_intake.h"
#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon {

/// Any thread. Throws schema::BrokenWorld when the store fails; nothing is acknowledged then.
class StatusChangeDoor {
 public:
  /// The webhooks among `plans`; `fetch` is for presets that need it.
  StatusChangeDoor(const std::vector<SourcePlan>& plans, SourceIntake& intake, SourceWatch& watch,
                   Clock clock, FetchText fetch, std::size_t max_body_bytes);

  HttpResponse answer(const HttpRequest& request, std::string_view source);

 private:
  /// The answer, counted among those that refused a message of the source.
  HttpResponse refused(const SourcePlan& plan, HttpResponse response);
  HttpResponse take(const SourcePlan& plan, WebhookReports message, schema::UtcMillis now);

  std::map<std::string, SourcePlan, std::less<>> plans_;
  SourceIntake& intake_;
  SourceWatch& watch_;
  const Clock clock_;
  const FetchText fetch_;
  const std::size_t max_body_bytes_;
};

}  // namespace giftsync::daemon
