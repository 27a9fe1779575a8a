-- Texts by name, compared and swapped. KEYS[1] the base:
--   :rows   hash   name -> version (16 letters) and text
--   :names  zset   0    -> name, for lists
--   :ends   zset   end  -> name, only of texts with an end
--
-- ARGV[1] action
local rows, names, ends = KEYS[1] .. ':rows', KEYS[1] .. ':names', KEYS[1] .. ':ends'
local actions = {}

-- Whether the text has this version. '' = it does not exist, '*' = any.
local function isAt(name, version)
  if version == '*' then return true end
  local row = redis.call('HGET', rows, name)
  return (row and string.sub(row, 1, 16) or '') == version
end

-- Four values per text: name, version that was read, end ('' = unchanged), row. Returns 1 or 0 for each.
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

-- Two values per text: name, version that was read. Returns 1 or 0 for each.
function actions.remove()
  local answers = {}
  for i = 2, #ARGV, 2 do
    answers[#answers + 1] = isAt(ARGV[i], ARGV[i + 1]) and remove(ARGV[i]) or 0
  end
  return answers
end

-- [2] first name   [3] last name, both as for ZRANGEBYLEX   [4] part of the names, '' = any   [5] maximum number of results
-- [6] maximum number of names to read. Returns the last name that was read ('' = end of list), then names and rows in turn.
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

-- [2] epoch ms   [3] maximum number. Removes texts past their end; returns how many.
function actions.purge()
  local past = redis.call('ZRANGEBYSCORE', ends, '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])
  for _, name in ipairs(past) do remove(name) end
  return #past
end

return actions[ARGV[1]]()
