// crm/salesforce: calls of one org as the adapter makes them: each asks the governor first, tells it what
// the org answered, and reads the answer. What stops the whole call is thrown as giftsync::DependencyError in
// words for an admin; while the governor rests no call is made. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "crm/crm.h"
#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/api_client.h"
#include "crm/salesforce/calls/call_governor.h"
#include "crm/salesforce/calls/composite.h"
#include "crm/salesforce/calls/error_class.h"
#include "platform/clock.h"
#include "platform/dependency_error.h"
#include "platform/time.h"

namespace giftsync::salesforce {

/// The parts are views into the body.
struct CompositeAnswer {
  AnswerBody body;
  std::vector<CompositePart> parts;
  /// By the org's clock, when the call began or somewhat before: what the answer says was read later.
  UtcMillis as_of = {};
};

/// The org has answered, and refuses the call for now.
class CallRefusal : public giftsync::DependencyError {
 public:
  using DependencyError::DependencyError;
};

/// A write whose answer did not come: the org may have done it.
struct LostAnswer {
  std::string reason;
};

/// Is asked before each call that writes, on the thread of the call.
class WriteGate {
 public:
  virtual ~WriteGate() = default;
  /// Throws giftsync::DependencyError when nothing may be written.
  virtual void before_write() = 0;
  /// The call's answer did not come: the org may still be carrying it out.
  virtual void note_lost_answer() = 0;
};

class OrgCalls {
 public:
  /// `client` outlives this object. Without `storage` the governor's state is in this object only.
  OrgCalls(ApiClient& client, std::string api_version, GovernorOptions options, Clock clock,
           GovernorStorage storage = nullptr);

  /// Before the first call. `gate` outlives this object; null: writes are not asked for.
  void set_write_gate(WriteGate* gate) { gate_ = gate; }

  const std::string& api_version() const { return api_version_; }
  /// Rows that the next call may write.
  std::size_t rows_per_call() const;

  /// One composite call of parts that only read.
  CompositeAnswer read(std::span<const PartRequest> parts, std::size_t rows, CallPurpose purpose);
  /// One call that writes: a composite one, or the only part if it is alone, which is answered as a part. A
  /// lost answer is a return value.
  tl::expected<CompositeAnswer, LostAnswer> write(std::span<const PartRequest> parts, std::size_t rows,
                                                  CallPurpose purpose);
  /// GET of a resource below the data path, such as "/limits/recordCount".
  AnswerBody get(const std::string& resource, const std::string& query, CallPurpose purpose);

  /// Throws giftsync::DependencyPause unless a call of the least important kind is allowed. Makes none.
  void require_spare_calls();
  /// Whether such a call may be made now. Makes none.
  bool allows(CallPurpose purpose) const;
  /// The rows of the next calls are halved.
  void count_split();
  crm::CrmUsage usage() const;
  /// How long no call is made after this fault; 0 unless it is a giftsync::DependencyPause.
  std::int64_t rest_after(const giftsync::DependencyError& fault) const;
  /// Stops for a part that only read and failed.
  [[noreturn]] void stop(const CompositePart& part, CallPurpose purpose);
  /// Stops for what is no row's fault: notes the rest that it needs and throws. What only an admin can mend
  /// is a DependencyPause that is not transient, of an hour: for every call where the org refuses the API,
  /// else for calls of this kind, unless a person asked (CallPurpose::backfill) or the query itself is
  /// refused.
  [[noreturn]] void stop(const ApiError& error, ErrorClass error_class, CallPurpose purpose);
  /// What the org refused until an admin mends it is tried again.
  void end_refusals();

 private:
  struct Answered {
    AnswerBody body;
    UtcMillis as_of;
  };
  using CallResult = tl::expected<Answered, ApiFault>;
  CallResult call(const ApiRequest& request, CallPurpose purpose);
  void change_governor(const std::function<void(CallGovernor&)>& action);
  void check_permit(CallPurpose purpose);
  void note_answer(const tl::expected<ApiResponse, ApiFault>& answer);
  void check_status(const AnswerBody& body, Operation operation, CallPurpose purpose);
  [[noreturn]] void stop(const ApiFault& fault);
  CompositeAnswer composite_answer(Answered answered, Operation operation, CallPurpose purpose);
  CompositeAnswer answer_alone(Answered answered, const PartRequest& part, CallPurpose purpose);
  ApiRequest composite_request(std::string body, std::size_t rows) const;

  ApiClient& client_;
  const std::string api_version_;
  const Clock clock_;
  const GovernorStorage storage_;
  WriteGate* gate_ = nullptr;
  mutable std::mutex mutex_;
  CallGovernor governor_;  // guarded by mutex_
};

/// The org does not have a field or an object that a call names, or does not show it to the user.
class FieldsDiffer : public giftsync::DependencyPause {
 public:
  using DependencyPause::DependencyPause;
};

/// Throws giftsync::DependencyError when the answer does not have the part.
const CompositePart& require_part(std::span<const CompositePart> parts, std::string_view reference);

// The update of one record that the org refuses with HTTP 412 when the record was changed
// after it was read. The org compares whole seconds: an edit in the second of the one that was read is not
// seen. Pure; any thread.

/// Between an edit and its reading at least.
inline constexpr std::int64_t kQuietMillis = 2 * kSecondMillis;
inline constexpr int kPreconditionFailed = 412;  ///< of HTTP

struct UnmodifiedPatch {
  std::string_view api_version;
  std::string object;         ///< API name
  std::string id;             ///< of the record
  std::string last_modified;  ///< as it came with the record
  std::string reference;      ///< of the part
  std::string body;           ///< JSON without an Id
};
PartRequest unmodified_part(const UnmodifiedPatch& patch);

}  // namespace giftsync::salesforce
