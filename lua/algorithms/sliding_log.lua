-- sliding_log: every unit remembered by its time, so exact in any window, weights included.
--
-- State  list of the units' times in milliseconds, oldest first
-- Parameter  none
--
-- A unit of time t stops counting at t + period.

local function expired(w, now)
  local gone, chunk = 0, 1
  while gone < w.length do
    local times = redis.call('LRANGE', w.key, gone, gone + chunk - 1)
    for i = 1, #times do
      if times[i] + w.period > now then return gone + i - 1 end
    end
    gone = gone + #times
    chunk = 100 -- usually the first one counts still; after a quiet while many have left
  end
  return gone
end

local function left(w, units)
  return redis.call('LINDEX', w.key, w.gone + units - 1) + w.period
end

algorithms.sliding_log = {
  read = function(w, now)
    local newest = tonumber(redis.call('LINDEX', w.key, -1))
    w.newest, w.length, w.gone = newest, 0, 0
    if not newest then return end
    if newest - now > w.period then
      redis.call('DEL', w.key)
      w.newest = nil
      return
    end
    now = math.max(now, newest)
    w.length = redis.call('LLEN', w.key)
    w.gone = newest + w.period <= now and w.length or expired(w, now)
    w.used = w.length - w.gone
    w.room = w.limit - w.used
  end,

  charge = function(w, now, cost)
    local time = math.max(now, w.newest or 0)
    if w.gone > 0 then redis.call('LTRIM', w.key, w.gone, -1) end
    local text = string.format('%.0f', time)
    local units = {}
    for i = 1, math.min(cost, 1000) do units[i] = text end
    for pushed = 0, cost - 1, 1000 do
      redis.call('RPUSH', w.key, unpack(units, 1, math.min(1000, cost - pushed)))
    end
    redis.call('PEXPIRE', w.key, string.format('%.0f', time + w.period - now))
    w.gone, w.newest, w.time = 0, time, time
    w.used, w.room = w.used + cost, w.room - cost
  end,

  -- The newest units that fill the limit are kept.
  count = function(w, now, cost)
    algorithms.sliding_log.charge(w, now, cost)
    if w.room < 0 then
      redis.call('LTRIM', w.key, -w.limit, -1)
      w.used, w.room = w.limit, 0
    end
  end,

  wait = function(w, now, cost)
    return left(w, cost - w.room)
  end,

  reset = function(w, now)
    if w.used == 0 or w.limit == 0 then return now end
    return left(w, w.room < 0 and 1 - w.room or 1)
  end,

  refund = function(w, now, cost, time)
    if w.used == 0 then return end
    redis.call('LTRIM', w.key, w.gone + (time and 0 or math.min(cost, w.used)), -1)
    if time then redis.call('LREM', w.key, cost, string.format('%.0f', time)) end
  end,
}
