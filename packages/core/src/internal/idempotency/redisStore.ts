/** Entries in Redis, over `effect/persistence`: one string for each key, changed by scripts that compare before they set. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Redis from "effect/persistence/Redis"
import { Entry, type Intent, isExpired, LedgerError, type Store } from "./store.ts"

const Stored = Schema.fromJsonString(Entry)
const decode = Schema.decodeUnknownEffect(Stored)
const encode = Schema.encodeEffect(Stored)

/** Sets what is not there; answers what is. */
const setIfAbsent = Redis.script((key: string, text: string) => [key, text], {
  numberOfKeys: 1,
  lua: `
local held = redis.call("GET", KEYS[1])
if held then return held end
redis.call("SET", KEYS[1], ARGV[1])
return false`
}).withReturnType<string | null>()

/** Puts a text in the place of another one, for a time if one is given; an empty text forgets the key. */
const replace = Redis.script(
  (key: string, from: string, to: string, milliseconds?: number) => [key, from, to, milliseconds ?? ""],
  {
    numberOfKeys: 1,
    lua: `
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == "" then
  redis.call("DEL", KEYS[1])
elseif ARGV[3] == "" then
  redis.call("SET", KEYS[1], ARGV[2])
else
  redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
end
return 1`
  }
).withReturnType<number>()

/** A store in Redis. A key is claimed by a script, so that any number of processes can share it. */
export const redisStore = (redis: Redis.Redis["Service"], prefix: string): Store => {
  const claim = redis.eval(setIfAbsent)
  const swap = redis.eval(replace)
  const keyOf = (id: string) => `${prefix}${id}`

  const during = (operation: LedgerError["operation"]) =>
    Effect.mapError((reason: unknown) => new LedgerError({ operation, reason }))

  const begin: (intent: Intent) => Effect.Effect<Entry | undefined, Redis.RedisError | Schema.SchemaError> = (intent) =>
    Effect.flatMap(encode(intent), (text) =>
      Effect.flatMap(claim(keyOf(intent.id), text), (held) => {
        if (held === null) return Effect.undefined
        return Effect.flatMap(decode(held), (entry) => {
          if (!isExpired(entry, intent.startedAt)) return Effect.succeed(entry)
          // Redis forgets it by its own clock, which may be late. If somebody else was faster, that one is asked about.
          return Effect.flatMap(
            swap(keyOf(intent.id), held, text),
            (swapped) => swapped === 1 ? Effect.undefined : begin(intent)
          )
        })
      }))

  return {
    begin: (intent) => begin(intent).pipe(during("begin")),
    take: (from, intent) =>
      Effect.flatMap(
        Effect.all([encode(from), encode(intent)]),
        ([before, after]) => swap(keyOf(intent.id), before, after)
      ).pipe(Effect.map((swapped) => swapped === 1), during("take")),
    complete: (intent, outcome, expiresAt) =>
      Effect.gen(function*() {
        const before = yield* encode(intent)
        const after = yield* encode({ ...intent, outcome, expiresAt })
        const left = Math.ceil(expiresAt - (yield* Clock.currentTimeMillis))
        yield* swap(keyOf(intent.id), before, after, Math.max(1, left))
      }).pipe(during("complete")),
    release: (intent) =>
      Effect.flatMap(encode(intent), (text) => swap(keyOf(intent.id), text, "")).pipe(
        Effect.asVoid,
        during("release")
      )
  }
}
