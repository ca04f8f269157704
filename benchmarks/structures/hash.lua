-- Ten sub-windows in a hash: the units of each tenth of the period by its number since the epoch.
--
-- The newest ten count, so a unit is forgotten up to a tenth of a period too early.
--
-- KEYS     the hash
-- ARGV     limit, period_ms, cost, now_ms: '' means the server's clock
-- Returns  1 if admitted, else 0

local limit, period, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local newest, used = math.floor(now / (period / 10)), 0
local cells = redis.call('HGETALL', KEYS[1])
for i = 1, #cells, 2 do
  if tonumber(cells[i]) > newest - 10 then
    used = used + cells[i + 1]
  else
    redis.call('HDEL', KEYS[1], cells[i])
  end
end
if used + cost > limit then return 0 end
redis.call('HINCRBY', KEYS[1], newest, cost)
redis.call('PEXPIRE', KEYS[1], period)
return 1
