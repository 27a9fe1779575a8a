-- The audit log. KEYS[1] the base: `base:order` is a sorted set of ids by time, `base:entries` a hash of texts by id.
--
-- ARGV[1] action
local order, entries = KEYS[1] .. ':order', KEYS[1] .. ':entries'
local actions = {}

-- [2] epoch ms   [3] id   [4] text. Leaves an id that is there as it is.
function actions.add()
  if redis.call('HSETNX', entries, ARGV[3], ARGV[4]) == 1 then redis.call('ZADD', order, ARGV[2], ARGV[3]) end
end

-- [2] id, '' = from the newest one   [3] how many. Answers with the texts before that id; before one that was purged there is nothing.
function actions.read()
  local first = 0
  if ARGV[2] ~= '' then
    local rank = redis.call('ZREVRANK', order, ARGV[2])
    if not rank then return {} end
    first = rank + 1
  end
  local ids = redis.call('ZREVRANGE', order, first, first + ARGV[3] - 1)
  if #ids == 0 then return ids end
  return redis.call('HMGET', entries, unpack(ids))
end

-- [2] epoch ms   [3] how many. Removes the oldest ones before that moment; answers how many went.
function actions.purge()
  local ids = redis.call('ZRANGEBYSCORE', order, '-inf', '(' .. ARGV[2], 'LIMIT', 0, ARGV[3])
  if #ids == 0 then return 0 end
  redis.call('HDEL', entries, unpack(ids))
  return redis.call('ZREM', order, unpack(ids))
end

return actions[ARGV[1]]()
