-- What wrk sends, and what it says at the end: one line of JSON. Status 4xx and 5xx count as errors, or a peer that
-- refuses everything would win.
wrk.method = "POST"

local function lines(name)
  local all = {}
  for line in io.lines(name) do all[#all + 1] = line end
  return all
end

local keysFile = os.getenv("KEYS_FILE")
if keysFile then
  local keys, bodies = lines(keysFile), lines(os.getenv("BODY_FILE"))
  -- Another run asks for others, or all would be at hand from the run before.
  math.randomseed(os.time())
  request = function()
    wrk.headers["Authorization"] = "Bearer " .. keys[math.random(#keys)]
    return wrk.format(nil, nil, nil, bodies[math.random(#bodies)])
  end
else
  local file = assert(io.open(os.getenv("BODY_FILE"), "rb"))
  wrk.body = file:read("*a")
  file:close()
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.4f,"errors":%d,"p50Ms":%.4f,"p99Ms":%.4f}\n',
    summary.requests, summary.duration / 1e6, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
