#include "daemon/metrics/metrics_page.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "daemon/http/problem.h"
#include "platform/dependency_error.h"
#include "platform/logging.h"
#include "platform/periodic_worker.h"

namespace giftsync::metrics {

MetricsPage::MetricsPage(const Metrics& metrics, Read memory, Read store,
                         std::chrono::milliseconds store_patience)
    : metrics_(metrics),
      memory_(std::move(memory)),
      store_(std::move(store)),
      store_patience_(store_patience) {}

http::HttpResponse MetricsPage::handle(const http::HttpRequest& request) {
  if (request.path != kPath)
    return http::not_found("Only " + std::string(kPath) + " is served at this address. Send the request to " +
                           "the address of server.listen.");
  if (request.method != "GET" && request.method != "HEAD") return http::method_not_allowed({"GET", "HEAD"});
  std::vector<Gauge> gauges = memory_();
  Reading reading = read_store();
  gauges.push_back({"giftsync_store_up",
                    "Whether the store could be read at this scrape; without it the metrics of the store are "
                    "absent.",
                    {{reading.has_failed ? 0.0 : 1.0}}});
  gauges.push_back({"giftsync_store_read_duration_seconds",
                    "How long the store was read for this scrape.",
                    {{reading.seconds}}});
  for (Gauge& gauge : reading.gauges) gauges.push_back(std::move(gauge));
  return http::text_response(200, "text/plain; version=0.0.4; charset=utf-8", metrics_.text(gauges));
}

/// A reading that hangs is awaited by later scrapes too, each for a while: no thread of the server is lost to
/// it, and the store gets no second query meanwhile.
MetricsPage::Reading MetricsPage::read_store() {
  std::shared_future<Reading> reading;
  {
    const std::lock_guard lock(mutex_);
    const auto is_done = [&] {
      return reading_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    if (!reading_.valid() || is_done()) try {
        reading_ = std::async(std::launch::async, [this] {
          name_thread("metrics");
          const auto begin = std::chrono::steady_clock::now();
          Reading made;
          try {
            made.gauges = store_();
          } catch (const std::exception& fault) {
            log_debug(fmt::format("metrics: {}", fault.what()));  // requests and workers log it
            made.has_failed = true;
          }
          made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
          return made;
        });
      } catch (const std::system_error&) {
        return {{}, true, 0};  // no thread can be started
      }
    reading = reading_;
  }
  if (reading.wait_for(store_patience_) == std::future_status::ready) return reading.get();
  return {{}, true, std::chrono::duration<double>(store_patience_).count()};
}

}  // namespace giftsync::metrics
