// daemon/sources: the one way in for what sources say, whether they call or are asked: raw reports are judged
// and go into the store in one transaction. Any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "daemon/sources/report_judgement.h"
#include "daemon/sources/source_plan.h"
#include "daemon/sources/source_watch.h"
#include "schema/store/store.h"

namespace giftsync::daemon {

/// What else goes into the transaction.
struct Covering {
  std::optional<std::string> message_id;
  std::optional<schema::SourceReport::Advance> advance;
  std::string warning = {};  ///< what the log says when some of it is kept aside; empty: the usual words
};

struct TakenReports {
  schema::SourceReceipt receipt;
  std::size_t ignored = 0;
};

class SourceIntake {
 public:
  /// `on_changes` is called after changes became durable; it wakes the sync loop.
  SourceIntake(schema::Store& store, SourceWatch& watch, std::function<void()> on_changes)
      : store_(store), watch_(watch), on_changes_(std::move(on_changes)) {}

  /// The judgements of a message or page, before anything is written.
  std::vector<Judgement> judge_all(const SourcePlan& plan, std::span<const RawReport> reports,
                                   schema::UtcMillis now);
  TakenReports take(const SourcePlan& plan, std::vector<Judgement> judged, const Covering& covering,
                    schema::UtcMillis now);
  /// Judges again what was kept aside of a source, under its settings of now: pointers, words, statuses. What
  /// has become clear is applied, and what stays aside has its reason of now. Returns how many reports that
  /// were. `keep_going` is asked before each batch; false ends it.
  std::size_t review_aside(const SourcePlan& plan, schema::UtcMillis now,
                           const std::function<bool()>& keep_going);
  /// The same with the reports that are kept beside held changes: those that tell of their gift under the
  /// settings of now make it, and it takes what is held for it. What is held because they were read otherwise
  /// before is taken back. Returns how many gifts were made.
  std::size_t review_held(const SourcePlan& plan, schema::UtcMillis now,
                          const std::function<bool()>& keep_going);

 private:
  /// Judges again, batch by batch, what `read` gives of it behind an id; what `stays` is left, and `taken` is
  /// told of each batch that was accepted. True: all of it.
  template <class Read, class Stays, class Taken>
  bool judge_kept(const SourcePlan& plan, schema::UtcMillis now, const std::function<bool()>& keep_going,
                  const Read& read, const Stays& stays, const Taken& taken);
  /// What mail providers tell of a mail to an address that the gift has left since is none of the gift's.
  void ignore_former_addresses(std::span<const RawReport> reports, std::vector<Judgement>& judged);

  schema::Store& store_;
  SourceWatch& watch_;
  const std::function<void()> on_changes_;
};

}  // namespace giftsync::daemon
