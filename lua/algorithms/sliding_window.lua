-- sliding_window: buckets, the partly expired oldest one counted whole, so never above the limit.
--
-- State  string "<used> <current> <bucket> <oldest> <ring>": units that count, units in the newest bucket,
--        the newest bucket's index (floor(time / width)), the oldest kept bucket's index, then the units of
--        each bucket from the oldest to the one before the newest, as base-128 digits, least first, all
--        but the last of a number with the high bit set. A quiet bucket is one byte.
-- Parameter  width: milliseconds of a bucket
--
-- Bucket k stops counting, as a whole, at (k + 1) * width - 1 + period.

local function decode(text, at)
  local digit = string.byte(text, at)
  if digit < 128 then return digit, at + 1 end
  local units, scale = 0, 1
  while digit >= 128 do
    units = units + (digit - 128) * scale
    scale = scale * 128
    at = at + 1
    digit = string.byte(text, at)
  end
  return units + digit * scale, at + 1
end

local function encode(units)
  local digits = ''
  while units >= 128 do
    digits = digits .. string.char(128 + units % 128)
    units = math.floor(units / 128)
  end
  return digits .. string.char(units)
end

-- When so many of the oldest units will have stopped counting.
local function left(w, units)
  local bucket, at = w.oldest, w.ring
  while bucket < w.bucket do
    local count
    count, at = decode(w.state, at)
    units = units - count
    if units <= 0 then break end
    bucket = bucket + 1
  end
  return (bucket + 1) * w.parameter - 1 + w.period
end

local function write(w, now, ring)
  local head = string.format('%.0f %.0f %.0f %.0f ', w.used, w.current, w.bucket, w.oldest)
  w.state, w.ring = head .. ring, #head + 1
  redis.call('SET', w.key, w.state, 'PX', string.format('%.0f', (w.bucket + 1) * w.parameter - 1 + w.period - now))
end

-- Take units away: `take(index, units of that bucket)` says how many of each bucket, oldest first.
local function reduce(w, now, take)
  local ring, at, count, gone = {}, w.ring, nil, nil
  for bucket = w.oldest, w.bucket - 1 do
    count, at = decode(w.state, at)
    gone = take(bucket, count)
    w.used = w.used - gone
    ring[#ring + 1] = encode(count - gone)
  end
  gone = take(w.bucket, w.current)
  w.current, w.used = w.current - gone, w.used - gone
  w.room = w.limit - w.used
  if w.used > 0 then write(w, now, table.concat(ring)) else redis.call('DEL', w.key) end
end

-- A `take` for `reduce`: so many units, the oldest first.
local function oldest_first(units)
  return function(_, count)
    local gone = math.min(units, count)
    units = units - gone
    return gone
  end
end

algorithms.sliding_window = {
  read = function(w, now)
    local state = redis.call('GET', w.key)
    if not state then return end
    local width = w.parameter
    local used, current, bucket, oldest, ring = string.match(state, '^(%d+) (%d+) (%d+) (%d+) ()')
    used, bucket, oldest = tonumber(used), tonumber(bucket), tonumber(oldest)
    local newest = bucket * width
    if newest > now then
      if newest - now > w.period then
        redis.call('DEL', w.key)
        return
      end
      now = newest
    end
    local live = math.floor((now + 1 - w.period) / width)
    if bucket < live then return end
    w.moved = oldest < live
    while oldest < live do
      local count
      count, ring = decode(state, ring)
      used, oldest = used - count, oldest + 1
    end
    w.used, w.current, w.bucket, w.oldest, w.state, w.ring = used, tonumber(current), bucket, oldest, state, ring
    w.room = w.limit - used
  end,

  charge = function(w, now, cost)
    local bucket, ring = math.floor(now / w.parameter), ''
    w.used, w.room, w.time = w.used + cost, w.room - cost, now
    if w.bucket and bucket <= w.bucket then
      w.current = w.current + cost
      if bucket < w.bucket then w.time = w.bucket * w.parameter end
      local head = string.format('%.0f %.0f ', w.used, w.current)
      if not w.moved and string.match(w.state, '^%d+ %d+ ()') == #head + 1 then
        redis.call('SETRANGE', w.key, '0', head) -- the usual case: two numbers of the same length as before
        return
      end
      ring = string.sub(w.state, w.ring)
    else
      if w.bucket then
        ring = string.sub(w.state, w.ring) .. encode(w.current) .. string.rep('\0', bucket - w.bucket - 1)
      else
        w.oldest = bucket
      end
      w.current, w.bucket = cost, bucket
    end
    write(w, now, ring)
  end,

  -- The newest units that fill the limit are kept.
  count = function(w, now, cost)
    algorithms.sliding_window.charge(w, now, cost)
    if w.room < 0 then reduce(w, now, oldest_first(-w.room)) end
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
    local named = time and math.floor(time / w.parameter)
    reduce(w, now, time and function(bucket, count)
      return bucket == named and math.min(cost, count) or 0
    end or oldest_first(cost))
  end,
}
