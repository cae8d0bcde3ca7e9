/** Guards: the input's, which runs beside the first model request, and the final answer's, before anybody is told of it. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { type AnyAnswerGuard, type AnyGuard, Change } from "../../Guardrail.ts"
import { textOf } from "./inputText.ts"
import { corrected } from "./finalAnswer.ts"
import type { Conversation } from "./program.ts"

/** The guard of an input that runs. */
export interface InputGuard {
  /** Whether it has let the input pass. */
  readonly hasPassed: () => boolean
  /**
   * Runs the first request to the model: it ends when the guard has passed as well. Answers a {@link Change} where the input is to be another
   * one, and fails with what the guard fails with; both interrupt the request.
   */
  readonly beside: <A>(
    first: Effect.Effect<A, unknown, unknown>
  ) => Effect.Effect<A | Change<unknown>, unknown, unknown>
  /** Ends it, with the run. */
  readonly end: Effect.Effect<unknown>
}

/** Begins to look at an input. */
export const guardInput = (
  state: Conversation,
  guard: AnyGuard,
  input: unknown
): Effect.Effect<InputGuard, never, unknown> =>
  Effect.map(Effect.forkChild(Effect.suspend(() => guard(input)), { startImmediately: true }), (fiber) => {
    const hasPassed = () => {
      const exit = fiber.pollUnsafe()
      return exit !== undefined && Exit.isSuccess(exit) && !(exit.value instanceof Change)
    }
    const stopped = Effect.flatMap(
      Fiber.join(fiber),
      (verdict) => verdict instanceof Change ? Effect.succeed(verdict) : Effect.never
    )
    const discard = Effect.suspend(() => state.events?.discard ?? Effect.void)
    const replaced = Effect.suspend(() => state.events?.replaced ?? Effect.void)
    // What the guard of the output holds, it lets go itself.
    const release = Effect.suspend(() =>
      state.program.guardOutput === undefined ? state.events?.release ?? Effect.void : Effect.void
    )
    return {
      hasPassed,
      end: Fiber.interrupt(fiber),
      beside: <A>(first: Effect.Effect<A, unknown, unknown>) =>
        Effect.raceFirst(
          Effect.flatMap(first, (answer) =>
            Effect.map(Fiber.join(fiber), (verdict) => verdict instanceof Change ? verdict : answer)),
          stopped
        ).pipe(
          Effect.tap((answer) =>
            answer instanceof Change ? Effect.void : release
          ),
          // What the guard has not let pass is dropped, also where the run is interrupted meanwhile.
          Effect.onExit((exit) =>
            Exit.isFailure(exit) ? discard : exit.value instanceof Change ? replaced : Effect.void
          )
        )
    }
  })

/**
 * Looks at a final answer before anybody is told of it. What it replaces or stops does not stay in the conversation, and neither does
 * an answer at which it could not look, as the run was interrupted.
 */
export const guardOutput = (
  state: Conversation,
  guard: AnyAnswerGuard,
  finished: Effect.Effect<unknown, unknown, unknown>
): Effect.Effect<unknown, unknown, unknown> =>
  finished.pipe(
    Effect.flatMap((output) =>
      output === corrected ? Effect.succeed(output) : Effect.flatMap(
        guard(output, { transcript: state.transcript.snapshot() }),
        (verdict) => {
          const told = state.events
          if (!(verdict instanceof Change)) return Effect.as(told?.release ?? Effect.void, output)
          state.transcript.retractAnswer()
          state.transcript.synthetic(textOf(verdict.value))
          return Effect.as(told?.replaced ?? Effect.void, verdict.value)
        }
      )
    ),
    Effect.onExit((exit) => Exit.isSuccess(exit) ? Effect.void : Effect.sync(() => state.transcript.retractAnswer()))
  )
