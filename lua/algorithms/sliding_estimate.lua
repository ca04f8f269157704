-- sliding_estimate: two counters, of this aligned window and of the one before, which weighs less and less.
--
-- State  string "<start> <current> <previous>": when the newest counter's window began, in milliseconds, and
--        the units of it and of the window before
-- Parameter  none
--
-- At time now, in the window that began at start, current + previous * (start + period - now) / period count.
-- Source: "How we built rate limiting capable of scaling to millions of domains", Cloudflare, 2017.

local function room(w, now)
  return math.floor(((w.limit - w.current) * w.period - w.previous * (w.start + w.period - now)) / w.period)
end

local function write(w, now)
  local state = string.format('%.0f %.0f %.0f', w.start, w.current, w.previous)
  redis.call('SET', w.key, state, 'PX', string.format('%.0f', w.start + 2 * w.period - now))
end

algorithms.sliding_estimate = {
  read = function(w, now)
    w.current, w.previous, w.now = 0, 0, now
    w.start = now - now % w.period
    local state = redis.call('GET', w.key)
    if not state then return end
    local start, current, previous = string.match(state, '^(%d+) (%d+) (%d+)$')
    start, current = tonumber(start), tonumber(current)
    if start - now > w.period then
      redis.call('DEL', w.key)
      return
    end
    if start >= w.start then
      w.start, w.now = start, math.max(now, start)
      w.current, w.previous = current, tonumber(previous)
    elseif start == w.start - w.period then
      w.previous = current
    end
    w.room = room(w, w.now)
  end,

  charge = function(w, now, cost)
    w.current, w.time = w.current + cost, w.now
    w.room = room(w, w.now)
    write(w, now)
  end,

  -- One above the capacity is as full as it gets.
  count = function(w, now, cost)
    local units = math.min(cost, w.limit + 1 - w.current)
    if units > 0 then algorithms.sliding_estimate.charge(w, now, units) end
  end,

  wait = function(w, now, cost)
    if w.current + cost <= w.limit then
      return w.start + w.period - math.floor((w.limit - w.current - cost) * w.period / w.previous)
    end
    return w.start + 2 * w.period - math.min(w.period, math.floor((w.limit - cost) * w.period / w.current))
  end,

  reset = function(w, now)
    return w.current + w.previous > 0 and w.start + w.period or now
  end,

  refund = function(w, now, cost, time)
    if w.current + w.previous == 0 then return end
    if not time then
      local older = math.min(cost, w.previous)
      w.previous, w.current = w.previous - older, math.max(0, w.current - (cost - older))
    elseif time >= w.start then
      w.current = math.max(0, w.current - cost)
    elseif time >= w.start - w.period then
      w.previous = math.max(0, w.previous - cost)
    end
    write(w, now)
  end,
}
