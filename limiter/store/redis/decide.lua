-- Decides all takes of one call: all fit and are taken, or nothing is.
--
-- The functions of tokenbucket.lua and quota.lua stand before this text, and
-- their headers say what the arguments mean.
--
-- KEYS   for each bucket: group
--        for each quota: row, marker
-- ARGV   1 how many buckets, 2 how many quotas
--        for each bucket: id, tick, refill, capacity, ticks, need
--        for each quota: reign, start, end, ceiling, cost, expire, name, how
--        many earlier replicas, and for each of them: reign, version, taken,
--        returned
-- Reply  integers: status (1 allowed, 2 denied, 3 wrong period, 4 wrong reign),
--        now in microseconds since 1970; after 1 and 2
--        for each bucket: fits (1 or 0), full_at, spare
--        for each quota: fits, version, taken and returned of this reign, net of
--        all replicas
--        Their states are those after the call.

local allowed, denied, wrong_period, wrong_reign = 1, 2, 3, 4
local buckets, quotas = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME') -- moves within a script: read once
local now = time[1] * 1000000 + time[2]

-- Nobody decides on another reign's data, nor outside the period.
local within = true
local arg = 3 + 6 * buckets
for i = 1, quotas do
  if not reign_is(KEYS[buckets + 2 * i], ARGV[arg]) then return {wrong_reign, now} end
  if now < tonumber(ARGV[arg + 1]) or now >= tonumber(ARGV[arg + 2]) then within = false end
  arg = arg + 8 + 4 * ARGV[arg + 7]
end
if not within then return {wrong_period, now} end

local reply, out = {allowed, now}, 3
local fits = true
local stale -- positions in the reply of buckets whose state had to be settled

for i = 1, buckets do
  local a = 6 * i - 3
  local tick, refill, capacity = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
  local need = tonumber(ARGV[a + 5])
  local full_at, spare, settled = bucket_read(KEYS[i], ARGV[a], now, tick, refill, capacity, tonumber(ARGV[a + 4]))
  local fit = bucket_fits(full_at, spare, now, tick, refill, capacity, need)
  reply[out], reply[out + 1], reply[out + 2] = fit and 1 or 0, full_at, spare
  fits = fits and fit
  if settled and need > 0 then
    stale = stale or {}
    stale[i] = true
  end
  out = out + 3
end

-- What earlier replicas counted is kept whatever is decided.
local rows = {}
arg = 3 + 6 * buckets
for i = 1, quotas do
  local fields, news = row_read(KEYS[buckets + 2 * i - 1]), {}
  for e = arg + 8, arg + 4 + 4 * ARGV[arg + 7], 4 do
    if row_merge(fields, ARGV[e], tonumber(ARGV[e + 1]), tonumber(ARGV[e + 2]), tonumber(ARGV[e + 3])) then
      news[#news + 1] = ARGV[e]
    end
  end
  local version, taken, returned = count_parse(fields[ARGV[arg]])
  local net = row_net(fields)
  local fit = quota_fits(tonumber(ARGV[arg + 3]), net, tonumber(ARGV[arg + 4]))
  reply[out], reply[out + 1], reply[out + 2] = fit and 1 or 0, version, taken
  reply[out + 3], reply[out + 4] = returned, net
  fits = fits and fit
  rows[i] = {arg = arg, out = out, fields = fields, news = news}
  out = out + 5
  arg = arg + 8 + 4 * ARGV[arg + 7]
end

for i = 1, quotas do
  local r = rows[i]
  local row, reign, name, expire = KEYS[buckets + 2 * i - 1], ARGV[r.arg], ARGV[r.arg + 6], ARGV[r.arg + 5]
  for n = 1, #r.news do
    row_write(row, r.fields, r.news[n], r.fields[r.news[n]], name, expire)
  end
  local cost = tonumber(ARGV[r.arg + 4])
  if fits and cost > 0 then
    local version, taken = reply[r.out + 1] + 1, reply[r.out + 2] + cost
    row_write(row, r.fields, reign, count_format(version, taken, reply[r.out + 3]), name, expire)
    reply[r.out + 1], reply[r.out + 2], reply[r.out + 4] = version, taken, reply[r.out + 4] + cost
  end
end

for i = 1, buckets do
  local a, o = 6 * i - 3, 3 * i
  local need = tonumber(ARGV[a + 5])
  if fits and need > 0 then
    local before = reply[o + 1]
    local full_at, spare = bucket_charge(before, reply[o + 2], now, tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), need)
    bucket_write(KEYS[i], ARGV[a], now, before, full_at, spare)
    reply[o + 1], reply[o + 2] = full_at, spare
  elseif stale and stale[i] then
    bucket_write(KEYS[i], ARGV[a], now, reply[o + 1], reply[o + 1], reply[o + 2])
  end
end

if not fits then reply[1] = denied end
return reply
