-- Batches.
--
-- KEYS[1] the base:
--   :list          zset  order -> batch   oldest first; the last order is in :order
--   :look          zset  time -> batch    when `check` returns it
--   :ends          zset  time -> batch    earliest time to delete it, checked again by `purge`
--   :of:<batch>    hash  its state; absent fields are null
--   :ended:<batch>, :failed:<batch>       bitmaps, a bit per child
-- Times are epoch ms.
--
-- ARGV[1] time, see clock.lua   [2] action
local base = KEYS[1]
local list, look, ends = base .. ':list', base .. ':look', base .. ':ends'
local day = 86400000
local callWithin = 10000
-- One call reads at most this many bytes of a bitmap.
local mostBytes = 65536

local now = number(at)
local function hashOf(id) return base .. ':of:' .. id end
local function endedOf(id) return base .. ':ended:' .. id end
local function failedOf(id) return base .. ':failed:' .. id end
local fields = {
  'plan', 'createdAt', 'sent', 'planned', 'sealed', 'cancelledAt', 'succeeded', 'failed', 'round', 'changedAt', 'completedAt', 'called'
}

local function read(id)
  local values = redis.call('HMGET', hashOf(id), unpack(fields))
  if not values[1] then return nil end
  local state = { id = id }
  for i, name in ipairs(fields) do state[name] = values[i] end
  return state
end

local function shown(id)
  local state = read(id)
  if not state then return false end
  local values = { id }
  for i, name in ipairs(fields) do values[i + 1] = state[name] or '' end
  return values
end

local function write(id, ...) redis.call('HSET', hashOf(id), ...) end
local function lookAt(id, time) redis.call('ZADD', look, number(time), id) end
local function forgetAt(id, time) redis.call('ZADD', ends, number(time), id) end

-- Completes the batch if all its children have ended.
local function settle(id)
  local state = read(id)
  if state.sealed ~= '1' or state.completedAt then return false end
  if tonumber(state.succeeded) + tonumber(state.failed) ~= tonumber(state.sent) then return false end
  write(id, 'completedAt', now, 'changedAt', now)
  lookAt(id, at + callWithin)
  return true
end

local actions = {}

-- [3] batch   [4] plan   [5] sender   [6] planned
function actions.open()
  local id = ARGV[3]
  local state = read(id)
  if not state then
    write(id, 'plan', ARGV[4], 'sender', ARGV[5], 'createdAt', now, 'changedAt', now, 'sent', '0', 'planned', ARGV[6],
      'sealed', '0', 'succeeded', '0', 'failed', '0', 'round', '1', 'called', '0')
    redis.call('ZADD', list, redis.call('INCR', base .. ':order'), id)
    lookAt(id, at)
    forgetAt(id, at + 90 * day)
  elseif state.sealed ~= '1' then
    write(id, 'sender', ARGV[5])
    if tonumber(ARGV[6]) > tonumber(state.planned) then write(id, 'planned', ARGV[6]) end
  end
  return shown(id)
end

-- [3] batch   [4] sender   [5] sent   [6] planned   [7] sealed
function actions.sent()
  local id = ARGV[3]
  local state = read(id)
  if not state or state.sealed == '1' or redis.call('HGET', hashOf(id), 'sender') ~= ARGV[4] then return false end
  write(id, 'sent', ARGV[5], 'planned', ARGV[6], 'sealed', ARGV[7], 'changedAt', now)
  settle(id)
  return shown(id)
end

-- [3]... batch, count, numbers of its children (- in front of failed ones), in turn. Returns the batches that this completes.
function actions.ended()
  local complete = {}
  local i = 3
  while i <= #ARGV do
    local id, count = ARGV[i], tonumber(ARGV[i + 1])
    local state = read(id)
    if state and not state.completedAt then
      local planned = tonumber(state.planned)
      local ended, failed = endedOf(id), failedOf(id)
      local good, bad = 0, 0
      for j = i + 2, i + 1 + count do
        local isBad = string.sub(ARGV[j], 1, 1) == '-'
        local child = isBad and string.sub(ARGV[j], 2) or ARGV[j]
        if tonumber(child) < planned then
          if isBad then
            if redis.call('SETBIT', ended, child, 1) == 0 then
              redis.call('SETBIT', failed, child, 1)
              bad = bad + 1
            end
          elseif redis.call('SETBIT', ended, child, 1) == 0 then
            good = good + 1
          elseif redis.call('GETBIT', failed, child) == 1 then
            redis.call('SETBIT', failed, child, 0)
            good, bad = good + 1, bad - 1
          end
        end
      end
      if good ~= 0 or bad ~= 0 then
        write(id, 'succeeded', number(state.succeeded + good), 'failed', number(state.failed + bad), 'changedAt', now)
        if settle(id) then complete[#complete + 1] = id end
      end
    end
    i = i + 2 + count
  end
  return complete
end

-- [3] batch
function actions.get() return shown(ARGV[3]) end

-- [3] list the batches after this one, '' = from the start   [4] how many
function actions.list()
  local last = ARGV[3] ~= '' and redis.call('ZSCORE', list, ARGV[3])
  local found = {}
  for _, id in ipairs(redis.call('ZREVRANGEBYSCORE', list, last and '(' .. last or '+inf', '-inf', 'LIMIT', 0, ARGV[4])) do
    found[#found + 1] = shown(id) or nil
  end
  return found
end

-- [3] batch
function actions.cancel()
  local id = ARGV[3]
  local state = read(id)
  if not state or state.completedAt then return false end
  if not state.cancelledAt then
    write(id, 'sent', state.sealed == '1' and state.sent or state.planned, 'sealed', '1', 'cancelledAt', now)
    lookAt(id, at + callWithin)
    settle(id)
  end
  return shown(id)
end

-- [3] batch   [4] bitmap: ended or failed   [5] wanted bit   [6] first number   [7] how many. Returns the number to continue from
-- ('' = end of list), then the numbers.
function actions.numbers()
  local id, wanted, from, max = ARGV[3], ARGV[5] == '1', tonumber(ARGV[6]), tonumber(ARGV[7])
  local state = read(id)
  local found = { '' }
  if not state then return found end
  local planned = tonumber(state.planned)
  local first = math.floor(from / 8)
  local bytes = redis.call('GETRANGE', base .. ':' .. ARGV[4] .. ':' .. id, first, first + mostBytes - 1)
  local stop = math.min(planned, (first + mostBytes) * 8)
  local child = from
  while child < stop and #found <= max do
    local byte = string.byte(bytes, math.floor(child / 8) - first + 1) or 0
    -- Skips a whole byte if none of its bits is wanted.
    if child % 8 == 0 and byte == (wanted and 0 or 255) then
      child = child + 8
    else
      local isSet = math.floor(byte / 2 ^ (7 - child % 8)) % 2 == 1
      if isSet == wanted then found[#found + 1] = number(child) end
      child = child + 1
    end
  end
  if child < planned then found[1] = number(child) end
  return found
end

-- [3] batch   [4]... numbers
function actions.reopen()
  local id = ARGV[3]
  local state = read(id)
  if not state then return 0 end
  local taken = 0
  for i = 4, #ARGV do
    if redis.call('GETBIT', failedOf(id), ARGV[i]) == 1 then
      redis.call('SETBIT', failedOf(id), ARGV[i], 0)
      redis.call('SETBIT', endedOf(id), ARGV[i], 0)
      taken = taken + 1
    end
  end
  if taken == 0 then return 0 end
  write(id, 'failed', number(state.failed - taken), 'called', '0', 'changedAt', now)
  if state.completedAt then redis.call('HINCRBY', hashOf(id), 'round', 1) end
  redis.call('HDEL', hashOf(id), 'completedAt', 'cancelledAt')
  lookAt(id, at)
  return taken
end

-- [3] batch   [4] round
function actions.called()
  local id = ARGV[3]
  local state = read(id)
  if not state or state.round ~= ARGV[4] or not state.completedAt then return end
  write(id, 'called', '1')
  redis.call('ZREM', look, id)
  forgetAt(id, state.completedAt + 7 * day)
end

-- [3] ms without a change   [4] ms until the next check   [5] how many
function actions.check()
  local found = {}
  local most = tonumber(ARGV[5])
  while #found < most do
    local due = redis.call('ZRANGEBYSCORE', look, '-inf', now, 'LIMIT', 0, most - #found)
    if #due == 0 then break end
    for _, id in ipairs(due) do
      local state = read(id)
      if not state or state.called == '1' then
        redis.call('ZREM', look, id)
      elseif state.completedAt or tonumber(state.changedAt) + ARGV[3] <= at then
        lookAt(id, at + ARGV[4])
        found[#found + 1] = shown(id)
      else
        lookAt(id, tonumber(state.changedAt) + ARGV[3])
      end
    end
  end
  return found
end

-- One step; returns how many batches it deleted.
function actions.purge()
  local gone = 0
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, 500)) do
    local state = read(id)
    local time = at
    if state then
      time = state.called == '1' and state.completedAt and state.completedAt + 7 * day or state.changedAt + 90 * day
    end
    if time > at then
      forgetAt(id, time)
    else
      redis.call('UNLINK', hashOf(id), endedOf(id), failedOf(id))
      redis.call('ZREM', list, id)
      redis.call('ZREM', look, id)
      redis.call('ZREM', ends, id)
      gone = gone + 1
    end
  end
  return gone
end

return actions[ARGV[2]]()
