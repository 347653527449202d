-- Global quota: the functions of row.go that a check needs, for a row that is a
-- hash.
--
-- KEYS   row      hash: field "n" = the row's name, kept and never read here;
--                 field per replica = its reign, 16 hex digits, value = an entry.
--                 It lives until the period's end and a grace.
--        marker   "<reign> <run_id> <split>": the reign of the data under the
--                 row's tag, the server's run it was opened in, the version of
--                 the split. "claim:..." while a reign is being opened: that
--                 equals no marker, so nobody decides.
-- ARGV   marker   what the caller believes the marker to be
--        start, end_   the period [start, end_), microseconds since 1970
--        expire   when the row ends, milliseconds since 1970
--        name     the row's name
--        ceiling  the most units the region's replicas may have taken, net
--        allotted what the region was allotted of the rights; 2^53: no bound
--        many     how many earlier replicas, and for each: reign, entry
-- Entry  "version taken returned", and only where one of them is not 0
--        " given granted unmet", and a " <length>:<region>=<units>" for every
--        gift, in order of region, which nothing here reads: given is their sum.
-- Units  every number is an integer of at most 2^53 in size.

local allowed, denied, wrong_period, wrong_reign, wrong_split, cancelled = 1, 2, 3, 4, 5, 6
local max_units = 9007199254740992

-- The arguments of a row without its earlier replicas.
local row_args = 8

-- Returns what is wrong with a row's arguments, from ARGV[a]: the reign or the
-- split of the data under its tag, or the period; nil if nothing is.
local function row_refused(marker, a, now)
  local value, believed = redis.call('GET', marker), ARGV[a]
  if value ~= believed then
    local opened = value and string.match(value, '^(.*) %d+$')
    if opened and opened == string.match(believed, '^(.*) %d+$') then return wrong_split end
    return wrong_reign
  end
  if now < tonumber(ARGV[a + 1]) or now >= tonumber(ARGV[a + 2]) then return wrong_period end
end

-- Returns version, taken, returned, given, granted, unmet, and the gifts' text.
local function entry_parse(text)
  local version, taken, returned, more = string.match(text, '^(%d+) (%d+) (%d+)(.*)$')
  if more == '' then return tonumber(version), tonumber(taken), tonumber(returned), 0, 0, 0, '' end
  local given, granted, unmet, gifts = string.match(more, '^ (%d+) (%d+) (%d+)(.*)$')
  return tonumber(version), tonumber(taken), tonumber(returned),
    tonumber(given), tonumber(granted), tonumber(unmet), gifts
end

local function entry_format(own)
  if own.given == 0 and own.granted == 0 and own.unmet == 0 then
    return string.format('%.0f %.0f %.0f', own.version, own.taken, own.returned)
  end
  return string.format('%.0f %.0f %.0f %.0f %.0f %.0f',
    own.version, own.taken, own.returned, own.given, own.granted, own.unmet) .. own.gifts
end

local function row_put(row, field, value)
  local put = row.put or {}
  row.put = put
  put[#put + 1] = field
  put[#put + 1] = value
end

-- Merges an entry into the row's fields: the higher version wins.
local function row_merge(row, flat, reign, entry)
  local at = #flat + 1
  for i = 1, #flat, 2 do
    if flat[i] == reign then at = i end
  end
  local have = flat[at + 1]
  if have and tonumber(string.match(entry, '^%d+')) <= tonumber(string.match(have, '^%d+')) then return end
  flat[at], flat[at + 1] = reign, entry
  row_put(row, reign, entry)
end

-- Reads a row and merges what the caller knows of earlier replicas. Of all
-- replicas the row has net, all_given and all_granted; own is this reign's.
local function row_read(key, a)
  local flat, reign = redis.call('HGETALL', key), string.sub(ARGV[a], 1, 16)
  local own = {version = 0, taken = 0, returned = 0, given = 0, granted = 0, unmet = 0, gifts = ''}
  -- Every field at once: a table that grows is made anew.
  local row = {
    key = key, arg = a, reign = reign, own = own, flat = flat, named = false, changed = false, put = false,
    net = 0, all_given = 0, all_granted = 0, ceiling = tonumber(ARGV[a + 5]), allotted = tonumber(ARGV[a + 6]),
    cost = 0, mark = false, outcome = 0,
  }
  for e = a + row_args, a + row_args - 2 + 2 * ARGV[a + 7], 2 do row_merge(row, flat, ARGV[e], ARGV[e + 1]) end
  local net, all_given, all_granted = 0, 0, 0
  for i = 1, #flat, 2 do
    if flat[i] == 'n' then
      row.named = true
    else
      local version, taken, returned, given, granted, unmet, gifts = entry_parse(flat[i + 1])
      net, all_given, all_granted = net + taken - returned, all_given + given, all_granted + granted
      if flat[i] == reign then
        own.version, own.taken, own.returned, own.given = version, taken, returned, given
        own.granted, own.unmet, own.gifts = granted, unmet, gifts
      end
    end
  end
  row.net, row.all_given, row.all_granted = net, all_given, all_granted
  return row
end

-- Returns how many units the region may still let through by itself.
local function row_rights(row)
  if row.allotted >= max_units then return max_units end
  local rights = math.min(row.allotted + row.all_granted, max_units) - row.all_given - row.net
  return math.max(-max_units, math.min(rights, max_units))
end

-- Returns 1 if cost units fit, 2 if not so many are left, 3 if the region may
-- not let them through by itself.
local function row_try(row, cost)
  if cost == 0 then return 1 end
  if cost > max_units - row.own.taken then return 2 end -- could not be counted exactly
  if row.net + cost > row.ceiling then return 2 end
  if cost > row_rights(row) then return 3 end
  return 1
end

local function row_charge(row, cost)
  local own = row.own
  if own.unmet > 0 and row_rights(row) >= own.unmet then own.unmet = 0 end
  own.version, own.taken, row.net = own.version + 1, own.taken + cost, row.net + cost
  row.changed = true
end

-- Notes that cost units were refused for want of rights.
local function row_refuse(row, cost, again)
  local own = row.own
  if cost <= own.unmet and not again then return end
  own.version, own.unmet = own.version + 1, math.max(own.unmet, cost)
  row.changed = true
end

-- Writes what changed, and what a new row needs.
local function row_write(row)
  if row.changed then row_put(row, row.reign, entry_format(row.own)) end
  if not row.put then return end
  if not row.named then row_put(row, 'n', ARGV[row.arg + 4]) end
  for i = 1, #row.put, 1000 do -- more do not fit the stack
    redis.call('HSET', row.key, unpack(row.put, i, math.min(i + 999, #row.put)))
  end
  if not row.named then redis.call('PEXPIREAT', row.key, ARGV[row.arg + 3]) end
end

-- Writes how the row stands into the reply: version, taken, returned, given,
-- granted and unmet of this reign; net of all replicas; the region's rights. Only
-- if given is not 0, the gifts' text follows: its length, and its bytes as
-- integers, six in each.
local function row_reply(row, reply, out)
  local own = row.own
  reply[out], reply[out + 1], reply[out + 2], reply[out + 3] = own.version, own.taken, own.returned, own.given
  reply[out + 4], reply[out + 5], reply[out + 6], reply[out + 7] = own.granted, own.unmet, row.net, row_rights(row)
  out = out + 8
  if own.given == 0 then return out end
  local text = own.gifts
  reply[out] = #text
  for i = 1, #text, 6 do
    local n = 0
    for j = i, math.min(i + 5, #text) do n = n * 256 + string.byte(text, j) end
    out = out + 1
    reply[out] = n
  end
  return out + 1
end
