#include "daemon/daemon_record.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "daemon/config/effective_settings.h"
#include "platform/clock.h"
#include "platform/dependency_error.h"
#include "platform/host_identity.h"
#include "platform/random.h"
#include "wiring/database_config.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kHeartbeatMillis = 10'000;

bool is_same_database(const schema::sql::Dsn& one, const schema::sql::Dsn& other) {
  return one.dialect == other.dialect && one.connection == other.connection;
}

}  // namespace

DaemonRecord::DaemonRecord(std::function<std::int64_t()> steady_millis)
    : id_(platform::random_hex(8)), steady_millis_(std::move(steady_millis)) {
  instance_.id = id_;
  instance_.host = platform::host_identity();
  instance_.pid = ::getpid();
  instance_.version = GIFTSYNC_VERSION;
  instance_.started_at = platform::system_now();
}

void DaemonRecord::begin(const config::Settings& settings, const std::string& listen) {
  const std::lock_guard lock(mutex_);
  load(settings, listen);
  write();
}

void DaemonRecord::reloaded(const config::Settings& settings, const std::string& listen) {
  const std::lock_guard lock(mutex_);
  instance_.last_reload_at = platform::system_now();
  instance_.reload_faults.clear();
  load(settings, listen);
  try_to_write();
}

void DaemonRecord::reload_refused(const std::vector<std::string>& faults) {
  const std::lock_guard lock(mutex_);
  instance_.last_reload_at = platform::system_now();
  instance_.reload_faults = fmt::format("{}", fmt::join(faults, "\n"));
  try_to_write();
}

void DaemonRecord::keep() {
  const std::lock_guard lock(mutex_);
  if (has_ended_ || !instances_) return;
  if (is_written_) {
    if (steady_millis_() - last_written_millis_ < kHeartbeatMillis) return;
    // A failure lasts until the row is written: the worker's log has one line for it, not one every ten
    // seconds.
    is_written_ = false;
    is_written_ = instances_->touch(id_);  // false in a store that was restored
    if (is_written_) last_written_millis_ = steady_millis_();
  }
  if (!is_written_) write();
}

void DaemonRecord::end() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  try {
    if (instances_) instances_->remove(id_);
  } catch (const platform::DependencyError& fault) {
    spdlog::warn("could not remove this daemon from the list of running ones: {}", fault.what());
  }
}

/// A reload may lead to another store: the row moves there.
void DaemonRecord::load(const config::Settings& settings, const std::string& listen) {
  instance_.listen = listen;
  instance_.settings_file = settings.file;
  instance_.settings = config::to_text(config::effective_settings(settings));
  instance_.loaded_at = instance_.last_reload_at.value_or(instance_.started_at);
  const schema::sql::Dsn dsn = wiring::store_dsn(settings.store);
  if (instances_ && is_same_database(dsn, dsn_)) return;
  if (instances_) {
    try {
      instances_->remove(id_);
    } catch (const platform::DependencyError&) {
      // The former store may be the reason for the reload. There the row is deleted once unseen for a day.
    }
  }
  instances_ = std::make_unique<schema::store::DaemonInstances>(dsn);
  dsn_ = dsn;
}

void DaemonRecord::write() {
  is_written_ = false;
  instances_->save(instance_);
  is_written_ = true;
  last_written_millis_ = steady_millis_();
}

void DaemonRecord::try_to_write() {
  try {
    write();
  } catch (const platform::DependencyError&) {
    // The workers report the store's fault, and keep() writes the row once it responds.
  }
}

}  // namespace giftsync::daemon
