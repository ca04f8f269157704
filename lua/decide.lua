-- Decides one request: every window of every rule that it meets, all charged or none.
--
-- State    one key for each window of each rule for each identity; its type is the algorithm's. A rule with
--          a penalty has one key more, a string "<start> <penalty>": when its lock began and how long it was to last,
--          in milliseconds. A shorter penalty of today ends it sooner, a longer one does not prolong it. Where the penalty
--          grows it is "<start> <penalty> <number> <within>": also which lock it was, and how long after its start it
--          counts. A lock that begins before that, and within the time of today, has the next number; any other has 1.
-- KEYS     for each rule in ARGV: its lock, if it has a penalty, then its windows. No key twice.
-- ARGV     what: 'hit' charges what passes, 'peek' answers as a hit would and changes no state, 'look' is the first
--            half of a hit that asks several servers: it charges nothing, and else leaves the states as a hit does,
--            'force' charges what there is room for and 'charge' charges all, both whatever stands against it;
--            'refused' is a hit of a request that another server has refused. With ' now_ms' behind it, it is decided
--            at that time, not at the server's
--          for each rule: kind, then its cost unless that is 1, then its penalty_ms if it has one;
--          where that grows, "within_ms penalty_ms penalty_ms ...": the lock of number n lasts the n-th, or the last
--            kind is a sum of 1 (enforces; else in shadow), 2 (counts refused requests), 4 (has a penalty), 8 (its
--            cost is not 1), and 16 for each of its windows; negative, the rule only looks
--            for each of its windows: algorithm, limit, period_ms, the algorithm's parameter
--          The usual call, a hit of one window of one rule of kind 17, has these four alone, and now_ms if it is given
-- Returns  a flat array of integers. For each rule of kind 2, 4 or both, or if forced: verdict (0 = had room, 1 = was
--          full, 2 = was locked), lock_wait_ms; then for each window: remaining, wait_ms, reset_ms, charged_at_ms.
--          They describe the state after the call and count from now, but for charged_at_ms, the time under
--          which the window counted the charge, -1 if not all of it, so that a refund removes none. wait_ms is 0
--          when there is room, and -1 when there never will be, because the cost is above the capacity. reset_ms is
--          when remaining next grows, but not before wait_ms; 0 when nothing counts, or the limit is 0.
--
-- One full window or lock of an enforcing rule refuses the request, and a refused request is charged
-- nowhere. A shadow rule is judged alone, only when the request passes, and charged only when all of its own
-- windows have room; of a refused request its numbers are all 0, but for the last. Rules that count refused requests count
-- them whoever refuses, up to what is full. A rule that only looks refuses and locks like any other, and what
-- passes it is not charged.

local algorithms = {usually = nil} -- made with room for one
--@ALGORITHMS@
local usual, what, now = #ARGV < 6, ARGV[1], nil
if usual then
  what, now = 'hit', ARGV[5]
elseif #what > 7 then
  what, now = string.match(what, '^(%a+) (%d+)$')
end
if now then
  now = now + 0 -- what tonumber does, at a third of its cost
else
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
  now = now - now % 1
end

-- Lua 5.4, which Dragonfly has, tells 3.0 from 3, and such a server answers it as text.
local whole = math.type and function(reply)
  for i = 1, #reply do reply[i] = math.floor(reply[i]) end
  return reply
end

-- One window of one rule has to wait for no other.
if usual then
  local algorithm, key, limit, period, parameter = algorithms[ARGV[1]], KEYS[1], ARGV[2] + 0, ARGV[3] + 0, ARGV[4]
  if not algorithm.edges then parameter = parameter + 0 end
  local reply = {algorithm.answer(what, 1, key, limit, period, parameter, now, algorithm.read(key, limit, period, parameter, now))}
  return whole and whole(reply) or reply
end

-- The same for any number of windows of rules that enforce or look, and nothing else. They are read one behind the other,
-- what was read stays on the stack, and on the way back, when it is known of all whether there is room, each answers: no
-- tables.
local peeks = what == 'peek'
if what == 'look' then what = 'peek' end
local arguments, keys = ARGV, KEYS -- nearer than global names
local function is_plain()
  local at = 2
  while arguments[at] do
    local kind = arguments[at] + 0
    if kind < 0 then kind = -kind end
    local rest = kind % 16
    if rest ~= 1 and rest ~= 9 then return false end
    at = at + (kind - rest) / 4 + (rest == 9 and 2 or 1)
  end
  return true
end

if (what == 'hit' or what == 'peek') and is_plain() then
  local function answered(algorithm, charges, cost, key, limit, period, parameter, room, capacity, a, b, c, d, e, f, ...)
    local remaining, wait, reset, charged_at = algorithm.answer(
      charges and what or 'peek', cost, key, limit, period, parameter, now, room, capacity, a, b, c, d, e, f)
    return remaining, wait, reset, charged_at, ...
  end

  -- The next window is at these places of arguments and keys, and its rule has so many `left`.
  local function visit(at, number, left, cost, charges)
    if left == 0 then
      if not arguments[at] then return end
      local kind = arguments[at] + 0
      charges, cost, at = kind > 0, 1, at + 1
      if not charges then kind = -kind end
      local rest = kind % 16
      if rest == 9 then
        cost, at = arguments[at] + 0, at + 1
        charges = charges and cost > 0
      end
      left = (kind - rest) / 16
    end
    local algorithm, key = algorithms[arguments[at]], keys[number]
    local limit, period, parameter = arguments[at + 1] + 0, arguments[at + 2] + 0, arguments[at + 3]
    if not algorithm.edges then parameter = parameter + 0 end
    local room, capacity, a, b, c, d, e, f = algorithm.read(key, limit, period, parameter, now, peeks)
    if cost > room then what = 'peek' end
    return answered(algorithm, charges, cost, key, limit, period, parameter, room, capacity, a, b, c, d, e, f,
      visit(at + 4, number + 1, left - 1, cost, charges))
  end
  local reply = {visit(2, 1, 0)}
  return whole and whole(reply) or reply
end

local unpack = table.unpack or unpack -- in Lua 5.4, and in 5.1

-- A window is a list: its algorithm, the arguments of its functions, and its reading.
local ROOM, CAPACITY = 7, 8

local function lasts_today(rule, number)
  local steps = rule.steps
  return steps and steps[math.min(number, #steps)] or rule.penalty
end

local function look(rule)
  for i = 1, rule.count do
    local at, key = rule.at + 4 * (i - 1), KEYS[rule.key + i]
    local algorithm, limit, period, parameter = algorithms[ARGV[at]], ARGV[at + 1] + 0, ARGV[at + 2] + 0, ARGV[at + 3]
    if not algorithm.edges then parameter = parameter + 0 end
    local window = {algorithm, key, limit, period, parameter, now, algorithm.read(key, limit, period, parameter, now, peeks)}
    rule[i] = window
    if rule.cost > window[ROOM] then
      rule.full = true
      if rule.cost > window[CAPACITY] then rule.impossible = true end
    end
  end
  if rule.lock then
    local start, lasts, number, within = string.match(redis.call('GET', rule.lock) or '', '^(%d+) (%d+) ?(%d*) ?(%d*)$')
    if start then
      number, within = tonumber(number) or 1, tonumber(within) or lasts + 0
      lasts = math.min(lasts + 0, lasts_today(rule, number))
      if start - now > lasts then
        -- The clock went back: as with windows, such a state belongs to no time near now.
        if not peeks then redis.call('DEL', rule.lock) end
      else
        rule.lock_ends = start + lasts
        rule.locked = now < rule.lock_ends
        if rule.steps and now - start < math.min(within, rule.within) then rule.number = number + 1 end
      end
    end
  end
  rule.open = not (rule.full or rule.locked)
end

local rules, at, key, refused = {}, 2, 0, what == 'refused'
while ARGV[at] do
  local kind, looks = ARGV[at] + 0, false
  if kind < 0 then kind, looks = -kind, true end
  local rule = {
    cost = 1, looks = looks, enforce = kind % 2 == 1, counts_refused = kind % 4 >= 2, count = math.floor(kind / 16),
    at = 0, key = 0, number = 1, full = false, impossible = false, open = false,
  }
  at = at + 1
  if kind % 16 >= 8 then
    rule.cost = ARGV[at] + 0
    at = at + 1
  end
  if kind % 8 >= 4 then
    key = key + 1
    rule.penalty, rule.lock = tonumber(ARGV[at]), KEYS[key]
    if not rule.penalty then
      rule.steps = {}
      for ms in string.gmatch(ARGV[at], '%d+') do rule.steps[#rule.steps + 1] = ms + 0 end
      rule.within = table.remove(rule.steps, 1)
    end
    at = at + 1
  end
  rule.at, rule.key = at, key
  at, key = at + 4 * rule.count, key + rule.count
  rules[#rules + 1] = rule
  if rule.enforce then
    look(rule)
    if not rule.open then refused = true end
  end
end

local forced = what == 'force' or what == 'charge'
local passes = forced or not refused
local hits = what ~= 'peek'
local reply, n = {}, 0

-- All that can fail, such as a foreign type under a key, has failed before anything is charged.
for r = 1, #rules do
  local rule = rules[r]
  if not rule.enforce and (passes or hits and rule.counts_refused) then look(rule) end
end

for r = 1, #rules do
  local rule = rules[r]
  local cost, judged = rule.cost, rule.enforce or passes
  local counts = hits and rule.counts_refused
  local charged = hits and passes and not rule.looks and cost > 0 and (rule.open or forced and rule.enforce)
  local waits = rule.looks and passes and rule.open -- what is charged after the answer, if at all
  local counted = counts and not charged and not waits and cost > 0 and not rule.impossible
  local own_refusal = judged and rule.full and not rule.locked and not rule.impossible and cost > 0
  if rule.lock and hits and not forced and own_refusal then
    local lasts = lasts_today(rule, rule.number)
    local lock, kept = string.format('%.0f %.0f', now, lasts), lasts
    if rule.within then
      lock, kept = string.format('%s %.0f %.0f', lock, rule.number, rule.within), rule.within
    end
    rule.lock_ends = now + lasts
    redis.call('SET', rule.lock, lock, 'PX', kept)
  end
  if rule.counts_refused or rule.lock or forced then
    local verdict, wait = 0, 0
    if judged then
      verdict = rule.locked and 2 or rule.full and 1 or 0
      if rule.lock_ends then wait = math.max(0, rule.lock_ends - now) end
    end
    reply[n + 1], reply[n + 2] = verdict, wait
    n = n + 2
  end
  for i = 1, rule.count do
    local remaining, wait, reset, charged_at, counted_at = 0, 0, 0, -1, nil
    if counted then
      local window = rule[i]
      local algorithm, key, limit, period, parameter = unpack(window, 1, 5)
      counted_at = algorithm.count(cost, unpack(window, 2))
      rule[i] = {algorithm, key, limit, period, parameter, now, algorithm.read(key, limit, period, parameter, now)}
    end
    if judged then
      remaining, wait, reset, charged_at = rule[i][1].answer(charged and what or 'peek', cost, unpack(rule[i], 2))
    end
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = remaining, wait, reset, counted_at or charged_at
    n = n + 4
  end
end
return whole and whole(reply) or reply
