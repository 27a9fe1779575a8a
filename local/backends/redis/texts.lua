-- Texts by name, compared and swapped. KEYS[1] the base:
--   :rows   hash   name -> version (16 letters) and text
--   :names  zset   0    -> name, for lists
--   :ends   zset   end  -> name, of those that have one
--
-- ARGV[1] action
local rows, names, ends = KEYS[1] .. ':rows', KEYS[1] .. ':names', KEYS[1] .. ':ends'
local actions = {}

-- A version, '' = there is none, '*' = whatever is there.
local function isAt(name, version)
  if version == '*' then return true end
  local row = redis.call('HGET', rows, name)
  return (row and string.sub(row, 1, 16) or '') == version
end

-- For each: name, version that was read, end ('' = it stays), row. Answers 1 or 0 for each.
function actions.write()
  local answers = {}
  for i = 2, #ARGV, 4 do
    local name, endsAt = ARGV[i], ARGV[i + 2]
    local isFirst = isAt(name, ARGV[i + 1])
    if isFirst then
      if redis.call('HSET', rows, name, ARGV[i + 3]) == 1 then redis.call('ZADD', names, 0, name) end
      if endsAt == '' then redis.call('ZREM', ends, name) else redis.call('ZADD', ends, endsAt, name) end
    end
    answers[#answers + 1] = isFirst and 1 or 0
  end
  return answers
end

local function remove(name)
  redis.call('ZREM', names, name)
  redis.call('ZREM', ends, name)
  return redis.call('HDEL', rows, name)
end

-- For each: name, version that was read. Answers 1 or 0 for each.
function actions.remove()
  local answers = {}
  for i = 2, #ARGV, 2 do
    answers[#answers + 1] = isAt(ARGV[i], ARGV[i + 1]) and remove(ARGV[i]) or 0
  end
  return answers
end

-- [2] first name   [3] last name, both as ZRANGEBYLEX has them   [4] piece of the names, '' = any   [5] at most so many
-- [6] looks at so many names. Answers with the last name it has looked at, '' = there are no others, then names and rows in turn.
function actions.list()
  local found = redis.call('ZRANGEBYLEX', names, ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[6])
  local most, answer = tonumber(ARGV[5]), { #found < tonumber(ARGV[6]) and '' or found[#found] }
  for _, name in ipairs(found) do
    if ARGV[4] == '' or string.find(name, ARGV[4], 1, true) then
      answer[#answer + 1], answer[#answer + 2] = name, redis.call('HGET', rows, name)
      most = most - 1
      if most == 0 then break end
    end
  end
  return answer
end

-- [2] epoch ms   [3] at most so many. Removes texts past their end; answers how many.
function actions.purge()
  local past = redis.call('ZRANGEBYSCORE', ends, '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])
  for _, name in ipairs(past) do remove(name) end
  return #past
end

return actions[ARGV[1]]()
