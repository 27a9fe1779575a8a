-- An idempotency key with one owner at a time. It expires a minute after its hold and its retention have ended.
--
-- KEYS[1] the key: a hash of owner, hold (epoch ms), done, value ('' = none, else '=' and the value), keep (epoch ms)
-- ARGV[1] time, see clock.lua   [2] action   [3] owner   [4] ms to hold or keep it   [5] value
local key, action, owner = KEYS[1], ARGV[2], ARGV[3]
local row = redis.call('HMGET', key, 'owner', 'hold', 'done', 'value', 'keep')
local holder, hold, done = row[1] or '', tonumber(row[2] or 0), row[3] == '1'
local value, keep = row[4] or '', tonumber(row[5] or 0)
local till = at + tonumber(ARGV[4] or 0)

local function write(newOwner, newHold, newDone, newValue, newKeep)
    redis.call('DEL', key) -- first, so that a full server accepts the other writes too
  redis.call('HSET', key, 'owner', newOwner, 'hold', number(newHold), 'done', newDone, 'value', newValue, 'keep', number(newKeep))
  redis.call('PEXPIRE', key, number(math.max(1, newHold - at, newKeep - at) + 60000))
end

if action == 'claim' then
  local kept = keep > at
  if kept and done then return { 'completed', value } end
  if holder ~= '' and holder ~= owner and hold > at then
    return { 'running', number(hold - at) }
  end
  if not kept then value, keep = '', 0 end
  write(owner, till, 0, value, keep)
  return { 'claimed', value }
end

if holder == '' or holder ~= owner or hold <= at then return 0 end
if action == 'extend' then
  write(owner, till, 0, value, keep)
elseif action == 'complete' then
  write('', 0, 1, ARGV[5], till)
elseif ARGV[5] ~= '' then
  write('', 0, 0, ARGV[5], till)
else
  redis.call('DEL', key)
end
return 1
