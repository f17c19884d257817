// daemon/http: the reply of a handler that asks the group-commit writer for a write: no thread waits for the
// commit (ARCH-25).
#pragma once

#include <functional>
#include <utility>

#include "daemon/http/reply.h"
#include "sync/urgent_writer.h"

namespace giftsync::daemon::http {

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

}  // namespace giftsync::daemon::http
