-- All actions besides leasing; look.lua is loaded after it. ARGV[8] names the action; each action lists its own arguments.
local actions = {}

-- Returns the job's id, text and state; nil = the lease is no longer held.
local function endLease(token)
  if not owned(token) then return end
  redis.call('ZREM', leases, token)
  local id = string.sub(token, 25)
  local text = redis.call('HGET', jobs, id)
  if not text then return removeJobs({ id }) end
  return id, text, stateOf(redis.call('HGET', states, id))
end

-- Makes the job wait until `readyAt`, or cancels it if that was requested.
local function retryAt(id, text, state, readyAt)
  state.readyAt = number(readyAt)
  if state.cancelRequested == '1' then return finish(id, 'cancelled', state, 'cancelled', '', text) end
  redis.call('HSET', states, id, textOf(state))
  wait(string.sub(text, 1, 12), id, readyAt)
end

-- The set of a job that has not ended, its score and its member there, and its row if it is in the line of a group.
local function whereIs(id, text)
  local member = string.sub(text, 1, 12) .. id
  local score = redis.call('ZSCORE', delayed, member)
  if score then return 'delayed', score, member end
  score = redis.call('ZSCORE', ready, member)
  if score then return 'ready', score, member end
  local groups = groupsHere()
  score = groups and redis.call('ZSCORE', base .. ':lined', member)
  if score then return 'lined', score, member, groups.rowOf(id) end
  return 'leased'
end

-- Takes a job out of its set. It keeps its group.
local function takeOut(where, member, row)
  redis.call('ZREM', base .. ':' .. where, member)
  if row then redis.call('ZREM', base .. ':lines', row .. member) end
end

-- [9] token   [10] ms until it may run again   [11] '1' = the attempt counts   [12] report   [13] channel, '' = none
function actions.nack()
  local id, text, state = endLease(ARGV[9])
  if not id then return 0 end
  if ARGV[11] == '1' then
    state.attempt = state.attempt + 1
    state.interrupted = '0'
    addReport(state, ARGV[12])
  end
  retryAt(id, text, state, at + ARGV[10])
  notify(ARGV[13])
  return 1
end

-- [9] token   [10] end   [11] reason   [12] error   [13] report   [14] ms to keep it, or ''   [15] channel. Returns { 1, number of older
-- dead letters that were removed }.
function actions.abandon()
  local id, text, state = endLease(ARGV[9])
  if not id then return { 0, 0 } end
  state.attempt = state.attempt + 1
  addReport(state, ARGV[13])
  local removed = finish(id, ARGV[10], state, ARGV[11], ARGV[12], text, ARGV[14])
  notifyOfGroups(ARGV[15])
  return { 1, removed }
end

-- [9] ms of the lease, then tokens
function actions.renew()
  local flags = {}
  for i = 10, #ARGV do
    local held = owned(ARGV[i])
    if held then
      redis.call('ZREM', leases, ARGV[i]) -- first, so that a full server accepts the other writes too
      redis.call('ZADD', leases, number(at + ARGV[9]), ARGV[i])
    end
    flags[#flags + 1] = held and '1' or '0'
  end
  return table.concat(flags)
end

-- [9] report of a lost attempt, a format   [10] maximum number   [11] channel
function actions.reap()
  local tokens = redis.call('ZRANGEBYSCORE', leases, '-inf', number(at), 'LIMIT', 0, ARGV[10])
  local count = 0
  for _, token in ipairs(tokens) do
    redis.call('ZREM', leases, token)
    local id = string.sub(token, 25)
    local text = redis.call('HGET', jobs, id)
    if text then
      local state = stateOf(redis.call('HGET', states, id))
      state.attempt = state.attempt + 1
      state.interrupted = '1'
      addReport(state, string.format(ARGV[9], number(state.attempt), string.sub(token, 12, 24), number(at)))
      retryAt(id, text, state, at)
      count = count + 1
    else
      removeJobs({ id })
    end
  end
  if count > 0 then notify(ARGV[11]) end
  return { count, #tokens, groupsHere() and 1 or 0 }
end

-- [9] maximum number   [10] '1' = a worker that finds nothing listens. Returns ms until the next delayed job is ready, the first ready
-- jobs with their ranks (a fetch from several queues decides by them how many to lease from each), and how many are in line behind them.
function actions.heads()
  if redis.call('HGET', info, 'paused') == '1' then return { false, {}, 0 } end
  promote()
  local first = redis.call('ZRANGE', ready, 0, ARGV[9] - 1, 'WITHSCORES')
  if #first == 0 and ARGV[10] == '1' then markIdle() end
  return { nextDelayedMs(), first, groupsHere() and redis.call('ZCARD', base .. ':lined') or 0 }
end

-- [9] id   [10] channel
function actions.cancel()
  local id = ARGV[9]
  local text = redis.call('HGET', jobs, id)
  if not text then return redis.call('HEXISTS', ended, id) == 1 and 'finished' or 'unknown' end
  local state = stateOf(redis.call('HGET', states, id))
  local where, _, member, row = whereIs(id, text)
  if where == 'leased' then
    state.cancelRequested = '1'
    redis.call('HSET', states, id, textOf(state))
    return 'cancelling'
  end
  takeOut(where, member, row)
  finish(id, 'cancelled', state, 'cancelled', '', text)
  notifyOfGroups(ARGV[10])
  return 'cancelled'
end

-- Takes a waiting job out of its set. Returns its text, the set and the score; nil = it is not waiting, or its body is neither of these
-- ('' = any body).
local function takeWaiting(id, body, oldBody)
  local text = redis.call('HGET', jobs, id)
  if not text then return end
  local stored = body ~= '' and string.sub(text, #headOf(text) + 1) or body
  if stored ~= body and stored ~= oldBody then return end
  local where, score, member, row = whereIs(id, text)
  if where == 'leased' then return end
  takeOut(where, member, row)
  return text, where, tonumber(score)
end

-- [9] channel, '' = none   [10] ms until they may run, '' = unchanged   [11] priority, '' = unchanged   [12] second line and [13] body of
-- the new text, '' '' = unchanged   [14] the expected body, '' = any   [15] the same as version 0.1 has stored it; then ids. Returns one
-- character each: '1' = it was changed.
function actions.change()
  local waitMs, flags = tonumber(ARGV[10]), {}
  for i = 16, #ARGV do
    local id = ARGV[i]
    local text, where, score = takeWaiting(id, ARGV[14], ARGV[15])
    if text then
      local old = string.sub(text, 12, 12)
      local priority = ARGV[11] ~= '' and ARGV[11] or old
      local sortKey = string.sub(text, 1, 11) .. priority
      local head, names, body = string.match(text, '^([^\n]*)\n([^\n]*)\n(.*)$')
      local isReady = where ~= 'delayed' or score <= at
      local groups = groupsHere()
      local row = groups and groups.rowOf(id)
      if row then row = groups.reranked(row, id, priority - old) end
      local readyAt, since
      if waitMs and (waitMs > 0 or not isReady) then
        readyAt = at + waitMs
        since = waitMs == 0 and tonumber(string.match(head, '^%S+ (%d+)')) -- ranked by its age
      elseif where == 'lined' then
        since = score - old * ageing
      end
      if row and (readyAt or since) then
        local wasHead = groups.stepDown(id, row)
        groups.wait(row, sortKey .. id, readyAt or at, since, not wasHead)
      elseif since then
        redis.call('ZADD', ready, number(since + priority * ageing), sortKey .. id)
      else
        if where == 'ready' then score = score + (priority - old) * ageing end
        redis.call('ZADD', readyAt and delayed or base .. ':' .. where, number(readyAt or score), sortKey .. id)
      end
      if ARGV[12] ~= '' then names, body = ARGV[12], ARGV[13] end
      if ARGV[12] ~= '' or priority ~= old then
        redis.call('HSET', jobs, id, sortKey .. string.sub(head, 13) .. '\n' .. names .. '\n' .. body)
      end
      if readyAt then
        local state = stateOf(redis.call('HGET', states, id))
        state.readyAt = number(readyAt)
        redis.call('HSET', states, id, textOf(state))
      end
    end
    flags[#flags + 1] = text and '1' or '0'
  end
  notify(ARGV[9])
  return table.concat(flags)
end

-- [9] id   [10] channel
function actions.remove()
  if not takeWaiting(ARGV[9], '') then return 0 end
  removeJobs({ ARGV[9] })
  notifyOfGroups(ARGV[10])
  tellEnded({ ARGV[9] })
  return 1
end

-- [9] ms, then ids. Publishes the ends of these jobs for that time.
function actions.watch()
  local waits = base .. ':waits'
  redis.call('ZREMRANGEBYSCORE', waits, '-inf', number(at))
  for i = 10, #ARGV do redis.call('ZADD', waits, number(at + ARGV[9]), ARGV[i]) end
  redis.call('PEXPIRE', waits, ARGV[9])
  return 1
end

-- [9] id   [10] token   [11] progress
function actions.progress()
  if string.sub(ARGV[10], 25) ~= ARGV[9] or not owned(ARGV[10]) then return 0 end
  local state = stateOf(redis.call('HGET', states, ARGV[9]))
  state.progress = ARGV[11]
  redis.call('HSET', states, ARGV[9], textOf(state))
  return 1
end

local function deadText(id)
  return redis.call('ZSCORE', base .. ':dead', id) and redis.call('HGET', ended, id)
end

-- [9] channel, then for each dead letter: id, and the second line and the body of its new text ('', '' = it keeps its text)
function actions.retry()
  local count = 0
  for i = 10, #ARGV, 3 do
    local id, line, body = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local progress, reports, text =
      string.match(deadText(id) or '', '^[^\n]*\n[^\n]*\n([^\n]*)\n([^\n]*)\n(.*)$')
    if text then
      if line ~= '' then text = string.match(text, '^[^\n]*\n') .. line .. '\n' .. body end
      forget('dead', { id })
      redis.call('HSET', jobs, id, text)
      addGroup(id, text, 0)
      local state = { attempt = 0, interrupted = '0', cancelRequested = '0', progress = progress, reports = reports }
      retryAt(id, text, state, at)
      count = count + 1
    end
  end
  if count > 0 then notify(ARGV[9]) end
  return count
end

-- [9] unused, then ids of dead letters
function actions.discard()
  local count = 0
  for i = 10, #ARGV do
    if deadText(ARGV[i]) then
      forget('dead', { ARGV[i] })
      count = count + 1
    end
  end
  return count
end

-- One step: call it until it returns nothing.
function actions.clear()
  local gone, groups = {}, groupsHere()
  local function clear(set, members, from)
    if #members == 0 then return end
    local ids = {}
    for i, member in ipairs(members) do
      ids[i] = string.sub(member, from)
      gone[#gone + 1] = ids[i]
    end
    redis.call('ZREM', base .. set, unpack(members))
    removeJobs(ids)
  end
  if groups then
    local members, waiting = groups.first(page), {}
    for i, member in ipairs(members) do waiting[i] = string.sub(member, 42) end
    if #members > 0 then redis.call('ZREM', base .. ':lined', unpack(waiting)) end
    clear(':lines', members, 54)
  end
  -- After the lines, so that no job becomes a head.
  if #gone < page then
    for _, set in ipairs({ ':ready', ':delayed' }) do clear(set, redis.call('ZRANGE', base .. set, 0, page - 1), 13) end
  end
  return gone
end

-- The first dead letters of this time or before that have no retention of their own, among the oldest 50,000.
local function deadBefore(time)
  local index, own = base .. ':dead', base .. ':deadKept'
  local hasOwn = redis.call('EXISTS', own) == 1
  for from = 0, 49 * page, page do
    local ids, usual = redis.call('ZRANGEBYSCORE', index, '-inf', number(time), 'LIMIT', from, page), {}
    if #ids == 0 or not hasOwn then return ids end
    local ends = redis.call('ZMSCORE', own, unpack(ids))
    for i, id in ipairs(ids) do
      if not ends[i] then usual[#usual + 1] = id end
    end
    if #usual > 0 then return usual end
  end
  return {}
end

-- [9] [10] retention of completed jobs and dead letters in ms   [11] [12] how much longer the store's own retention is. One step: call it
-- until it returns 0.
function actions.purge()
  local count = 0
  local function forgetAll(index, ids)
    if #ids > 0 then forget(index, ids) end
    count = count + #ids
  end
  local function before(index, time)
    return redis.call('ZRANGEBYSCORE', base .. ':' .. index, '-inf', number(time), 'LIMIT', 0, page)
  end
  forgetAll('done', before('done', at - ARGV[9]))
  forgetAll('dead', deadBefore(at - ARGV[10]))
  forgetAll('kept', before('kept', at + ARGV[11]))
  forgetAll('dead', before('deadKept', at + ARGV[12]))
  return count
end

-- [9] key of the last group that was checked, '' = none   [10] maximum number of groups   [11] channel. Returns the next such key.
function actions.heal()
  local groups = groupsHere()
  if not groups then return '' end
  local after = groups.heal(ARGV[9], tonumber(ARGV[10]), function(id)
    local text = redis.call('HGET', jobs, id)
    return text and (whereIs(id, text)) or nil
  end)
  notifyOfGroups(ARGV[11])
  return after
end
