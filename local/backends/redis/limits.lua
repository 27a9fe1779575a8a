-- Slots of limits, and the jobs waiting for them.
--
-- KEYS[1] the base:
--   :keys                 zset  0    -> key      all stored keys, sorted as text
--   :ends                 zset  time -> key      nothing of the key counts after this time
--   :key:<key>            hash  `limits` of its slots, separated by spaces; `hold`: until when it is held; `s:<holder>`: limit and owner
--                               of a slot; `w:<holder>`: limit and queue of a waiter
--   :slots:<limit>:<key>  zset  time -> holder   when the slot ends
--   :waiters:<key>        zset  rank -> holder
--   :waits:<key>          zset  time -> holder   when the waiter is forgotten
--   :holder:<holder>      set   keys that the job has waited for; expires when the waiter is forgotten
-- Times are epoch ms. `ends` finds unused keys. The expiry of Redis would make every take more expensive.
--
-- ARGV[1] time, see clock.lua   [2] action
local base = KEYS[1]
local index, ends = base .. ':keys', base .. ':ends'
local forever = 9007199254740991
local day = 86400000
-- `unpack` takes about 8,000 values at most.
local page = 1000

local past = number(at)
local function hashOf(key) return base .. ':key:' .. key end
local function slotsOf(key, limit) return base .. ':slots:' .. limit .. ':' .. key end
local function waitersOf(key) return base .. ':waiters:' .. key, base .. ':waits:' .. key end

local function each(members, prefix)
  local named = {}
  for i, member in ipairs(members) do named[i] = prefix .. member end
  return unpack(named)
end

-- Records that these keys count at least until the given times.
local function lasts(untils)
  local pairsOf = {}
  for key, till in pairs(untils) do
    local n = #pairsOf
    pairsOf[n + 1], pairsOf[n + 2] = number(till), key
  end
  if #pairsOf > 0 then redis.call('ZADD', ends, 'GT', unpack(pairsOf)) end
end

local function removeKeys(keys)
  redis.call('ZREM', ends, unpack(keys))
  redis.call('ZREM', index, unpack(keys))
end

-- Removes up to `max` keys that have ended; returns how many.
local function sweep(max)
  local keys = redis.call('ZRANGEBYSCORE', ends, '-inf', past, 'LIMIT', 0, max)
  for _, key in ipairs(keys) do
    for limit in string.gmatch(redis.call('HGET', hashOf(key), 'limits') or '', '%d+') do
      redis.call('UNLINK', slotsOf(key, limit))
    end
    redis.call('UNLINK', hashOf(key), waitersOf(key))
  end
  if #keys > 0 then removeKeys(keys) end
  return #keys
end

-- Removes the key if nothing of it is left but the limits of slots that are gone.
local function tidy(key)
  local fields = redis.call('HLEN', hashOf(key))
  if fields > 1 or (fields == 1 and redis.call('HEXISTS', hashOf(key), 'limits') == 0) then return end
  redis.call('UNLINK', hashOf(key))
  removeKeys({ key })
end

-- The first slot of a limit that is in use, and its end. Removes slots that have ended.
local function firstOf(key, limit)
  local slots = slotsOf(key, limit)
  while true do
    local first = redis.call('ZRANGE', slots, 0, 0, 'WITHSCORES')
    local till = tonumber(first[2])
    if not till or till > at then return first[1], till end
    local gone = redis.call('ZRANGEBYSCORE', slots, '-inf', past, 'LIMIT', 0, page)
    redis.call('ZREMRANGEBYRANK', slots, 0, #gone - 1)
    redis.call('HDEL', hashOf(key), each(gone, 's:'))
  end
end

-- The slots that other holders use ('' = all holders): how many, the smallest and the largest limit, and the end of the first slot.
-- Also whether a job waits under the name `waiter`.
local function read(key, holder, waiter)
  local hash = hashOf(key)
  local row = redis.call('HMGET', hash, 'limits', 'hold', 's:' .. holder, 'w:' .. (waiter or ''))
  local ownLimit = string.match(row[3] or '', '^%d+')
  local found = { used = 0, hold = tonumber(row[2] or 0), listed = row[1], limits = {}, waits = row[4] }
  for limit in string.gmatch(row[1] or '', '%d+') do
    local first, till = firstOf(key, limit)
    if first then
      local slots = slotsOf(key, limit)
      local others = redis.call('ZCARD', slots)
      if limit == ownLimit and redis.call('ZSCORE', slots, holder) then
        found.own = slots
        others = others - 1
        if first == holder then till = tonumber(redis.call('ZRANGE', slots, 1, 1, 'WITHSCORES')[2]) end
      end
      found.limits[#found.limits + 1] = limit
      if others > 0 then
        found.used = found.used + others
        found.least = math.min(found.least or forever, tonumber(limit))
        found.most = math.max(found.most or 0, tonumber(limit))
        found.firstEnd = math.min(found.firstEnd or forever, till)
      end
    end
  end
  return found
end

local function removeWaiters(key, holders)
  local waiters, waits = waitersOf(key)
  redis.call('ZREM', waiters, unpack(holders))
  redis.call('ZREM', waits, unpack(holders))
  redis.call('HDEL', hashOf(key), each(holders, 'w:'))
  for _, holder in ipairs(holders) do redis.call('SREM', base .. ':holder:' .. holder, key) end
end

-- Removes waiters that have not asked for too long.
local function removeLate(key)
  local _, waits = waitersOf(key)
  local late = redis.call('ZRANGEBYSCORE', waits, '-inf', past, 'LIMIT', 0, page)
  if #late > 0 then removeWaiters(key, late) end
end

-- Returns how many wait ahead of it, and until when it waits.
local function addWaiter(key, holder, rank, limit, queue, waitMs)
  local waiters, waits = waitersOf(key)
  removeLate(key)
  redis.call('ZADD', waiters, rank, holder)
  local ahead = redis.call('ZRANK', waiters, holder)
  waitMs = waitMs(ahead)
  local keepMs = math.min(waitMs, 7 * day) + day
  redis.call('ZADD', waits, number(at + keepMs), holder)
  redis.call('HSET', hashOf(key), 'w:' .. holder, limit .. ' ' .. queue)
  local keys = base .. ':holder:' .. holder
  redis.call('SADD', keys, key)
  if redis.call('PTTL', keys) < keepMs then redis.call('PEXPIRE', keys, number(keepMs)) end
  return ahead, waitMs, at + keepMs
end

-- Removes up to `max` waiters that may try now, and appends key, holder and queue of each to `woken`.
local function wake(key, max, woken)
  local waiters = waitersOf(key)
  if redis.call('EXISTS', waiters) == 0 then return end
  removeLate(key)
  local first = redis.call('ZRANGE', waiters, 0, 0)[1]
  if not first then return tidy(key) end
  local found = read(key, '')
  if found.hold > at then return end
  local limit = string.match(redis.call('HGET', hashOf(key), 'w:' .. first), '^%d+')
  local count = math.min(max, page, math.min(found.least or forever, tonumber(limit)) - found.used)
  if count < 1 then return end
  local holders = redis.call('ZRANGE', waiters, 0, count - 1)
  local texts = redis.call('HMGET', hashOf(key), each(holders, 'w:'))
  for i, holder in ipairs(holders) do
    local n = #woken
    woken[n + 1], woken[n + 2], woken[n + 3] = key, holder, string.match(texts[i], '^%d+ (.*)$')
  end
  removeWaiters(key, holders)
  tidy(key)
end

local actions = {}

-- [3]... key, limit, holder, owner, ms, rank, queue, waiter. Returns four values for each: the limit that counts, the largest limit, how
-- many are ahead (false = it has the slot), and ms to wait (-1 = until a reset).
function actions.take()
  local answers, untils, keys = {}, {}, {}
  sweep(math.min(page, #ARGV))
  for i = 3, #ARGV, 8 do
    local key, limit, holder, owner, rank, queue = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 5], ARGV[i + 6]
    local holdMs, waiter = tonumber(ARGV[i + 4]), ARGV[i + 7]
    local found = read(key, holder, waiter)
    local least = math.min(tonumber(limit), found.least or forever)
    local most = math.max(tonumber(limit), found.most or 0)
    local till, ahead, waitMs
    if found.used < least and found.hold <= at then
      till = at + holdMs
      local slots = slotsOf(key, limit)
      if found.own and found.own ~= slots then redis.call('ZREM', found.own, holder) end
      if found.waits then removeWaiters(key, { waiter }) end
      redis.call('ZADD', slots, number(till), holder)
      local isListed = false
      for _, one in ipairs(found.limits) do isListed = isListed or one == limit end
      if not isListed then found.limits[#found.limits + 1] = limit end
      local listed = table.concat(found.limits, ' ')
      if listed == found.listed then
        redis.call('HSET', hashOf(key), 's:' .. holder, limit .. ' ' .. owner)
      else
        redis.call('HSET', hashOf(key), 's:' .. holder, limit .. ' ' .. owner, 'limits', listed)
      end
    else
      local begins = math.max(found.hold, found.used < least and 0 or found.firstEnd)
      ahead, waitMs, till = addWaiter(key, waiter, rank, limit, queue, function(before)
        if begins >= forever then return forever end
        return math.max(1, begins - at + math.floor(before / least) * holdMs)
      end)
    end
    untils[key] = math.max(untils[key] or 0, till)
    keys[#keys + 1], keys[#keys + 2] = 0, key
    local n = #answers
    answers[n + 1], answers[n + 2], answers[n + 3] = least, most, ahead or false
    answers[n + 4] = waitMs == forever and -1 or waitMs or 0
  end
  redis.call('ZADD', index, unpack(keys))
  lasts(untils)
  return answers
end

local function limitOfSlot(key, holder, owner)
  local limit, owned = string.match(redis.call('HGET', hashOf(key), 's:' .. holder) or '', '^(%d+) (.*)$')
  return owned == owner and limit
end

-- [3] ms   [4]... key, holder, owner. One character each: '1' = its end was moved.
function actions.extend()
  local flags, untils, till = {}, {}, at + ARGV[3]
  for i = 4, #ARGV, 3 do
    local key, holder = ARGV[i], ARGV[i + 1]
    local limit = limitOfSlot(key, holder, ARGV[i + 2])
    local slots = limit and slotsOf(key, limit)
    local ended = slots and redis.call('ZSCORE', slots, holder)
    local isHeld = ended and tonumber(ended) > at
    if isHeld then
      redis.call('ZREM', slots, holder) -- first, so that a full server accepts the other writes too
      redis.call('ZADD', slots, number(till), holder)
      untils[key] = till
    end
    flags[#flags + 1] = isHeld and '1' or '0'
  end
  lasts(untils)
  return table.concat(flags)
end

-- [3]... key, holder, owner. Returns key, holder and queue of the waiters that may try now.
function actions.free()
  local keys, freed, woken, gone = {}, {}, {}, {}
  for i = 3, #ARGV, 3 do
    local key, holder = ARGV[i], ARGV[i + 1]
    local limit = limitOfSlot(key, holder, ARGV[i + 2])
    if limit and redis.call('HLEN', hashOf(key)) == 2 then
      -- The hash has only this slot and its limits: no job waits, so the key is deleted.
      redis.call('DEL', hashOf(key), slotsOf(key, limit))
      gone[#gone + 1] = key
    elseif limit then
      local slots = slotsOf(key, limit)
      local till = redis.call('ZSCORE', slots, holder)
      redis.call('ZREM', slots, holder)
      redis.call('HDEL', hashOf(key), 's:' .. holder)
      if not freed[key] then keys[#keys + 1], freed[key] = key, 0 end
      if till and tonumber(till) > at then freed[key] = freed[key] + 1 end
    end
  end
  if #gone > 0 then removeKeys(gone) end
  for _, key in ipairs(keys) do wake(key, freed[key], woken) end
  return woken
end

-- [3] key   [4] maximum number. Returns the same as `free`.
function actions.wake()
  local woken = {}
  wake(ARGV[3], tonumber(ARGV[4]), woken)
  return woken
end

-- [3] key   [4] ms, at most `forever`
function actions.hold()
  local key, till = ARGV[3], math.min(forever, at + ARGV[4])
  if till <= math.max(at, tonumber(redis.call('HGET', hashOf(key), 'hold') or 0)) then return end
  redis.call('HSET', hashOf(key), 'hold', number(till))
  redis.call('ZADD', index, 0, key)
  lasts({ [key] = till })
end

-- [3] key. 1 = there was a slot or a hold.
function actions.reset()
  local key = ARGV[3]
  local found = read(key, '')
  local _, waits = waitersOf(key)
  for _, limit in ipairs(found.limits) do
    local slots = slotsOf(key, limit)
    while true do
      local holders = redis.call('ZRANGE', slots, 0, page - 1)
      if #holders == 0 then break end
      redis.call('ZREMRANGEBYRANK', slots, 0, #holders - 1)
      redis.call('HDEL', hashOf(key), each(holders, 's:'))
    end
  end
  redis.call('HDEL', hashOf(key), 'limits', 'hold')
  tidy(key)
  local last = redis.call('ZRANGE', waits, -1, -1, 'WITHSCORES')[2]
  if last then redis.call('ZADD', ends, last, key) end
  return (found.used > 0 or found.hold > at) and 1 or 0
end

-- [3] prefix   [4] start, as for ZRANGEBYLEX   [5] maximum number of keys. Returns the last key that was read, '' = end of list;
-- then for each key that counts: key, smallest limit, slots in use, end of the hold, waiters, holders and ends of the first slots.
function actions.list()
  local to = ARGV[3] == '' and '+' or '(' .. ARGV[3] .. '\255'
  local keys = redis.call('ZRANGEBYLEX', index, ARGV[4], to, 'LIMIT', 0, ARGV[5])
  local shown = { #keys == tonumber(ARGV[5]) and keys[#keys] or '' }
  for _, key in ipairs(keys) do
    local found = read(key, '')
    local _, waits = waitersOf(key)
    local waiting = redis.call('ZCOUNT', waits, '(' .. past, '+inf')
    if found.used > 0 or found.hold > at or waiting > 0 then
      local slots = {}
      for _, limit in ipairs(found.limits) do
        for _, text in ipairs(redis.call('ZRANGE', slotsOf(key, limit), 0, 19, 'WITHSCORES')) do slots[#slots + 1] = text end
      end
      shown[#shown + 1] = { key, found.least or false, found.used, found.hold > at and number(found.hold) or false, waiting, slots }
    end
  end
  return shown
end

-- [3]... holders
function actions.leave()
  for i = 3, #ARGV do
    for _, key in ipairs(redis.call('SMEMBERS', base .. ':holder:' .. ARGV[i])) do
      removeWaiters(key, { ARGV[i] })
      tidy(key)
    end
  end
end

-- [3]... holders. Returns the keys of each.
function actions.waitsFor()
  local all = {}
  for i = 3, #ARGV do
    local found = {}
    for _, key in ipairs(redis.call('SMEMBERS', base .. ':holder:' .. ARGV[i])) do
      local _, waits = waitersOf(key)
      local till = redis.call('ZSCORE', waits, ARGV[i])
      if till and tonumber(till) > at then found[#found + 1] = key end
    end
    all[#all + 1] = found
  end
  return all
end

-- Removes keys of which nothing counts any more. One step: call it until it returns 0.
function actions.purge() return sweep(page) end

return actions[ARGV[2]]()
