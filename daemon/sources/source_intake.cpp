#include "daemon/sources/source_intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "daemon/counted.h"
#include "daemon/sources/report_extraction.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kReviewBatch = 500;

/// The items of the catalogue, each looked up once: a batch is about a few gifts, over and over.
FindItem remembering(schema::Catalogue& catalogue) {
  return [&catalogue,
          known = std::map<schema::GiftId, std::optional<schema::GiftItem>>()](schema::GiftId id) mutable {
    const auto found = known.find(id);
    if (found != known.end()) return found->second;
    return known.emplace(id, catalogue.item(id)).first->second;
  };
}

/// Reports of one page that are alike in all fields and not in the vendor's own form are not the same: a
/// pointer may be wrong. On a page that comes again they are numbered as before.
void tell_alike_apart(std::span<const RawReport> reports, std::vector<Judgement>& judged) {
  std::map<std::string, std::map<std::string_view, std::size_t>> forms;  // and their numbers, by digest
  for (std::size_t i = 0; i < reports.size(); ++i) {
    std::string& digest = judged[i].item.aside.digest;
    auto& alike = forms[digest];
    const std::size_t number = alike.emplace(reports[i].item, alike.size()).first->second;
    if (number > 0) digest += fmt::format("/{}", number);
  }
}

/// Under the settings of now there is nothing new to say of it.
bool stays_aside(const Judgement& judgement, const schema::AsideReport& as_it_is) {
  const schema::AsideReport& aside = judgement.item.aside;
  return judgement.item.kept_aside && aside.reason == as_it_is.reason && aside.detail == as_it_is.detail;
}

schema::SourceReport empty_report(const SourcePlan& plan, schema::UtcMillis now) {
  schema::SourceReport report;
  report.source = plan.settings.name;
  report.origin = plan.origin;
  report.now = now;
  return report;
}

/// A message that is sent again after an edit of the settings may mean something else now: it is read anew,
/// and what is known of it changes nothing, for the signature covers all that it says. A mail provider's may
/// cover the id alone, so a known id is known for good, whatever is edited.
std::optional<std::string> remembered_id(const std::optional<std::string>& id, const SourcePlan& plan) {
  if (!id || plan.reading.empty()) return id;
  return *id + " " + plan.reading;
}

/// A kept report under the settings of now; nullopt when its text cannot be read.
std::optional<Judgement> judge_again(const schema::AsideReport& kept, const SourcePlan& plan,
                                     const FindItem& find_item) {
  auto raw = raw_report_from_text(kept.report);
  if (!raw) return std::nullopt;
  Judgement judgement = judge(read_again(std::move(*raw), plan), plan, kept.received_at, find_item);
  judgement.item.aside.digest = kept.digest;  // of what came; what is kept may be shorter
  return judgement;
}

/// Nothing new is read in it that could be applied, so it stays beside its change.
bool stays_held(const Judgement& judgement, const schema::AsideReport& as_it_is) {
  const schema::SourceItem& item = judgement.item;
  return !item.kept_aside && !item.gift && item.held_detail == as_it_is.detail;
}

/// Those of the transactions, each as the store writes it, of which there is no gift.
std::set<std::string> unknown_transactions(schema::Store& store,
                                           const std::vector<schema::AsideReport>& kept) {
  std::vector<schema::TransactionId> ids;
  for (const schema::AsideReport& one : kept)
    ids.push_back({std::strtoll(one.transaction.c_str(), nullptr, 10)});
  std::set<std::string> unknown;
  for (const schema::TransactionId id : store.gifts.without_gift(ids))
    unknown.insert(std::to_string(id.value));
  return unknown;
}

/// How a report that was kept aside is kept when it turns out that there is no room to hold its change.
void prepare_to_wait(schema::AsideReport& aside, const schema::AsideReport& as_it_is) {
  aside.reason = as_it_is.reason;
  aside.detail = fmt::format(
      "it could be applied now, but its transaction is unknown and {} changes of this source are held "
      "already; "
      "make room with giftsyncctl change discard --source {}, then reload",
      schema::kMaxHeldChanges, as_it_is.source);
}

}  // namespace

std::vector<Judgement> SourceIntake::judge_all(const SourcePlan& plan, std::span<const RawReport> reports,
                                               schema::UtcMillis now) {
  const FindItem find_item = remembering(store_.catalogue);
  std::vector<Judgement> judged;
  judged.reserve(reports.size());
  for (const RawReport& report : reports) judged.push_back(judge(report, plan, now, find_item));
  tell_alike_apart(reports, judged);
  ignore_former_addresses(reports, judged);
  return judged;
}

void SourceIntake::ignore_former_addresses(std::span<const RawReport> reports,
                                           std::vector<Judgement>& judged) {
  std::set<schema::TransactionId> mailed;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].generation && judged[i].item.change) mailed.insert(judged[i].item.change->transaction);
  }
  if (mailed.empty()) return;
  const std::vector<schema::TransactionId> ids(mailed.begin(), mailed.end());
  std::map<schema::TransactionId, std::int64_t> generations;
  for (const schema::Gift& gift : store_.gifts.gifts(ids))
    generations[gift.transaction.id] = gift.transaction.generation;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!reports[i].generation || !judged[i].item.change) continue;
    const auto now = generations.find(judged[i].item.change->transaction);
    if (now != generations.end() && *reports[i].generation < now->second) judged[i].ignored = true;
  }
}

TakenReports SourceIntake::take(const SourcePlan& plan, std::vector<Judgement> judged,
                                const Covering& covering, schema::UtcMillis now) {
  TakenReports taken;
  schema::SourceReport report = empty_report(plan, now);
  report.message_id = remembered_id(covering.message_id, plan);
  report.advance = covering.advance;
  for (Judgement& one : judged) {
    if (one.ignored) {
      ++report.ignored;
      continue;
    }
    report.items.push_back(std::move(one.item));
  }
  taken.ignored = report.ignored;
  taken.receipt = store_.sources.accept(report);
  if (taken.receipt.kind != schema::SourceReceipt::Kind::taken) return taken;
  for (const std::string& collision : taken.receipt.collisions) watch_.warn(report.source, collision, now);
  if (taken.receipt.collisions.empty() && taken.receipt.kept_aside > 0)
    watch_.warn(report.source,
                covering.warning.empty() ? "something it reported cannot be applied and is kept aside"
                                         : covering.warning,
                now);
  if (taken.receipt.accepted + taken.receipt.gifts > 0) on_changes_();
  return taken;
}

template <class Read, class Stays, class Taken>
bool SourceIntake::judge_kept(const SourcePlan& plan, schema::UtcMillis now,
                              const std::function<bool()>& keep_going, const Read& read, const Stays& stays,
                              const Taken& taken) {
  std::int64_t after = 0;
  std::set<std::string> reviewed;  // what stays in other words comes back, under a new id
  while (keep_going()) {
    const FindItem find_item = remembering(store_.catalogue);
    const std::vector<schema::AsideReport> kept = read(after);
    if (kept.empty()) return true;
    std::size_t other_reasons = 0;
    schema::SourceReport report = empty_report(plan, now);
    for (const schema::AsideReport& one : kept) {
      after = one.id;
      auto judgement = judge_again(one, plan, find_item);
      if (!judgement || stays(*judgement, one) || !reviewed.insert(one.digest).second) continue;
      report.settled.push_back(one.id);
      if (judgement->ignored) {
        ++report.ignored;
        continue;
      }
      if (judgement->item.kept_aside)
        ++other_reasons;
      else
        prepare_to_wait(judgement->item.aside, one);
      report.items.push_back(std::move(judgement->item));
    }
    if (report.settled.empty()) continue;
    const schema::SourceReceipt receipt = store_.sources.accept(report);
    if (receipt.kind != schema::SourceReceipt::Kind::taken) return false;
    taken(report, receipt, other_reasons);
    if (receipt.accepted + receipt.gifts > 0) on_changes_();
  }
  return false;
}

std::size_t SourceIntake::review_aside(const SourcePlan& plan, schema::UtcMillis now,
                                       const std::function<bool()>& keep_going) {
  std::size_t applied = 0;
  std::size_t waiting = 0;
  judge_kept(
      plan, now, keep_going,
      [&](std::int64_t after) { return store_.sources.aside(plan.settings.name, after, kReviewBatch); },
      stays_aside,
      [&](const schema::SourceReport& report, const schema::SourceReceipt& receipt,
          std::size_t other_reasons) {
        waiting +=
            receipt.kept_aside - std::min(receipt.kept_aside, receipt.collisions.size() + other_reasons);
        applied += receipt.accepted + receipt.repeated + receipt.held + report.ignored;
      });
  if (waiting > 0)
    watch_.warn(
        plan.settings.name,
        fmt::format("{} reports that were kept aside could be applied now, but {} changes of it are held "
                    "already; make room with \"giftsyncctl change discard --source {}\", then reload",
                    waiting, schema::kMaxHeldChanges, plan.settings.name),
        now);
  return applied;
}

std::size_t SourceIntake::review_held(const SourcePlan& plan, schema::UtcMillis now,
                                      const std::function<bool()>& keep_going) {
  std::size_t gifts = 0;
  std::size_t put_aside = 0;
  std::set<std::string> unknown;  // transactions of the batch
  const bool is_whole = judge_kept(
      plan, now, keep_going,
      [&](std::int64_t after) {
        auto kept = store_.sources.held_reports(plan.settings.name, after, kReviewBatch);
        unknown = unknown_transactions(store_, kept);
        return kept;
      },
      // A change whose word is to be ignored now stays as it was read, for people to void.
      [&](const Judgement& judgement, const schema::AsideReport& as_it_is) {
        return judgement.ignored ||
               (stays_held(judgement, as_it_is) && unknown.contains(as_it_is.transaction));
      },
      [&](const schema::SourceReport&, const schema::SourceReceipt& receipt, std::size_t) {
        gifts += receipt.gifts;
        put_aside += receipt.kept_aside;
      });
  if (is_whole) store_.sources.end_judging(plan.settings.name, plan.reading);
  if (put_aside > 0)
    watch_.warn(
        plan.settings.name,
        fmt::format("{} whose changes are held cannot be applied under its settings of now and {} kept "
                    "aside",
                    counted(put_aside, "report"), verb_for(put_aside, "is", "are")),
        now);
  return gifts;
}

}  // namespace giftsync::daemon
