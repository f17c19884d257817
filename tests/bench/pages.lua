-- wrk: GET of the paths in the file BENCH_PATHS, one after the other; each thread begins at another one. The last line of the
-- output is one line of JSON.

local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init()
  requests = {}
  for path in io.lines(os.getenv("BENCH_PATHS")) do requests[#requests + 1] = wrk.format("GET", path) end
  at = math.floor(#requests / 2) * (number - 1)
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests_per_second": %.0f, "requests": %d, "faults": %d, "p50_millis": %.1f, "p99_millis": %.1f}\n',
    summary.requests / summary.duration * 1e6, summary.requests,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
