#include "daemon/config/log_event_documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/log_line.h"

namespace giftsync::config {
namespace {

constexpr const char* kPageStart = R"(# Events of the log

Each line of the daemon's log from level info on is of one of these kinds ([OPS-47](../design/operations-model.md#ops-47)). In the
journal its id is the field `MESSAGE_ID`: `journalctl MESSAGE_ID=ID` has all lines of a kind, and `journalctl -x` shows what is
written here. [monitoring.md](monitoring.md#one-gift-in-the-log) has the other fields. The page is made from the table in
`platform/log_events.cpp`.

| Event | Level | Meaning; what to do | `MESSAGE_ID` |
|---|---|---|---|
)";

constexpr const char* kCatalogStart =
    R"(# What the lines of giftsync's log mean, for `journalctl -x`. Made from the table in platform/log_events.cpp.
)";

std::string_view word_of(LogLevel level) {
  constexpr std::string_view kWords[] = {"info", "warning", "error"};
  return kWords[static_cast<std::size_t>(level)];
}

/// The step, with each page of docs/operations in it (`mail.md#delivery-paused`) as `shown` returns it.
template <class Shown>
std::string with_pages(std::string_view step, const Shown& shown) {
  std::string text;
  for (std::size_t at = 0; at < step.size();) {
    const std::size_t end = std::min(step.find(' ', at), step.size());
    const std::string_view word = step.substr(at, end - at);
    const std::size_t page = word.find(".md");
    const bool is_page = page != std::string_view::npos && word.find('`') == std::string_view::npos;
    text += (at > 0 ? " " : "") + (is_page ? shown(word, word.substr(0, page + 3)) : std::string(word));
    at = end + 1;
  }
  return text;
}

/// "gift_record_created" as "Gift record created".
std::string subject_of(std::string_view name) {
  std::string subject(name);
  std::ranges::replace(subject, '_', ' ');
  subject.front() = static_cast<char>(subject.front() - 'a' + 'A');
  return subject;
}

}  // namespace

std::string log_events_page() {
  std::string page = kPageStart;
  for (const LogEventKind& kind : log_event_kinds()) {
    const std::string step = with_pages(kind.step, [](std::string_view link, std::string_view name) {
      return fmt::format("[{}]({})", name, link);
    });
    page += fmt::format("| `{}` | {} | {}{}{} | `{}` |\n", kind.name, word_of(kind.level), kind.meaning,
                        step.empty() ? "" : " ", step, kind.id);
  }
  return page;
}

std::string journal_catalog() {
  std::string catalog = kCatalogStart;
  for (const LogEventKind& kind : log_event_kinds()) {
    std::string step = with_pages(kind.step, [](std::string_view, std::string_view name) {
      return "/usr/share/doc/giftsync/operations/" + std::string(name);
    });
    std::ranges::replace(step, '`', '"');
    catalog += fmt::format(
        "\n-- {}\nSubject: {}\nDefined-By: giftsync\nSupport: man:giftsyncd(8)\n\n{}\n{}{}{}", kind.id,
        subject_of(kind.name), kind.meaning, step.empty() ? "" : "\n", step, step.empty() ? "" : "\n");
  }
  return catalog;
}

}  // namespace giftsync::config
