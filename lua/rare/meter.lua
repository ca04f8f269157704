-- meter: refusals counted, and units refunded.

-- One above the capacity is as full as it gets.
function algorithms.meter.count(cost, key, limit, period, _, now, _, capacity, time, level)
  local most = math.min((capacity + 1) * period, MOST)
  if level >= most then return -1 end
  write(key, limit, now, time, math.min(most, level + cost * period))
  return time
end

function algorithms.meter.refund(units, charged_at, key, limit, period, burst, now)
  local _, _, time, level, rate = algorithms.meter.read(key, limit, period, burst, now)
  if level == 0 then return end
  local back = units * period
  if charged_at then
    -- What has drained since that charge is gone already.
    local elapsed = time - charged_at
    if elapsed >= math.ceil(back / rate) then return end
    back = back - elapsed * rate
  end
  if level > back then write(key, rate, now, time, level - back) else redis.call('DEL', key) end
end
