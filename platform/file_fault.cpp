#include "platform/file_fault.h"

#include <fmt/format.h>

namespace giftsync::platform {

std::string to_line(const FileFault& fault, std::string_view file) {
  std::string line(file);
  if (fault.line > 0) line += fmt::format(":{}", fault.line);
  if (!fault.key.empty()) line += ": " + fault.key;
  line += ": found " + fault.found;
  if (!fault.allowed.empty()) line += "; allowed: " + fault.allowed;
  if (!fault.next_step.empty()) line += "; " + fault.next_step;
  return line;
}

}  // namespace giftsync::platform
