-- sliding_log: every unit remembered by its time, so exact in any window, weights included.
--
-- State  list of the units' times in milliseconds, oldest first
-- Parameter  none
-- Reading    newest, gone (how many of the oldest units count no more)
--
-- A unit of time t stops counting at t + period.

local function expired(key, length, period, now)
  local gone, chunk = 0, 1
  while gone < length do
    local times = redis.call('LRANGE', key, gone, gone + chunk - 1)
    for i = 1, #times do
      if times[i] + period > now then return gone + i - 1 end
    end
    gone = gone + #times
    chunk = 100 -- usually the first one counts still; after a quiet while many have left
  end
  return gone
end

algorithms.sliding_log = {
  read = function(key, limit, period, _, now)
    local newest = redis.call('LINDEX', key, '-1')
    if not newest then return limit, limit, 0, 0 end
    newest = newest + 0
    if newest - now > period then
      redis.call('DEL', key)
      return limit, limit, 0, 0
    end
    local length = redis.call('LLEN', key)
    local gone = newest + period <= now and length or expired(key, length, period, math.max(now, newest))
    return limit - (length - gone), limit, newest, gone
  end,

  answer = function(what, cost, key, limit, period, _, now, room, _, newest, gone)
    local wait, reset, time = 0, 0, -1
    if what ~= 'peek' and (cost <= room or what ~= 'hit') then
      room, time = room - cost, math.max(now, newest)
      if gone > 0 then redis.call('LTRIM', key, gone, '-1') end
      gone = 0
      local text, units = string.format('%.0f', time), {}
      for i = 1, math.min(cost, 1000) do units[i] = text end
      for pushed = 0, cost - 1, 1000 do
        redis.call('RPUSH', key, unpack(units, 1, math.min(1000, cost - pushed)))
      end
      redis.call('PEXPIRE', key, time + period - now)
    elseif cost > limit then
      wait = -1
    elseif cost > room then
      wait = redis.call('LINDEX', key, gone + cost - room - 1) + period - now
    end
    if room < limit and limit > 0 then
      reset = redis.call('LINDEX', key, gone + (room < 0 and -room or 0)) + period - now
    end
    return room > 0 and room or 0, wait, reset < wait and wait or reset, time
  end,
}
