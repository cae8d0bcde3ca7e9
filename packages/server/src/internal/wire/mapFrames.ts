/** Frames of a run: its events in the form of a wire, in a log. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { NumberedEvent, RunsService } from "@recourse/core/Runs"
import { questionId } from "../chat/questions.ts"
import { type Log, logOf } from "../runs/log.ts"
import type { Wire } from "./wire.ts"

/** One event on a wire. */
export interface Frame {
  readonly number: number
  readonly segment: number
  readonly text: string
  readonly ends: "pause" | "run" | undefined
}

const endOf = (event: AgentEvent): Frame["ends"] =>
  event._tag !== "RunFinished" ? undefined : event.outcome === "paused" ? "pause" : "run"

/** Maps the events of a run into a log, while they arrive. */
export const mapFrames = (
  runs: Pick<RunsService, "events">,
  settled: (runId: string) => Effect.Effect<void>,
  runId: string,
  wire: Wire,
  log: Log<Frame>
): Effect.Effect<void> => {
  let segment = 0
  let isOver = false
  let at = 0
  let last = -1
  const mapper = wire.mapper((callId) => questionId({ runId, segment, callId }))
  const add = (event: AgentEvent, number: number): void => {
    at = Math.trunc(event.at)
    last = number
    const ends = endOf(event)
    isOver = ends === "run"
    log.append({ number, segment, text: mapper.next(event, number).join(""), ends })
    // A run that another process takes over starts again, in the same segment.
    if (ends === "pause") segment++
  }
  const isFinished = ({ event }: NumberedEvent): boolean => event._tag === "RunFinished"
  const finished = ({ event, number }: NumberedEvent) =>
    Effect.andThen(settled(runId), Effect.sync(() => add(event, number)))
  const events = runs.events(runId)
  const source = logOf(events)
  const pushed = (source: Log<NumberedEvent>, from: number): Effect.Effect<void> =>
    Effect.flatMap(
      source.until(from, (item) => {
        if (isFinished(item)) return true
        add(item.event, item.number)
        return false
      }),
      (position) =>
        position === undefined
          ? Effect.void
          : Effect.andThen(finished(source.items[position]!), Effect.suspend(() => pushed(source, position + 1)))
    )
  const pulled = Stream.runForEachArray(events, (events) => {
    if (events.some(isFinished)) {
      return Effect.forEach(
        events,
        (item) => isFinished(item) ? finished(item) : Effect.sync(() => add(item.event, item.number)),
        { discard: true }
      )
    }
    for (const { event, number } of events) add(event, number)
    return Effect.void
  })
  const mapped = source === undefined ? pulled : pushed(source, 0)
  const ended = Effect.sync(() => {
    if (isOver) return
    log.append({ number: last + 1, segment, text: mapper.cut(at).join(""), ends: "run" })
  })
  return Effect.orDie(Effect.andThen(mapped, ended))
}
