#include "daemon/daemon.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "platform/host_identity.h"

namespace giftsync::daemon {
namespace {

/// Of the application in this slot.
std::string lease_owner(const std::string& address, std::size_t slot) {
  return fmt::format("{} {}{}", platform::host_identity(), address,
                     slot == 0 ? "" : fmt::format(" #{}", slot));
}

std::int64_t steady_millis() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

class Daemon::LastUse {
 public:
  LastUse() = default;
  ~LastUse() { ended_.set_value(); }
  LastUse(const LastUse&) = delete;
  LastUse& operator=(const LastUse&) = delete;

  std::future<void> ended() { return ended_.get_future(); }

 private:
  std::promise<void> ended_;
};

Daemon::Daemon(const config::Settings& settings, platform::TrustedClock& trusted_clock)
    : trusted_clock_(trusted_clock), record_(steady_millis) {
  auto application = std::make_unique<Application>(settings, trusted_clock, record_.id());
  const std::string address = listeners_.open(settings).front();
  // Only one daemon can listen at this address, so the owners of leases under its names are dead.
  std::vector<std::string> owners;
  for (std::size_t slot = 0; slot < kMaxApplications; ++slot) owners.push_back(lease_owner(address, slot));
  application->start({.owner = owners[slot_], .daemon = owners[0], .ended_owners = owners},
                     [this] { record_.keep(); });
  record_.begin(settings, address);
  serve(settings, std::move(application));
}

Daemon::~Daemon() {
  serving_.application->request_stop();
  listeners_.stop();
  serving_.application.reset();
  record_.end();
}

std::optional<std::size_t> Daemon::free_slot() const {
  for (std::size_t slot = 0; slot < kMaxApplications; ++slot) {
    if (slot == slot_) continue;
    const std::future<void>& ended = ended_[slot];
    if (!ended.valid() || ended.wait_for(std::chrono::seconds(0)) == std::future_status::ready) return slot;
  }
  return std::nullopt;
}

void Daemon::reload(const config::Settings& settings) {
  const std::size_t slot = free_slot().value();
  // First, because building the application writes to the store.
  const std::string address = listeners_.open(settings).front();
  const std::string owner = lease_owner(address, slot);
  try {
    auto application = std::make_unique<Application>(settings, trusted_clock_, record_.id());
    application->start({.owner = owner, .daemon = lease_owner(address, 0), .ended_owners = {owner}},
                       [this] { record_.keep(); });
    std::promise<Serving> former;
    std::future<void> ended = std::async(std::launch::async, [handover = former.get_future()]() mutable {
      Serving serving = handover.get();
      serving.unused.wait();
      serving.application.reset();
    });
    // From here on nothing fails.
    Serving replaced = std::exchange(serving_, {});
    serve(settings, std::move(application));
    replaced.application->request_stop();
    former.set_value(std::move(replaced));
    ended_[slot_] = std::move(ended);
    slot_ = slot;
    record_.reloaded(settings, address);
  } catch (...) {
    listeners_.discard_opened();
    throw;
  }
}

void Daemon::serve(const config::Settings& settings, std::unique_ptr<Application> application) {
  const auto use = std::make_shared<LastUse>();
  serving_ = {std::move(application), use->ended()};
  listeners_.serve(settings, serving_.application->router(), use);
}

}  // namespace giftsync::daemon
