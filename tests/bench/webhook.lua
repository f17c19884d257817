-- wrk: POST /api/v1/webhooks/status_changes/vendor with BENCH_CHANGES signed changes a message, of other gifts and at other
-- times each. The last line of the output is one line of JSON.

local ffi = require("ffi")
ffi.cdef [[
  const void *EVP_sha256(void);
  unsigned char *HMAC(const void *md, const void *key, int key_len, const char *d, size_t n, unsigned char *out,
                      unsigned int *out_len);
]]
local crypto = ffi.load("libcrypto.so.3")
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

local digest = ffi.new("unsigned char[32]")
local function signature(body)
  local key = os.getenv("BENCH_SECRET")
  crypto.HMAC(crypto.EVP_sha256(), key, #key, body, #body, digest, nil)
  return (ffi.string(digest, 32):gsub(".", function(c) return string.format("%02x", c:byte()) end))
end

function init()
  changes = tonumber(os.getenv("BENCH_CHANGES"))
  gifts = tonumber(os.getenv("BENCH_GIFTS"))
  -- Threads and processes (BENCH_PROCESS) report different changes.
  next_change = (tonumber(os.getenv("BENCH_PROCESS") or "0") * 16 + number) * 50000000
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  local items = {}
  for i = 1, changes do
    next_change = next_change + 1
    items[i] = string.format('{"id":%d,"what":"opened","at":"%s.%03dZ"}', next_change * 7919 % gifts + 1,
      os.date("!%Y-%m-%dT%H:%M:%S", 1767225600 + math.floor(next_change / 1000)), next_change % 1000)
  end
  local body = changes == 1 and items[1] or "[" .. table.concat(items, ",") .. "]"
  wrk.headers["X-Signature"] = signature(body)
  return wrk.format(nil, nil, nil, body)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"messages_per_second": %.0f, "messages": %d, "faults": %d, "p50_millis": %.1f, "p99_millis": %.1f, ' ..
    '"worst_millis": %.1f}\n',
    summary.requests / summary.duration * 1e6, summary.requests,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
