-- Refunds units: of the charge that is named, as far as it still counts, else the oldest that count. May set a flag beside it.
--
-- State    as in decide.lua
-- KEYS     the windows' keys; with a flag also its key
-- ARGV     now_ms: '' means the server's clock
--          for each window: algorithm, limit, period_ms, the algorithm's parameter, units, charged_at_ms
--            charged_at_ms is what the charge returned, -1 refunds nothing; '' means the oldest units
--          with a flag: for how many milliseconds it is set
-- Returns  for each window how many units fit now, at least 0
--
-- A refund never takes a count below zero, creates no key, and gives no window more than was charged to it
-- at that time: who asks twice, or late, gets nothing.

local algorithms = {}
--@ALGORITHMS@
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
  now = now - now % 1
end

local reply, windows = {}, math.floor((#ARGV - 1) / 6)
if #KEYS > windows then
  redis.call('SET', KEYS[#KEYS], '1', 'PX', ARGV[#ARGV])
end
for i = 1, windows do
  local at = 2 + (i - 1) * 6
  local algorithm, limit, period, parameter = algorithms[ARGV[at]], ARGV[at + 1] + 0, ARGV[at + 2] + 0, ARGV[at + 3]
  if not algorithm.edges then parameter = parameter + 0 end
  local units, time = ARGV[at + 4] + 0, tonumber(ARGV[at + 5])
  if units > 0 and (not time or time >= 0) then algorithm.refund(units, time, KEYS[i], limit, period, parameter, now) end
  reply[i] = math.floor(math.max(0, (algorithm.read(KEYS[i], limit, period, parameter, now)))) -- as text where it is 3.0
end
return reply
