-- What wrk sends, and what it says at the end: one line of JSON. Status 4xx and 5xx count as errors, or a peer that
-- refuses everything would win.
local file = assert(io.open(os.getenv("BODY_FILE"), "rb"))
wrk.method = "POST"
wrk.body = file:read("*a")
file:close()

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.4f,"errors":%d,"p50Ms":%.4f,"p99Ms":%.4f}\n',
    summary.requests, summary.duration / 1e6, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
