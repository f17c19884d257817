#include "daemon/validation/error_catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace giftsync::validation {
namespace {

constexpr const char* kPageStart = R"(# Errors of the API

Each error is a problem document with a `code` ([HTTP-36](../design/http-api.md#http-36)); [openapi.yaml](../openapi.yaml) says which
endpoint answers with which. This page is made from the tables in `daemon/validation/error_catalogue.h`.

Whether to repeat the request: *later* is the same request again, after the seconds of `Retry-After`; *corrected* is once the cause
is removed; *no* means that it gets the same answer. Errors are not stored under an Idempotency-Key.

| Code | Status | Title | Meaning; what to do | Repeat |
|---|---|---|---|---|
)";

constexpr const char* kFieldsStart = R"(
## Codes of faults, warnings, findings and reasons

`errors` is in a problem, `warnings` in the answer to what was accepted, `findings` in that of a call that only validates, and
`reasons`, with `faults` and `notes`, in a held request.

| Code | Where | Meaning |
|---|---|---|
)";

std::string_view word_of(Repeat repeat) {
  constexpr std::string_view kWords[] = {"no", "corrected", "later"};
  return kWords[static_cast<std::size_t>(repeat)];
}

std::string words_of(unsigned places) {
  std::vector<std::string_view> words;
  if (places & kInErrors) words.push_back("`errors`");
  if (places & kInWarnings) words.push_back("`warnings`");
  if (places & kInFindings) words.push_back("`findings`");
  if (places & kInReasons) words.push_back("`reasons`");
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string errors_page() {
  std::string page = kPageStart;
  for (const ProblemKind& kind : kProblemKinds)
    page += fmt::format("| `{}` | {} | {} | {} | {} |\n", kind.code, kind.status, kind.title, kind.meaning,
                        word_of(kind.repeat));
  page += kFieldsStart;
  for (const FieldCodeKind& kind : kFieldCodeKinds)
    page += fmt::format("| `{}` | {} | {} |\n", kind.code, words_of(kind.places), kind.meaning);
  return page;
}

}  // namespace giftsync::validation
