-- sliding_window: each unit by its time while they are few, so exact. Of more, how many came in each bucket of time, the
-- partly expired oldest one counted whole, so never above the limit.
--
-- State  string, numbers as bytes, least first. The first is `cut` (2 bytes): into how many buckets the period is cut.
--        cut = 0  <times>: of the units that count, oldest first, in milliseconds. As many of the lowest bytes as tell
--          apart what lies within one period, `size` of them, but of the newest all 6.
--        else  <bucket><used><current><kept><more><ring>. `bucket` (6) is the newest bucket's index, floor(time /
--          width). `used` (2) are the units that count and `current` (2) those in the newest bucket; what of these is
--          beyond two bytes is in `more` (5 + 5). `kept` (2) is how many older buckets the ring has: the units of each,
--          oldest first, as base-128 digits, all but the last of a number with the high bit set. A quiet bucket is one byte.
-- Parameter  8 * buckets + size: into how many buckets to cut the period, and the bytes of a time in `times`
-- Reading    width (milliseconds of a bucket, 0 when there are times), state, at (where in it the oldest that counts
--            stands), newest and oldest (that count: times, or indexes of buckets), current (the newest bucket's units)
--
-- A unit of time t stops counting at t + period, and one in bucket k as if it had come in its last millisecond, at
-- (k + 1) * width - 1 + period. An edited limit, or number of buckets, makes the one of the other when a unit is charged;
-- of buckets only once their newest is over, so that no time in a state is one that has not been yet.

-- Goes from the place `at` until so many units have been met. Of times it returns that unit's; none is after `stop`. Of a
-- ring, without `size`, it begins with `bucket` and ends with `stop` at the latest: returns the bucket, its place, and how
-- many units were met.
local function walk(state, at, bucket, stop, units, size)
  if size then
    local a, b, c, d, e, f = string.byte(state, at + (units - 1) * size, at + units * size - 1)
    local lowest = a + b * 256 + (c or 0) * 65536 + (d or 0) * 16777216 + ((e or 0) + (f or 0) * 256) * 4294967296
    return stop - (stop - lowest) % 256 ^ size
  end
  local met = 0
  while bucket < stop do
    local digit, scale = string.byte(state, at), 1
    while digit >= 128 do
      met = met + (digit - 128) * scale
      scale = scale * 128
      at = at + 1
      digit = string.byte(state, at)
    end
    met = met + digit * scale
    if met >= units then break end
    bucket, at = bucket + 1, at + 1
  end
  return bucket, at, met
end

algorithms.sliding_window = {
  read = function(key, limit, period, parameter, now, peeks)
    local state = redis.call('GET', key)
    if not state then return limit, limit end
    local n1, n2, b1, b2, b3, b4, b5, b6, u1, u2, c1, c2, k1, k2, u3, u4, u5, u6, u7, c3, c4, c5, c6, c7 =
      string.byte(state, 1, 24)
    local cut, last, width, bucket, newest = n1 + n2 * 256, #state - 5, 0, nil, nil
    if cut == 0 then
      local t1, t2, t3, t4, t5, t6 = string.byte(state, last, last + 5)
      newest = t1 + t2 * 256 + t3 * 65536 + t4 * 16777216 + (t5 + t6 * 256) * 4294967296
      if newest + period <= now then return limit, limit end
    else
      width = (period + -period % cut) / cut
      bucket = b1 + b2 * 256 + b3 * 65536 + b4 * 16777216 + (b5 + b6 * 256) * 4294967296
      newest = bucket * width
    end
    if newest > now then
      if newest - now > period then
        if not peeks then redis.call('DEL', key) end
        return limit, limit
      end
      now = newest
    end
    if cut == 0 then
      local size = parameter % 8
      local at, oldest = 3, size == 2 and newest - (newest - b1 - b2 * 256) % 65536 or walk(state, 3, 0, newest, 1, size)
      if oldest + period <= now then -- the newest that has left is sought in steps that grow, then in steps that halve
        local step = size
        while at + step < last and walk(state, at + step, 0, newest, 1, size) + period <= now do
          at, step = at + step, step * 2
        end
        while step > size do
          step = step / 2
          if at + step < last and walk(state, at + step, 0, newest, 1, size) + period <= now then at = at + step end
        end
        at = at + size
        oldest = walk(state, at, 0, newest, 1, size)
      end
      return limit - (last - at) / size - 1, limit, 0, state, at, newest, oldest
    end
    local used = u1 + u2 * 256 + (u3 + u4 * 256 + u5 * 65536 + u6 * 16777216 + u7 * 4294967296) * 65536
    local current = c1 + c2 * 256 + (c3 + c4 * 256 + c5 * 65536 + c6 * 16777216 + c7 * 4294967296) * 65536
    local oldest, at = bucket - k1 - k2 * 256, 25
    local first = now + 1 - period
    local live = (first - first % width) / width
    if bucket < live then return limit, limit end
    if oldest < live then
      local gone
      oldest, at, gone = walk(state, at, oldest, live, math.huge)
      used = used - gone
      if used == 0 then return limit, limit end
    end
    return limit - used, limit, width, state, at, bucket, oldest, current
  end,

  answer = function(what, cost, key, limit, period, parameter, now, room, _, width, state, at, newest, oldest, current)
    if what == 'rewriter' then -- which edits and refunds need: made for them alone, since a function costs every call
      -- The units of a reading in buckets of so many milliseconds or, if 0, by their times, once `change` has seen them: lists of
      -- their times, of a bucket its last millisecond, and of how many they are. Returns what is written nowhere yet: a reading
      -- without room and capacity, whose state is times or ring alone, and how many units the newest bucket has.
      return function(size, into, change, width, state, at, newest, oldest, current)
        local times, counts, texts, last = {}, {}, {}, newest - oldest + 1
        if width == 0 then
          last = (#state - 5 - at) / size + 1
          for unit = 1, last do times[unit], counts[unit] = walk(state, at, 0, newest, unit, size), 1 end
        else
          for i = 1, last do
            local bucket = oldest + i - 1
            times[i] = (bucket + 1) * width - 1
            if i < last then bucket, at, counts[i] = walk(state, at, bucket, bucket + 1, math.huge) end
          end
          counts[last] = current
        end
        if change then change(times, counts) end
        if into == 0 then
          local whole = ''
          for i = 1, last do
            if counts[i] > 0 then
              local rest = times[i]
              oldest, newest, whole = #texts > 0 and oldest or rest, rest, ''
              for _ = 1, 6 do whole, rest = whole .. string.char(rest % 256), math.floor(rest / 256) end
              texts[#texts + 1] = string.rep(string.sub(whole, 1, size), counts[i])
            end
          end
          return 0, string.sub(table.concat(texts), 1, -1 - size) .. whole, 1, newest, oldest
        end
        current, oldest = 0, math.floor(times[1] / into)
        newest = oldest
        for i = 1, last do
          while (newest + 1) * into <= times[i] do
            while current >= 128 do texts[#texts + 1], current = string.char(128 + current % 128), math.floor(current / 128) end
            texts[#texts + 1], current, newest = string.char(current), 0, newest + 1
          end
          current = current + counts[i]
        end
        return into, table.concat(texts), 1, newest, oldest, current
      end
    end
    local wait, reset, time, size, refused = 0, 0, -1, parameter % 8, false
    if what ~= 'peek' and (cost <= room or what ~= 'hit') then
      room = room - cost
      if limit - room > 2^52 then cost, room = cost - (limit - room - 2^52), limit - 2^52 end -- it stops where it stays exact
      local used = limit - room
      local is_open = newest and width > 0 and (now < (newest + 1) * width or what == 'write')
      local u, c = used % 65536, is_open and current % 65536 + cost or 65536
      if c < 65536 and u >= cost and at == 25 then -- the usual case of buckets: nothing else has changed
        local u1, c1 = u % 256, c % 256
        redis.call('SETRANGE', key, '8', string.char(u1, (u - u1) / 256, c1, (c - c1) / 256))
        time = (newest + 1) * width - 1
      else
        if not is_open and what ~= 'write' then
          local buckets, most, into = (parameter - size) / 8, (300 - 300 % size) / size, 0
          if most < buckets then most = buckets end
          if limit > most or used > most and what ~= 'count' then into = (period + -period % buckets) / buckets end
          if newest and width ~= into then
            local rewrite = algorithms.sliding_window.answer('rewriter')
            width, state, at, newest, oldest, current = rewrite(size, into, nil, width, state, at, newest, oldest, current)
            is_open = width > 0 and now < (newest + 1) * width
          end
          width = into
        end
        local stamp, ring = now, ''
        if width == 0 then
          if newest and (newest > now or what == 'write') then stamp = newest end
          time = stamp
        else
          if newest then ring = string.sub(state, at) end
          stamp = is_open and newest or (now - now % width) / width
          time = (stamp + 1) * width - 1
          if is_open then
            current = current + cost
          else
            if newest then
              while current >= 128 do
                local digit = current % 128
                ring, current = ring .. string.char(128 + digit), (current - digit) / 128
              end
              ring = ring .. string.char(current) .. string.rep('\0', stamp - newest - 1)
            end
            current = cost
          end
        end
        local b1 = stamp % 256
        local b = (stamp - b1) / 256
        local b2 = b % 256 b = (b - b2) / 256
        local b3 = b % 256 b = (b - b3) / 256
        local b4 = b % 256 b = (b - b4) / 256
        local b5 = b % 256
        local b6 = (b - b5) / 256
        if width == 0 then
          -- It expires when what comes in the same 64th of a period has left, too.
          local part = (period - period % 64) / 64 + 1
          local began, whole = time - time % part, string.char(b1, b2, b3, b4, b5, b6)
          if at == 3 and newest and newest >= began and cost == 1 and room >= 0 and #state <= 120 then
            redis.call('SETRANGE', key, #state - 6 + size, whole)
          else
            local older = newest and string.sub(state, at, size - 7) or ''
            if what == 'write' then older = string.sub(older, 1, -1 - size) end -- it has the newest already
            if cost > 1 then older = older .. string.rep(string.sub(whole, 1, size), cost - 1) end
            state, at = '\0\0' .. older .. whole, 3
            redis.call('SET', key, state, 'PX', began + part - 1 + period - now)
          end
          newest, oldest = time, oldest or time
        else
          newest, oldest = stamp, oldest or stamp
          local cut, kept = (period + -period % width) / width, newest - oldest
          local n1, u1, c1, k1 = cut % 256, used % 256, current % 256, kept % 256
          if used < 65536 then
            state = string.char(n1, (cut - n1) / 256, b1, b2, b3, b4, b5, b6, u1, (used - u1) / 256, c1, (current - c1) / 256,
              k1, (kept - k1) / 256, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) .. ring
          else
            local more = ''
            c = current % 65536
            for _, rest in ipairs({(used - u) / 65536, (current - c) / 65536}) do
              for _ = 1, 5 do more, rest = more .. string.char(rest % 256), math.floor(rest / 256) end
            end
            state = string.char(n1, (cut - n1) / 256, b1, b2, b3, b4, b5, b6, u1, (u - u1) / 256, c1, (c - c1) / 256,
              k1, (kept - k1) / 256) .. more .. ring
          end
          redis.call('SET', key, state, 'PX', time + period - now)
          at = 25
        end
      end
    elseif cost > limit then
      wait = -1
    elseif cost > room then
      refused = true
    end
    if room < limit and (limit > 0 or refused) then
      -- So many units leave until more is left or, after a refusal, the cost fits. One that costs nothing fits before that.
      local first = refused and cost - room or room < 0 and 1 - room or 1
      for units = first, refused and cost == 0 and limit > 0 and first + 1 or first do
        if width > 0 then
          local bucket = newest
          if oldest < newest then bucket = walk(state, at, oldest, newest, units) end
          reset = (bucket + 1) * width - 1 + period - now
        else
          reset = (units > 1 and walk(state, at, 0, newest, units, size) or oldest) + period - now
        end
        if refused and wait == 0 then wait = reset end
      end
    end
    return room > 0 and room or 0, wait, reset < wait and wait or reset, time
  end,
}
