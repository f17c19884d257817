#include "daemon/salesforce/composite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "daemon/salesforce/json_row.h"
#include "platform/http_client.h"

namespace giftsync::daemon::salesforce {
namespace {

constexpr std::string_view kCallStart =
    R"({"allOrNone":false,"collateSubrequests":false,"compositeRequest":[)";
constexpr std::string_view kBlockStart = R"({"allOrNone":false,"records":[)";
/// Of a part around its rows: method, reference, URL, headers.
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

  bool takes(const PartRequest& part) const {
    return parts == 0 || (parts < kMaxParts && (!part.is_heavy || heavy < kMaxHeavyParts) &&
                          bytes + bytes_of(part) <= kMaxCallBytes);
  }
  void add(const PartRequest& part) {
    ++parts;
    heavy += part.is_heavy ? 1 : 0;
    bytes += bytes_of(part);
  }
};

/// The blocks of one call while rows are added.
class OpenCall {
 public:
  OpenCall(std::size_t most_rows, std::size_t rows_per_block)
      : most_rows_(most_rows), rows_per_block_(rows_per_block) {}

  bool is_empty() const { return rows_ == 0; }
  std::vector<RowBlock> take_blocks() { return std::move(blocks_); }

  /// False when the row belongs into another call.
  bool add(const WriteRow& row, std::size_t position) {
    RowBlock* block = open_block(row.operation);
    const std::size_t bytes = row.json.size() + 1 + (block ? 0 : kPartOverhead);
    const bool fits =
        rows_ < most_rows_ && bytes_ + bytes <= kMaxCallBytes && (block || blocks_.size() < kMaxHeavyParts);
    if (!fits && rows_ > 0) return false;
    if (!block) {
      blocks_.push_back({row.operation, fmt::format("w{}", blocks_.size()), {}});
      block = &blocks_.back();
    }
    block->rows.push_back(position);
    bytes_ += bytes;
    ++rows_;
    return true;
  }

 private:
  RowBlock* open_block(Operation operation) {
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const RowBlock& block) {
      return block.operation == operation && block.rows.size() < rows_per_block_;
    });
    return found == blocks_.end() ? nullptr : &*found;
  }

  std::size_t most_rows_;
  std::size_t rows_per_block_;
  std::vector<RowBlock> blocks_;
  std::size_t rows_ = 0;
  std::size_t bytes_ = 0;
};

WriteCall finished_call(std::string_view api_version, std::vector<RowBlock> blocks,
                        std::span<const WriteRow> rows) {
  std::vector<PartRequest> parts;
  for (const RowBlock& block : blocks) parts.push_back(block_part(api_version, block, rows));
  return {composite_body(parts), std::move(blocks)};
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
  return {"GET",
          fmt::format("{}/{}?q={}", data_path(api_version), is_all ? "queryAll" : "query",
                      platform::percent_encoded(soql)),
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

PartRequest block_part(std::string_view api_version, const RowBlock& block, std::span<const WriteRow> rows) {
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
    part.body += rows[row].json;
  }
  part.body += "]}";
  return part;
}

std::vector<WriteCall> write_calls(std::string_view api_version, std::size_t rows_per_call,
                                   std::span<const WriteRow> rows) {
  const std::size_t fifth = (rows_per_call + kMaxHeavyParts - 1) / kMaxHeavyParts;
  const std::size_t rows_per_block = std::clamp<std::size_t>(fifth, 1, kMaxRowsPerPart);
  std::vector<WriteCall> calls;
  OpenCall open(rows_per_call, rows_per_block);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (open.add(rows[i], i)) continue;
    calls.push_back(finished_call(api_version, open.take_blocks(), rows));
    open = OpenCall(rows_per_call, rows_per_block);
    open.add(rows[i], i);
  }
  if (!open.is_empty()) calls.push_back(finished_call(api_version, open.take_blocks(), rows));
  return calls;
}

std::vector<RowAnswer> row_answers(const WriteCall& call, std::span<const CompositePart> parts) {
  std::vector<RowAnswer> answers;
  for (const RowBlock& block : call.blocks) {
    for (RowAnswer& answer : block_answers(block, find_part(parts, block.reference)))
      answers.push_back(std::move(answer));
  }
  std::sort(answers.begin(), answers.end(),
            [](const RowAnswer& one, const RowAnswer& other) { return one.row < other.row; });
  return answers;
}

}  // namespace giftsync::daemon::salesforce
