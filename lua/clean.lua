-- clean: deletes the state of one window for one client, or of one lock, that cannot be the limiter's as it is now: one of
--        another type, without an expiry, or with one so late that no count, or no clock, explains it.
--
-- State    as the algorithms of windows and `decide` say at their heads; '' where this script need not read it
-- KEYS     the state
-- ARGV     types it may have, such as 'string' or 'string list'; in how many milliseconds it expires at most, '' if that is
--          not known; 'meter' or 'lock' if its value may say more, else ''; how many milliseconds its time may be ahead,
--          '' for as long as a lock lasts; how many more an expiry may have; now_ms; '1' to look only
-- Returns  1 if it is such a state, 0 if it is as it should be, or gone
--
-- What was read of it before may have changed since: the limiter may have written it in the meantime.

local key, types, most, says, ahead_at_most = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local slack, now, looks = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1'

local function lasts_too_long(left)
  if not most or left <= most then return false end
  if says == '' then return true end
  local began, units, rate = string.match(redis.call('GET', key), '^(%d+) (%d+) ?(%d*)$')
  rate = says == 'lock' and 1 or tonumber(rate)
  if not began or not rate or rate == 0 then return true end
  local ahead, lasts = tonumber(began) - now, math.ceil(tonumber(units) / rate)
  return ahead > (ahead_at_most or lasts) or left > ahead + lasts + slack
end

local left = redis.call('PTTL', key)
if left == -2 then return 0 end
local kind = redis.call('TYPE', key).ok
if left >= 0 and string.find(types, kind, 1, true) and not lasts_too_long(left) then return 0 end
return looks and 1 or redis.call('UNLINK', key)
