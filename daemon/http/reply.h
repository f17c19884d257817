// daemon/http: what a handler returns: a response, or the promise of one that is made later, so that no
// thread waits meanwhile (ARCH-25).
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/http/http_message.h"
#include "sync/crm/urgent_writer.h"

namespace giftsync::http {

class Reply {
 public:
  /// Makes the response; may throw DependencyError.
  using Finish = std::function<HttpResponse()>;
  /// Takes the `Finish` once and calls it on a thread for handlers. Any thread; does not block or throw.
  using Deliver = std::function<void(Finish)>;
  /// Begins the work and returns. `Deliver` is called exactly once, at once or later.
  using Start = std::function<void(Deliver)>;
  using Change = std::function<HttpResponse(const Finish&)>;

  Reply(HttpResponse response) : response_(std::move(response)) {}  // NOLINT: a response is a reply
  /// What the functions refer to must live until the response is made; they are destroyed before it is sent.
  static Reply later(Start start) { return Reply(std::move(start)); }

  /// The reply whose response `change` makes of this one's; at once when this one is there.
  Reply changed(Change change) && {
    if (response_) return change([this] { return std::move(*response_); });
    return later([start = std::move(start_), change = std::move(change)](Deliver deliver) mutable {
      start([deliver = std::move(deliver), change = std::move(change)](Finish finish) mutable {
        deliver([finish = std::move(finish), change = std::move(change)] { return change(finish); });
      });
    });
  }

  /// Null: call start().
  HttpResponse* response() { return response_ ? &*response_ : nullptr; }
  void start(Deliver deliver) && { std::exchange(start_, nullptr)(std::move(deliver)); }
  /// Waits for the response and makes it on this thread; for callers without a server.
  HttpResponse wait() && {
    if (response_) return std::move(*response_);
    const auto finish = std::make_shared<std::promise<Finish>>();
    auto made = finish->get_future();
    std::move(*this).start([finish](Finish made_later) { finish->set_value(std::move(made_later)); });
    return made.get()();
  }

 private:
  explicit Reply(Start start) : start_(std::move(start)) {}

  std::optional<HttpResponse> response_;
  Start start_;
};

// The reply of a handler that asks the group-commit writer for a write: no thread waits for the
// commit (ARCH-25).

/// The response that `respond` makes of the outcome, or `refuse` when too many writes are waiting. What they
/// hold is released before the response is sent. A fault of the writer is thrown when the response is made.
template <class Outcome, class Write>
Reply reply_when_written(sync::UrgentWriter& writer, Write write,
                         std::function<HttpResponse(Outcome)> respond, std::function<HttpResponse()> refuse) {
  // Each step passes on what it holds, so that nothing is left behind on the writer's thread.
  return Reply::later([&writer, write = std::move(write), respond = std::move(respond),
                       refuse = std::move(refuse)](const Reply::Deliver& deliver) mutable {
    auto done = [deliver, respond = std::move(respond)](sync::Written<Outcome> written) mutable {
      deliver([respond = std::move(respond), written = std::move(written)]() mutable {
        return respond(std::move(written).value());
      });
    };
    if (!writer.submit(std::move(write), std::move(done))) deliver(std::move(refuse));
  });
}

}  // namespace giftsync::http
