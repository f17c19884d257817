// A writer whose queues are full.
#pragma once

#include "sync/crm/urgent_writer.h"

namespace giftsync::tests {

class FullWriter : public sync::UrgentWriter {
 public:
  bool submit(store::NewGiftRequest, Done<store::CreateOutcome>) override { return false; }
  bool submit(store::InboundBatch, Done<store::IngestResult>) override { return false; }
  bool submit(store::Decision, Done<store::ConditionalOutcome>) override { return false; }
  std::optional<store::CreateOutcome> write(store::NewGiftRequest) override { return {}; }
  std::optional<store::IngestResult> write(store::InboundBatch) override { return {}; }
  std::optional<store::ConditionalOutcome> write(store::Decision) override { return {}; }
};

}  // namespace giftsync::tests
