-- Schedules that were made at run time. KEYS[1] the base:
--   :rows   hash   name -> version (36), when to look at it ('' = never), a line feed, text
--   :due    zset   when -> name
--   :names  zset   0    -> name
--
-- ARGV[1] action
local rows, due, names = KEYS[1] .. ':rows', KEYS[1] .. ':due', KEYS[1] .. ':names'
local actions = {}

local function pairsOf(found)
  if #found == 0 then return {} end
  local texts, answer = redis.call('HMGET', rows, unpack(found)), {}
  for i, name in ipairs(found) do
    if texts[i] then answer[#answer + 1], answer[#answer + 2] = name, texts[i] end
  end
  return answer
end

-- [2] name   [3] when, '' = never   [4] text of the row   [5] the version that was read, '' = there is none
function actions.write()
  local before = redis.call('HGET', rows, ARGV[2])
  if (before and string.sub(before, 1, 36) or '') ~= ARGV[5] then return 0 end
  redis.call('HSET', rows, ARGV[2], ARGV[4])
  if not before then redis.call('ZADD', names, 0, ARGV[2]) end
  if ARGV[3] == '' then redis.call('ZREM', due, ARGV[2]) else redis.call('ZADD', due, ARGV[3], ARGV[2]) end
  return 1
end

-- [2] name
function actions.remove()
  redis.call('ZREM', names, ARGV[2])
  redis.call('ZREM', due, ARGV[2])
  return redis.call('HDEL', rows, ARGV[2])
end

-- [2] name that comes before the first one, '' = from the first   [3] at most so many. Names and rows in turn.
function actions.list()
  local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
  return pairsOf(redis.call('ZRANGEBYLEX', names, from, '+', 'LIMIT', 0, ARGV[3]))
end

-- [2] until then   [3] at most so many. Names and rows in turn.
function actions.due()
  return pairsOf(redis.call('ZRANGEBYSCORE', due, '-inf', ARGV[2], 'LIMIT', 0, ARGV[3]))
end

return actions[ARGV[1]]()
