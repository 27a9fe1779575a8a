-- What a job remembers of its steps, or who waits for an event: a hash of a text and its version that ends by itself. KEYS[1] the hash.
--
-- ARGV[1] action   [2] the version that was read, '' = there is none
local actions = {}
local found = redis.call('HGET', KEYS[1], 'version') or ''
if found ~= ARGV[2] then return 0 end

-- [3] new version   [4] text   [5] how long it is kept, ms
function actions.write()
  redis.call('HSET', KEYS[1], 'version', ARGV[3], 'text', ARGV[4])
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  return 1
end

function actions.remove()
  return redis.call('DEL', KEYS[1])
end

return actions[ARGV[1]]()
