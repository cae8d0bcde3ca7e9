/** Remembered requests: a request that is sent again is the same call, while it runs and for some time after. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as McpSchema from "effect/ai/McpSchema"

interface Entry<A> {
  readonly call: string
  readonly fiber: Fiber.Fiber<A, McpSchema.InvalidParams>
  /** Requests that wait for the answer. */
  waiting: number
  /** When it ended, and how. */
  ended: { readonly at: number; readonly exit: Exit.Exit<A, McpSchema.InvalidParams> } | undefined
}

/** Retention of an answer, in milliseconds, and number of stored answers. */
const timeToLive = 600_000
const capacity = 10_000

const conflict = new McpSchema.InvalidParams({ message: "The idempotency key belongs to another call" })

/** Runs calls once for each key. */
export interface Once<A> {
  /**
   * Runs a call, or returns the answer of the one with the same key. It is interrupted when no request waits for it any
   * more; `interrupted` gives the later answer to a repeated request, or lets it run again.
   */
  readonly run: <R>(
    key: string,
    call: string,
    effect: Effect.Effect<A, McpSchema.InvalidParams, R>,
    interrupted: (cause: Cause.Cause<McpSchema.InvalidParams>) => A | undefined
  ) => Effect.Effect<A, McpSchema.InvalidParams, R>
}

/** Makes a memory, which exists as long as the scope. */
export const make = <A>(): Effect.Effect<Once<A>, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const entries = new Map<string, Entry<A>>()

    const forget = (now: number): void => {
      for (const [key, { ended }] of entries) {
        if (ended === undefined) continue
        if (ended.at + timeToLive > now && entries.size <= capacity) return
        entries.delete(key)
      }
    }

    const begin = <R>(
      key: string,
      call: string,
      effect: Effect.Effect<A, McpSchema.InvalidParams, R>,
      interrupted: (cause: Cause.Cause<McpSchema.InvalidParams>) => A | undefined
    ) =>
      Effect.flatMap(Clock.Clock, (clock) =>
        Effect.map(
          Effect.forkIn(
            Effect.onExit(effect, (exit) =>
              Effect.sync(() => {
                const now = clock.currentTimeMillisUnsafe()
                const answer = Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)
                  ? interrupted(exit.cause)
                  : undefined
                const entry = entries.get(key)
                if (entry === undefined) return
                entries.delete(key)
                if (Exit.isFailure(exit) && answer === undefined) return
                // Behind all others: the first of the map is the oldest that has ended.
                entries.set(key, entry)
                entry.ended = { at: now, exit: answer === undefined ? exit : Exit.succeed(answer) }
                forget(now)
              })),
            scope
          ),
          (fiber) => {
            const entry: Entry<A> = { call, fiber, waiting: 0, ended: undefined }
            return entry
          }
        ))

    const wait = (entry: Entry<A>): Effect.Effect<A, McpSchema.InvalidParams> => {
      if (entry.ended !== undefined) return entry.ended.exit
      entry.waiting++
      return Effect.onInterrupt(Fiber.join(entry.fiber), () => {
        entry.waiting--
        return entry.waiting === 0 ? Fiber.interrupt(entry.fiber) : Effect.void
      })
    }

    return {
      run: (key, call, effect, interrupted) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.suspend(() => {
            const known = entries.get(key)
            if (known !== undefined) {
              return known.call === call ? restore(Effect.suspend(() => wait(known))) : Effect.fail(conflict)
            }
            return Effect.flatMap(begin(key, call, restore(effect), interrupted), (entry) => {
              // A synchronous effect has ended before its entry.
              const exit = entry.fiber.pollUnsafe()
              if (exit === undefined) entries.set(key, entry)
              return restore(Effect.suspend(() => wait(entry)))
            })
          })
        )
    }
  })
