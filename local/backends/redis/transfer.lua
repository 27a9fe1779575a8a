-- Moves waiting jobs to and from another backend. ARGV[8] names the action.
--
-- A held job has a lease that never ends. Its token begins with a nonce that no lease has, and its state has `readyAt`.
local actions = {}
local nonce = '~move~~~~~~'
local forever = '9007199254740991'
local never = string.rep('0', 13)

local function tokenOf(id) return nonce .. never .. id end

-- Holds members that were removed from their set. `ranks` and `weight` give when each became ready.
local function holdAll(members, ranks, weight)
  local ids, holds = {}, {}
  for i, member in ipairs(members) do
    local id = string.sub(member, 13)
    local text = redis.call('HGET', jobs, id)
    if text then
      local state = stateOf(redis.call('HGET', states, id))
      state.readyAt = number(ranks[i] - string.sub(member, 12, 12) * weight)
      redis.call('HSET', states, id, textOf(state))
      ids[#ids + 1] = id
      holds[#holds + 1], holds[#holds + 2] = forever, tokenOf(id)
    end
  end
  if #holds > 0 then redis.call('ZADD', leases, unpack(holds)) end
  return ids
end

local function take(set, weight, max)
  local found, members, ranks = redis.call('ZRANGE', set, 0, max - 1, 'WITHSCORES'), {}, {}
  if #found > 0 then redis.call('ZREMRANGEBYRANK', set, 0, #found / 2 - 1) end
  for i = 1, #found, 2 do members[#members + 1], ranks[#ranks + 1] = found[i], found[i + 1] end
  return holdAll(members, ranks, weight)
end

-- Takes the lines of the groups, group by group, in order.
local function takeLines(groups, max)
  local found, members = groups.first(max), {}
  if #found == 0 then return {} end
  for i, member in ipairs(found) do members[i] = string.sub(member, 42) end
  redis.call('ZREM', base .. ':lines', unpack(found))
  local ranks = redis.call('ZMSCORE', base .. ':lined', unpack(members))
  redis.call('ZREM', base .. ':lined', unpack(members))
  return holdAll(members, ranks, ageing)
end

-- [9] maximum number. Returns ids, in order.
function actions.hold()
  promote()
  local groups, max = groupsHere(), tonumber(ARGV[9])
  local ids = take(ready, ageing, max)
  if groups and #ids < max then
    for _, id in ipairs(takeLines(groups, max - #ids)) do ids[#ids + 1] = id end
  end
  if #ids == 0 then ids = take(delayed, 0, max) end
  if groups then groups.hold(ids) end
  return ids
end

-- [9] maximum number. Returns ids.
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

-- [9] channel   [10]... ids. Returns one character each: '1' = it was removed.
function actions.remove()
  local flags = {}
  for i = 10, #ARGV do
    local id = ARGV[i]
    local text, state = free(id)
    if text and state.cancelRequested == '1' then
      finish(id, 'cancelled', state, 'cancelled', '', text)
      text = nil
    elseif text then
      removeJobs({ id })
    end
    flags[#flags + 1] = text and '1' or '0'
  end
  notifyOfGroups(ARGV[9])
  return table.concat(flags)
end

-- Six arguments per job: id; text, state and place in the group for a waiting job; text in `ended` and time of death for a dead letter.
-- Arguments that do not apply are ''. A job without a group has place 0.
-- Returns one character each: '1' = stored, '0' = already known, 'f' = the budget of dead letters is full.
function actions.put()
  local flags = {}
  for i = 9, #ARGV, 6 do
    local id, text, state, place, kept, diedAt = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
    local flag = '1'
    if redis.call('HEXISTS', jobs, id) == 1 or redis.call('HEXISTS', ended, id) == 1 then
      flag = '0'
    elseif kept == '' then
      redis.call('HSET', jobs, id, text)
      redis.call('HSET', states, id, state)
      redis.call('ZADD', leases, forever, tokenOf(id))
      addGroup(id, text, place * 1000, true)
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
