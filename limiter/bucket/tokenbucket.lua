-- Token bucket: the functions of take.go, for a bucket that is a field of a hash.
--
-- KEYS   group   hash of many buckets: field = the raw 16-byte ID, value = the
--                state, "FullAtUs" or "FullAtUs:Spare". Every value begins with
--                the instant after which it equals a full bucket, so that any
--                script may drop any ended field, whatever its rate.
-- ARGV   id, and the rate: tick (microseconds), refill (units a tick),
--                capacity (units), ticks (to fill an empty bucket)
--        need    units asked; more than capacity never fits; 0 always does
-- Units  now and full_at are microseconds since 1970. Every number is an
--        integer below 2^53, so every sum and product here is exact; quotients
--        are taken with fmod, because a/b may round up to the next integer.

local fmod = math.fmod

local function ceil_div(a, b)
  local rest = fmod(a, b)
  if rest == 0 then return a / b end
  return (a - rest) / b + 1
end

-- Returns full_at, spare, and whether a clock that stepped back left the state
-- further ahead than any take could have: it then counts as empty from now.
local function bucket_read(group, id, now, tick, refill, capacity, ticks)
  local value = redis.call('HGET', group, id)
  if not value then return 0, 0, false end
  local full_at, spare = tonumber(value), 0
  if not full_at then
    local a, b = string.match(value, '^(%d+):(%d+)$')
    full_at, spare = tonumber(a), tonumber(b)
    if spare >= refill then spare = 0 end
  end
  if full_at > now and ceil_div(full_at - now, tick) > ticks + 1 then
    return now + ticks * tick, ticks * refill - capacity, true
  end
  return full_at, spare, false
end

-- Returns whether need units are there.
local function bucket_fits(full_at, spare, now, tick, refill, capacity, need)
  if need == 0 then return true end
  local missing = 0
  if full_at > now then
    missing = ceil_div(full_at - now, tick) * refill - spare
    if missing > capacity then missing = capacity end
  end
  return missing + need <= capacity
end

-- Returns full_at and spare once need units, which are there, are taken.
local function bucket_charge(full_at, spare, now, tick, refill, need)
  local from, missing = now, 0
  if full_at > now then
    local rest = fmod(full_at - now, tick)
    from = now + rest
    missing = (full_at - from) / tick * refill - spare
    if missing < 0 then missing = 0 end
  end
  missing = missing + need
  local ticks = ceil_div(missing, refill)
  return from + ticks * tick, ticks * refill - missing
end

-- The group lives to the end of the ten seconds in which its last bucket is
-- full, so that most writes need not move its expiry.
local expiry_step = 10000000

-- Writes a state in place of one that was full at before (0: there was none).
-- A new field pays for looking at three others and dropping those that ended.
local function bucket_write(group, id, now, before, full_at, spare)
  local value = full_at
  if spare > 0 then value = string.format('%.0f:%.0f', full_at, spare) end
  local added = redis.call('HSET', group, id, value)
  local expiry = ceil_div(full_at, expiry_step)
  local first = added == 1 and redis.call('HLEN', group) == 1
  if first then
    redis.call('PEXPIREAT', group, expiry * expiry_step / 1000)
  elseif added == 1 or expiry > ceil_div(before, expiry_step) then
    redis.call('PEXPIREAT', group, expiry * expiry_step / 1000, 'GT')
  end
  if added == 1 and not first then
    local some = redis.call('HRANDFIELD', group, 3, 'WITHVALUES')
    for i = 1, #some, 2 do
      if tonumber(string.match(some[i + 1], '^%d+')) <= now then redis.call('HDEL', group, some[i]) end
    end
  end
end
