#include "tests/salesforce/fake_org/switches.h"

namespace giftsync::tests::fake_org {
namespace {

constexpr Switch kSwitches[] = {
    // Whom the org lets in.
    {"consumer_key", ""},
    {"client_secret", ""},
    {"certificate", ""},
    {"audience", "https://login.salesforce.com"},
    {"run_as", ""},
    {"instance_url", ""},
    {"session_seconds", "7200"},
    {"session_refusal", ""},
    {"app_state", ""},
    // Its limits and its clock.
    {"api_limit", "15000"},
    {"api_limit_per_hour", ""},
    {"answer_delay_millis", ""},
    {"clock_offset", ""},
    {"deployed_at", ""},
    // What orgs answer differently.
    {"strict_ids", "true"},
    {"keeps_white_space", ""},
    {"recycle_bin_is_unique", ""},
    {"production", ""},
    {"utf16_lengths", "true"},
    {"hidden_fields", ""},
    {"hidden_objects", ""},
    {"refuses_parts", ""},
    {"refuses_references", ""},
    {"empty_references", ""},
    {"api_disabled", ""},
    {"profile", ""},
    {"foreign_permission_sets", ""},
    {"describe_bytes", ""},
};

}  // namespace

std::span<const Switch> switches() {
  return kSwitches;
}

}  // namespace giftsync::tests::fake_org
