/** Events of drawn programs: streamed, interrupted and plain runs, each with its pauses. */
import type { AgentEvent } from "@recourse/core"
import { Programs } from "@recourse/testing"
import { Effect } from "effect"

const runs = Number(process.env["RECOURSE_PROGRAMS"] ?? 25)

/** The events of one message each, drawn once for all tests. */
export const messages = Effect.runSync(Effect.cached(Effect.gen(function*() {
  const found: Array<ReadonlyArray<AgentEvent.AgentEvent>> = []
  yield* Programs.check({
    runs,
    seed: 3,
    laws: [],
    // A listener that hangs hears no more of its run. A server ends a run whose resumption is interrupted. In a chat, a decision is a part of its own.
    only: (program) => ({ ...program, observers: "fine", again: false, chat: [] }),
    more: {
      collected: ({ interrupted, plain, streamed }) => {
        for (const { events, parts } of [plain, streamed, interrupted]) {
          for (const part of parts) found.push(events.slice(part.events[0], part.events[1]))
        }
        return []
      }
    }
  })
  return found.filter((events) => events.at(-1)?._tag === "RunFinished")
})))
