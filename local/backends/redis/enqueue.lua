-- Stores messages of one queue. Answers with the numbers of those careful ones whose id the queue knows already; -1 = the
-- only message was handed over to a worker.
--
-- KEYS[1] `prefix:{queue}`. What its keys hold is told in jobs.lua.
-- ARGV[1] epoch ms, '' = this server's clock   [2] ms of ageing per priority level   [3] channel where idle workers listen, '' = none
-- ARGV[4] what the channels begin with on which jobs are handed over, '' = this call's is not
-- ARGV[5] how many are plain: ready now, with an id that nobody can have sent before. Two of each: place and id, text.
-- Then the careful ones, four of each: place and id, text, ms until it may run, '1' = nobody can have sent this id before.
local base = KEYS[1]
local at, ageing = tonumber(ARGV[1]), tonumber(ARGV[2])
if not at then
  local time = redis.call('TIME')
  at = time[1] * 1000 + math.floor(time[2] / 1000)
end

local sub = string.sub

-- One plain message is what most calls bring, and mostly nobody waits for it: then it needs nothing of what follows.
local one = #ARGV == 7 and ARGV[5] == '1'
local idle = one and redis.call('HGET', base .. ':info', 'idle')
local member, text = ARGV[6], ARGV[7]
if one then
  redis.call('HSET', base .. ':jobs', sub(member, 13), text)
  if not idle then
    redis.call('ZADD', base .. ':ready', at + sub(member, 12, 12) * ageing, member)
    return {}
  end
end

-- As in jobs.lua. It comes last: a server that is full must refuse the call as a whole.
local function ring()
  if ARGV[3] ~= '' then
    if redis.call('HDEL', base .. ':info', 'idle') == 1 then redis.call('PUBLISH', ARGV[3], '') end
  elseif redis.call('HSTRLEN', base .. ':info', 'idle') > 1 then
    redis.call('HSET', base .. ':info', 'idle', '1')
  end
end

-- A worker that waits with nothing to do is given the job with its lease, instead of being rung to come for it. The place must be
-- his: nobody waits in line before the job. What is delayed does not, because a seat ends when something is due. `false` = nobody hears.
local function handOver(id, text, idle)
  if #idle == 1 or redis.call('EXISTS', base .. ':ready') == 1 or redis.call('HGET', base .. ':info', 'paused') == '1' then
    return false
  end
  local heard = false
  -- Who has spoken last is the least likely to be gone.
  while not heard and #idle > 1 do
    local seat = sub(idle, -11)
    if tonumber(sub(idle, -34, -22)) > at then
      local till = string.format('%.0f', at + sub(idle, -21, -12))
      local token = seat .. string.format('%013.0f', at) .. id
      heard = redis.call('PUBLISH', ARGV[4] .. seat, base .. '\n' .. till .. '\n' .. token .. '\n' .. text) > 0
      if heard then redis.call('ZADD', base .. ':leases', till, token) end
    end
    idle = sub(idle, 1, -35)
  end
  redis.call('HSET', base .. ':info', 'idle', idle)
  return heard
end

if one then
  if ARGV[4] ~= '' and handOver(sub(member, 13), text, idle) then return { -1 } end
  redis.call('ZADD', base .. ':ready', at + sub(member, 12, 12) * ageing, member)
  ring()
  return {}
end

local ranks, texts, now = {}, {}, {}
local function line(member)
  local priority = sub(member, 12, 12)
  local rank = ranks[priority]
  if not rank then
    rank = string.format('%.0f', at + priority * ageing)
    ranks[priority] = rank
  end
  now[#now + 1] = rank
  now[#now + 1] = member
end

local plain = 5 + 2 * ARGV[5]
for i = 6, plain, 2 do
  local member = ARGV[i]
  texts[i - 5], texts[i - 4] = sub(member, 13), ARGV[i + 1]
  line(member)
end
-- Nothing is written before if the server is full: the call then fails as a whole.
if #texts > 0 then redis.call('HSET', base .. ':jobs', unpack(texts)) end

local copies, later = {}, {}
for i = plain + 1, #ARGV, 4 do
  local member, wait = ARGV[i], ARGV[i + 2]
  local id = sub(member, 13)
  local known = ARGV[i + 3] ~= '1'
    and (redis.call('HEXISTS', base .. ':jobs', id) == 1 or redis.call('HEXISTS', base .. ':ended', id) == 1)
  if known then
    copies[#copies + 1] = (i - plain - 1) / 4
  else
    redis.call('HSET', base .. ':jobs', id, ARGV[i + 1])
    if wait == '0' then
      line(member)
    else
      later[#later + 1] = string.format('%.0f', at + wait)
      later[#later + 1] = member
    end
  end
end
if #now > 0 then redis.call('ZADD', base .. ':ready', unpack(now)) end
if #later > 0 then redis.call('ZADD', base .. ':delayed', unpack(later)) end
ring()
return copies
