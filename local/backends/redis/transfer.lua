-- Moves waiting jobs to and from another backend. ARGV[8] names the action.
--
-- A held job has a lease that never ends. Its token begins with a nonce that leasing never makes, and its state has `readyAt`.
local actions = {}
local nonce = '~move~~~~~~'
local forever = '9007199254740991'
local never = string.rep('0', 13)

local function tokenOf(id) return nonce .. never .. id end

local function take(set, weight, max)
  local members = redis.call('ZRANGE', set, 0, max - 1, 'WITHSCORES')
  if #members == 0 then return {} end
  redis.call('ZREMRANGEBYRANK', set, 0, #members / 2 - 1)
  local ids, holds = {}, {}
  for i = 1, #members, 2 do
    local id = string.sub(members[i], 13)
    local text = redis.call('HGET', jobs, id)
    if text then
      local state = stateOf(redis.call('HGET', states, id))
      state.readyAt = number(members[i + 1] - string.sub(members[i], 12, 12) * weight)
      redis.call('HSET', states, id, textOf(state))
      ids[#ids + 1] = id
      holds[#holds + 1], holds[#holds + 2] = forever, tokenOf(id)
    end
  end
  if #holds > 0 then redis.call('ZADD', leases, unpack(holds)) end
  return ids
end

-- [9] at most so many. Ids, in their order.
function actions.hold()
  promote()
  local ids = take(ready, ageing, ARGV[9])
  if #ids > 0 then return ids end
  return take(delayed, 0, ARGV[9])
end

-- [9] at most so many. Ids.
function actions.held()
  local tokens = redis.call('ZRANGEBYSCORE', leases, forever, forever, 'LIMIT', 0, ARGV[9])
  local ids = {}
  for i, token in ipairs(tokens) do ids[i] = string.sub(token, 25) end
  return ids
end

local function free(id)
  if redis.call('ZREM', leases, tokenOf(id)) == 0 then return end
  local text = redis.call('HGET', jobs, id)
  if text then return text, stateOf(redis.call('HGET', states, id)) end
end

-- [9] channel, '' = none; then ids
function actions.release()
  local count = 0
  for i = 10, #ARGV do
    local id = ARGV[i]
    local text, state = free(id)
    if text then
      count = count + 1
      if state.cancelRequested == '1' then
        finish(id, 'cancelled', state, 'cancelled', '', text)
      else
        wait(string.sub(text, 1, 12), id, tonumber(state.readyAt))
      end
    end
  end
  if count > 0 then notify(ARGV[9]) end
  return count
end

-- [9]... ids. One character each: '1' = it was removed.
function actions.remove()
  local flags = {}
  for i = 9, #ARGV do
    local id = ARGV[i]
    local text, state = free(id)
    if text and state.cancelRequested == '1' then
      finish(id, 'cancelled', state, 'cancelled', '', text)
      text = nil
    elseif text then
      redis.call('HDEL', jobs, id)
      redis.call('HDEL', states, id)
    end
    flags[#flags + 1] = text and '1' or '0'
  end
  return table.concat(flags)
end

-- Five arguments per job: id; text and state of a waiting job; text in `ended` and time of death of a dead letter. The others are ''.
-- One character each: '1' = stored, '0' = it was known, 'f' = the dead letters fill their budget.
function actions.put()
  local flags = {}
  for i = 9, #ARGV, 5 do
    local id, text, state, kept, diedAt = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
    local flag = '1'
    if redis.call('HEXISTS', jobs, id) == 1 or redis.call('HEXISTS', ended, id) == 1 then
      flag = '0'
    elseif kept == '' then
      redis.call('HSET', jobs, id, text)
      redis.call('HSET', states, id, state)
      redis.call('ZADD', leases, forever, tokenOf(id))
    else
      local bytes = #kept + overhead
      local full = redis.call('ZCARD', base .. ':dead') >= tonumber(ARGV[6])
        or tonumber(redis.call('HGET', info, 'dead') or 0) + bytes > tonumber(ARGV[7])
      if full then
        flag = 'f'
      else
        redis.call('HSET', ended, id, kept)
        redis.call('ZADD', base .. ':dead', diedAt, id)
        redis.call('HINCRBY', info, 'dead', bytes)
      end
    end
    flags[#flags + 1] = flag
  end
  return table.concat(flags)
end

return actions[ARGV[8]]()
