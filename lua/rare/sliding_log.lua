-- sliding_log: refusals counted, and units given back.

-- The newest units that fill the limit are kept.
function algorithms.sliding_log.count(cost, key, limit, period, none, now, room, ...)
  local _, _, _, time = algorithms.sliding_log.answer('charge', cost, key, limit, period, none, now, room, ...)
  if cost > room then redis.call('LTRIM', key, -limit, '-1') end
  return time
end

function algorithms.sliding_log.refund(units, time, key, limit, period, none, now)
  local room, _, _, gone = algorithms.sliding_log.read(key, limit, period, none, now)
  local used = limit - room
  if used == 0 then return end
  redis.call('LTRIM', key, gone + (time and 0 or math.min(units, used)), '-1')
  if time then redis.call('LREM', key, units, string.format('%.0f', time)) end
end
