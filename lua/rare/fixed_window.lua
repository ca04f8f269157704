-- fixed_window: refusals counted up to the limit, and units refunded.

function algorithms.fixed_window.count(cost, key, limit, period, edges, now, room, ...)
  if room <= 0 then return -1 end
  local units = math.min(cost, room)
  local _, _, _, time = algorithms.fixed_window.answer('charge', units, key, limit, period, edges, now, room, ...)
  return time
end

function algorithms.fixed_window.refund(units, time, key, limit, period, edges, now)
  local room, _, start, stop = algorithms.fixed_window.read(key, limit, period, edges, now)
  if room == limit or time and (time < start or time >= stop) then return end
  local used = limit - room - units
  if used > 0 then write(key, start, used, stop, now) else redis.call('DEL', key) end
end
