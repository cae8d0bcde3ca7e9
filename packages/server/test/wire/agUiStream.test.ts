import { type BaseEvent, verifyEvents } from "@ag-ui/client"
import { EventSchema } from "@ag-ui/core/schemas"
import { EventSchemas as EventSchemas0, verifyEvents as verifyEvents0 } from "ag-ui-client-0"
import { assert, describe, it } from "@effect/vitest"
import type { AgentEvent } from "@recourse/core"
import { AgUiStream } from "@recourse/server"
import { Effect } from "effect"
import { from, lastValueFrom, toArray } from "rxjs"
import { messages } from "../support/drawnRuns.ts"

const mapper = (speaksV1 = true) =>
  AgUiStream.make({
    threadId: "t",
    runId: (segment) => `r${segment}`,
    interruptId: (callId) => `i:${callId}`,
    speaksV1
  })

const map = (events: ReadonlyArray<AgentEvent.AgentEvent>, speaksV1 = true) => {
  const stream = mapper(speaksV1)
  return events.flatMap((event) => stream.next(event))
}

/** Fails like AG-UI's own client. */
const verified = (events: ReadonlyArray<unknown>) =>
  Effect.promise(() =>
    lastValueFrom(from(events as ReadonlyArray<BaseEvent>).pipe(verifyEvents(), toArray())).then(
      () => undefined,
      (error: unknown) => error
    )
  )

/** Fails like the client that CopilotKit and assistant-ui pin. */
const verifiedBy0 = (events: ReadonlyArray<unknown>) =>
  Effect.promise(() =>
    lastValueFrom(from(events as ReadonlyArray<never>).pipe(verifyEvents0(), toArray())).then(
      () => undefined,
      (error: unknown) => error
    )
  )

describe("drawn programs", () => {
  it.effect(
    "emit events of the AG-UI 1.0 schema in a verified order",
    () =>
      Effect.gen(function*() {
        const runs = yield* messages
        assert.isAbove(runs.length, 50)
        for (const events of runs) {
          const told = map(events)
          for (const event of told) {
            const parsed = EventSchema.safeParse(event)
            assert.isTrue(parsed.success, JSON.stringify([event, parsed.error]))
            assert.deepStrictEqual(parsed.data, JSON.parse(JSON.stringify(event)))
          }
          assert.isUndefined(yield* verified(told), JSON.stringify(told))
          assert.include(["RUN_FINISHED", "RUN_ERROR"], told.at(-1)?.type)
          // A run whose process goes away ends as well, wherever it is cut.
          const length = 1 + events.length % 7 * Math.floor((events.length - 1) / 7)
          const stream = mapper()
          const cut = events.slice(0, length).flatMap((event) => stream.next(event))
          assert.isUndefined(yield* verified([...cut, ...stream.cut("gone", 1)]))
        }
      }),
    60_000
  )

  it.effect(
    "emit events of the pre-1.0 client's schema in a verified order",
    () =>
      Effect.gen(function*() {
        for (const events of yield* messages) {
          const told = map(events, false)
          for (const event of told) {
            const parsed = EventSchemas0.safeParse(event)
            assert.isTrue(parsed.success, JSON.stringify([event, parsed.error]))
          }
          assert.isUndefined(yield* verifiedBy0(told), JSON.stringify(told))
        }
      }),
    60_000
  )
})
