/** Frames of a run on a wire: what a mapper makes of its events, with an end in any case. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { Begun } from "../chat/chats.ts"
import { questionId } from "../chat/questions.ts"
import { follow } from "../chat/segments.ts"
import { frame } from "../http/sse.ts"
import type { Config } from "./config.ts"

/** Turns the events of one run, in order, into those of a wire. */
export interface Mapper {
  readonly next: (event: AgentEvent) => ReadonlyArray<unknown>
  readonly cut: (text: string, at: number) => ReadonlyArray<unknown>
}

/**
 * The frames of a run, or of one segment of it: the mapper hears what was before, too, as it has to know which calls were told.
 * The end is told when what was said is stored. `questionOf` gives the id of a question about a call.
 */
export const framesOf = (
  { chats }: Config,
  { runId, segment }: Partial<Begun> & Pick<Begun, "runId">,
  mapperOf: (questionOf: (callId: string) => string) => Mapper
): Stream.Stream<string> => {
  let shown = 0
  let isOver = false
  let at = 0
  const mapper = mapperOf((callId) => questionId({ runId, segment: shown, callId }))
  return follow(chats.runs, runId, segment).pipe(
    Stream.mapEffect((entry) =>
      entry.event._tag === "RunFinished" ? Effect.as(chats.settled(runId), entry) : Effect.succeed(entry)
    ),
    Stream.flatMap(({ event, segment: of }) => {
      shown = of
      at = Math.trunc(event.at)
      isOver = event._tag === "RunFinished"
      const told = mapper.next(event)
      return Stream.fromIterable(segment !== undefined && of < segment ? [] : told)
    }),
    Stream.concat(Stream.suspend(() => Stream.fromIterable(isOver ? [] : mapper.cut("The answer was cut off.", at)))),
    Stream.map((told) => frame(told)),
    Stream.orDie
  )
}
