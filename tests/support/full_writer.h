// A writer whose queues are full.
#pragma once

#include "sync/urgent_writer.h"

namespace giftsync::tests {

class FullWriter : public sync::UrgentWriter {
 public:
  bool submit(schema::store::NewGiftRequest, Done<schema::store::CreateOutcome>) override { return false; }
  bool submit(schema::store::InboundBatch, Done<schema::store::IngestResult>) override { return false; }
  bool submit(schema::store::Decision, Done<schema::store::ConditionalOutcome>) override { return false; }
  std::optional<schema::store::CreateOutcome> write(schema::store::NewGiftRequest) override { return {}; }
  std::optional<schema::store::IngestResult> write(schema::store::InboundBatch) override { return {}; }
  std::optional<schema::store::ConditionalOutcome> write(schema::store::Decision) override { return {}; }
};

}  // namespace giftsync::tests
