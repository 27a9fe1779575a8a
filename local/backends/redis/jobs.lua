-- What work.lua and manage.lua share; it is loaded in front of each.
--
-- KEYS[1] is `prefix:{queue}`: all keys of a queue begin with it, so they live in one hash slot.
--   :ready    zset   rank    -> place and id      rank = the moment it became ready + priority * ageing
--   :delayed  zset   due     -> place and id
--   :leases   zset   end     -> token             token = nonce (11), moment of the claim (13), id
--   :jobs     hash   id      -> the job's text    `place createdAt readyAt` (the last if it is another), `[job, tenant]`, body
--   :states   hash   id      -> what has happened to a living job; missing while that is nothing
--                               `attempts interrupted cancelRequested readyAt`, progress, reports: a line each
--   :ended    hash   id      -> `end finishedAt attempts readyAt reason`, error, progress, reports, then the job's text
--   :done     zset   moment  -> id                completed and cancelled
--   :dead     zset   moment  -> id                failed and expired
--   :info     hash   paused, bytes of done, bytes of dead; idle (any text): a worker found nothing, and listens
-- A place has 12 characters that sort by arrival: a counter, and at last the priority.
--
-- ARGV[1] epoch ms, '' = this server's clock   [2] ms of ageing per priority level
-- ARGV[3] '1' = what is completed is kept   [4] [5] at most so many, and bytes   [6] [7] the same for dead letters
local base = KEYS[1]
local ready, delayed, leases = base .. ':ready', base .. ':delayed', base .. ':leases'
local jobs, states, ended, info = base .. ':jobs', base .. ':states', base .. ':ended', base .. ':info'
local at, ageing, keep = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
if not at then
  local time = redis.call('TIME')
  at = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Beside its text, an ended job costs about so many bytes.
local overhead = 250
-- `unpack` has a limit of some 8,000.
local page = 1000

local function number(n) return string.format('%.0f', n) end

local function owned(token)
  local till = redis.call('ZSCORE', leases, token)
  return till and tonumber(till) > at
end

local function stateOf(text)
  local attempt, interrupted, asked, readyAt, progress, reports =
    string.match(text or '0 0 0 \n\n', '^(%d+) (%d) (%d) (%d*)\n([^\n]*)\n(.*)$')
  return {
    attempt = tonumber(attempt), interrupted = interrupted, asked = asked, readyAt = readyAt,
    progress = progress, reports = reports,
  }
end

local function textOf(state)
  local head = state.attempt .. ' ' .. state.interrupted .. ' ' .. state.asked .. ' ' .. state.readyAt
  return head .. '\n' .. state.progress .. '\n' .. state.reports
end

local function report(state, line)
  if line == '' then return end
  state.reports = state.reports == '' and line or state.reports .. ',' .. line
end

-- Called when a worker finds nothing and listens. A full server or a replica refuses the mark: the worker then polls.
local function markIdle()
  if redis.call('HEXISTS', info, 'idle') == 0 then redis.pcall('HSET', info, 'idle', '1') end
end

-- Wakes the idle workers, if there are any. A worker that is busy looks again before it waits, and needs no message.
local function notify(channel)
  if channel ~= '' and redis.call('HDEL', info, 'idle') == 1 then redis.call('PUBLISH', channel, '') end
end

-- In line again, to be ready then.
local function line(place, id, readyAt)
  if readyAt > at then
    redis.call('ZADD', delayed, number(readyAt), place .. id)
  else
    redis.call('ZADD', ready, number(readyAt + string.sub(place, 12, 12) * ageing), place .. id)
  end
end

-- What is due, in line by the moment it became so.
local function promote()
  local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', number(at), 'WITHSCORES', 'LIMIT', 0, page)
  if #due == 0 then return end
  redis.call('ZREMRANGEBYRANK', delayed, 0, #due / 2 - 1)
  local places = {}
  for i = 1, #due, 2 do
    places[i] = number(due[i + 1] + string.sub(due[i], 12, 12) * ageing)
    places[i + 1] = due[i]
  end
  redis.call('ZADD', ready, unpack(places))
end

local function nextDue()
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
  return redis.call('HINCRBY', info, index, -bytes)
end

-- Keeps the ended within their budgets: the oldest go. Bounded, as any script must be. Answers how many went.
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

-- Without the body, which nobody needs any more.
local function headOf(text)
  local first = string.find(text, '\n', 1, true)
  return string.sub(text, 1, string.find(text, '\n', first + 1, true))
end

-- The job has left its place already. Answers how many older dead letters had to go.
local function finish(id, code, state, reason, problem, text)
  redis.call('HDEL', jobs, id)
  redis.call('HDEL', states, id)
  local isDead = code == 'failed' or code == 'expired'
  if not isDead and not keep then return 0 end
  local index = isDead and 'dead' or 'done'
  local kept = endedText(code, state, reason, problem, isDead and text or headOf(text))
  redis.call('HSET', ended, id, kept)
  redis.call('ZADD', base .. ':' .. index, number(at), id)
  if isDead then return trim(index, #kept + overhead, tonumber(ARGV[6]), tonumber(ARGV[7])) end
  trim(index, #kept + overhead, tonumber(ARGV[4]), tonumber(ARGV[5]))
  return 0
end
