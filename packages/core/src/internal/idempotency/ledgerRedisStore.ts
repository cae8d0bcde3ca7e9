/**
 * Ledger store in Redis, over `effect/persistence`: one hash for each key, changed by scripts that compare before they
 * set. Times are by the server's clock.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Redis from "effect/persistence/Redis"
import {
  abandonedIn,
  Entry,
  type Found,
  Intent,
  LedgerError,
  Outcome,
  type Recorded,
  type Store
} from "./ledgerStore.ts"

const encodeIntent = Schema.encodeEffect(Schema.fromJsonString(Intent))
const encodeOutcome = Schema.encodeEffect(Schema.fromJsonString(Outcome))

/** The fields of an entry's hash, in their order. */
const Stored = Schema.Tuple([
  Schema.fromJsonString(Intent),
  Schema.String,
  Schema.String,
  Schema.NumberFromString,
  Schema.NumberFromString,
  Schema.NullOr(Schema.fromJsonString(Outcome)),
  Schema.NullOr(Schema.NumberFromString)
])

const decode = Schema.decodeUnknownEffect(Stored)

/** Start of each script: the server's clock in milliseconds. */
const clock = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/** Sets missing fields; returns the clock and the present ones. */
const beginScript = Redis.script(
  (key: string, intent: string, claim: string, call: string, lease: number) => [key, intent, claim, call, lease],
  {
    numberOfKeys: 1,
    lua: `${clock}
if redis.call("EXISTS", KEYS[1]) == 1 then
  return {string.format("%.0f", now),
    redis.call("HMGET", KEYS[1], "intent", "claim", "call", "started", "leased", "outcome", "expires")}
end
redis.call("HSET", KEYS[1], "intent", ARGV[1], "claim", ARGV[2], "call", ARGV[3],
  "started", string.format("%.0f", now), "leased", string.format("%.0f", now + ARGV[4]))
return false`
  }
).withReturnType<readonly [now: string, fields: ReadonlyArray<string | null>] | null>()

/** Renews the lease of a claim. */
const renewScript = Redis.script(
  (key: string, claim: string, call: string, lease: number) => [key, claim, call, lease],
  {
    numberOfKeys: 1,
    lua: `${clock}
if redis.call("HGET", KEYS[1], "claim") ~= ARGV[1] then return 0 end
if redis.call("HEXISTS", KEYS[1], "outcome") == 1 then return 0 end
redis.call("HSET", KEYS[1], "call", ARGV[2], "leased", string.format("%.0f", now + ARGV[3]))
return 1`
  }
).withReturnType<number>()

/** Transfers an entry with an expired lease to another claim. A repetition after a lost answer returns the same. */
const takeScript = Redis.script((key: string, from: string, to: string, lease: number) => [key, from, to, lease], {
  numberOfKeys: 1,
  lua: `${clock}
if redis.call("HEXISTS", KEYS[1], "outcome") == 1 then return 0 end
local claim = redis.call("HGET", KEYS[1], "claim")
if claim == ARGV[2] then return 1 end
if claim ~= ARGV[1] then return 0 end
if tonumber(redis.call("HGET", KEYS[1], "leased")) > now then return 0 end
redis.call("HSET", KEYS[1], "claim", ARGV[2], "leased", string.format("%.0f", now + ARGV[3]))
return 1`
}).withReturnType<number>()

/** Records the outcome of a claim, for a time if one is given. */
const completeScript = Redis.script(
  (key: string, intent: string, claim: string, call: string, outcome: string, timeToLive: number | undefined) => [
    key,
    intent,
    claim,
    call,
    outcome,
    timeToLive ?? ""
  ],
  {
    numberOfKeys: 1,
    lua: `${clock}
local claim = redis.call("HGET", KEYS[1], "claim")
local answer = "recorded"
if not claim then
  answer = "restored"
  redis.call("HSET", KEYS[1], "intent", ARGV[1], "claim", ARGV[2], "call", ARGV[3],
    "started", string.format("%.0f", now), "leased", string.format("%.0f", now))
elseif claim ~= ARGV[2] then
  return "lost"
end
redis.call("HSET", KEYS[1], "outcome", ARGV[4])
if ARGV[5] ~= "" then
  redis.call("HSET", KEYS[1], "expires", string.format("%.0f", now + ARGV[5]))
  redis.call("PEXPIRE", KEYS[1], ARGV[5])
end
return answer`
  }
).withReturnType<Recorded>()

/** Takes the outcome of a claim away, for a lease. */
const reopenScript = Redis.script((key: string, claim: string, lease: number) => [key, claim, lease], {
  numberOfKeys: 1,
  lua: `${clock}
if redis.call("HGET", KEYS[1], "claim") ~= ARGV[1] then return 0 end
redis.call("HDEL", KEYS[1], "outcome", "expires")
redis.call("PERSIST", KEYS[1])
redis.call("HSET", KEYS[1], "leased", string.format("%.0f", now + ARGV[2]))
return 1`
}).withReturnType<number>()

/** Deletes the entry of a claim. */
const releaseScript = Redis.script((key: string, claim: string) => [key, claim], {
  numberOfKeys: 1,
  lua: `
if redis.call("HGET", KEYS[1], "claim") ~= ARGV[1] then return 0 end
if redis.call("HEXISTS", KEYS[1], "outcome") == 1 then return 0 end
return redis.call("DEL", KEYS[1])`
}).withReturnType<number>()

/** The fields of those of many entries that have no outcome and no lease any more. */
const abandonedScript = Redis.script((...keys: ReadonlyArray<string>) => keys, {
  numberOfKeys: 0,
  lua: `${clock}
local found = {}
for _, key in ipairs(ARGV) do
  local fields = redis.pcall("HMGET", key, "intent", "claim", "call", "started", "leased", "outcome", "expires")
  if not fields.err and fields[5] and not fields[6] and tonumber(fields[5]) <= now then table.insert(found, fields) end
end
return {string.format("%.0f", now), found}`
}).withReturnType<readonly [now: string, found: ReadonlyArray<ReadonlyArray<string | null>>]>()

/** Number of keys in one step of a list, which reads all keys of the server. */
const keysAtOnce = "1000"

/** A pattern that keys with a prefix match. */
const patternOf = (prefix: string): string => `${prefix.replaceAll(/[\\*?[\]]/g, "\\$&")}*`

const foundOf = (
  [now, fields]: readonly [string, ReadonlyArray<string | null>]
): Effect.Effect<Found, Schema.SchemaError> =>
  Effect.map(decode(fields), ([intent, claim, call, started, leased, outcome, expires]) => ({
    now: Number(now),
    entry: Entry.make({
      ...intent,
      claim,
      callId: call,
      startedAt: started,
      leasedUntil: leased,
      ...(outcome === null ? undefined : { outcome }),
      ...(expires === null ? undefined : { expiresAt: expires })
    })
  }))

/** Codes of the server's own transient errors. An error without a code is a broken connection. */
const passing = new Set(["BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "NOREPLICAS", "READONLY", "TRYAGAIN"])

const isTransient = (error: unknown): boolean => {
  if (!(error instanceof Redis.RedisError) || !(error.cause instanceof Error)) return false
  const code = /^([A-Z]{3,}) /.exec(error.cause.message)?.[1]
  return code === undefined || passing.has(code)
}

const millis = (duration: Duration.Duration): number => Math.ceil(Duration.toMillis(duration))

/** A store in Redis. A key is claimed by a script, so that any number of processes can share it. */
export const redisStore = (redis: Redis.Redis["Service"], prefix: string): Store => {
  const begin = redis.eval(beginScript)
  const renew = redis.eval(renewScript)
  const take = redis.eval(takeScript)
  const complete = redis.eval(completeScript)
  const reopen = redis.eval(reopenScript)
  const release = redis.eval(releaseScript)
  const abandoned = redis.eval(abandonedScript)
  const keyOf = (id: string) => `${prefix}${id}`

  const during = (operation: LedgerError["operation"]) =>
    Effect.mapError((reason: unknown) =>
      new LedgerError({ operation, reason, ...(isTransient(reason) ? { isTransient: true } : undefined) })
    )

  const allAbandoned = Effect.fnUntraced(function*() {
    const found = new Map<string, Found>()
    for (let cursor = "0";;) {
      const [next, keys] = yield* redis.send<readonly [string, ReadonlyArray<string>]>(
        "SCAN",
        cursor,
        "MATCH",
        patternOf(prefix),
        "COUNT",
        keysAtOnce
      )
      const [now, all] = keys.length === 0 ? ["0", []] as const : yield* abandoned(...keys)
      for (const fields of all) {
        const one = yield* foundOf([now, fields])
        found.set(one.entry.id, one)
      }
      if (next === "0") return [...found.values()]
      cursor = next
    }
  })

  return {
    begin: (intent, lease) =>
      Effect.flatMap(encodeIntent(intent), (text) =>
        Effect.flatMap(
          begin(keyOf(intent.id), text, intent.claim, intent.callId, millis(lease)),
          (entry): Effect.Effect<Found | undefined, Schema.SchemaError> =>
            entry === null ? Effect.undefined : foundOf(entry)
        )).pipe(during("begin")),
    renew: (intent, lease) =>
      renew(keyOf(intent.id), intent.claim, intent.callId, millis(lease)).pipe(
        Effect.map((renewed) => renewed === 1),
        during("renew")
      ),
    take: (from, intent, lease) =>
      take(keyOf(from.id), from.claim, intent.claim, millis(lease)).pipe(
        Effect.map((taken) => taken === 1),
        during("take")
      ),
    complete: (intent, outcome, timeToLive) =>
      Effect.flatMap(Effect.all([encodeIntent(intent), encodeOutcome(outcome)]), ([text, result]) =>
        complete(
          keyOf(intent.id),
          text,
          intent.claim,
          intent.callId,
          result,
          Duration.isFinite(timeToLive) ? Math.max(1, millis(timeToLive)) : undefined
        )).pipe(during("complete")),
    reopen: (intent, lease) =>
      reopen(keyOf(intent.id), intent.claim, millis(lease)).pipe(Effect.asVoid, during("reopen")),
    release: (intent) => release(keyOf(intent.id), intent.claim).pipe(Effect.asVoid, during("release")),
    abandoned: (limit) =>
      Effect.map(allAbandoned(), (found) => abandonedIn(found.map(({ entry }) => entry), Infinity, limit)).pipe(
        during("list")
      )
  }
}

/** Eviction policy of Redis; `undefined` if it does not report one. */
export const evictionPolicy = (redis: Redis.Redis["Service"]): Effect.Effect<string | undefined> =>
  Effect.orElseSucceed(
    Effect.map(redis.send<unknown>("CONFIG", "GET", "maxmemory-policy"), (answer) => {
      const policy: unknown = Array.isArray(answer)
        ? answer[1]
        : typeof answer === "object" && answer !== null
        ? Reflect.get(answer, "maxmemory-policy")
        : undefined
      return typeof policy === "string" ? policy : undefined
    }),
    () => undefined
  )
