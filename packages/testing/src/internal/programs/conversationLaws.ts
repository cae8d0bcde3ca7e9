/** Laws about conversations: their form, and streamed ones next to others. */
import { problemsOfHistory } from "../laws/wellFormedHistory.ts"
import { textOf } from "../text/text.ts"
import { type Law, ofEachRun, transcriptOf } from "./judging.ts"
import type { Observed } from "./observed.ts"

export const conversationLaws = {
  /** Each request, and the transcript however a run ended, has each call followed by its result. */
  history_is_well_formed: ofEachRun((run) => [
    ...run.requests.flatMap(({ prompt }) => problemsOfHistory(prompt)),
    ...run.parts.flatMap(({ record }) => record === undefined ? [] : problemsOfHistory(record.transcript))
  ]),

  /** Streamed or not: the same ending, side effects and conversation. */
  streamed_alike: ({ plain, streamed }) => {
    // An interrupted answer is not requested again if its beginning was emitted.
    if (plain.program.order !== 0 || plain.program.model.some(({ fault }) => fault === "cut")) return []
    const shown = (run: Observed): Readonly<Record<string, string>> => ({
      sideEffects: textOf(
        run.sideEffects.map(({ callId, done, order, state, tool }) => ({ callId, done, order, state, tool }))
      ),
      endings: textOf(run.parts.map(({ exit }) => exit._tag)),
      conversation: run.parts.map(transcriptOf).join("\n"),
      duration: textOf(run.parts.map(({ elapsed }) => elapsed))
    })
    const other = shown(streamed)
    return Object.entries(shown(plain)).flatMap(([what, text]) =>
      text === other[what] ? [] : [{ run: "streamed" as const, problem: `${what}: ${text}\nstreamed: ${other[what]}` }]
    )
  }
} as const satisfies Readonly<Record<string, Law>>
