-- For redis_exporter's option --script: exports the fields of INFO bf_stats as redis_script_values{key="bf_…"}.
local values = {}
for name, value in redis.call('INFO', 'bf_stats'):gmatch('(bf_[%w_]+):(%d+)') do
    values[#values + 1] = name
    values[#values + 1] = value
end
return values
