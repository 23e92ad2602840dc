/**
 * What Redis does in one step. Times are microseconds of the server's own clock, which all processes share; a clock that
 * was set back leaves stamps in the future, which are dropped rather than waited for.
 *
 * A window is a sorted set of `TICKET:AMOUNT` by stamp, and beside it the sum of its amounts. Places are a sorted set of
 * tickets by the end of their lease. Two keys for each demand, `KEYS[2i-1]` and `KEYS[2i]`; all of them expire.
 * ARGV: now (empty: the server's time), span, lease, then what the script itself says.
 */
const prelude = `
local function text(n) return string.format('%.0f', n) end
local now = tonumber(ARGV[1])
if now == nil then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local span, lease = tonumber(ARGV[2]), tonumber(ARGV[3])
local second = 1000000
local function amountOf(member) return tonumber(string.match(member, ':(%d+)$')) end

local function sumOf(members)
  local sum = 0
  for _, member in ipairs(members) do sum = sum + amountOf(member) end
  return sum
end

local function keep(key, sumKey, sum)
  redis.call('SET', sumKey, text(sum), 'PX', text(span / 1000))
  redis.call('PEXPIRE', key, text(span / 1000))
end

-- Forgets what has left the window; returns the sum of what is in it.
local function used(key, sumKey)
  local left = redis.call('ZRANGEBYSCORE', key, '-inf', text(now - span))
  local ahead = redis.call('ZRANGEBYSCORE', key, '(' .. text(now + second), '+inf')
  if #left > 0 then redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now - span)) end
  if #ahead > 0 then redis.call('ZREMRANGEBYSCORE', key, '(' .. text(now + second), '+inf') end
  if redis.call('ZCARD', key) == 0 then
    redis.call('DEL', sumKey)
    return 0
  end
  local known = tonumber(redis.call('GET', sumKey))
  if known == nil then return sumOf(redis.call('ZRANGE', key, 0, -1)) end
  if #left == 0 and #ahead == 0 then return known end
  local sum = known - sumOf(left) - sumOf(ahead)
  keep(key, sumKey, sum)
  return sum
end

local function placesTaken(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now))
  redis.call('ZREMRANGEBYSCORE', key, '(' .. text(now + lease + second), '+inf')
  return redis.call('ZCARD', key)
end
`

/**
 * Peeks or takes. ARGV: `peek` or `take`, the ticket, then of each demand its kind, limit, amount and whether it is a
 * shadow. Returns whether it was taken, then of each demand what remains, its wait and its reset. A ticket that was taken
 * already is not taken again: who lost the answer may ask again.
 */
export const askScript = `${prelude}
local isTake, ticket = ARGV[4] == 'take', ARGV[5]
local demands, isFull, isAgain = {}, false, false

local function waitOf(key, sum, limit, amount)
  local tooMuch = sum + amount - limit
  if tooMuch <= 0 or amount == 0 then return 0 end
  if amount > limit then return span end
  local from = 0
  while true do
    local part = redis.call('ZRANGE', key, from, from + 99, 'WITHSCORES')
    if #part == 0 then return span end
    for i = 1, #part, 2 do
      tooMuch = tooMuch - amountOf(part[i])
      if tooMuch <= 0 then return tonumber(part[i + 1]) + span - now end
    end
    from = from + 100
  end
end

for i = 1, #KEYS / 2 do
  local at = 6 + (i - 1) * 4
  local demand = {
    key = KEYS[2 * i - 1], sumKey = KEYS[2 * i], isWindow = ARGV[at] == 'window',
    limit = tonumber(ARGV[at + 1]), amount = tonumber(ARGV[at + 2]),
  }
  local member = ticket
  if demand.isWindow then
    member = ticket .. ':' .. text(demand.amount)
    demand.used = used(demand.key, demand.sumKey)
    demand.wait = waitOf(demand.key, demand.used, demand.limit, demand.amount)
  else
    demand.used = placesTaken(demand.key)
    demand.wait = 0
    if demand.used + demand.amount > demand.limit then demand.wait = second end
  end
  demand.member = member
  if demand.wait > 0 and ARGV[at + 3] == '0' then isFull = true end
  if isTake and demand.amount > 0 and redis.call('ZSCORE', demand.key, member) then isAgain = true end
  demands[i] = demand
end

local takes = isTake and not isFull and not isAgain
local reply = { (takes or isAgain) and 1 or 0 }
for _, demand in ipairs(demands) do
  if takes and demand.amount > 0 then
    demand.used = demand.used + demand.amount
    if demand.isWindow then
      redis.call('ZADD', demand.key, text(now), demand.member)
    else
      redis.call('ZADD', demand.key, text(now + lease), demand.member)
      redis.call('PEXPIRE', demand.key, text(lease / 1000))
    end
  end
  local reset = 0
  if demand.isWindow and demand.used > 0 then
    keep(demand.key, demand.sumKey, demand.used)
    local newest = redis.call('ZRANGE', demand.key, -1, -1, 'WITHSCORES')
    if newest[2] then reset = tonumber(newest[2]) + span - now end
  end
  reply[#reply + 1] = math.max(0, demand.limit - demand.used)
  reply[#reply + 1] = isAgain and 0 or demand.wait
  reply[#reply + 1] = reset
end
return reply
`

/** Settles a ticket. ARGV: the ticket, then of each demand its kind, what was taken and what was used. */
export const settleScript = `${prelude}
local ticket = ARGV[4]
for i = 1, #KEYS / 2 do
  local key, sumKey = KEYS[2 * i - 1], KEYS[2 * i]
  local at = 5 + (i - 1) * 3
  local taken, amount = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  if ARGV[at] == 'places' then
    redis.call('ZREM', key, ticket)
  elseif taken ~= amount then
    local sum = used(key, sumKey)
    local stamp = redis.call('ZSCORE', key, ticket .. ':' .. text(taken))
    if stamp then
      redis.call('ZREM', key, ticket .. ':' .. text(taken))
      if amount > 0 then redis.call('ZADD', key, stamp, ticket .. ':' .. text(amount)) end
      keep(key, sumKey, sum + amount - taken)
    elseif amount > taken and not redis.call('ZSCORE', key, ticket .. ':' .. text(amount)) then
      -- What was taken has left the window by itself; what was used beyond it has been counted nowhere.
      local added = redis.call('ZADD', key, text(now), ticket .. '+:' .. text(amount - taken))
      keep(key, sumKey, sum + added * (amount - taken))
    end
  end
end
return 1
`

/** Says that tickets still hold their places. ARGV: the ticket of each demand. */
export const renewScript = `${prelude}
for i = 1, #KEYS / 2 do
  redis.call('ZADD', KEYS[2 * i - 1], text(now + lease), ARGV[3 + i])
  redis.call('PEXPIRE', KEYS[2 * i - 1], text(lease / 1000))
end
return 1
`
