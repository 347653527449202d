-- Opens the reign of the data under one hash tag: the one its marker names if it
-- was set under this run of the server, else a new one.
--
-- KEYS   marker   "<reign> <run_id>"; without expiry
-- ARGV   reign    a fresh nonce, 16 hex digits, not all 0
--        run_id   of the server
-- Reply  the reign in force, 16 hex digits

local value = redis.call('GET', KEYS[1])
if value and #value > 17 and string.sub(value, 18) == ARGV[2] then return string.sub(value, 1, 16) end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2])
return ARGV[1]
