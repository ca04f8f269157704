-- fixed_window: one counter for each window, which begins with the first hit or at an edge of the clock.
--
-- State  string "<start> <used>": when the window began, in milliseconds, and the units charged since
-- Parameter  0, or the edges around now in milliseconds, ascending, joined by commas: "e1,e2,e3"
-- Reading    start, stop (of the window around now)
--
-- All units stop counting at the window's end.

local function bounds(time, period, edges)
  if edges == '0' then return time, time + period end
  local start, stop
  for edge in string.gmatch(edges, '%-?%d+') do
    edge = tonumber(edge)
    if edge > time then
      stop = edge
      break
    end
    start = edge
  end
  -- Where the server's clock is far from the caller's: by whole periods from the nearest edge.
  if not start then
    start = stop - math.ceil((stop - time) / period) * period
  elseif not stop then
    start = start + math.floor((time - start) / period) * period
  else
    return start, stop
  end
  return start, start + period
end

local function write(key, start, used, stop, now)
  if used > 2^52 then used = 2^52 end -- where it stays exact
  redis.call('SET', key, string.format('%.0f %.0f', start, used), 'PX', stop - now)
end

algorithms.fixed_window = {
  edges = true, -- the parameter stays text

  read = function(key, limit, period, edges, now, peeks)
    local state = redis.call('GET', key)
    if state then
      local start, used = string.match(state, '^(%-?%d+) (%d+)$')
      start = start + 0
      local _, stop = bounds(start, period, edges)
      if start - now > period then
        if not peeks then redis.call('DEL', key) end
      elseif now < stop then
        return limit - used, limit, start, stop
      end
    end
    return limit, limit, bounds(now, period, edges)
  end,

  answer = function(what, cost, key, limit, _, _, now, room, _, start, stop)
    local wait, reset, time = 0, 0, -1
    if what ~= 'peek' and (cost <= room or what ~= 'hit') then
      room, time = room - cost, math.max(now, start)
      write(key, start, limit - room, stop, now)
    elseif cost > limit then
      wait = -1
    elseif cost > room then
      wait = stop - now
    end
    if wait > 0 or room < limit and limit > 0 then reset = stop - now end
    return room > 0 and room or 0, wait, reset, time
  end,
}
