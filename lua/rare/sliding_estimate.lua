-- sliding_estimate: refusals counted, and units refunded.

-- One above the capacity is as full as it gets.
function algorithms.sliding_estimate.count(cost, key, limit, period, none, now, room, capacity, start, current, ...)
  local units = math.min(cost, limit + 1 - current)
  if units <= 0 then return -1 end
  local _, _, _, time = algorithms.sliding_estimate.answer(
    'charge', units, key, limit, period, none, now, room, capacity, start, current, ...)
  return time
end

function algorithms.sliding_estimate.refund(units, time, key, limit, period, none, now)
  local _, _, start, current, previous = algorithms.sliding_estimate.read(key, limit, period, none, now)
  if current + previous == 0 then return end
  if not time then
    local older = math.min(units, previous)
    previous, current = previous - older, math.max(0, current - (units - older))
  elseif time >= start then
    current = math.max(0, current - units)
  elseif time >= start - period then
    previous = math.max(0, previous - units)
  end
  write(key, period, now, start, current, previous)
end
