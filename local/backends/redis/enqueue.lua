-- Stores messages of one queue. Answers with the places (from 1) of those whose id the queue knows already.
--
-- KEYS[1] `prefix:{queue}`. What its keys hold is told in jobs.lua.
-- ARGV[1] epoch ms, '' = this server's clock   [2] ms of ageing per priority level   [3] channel to ring, '' = none
-- then four of each message: place and id, ms until it may run, '1' = nobody can have sent this id before, text
local base = KEYS[1]
local jobs, ended, ready, delayed = base .. ':jobs', base .. ':ended', base .. ':ready', base .. ':delayed'
local at, ageing = tonumber(ARGV[1]), tonumber(ARGV[2])
if not at then
  local time = redis.call('TIME')
  at = time[1] * 1000 + math.floor(time[2] / 1000)
end

local copies, texts, now, later, ranks = {}, {}, {}, {}, {}
for i = 4, #ARGV, 4 do
  local member, wait = ARGV[i], ARGV[i + 1]
  local id = string.sub(member, 13)
  local known = false
  if ARGV[i + 2] ~= '1' then
    known = redis.call('HEXISTS', jobs, id) == 1 or redis.call('HEXISTS', ended, id) == 1
    -- At once, so that a second copy in the same call is seen.
    if not known then redis.call('HSET', jobs, id, ARGV[i + 3]) end
  else
    texts[#texts + 1] = id
    texts[#texts + 1] = ARGV[i + 3]
  end
  if known then
    copies[#copies + 1] = (i - 4) / 4 + 1
  elseif wait == '0' then
    local priority = string.sub(member, 12, 12)
    local rank = ranks[priority]
    if not rank then
      rank = string.format('%.0f', at + priority * ageing)
      ranks[priority] = rank
    end
    now[#now + 1] = rank
    now[#now + 1] = member
  else
    later[#later + 1] = at + wait
    later[#later + 1] = member
  end
end

-- Nothing is written before this if the server is full: the call then fails as a whole.
if #texts > 0 then redis.call('HSET', jobs, unpack(texts)) end
if #now > 0 then redis.call('ZADD', ready, unpack(now)) end
if #later > 0 then redis.call('ZADD', delayed, unpack(later)) end
if ARGV[3] ~= '' and #now + #later > 0 then redis.call('PUBLISH', ARGV[3], '') end
return copies
