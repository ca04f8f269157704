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

algorithms.sliding_estimate = {
  read = function(key, limit, period, _, now)
    local state, start, time, current, previous = redis.call('GET', key), now - now % period, now, 0, 0
    if state then
      local began, newer, older = string.match(state, '^(%d+) (%d+) (%d+)$')
      began = began + 0
      if began - now > period then
        redis.call('DEL', key)
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
    local wait, reset, fits = 0, 0, cost <= room
    if what ~= 'peek' and (fits or what ~= 'hit') then
      room, current, fits = room - cost, current + cost, true
      write(key, period, now, start, current, previous)
    else
      time = -1
    end
    if fits then cost = 1 end -- what is waited for next, if nothing is left
    if cost > limit then
      if not fits then wait = -1 end
    elseif cost > room then
      if current + cost <= limit then
        wait = start + period - math.floor((limit - current - cost) * period / previous) - now
      else
        wait = start + 2 * period - math.min(period, math.floor((limit - cost) * period / current)) - now
      end
      if fits then wait = -1 - wait end
    end
    if current + previous > 0 then reset = start + period - now end
    return room > 0 and room or 0, wait, reset < wait and wait or reset, time
  end,
}
