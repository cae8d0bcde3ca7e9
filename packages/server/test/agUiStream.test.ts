import { type BaseEvent, verifyEvents } from "@ag-ui/client"
import { EventSchema } from "@ag-ui/core/schemas"
import { assert, describe, it } from "@effect/vitest"
import type { AgentEvent } from "@recourse/core"
import { AgUiStream } from "@recourse/server"
import { Effect } from "effect"
import { from, lastValueFrom, toArray } from "rxjs"
import { messages } from "./drawnRuns.ts"

const mapper = () =>
  AgUiStream.make({ threadId: "t", runId: (segment) => `r${segment}`, interruptId: (callId) => `i:${callId}` })

const map = (events: ReadonlyArray<AgentEvent.AgentEvent>) => {
  const stream = mapper()
  return events.flatMap((event) => stream.next(event))
}

/** Fails where AG-UI's own client would. */
const verified = (events: ReadonlyArray<unknown>) =>
  Effect.promise(() =>
    lastValueFrom(from(events as ReadonlyArray<BaseEvent>).pipe(verifyEvents(), toArray())).then(
      () => undefined,
      (error: unknown) => error
    )
  )

describe("drawn programs", () => {
  it.effect(
    "every event has the schema of AG-UI 1.0, and every run is in the order that its client verifies",
    () =>
      Effect.gen(function*() {
        const runs = yield* messages
        assert.isAbove(runs.length, 100)
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
})
