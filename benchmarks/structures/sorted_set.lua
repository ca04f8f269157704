-- A log as a sorted set, a member for each unit, its score the time in milliseconds.
--
-- KEYS     the set
-- ARGV     limit, period_ms, cost, now_ms: '' means the server's clock
-- Returns  1 if admitted, else 0

local limit, period, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - period)
local used = redis.call('ZCARD', KEYS[1])
if used + cost > limit then return 0 end
for unit = used + 1, used + cost do
  redis.call('ZADD', KEYS[1], now, string.format('%.0f-%.0f', now, unit)) -- two of one millisecond are two members
end
redis.call('PEXPIRE', KEYS[1], period)
return 1
