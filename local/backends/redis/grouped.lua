-- Stores messages of one queue that have a group. Returns the indexes of the messages whose id the queue already knows.
--
-- ARGV[8] channel of the workers, '' = none; then four arguments per message: sort key and id, text, ms until it may run, '1' = the id
-- is new.
local groups = groupsHere(true)
local copies, texts, joining, later, seen = {}, {}, {}, {}, {}
for i = 9, #ARGV, 4 do
  local member, text, waitMs = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  local id = string.sub(member, 13)
  local known = ARGV[i + 3] ~= '1'
    and (seen[id] or redis.call('HEXISTS', jobs, id) == 1 or redis.call('HEXISTS', ended, id) == 1)
  if known then
    copies[#copies + 1] = (i - 9) / 4
  else
    seen[id] = true
    texts[#texts + 1], texts[#texts + 2] = id, text
    local row = groups.rowFor(text, 0)
    if waitMs == 0 then
      joining[#joining + 1], joining[#joining + 2], joining[#joining + 3] = row, member, at
    else
      later[#later + 1], later[#later + 2], later[#later + 3] = row, member, at + waitMs
    end
  end
end
-- The first write: a full server refuses it, and the whole call fails.
if #texts > 0 then redis.call('HSET', jobs, unpack(texts)) end
if #joining > 0 then groups.join(joining) end
for i = 1, #later, 3 do
  groups.add(string.sub(later[i + 1], 13), later[i])
  groups.wait(later[i], later[i + 1], later[i + 2])
end
notify(ARGV[8])
return copies
