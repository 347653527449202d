-- Opens a new reign of the data under one hash tag, if it is still claimed by
-- the opener.
--
-- KEYS   marker   see claim.lua
-- ARGV   1 claim  the opener's
--        2 opened "<reign> <run_id> <split>", the reign never named before
-- Reply  the marker in force; empty if there is none

local value = redis.call('GET', KEYS[1])
if value ~= ARGV[1] then return value or '' end
redis.call('SET', KEYS[1], ARGV[2])
return ARGV[2]
