#include "crm/salesforce/calls/composite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "crm/salesforce/calls/record_json.h"
#include "platform/http_client.h"

namespace giftsync::salesforce {
namespace {

constexpr std::string_view kCallStart =
    R"({"allOrNone":false,"collateSubrequests":false,"compositeRequest":[)";
constexpr std::string_view kBlockStart = R"({"allOrNone":false,"records":[)";
/// What a part has around its rows: method, reference, URL, headers. More than a reference has.
constexpr std::size_t kPartOverhead = 400;

std::string headers_text(const PartRequest& part) {
  std::string text;
  for (const auto& [name, value] : part.headers)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", json_text(name), json_text(value));
  return text;
}

std::string part_text(const PartRequest& part) {
  std::string text = fmt::format(R"({{"method":{},"referenceId":{},"url":{})", json_text(part.method),
                                 json_text(part.reference), json_text(part.url));
  if (!part.headers.empty()) text += ",\"httpHeaders\":{" + headers_text(part) + "}";
  if (!part.body.empty()) text += ",\"body\":" + part.body;
  return text += '}';
}

std::size_t bytes_of(const PartRequest& part) {
  return kPartOverhead + part.url.size() + part.body.size();
}

struct CallSize {
  std::size_t parts = 0;
  std::size_t heavy = 0;
  std::size_t bytes = 0;
  bool is_alone = false;

  bool takes(const PartRequest& part) const {
    return parts == 0 ||
           (parts < kMaxParts && !is_alone && !part.is_alone && (!part.is_heavy || heavy < kMaxHeavyParts) &&
            bytes + bytes_of(part) <= kMaxCallBytes);
  }
  void add(const PartRequest& part) {
    ++parts;
    heavy += part.is_heavy ? 1 : 0;
    bytes += bytes_of(part);
    is_alone = part.is_alone;
  }
};

/// The blocks of one call while rows are added.
class PendingRequest {
 public:
  PendingRequest(std::size_t most_rows, std::size_t rows_per_block, std::size_t most_blocks)
      : most_rows_(most_rows), rows_per_block_(rows_per_block), most_blocks_(most_blocks) {}

  bool is_empty() const { return rows_ == 0; }
  std::vector<RowBlock> take_blocks() { return std::move(blocks_); }

  /// False when the row belongs into another call.
  bool add(const WriteRow& row, std::size_t position) {
    RowBlock* block = open_block(row);
    const std::size_t bytes = row.json.size() + 1 + (block && !row.refers_to ? 0 : kPartOverhead);
    const bool fits =
        rows_ < most_rows_ && bytes_ + bytes <= kMaxCallBytes && (block || blocks_.size() < most_blocks_);
    if (!fits && rows_ > 0) return false;
    if (!block) {
      blocks_.push_back({row.operation, fmt::format("w{}", blocks_.size()), {}, row.refers_to.has_value()});
      block = &blocks_.back();
    }
    block->rows.push_back(position);
    bytes_ += bytes;
    ++rows_;
    return true;
  }

 private:
  RowBlock* open_block(const WriteRow& row) {
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const RowBlock& block) {
      return block.operation == row.operation && block.refers == row.refers_to.has_value() &&
             block.rows.size() < rows_per_block_;
    });
    return found == blocks_.end() ? nullptr : &*found;
  }

  std::size_t most_rows_;
  std::size_t rows_per_block_;
  std::size_t most_blocks_;
  std::vector<RowBlock> blocks_;
  std::size_t rows_ = 0;
  std::size_t bytes_ = 0;
};

WriteCall finished_call(std::string_view api_version, std::vector<RowBlock> blocks,
                        std::span<const WriteRow> rows) {
  std::vector<PartRequest> parts;
  for (const RowBlock& block : blocks) parts.push_back(block_part(api_version, block, rows, blocks));
  return {std::move(parts), std::move(blocks)};
}

/// Rows of three kinds at most, in blocks of a third, are five blocks at most.
std::size_t rows_per_block(std::size_t rows_per_call, std::span<const WriteRow> rows) {
  const std::size_t blocks = !rows.empty() && rows.back().refers_to ? 3 : kMaxHeavyParts;
  return std::clamp<std::size_t>((rows_per_call + blocks - 1) / blocks, 1, kMaxRowsPerPart);
}

std::string row_text(const WriteRow& row, std::span<const RowBlock> blocks) {
  if (!row.refers_to) return row.json;
  for (const RowBlock& block : blocks) {
    const auto at = std::ranges::find(block.rows, row.refers_to->row);
    if (at == block.rows.end()) continue;
    return fmt::format(R"({},{}:"@{{{}[{}].id}}"}})",
                       std::string_view(row.json).substr(0, row.json.size() - 1),
                       json_text(row.refers_to->field), block.reference, at - block.rows.begin());
  }
  std::abort();  // a bug: the row is in another call
}

/// The answers of one block; without `part`, or when the part has another number of rows, the outcome is
/// unknown.
std::vector<RowAnswer> block_answers(const RowBlock& block, const CompositePart* part) {
  std::vector<RowAnswer> answers(block.rows.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].row = block.rows[i];
    answers[i].operation = block.operation;
    if (part) answers[i].status = part->status;
  }
  if (!part) return answers;
  if (!is_success(part->status)) {
    const std::vector<ApiError> errors = request_errors(*part->body);
    for (RowAnswer& answer : answers) {
      answer.is_answered = true;
      answer.written.errors = errors;
    }
    return answers;
  }
  tl::expected<std::vector<WrittenRow>, Fault> written = written_rows(*part->body, block.rows.size());
  if (!written) return answers;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].is_answered = true;
    answers[i].written = std::move((*written)[i]);
  }
  return answers;
}

}  // namespace

std::string data_path(std::string_view api_version) {
  return fmt::format("/services/data/v{}", api_version);
}

PartRequest query_part(std::string_view api_version, std::string_view soql, std::string reference,
                       bool is_all) {
  return {
      "GET",
      fmt::format("{}/{}?q={}", data_path(api_version), is_all ? "queryAll" : "query", percent_encoded(soql)),
      std::move(reference)};
}

PartRequest describe_part(std::string_view api_version, std::string_view object, std::string reference) {
  return {.method = "GET",
          .url = data_path(api_version) + "/sobjects/" + std::string(object) + "/describe",
          .reference = std::move(reference),
          .is_heavy = false};
}

std::string composite_body(std::span<const PartRequest> parts) {
  std::string body(kCallStart);
  for (const PartRequest& part : parts) {
    if (&part != &parts.front()) body += ',';
    body += part_text(part);
  }
  return body += "]}";
}

std::vector<std::vector<std::size_t>> group_parts(std::span<const PartRequest> parts) {
  std::vector<std::vector<std::size_t>> calls;
  CallSize size;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!size.takes(parts[i])) size = {};
    if (size.parts == 0) calls.emplace_back();
    size.add(parts[i]);
    calls.back().push_back(i);
  }
  return calls;
}

const CompositePart* find_part(std::span<const CompositePart> parts, std::string_view reference) {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [&](const CompositePart& part) { return part.reference == reference; });
  return found == parts.end() ? nullptr : &*found;
}

bool reads_as_reference(std::string_view json) {
  return json.find("@{") != std::string_view::npos;
}

PartRequest block_part(std::string_view api_version, const RowBlock& block, std::span<const WriteRow> rows,
                       std::span<const RowBlock> blocks) {
  const bool is_upsert = block.operation == Operation::upsert;
  if (block.operation != Operation::create && block.operation != Operation::update && !is_upsert)
    std::abort();  // a bug
  PartRequest part{block.operation == Operation::create ? "POST" : "PATCH",
                   data_path(api_version) + "/composite/sobjects", block.reference};
  if (is_upsert) part.url += "/" + rows[block.rows.front()].key;
  // Duplicate rules that only warn must not refuse a row, and assignment rules must not take its owner.
  part.headers = {{"Sforce-Duplicate-Rule-Header", "allowSave=true"}, {"Sforce-Auto-Assign", "FALSE"}};
  part.body = kBlockStart;
  for (const std::size_t row : block.rows) {
    if (row != block.rows.front()) part.body += ',';
    part.body += row_text(rows[row], blocks);
    part.is_alone = part.is_alone || reads_as_reference(rows[row].json);
  }
  part.body += "]}";
  return part;
}

bool fits_one_call(std::size_t rows_per_call, std::span<const WriteRow> rows) {
  if (rows.size() > rows_per_call) return false;
  PendingRequest open(rows.size(), rows_per_block(rows.size(), rows), kMaxHeavyParts);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!reads_as_reference(rows[i].json) && !open.add(rows[i], i)) return false;
  return true;
}

std::vector<WriteCall> write_calls(std::string_view api_version, std::size_t rows_per_call,
                                   std::span<const WriteRow> rows) {
  std::vector<WriteCall> calls;
  for (const bool is_alone : {false, true}) {
    const PendingRequest empty(
        rows_per_call, is_alone ? kMaxRowsPerPart : rows_per_block(rows_per_call, rows), kMaxHeavyParts);
    PendingRequest open = empty;
    const auto finish = [&] {
      std::vector<RowBlock> blocks = open.take_blocks();
      open = empty;
      if (!is_alone) return calls.push_back(finished_call(api_version, std::move(blocks), rows));
      for (RowBlock& block : blocks) calls.push_back(finished_call(api_version, {std::move(block)}, rows));
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (reads_as_reference(rows[i].json) != is_alone || open.add(rows[i], i)) continue;
      finish();
      open.add(rows[i], i);
    }
    if (!open.is_empty()) finish();
  }
  return calls;
}

std::vector<RowAnswer> row_answers(const WriteCall& call, std::span<const CompositePart> parts) {
  std::vector<RowAnswer> answers;
  for (const RowBlock& block : call.blocks) {
    for (RowAnswer& answer : block_answers(block, find_part(parts, block.reference)))
      answers.push_back(std::move(answer));
  }
  std::sort(answers.begin(), answers.end(),
            [](const RowAnswer& row_answer, const RowAnswer& other) { return row_answer.row < other.row; });
  return answers;
}

}  // namespace giftsync::salesforce
