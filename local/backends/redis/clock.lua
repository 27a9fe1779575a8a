-- Loaded before every script except texts.lua.
--
-- ARGV[1] epoch ms, '' = this server's clock
local at = tonumber(ARGV[1])
if not at then
  local time = redis.call('TIME')
  at = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function number(n) return string.format('%.0f', n) end
