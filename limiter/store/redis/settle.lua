-- Takes back, once, what a call charged its quotas. A call that was not charged
-- is marked, so that it is refused if it should still arrive.
--
-- The functions of quota.lua and refund.lua stand before this text.
--
-- KEYS   for each quota that the call charges: row, marker
--        calls    hash, raw request ID -> "1" a call that was charged, "0" one
--                 that was taken back and may not be; see decide.lua
-- ARGV   1 request  raw 16-byte ID
--        2 charged  1 if the caller knows that it was; then the hash may be one
--                   of another time than the call's
--        3 how many quotas, and for each: cost, and the row's arguments
-- Reply  integers: status (1 allowed, 4 wrong reign, 5 wrong split: nothing was
--        done), now in microseconds since 1970; after 1: whether units went back
--        (1 or 0), and for each quota how the row stands; see row_reply

local calls, request, quotas = KEYS[#KEYS], ARGV[1], tonumber(ARGV[3])
local calls_life = 90000 -- milliseconds from a hash's first call
local time = redis.call('TIME') -- moves within a script: read once
local now = time[1] * 1000000 + time[2]

-- The period may have ended meanwhile: the row outlives it.
for i = 1, quotas do
  local refused = row_refused(KEYS[2 * i], 5 + (i - 1) * (1 + row_args), now)
  if refused and refused ~= wrong_period then return {refused, now} end
end

local known = redis.call('HGET', calls, request)
local back = known == '1' or not known and ARGV[2] == '1'
redis.call('HSET', calls, request, 0)
if redis.call('HLEN', calls) == 1 then redis.call('PEXPIRE', calls, calls_life) end

local reply, out = {allowed, now, back and 1 or 0}, 4
for i = 1, quotas do
  local arg = 4 + (i - 1) * (1 + row_args)
  local row = row_read(KEYS[2 * i - 1], arg + 1)
  if back then row_return(row, tonumber(ARGV[arg])) end
  row_write(row)
  out = row_reply(row, reply, out)
end
return reply
