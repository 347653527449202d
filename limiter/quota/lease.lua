-- Leases of quotas: lease.go. The functions of quota.lua and refund.lua stand
-- before this text.
--
-- KEYS   leases   hash: name of a node -> the lease it holds: the reign, 16 hex
--                 digits; its raw 16-byte ID; "units taken_us". It lives as long
--                 as the row; a check never reads it.

local lease_share = 100 -- a lease is at most one in so many of what is left
local lease_name_wait = 60000000 -- microseconds

-- Returns the ID, the units and the instant of the lease that is out under a
-- name in this reign, or nil.
local function lease_read(row, leases, node)
  local value = redis.call('HGET', leases, node)
  if not value or string.sub(value, 1, 16) ~= row.reign then return nil end
  local units, taken_us = string.match(value, '^(%d+) (%d+)$', 33)
  return string.sub(value, 17, 32), tonumber(units), tonumber(taken_us)
end

-- Leases up to want units, and returns how many.
local function row_take_lease(row, leases, node, id, want, now)
  local out, held, taken_us = lease_read(row, leases, node)
  if out == id then return held end -- asked again
  if out and now < taken_us + lease_name_wait then return 0 end
  local left = math.max(0, math.min(row.ceiling - row.net, row_rights(row)))
  -- fmod, because a quotient may be rounded up to the next integer.
  local units = math.min(want, (left - math.fmod(left, lease_share)) / lease_share, max_units - row.own.taken)
  if units <= 0 then return 0 end
  redis.call('HSET', leases, node, row.reign .. id .. string.format('%.0f %.0f', units, now))
  redis.call('PEXPIREAT', leases, ARGV[row.arg + 3])
  row_charge(row, units)
  return units
end

-- Gives back what is left of a lease, by its ID, and returns how many units.
local function row_return_lease(row, leases, node, id, left)
  local out, held = lease_read(row, leases, node)
  if out ~= id then return 0 end
  redis.call('HDEL', leases, node)
  return row_return(row, math.min(left, held))
end
