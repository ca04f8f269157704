-- A log as a stream, an entry for each unit, its identifier beginning with the time in milliseconds.
--
-- KEYS     the stream
-- ARGV     limit, period_ms, cost, now_ms: '' means the server's clock
-- Returns  1 if admitted, else 0

local limit, period, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
redis.call('XTRIM', KEYS[1], 'MINID', now - period + 1)
local used = redis.call('XLEN', KEYS[1])
if used + cost > limit then return 0 end
for _ = 1, cost do
  redis.call('XADD', KEYS[1], string.format('%.0f-*', now), 'u', '1')
end
redis.call('PEXPIRE', KEYS[1], period)
return 1
