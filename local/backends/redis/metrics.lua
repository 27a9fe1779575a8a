-- Numbers. KEYS[1] the base: `base:step` is a sorted set of the moments that have any, `base:step:at` a hash of those that began then.
-- A field is queue, job and source with a space between.
--
-- ARGV[1] action   [2] step
local moments = KEYS[1] .. ':' .. ARGV[2]
local actions = {}

-- [3]... moment, field, text
function actions.write()
  for i = 3, #ARGV, 3 do
    redis.call('ZADD', moments, ARGV[i], ARGV[i])
    redis.call('HSET', moments .. ':' .. ARGV[i], ARGV[i + 1], ARGV[i + 2])
  end
end

-- [3] moment   [4] queue, '' = any   [5] '=' and the job, '' = any. Answers with fields and texts in turn.
function actions.read()
  local row = moments .. ':' .. ARGV[3]
  if ARGV[4] == '' and ARGV[5] == '' then return redis.call('HGETALL', row) end
  local found = {}
  for _, field in ipairs(redis.call('HKEYS', row)) do
    local queue, job = string.match(field, '^(.-) (.-) ')
    if (ARGV[4] == '' or queue == ARGV[4]) and (ARGV[5] == '' or '=' .. job == ARGV[5]) then
      found[#found + 1] = field
      found[#found + 1] = redis.call('HGET', row, field)
    end
  end
  return found
end

-- [3] moment   [4] how many rows will do. Removes whole moments before that one, the oldest first; answers how many rows went.
function actions.purge()
  local gone = 0
  while gone < tonumber(ARGV[4]) do
    local oldest = redis.call('ZRANGEBYSCORE', moments, '-inf', '(' .. ARGV[3], 'LIMIT', 0, 1)[1]
    if not oldest then break end
    gone = gone + redis.call('HLEN', moments .. ':' .. oldest)
    redis.call('UNLINK', moments .. ':' .. oldest)
    redis.call('ZREM', moments, oldest)
  end
  return gone
end

return actions[ARGV[1]]()
