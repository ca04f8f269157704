-- sliding_log: every unit remembered by its time, so exact in any window, weights included.
--
-- State  list of entries "<time><total>", oldest first: a time in milliseconds, and behind it, in six digits, how many
--        units had been charged by then, modulo a million. The first entry counts no more; its total is where the
--        others begin, and it may be a total alone. Redis keeps such text as a number of eight bytes.
-- Parameter  none
-- Reading    newest, total (of the newest entry), first (the index of the oldest entry that counts, 0 if none does),
--            base (the total before that), oldest (its time); nothing when there is no state
--
-- A unit of time t stops counting at t + period. What counts is a difference of two totals, and where it ends is found by
-- bisection, so that no call walks along a list. At most 999,999 units are kept at once, the newest: ten times the
-- highest limit, so that those beyond decide nothing.

-- The first entry behind the index `low` that is later than a time or, given `units`, with which so many have been charged
-- since `base`: its index, itself, and the one before unless that is `low`. Most often it is near.
local function find(key, low, time, base, units)
  local step, high, found, before = 1, nil, nil, nil
  repeat
    local at = high and low + math.floor((high - low) / 2) or low + step
    local entry = redis.call('LINDEX', key, at)
    local reached = not entry
    if entry and units then
      reached = (string.sub(entry, -6) - base) % 1000000 >= units
    elseif entry then
      reached = string.sub(entry, 1, -7) + 0 > time
    end
    if reached then
      high, found = at, entry
    else
      low, before, step = at, entry, step * 2
    end
  until high and high - low == 1
  return high, found, before
end

-- Takes away the oldest units, fewer than there are.
local function drop(key, units, first, base)
  redis.call('LTRIM', key, find(key, first - 1, nil, base, units + 1) - 1, '-1')
  redis.call('LSET', key, '0', string.format('%.0f', (base + units) % 1000000))
end

-- The time of the unit that is so many from the oldest that counts.
local function time_of(key, unit, first, base, oldest)
  if unit == 1 then return oldest end
  local _, entry = find(key, first - 1, nil, base, unit)
  return string.sub(entry, 1, -7) + 0
end

algorithms.sliding_log = {
  read = function(key, limit, period, _, now, peeks)
    local entry = redis.call('LINDEX', key, '-1')
    if not entry then return limit, limit end
    local newest, total = string.sub(entry, 1, -7) + 0, string.sub(entry, -6) + 0
    if newest - now > period then
      if not peeks then redis.call('UNLINK', key) end
      return limit, limit
    end
    local ended = (newest > now and newest or now) - period
    if newest <= ended then return limit, limit, newest, total, 0, total end
    local ends = redis.call('LRANGE', key, '0', '1')
    local first, base, oldest = 1, string.sub(ends[1], -6) + 0, string.sub(ends[2], 1, -7) + 0
    if oldest <= ended then
      local before
      first, entry, before = find(key, 1, ended)
      base, oldest = string.sub(before or ends[2], -6) + 0, string.sub(entry, 1, -7) + 0
    end
    return limit - (total - base) % 1000000, limit, newest, total, first, base, oldest
  end,

  answer = function(what, cost, key, limit, period, _, now, room, _, newest, total, first, base, oldest)
    local wait, reset, time = 0, 0, -1
    if what ~= 'peek' and (cost <= room or what ~= 'hit') then
      time = newest and newest > now and newest or now
      local kept = limit - room + cost
      if kept > 999999 then
        if cost < 999999 then
          drop(key, kept - 999999, first, base)
          first, base = 1, (base + kept - 999999) % 1000000
          oldest = string.sub(redis.call('LINDEX', key, '1'), 1, -7) + 0
        else
          redis.call('UNLINK', key)
          newest, cost = nil, 999999
        end
        kept = 999999
      end
      if not newest then
        redis.call('RPUSH', key, '0', string.format('%.0f%06.0f', time, cost))
        first, base, oldest = 1, 0, time
      else
        if first ~= 1 then redis.call('LTRIM', key, first - 1, '-1') end
        if first == 0 then oldest = time end
        first = 1
        local entry = string.format('%.0f%06.0f', time, (total + cost) % 1000000)
        if time == newest then
          redis.call('LSET', key, '-1', entry)
        else
          redis.call('RPUSH', key, entry)
        end
      end
      redis.call('PEXPIRE', key, time + period - now)
      room = limit - kept
    elseif cost > limit then
      wait = -1
    elseif cost > room then
      wait = time_of(key, cost - room, first, base, oldest) + period - now
    end
    if room < limit and limit > 0 then
      reset = time_of(key, room < 0 and 1 - room or 1, first, base, oldest) + period - now
    end
    return room > 0 and room or 0, wait, reset < wait and wait or reset, time
  end,
}
