-- Decides all takes of one call: all fit and are taken, or nothing is.
--
-- The functions of tokenbucket.lua and quota.lua stand before this text, and
-- their headers say what the arguments mean.
--
-- KEYS   for each bucket: group
--        for each quota: row, marker
--        calls    only if request is not empty: hash, raw request ID -> "1" a call
--                 that was charged, "0" one that was taken back and may not be
-- ARGV   1 how many buckets, 2 how many quotas
--        3 request  the call's raw 16-byte ID, or empty: it cannot be taken back
--        for each bucket: id, tick, refill, capacity, ticks, need
--        for each quota: cost, mark (1: a refusal is noted again), and the row's
-- Reply  integers: status (1 allowed, 2 denied, 3 wrong period, 4 wrong reign, 5
--        wrong split, 6 cancelled), now in microseconds since 1970; after 1 and 2
--        for each bucket: fits (1 or 0), full_at, spare
--        for each quota: outcome (1 fits, 2 exhausted, 3 no rights), and how the
--        row stands; see row_reply
--        Their states are those after the call.

local calls_life = 90000 -- milliseconds from a hash's first call
local buckets, quotas, request = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local time = redis.call('TIME') -- moves within a script: read once
local now = time[1] * 1000000 + time[2]

-- Nobody decides on another reign's data, nor outside the period.
local refused
local arg = 4 + 6 * buckets
for i = 1, quotas do
  local wrong = row_refused(KEYS[buckets + 2 * i], arg + 2, now)
  if wrong and (not refused or wrong > refused) then refused = wrong end
  arg = arg + 2 + row_args + 2 * ARGV[arg + row_args + 1]
end
if refused then return {refused, now} end

local reply, out = {allowed, now}, 3
local fits = true
local stale -- positions in the reply of buckets whose state had to be settled

for i = 1, buckets do
  local a = 6 * i - 2
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

local rows, charges = {}, false
arg = 4 + 6 * buckets
for i = 1, quotas do
  local row, cost = row_read(KEYS[buckets + 2 * i - 1], arg + 2), tonumber(ARGV[arg])
  row.cost, row.mark, row.outcome = cost, ARGV[arg + 1] == '1', row_try(row, cost)
  fits, charges = fits and row.outcome == 1, charges or cost > 0
  rows[i] = row
  arg = arg + 2 + row_args + 2 * ARGV[arg + row_args + 1]
end

-- A call is known for a minute by what it charges. One that was given up must
-- not be charged when it arrives at last.
if fits and charges and request ~= '' then
  local calls = KEYS[#KEYS]
  if redis.call('HSETNX', calls, request, 1) == 0 then return {cancelled, now} end
  if redis.call('HLEN', calls) == 1 then redis.call('PEXPIRE', calls, calls_life) end
end

-- What earlier replicas counted is kept whatever is decided.
for i = 1, quotas do
  local row = rows[i]
  if fits and row.cost > 0 then row_charge(row, row.cost) end
  if row.outcome == 3 then row_refuse(row, row.cost, row.mark) end
  row_write(row)
  reply[out] = row.outcome
  out = row_reply(row, reply, out + 1)
end

for i = 1, buckets do
  local a, o = 6 * i - 2, 3 * i
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
