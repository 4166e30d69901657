/**
 * The atomic steps in Redis: they decide who holds a budget, and ensure that no other process writes it
 * or grants from it.
 *
 * Each script has three keys: the *seat* (the holder of the budget; it expires), the *budget* (the
 * holder's record and name), and the *box*, the message list of the process that runs the script. A
 * seat's value is its holder's box and the *turn*: a number that is unique to each taking, and the holder's policy: its
 * start by the clock of the server, and its digest. The process passes the names of boxes and never builds them here, so
 * that a client's key prefix works.
 */

/** The seat's value if the process of this script holds it with this turn. */
const MINE = "local mine = KEYS[3] .. '|' .. ARGV[1]\n";

/**
 * `is_box`: whether a name, which comes from a message or a record, is that of a box. It then differs from ours only in
 * the UUID. No other list is read or written. `post` puts a message into a box, which expires when no process waits for
 * its messages.
 */
const POST = `local function is_box(name)
  return #name == #KEYS[3] and string.sub(name, 1, -37) == string.sub(KEYS[3], 1, -37)
end
local function post(box, ...)
  redis.call('RPUSH', box, cjson.encode({...}))
  redis.call('PEXPIRE', box, 5000)
end
`;

const NOW = `local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** Takes over the previous holder's unread messages: the latest request of each other process. Others are skipped. */
const INHERIT = `local function inherit(box)
  local done = {['']=true, [KEYS[3]]=true}
  local messages = redis.call('LRANGE', box, 0, -1)
  for i = #messages, 1, -1 do
    local fine, message = pcall(cjson.decode, messages[i])
    if fine and type(message) == 'table' and message[2] == ARGV[3] then
      local from, id, body = message[1], message[3], message[4]
      if type(from) == 'string' and type(id) == 'string' and type(body) == 'string' and not done[from] then
        done[from] = true
        post(KEYS[3], from, ARGV[3], id, body)
      end
    end
  end
end
`;

/**
 * Sends a request to the holder of the budget, and returns its policy and the time of the server. If there is none, or its
 * policy is replaced, takes the seat and returns the record, its age in milliseconds, whether nothing was granted after
 * it, the start of this process's policy, and the time. While somebody has the seat, each grant is in the record.
 *
 * It takes its own seat again: a process that runs this script does not know of it. A program that has just started may
 * end at once, so it leaves a seat that has expired to its late holder, or to another member, which asks soon.
 *
 * ARGV: the turn, whose start is 1 if it is that of the server's clock; the seat's term in milliseconds; the request: key,
 * number, bytes; the text of this process's policy; and which seats it takes besides free ones: that of the policy with
 * this start and digest. `new` takes none that has only expired, and `never`, because it has no room, takes none at all.
 */
export const ASK = POST + INHERIT + NOW + `
local id, own_since, own_digest = string.match(ARGV[1], '^(%d+)%.(%d+)%.(%d+)$')
if own_since == '1' then own_since = string.format('%.0f', now()) end
local mine = KEYS[3] .. '|' .. id .. '.' .. own_since .. '.' .. own_digest
local former, at = unpack(redis.call('HMGET', KEYS[2], 'holder', 'at'))
local holder = redis.call('GET', KEYS[1])
if not holder and ARGV[7] == 'new' and now() - (tonumber(at) or 0) < 5000 then holder = former end
local box, since, digest = string.match(holder or '', '^(.*)|%d+%.(%d+)%.(%d+)$')
local another = box and box ~= KEYS[3] and is_box(box)
if ARGV[7] == 'never' and not another then return {'full'} end
if another and ARGV[7] ~= since .. '.' .. digest then
  post(box, KEYS[3], unpack(ARGV, 3, 5))
  return {'sent', since, digest, redis.call('HGET', KEYS[2], 'policy') or '', now()}
end
redis.call('SET', KEYS[1], mine, 'PX', ARGV[2])
local ended, turn = another and former == holder
if former then former, turn = string.match(former, '^(.*)|([%d.]+)$') end
if former and former ~= KEYS[3] and is_box(former) then inherit(former) end
redis.call('HSET', KEYS[2], 'holder', mine, 'policy', ARGV[6])
redis.call('PEXPIRE', KEYS[2], 604800000)
local record = redis.call('HGET', KEYS[2], 'record') or ''
return {record, tostring(now() - (tonumber(at) or 0)), (ended or turn == '0') and '1' or '0', own_since, now()}
`;

/**
 * Renews the seat, writes the record, and sends the grant: all of it, or nothing and 0 if another
 * process has the seat. An expired seat that no other process has taken still belongs to its
 * holder.
 *
 * ARGV: the turn, the seat's term, the record or nothing, the box of the asking
 * process or nothing, and the answer.
 */
export const HOLD = MINE + POST + NOW + `
local holder = redis.call('GET', KEYS[1]) or redis.call('HGET', KEYS[2], 'holder') or mine
if holder ~= mine then return 0 end
redis.call('SET', KEYS[1], mine, 'PX', ARGV[2])
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[2], 'holder', mine, 'record', ARGV[3], 'at', now())
  redis.call('PEXPIRE', KEYS[2], 604800000)
end
if is_box(ARGV[4]) then post(ARGV[4], unpack(ARGV, 5)) end
return 1
`;

/**
 * Frees the seat if this process still has it. It then has no holder, not even the previous one;
 * the next holder finds the box. ARGV: the turn, which is never 0.
 */
export const LEAVE = MINE + `
if redis.call('GET', KEYS[1]) ~= mine then return 0 end
redis.call('DEL', KEYS[1])
return redis.call('HSET', KEYS[2], 'holder', KEYS[3] .. '|0')
`;
