// daemon/sources: one report of a source as texts, as it came: before words, ids and times are looked at. Its
// text form is what the store keeps of a report that is kept aside, so that it can be judged again later,
// also after a pointer was corrected.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync::daemon {

enum class ReportField {
  transaction_id,
  status,
  occurred_at,
  event_id,
  recipient_email,
  recipient_phone,
  first_name,
  last_name,
  sender_email,
  gift_id,
  message,
  sent_at,
  item_cost,
  shipping_cost,
  carbon_neutral_cost,
  transaction_fee
};
inline constexpr std::size_t kReportFields = 16;

/// How much of the vendor's own form of a report is kept with it. Usual ones have less than a kilobyte; of a
/// longer one only the fields are kept.
inline constexpr std::size_t kMaxItemBytes = std::size_t{32} << 10;

class RawReport {
 public:
  /// Empty: the source did not tell.
  const std::string& operator[](ReportField field) const { return texts_[static_cast<std::size_t>(field)]; }
  /// Texts are trimmed and cut: the message where the CRM's field ends, all others after 500 code points.
  void set(ReportField field, std::string_view text);

  /// Of the links in the mail that a mail provider tells of: one of another address is older than the gift's.
  /// Not part of the text form.
  std::optional<std::int64_t> generation = std::nullopt;

  /// The vendor's own form, as JSON, in which other pointers can be followed later. Empty for what is not
  /// read by pointers, and for what is too long.
  std::string item;
  bool is_item_too_long = false;

  /// Why no field was read; empty: they were.
  std::string unread;

  friend bool operator==(const RawReport&, const RawReport&) = default;

 private:
  std::array<std::string, kReportFields> texts_;
};

/// A JSON object with the fields that are not empty, and the vendor's own form; always the same for the same
/// report.
std::string to_text(const RawReport& report);
/// The same without the vendor's own form.
std::string fields_as_text(const RawReport& report);
/// Nullopt for what to_text() did not write.
std::optional<RawReport> raw_report_from_text(std::string_view text);

}  // namespace giftsync::daemon
