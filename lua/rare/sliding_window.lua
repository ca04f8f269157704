-- sliding_window: units taken away, those of one time or the oldest first.

-- Under which of these times the units of a named one count now: of buckets, the end of its bucket. A unit whose own time
-- is gone from a log may be where a bucket had put it, while the limit was one for buckets.
local function counted_at(named, times, width, parameter, period)
  if width == 0 then
    for i = 1, #times do
      if times[i] == named then return named end
    end
    local buckets = (parameter - parameter % 8) / 8
    width = (period + -period % buckets) / buckets
  end
  return named - named % width + width - 1
end

local function take(units, named, key, limit, period, parameter, now)
  local own, left = algorithms.sliding_window, 0
  local room, _, width, state, at, newest, oldest, current = own.read(key, limit, period, parameter, now)
  if room == limit then return end
  if named then
    local last = width == 0 and newest or newest * width
    if named + period <= math.max(now, last) then return end -- it has left, though its bucket may not have
  end
  local rewritten = {own.answer('rewriter')(parameter % 8, width, function(times, counts)
    named = named and counted_at(named, times, width, parameter, period)
    for i = 1, #times do
      if not named or times[i] == named then
        local gone = math.min(units, counts[i])
        units, counts[i] = units - gone, counts[i] - gone
      end
      left = left + counts[i]
    end
  end, width, state, at, newest, oldest, current)}
  if left == 0 then
    redis.call('DEL', key)
  else
    own.answer('write', 0, key, limit, period, parameter, now, limit - left, limit,
      (table.unpack or unpack)(rewritten))
  end
end

-- The newest units that fill the limit are kept.
function algorithms.sliding_window.count(cost, key, limit, period, parameter, now, room, ...)
  local _, _, _, time = algorithms.sliding_window.answer('count', cost, key, limit, period, parameter, now, room, ...)
  if cost > room then take(cost - room, nil, key, limit, period, parameter, now) end
  return time
end

function algorithms.sliding_window.refund(units, time, key, limit, period, parameter, now)
  take(units, time, key, limit, period, parameter, now)
end
