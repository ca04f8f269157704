-- A fixed window as a string: one counter for each period of the clock, the period's number in its name.
--
-- KEYS     how the counter's name begins
-- ARGV     limit, period_ms, cost, now_ms: '' means the server's clock
-- Returns  1 if admitted, else 0

local limit, period, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local key = string.format('%s:%.0f', KEYS[1], math.floor(now / period))
if tonumber(redis.call('GET', key) or 0) + cost > limit then return 0 end
redis.call('INCRBY', key, cost)
redis.call('PEXPIRE', key, period)
return 1
