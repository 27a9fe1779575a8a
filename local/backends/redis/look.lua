-- The actions of manage.lua that read; loaded after it.

-- [9]... ids
function actions.cancelRequested()
  local found = {}
  for i = 9, #ARGV do
    local text = redis.call('HGET', states, ARGV[i])
    if text and stateOf(text).cancelRequested == '1' then found[#found + 1] = ARGV[i] end
  end
  return found
end

-- [9] maximum number   [10] time of death and [11] id of the dead letter to continue after; '', '' = from the newest   [12] '1' = include
-- the dead letter of this id. Returns ids and times, newest first.
function actions.dead()
  local index, from = base .. ':dead', 0
  if ARGV[10] ~= '' then
    -- Dead letters of this time are sorted by their ids.
    from = redis.call('ZCOUNT', index, '(' .. ARGV[10], '+inf')
    local to = from + redis.call('ZCOUNT', index, ARGV[10], ARGV[10])
    while from < to do
      local middle = math.floor((from + to) / 2)
      local id = redis.call('ZRANGE', index, middle, middle, 'REV')[1]
      if id > ARGV[11] or (id == ARGV[11] and ARGV[12] ~= '1') then from = middle + 1 else to = middle end
    end
  end
  return redis.call('ZRANGE', index, from, from + ARGV[9] - 1, 'REV', 'WITHSCORES')
end

-- Looks for the oldest job among the first ones only, because later jobs of the same priority are younger.
function actions.stats()
  local function count(key) return redis.call('ZCARD', base .. key) end
  local groups, oldest = groupsHere(), nil
  for _, set in ipairs({ { ready, ageing }, { base .. ':lined', ageing }, { delayed, 0 } }) do
    local first = redis.call('ZRANGE', set[1], 0, page - 1, 'WITHSCORES')
    local members = {}
    for i = 1, #first, 2 do members[#members + 1] = first[i] end
    local heads = groups and set[1] == ready and #members > 0 and groups.readySince(members) or {}
    for i = 1, #first, 2 do
      local id = string.sub(first[i], 13)
      local state = heads[id] and redis.call('HGET', states, id)
      local since = heads[id] and not state and heads[id] or first[i + 1] - string.sub(first[i], 12, 12) * set[2]
      if since <= at and (not oldest or since < oldest) then oldest = since end
    end
  end
  local readyNow = redis.call('ZCOUNT', delayed, '-inf', number(at))
  local paused = redis.call('HGET', info, 'paused') == '1' and 1 or 0
  return {
    count(':ready') + count(':lined') + readyNow, count(':delayed') - readyNow, count(':leases'), count(':dead'), paused,
    oldest and number(at - oldest),
  }
end

-- [9] maximum number. Returns ids in the order of fetching: ready jobs, then the lines of the groups, then delayed jobs.
function actions.peek()
  promote()
  local ids, groups, max = {}, groupsHere(), tonumber(ARGV[9])
  local function add(members, from)
    for _, member in ipairs(members) do
      if #ids < max then ids[#ids + 1] = string.sub(member, from) end
    end
  end
  add(redis.call('ZRANGE', ready, 0, max - 1), 13)
  if groups then add(groups.first(max), 54) end
  add(redis.call('ZRANGE', delayed, 0, max - 1), 13)
  return ids
end

-- [9]... ids. Returns one character each: '1' = this queue knows the job.
function actions.known()
  local flags = {}
  for i = 9, #ARGV do
    local found = redis.call('HEXISTS', jobs, ARGV[i]) == 1 or redis.call('HEXISTS', ended, ARGV[i]) == 1
    flags[#flags + 1] = found and '1' or '0'
  end
  return table.concat(flags)
end

-- [9] number of pieces; the pieces; then ids. Returns the ids of jobs that have not ended and have every piece in front of their body.
function actions.having()
  local firstId, found = 10 + ARGV[9], {}
  for i = firstId, #ARGV do
    local text = redis.call('HGET', jobs, ARGV[i])
    local has = text and headOf(text)
    for n = 10, firstId - 1 do has = has and string.find(has, ARGV[n], 1, true) and has end
    if has then found[#found + 1] = ARGV[i] end
  end
  return found
end

-- The first lines of a text, and what stands before the payload of an envelope.
local function cut(text, count)
  if not text then return text end
  local at = 0
  for _ = 1, count do at = string.find(text, '\n', at + 1, true) or at end
  if string.sub(text, at + 1, at + 1) == '=' then at = string.find(text, '\n', at + 1, true) or #text end
  return string.sub(text, 1, at)
end

local function read(textLines, endedLines)
  local found = {}
  for i = 9, #ARGV do
    local text = redis.call('HGET', jobs, ARGV[i])
    if text then
      local where, score = whereIs(ARGV[i], text)
      local shown = textLines and cut(text, textLines) or text
      found[#found + 1] = { false, shown, redis.call('HGET', states, ARGV[i]), where, score or false }
    else
      text = redis.call('HGET', ended, ARGV[i])
      local shown = endedLines and cut(text, endedLines) or text
      found[#found + 1] = { shown, false, false, false, false, text and #text - #shown }
    end
  end
  return found
end

-- [9]... ids. Returns for each: { text of an ended job, then false four times, bytes left out }, or { false, text, state, set, score }.
function actions.whole() return read() end

-- The same without the bodies.
function actions.facts() return read(2, 6) end

return actions[ARGV[8]]()
