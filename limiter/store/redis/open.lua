-- Opens the reign of the data under one hash tag: the one its marker names if it
-- was set under this run of the server, else a new one.
--
-- KEYS   marker   "<reign> <run_id> <split>"; without expiry
-- ARGV   reign    a fresh nonce, 16 hex digits, not all 0
--        run_id   of the server
--        split    version
-- Reply  the marker in force

local value = redis.call('GET', KEYS[1])
if value and string.match(value, '^%x+ (%S+) %d+$') == ARGV[2] then return value end
value = ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3]
redis.call('SET', KEYS[1], value)
return value
