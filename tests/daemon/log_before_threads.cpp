// As daemon/logging.cpp does for the daemon, the log is there before any test starts a thread: spdlog makes
// it on first use, under the guard of a static in a library that ThreadSanitizer does not see into, and takes
// that for a race.
#include <spdlog/spdlog.h>

namespace {

[[maybe_unused]] const spdlog::logger* const kLog = spdlog::default_logger_raw();

}  // namespace
