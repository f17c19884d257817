-- wrk: POST /api/v1/gift_requests for one recipient, a different one each time, also in later calls of wrk: a repeat within a
-- minute is warned of, and its address has a gift already. The texts and the key come from the environment of scripts/bench;
-- the last line of the output is one line of JSON. With BENCH_KEYS, a number, each request has an
-- Idempotency-Key of its own: random ones, which differ between calls of wrk with different numbers.

local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

local function quoted(name)
  return '"' .. os.getenv(name):gsub('[\\"]', "\\%0") .. '"'
end

-- Prepares all requests in advance: the client shares the processors with the daemon that it measures.
local kRequests = 60000
local kKeyPlace = "the-key"

function init()
  wrk.method = "POST"
  wrk.headers["Authorization"] = os.getenv("BENCH_KEY")
  wrk.headers["Content-Type"] = "application/json"
  seed = tonumber(os.getenv("BENCH_KEYS") or "")
  if seed then
    math.randomseed(seed * 16 + number)
    wrk.headers["Idempotency-Key"] = kKeyPlace
  end
  local tail = '@example.com","first_name":' .. quoted("BENCH_FIRST_NAME") .. ',"last_name":' ..
    quoted("BENCH_LAST_NAME") .. ',"message":' .. quoted("BENCH_MESSAGE") .. ',"gift_redeem_type":"email"}]}'
  local recipient = '{"gift_id":101,"recipients":[{"email":"recipient-' .. os.time() .. "-" .. number .. "-"
  requests = {}
  for i = 1, kRequests do
    requests[i] = wrk.format(nil, nil, nil, recipient .. i .. tail)
  end
  if seed then split_at_keys() end
  count = 0
  local total = tonumber(os.getenv("BENCH_REQUESTS") or "")
  if total then stop_after(math.ceil(total / 2)) end
end

-- With BENCH_REQUESTS the two threads stop after so many answers, half each; at most the requests in flight are added.
function stop_after(answers)
  local left = answers
  response = function()
    left = left - 1
    if left <= 0 then wrk.thread:stop() end
  end
end

function request()
  count = count % kRequests + 1
  return requests[count]
end

function split_at_keys()
  heads, tails = {}, {}
  for i, text in ipairs(requests) do
    local first, last = text:find(kKeyPlace, 1, true)
    heads[i], tails[i] = text:sub(1, first - 1), text:sub(last + 1)
  end
  request = request_with_key
end

local function random_key()
  local part = function() return math.random(0, 0x7fffffff) end
  return string.format("%08x%08x%08x%08x", part(), part(), part(), part())
end

function request_with_key()
  count = count % kRequests + 1
  return heads[count] .. random_key() .. tails[count]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests_per_second": %.0f, "requests": %d, "faults": %d, "p50_millis": %.1f, "p99_millis": %.1f}\n',
    summary.requests / summary.duration * 1e6, summary.requests,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
