-- sliding_estimate: two counters, of this aligned window and of the one before, which weighs less and less.
--
-- State  string "<start> <current> <previous>": when the newest counter's window began, in milliseconds, and
--        the units of it and of the window before
-- Parameter  none
-- Reading    start, current, previous, time (now, or start if the clock went back)
--
-- At time now, in the window that began at start, current + previous * (start + period - now) / period count.
-- Source: "How we built rate limiting capable of scaling to millions of domains", Cloudflare, 2017.

local function write(key, period, now, start, current, previous)
  local state = string.format('%.0f %.0f %.0f', start, current, previous)
  redis.call('SET', key, state, 'PX', start + 2 * period - now)
end

-- How long it is until so many units fit, of which there is no room now.
local function until_fit(units, limit, period, now, start, current, previous)
  if current + units <= limit then
    return start + period - math.floor((limit - current - units) * period / previous) - now
  end
  return start + 2 * period - math.min(period, math.floor((limit - units) * period / current)) - now
end

algorithms.sliding_estimate = {
  read = function(key, limit, period, _, now, peeks)
    local state, start, time, current, previous = redis.call('GET', key), now - now % period, now, 0, 0
    if state then
      local began, newer, older = string.match(state, '^(%d+) (%d+) (%d+)$')
      began = began + 0
      if began - now > period then
        if not peeks then redis.call('DEL', key) end
      elseif began >= start then
        start, time, current, previous = began, math.max(now, began), newer + 0, older + 0
      elseif began == start - period then
        previous = newer + 0
      end
    end
    local room = math.floor(((limit - current) * period - previous * (start + period - time)) / period)
    return room, limit, start, current, previous, time
  end,

  answer = function(what, cost, key, limit, period, _, now, room, _, start, current, previous, time)
    local wait, reset = 0, 0
    if what ~= 'peek' and (cost <= room or what ~= 'hit') then
      room, current = room - cost, current + cost
      if current * period > 2^52 then current = math.floor(2^52 / period) end -- what is reckoned with it stays exact
      write(key, period, now, start, current, previous)
    else
      time = -1
      if cost > limit then
        wait = -1
      elseif cost > room then
        wait = until_fit(cost, limit, period, now, start, current, previous)
      end
    end
    local remaining = room > 0 and room or 0
    if wait > 0 then reset = wait end -- which is for at least as many units, unless the cost is 0
    if remaining < limit and (reset == 0 or cost == 0) then
      reset = until_fit(remaining + 1, limit, period, now, start, current, previous)
    end
    return remaining, wait, reset, time
  end,
}
