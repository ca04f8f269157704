-- sliding_window: units taken away, of one bucket or the oldest first.

local function encode(units)
  local digits = ''
  while units >= 128 do
    digits = digits .. string.char(128 + units % 128)
    units = math.floor(units / 128)
  end
  return digits .. string.char(units)
end

local function take(units, named, key, limit, period, width, now)
  local room, _, current, bucket, oldest, at, state = algorithms.sliding_window.read(key, limit, period, width, now)
  local used, ring = limit - room, {}
  if used == 0 then return end
  for index = oldest, bucket do
    local count, gone = current, 0
    if index < bucket then _, at, count = walk(state, at, index, index + 1, math.huge) end
    if not named or index == named then gone = math.min(units, count) end
    units, used = units - gone, used - gone
    if index < bucket then ring[#ring + 1] = encode(count - gone) else current = count - gone end
  end
  if used > 0 then
    write(key, period, width, now, used, current, bucket, oldest, table.concat(ring))
  else
    redis.call('DEL', key)
  end
end

-- The newest units that fill the limit are kept.
function algorithms.sliding_window.count(cost, key, limit, period, width, now, room, ...)
  local _, _, _, time = algorithms.sliding_window.answer('charge', cost, key, limit, period, width, now, room, ...)
  if cost > room then take(cost - room, nil, key, limit, period, width, now) end
  return time
end

function algorithms.sliding_window.refund(units, time, key, limit, period, width, now)
  take(units, time and math.floor(time / width), key, limit, period, width, now)
end
