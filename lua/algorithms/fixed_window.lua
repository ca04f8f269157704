-- fixed_window: one counter for each window, which begins with the first hit or at an edge of the clock.
--
-- State  string "<start> <used>": when the window began, in milliseconds, and the units charged since
-- Parameter  0, or the edges around now in milliseconds, ascending, joined by commas: "e1,e2,e3"
--
-- All units stop counting at the window's end.

local function bounds(w, now)
  if w.parameter == 0 then return now, now + w.period end
  local start, stop
  for edge in string.gmatch(w.parameter, '%d+') do
    edge = tonumber(edge)
    if edge > now then
      stop = edge
      break
    end
    start = edge
  end
  start = start or stop - w.period -- a server whose clock is far from the caller's: as well as can be
  return start, stop or start + w.period
end

algorithms.fixed_window = {
  read = function(w, now)
    local state = redis.call('GET', w.key)
    w.start, w.stop = bounds(w, now)
    if not state then return end
    local start, used = string.match(state, '^(%d+) (%d+)$')
    start = tonumber(start)
    if start - now > w.period then
      redis.call('DEL', w.key)
      return
    end
    local _, stop = bounds(w, start)
    if now >= stop then return end
    w.start, w.stop, w.used = start, stop, tonumber(used)
    w.room = w.limit - w.used
  end,

  charge = function(w, now, cost)
    w.used, w.room, w.time = w.used + cost, w.room - cost, math.max(now, w.start)
    redis.call('SET', w.key, string.format('%.0f %.0f', w.start, w.used), 'PX', string.format('%.0f', w.stop - now))
  end,

  count = function(w, now, cost)
    local units = math.min(cost, math.max(0, w.room))
    if units > 0 then algorithms.fixed_window.charge(w, now, units) end
  end,

  wait = function(w)
    return w.stop
  end,

  reset = function(w, now)
    return w.used > 0 and w.stop or now
  end,

  refund = function(w, now, cost, time)
    if w.used == 0 or time and (time < w.start or time >= w.stop) then return end
    local used = math.max(0, w.used - cost)
    if used == 0 then
      redis.call('DEL', w.key)
    else
      redis.call('SET', w.key, string.format('%.0f %.0f', w.start, used), 'PX', string.format('%.0f', w.stop - now))
    end
  end,
}
