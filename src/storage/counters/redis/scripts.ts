/**
 * The scripts that Redis runs in one step. Times are microseconds of the server's own clock, which all processes share.
 * ARGV begins with now (empty: the server's time), span, lease.
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
`

/**
 * Everything of one turn of a process: the use of tickets, then peeks and takes. Each takes everything or nothing, in
 * this order.
 *
 * A window is a sorted set of `TICKET:AMOUNT` by stamp, with the sum of its amounts. Slots are a sorted set of tickets
 * by the end of their lease. All of them expire. A clock that was set back leaves stamps in the future; they are
 * dropped before a request is refused for them.
 *
 * KEYS: the windows, their sums, the slots, each once. ARGV[4] and [5]: how many windows, how many tickets are settled.
 * Then for each ticket that is settled its name, how many demands, and for each its counter, what was taken and what
 * was used; for each call `peek` or `take`, its name, how many demands, and for each its counter, limit, amount and
 * whether it is a shadow. Counters are counted from 1, windows upward and slots downward.
 *
 * Returns for each call whether it was taken, then for each demand what remains, its wait and its reset. A ticket that
 * was taken already is not taken again: a process that lost the answer may call again.
 */
export const turnScript = `${prelude}
local windowCount, settleCount = tonumber(ARGV[4]), tonumber(ARGV[5])
local sums = windowCount > 0 and redis.call('MGET', unpack(KEYS, windowCount + 1, 2 * windowCount))
local counters = {}

local function sumOf(members)
  local sum = 0
  for _, member in ipairs(members) do sum = sum + tonumber(string.match(member, ':(%d+)$')) end
  return sum
end

-- What is in a window without what has left it.
local function windowAt(index)
  local key = KEYS[index]
  local counter = { key = key, sumKey = KEYS[windowCount + index], isWindow = true, added = {} }
  local left = redis.call('ZRANGEBYSCORE', key, '-inf', text(now - span))
  if #left > 0 then redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now - span)) end
  local known = tonumber(sums[index])
  if known == nil then
    counter.used = sumOf(redis.call('ZRANGE', key, 0, -1))
    counter.isChanged = counter.used > 0
  else
    counter.used = known - sumOf(left)
    counter.isChanged = #left > 0
  end
  return counter
end

local function placesAt(index)
  local key = KEYS[2 * windowCount - index]
  return { key = key, used = redis.call('ZCOUNT', key, '(' .. text(now), text(now + lease + second)), added = {} }
end

local function counterAt(index)
  local counter = counters[index]
  if not counter then
    counter = index > 0 and windowAt(index) or placesAt(index)
    counters[index] = counter
  end
  return counter
end

-- Whoever reads members has to write first.
local function write(counter)
  if #counter.added == 0 then return end
  redis.call('ZADD', counter.key, unpack(counter.added))
  counter.added = {}
end

local function addedAt(counter) return text(counter.isWindow and now or now + lease) end

-- Before somebody is refused: what stands in the future, and a sum of which nothing is there any more.
local function recount(counter)
  if not counter.isWindow or counter.isRecounted then return end
  write(counter)
  counter.isRecounted = true
  local ahead = redis.call('ZRANGEBYSCORE', counter.key, '(' .. text(now + second), '+inf')
  if #ahead > 0 then
    redis.call('ZREMRANGEBYSCORE', counter.key, '(' .. text(now + second), '+inf')
    counter.used = counter.used - sumOf(ahead)
    counter.isChanged = true
  end
  if counter.used ~= 0 and redis.call('ZCARD', counter.key) == 0 then
    counter.used = 0
    counter.isChanged = true
  end
end

local function waitOf(counter, limit, amount)
  if amount == 0 or counter.used + amount <= limit then return 0 end
  if not counter.isWindow then return second end
  recount(counter)
  local tooMuch = counter.used + amount - limit
  if tooMuch <= 0 then return 0 end
  if amount > limit then return span end
  write(counter)
  local from = 0
  while true do
    local part = redis.call('ZRANGE', counter.key, from, from + 99, 'WITHSCORES')
    if #part == 0 then return span end
    for i = 1, #part, 2 do
      tooMuch = tooMuch - sumOf({ part[i] })
      if tooMuch <= 0 then return tonumber(part[i + 1]) + span - now end
    end
    from = from + 100
  end
end

local function resetOf(counter)
  if not counter.isWindow or counter.used == 0 then return 0 end
  if #counter.added > 0 then return span end
  local newest = redis.call('ZRANGE', counter.key, -1, -1, 'WITHSCORES')
  return newest[2] and tonumber(newest[2]) + span - now or 0
end

local function settle(index, ticket, taken, amount)
  local counter = counterAt(index)
  local before, after = ticket .. ':' .. text(taken), ticket .. ':' .. text(amount)
  local stamp = redis.call('ZSCORE', counter.key, before)
  local more = amount - taken
  if stamp then
    redis.call('ZREM', counter.key, before)
    if amount > 0 then redis.call('ZADD', counter.key, stamp, after) end
  elseif more > 0 and not redis.call('ZSCORE', counter.key, after) then
    -- What was taken has left the window by itself; what was used beyond it has been counted nowhere.
    more = more * redis.call('ZADD', counter.key, text(now), ticket .. '+:' .. text(more))
  else
    more = 0
  end
  if more ~= 0 then
    counter.used = counter.used + more
    counter.isChanged = true
  end
end

local at = 6
local ended = {}
for _ = 1, settleCount do
  local ticket, count = ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  for _ = 1, count do
    local index, taken, amount = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    if index < 0 then
      ended[index] = ended[index] or {}
      table.insert(ended[index], ticket)
    elseif taken ~= amount then
      settle(index, ticket, taken, amount)
    end
    at = at + 3
  end
end
for index, tickets in pairs(ended) do redis.call('ZREM', KEYS[2 * windowCount - index], unpack(tickets)) end

local reply = {}
while at <= #ARGV do
  local isTake, ticket, count = ARGV[at] == 'take', ARGV[at + 1], tonumber(ARGV[at + 2])
  at = at + 3
  local demands, isFull, first = {}, false, nil
  for i = 1, count do
    local demand = { counter = counterAt(tonumber(ARGV[at])), limit = tonumber(ARGV[at + 1]), amount = tonumber(ARGV[at + 2]) }
    demand.member = demand.counter.isWindow and ticket .. ':' .. text(demand.amount) or ticket
    if not isTake then recount(demand.counter) end
    demand.wait = waitOf(demand.counter, demand.limit, demand.amount)
    if demand.wait > 0 and ARGV[at + 3] == '0' then isFull = true end
    if demand.amount > 0 and not first then first = demand end
    demands[i] = demand
    at = at + 4
  end
  -- The first of what it takes says whether it was taken before: all of it was then.
  local takes, isAgain = isTake and not isFull, false
  if isTake and first then
    local counter = first.counter
    if isFull then
      write(counter)
      isAgain = redis.call('ZSCORE', counter.key, first.member) ~= false
    else
      isAgain = redis.call('ZADD', counter.key, 'NX', addedAt(counter), first.member) == 0
    end
  end
  reply[#reply + 1] = (takes or isAgain) and 1 or 0
  for _, demand in ipairs(demands) do
    local counter = demand.counter
    local reset
    if takes and not isAgain and demand.amount > 0 then
      counter.used = counter.used + demand.amount
      counter.isChanged = true
      if demand ~= first then
        counter.added[#counter.added + 1] = addedAt(counter)
        counter.added[#counter.added + 1] = demand.member
      end
      reset = counter.isWindow and span or 0
    else
      reset = resetOf(counter)
    end
    reply[#reply + 1] = math.max(0, demand.limit - counter.used)
    reply[#reply + 1] = isAgain and 0 or demand.wait
    reply[#reply + 1] = reset
  end
end

for _, counter in pairs(counters) do
  write(counter)
  if counter.isChanged and not counter.isWindow then
    redis.call('PEXPIRE', counter.key, text(lease / 1000))
  elseif counter.isChanged and counter.used == 0 then
    redis.call('DEL', counter.sumKey)
  elseif counter.isChanged then
    -- The sum first: it may not outlive what it is the sum of.
    redis.call('SET', counter.sumKey, text(counter.used), 'PX', text(span / 1000))
    redis.call('PEXPIRE', counter.key, text(span / 1000))
  end
end
return reply
`

/**
 * Renews the leases of tickets. KEYS: the slots, each with a key that is not used. ARGV: the ticket of each. Adds before
 * it removes: a server without free memory refuses a script only before the first write.
 */
export const renewScript = `${prelude}
for i = 1, #KEYS / 2 do
  local key = KEYS[2 * i - 1]
  redis.call('ZADD', key, text(now + lease), ARGV[3 + i])
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now))
  redis.call('ZREMRANGEBYSCORE', key, '(' .. text(now + lease + second), '+inf')
  redis.call('PEXPIRE', key, text(lease / 1000))
end
return 1
`

/**
 * Removes counters that are not in the form of the scripts above, which fail on them. KEYS: as for the turn. ARGV: how
 * many of them are windows. Returns the removed keys.
 */
export const repairScript = `
local windowCount = tonumber(ARGV[1])
local removed = {}
for i, key in ipairs(KEYS) do
  local found = redis.call('TYPE', key).ok
  local isSum = i > windowCount and i <= 2 * windowCount
  local isRight = found == 'none' or found == (isSum and 'string' or 'zset')
  if found == 'zset' and i <= windowCount then
    for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      if not string.match(member, ':%d+$') then isRight = false end
    end
  end
  if not isRight then
    redis.call('DEL', key)
    removed[#removed + 1] = key
  end
end
return removed
`
