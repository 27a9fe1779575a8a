-- Shared by grouped.lua, lease.lua, manage.lua and transfer.lua; loaded before each of them, after groups.lua.
--
-- KEYS[1] is `prefix:{queue}`: all keys of a queue begin with it, so they live in one hash slot.
--   :ready    zset   rank    -> sort key and id   rank = the time since which it is ready + priority * ageing
--   :delayed  zset   time    -> sort key and id   time = when it becomes ready
--   :leases   zset   end     -> token             token = nonce (11), time of leasing (13), id
--   :jobs     hash   id      -> the job's text    `sortKey createdAt readyAt group` (readyAt only if it differs or there is a group;
--                               group = order ('-', 'w' wait, 's' step-aside) and the name as JSON), `[job, tenant, facts]`
--                               as JSON without absent members, body as in stored-body.ts
--   :states   hash   id      -> history of a job that has not ended; missing until something has happened to it:
--                               `attempts interrupted cancelRequested readyAt`, progress, reports, one line each
--   :ended    hash   id      -> `end finishedAt attempts readyAt reason`, error, progress, reports, then the job's text
--   :done     zset   time    -> id                completed and cancelled
--   :kept     zset   end     -> id                completed and cancelled with a retention of their own, until when
--   :dead     zset   time    -> id                failed and expired
--   :deadKept zset   end     -> id                members of :dead with a retention of their own, until when
--   :waits    zset   end     -> id                jobs with a waiting caller, until then at most; their ends are published to :ended
--   and the keys of groups.lua                    jobs in the line of a group are in no other set
--   :info     hash   paused; done, kept and dead: bytes of each; idle (any text): a worker has found nothing, and listens
-- A sort key has 12 characters: 11 that count arrivals, then the priority. Times are epoch ms.
--
-- ARGV[1] time, see clock.lua   [2] ms of ageing per priority level
-- ARGV[3] '1' = completed jobs are kept   [4] [5] their budget: count and bytes   [6] [7] the same for dead letters
local base = KEYS[1]
local ready, delayed, leases = base .. ':ready', base .. ':delayed', base .. ':leases'
local jobs, states, ended, info = base .. ':jobs', base .. ':states', base .. ':ended', base .. ':info'
local ageing, keep = tonumber(ARGV[2]), ARGV[3] == '1'

-- Approximate bytes of an ended job besides its text.
local overhead = 250
-- `unpack` takes about 8,000 values at most.
local page = 1000

local function owned(token)
  local till = redis.call('ZSCORE', leases, token)
  return till and tonumber(till) > at
end

local function stateOf(text)
  local attempt, interrupted, cancelRequested, readyAt, progress, reports =
    string.match(text or '0 0 0 \n\n', '^(%d+) (%d) (%d) (%d*)\n([^\n]*)\n(.*)$')
  if not attempt then return stateOf(nil) end -- something else has written over it
  return {
    attempt = tonumber(attempt), interrupted = interrupted, cancelRequested = cancelRequested,
    readyAt = readyAt, progress = progress, reports = reports,
  }
end

local function textOf(state)
  local head = state.attempt .. ' ' .. state.interrupted .. ' ' .. state.cancelRequested .. ' ' .. state.readyAt
  return head .. '\n' .. state.progress .. '\n' .. state.reports
end

-- A record keeps the reports of this many attempts, as on the other queues.
local mostReports = 30
-- Separates two reports. A text within a report cannot contain it, because its quotes are escaped.
local betweenReports = ',{"attempt":'

-- Adds a report. Above `mostReports` the oldest is removed.
local function addReport(state, report)
  if report == '' then return end
  local _, others = string.gsub(state.reports, betweenReports, '')
  if others + 1 >= mostReports then
    state.reports = string.sub(state.reports, string.find(state.reports, betweenReports, 1, true) + 1)
  end
  state.reports = state.reports == '' and report or state.reports .. ',' .. report
end

-- Called when a worker finds nothing and listens. If a full server or a replica refuses the mark, the worker polls.
local function markIdle()
  if redis.call('HEXISTS', info, 'idle') == 0 then redis.pcall('HSET', info, 'idle', '1') end
end

-- Wakes the idle workers, if there are any. A busy worker needs no message, because it fetches again before it waits.
local function notify(channel)
  if channel ~= '' and redis.call('HDEL', info, 'idle') == 1 then redis.call('PUBLISH', channel, '') end
end

-- Publishes that these jobs have ended, if callers wait for them. A missing right to publish is ignored, because callers also poll.
local function tellEnded(ids)
  local waits = base .. ':waits'
  if redis.call('EXISTS', waits) == 0 then return end
  local found = {}
  for i, till in ipairs(redis.call('ZMSCORE', waits, unpack(ids))) do
    if till then found[#found + 1] = ids[i] end
  end
  if #found == 0 then return end
  redis.call('ZREM', waits, unpack(found))
  for _, id in ipairs(found) do redis.pcall('PUBLISH', base .. ':ended', id) end
end

local opened
-- nil = no job of the queue that has not ended has a group. `isNew`: a job gets its group now.
local function groupsHere(isNew)
  if not opened and (isNew or opened == nil) then
    opened = (isNew or redis.call('EXISTS', base .. ':grouped') == 1) and openGroups(base, at, ageing)
  end
  return opened or nil
end

-- Wakes idle workers if a job of a group has come forward.
local function notifyOfGroups(channel)
  local groups = groupsHere()
  if groups and groups.came then notify(channel) end
end

-- Gives a job that is in no set the group that its text names, if any. `place` = 0: it joins the line as a new job.
local function addGroup(id, text, place, isHeld)
  if not string.find(text, '^%S+ %d+ %d+ [-ws]"') then return end
  local groups = groupsHere(true)
  groups.add(id, groups.rowFor(text, place), isHeld)
end

-- Makes a job wait again until `readyAt`.
local function wait(sortKey, id, readyAt)
  local groups = groupsHere()
  local row = groups and groups.rowOf(id)
  if row then
    groups.wait(row, sortKey .. id, readyAt)
  elseif readyAt > at then
    redis.call('ZADD', delayed, number(readyAt), sortKey .. id)
  else
    redis.call('ZADD', ready, number(readyAt + string.sub(sortKey, 12, 12) * ageing), sortKey .. id)
  end
end

-- Moves delayed jobs that are due to `ready`, ranked by the time at which they were due.
local function promote()
  local first = redis.call('ZRANGEBYSCORE', delayed, '-inf', number(at), 'WITHSCORES', 'LIMIT', 0, page)
  if #first == 0 then return end
  redis.call('ZREMRANGEBYRANK', delayed, 0, #first / 2 - 1)
  local groups, ranked = groupsHere(), {}
  if groups then first = groups.promoted(first) end
  if #first == 0 then return end
  for i = 1, #first, 2 do
    ranked[i] = number(first[i + 1] + string.sub(first[i], 12, 12) * ageing)
    ranked[i + 1] = first[i]
  end
  redis.call('ZADD', ready, unpack(ranked))
end

-- ms until the next delayed job is ready; false = there is none.
local function nextDelayedMs()
  local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
  return first[2] and math.max(0, math.ceil(first[2] - at)) or false
end

local function forget(index, ids)
  local bytes = 0
  for _, text in ipairs(redis.call('HMGET', ended, unpack(ids))) do
    if text then bytes = bytes + #text + overhead end
  end
  redis.call('ZREM', base .. ':' .. index, unpack(ids))
  redis.call('HDEL', ended, unpack(ids))
  if index == 'dead' then redis.call('ZREM', base .. ':deadKept', unpack(ids)) end
  return redis.call('HINCRBY', info, index, -bytes)
end

-- Removes the oldest ended jobs above the budget. The number is limited, because no script may run for long. Returns how many.
local function trim(index, added, mostCount, mostBytes)
  local bytes = redis.call('HINCRBY', info, index, added)
  local gone = 0
  for _ = 1, 10 do
    local over = redis.call('ZCARD', base .. ':' .. index) - mostCount
    if over <= 0 and bytes <= mostBytes then break end
    local ids = redis.call('ZRANGE', base .. ':' .. index, 0, over > 0 and math.min(over, page) - 1 or 19)
    if #ids == 0 then break end
    bytes = forget(index, ids)
    gone = gone + #ids
  end
  return gone
end

local function endedText(code, state, reason, problem, text)
  local head = code .. ' ' .. number(at) .. ' ' .. state.attempt .. ' ' .. state.readyAt .. ' ' .. reason
  return head .. '\n' .. problem .. '\n' .. state.progress .. '\n' .. state.reports .. '\n' .. text
end

-- The text without the body, which a completed job no longer needs.
local function headOf(text)
  local first = string.find(text, '\n', 1, true)
  return string.sub(text, 1, string.find(text, '\n', first + 1, true))
end

-- Deletes the texts of jobs that are in no set.
local function removeJobs(ids)
  redis.call('HDEL', jobs, unpack(ids))
  redis.call('HDEL', states, unpack(ids))
  local groups = groupsHere()
  if groups then groups.leave(ids) end
end

-- Ends a job that is in no set. Returns how many older dead letters were removed. keepMs: '' = the record has the usual retention.
local function finish(id, code, state, reason, problem, text, keepMs)
  tellEnded({ id })
  removeJobs({ id })
  local isDead = code == 'failed' or code == 'expired'
  local own = keepMs ~= nil and keepMs ~= ''
  if keepMs == '0' or (not isDead and not keep and not own) then return 0 end
  local index = isDead and 'dead' or own and 'kept' or 'done'
  local kept = endedText(code, state, reason, problem, isDead and text or headOf(text))
  redis.call('HSET', ended, id, kept)
  redis.call('ZADD', base .. ':' .. index, number(index == 'kept' and at + keepMs or at), id)
  if isDead and own then redis.call('ZADD', base .. ':deadKept', number(at + keepMs), id) end
  if isDead then return trim(index, #kept + overhead, tonumber(ARGV[6]), tonumber(ARGV[7])) end
  trim(index, #kept + overhead, tonumber(ARGV[4]), tonumber(ARGV[5]))
  return 0
end
