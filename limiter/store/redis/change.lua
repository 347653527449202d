-- Makes one change to a quota row that is no take.
--
-- The functions of quota.lua, give.lua, refund.lua and lease.lua stand before
-- this text, and their headers say what the arguments mean.
--
-- KEYS   row, marker, leases, refunded
-- ARGV   1 kind     1 give, 2 refund, 3 grant, 4 take a lease, 5 return one, 6
--                   open: write the entry of a row that nothing was taken of
--        2 units    give: to that region in all; else how many
--        3 keep     give: the rights that must remain
--        4 request  raw 16-byte ID of the lease or receipt; may be empty
--        5 to       the region given to, or the node that holds the lease
--        and the row's arguments
-- Reply  integers: status (1 allowed, 3 wrong period, 4 wrong reign, 5 wrong
--        split), now in microseconds since 1970; after 1: how many units moved,
--        and how the row stands; see row_reply

local kind, units, keep, request, to = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local time = redis.call('TIME') -- moves within a script: read once
local now = time[1] * 1000000 + time[2]
local refused = row_refused(KEYS[2], 6, now)
if refused then return {refused, now} end

local row, moved = row_read(KEYS[1], 6), 0
if kind == 1 then
  moved = row_give(row, to, units, keep)
elseif kind == 2 then
  moved = row_refund(row, KEYS[4], request, units)
elseif kind == 3 then
  moved = row_grant(row, units)
elseif kind == 4 then
  moved = row_take_lease(row, KEYS[3], to, request, units, now)
elseif kind == 5 then
  moved = row_return_lease(row, KEYS[3], to, request, units)
else
  row_open(row)
end
row_write(row)
local reply = {allowed, now, moved}
row_reply(row, reply, 4)
return reply
