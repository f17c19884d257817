// Requests are the same in whatever pieces their bytes arrive.
#include <algorithm>
#include <limits>
#include <vector>

#include "daemon/http/request_parser.h"
#include "platform/text.h"
#include "tests/fuzz/fuzz.h"

namespace giftsync::fuzz {
namespace {

using http::HttpRequest;
using http::RequestFraming;
using Stage = RequestFraming::Stage;

struct Conversation {
  std::vector<HttpRequest> requests;
  Stage last = Stage::head;
};

Conversation read(std::string_view bytes, std::size_t piece) {
  RequestFraming framing(std::numeric_limits<std::size_t>::max());
  framing.set_body_limit([](const HttpRequest&) { return std::size_t{1000}; });
  Conversation all;
  std::size_t at = 0;
  for (std::size_t end = std::min(piece, bytes.size());; end = std::min(end + piece, bytes.size())) {
    for (std::size_t used = 1; used > 0;) {
      used = framing.feed(bytes.substr(at, end - at));
      require(used <= end - at, "no more bytes are used than there are");
      at += used;
      if (framing.stage() != Stage::complete) continue;
      all.requests.push_back(framing.request());
      framing.reset();
      used = 1;
    }
    all.last = framing.stage();
    if (end == bytes.size() || all.last == Stage::invalid || all.last == Stage::too_large) return all;
  }
}

void check_request(const HttpRequest& request) {
  require(request.path.starts_with('/') && is_storable_text(request.path), "a path is text", request.path);
  require(request.body.size() <= 1000, "a body is as long as allowed");
  require(request.header("Host").has_value() || request.headers.count("Host") == 0, "a request has one Host");
  require(request.headers.count("Content-Length") <= 1, "a request has one length");
}

bool is_same(const HttpRequest& a, const HttpRequest& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.headers == b.headers &&
         a.body == b.body;
}

}  // namespace
}  // namespace giftsync::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace giftsync::fuzz;
  const std::string text = text_of(bytes, size);
  const Conversation whole = read(text, text.size());
  for (const HttpRequest& request : whole.requests) check_request(request);
  for (const std::size_t piece : {1, 7}) {
    const Conversation pieces = read(text, piece);
    require(pieces.last == whole.last, "pieces end as the whole");
    require(std::equal(pieces.requests.begin(), pieces.requests.end(), whole.requests.begin(),
                       whole.requests.end(), is_same),
            "pieces are the same requests as the whole");
  }
  return 0;
}
