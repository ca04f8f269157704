-- Decides one request: every window of every rule that it meets, all charged or none.
--
-- State    one key for each window of each rule for each identity; its type is the algorithm's. A rule with
--          a penalty has one key more, a string: the time in milliseconds when its lock began.
-- KEYS     for each rule in ARGV: its lock, if it has a penalty, then its windows. No key twice.
-- ARGV     what: 'hit' charges what passes, 'peek' only looks, 'force' charges what there is room for and
--            'charge' charges all, both whatever stands against it; 'refused' is a hit of a request that
--            another server has refused
--          now_ms: '' means the server's clock
--          for each rule: cost, kind, number of windows, and if it has a penalty: penalty_ms
--            kind is a sum of 1 (enforces; else in shadow), 2 (counts refused requests), 4 (has a penalty)
--            for each of its windows: algorithm, limit, period_ms, the algorithm's parameter
-- Returns  a flat array of integers. For each rule of kind 2 and more, or if forced: verdict (0 = had room, 1 = was full,
--          2 = was locked), lock_wait_ms; then for each window: remaining, wait_ms, reset_ms, charged_at_ms.
--          They describe the state after the call and count from now, but for charged_at_ms, the time under
--          which the window counted the charge, 0 if not all of it, so that a refund gives back none. wait_ms is 0 when there is room and -1 when
--          there never will be, because the cost is above the capacity.
--
-- One full window or lock of an enforcing rule refuses the request, and a refused request is charged
-- nowhere. A shadow rule is judged alone, only when the request passes, and charged only when all of its own
-- windows have room; of a refused request its numbers are all 0. Rules that count refused requests count
-- them whoever refuses, up to what is full.

local algorithms = {}
--@ALGORITHMS@
local what, now = ARGV[1], tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local windows, rules, refused = {}, {}, what == 'refused'

local function read(rule)
  for i = rule.first, rule.last do
    local w = windows[i]
    w.algorithm.read(w, now)
    if rule.cost > w.room then
      rule.full = true
      if rule.cost > w.capacity then rule.impossible = true end
    end
  end
  if rule.penalty > 0 then
    rule.locked_at = tonumber(redis.call('GET', rule.lock))
    if rule.locked_at and rule.locked_at - now > rule.penalty then
      redis.call('DEL', rule.lock) -- the clock went back: as with windows, such a state belongs to no time near now
      rule.locked_at = nil
    end
    rule.locked = rule.locked_at and now < rule.locked_at + rule.penalty
  end
  rule.open = not (rule.full or rule.locked)
end

local at, key, last, argc = 3, 0, 0, #ARGV
while at < argc do
  local kind, count = tonumber(ARGV[at + 1]), ARGV[at + 2]
  -- Every field has its place from the start, here and below: growing a table is slow.
  local rule = {
    cost = tonumber(ARGV[at]), kind = kind, enforce = kind % 2 == 1, first = last + 1, last = last + count,
    penalty = 0, lock = false, locked = false, locked_at = nil, full = false, impossible = false, open = false,
  }
  at = at + 3
  if kind >= 4 then
    key = key + 1
    rule.penalty, rule.lock = tonumber(ARGV[at]), KEYS[key]
    at = at + 1
  end
  for i = rule.first, rule.last do
    local limit, parameter = tonumber(ARGV[at + 1]), ARGV[at + 3]
    key = key + 1
    windows[i] = {
      key = KEYS[key], algorithm = algorithms[ARGV[at]], limit = limit, capacity = limit, room = limit,
      period = tonumber(ARGV[at + 2]), parameter = tonumber(parameter) or parameter, time = 0,
      used = 0, current = 0, bucket = false, oldest = 0, state = false, ring = 0, moved = false,
    }
    at = at + 4
  end
  last = rule.last
  rules[#rules + 1] = rule
  if rule.enforce then
    read(rule)
    if not rule.open then refused = true end
  end
end

local forced = what == 'force' or what == 'charge'
local passes = forced or not refused
local hits = what ~= 'peek'
local reply, n = {}, 0

for r = 1, #rules do
  local rule = rules[r]
  local cost, enforce = rule.cost, rule.enforce
  local judged = enforce or passes
  local counts_refused = hits and rule.kind % 4 >= 2
  if not enforce and (judged or counts_refused) then read(rule) end
  local charged = hits and passes and cost > 0 and (rule.open or forced and enforce)
  local counted = counts_refused and not charged and cost > 0 and not rule.impossible
  if rule.penalty > 0 and hits and judged and not forced and rule.full and not rule.locked and not rule.impossible then
    rule.locked_at = now
    redis.call('SET', rule.lock, string.format('%.0f', now), 'PX', rule.penalty)
  end
  if rule.kind >= 2 or forced then
    local verdict, wait = 0, 0
    if judged then
      verdict = rule.locked and 2 or rule.full and 1 or 0
      if rule.locked_at then wait = math.max(0, rule.locked_at + rule.penalty - now) end
    end
    reply[n + 1], reply[n + 2] = verdict, wait
    n = n + 2
  end
  for i = rule.first, rule.last do
    local w = windows[i]
    local algorithm, remaining, wait, reset = w.algorithm, 0, 0, 0
    if charged then
      local units = cost
      if what == 'force' and algorithm.takes_what_is_left and cost > w.room then units = math.max(0, w.room) end
      if units > 0 then algorithm.charge(w, now, units) end
      if units < cost then w.time = 0 end
    elseif counted then
      algorithm.count(w, now, cost)
    end
    if judged then
      if not charged then
        if cost > w.capacity then
          wait = -1
        elseif cost > w.room then
          wait = algorithm.wait(w, now, cost) - now
        end
      end
      if w.room > 0 then remaining = w.room end
      reset = algorithm.reset(w, now) - now
      if reset < wait then reset = wait end
    end
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = remaining, wait, reset, w.time
    n = n + 4
  end
end
return reply
