#include "daemon/sources/report_judgement.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "daemon/crypto/digest.h"
#include "daemon/settings/settings_fault.h"
#include "schema/address.h"
#include "schema/text.h"
#include "sync/status_rules.h"

namespace giftsync::daemon {
namespace {

using schema::AsideReason;

/// A report that is kept aside may take so much room, as there may be 100,000 of a source. Only a message, or
/// the vendor's own form, can be longer; what is left decides all the same.
constexpr std::size_t kMaxAsideBytes = std::size_t{64} << 10;
constexpr std::size_t kMostAsideMessage = 4'000;  // code points

constexpr std::string_view kTimeForms = "RFC 3339 with a zone, or seconds or milliseconds since 1970";

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

class Judging {
 public:
  Judging(const RawReport& report, const SourcePlan& plan, schema::UtcMillis received_at,
          const FindItem& find_item)
      : report_(report), plan_(plan), received_at_(received_at), find_item_(find_item) {}

  Judgement run() {
    decide();
    // Also one that is applied may turn out to be another's, or be held, and is kept then.
    const schema::SourceItem& item = judgement_.item;
    if (item.kept_aside || report_.is_item_too_long || item.aside.report.size() > kMaxAsideBytes)
      keep_short();
    return std::move(judgement_);
  }

 private:
  void decide() {
    fill_aside();
    if (!report_.unread.empty()) {
      keep(AsideReason::faulty, "no field of it was read: " + report_.unread);
      return leave_unread();
    }
    const std::string& word = report_[ReportField::status];
    const auto known = plan_.words.find(word);
    if (known != plan_.words.end() && !known->second) {
      judgement_.ignored = true;
      return;
    }
    const auto transaction = transaction_id();
    const auto time = occurred_at();
    if (word.empty()) blame(ReportField::status, "status: found nothing");
    if (judgement_.item.kept_aside) return leave_unread();
    if (known == plan_.words.end()) {
      keep(AsideReason::word, "the status map has no word " + in_quotes(word));
    } else if (const std::string fault = sync::time_fault(*time, received_at_); !fault.empty()) {
      keep(AsideReason::time, schema::to_rfc3339(*time) + " " + fault);
    } else if (!plan_.may_set.contains(*known->second)) {
      keep(AsideReason::may_set,
           fmt::format("{} may not set {}", plan_.settings.name, to_word(*known->second)));
    } else {
      accept(*transaction, *known->second, *time);
    }
  }

  void leave_unread() {
    judgement_.unreadable = true;
    // Its fields do not tell it from others.
    judgement_.item.aside.digest = digest_of(judgement_.item.aside.report);
  }

  void fill_aside() {
    schema::AsideReport& aside = judgement_.item.aside;
    aside.source = plan_.settings.name;
    aside.word = report_[ReportField::status];
    aside.transaction = report_[ReportField::transaction_id];
    aside.report = to_text(report_);
    // A vendor's form may have members that change with every answer, such as an age.
    aside.digest = digest_of(fields_as_text(report_));
    aside.received_at = received_at_;
  }

  static std::string digest_of(const std::string& text) { return to_hex(sha256(text)); }

  void keep(AsideReason reason, const std::string& detail) {
    judgement_.item.kept_aside = true;
    judgement_.item.aside.reason = reason;
    std::string& all = judgement_.item.aside.detail;
    all += (all.empty() ? "" : "; ") + detail;
  }
  void blame(ReportField field, const std::string& detail) {
    judgement_.blamed.insert(field);
    keep(AsideReason::faulty, detail);
  }

  void keep_short() {
    schema::AsideReport& aside = judgement_.item.aside;
    RawReport shorter = report_;
    if (aside.report.size() > kMaxAsideBytes && !shorter.item.empty()) {
      shorter.item.clear();
      shorter.is_item_too_long = true;
      aside.report = to_text(shorter);
    }
    if (shorter.is_item_too_long)
      add_detail(
          "it is too long to be kept whole, so a pointer that is corrected later is not followed in it");
    if (aside.report.size() > kMaxAsideBytes) {
      shorter.set(ReportField::message, schema::truncated(report_[ReportField::message], kMostAsideMessage));
      aside.report = to_text(shorter);
    }
    // Also of one that was cut before and is judged again.
    const std::string& message = shorter[ReportField::message];
    if (shorter.is_item_too_long && schema::count_code_points(message) == kMostAsideMessage)
      add_detail(fmt::format("its message is kept up to {} characters", kMostAsideMessage));
  }

  /// However it will be kept.
  void add_detail(const std::string& what) {
    judgement_.item.aside.detail += "; " + what;
    if (!judgement_.item.held_detail.empty()) judgement_.item.held_detail += "; " + what;
  }

  static std::string found(const std::string& text) { return text.empty() ? "nothing" : in_quotes(text); }

  std::optional<schema::TransactionId> transaction_id() {
    const std::string& text = report_[ReportField::transaction_id];
    const auto id = whole_number(text);
    if (id && *id >= 1 && *id <= schema::kMaxId) return schema::TransactionId{*id};
    blame(ReportField::transaction_id,
          fmt::format("transaction_id: found {}; allowed: a whole number from 1 to {}", found(text),
                      schema::kMaxId));
    return std::nullopt;
  }

  std::optional<schema::UtcMillis> occurred_at() {
    const std::string& text = report_[ReportField::occurred_at];
    const auto time = read_time(text);
    if (!time)
      blame(ReportField::occurred_at,
            fmt::format("occurred_at: found {}; allowed: {}", found(text), kTimeForms));
    return time;
  }

  void accept(schema::TransactionId transaction, schema::Status status, schema::UtcMillis time) {
    schema::StatusChange change;
    change.source = plan_.settings.name;
    change.origin = plan_.origin;
    change.transaction = transaction;
    change.status = status;
    change.occurred_at = time;
    change.received_at = received_at_;
    if (!report_[ReportField::event_id].empty()) change.event_ids = {report_[ReportField::event_id]};
    judgement_.item.change = std::move(change);
    if (!plan_.origin.empty()) read_sending();
    if (judgement_.item.kept_aside) {
      judgement_.item.change.reset();
      judgement_.item.sent.reset();
      judgement_.item.gift.reset();
    } else if (!judgement_.item.gift) {
      judgement_.item.held_detail = held_detail(*judgement_.item.change);
    }
  }

  /// Tells all that is read of it, so that other settings which read something else show in it. What a mail
  /// provider says has the same meaning under any settings.
  std::string held_detail(const schema::StatusChange& change) const {
    if (plan_.settings.preset != SourcePreset::none) return {};
    const std::string& sent_at = report_[ReportField::sent_at];
    const std::string what = fmt::format(
        "{} of gift {} at {}{}: there is no such gift", to_word(change.status), change.transaction.value,
        schema::to_rfc3339(change.occurred_at), sent_at.empty() ? "" : ", sent at " + in_quotes(sent_at));
    if (plan_.origin.empty())
      return what + " of ours; if the source's gifts are sent elsewhere, it needs transactions: external";
    std::string missing;
    if (report_[ReportField::recipient_email].empty() && report_[ReportField::recipient_phone].empty())
      missing = "no recipient (fields.recipient_email, fields.recipient_phone)";
    if (report_[ReportField::sent_at].empty() && change.status != schema::Status::sent)
      missing += fmt::format("{}no time of its sending (fields.sent_at)", missing.empty() ? "" : " and ");
    return what + ", and none can be made from this report: it tells " + missing;
  }

  /// When a gift from outside was sent is a fact of its own, whatever else its report tells.
  void read_sending() {
    const schema::StatusChange& change = *judgement_.item.change;
    const auto sent_at = time_of_sending(change);
    if (!sent_at) return;
    if (change.status != schema::Status::sent || change.occurred_at != *sent_at) {
      schema::StatusChange& sent = judgement_.item.sent.emplace(change);
      sent.status = schema::Status::sent;
      sent.occurred_at = *sent_at;
      sent.event_ids.clear();
    }
    read_gift(change.transaction, *sent_at);
  }

  std::optional<schema::UtcMillis> time_of_sending(const schema::StatusChange& change) {
    const std::string& text = report_[ReportField::sent_at];
    if (text.empty())
      return change.status == schema::Status::sent ? std::optional(change.occurred_at) : std::nullopt;
    const auto sent_at = read_time(text);
    const std::string fault = sent_at ? sync::time_fault(*sent_at, received_at_) : "";
    if (!sent_at)
      blame(ReportField::sent_at, fmt::format("sent_at: found {}; allowed: {}", in_quotes(text), kTimeForms));
    else if (!fault.empty())
      blame(ReportField::sent_at, fmt::format("sent_at: {} {}; allowed: a time from 2000 to 24 hours ahead",
                                              in_quotes(text), fault));
    return sent_at;
  }

  /// Enough for a gift is its id, the recipient's address or phone number, and when it was sent.
  void read_gift(schema::TransactionId transaction, schema::UtcMillis sent_at) {
    const std::string& email = report_[ReportField::recipient_email];
    const std::string& phone = report_[ReportField::recipient_phone];
    if (email.empty() && phone.empty()) return;
    schema::ExternalGift gift;
    gift.id = transaction;
    gift.sent_at = sent_at;
    gift.email = address(ReportField::recipient_email, "recipient_email");
    gift.sender_email = address(ReportField::sender_email, "sender_email");
    gift.phone = phone;
    gift.first_name = report_[ReportField::first_name];
    gift.last_name = report_[ReportField::last_name];
    gift.message = report_[ReportField::message];
    read_item(gift);
    judgement_.item.gift = std::move(gift);
  }

  std::string address(ReportField field, std::string_view name) {
    const std::string& text = report_[field];
    if (text.empty()) return {};
    if (const auto fault = schema::email_fault(text)) blame(field, fmt::format("{}: {}", name, *fault));
    return text;
  }

  /// Name and costs come from the catalogue where the report does not tell them.
  void read_item(schema::ExternalGift& gift) {
    if (const std::string& text = report_[ReportField::gift_id]; !text.empty()) {
      const auto id = whole_number(text);
      if (!id || *id < 1 || *id > schema::kMaxId) {
        blame(ReportField::gift_id, "gift_id: found " + in_quotes(text) + "; allowed: a whole number");
        return;
      }
      gift.gift = {*id};
      if (const auto item = find_item_(gift.gift)) {
        gift.item_name = item->name;
        gift.item_description = item->description;
        gift.costs = item->costs;
      }
    }
    read_cost(ReportField::item_cost, "costs.item", gift.costs.item);
    read_cost(ReportField::shipping_cost, "costs.shipping", gift.costs.shipping);
    read_cost(ReportField::carbon_neutral_cost, "costs.carbon_neutral", gift.costs.carbon_neutral);
    read_cost(ReportField::transaction_fee, "costs.transaction_fee", gift.costs.transaction_fee);
  }

  void read_cost(ReportField field, std::string_view name, std::optional<schema::Money>& cost) {
    const std::string& text = report_[field];
    if (text.empty()) return;
    const auto money = schema::from_decimal(text);
    if (!money || money->minor_units < 0) {
      blame(field, fmt::format("{}: found {}; allowed: an amount with at most two decimals such as 5.50",
                               name, in_quotes(text)));
    } else {
      cost = *money;
    }
  }

  const RawReport& report_;
  const SourcePlan& plan_;
  const schema::UtcMillis received_at_;
  const FindItem& find_item_;
  Judgement judgement_;
};

}  // namespace

Judgement judge(const RawReport& report, const SourcePlan& plan, schema::UtcMillis received_at,
                const FindItem& find_item) {
  return Judging(report, plan, received_at, find_item).run();
}

std::optional<schema::UtcMillis> read_time(std::string_view text) {
  if (const auto time = schema::from_rfc3339(text)) return time;
  constexpr double kMostSeconds = 99'999'999'999.0;  // the year 5138; as milliseconds 1973
  constexpr double kMostMillis = 253'402'300'799'999.0;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
  if (!is_number || number < 0 || number > kMostMillis) return std::nullopt;
  return schema::UtcMillis{std::llround(number <= kMostSeconds ? number * 1000 : number)};
}

}  // namespace giftsync::daemon
