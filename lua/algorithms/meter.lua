-- meter: a level that each unit raises and that drains evenly; token_bucket and leaky_bucket count with it.
--
-- State  string "<time> <level>": the newest charge in milliseconds, and the level then, in units x period_ms
-- Parameter  burst: how many units fit at once
--
-- The level falls by limit for each millisecond. All numbers are whole: a fraction would be wrong by a
-- millisecond in a tenth of the waits.

local function write(w, now)
  local state = string.format('%.0f %.0f', w.newest, w.level)
  redis.call('SET', w.key, state, 'PX', string.format('%.0f', w.newest + math.ceil(w.level / w.limit) - now))
end

algorithms.meter = {
  takes_what_is_left = true,

  read = function(w, now)
    w.level, w.newest = 0, now
    w.capacity = w.limit > 0 and w.parameter or 0
    w.room = w.capacity
    local state = redis.call('GET', w.key)
    if not state then return end
    local newest, level = string.match(state, '^(%d+) (%d+)$')
    newest, level = tonumber(newest), tonumber(level)
    if newest - now > w.period then
      redis.call('DEL', w.key)
      return
    end
    w.newest = math.max(now, newest)
    local elapsed = w.newest - newest
    -- Compared before it is multiplied: after a long while the product would not be exact.
    if w.limit > 0 and elapsed < math.ceil(level / w.limit) then w.level = level - elapsed * w.limit end
    w.room = math.floor((w.capacity * w.period - w.level) / w.period)
  end,

  charge = function(w, now, cost)
    w.level, w.time = w.level + cost * w.period, w.newest
    w.room = w.room - cost
    if w.limit > 0 then write(w, now) end
  end,

  -- One above the capacity is as full as it gets.
  count = function(w, now, cost)
    local most = (w.capacity + 1) * w.period
    if w.level >= most then return end
    w.level, w.time = math.min(most, w.level + cost * w.period), w.newest
    w.room = math.floor((w.capacity * w.period - w.level) / w.period)
    if w.limit > 0 then write(w, now) end
  end,

  wait = function(w, now, cost)
    return w.newest + math.ceil((w.level + (cost - w.capacity) * w.period) / w.limit)
  end,

  reset = function(w, now)
    if w.level == 0 or w.limit == 0 then return now end
    return w.newest + math.ceil(w.level / w.limit)
  end,

  refund = function(w, now, cost, time)
    if w.level == 0 then return end
    local back = cost * w.period
    if time then
      -- What has drained since that charge is gone already.
      local elapsed = w.newest - time
      if elapsed >= math.ceil(back / w.limit) then return end
      back = back - elapsed * w.limit
    end
    w.level = math.max(0, w.level - back)
    if w.level == 0 then redis.call('DEL', w.key) else write(w, now) end
  end,
}
