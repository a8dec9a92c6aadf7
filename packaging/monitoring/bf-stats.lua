-- For redis_exporter's option --script: exports the fields of INFO bf_stats as redis_script_values{key="bf_…"}. Without Bloom
-- filters, the module's name is roughly, and so is the prefix of its fields.
local values = {}
for _, section in ipairs({'bf_stats', 'roughly_stats'}) do
    for name, value in redis.call('INFO', section):gmatch('_([%w_]+):(%d+)') do
        values[#values + 1] = 'bf_' .. name
        values[#values + 1] = value
    end
end
return values
