/**
 * What Redis runs as one step: who holds a budget, and that nobody else writes it or grants from it.
 *
 * Three keys are named in each script: the *seat* (who holds the budget; it expires), the *budget* (what
 * the holder has learnt, and who it was), and the *box* of the process that runs the script, a list of
 * messages. A seat's value is the box of its holder and a number that each taking of it has to itself.
 * A box's name is never put together here but told by its process, so that a client's own prefix fits.
 */

/** The value of the seat that the process of this script has, or would have, with this number. */
const MINE = "local mine = KEYS[3] .. '|' .. ARGV[1]\n";

/** Puts a message into a box, which is not kept for longer than anybody waits for it. */
const POST = `local function post(box, ...)
  redis.call('RPUSH', box, cjson.encode({...}))
  redis.call('PEXPIRE', box, 5000)
end
`;

const NOW = `local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** Goes on with what the holder before has not read: of each other process the latest request. */
const INHERIT = `local function inherit(box)
  local done = {['']=true, [KEYS[3]]=true}
  local messages = redis.call('LRANGE', box, 0, -1)
  for i = #messages, 1, -1 do
    local message = cjson.decode(messages[i])
    if message[2] == ARGV[3] and not done[message[1]] then
      done[message[1]] = true
      post(KEYS[3], unpack(message))
    end
  end
end
`;

/**
 * Sends a request to whoever holds the budget. Where nobody does, the seat is taken: then it answers
 * with the record, how many milliseconds ago it was written, and whether its holder has left the seat since
 * and so has granted nothing after it; as far as there is one.
 *
 * Its own seat it takes anew: who asks by this script does not know of it.
 *
 * ARGV: the number of the taking, for how long the seat is held in milliseconds, and the request: the
 * key, its number, and its bytes.
 */
export const ASK = MINE + POST + INHERIT + NOW + `
local holder = redis.call('GET', KEYS[1])
local box = holder and string.match(holder, '^(.*)|%d+$')
if box and box ~= KEYS[3] then
  post(box, KEYS[3], unpack(ARGV, 3))
  return 'sent'
end
redis.call('SET', KEYS[1], mine, 'PX', ARGV[2])
local former, turn = redis.call('HGET', KEYS[2], 'holder')
if former then former, turn = string.match(former, '^(.*)|(%d+)$') end
if former and former ~= KEYS[3] then inherit(former) end
redis.call('HSET', KEYS[2], 'holder', mine)
redis.call('PEXPIRE', KEYS[2], 604800000)
local record, at = unpack(redis.call('HMGET', KEYS[2], 'record', 'at'))
if not record then return {} end
return {record, tostring(now() - tonumber(at)), turn == '0' and '1' or '0'}
`;

/**
 * Goes on holding the budget, writes down what it is now, and sends what was granted from it: all of it,
 * or nothing and 0 where the seat is another's. A seat that nobody has taken since is still the holder's.
 *
 * ARGV: the number of the taking, for how long the seat is held, the record (or nothing), the box of who
 * is answered (or nothing), and the answer.
 */
export const HOLD = MINE + POST + NOW + `
local holder = redis.call('GET', KEYS[1]) or redis.call('HGET', KEYS[2], 'holder') or mine
if holder ~= mine then return 0 end
redis.call('SET', KEYS[1], mine, 'PX', ARGV[2])
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[2], 'holder', mine, 'record', ARGV[3], 'at', now())
  redis.call('PEXPIRE', KEYS[2], 604800000)
end
if ARGV[4] ~= '' then post(ARGV[4], unpack(ARGV, 5)) end
return 1
`;

/**
 * Gives the seat up, if it is still one's own: nobody holds it, not even by having done so last, and whoever
 * is next finds the box. ARGV: the number of the taking, which is never 0.
 */
export const LEAVE = MINE + `
if redis.call('GET', KEYS[1]) ~= mine then return 0 end
redis.call('DEL', KEYS[1])
return redis.call('HSET', KEYS[2], 'holder', KEYS[3] .. '|0')
`;
