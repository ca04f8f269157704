-- meter: refusals counted, and units refunded.

-- One above the capacity is as full as it gets.
function algorithms.meter.count(cost, key, limit, period, _, now, _, capacity, time, level)
  local most = math.min((capacity + 1) * period, MOST)
  if level >= most then return -1 end
  write(key, limit, now, time, math.min(most, level + cost * period))
  return time
end

-- What has drained since that charge is gone already, by whichever of its limit and the newest charge's is higher. The time
-- and the rate of the state stay, since a raised limit may have drained more than these say.
function algorithms.meter.refund(units, charged_at, key, limit, period, burst, now)
  local _, _, time, level, rate = algorithms.meter.read(key, limit, period, burst, now)
  if level == 0 then return end
  local newest, then_level, then_limit = string.match(redis.call('GET', key), '^(%d+) (%d+) (%d+)$')
  newest, then_level, then_limit = newest + 0, then_level + 0, then_limit + 0
  local back = units * period - (charged_at and (time - charged_at) * rate or 0)
  if back <= 0 then return end
  if then_level - back > (time - newest) * then_limit then
    write(key, then_limit, now, newest, then_level - back)
  else
    redis.call('DEL', key)
  end
end
