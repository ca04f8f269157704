-- sliding_log: refusals counted, and units refunded.

-- The newest units that fill the limit are kept.
function algorithms.sliding_log.count(cost, key, limit, period, none, now, room, ...)
  local _, _, _, time = algorithms.sliding_log.answer('charge', cost, key, limit, period, none, now, room, ...)
  if cost > room then
    local over, _, _, _, first, base = algorithms.sliding_log.read(key, limit, period, none, now)
    drop(key, -over, first, base)
  end
  return time
end

-- A refund of a charge that more than a thousand others have followed takes the oldest units instead: those that stay
-- leave later. A log of 999,999 units may have been charged more, and nobody knows when: it gives nothing back.
function algorithms.sliding_log.refund(units, time, key, limit, period, none, now)
  local room, _, _, _, first, base = algorithms.sliding_log.read(key, limit, period, none, now)
  local used = limit - room
  if used == 0 or used == 999999 then return end
  if time then
    local at, entry, before = find(key, first - 1, time - 1)
    if not entry or string.sub(entry, 1, -7) + 0 ~= time then return end
    local earlier = before and string.sub(before, -6) or base
    local own = (string.sub(entry, -6) - earlier) % 1000000
    units = math.min(units, own)
    if units < used and redis.call('LLEN', key) - at <= 1001 then
      local entries, kept = redis.call('LRANGE', key, at, '-1'), {}
      for i = units == own and 2 or 1, #entries do
        local total = (string.sub(entries[i], -6) - units) % 1000000
        kept[#kept + 1] = string.sub(entries[i], 1, -7) .. string.format('%06.0f', total)
      end
      redis.call('LTRIM', key, '0', at - 1)
      if #kept > 0 then redis.call('RPUSH', key, (table.unpack or unpack)(kept)) end
      return
    end
  end
  if units < used then drop(key, units, first, base) else redis.call('UNLINK', key) end
end
