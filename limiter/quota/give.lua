-- Rights given to other regions and granted by operators: Row.Give, Count.Grant
-- and Row.Open of row.go. The functions of quota.lua stand before this text.

-- Calls yield with the region and the units of each gift in a text.
local function gifts_each(text, yield)
  local at = 1
  while at <= #text do
    local size, start = string.match(text, '^ (%d+):()', at)
    local units, after = string.match(text, '^=(%d+)()', start + size)
    yield(string.sub(text, start, start + size - 1), tonumber(units))
    at = after
  end
end

local function gifts_to(text, region)
  local units = 0
  gifts_each(text, function(to, have)
    if to == region then units = have end
  end)
  return units
end

-- Says whether a comes before b, byte by byte: Lua's < goes by the locale.
local function is_before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- string.format would end a region at a zero byte.
local function gift_format(region, units)
  return ' ' .. #region .. ':' .. region .. string.format('=%.0f', units)
end

-- Returns the gifts with that many units given to a region in all.
local function gifts_with(text, region, units)
  local gift, out = gift_format(region, units), ''
  gifts_each(text, function(to, have)
    if gift and not is_before(to, region) then out, gift = out .. gift, nil end
    if to ~= region then out = out .. gift_format(to, have) end
  end)
  return out .. (gift or '')
end

-- Raises what the region gave to another to target units in all, as far as it
-- has rights beyond keep. Returns how many units that moved.
local function row_give(row, to, target, keep)
  local given, own = 0, row.own
  for i = 1, #row.flat, 2 do
    if row.flat[i] ~= 'n' then
      local _, _, _, _, _, _, gifts = entry_parse(row.flat[i + 1])
      given = given + gifts_to(gifts, to)
    end
  end
  local moved = math.min(target - given, row_rights(row) - keep)
  if moved <= 0 then return 0 end
  own.gifts = gifts_with(own.gifts, to, gifts_to(own.gifts, to) + moved)
  own.version, own.given, row.all_given = own.version + 1, own.given + moved, row.all_given + moved
  row.changed = true
  return moved
end

-- Grants units of rights, and returns how many.
local function row_grant(row, units)
  if units == 0 then return 0 end
  local own = row.own
  own.version, own.granted, row.all_granted = own.version + 1, own.granted + units, row.all_granted + units
  row.changed = true
  return units
end

-- Writes the entry of a row that nothing was taken of.
local function row_open(row)
  if row.own.version > 0 then return end
  row.own.version, row.changed = 1, true
end
