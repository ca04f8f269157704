-- Decides one request: every window of every rule that it meets, all charged or none.
--
-- State    one key for each window of each rule for each identity; its type is the algorithm's
-- KEYS     the windows' keys, in the order of the windows in ARGV; no key twice
-- ARGV     what: 'hit' charges what passes, 'peek' only looks
--          now_ms: '' means the server's clock
--          for each rule: cost, number of windows (negative: the rule is in shadow)
--            for each of its windows: algorithm, limit, period_ms, the algorithm's parameter
-- Returns  a flat array of integers, three for each window in order: remaining, wait_ms, reset_ms, after
--          the call and counted from now; wait_ms is 0 when there was room and -1 when there never is,
--          because the cost is above the capacity
--
-- One full window of an enforcing rule refuses the request, and a refused request charges nothing. A
-- shadow rule is judged by its own windows alone, only when the request passes, and is charged only when
-- all of them have room; of a refused request its three numbers are 0, -1, 0 ... see `judged` below.

local algorithms = {}
--@ALGORITHMS@
local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local windows, rules, refused = {}, {}, false

local function read(rule)
  for i = rule.first, rule.last do
    local w = windows[i]
    w.algorithm.read(w, now)
    if rule.cost > w.room then rule.full = true end
  end
end

local at, last, argc = 3, 0, #ARGV
while at < argc do
  local cost, count = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local enforce = count > 0
  if not enforce then count = -count end
  local rule = {cost = cost, enforce = enforce, full = false, first = last + 1, last = last + count}
  at = at + 2
  for i = rule.first, rule.last do
    local limit = tonumber(ARGV[at + 1])
    -- Every field that an algorithm sets has its place from the start: growing a table is slow.
    windows[i] = {
      key = KEYS[i], algorithm = algorithms[ARGV[at]], limit = limit, capacity = limit,
      period = tonumber(ARGV[at + 2]), parameter = tonumber(ARGV[at + 3]), room = limit,
      used = 0, current = 0, bucket = false, oldest = 0, state = false, ring = 0, moved = false,
    }
    at = at + 4
  end
  last = rule.last
  rules[#rules + 1] = rule
  if enforce then
    read(rule)
    refused = refused or rule.full
  end
end

local charging, reply, n = ARGV[1] == 'hit' and not refused, {}, 0
for r = 1, #rules do
  local rule = rules[r]
  local cost, judged = rule.cost, rule.enforce or not refused
  if judged and not rule.enforce then read(rule) end
  local charged = charging and not rule.full and cost > 0
  for i = rule.first, rule.last do
    local w, remaining, wait, reset = windows[i], 0, 0, 0
    if judged then
      local algorithm = w.algorithm
      if charged then
        algorithm.charge(w, now, cost)
      elseif cost > w.capacity then
        wait = -1
      elseif cost > w.room then
        wait = algorithm.wait(w, cost) - now
      end
      if w.room > 0 then remaining = w.room end
      reset = algorithm.reset(w, now) - now
      if reset < wait then reset = wait end
    end
    reply[n + 1], reply[n + 2], reply[n + 3] = remaining, wait, reset
    n = n + 3
  end
end
return reply
