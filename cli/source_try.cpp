// source try: what a sample document would do under the settings (SRC-62).
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/input_file.h"
#include "cli/json_array_writer.h"
#include "cli/source_lookup.h"
#include "cli/text_table.h"
#include "platform/plural.h"
#include "platform/quoted_text.h"
#include "wiring/source_trial.h"

namespace giftsync::cli {
namespace {

using wiring::SourceTrial;

/// As of a poll's page.
constexpr std::size_t kMaxSampleBytes = std::size_t{16} << 20;

struct TryOptions {
  std::string name;
  std::string path = "-";
  bool json = false;
};

std::string gift_word(const sync::EventTrial& trial) {
  if (!trial.status) return {};
  return trial.gift_exists ? "exists" : trial.gift_known ? "created" : "unknown";
}

Json json_of(const SourceTrial::Event& event, std::size_t number) {
  const sync::EventTrial& trial = event.trial;
  Json fields = Json::object();
  for (const auto& [key, text] : event.fields) fields[std::string(key)] = text;
  return {{"event", number},
          {"outcome", to_word(trial.outcome)},
          {"fields", std::move(fields)},
          {"status", trial.status ? Json(to_word(*trial.status)) : Json(nullptr)},
          {"occurred_at", json_time(trial.occurred_at)},
          {"recipient_transaction_id", trial.transaction ? Json(trial.transaction->value) : Json(nullptr)},
          {"external_id", text_or_null(trial.external_id)},
          {"gift", text_or_null(gift_word(trial))},
          {"creates_gift", trial.creates_gift},
          {"reason", trial.reason ? Json(to_word(*trial.reason)) : Json(nullptr)},
          {"detail", text_or_null(trial.detail)}};
}

/// "gift 12 "ord_1"", without the number while none is allotted.
std::string gift_name(const sync::EventTrial& trial) {
  std::string name = "gift";
  if (trial.transaction) name += fmt::format(" {}", trial.transaction->value);
  if (!trial.external_id.empty()) name += " " + platform::in_quotes(trial.external_id);
  return name;
}

std::string gift_text(const sync::EventTrial& trial) {
  if (trial.gift_exists) return gift_name(trial) + " exists";
  if (trial.creates_gift) return gift_name(trial) + " would be created";
  return gift_name(trial) +
         (trial.gift_known ? " would be created by another event of this sample" : " is unknown");
}

void print_event(std::ostream& out, const SourceTrial::Event& event, std::size_t number) {
  const sync::EventTrial& trial = event.trial;
  fmt::print(out, "event {}: {}{}\n", number, to_word(trial.outcome),
             trial.reason ? fmt::format(" ({})", to_word(*trial.reason)) : "");
  for (const auto& [key, text] : event.fields) {
    std::string meaning;
    if (key == "status" && trial.status) meaning = fmt::format(" -> {}", to_word(*trial.status));
    if (key == "occurred_at" && trial.occurred_at)
      meaning = " -> " + platform::to_rfc3339(*trial.occurred_at);
    fmt::print(out, "  {:<15} {}{}\n", key, printable(text), meaning);
  }
  if (trial.status) fmt::print(out, "  {}\n", printable(gift_text(trial)));
  if (!trial.detail.empty()) fmt::print(out, "  {}\n", printable(trial.detail));
}

std::size_t count_applied(const SourceTrial& trial) {
  if (!trial.refusal.empty()) return 0;
  return static_cast<std::size_t>(
      std::count_if(trial.events.begin(), trial.events.end(),
                    [](const SourceTrial::Event& event) { return event.trial.is_applied(); }));
}

void print_trial(const Console& console, const TryOptions& options, const SourceTrial& trial) {
  if (options.json) {
    Json events = Json::array();
    for (const SourceTrial::Event& event : trial.events) events.push_back(json_of(event, events.size() + 1));
    console.out << json_text(Json{{"source", options.name},
                                  {"refusal", text_or_null(trial.refusal)},
                                  {"applied", count_applied(trial)},
                                  {"events", std::move(events)}})
                << '\n';
    return;
  }
  std::size_t number = 0;
  for (const SourceTrial::Event& event : trial.events) print_event(console.out, event, ++number);
  if (!trial.refusal.empty())
    fmt::print(console.out, "The whole document would be refused: {}\n", printable(trial.refusal));
  fmt::print(console.out, "{} of {} would be applied; nothing was changed\n", count_applied(trial),
             platform::pluralize(static_cast<std::int64_t>(trial.events.size()), "event"));
}

tl::expected<std::string, Refusal> read_sample(const Console& console, const std::string& path) {
  auto input = InputFile::open(path, console);
  if (!input) return tl::unexpected(std::move(input.error()));
  std::string text(kMaxSampleBytes + 1, '\0');
  input->stream().read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(input->stream().gcount()));
  if (text.size() <= kMaxSampleBytes) return text;
  return tl::unexpected(Refusal{EX_DATAERR, {fmt::format("{} is larger than 16 MiB", input->name())}});
}

int try_sample(const Console& console, CliContext& ctx, const TryOptions& options) {
  const auto source =
      std::find_if(ctx.settings.sources.begin(), ctx.settings.sources.end(),
                   [&](const daemon::config::SourceSettings& one) { return one.name == options.name; });
  if (source == ctx.settings.sources.end())
    return console.fail(EX_DATAERR, source_fault(ctx, options.name)
                                        .value_or(fmt::format("{} is not in the settings (sources) any more",
                                                              platform::in_quotes(options.name))));
  if (const auto fault = wiring::untriable_source(*source))
    return console.fail(EX_DATAERR,
                        fmt::format("{} cannot be tried: {}", platform::in_quotes(options.name), *fault));
  const auto sample = read_sample(console, options.path);
  if (!sample) return refuse(console, sample.error());
  const SourceTrial trial = wiring::try_source(*source, ctx.store, *sample, console.now());
  print_trial(console, options, trial);
  return trial.refusal.empty() && count_applied(trial) == trial.events.size() ? EX_OK : 1;
}

}  // namespace

void add_source_try_command(Commands& commands, CLI::App& source) {
  const auto options = std::make_shared<TryOptions>();
  CLI::App* verb = commands.verb(
      source, "try",
      "Show what a sample of the source's messages or pages would do under the settings file, without a "
      "change: for each event its fields, its status and time, its gift, and whether it would be accepted, a "
      "duplicate, orphaned, ignored or quarantined, and why. Exit 0 when every event would be applied, "
      "otherwise 1.",
      {"source try vendor <sample.json", "source try vendor sample.json --json",
       "source refused vendor --show 17 | giftsyncctl source try vendor"});
  verb->add_option("NAME", options->name, "The source")->required();
  verb->add_option("FILE", options->path, "The sample; - is standard input");
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, try_sample);
}

}  // namespace giftsync::cli
