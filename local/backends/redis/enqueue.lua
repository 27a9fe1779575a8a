-- Stores messages of one queue. Returns the indexes of the careful messages whose id the queue already knows.
--
-- KEYS[1] `prefix:{queue}`. jobs.lua describes its keys.
-- ARGV[1] time, see clock.lua   [2] ms of ageing per priority level   [3] channel of the workers, '' = none
-- ARGV[4] number of plain messages: ready now, with a new id. Two arguments each: sort key and id, text.
-- Then the careful messages, four arguments each: sort key and id, text, ms until it may run, '1' = the id is new.
local base = KEYS[1]
local ageing = tonumber(ARGV[2])

local sub = string.sub

-- As in jobs.lua. Called last, because a full server must refuse the whole call.
local function notify()
  if ARGV[3] ~= '' and redis.call('HDEL', base .. ':info', 'idle') == 1 then redis.call('PUBLISH', ARGV[3], '') end
end

-- Fast path without tables: most calls bring one plain message.
if #ARGV == 6 and ARGV[4] == '1' then
  local member = ARGV[5]
  redis.call('HSET', base .. ':jobs', sub(member, 13), ARGV[6])
  redis.call('ZADD', base .. ':ready', at + sub(member, 12, 12) * ageing, member)
  notify()
  return {}
end

local ranks, texts, now = {}, {}, {}
local function makeReady(member)
  local priority = sub(member, 12, 12)
  local rank = ranks[priority]
  if not rank then
    rank = number(at + priority * ageing)
    ranks[priority] = rank
  end
  now[#now + 1] = rank
  now[#now + 1] = member
end

local plain = 4 + 2 * ARGV[4]
for i = 5, plain, 2 do
  local member = ARGV[i]
  texts[i - 4], texts[i - 3] = sub(member, 13), ARGV[i + 1]
  makeReady(member)
end
-- The first write: a full server refuses it, and the whole call fails.
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
      makeReady(member)
    else
      later[#later + 1] = number(at + wait)
      later[#later + 1] = member
    end
  end
end
if #now > 0 then redis.call('ZADD', base .. ':ready', unpack(now)) end
if #later > 0 then redis.call('ZADD', base .. ':delayed', unpack(later)) end
notify()
return copies
