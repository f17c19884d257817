#include "daemon/application.h"

#include <utility>

#include "daemon/endpoints.h"
#include "daemon/group_commit_writer.h"
#include "daemon/shared_parts.h"
#include "daemon/workers.h"
#include "sync/lifecycle_rules.h"
#include "wiring/components_config.h"

namespace giftsync::daemon {

/// Members in the order of construction; destroyed in reverse order.
struct Application::Parts {
  Parts(const config::Settings& settings, platform::TrustedClock& trusted_clock,
        const std::string& instance_id);
  /// Also runs when a later step of the start failed.
  ~Parts();

  SharedParts shared;
  Workers workers;
  GroupCommitWriter writer;
  Endpoints endpoints;
};

Application::Parts::Parts(const config::Settings& settings, platform::TrustedClock& trusted_clock,
                          const std::string& instance_id)
    : shared{settings, trusted_clock, instance_id},
      workers(shared),
      writer(shared.store.urgent_writes),
      endpoints(shared, workers, writer) {
  shared.store.gifts.set_lifecycle_stamp(sync::terms_stamper(wiring::lifecycle_terms(settings.lifecycle),
                                                             settings.lifecycle.expire_unopened_link_days));
}

Application::Parts::~Parts() {
  workers.request_stop();
  workers.stop();
  endpoints.close();
}

Application::Application(const config::Settings& settings, platform::TrustedClock& trusted_clock,
                         const std::string& instance_id)
    : parts_(std::make_unique<Parts>(settings, trusted_clock, instance_id)) {}

Application::~Application() = default;

void Application::start(const Leases& leases, std::function<void()> keep_record) {
  Parts& parts = *parts_;
  parts.workers.start({.owner = leases.owner,
                       .daemon = leases.daemon,
                       .ended_owners = leases.ended_owners,
                       .should_yield = [&parts] { return parts.writer.is_under_load(); },
                       .maintain_endpoints = [&parts] { parts.endpoints.maintain(); },
                       .keep_record = std::move(keep_record),
                       .save_last_used = [&parts] { parts.endpoints.save_last_used(); }});
}

void Application::request_stop() {
  parts_->workers.request_stop();
}

http::Router& Application::router() {
  return parts_->endpoints.router();
}

bool Application::workers_alive() const {
  return parts_->workers.are_alive();
}

}  // namespace giftsync::daemon
