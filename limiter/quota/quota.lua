-- Global quota: the functions of quota.go, for a row that is a hash.
--
-- KEYS   row      hash: field "n" = the row's name, kept and never read here;
--                 field per replica = its reign, 16 hex digits, value =
--                 "version taken returned", three decimals. It lives until the
--                 period's end and a grace.
--        marker   "<reign> <run_id>": the reign of the data under the row's tag
-- ARGV   reign    the reign the caller believes in, 16 hex digits
--        start, end_   the period [start, end_), microseconds since 1970
--        ceiling  the most units the region's replicas may have taken, net
--        cost     units asked; 0 always fits
--        expire   when the row ends, milliseconds since 1970
--        name     the row's name
--        earlier  reign, version, taken, returned of replicas of earlier reigns
-- Units  every number is an integer of at most 2^53 in size.

-- Returns whether the data's reign is the one the caller names.
local function reign_is(marker, reign)
  local value = redis.call('GET', marker)
  return value ~= false and string.sub(value, 1, 16) == reign
end

-- Returns the row as a table of value by field.
local function row_read(row)
  local flat, fields = redis.call('HGETALL', row), {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end

local function count_parse(value)
  if not value then return 0, 0, 0 end
  local version, taken, returned = string.match(value, '^(%d+) (%d+) (%d+)$')
  return tonumber(version), tonumber(taken), tonumber(returned)
end

local function count_format(version, taken, returned)
  return string.format('%.0f %.0f %.0f', version, taken, returned)
end

-- Merges what an earlier replica counted into the fields: the higher version
-- wins; of equal ones, the larger of each number. Returns whether it was new.
local function row_merge(fields, reign, version, taken, returned)
  local v, t, r = count_parse(fields[reign])
  if version < v then return false end
  if version == v then taken, returned = math.max(taken, t), math.max(returned, r) end
  if version == v and taken == t and returned == r then return false end
  fields[reign] = count_format(version, taken, returned)
  return true
end

-- Returns the sum of taken - returned over all replicas.
local function row_net(fields)
  local net = 0
  for field, value in pairs(fields) do
    if field ~= 'n' then
      local _, taken, returned = count_parse(value)
      net = net + taken - returned
    end
  end
  return net
end

local function quota_fits(ceiling, net, cost)
  return cost == 0 or net + cost <= ceiling
end

-- Writes one replica's count, and what a new row needs.
local function row_write(row, fields, reign, value, name, expire)
  if fields.n then
    redis.call('HSET', row, reign, value)
    return
  end
  fields.n = name
  redis.call('HSET', row, 'n', name, reign, value)
  redis.call('PEXPIREAT', row, expire)
end
