-- Units that come back: Row.Return and Row.Refund of row.go. The functions of
-- quota.lua stand before this text.
--
-- KEYS   refunded hash: raw 16-byte ID of a receipt -> the reign it was refunded
--                 in, 16 hex digits. It lives as long as the row; a check never
--                 reads it.

-- Gives back units, no more than this reign has outstanding, and returns how
-- many.
local function row_return(row, units)
  local own = row.own
  local returned = math.min(units, own.taken - own.returned)
  if returned <= 0 then return 0 end
  own.version, own.returned, row.net = own.version + 1, own.returned + returned, row.net - returned
  row.changed = true
  return returned
end

-- Gives back what a receipt names, once; without a receipt every time.
local function row_refund(row, refunded, receipt, units)
  if receipt == '' then return row_return(row, units) end
  if #row.flat == 0 or redis.call('HGET', refunded, receipt) == row.reign then return 0 end
  redis.call('HSET', refunded, receipt, row.reign)
  redis.call('PEXPIREAT', refunded, ARGV[row.arg + 3])
  return row_return(row, units)
end
