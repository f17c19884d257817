// Like platform/logging.cpp in the daemon, makes spdlog's logger before any test starts a thread. spdlog
// makes it on first use, under the guard of a static in a library that ThreadSanitizer does not see, and the
// sanitizer would report a race.
#include <spdlog/spdlog.h>

namespace {

[[maybe_unused]] const spdlog::logger* const kLog = spdlog::default_logger_raw();

}  // namespace
