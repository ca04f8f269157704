-- meter: a level that each unit raises and that drains evenly; token_bucket and leaky_bucket count with it.
--
-- State  string "<time> <level> <rate>": the newest charge in milliseconds, the level then, in units x period_ms, and
--        by how much it falls in each millisecond: the limit of that time
-- Parameter  burst: how many units fit at once
-- Reading    time (now, or the newest charge if the clock went back), level (at that time), rate (nil without a state)
--
-- All numbers are whole: a fraction would be wrong by a millisecond in a tenth of the waits. A forced charge takes
-- what there is room for. A raised limit is the rate from the newest charge on, so that a wait is kept whoever asks
-- meanwhile. A lowered one is the rate from the next hit on, even of one that is refused, which writes the state again,
-- so that it expires when it has drained and not before.

local MOST = 2^52 -- where the level stops: all that is reckoned with it stays exact

-- At limit 0 nothing drains: what is charged then is not kept, since it would never expire.
local function write(key, rate, now, time, level)
  if rate == 0 then return end
  local above = level + rate - 1 -- rounded up, without a call
  redis.call('SET', key, string.format('%.0f %.0f %.0f', time, level, rate), 'PX', time + (above - above % rate) / rate - now)
end

algorithms.meter = {
  read = function(key, limit, period, burst, now, peeks)
    local state, time, level, capacity, rate = redis.call('GET', key), now, 0, limit > 0 and burst or 0, nil
    if state then
      local newest, then_level, then_limit = string.match(state, '^(%d+) (%d+) (%d+)$')
      newest, then_level, rate = newest + 0, then_level + 0, then_limit + 0
      if newest - now > period then
        if not peeks then redis.call('DEL', key) end
      else
        if newest > now then time = newest end
        if rate < limit then rate = limit end
        local drained = (time - newest) * rate -- exact where it is less than the level
        if limit > 0 and drained < then_level then level = then_level - drained end
      end
      if peeks then rate = limit end -- so that nothing is to be written
    end
    local free = capacity * period - level
    return (free - free % period) / period, capacity, time, level, rate
  end,

  answer = function(what, cost, key, limit, period, _, now, room, capacity, time, level, rate)
    local wait, reset, charged_at = 0, 0, -1
    if what ~= 'peek' and (cost <= room or what ~= 'hit') then
      local units = cost
      if what == 'force' and cost > room then units = math.max(0, room) end
      if units > 0 then
        room, level, rate = room - units, level + units * period, limit
        if level > MOST then level = MOST end
        write(key, limit, now, time, level)
      end
      if units == cost then charged_at = time end
    elseif cost > capacity then
      wait = -1
    elseif cost > room then
      wait = time + math.ceil((level + (cost - capacity) * period) / limit) - now
    end
    if level > 0 and rate ~= limit then write(key, limit, now, time, level) end
    local remaining = room > 0 and room or 0
    if wait > 0 then reset = wait end -- which is for at least as many units, unless the cost is 0
    if remaining < capacity and (reset == 0 or cost == 0) then
      reset = time + math.ceil((level + (remaining + 1 - capacity) * period) / limit) - now
    end
    return remaining, wait, reset, charged_at
  end,
}
