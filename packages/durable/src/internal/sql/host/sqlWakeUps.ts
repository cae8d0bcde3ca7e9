/**
 * Wake-ups between processes on PostgreSQL, by LISTEN and NOTIFY. A process that cannot listen polls only: over other databases, behind a pooler that
 * shares sessions, or with a client that has no connection to spare.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as RcRef from "effect/RcRef"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as WebCrypto from "effect/crypto/WebCrypto"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type { Host, WakeUp } from "../../store/store.ts"
import type { Tables } from "../sqlTables.ts"
import { storeRetry } from "../../store/storeRetry.ts"
import { WakeUps } from "../../store/wakeUps.ts"

/** Additions of `@effect/sql-pg` to a client. */
interface Listening extends SqlClient.SqlClient {
  readonly config: { readonly stream?: unknown }
  readonly listen: (
    channel: string
  ) => Effect.Effect<Queue.Dequeue<{ readonly payload: string }, SqlError.SqlError>, SqlError.SqlError, Scope.Scope>
}

const isListening = (client: SqlClient.SqlClient): client is Listening =>
  "listen" in client && typeof client.listen === "function" &&
  // One session serves a stream of a program's own: it has no capacity for more than a listener.
  (client as Listening).config.stream === undefined

/** A sender, and its notification. */
const Message = Schema.fromJsonString(Schema.Struct({
  from: Schema.String,
  news: Schema.Array(Schema.Union([
    Schema.Struct({
      _tag: Schema.Literal("Queued"),
      released: Schema.optionalKey(
        Schema.Struct({ runId: Schema.String, agent: Schema.String, version: Schema.String })
      )
    }),
    Schema.Struct({ _tag: Schema.Literals(["Cancelled", "Read", "Recorded", "Changed"]), runId: Schema.String })
  ]))
}))
const decode = Schema.decodeUnknownOption(Message)

/** Characters that a payload has room for: it has 8,000 bytes, a character at most six as JSON. */
const most = 1200

/** Time for which notifications without a waiting fiber are collected. */
const gathered = "5 millis"

/** Wake-ups of a store in SQL. */
export interface SqlWakeUps {
  readonly listen: Host["listen"]
  /** Notifies the listeners of this process at once, and others when the effect has ended. */
  readonly notify: (news: ReadonlyArray<WakeUp>) => Effect.Effect<void>
  /** The same, and others soon: the effect does not wait for it. */
  readonly notifySoon: (news: ReadonlyArray<WakeUp>) => Effect.Effect<void>
}

/** Parts that a payload has room for. */
const payloads = (news: ReadonlyArray<WakeUp>): ReadonlyArray<ReadonlyArray<WakeUp>> => {
  const parts: Array<Array<WakeUp>> = [[]]
  let size = 0
  for (const one of news) {
    const length = JSON.stringify(one).length
    if (size + length > most) {
      parts.push([])
      size = 0
    }
    parts.at(-1)!.push(one)
    size += length
  }
  return parts
}

/** Makes wake-ups. */
export const make = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  { runs }: Pick<Tables, "runs">
): Effect.fn.Return<SqlWakeUps, never, Scope.Scope> {
  const local = new WakeUps()
  const notifyHere = (news: ReadonlyArray<WakeUp>) => Effect.sync(() => news.forEach((one) => local.emit(one)))
  if (!isListening(sql)) return { listen: local.listen, notify: notifyHere, notifySoon: notifyHere }
  const from = (yield* WebCrypto.WebCrypto).randomUUID()
  // Tables of one name in two schemas have a channel each.
  const channel = sql`'recourse_' || md5(coalesce(current_schema(), '') || '.' || ${runs})`
  const send = (news: ReadonlyArray<WakeUp>) =>
    Effect.ignore(Effect.forEach(
      payloads(news),
      (part) => sql`SELECT pg_notify(${channel}, ${JSON.stringify({ from, news: part })})`,
      { discard: true }
    ))

  const receive = (payload: string): void => {
    const message = Option.getOrUndefined(decode(payload))
    if (message === undefined || message.from === from) return
    for (const one of message.news) local.emit(one)
  }
  /** Hears until the connection is lost; `false` if the client has no connection to spare. */
  const hearing = Effect.scoped(Effect.gen(function*() {
    const [named] = yield* sql<{ readonly channel: string }>`SELECT ${channel} AS channel`
    const queue = yield* sql.listen(named!.channel)
    if (Option.isNone(yield* Effect.timeoutOption(sql`SELECT 1`, "1 second"))) return
    // Earlier changes are found by polling.
    local.emit({ _tag: "Queued" })
    return yield* Effect.forever(Effect.map(Queue.take(queue), ({ payload }) => receive(payload)))
  }))
  const forever = Effect.andThen(
    Effect.orDie(Effect.retry(hearing, storeRetry)),
    Effect.logWarning("Durable runs: the client has no connection to spare for LISTEN, so this process only polls")
  )
  const listening = yield* RcRef.make({
    // A database that does not answer does not hold up a process that stops.
    acquire: Effect.acquireRelease(
      Effect.forkDetach(forever),
      (fiber) =>
        Effect.flatMap(Effect.forkDetach(Effect.timeoutOption(Fiber.interrupt(fiber), "1 second")), Fiber.await)
    )
  })

  let soon: Array<WakeUp> = []
  const flush = Effect.suspend(() => {
    const news = soon
    soon = []
    return send(news)
  })
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  return {
    listen: (listener) => Effect.andThen(local.listen(listener), Effect.asVoid(RcRef.get(listening))),
    notify: (news) => Effect.andThen(notifyHere(news), send(news)),
    notifySoon: (news) =>
      Effect.andThen(
        notifyHere(news),
        Effect.sync(() => {
          if (news.length === 0) return
          if (soon.length === 0) fork(Effect.andThen(Effect.sleep(gathered), flush))
          soon.push(...news)
        })
      )
  }
})
