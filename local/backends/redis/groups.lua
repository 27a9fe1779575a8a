-- Groups. Only the head of each group is in `ready`, or in `delayed` while the others wait for its retry. The others queue in its line.
-- Loaded before jobs.lua, which describes `base` and the members. Opened only if a job of the queue has a group.
--   :grouped  hash  id   -> row: key of the group (20), place in its line (20; zeros = it has not joined yet), order (1: '-', 'w', 's')
--   :lines    zset  0    -> row, sort key and id. Sorted as text: by group, then by place
--   :lined    zset  rank -> sort key and id of the same jobs, with the rank that they would have in `ready`
--   :heads    hash  key  -> when the head counted as ready (13), its id
--   :running  zset  0    -> key of the group, id: the leased jobs of ordered groups
--   :info     place      =  the last place given to an ordered job
-- The key of a group is the beginning of the SHA-1 of its name. A place counts microseconds.
local function openGroups(base, at, ageing)
  local call, sub, format, byte = redis.call, string.sub, string.format, string.byte
  local ready, delayed, lined = base .. ':ready', base .. ':delayed', base .. ':lined'
  local grouped, lines, heads = base .. ':grouped', base .. ':lines', base .. ':heads'
  local running, info = base .. ':running', base .. ':info'
  local newRows = {} -- of jobs that have not joined yet, by order and name: key, order, row
  local partsOf = {} -- the same by their rows
  local groups = { came = false } -- whether a job came forward, which another worker may run

  -- As in local/backends/shared/groups.ts.
  local mostAheadMs = 1000
  local unplaced = string.rep('0', 20)

  local function keyOf(row) return sub(row, 1, 20) end
  local function orderOf(row) return sub(row, 41, 41) end
  -- These work on byte values, because cutting out texts would cost more.
  local function isOrdered(row) return byte(row, 41) ~= 45 end
  local function levelOf(member) return byte(member, 12) - 48 end
  local function isPlaced(row) return sub(row, 21, 40) ~= unplaced end
  local function placedAt(row, place) return keyOf(row) .. format('%020.0f', place) .. orderOf(row) end
  local function firstOf(set, key) return call('ZRANGEBYLEX', set, '[' .. key, '(' .. key .. '\255', 'LIMIT', 0, 1)[1] end

  -- These groups have no head. The first job in each line becomes the head, unless a job of an ordered group still runs. Returns the
  -- groups that still have no head. `entered`: when the previous heads counted as ready.
  local function comeForward(keys, entered)
    local first, members, ranked, headed, without = {}, {}, {}, {}, {}
    for i, key in ipairs(keys) do
      local line = firstOf(lines, key)
      if line and (not isOrdered(line) or not firstOf(running, key)) then
        local n, member = #first + 1, sub(line, 42)
        local since = math.min(at + mostAheadMs, math.max(at, (entered and entered[i] or 0) + 1))
        first[n], members[n] = line, member
        ranked[2 * n - 1], ranked[2 * n] = number(since + levelOf(member) * ageing), member
        headed[2 * n - 1], headed[2 * n] = key, format('%013.0f', since) .. sub(member, 13)
      else
        without[#without + 1] = key
      end
    end
    if #first > 0 then
      groups.came = true
      call('ZREM', lines, unpack(first))
      call('ZREM', lined, unpack(members))
      call('ZADD', ready, unpack(ranked))
      call('HSET', heads, unpack(headed))
    end
    return without
  end

  -- Gives a head to each group of these keys that has none. `keys` is a set.
  local function advance(keys)
    local all, headless = {}, {}
    for key in pairs(keys) do all[#all + 1] = key end
    if #all == 0 then return end
    for i, head in ipairs(call('HMGET', heads, unpack(all))) do
      if not head then headless[#headless + 1] = all[i] end
    end
    comeForward(headless)
  end

  local function isHead(key, id)
    local head = call('HGET', heads, key)
    return head and sub(head, 14) == id
  end

  -- The row of a job; false = it has no group.
  function groups.rowOf(id) return call('HGET', grouped, id) end

  -- Adds jobs that are in no set to their lines, at their old places if they have one. Three values per job: row, sort key and id, time
  -- since which it is ready.
  function groups.join(jobs)
    local rows, inLine, ranked, keys, last = {}, {}, {}, {}, nil
    local since, rankOf, placeOf -- by priority level, for the jobs that are ready since `since`
    for i = 1, #jobs, 3 do
      local row, member = jobs[i], jobs[i + 1]
      if jobs[i + 2] ~= since then since, rankOf, placeOf = jobs[i + 2], {}, {} end
      local level = levelOf(member)
      if not rankOf[level] then
        local rank = since + level * ageing
        rankOf[level], placeOf[level] = number(rank), format('%020.0f', rank * 1000)
      end
      local new = partsOf[row] or not isPlaced(row) and { key = keyOf(row), order = orderOf(row) }
      if new then
        local place = placeOf[level]
        if new.order ~= '-' then
          last = last or tonumber(call('HGET', info, 'place') or 0)
          last = math.max(since * 1000, last + 1)
          place = format('%020.0f', last)
        end
        row = new.key .. place .. new.order
        rows[#rows + 1], rows[#rows + 2] = sub(member, 13), row
      end
      inLine[#inLine + 1], inLine[#inLine + 2] = 0, row .. member
      ranked[#ranked + 1], ranked[#ranked + 2] = rankOf[level], member
      keys[new and new.key or keyOf(row)] = true
    end
    if last then call('HSET', info, 'place', number(last)) end
    if #rows > 0 then call('HSET', grouped, unpack(rows)) end
    call('ZADD', lines, unpack(inLine))
    call('ZADD', lined, unpack(ranked))
    advance(keys)
  end

  -- Delays a job of a group until `readyAt`. `since` decides its place in the group. `inLine` = others were ahead, so none waits for it.
  function groups.wait(row, member, readyAt, since, inLine)
    local key, id = keyOf(row), sub(member, 13)
    if isOrdered(row) then call('ZREM', running, key .. id) end
    if readyAt <= at then return groups.join({ row, member, since or readyAt }) end
    call('ZADD', delayed, number(readyAt), member)
    local waitsForIt = orderOf(row) == 'w' and isPlaced(row) and not inLine
    if not waitsForIt or call('HSETNX', heads, key, format('%013.0f', readyAt) .. id) == 0 then advance({ [key] = true }) end
  end

  -- Takes delayed jobs that are due, members and times in turn. Returns the jobs that become ready; the others join their lines.
  function groups.promoted(due)
    local ids, others, joining = {}, {}, {}
    for i = 1, #due, 2 do ids[#ids + 1] = sub(due[i], 13) end
    for i, row in ipairs(call('HMGET', grouped, unpack(ids))) do
      local member, readyAt = due[2 * i - 1], due[2 * i]
      if row and not isHead(keyOf(row), ids[i]) then
        joining[#joining + 1], joining[#joining + 2], joining[#joining + 3] = row, member, tonumber(readyAt)
      else
        others[#others + 1], others[#others + 2] = member, readyAt
      end
    end
    if #joining > 0 then groups.join(joining) end
    return others
  end

  -- These jobs were leased. If one was the head of its group, the next job in line becomes the head.
  local function taken(ids, from)
    local keys, mine, inOrder, ordered, forward, entered, gone = {}, {}, {}, {}, {}, {}, {}
    for i, row in ipairs(call('HMGET', grouped, unpack(ids, from))) do
      if row then
        local n, id = #keys + 1, ids[from + i - 1]
        keys[n], mine[n], inOrder[n] = keyOf(row), id, isOrdered(row)
        if inOrder[n] then ordered[#ordered + 1], ordered[#ordered + 2] = 0, keys[n] .. id end
      end
    end
    if #keys == 0 then return end
    if #ordered > 0 then call('ZADD', running, unpack(ordered)) end
    for i, head in ipairs(call('HMGET', heads, unpack(keys))) do
      if head and sub(head, 14) == mine[i] then
        if not inOrder[i] then
          forward[#forward + 1], entered[#entered + 1] = keys[i], tonumber(sub(head, 1, 13))
        else
          gone[#gone + 1] = keys[i]
        end
      end
    end
    for _, key in ipairs(comeForward(forward, entered)) do gone[#gone + 1] = key end
    if #gone > 0 then call('HDEL', heads, unpack(gone)) end
  end

  -- Fast path when this was the only ready job: also takes the jobs behind it in its line.
  local function follow(member, max)
    local row = groups.rowOf(sub(member, 13))
    if not row or isOrdered(row) then return {} end
    local key, first, members = keyOf(row), {}, {}
    for i, line in ipairs(call('ZRANGEBYLEX', lines, '[' .. key, '(' .. key .. '\255', 'LIMIT', 0, max)) do
      if isOrdered(line) then break end
      first[i], members[i] = line, sub(line, 42)
    end
    if #first > 0 then
      call('ZREM', lines, unpack(first))
      call('ZREM', lined, unpack(members))
    end
    return members
  end

  -- Leases these members of `ready`, and fills the fetch with the jobs that become heads.
  function groups.lease(members, max)
    local ids, from = {}, 1
    repeat
      for i = from, #members do ids[i] = sub(members[i], 13) end
      taken(ids, from)
      from = #members + 1
      local room = max - #members
      local more = groups.came and room > 0 and call('ZRANGE', ready, 0, room - 1) or {}
      if #more > 0 then
        call('ZREMRANGEBYRANK', ready, 0, #more - 1)
        for _, member in ipairs(more) do members[#members + 1] = member end
        if #more == 1 and room > 1 then
          for _, member in ipairs(follow(more[1], room - 1)) do members[#members + 1] = member end
        end
      end
    until from > #members
    return members
  end

  function groups.hold(ids)
    if #ids > 0 then taken(ids, 1) end
  end

  -- Removes jobs from their groups that are in no set and will not run again.
  function groups.leave(ids)
    local keys, mine, notRunning, free, gone = {}, {}, {}, {}, {}
    for i, row in ipairs(call('HMGET', grouped, unpack(ids))) do
      if row then
        keys[#keys + 1], mine[#mine + 1] = keyOf(row), ids[i]
        if isOrdered(row) then
          notRunning[#notRunning + 1] = keyOf(row) .. ids[i]
          free[keyOf(row)] = true
        end
      end
    end
    if #keys == 0 then return end
    call('HDEL', grouped, unpack(mine))
    if #notRunning > 0 then call('ZREM', running, unpack(notRunning)) end
    for i, head in ipairs(call('HMGET', heads, unpack(keys))) do
      if head and sub(head, 14) == mine[i] then
        gone[#gone + 1] = keys[i]
        free[keys[i]] = true
      end
    end
    if #gone > 0 then call('HDEL', heads, unpack(gone)) end
    advance(free)
    if call('EXISTS', grouped) == 0 then call('HDEL', info, 'place') end
  end

  -- Removes the mark of a head that has left its set. Returns whether the job was a head.
  function groups.stepDown(id, row)
    return isHead(keyOf(row), id) and call('HDEL', heads, keyOf(row)) == 1
  end

  -- The row of the job after its priority changed by `levels`. This moves the job if its group has no order.
  function groups.reranked(row, id, levels)
    if levels == 0 or isOrdered(row) or not isPlaced(row) then return row end
    local changed = placedAt(row, sub(row, 21, 40) + levels * ageing * 1000)
    call('HSET', grouped, id, changed)
    return changed
  end

  -- The row of a new job, whose text names its group; nil = it has no group. `place` = 0: it has not joined its line yet.
  function groups.rowFor(text, place)
    local group = string.match(text, '^%S+ %d+ %d+ ([-ws]"[^\n]*)\n')
    if not group then return end
    local new = newRows[group]
    if not new then
      new = { key = sub(redis.sha1hex(sub(group, 2)), 1, 20), order = sub(group, 1, 1) }
      new.row = new.key .. unplaced .. new.order
      newRows[group], partsOf[new.row] = new, new
    end
    return place == 0 and new.row or placedAt(new.row, place)
  end

  function groups.add(id, row, isHeld)
    call('HSET', grouped, id, row)
    if isHeld and isOrdered(row) then call('ZADD', running, 0, keyOf(row) .. id) end
  end

  -- The first jobs of the lines, line by line: rows, sort keys and ids.
  function groups.first(max) return call('ZRANGE', lines, 0, max - 1) end

  -- Since when these heads are ready, by id: their rank says only when they became heads. Leaves out jobs without a place.
  function groups.readySince(members)
    local ids, found = {}, {}
    for i, member in ipairs(members) do ids[i] = sub(member, 13) end
    for i, row in ipairs(call('HMGET', grouped, unpack(ids))) do
      if row and isPlaced(row) then
        local lag = not isOrdered(row) and sub(members[i], 12, 12) * ageing or 0
        found[ids[i]] = math.floor(sub(row, 21, 40) / 1000) - lag
      end
    end
    return found
  end

  -- Repairs groups that lost their head to an older release or a manual change. Checks the lines after `after` and returns the key of the
  -- last one checked; '' = no more lines. `whereOf` returns the set of a job; nil = it is gone.
  function groups.heal(after, most, whereOf)
    for _, id in ipairs(call('HRANDFIELD', grouped, most)) do
      if call('HEXISTS', base .. ':jobs', id) == 0 then groups.leave({ id }) end
    end
    for _ = 1, most do
      local first = call('ZRANGEBYLEX', lines, after == '' and '-' or '(' .. after .. '\255', '+', 'LIMIT', 0, 1)[1]
      if not first then return '' end
      after = keyOf(first)
      local head = call('HGET', heads, after)
      local id = head and sub(head, 14)
      local where = id and whereOf(id)
      if where ~= 'ready' and where ~= 'delayed' then
        if id then call('HDEL', heads, after) end
        if where == 'leased' and orderOf(groups.rowOf(id) or first) ~= '-' then call('ZADD', running, 0, after .. id) end
      end
      for _, member in ipairs(call('ZRANGEBYLEX', running, '[' .. after, '(' .. after .. '\255', 'LIMIT', 0, most)) do
        if whereOf(sub(member, 21)) ~= 'leased' then call('ZREM', running, member) end
      end
      advance({ [after] = true })
    end
    return after
  end

  return groups
end
