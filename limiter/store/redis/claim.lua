-- Claims the data under one hash tag, so that nobody decides on it until a reign
-- is opened, unless there is one or somebody else is opening it.
--
-- KEYS   marker   "<reign> <run_id> <split>", or "claim:<16 hex> <run_id>";
--                 without expiry
-- ARGV   1 claim  "claim:<16 hex> <run_id>", of this opener alone
--        2 run    of the server
--        3 split  the opener's version; a reign's lower one is raised to it
--        4 over   a claim that was waited for long enough; may be empty
-- Reply  the marker in force: a reign of this run; this claim; or another's

local value = redis.call('GET', KEYS[1])
if value then
  local reign, run, split = string.match(value, '^(%x+) (%S+) (%d+)$')
  if run == ARGV[2] and #reign == 16 then
    if tonumber(split) < tonumber(ARGV[3]) then
      value = reign .. ' ' .. run .. ' ' .. ARGV[3]
      redis.call('SET', KEYS[1], value)
    end
    return value
  end
  if string.match(value, '^claim:%x+ (%S+)$') == ARGV[2] and value ~= ARGV[4] then return value end
end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
