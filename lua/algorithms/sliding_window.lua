-- sliding_window: buckets, the partly expired oldest one counted whole, so never above the limit.
--
-- State  string: <used><current><more><bucket><kept><ring>, numbers as bytes, least first. `used` (2 bytes) are
--        the units that count and `current` (2) those in the newest bucket; what of these is beyond two bytes
--        is in `more` (5 + 5). `bucket` (6) is the newest bucket's index, floor(time / width), and `kept` (2)
--        how many older ones the ring has: the units of each, oldest first, as base-128 digits, all but the
--        last of a number with the high bit set. A quiet bucket is one byte.
-- Parameter  width: milliseconds of a bucket
-- Reading    current, bucket, oldest (the oldest kept bucket's index), at (its place in the state), state
--
-- Bucket k stops counting, as a whole, at (k + 1) * width - 1 + period.

-- Walks along a ring from the place `at`, that of `bucket`, until the bucket `stop` or the one with which so many
-- units have been met. Returns that bucket, its place, and how many units were met.
local function walk(ring, at, bucket, stop, units)
  local met = 0
  while bucket < stop do
    local digit, scale = string.byte(ring, at), 1
    while digit >= 128 do
      met = met + (digit - 128) * scale
      scale = scale * 128
      at = at + 1
      digit = string.byte(ring, at)
    end
    met = met + digit * scale
    if met >= units then break end
    bucket, at = bucket + 1, at + 1
  end
  return bucket, at, met
end

local function write(key, period, width, now, used, current, bucket, oldest, ring)
  local kept = bucket - oldest
  local u1, c1, k1, b1 = used % 256, current % 256, kept % 256, bucket % 256
  local b = (bucket - b1) / 256
  local b2 = b % 256 b = (b - b2) / 256
  local b3 = b % 256 b = (b - b3) / 256
  local b4 = b % 256 b = (b - b4) / 256
  local b5 = b % 256
  local state
  if used < 65536 then
    state = string.char(u1, (used - u1) / 256, c1, (current - c1) / 256, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      b1, b2, b3, b4, b5, (b - b5) / 256, k1, (kept - k1) / 256) .. ring
  else
    local u, c, more = used % 65536, current % 65536, ''
    for _, rest in ipairs({(used - u) / 65536, (current - c) / 65536}) do
      for _ = 1, 5 do
        more, rest = more .. string.char(rest % 256), math.floor(rest / 256)
      end
    end
    state = string.char(u1, (u - u1) / 256, c1, (c - c1) / 256) .. more ..
      string.char(b1, b2, b3, b4, b5, (b - b5) / 256, k1, (kept - k1) / 256) .. ring
  end
  redis.call('SET', key, state, 'PX', (bucket + 1) * width - 1 + period - now)
end

algorithms.sliding_window = {
  read = function(key, limit, period, width, now)
    local state = redis.call('GET', key)
    if not state then return limit, limit end
    local u1, u2, c1, c2, u3, u4, u5, u6, u7, c3, c4, c5, c6, c7, b1, b2, b3, b4, b5, b6, k1, k2 = string.byte(state, 1, 22)
    local used = u1 + u2 * 256 + (u3 + u4 * 256 + u5 * 65536 + u6 * 16777216 + u7 * 4294967296) * 65536
    local current = c1 + c2 * 256 + (c3 + c4 * 256 + c5 * 65536 + c6 * 16777216 + c7 * 4294967296) * 65536
    local bucket = b1 + b2 * 256 + b3 * 65536 + b4 * 16777216 + (b5 + b6 * 256) * 4294967296
    local oldest, at = bucket - k1 - k2 * 256, 23
    local newest = bucket * width
    if newest > now then
      if newest - now > period then
        redis.call('DEL', key)
        return limit, limit
      end
      now = newest
    end
    local first = now + 1 - period
    local live = (first - first % width) / width
    if bucket < live then return limit, limit end
    if oldest < live then
      local gone
      oldest, at, gone = walk(state, at, oldest, live, math.huge)
      used = used - gone
    end
    return limit - used, limit, current, bucket, oldest, at, state
  end,

  answer = function(what, cost, key, limit, period, width, now, room, _, current, bucket, oldest, at, state)
    local wait, reset, time = 0, 0, -1
    if what ~= 'peek' and (cost <= room or what ~= 'hit') then
      local index = (now - now % width) / width
      room, time = room - cost, now
      if bucket and index <= bucket then
        current = current + cost
        if index < bucket then time = bucket * width end
        local u, c = (limit - room) % 65536, current % 65536
        if at == 23 and u >= cost and c >= cost then -- the usual case: nothing else has changed
          local u1, c1 = u % 256, c % 256
          redis.call('SETRANGE', key, '0', string.char(u1, (u - u1) / 256, c1, (c - c1) / 256))
        else
          write(key, period, width, now, limit - room, current, bucket, oldest, string.sub(state, at))
        end
      else
        local ring = ''
        if bucket then
          ring = string.sub(state, at)
          while current >= 128 do
            local digit = current % 128
            ring, current = ring .. string.char(128 + digit), (current - digit) / 128
          end
          ring = ring .. string.char(current) .. string.rep('\0', index - bucket - 1)
        end
        bucket, oldest, current, state, at = index, oldest or index, cost, ring, 1
        write(key, period, width, now, limit - room, current, bucket, oldest, ring)
      end
    elseif cost > limit then
      wait = -1
    elseif cost > room then
      wait = (walk(state, at, oldest, bucket, cost - room) + 1) * width - 1 + period - now
    end
    if wait > 0 and cost > 0 then
      reset = wait -- which is for at least as many units
    elseif room < limit and limit > 0 then
      local first = bucket
      if oldest < bucket then first = walk(state, at, oldest, bucket, room < 0 and 1 - room or 1) end
      reset = (first + 1) * width - 1 + period - now
    end
    return room > 0 and room or 0, wait, reset < wait and wait or reset, time
  end,
}
