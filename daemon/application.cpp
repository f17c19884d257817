#include "daemon/application.h"

#include "daemon/endpoints.h"
#include "daemon/group_commit_writer.h"
#include "daemon/shared_parts.h"
#include "daemon/workers.h"
#include "platform/host_identity.h"
#include "sync/lifecycle_rules.h"
#include "wiring/components_config.h"

namespace giftsync::daemon {

/// Members in the order of construction; destroyed in reverse order.
struct Application::Parts {
  Parts(const config::Settings& settings, platform::TrustedClock& trusted_clock);
  /// Asks the workers to stop, closes the listeners, waits for the workers. Also runs when a later step of
  /// the start failed.
  ~Parts();
  void start();

  SharedParts shared;
  Workers workers;
  GroupCommitWriter writer;
  Endpoints endpoints;
};

Application::Parts::Parts(const config::Settings& settings, platform::TrustedClock& trusted_clock)
    : shared{settings, trusted_clock},
      workers(shared),
      writer(shared.store.gifts),
      endpoints(shared, workers, writer) {
  shared.store.gifts.set_lifecycle_stamp(sync::terms_stamper(wiring::lifecycle_terms(settings.lifecycle),
                                                             settings.lifecycle.expire_unopened_link_days));
}

void Application::Parts::start() {
  endpoints.open_listeners();
  workers.start({.owner = platform::host_identity() + " " + endpoints.listen_addresses().front(),
                 .should_yield = [this] { return writer.is_under_load(); },
                 .maintain_endpoints = [this] { endpoints.maintain(); }});
  endpoints.start();
}

Application::Parts::~Parts() {
  workers.request_stop();
  endpoints.stop();
  workers.stop();
  endpoints.save_last_used();
}

Application::Application(const config::Settings& settings, platform::TrustedClock& trusted_clock)
    : parts_(std::make_unique<Parts>(settings, trusted_clock)) {
  parts_->start();
}

Application::~Application() = default;

std::vector<std::string> Application::listen_addresses() const {
  return parts_->endpoints.listen_addresses();
}

bool Application::workers_alive() const {
  return parts_->workers.are_alive();
}

}  // namespace giftsync::daemon
