-- Gives units back: to the charge that is named, as far as it still counts, else the oldest that count.
--
-- State    as in decide.lua
-- KEYS     the windows' keys
-- ARGV     now_ms: '' means the server's clock
--          for each window: algorithm, limit, period_ms, the algorithm's parameter, units, charged_at_ms
--            charged_at_ms is what the charge returned; '' means the oldest units
-- Returns  for each window how many units fit now, at least 0
--
-- A refund never takes a count below zero, creates no key, and gives no window more than was charged to it
-- at that time: who asks twice, or late, gets nothing.

local algorithms = {}
--@ALGORITHMS@
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local reply = {}
for i = 1, #KEYS do
  local at = 2 + (i - 1) * 6
  local limit, parameter = tonumber(ARGV[at + 1]), ARGV[at + 3]
  local w = {
    key = KEYS[i], algorithm = algorithms[ARGV[at]], limit = limit, capacity = limit, room = limit,
    period = tonumber(ARGV[at + 2]), parameter = tonumber(parameter) or parameter, used = 0,
  }
  w.algorithm.read(w, now)
  w.algorithm.refund(w, now, tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5]))
  w.room = limit
  w.used = 0
  w.bucket = nil
  w.algorithm.read(w, now)
  reply[i] = math.max(0, w.room)
end
return reply
