-- Settles jobs of a worker, then leases its next jobs. Returns { '' = all were settled, else one character per ack ('1' = settled),
-- ms until the next delayed job is ready, time of leasing, ids, texts, states, whether a job of a group is left for another worker }.
--
-- ARGV[8] nonce of the tokens   [9] maximum number of jobs   [10] ms of the lease   [11] number of acks   [12] two characters: '1' = a
-- worker that finds nothing listens, '1' = idle workers are notified; then the tokens of the acks; then their reports, if completed jobs
-- are kept ('+' before a report keeps the body too; digits and ':' before that are a retention of its own in ms);
-- then five per key to complete: number of its ack, key, owner, value ('' = none, else '=' and the value), ms to keep it
local sub = string.sub
local acks, max = tonumber(ARGV[11]), tonumber(ARGV[9])
-- Whether a job has a state or a group. Most queues have neither.
local hasMore = redis.call('EXISTS', states, base .. ':grouped') > 0

local function completeKeys(from, flags)
  for i = from, #ARGV, 5 do
    local key = ARGV[i + 1]
    if flags[tonumber(ARGV[i])] ~= '0' and redis.call('HGET', key, 'owner') == ARGV[i + 2] then
      local keepMs = tonumber(ARGV[i + 4])
      redis.call('HSET', key, 'owner', '', 'hold', 0, 'done', 1, 'value', ARGV[i + 3], 'keep', number(at + keepMs))
      redis.call('PEXPIRE', key, number(math.max(1, keepMs) + 60000))
    end
  end
end

local plus, zero, nine = string.byte('+09', 1, 3)

-- Keeps the history of completed jobs.
local function remember(ids, reports)
  local texts, known = redis.call('HMGET', jobs, unpack(ids)), {}
  if hasMore then known = redis.call('HMGET', states, unpack(ids)) end
  local kept, times, bytes = {}, {}, 0
  local ownTimes, ownBytes = {}, 0
  local first = 'completed ' .. number(at) .. ' 1  \n\n\n' -- nothing else has happened to the job
  for i, id in ipairs(ids) do
    if texts[i] then
      local text, report, rest = nil, reports[i], texts[i]
      local lead, keepMs = string.byte(report), nil
      if lead and lead >= zero and lead <= nine then
        keepMs, report = string.match(report, '^(%d+):(.*)$')
        lead = string.byte(report)
      end
      if lead == plus then report = sub(report, 2) else rest = headOf(rest) end
      if known[i] then
        local state = stateOf(known[i])
        state.attempt = state.attempt + 1
        addReport(state, report)
        text = endedText('completed', state, '', '', rest)
      else
        text = first .. report .. '\n' .. rest
      end
      if keepMs ~= '0' then
        kept[#kept + 1], kept[#kept + 2] = id, text
        if keepMs then
          ownBytes = ownBytes + #text + overhead
          ownTimes[#ownTimes + 1], ownTimes[#ownTimes + 2] = number(at + keepMs), id
        else
          bytes = bytes + #text + overhead
          times[#times + 1], times[#times + 2] = number(at), id
        end
      end
    end
  end
  if #kept == 0 then return end
  redis.call('HSET', ended, unpack(kept))
  if #times > 0 then
    redis.call('ZADD', base .. ':done', unpack(times))
    trim('done', bytes, tonumber(ARGV[4]), tonumber(ARGV[5]))
  end
  if #ownTimes > 0 then
    redis.call('ZADD', base .. ':kept', unpack(ownTimes))
    trim('kept', ownBytes, tonumber(ARGV[4]), tonumber(ARGV[5]))
  end
end

local flags, groups = {}, hasMore and groupsHere()
if acks > 0 then
  local tokens = {}
  for i = 1, acks do tokens[i] = ARGV[12 + i] end
  local ends = redis.call('ZMSCORE', leases, unpack(tokens))
  local gone, ids, reports, seen = {}, {}, {}, {}
  for i = 1, acks do
    local token, till = tokens[i], ends[i]
    if till and tonumber(till) > at and not seen[token] then
      seen[token] = true
      local n = #gone + 1
      gone[n] = token
      ids[n] = sub(token, 25)
      if keep then reports[n] = ARGV[12 + acks + i] end
    else
      flags[i] = '0'
    end
  end
  if #gone > 0 then
    -- Frees memory first, so that a full server accepts the other writes too.
    redis.call('ZREM', leases, unpack(gone))
    if keep then remember(ids, reports) end
    redis.call('HDEL', jobs, unpack(ids))
    if hasMore then redis.call('HDEL', states, unpack(ids)) end
    tellEnded(ids)
    if groups then groups.leave(ids) end
  end
  completeKeys(13 + acks + (keep and acks or 0), flags)
  if #gone == acks then
    flags = {}
  else
    for i = 1, acks do flags[i] = flags[i] or '1' end
  end
end

local ids, texts, known, delayMs = {}, {}, {}, false
if max > 0 and redis.call('HGET', info, 'paused') ~= '1' then
  promote()
  -- ZPOPMIN takes one job in one call. For several jobs it would format all their ranks.
  local members = max == 1 and { redis.call('ZPOPMIN', ready)[1] } or redis.call('ZRANGE', ready, 0, max - 1)
  if #members > 0 then
    if max > 1 then redis.call('ZREMRANGEBYRANK', ready, 0, #members - 1) end
    if groups then members = groups.lease(members, max) end
    local tokenStart, till, leased = ARGV[8] .. string.format('%013.0f', at), number(at + ARGV[10]), {}
    for i, member in ipairs(members) do
      local id = sub(member, 13)
      ids[i] = id
      leased[2 * i - 1], leased[2 * i] = till, tokenStart .. id
    end
    redis.call('ZADD', leases, unpack(leased))
    texts = redis.call('HMGET', jobs, unpack(ids))
    if hasMore then known = redis.call('HMGET', states, unpack(ids)) end
  else
    delayMs = nextDelayedMs()
    if sub(ARGV[12], 1, 1) == '1' then markIdle() end
  end
end
local isLeft = groups and groups.came and redis.call('EXISTS', ready) == 1
if isLeft and sub(ARGV[12], 2) == '1' then notify(base .. ':ring') end
return { table.concat(flags), delayMs, number(at), ids, texts, known, isLeft and 1 or 0 }
