/** Final answer: reads the agent's output from the model's last text, and asks for one correction. */
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { InvalidOutput } from "../../AgentError.ts"
import { objectCodec, replyCodec } from "../model/answerRecord.ts"
import { isSubstitute, type RespondWith } from "../model/decision.ts"
import type { Issue } from "../../ToolError.ts"
import { textOf } from "./inputText.ts"
import { ask, askObject, type Reply } from "../model/ask.ts"
import { correction } from "./outputText.ts"
import type { Conversation } from "./program.ts"
import { emit } from "../run/run.ts"
import { turn } from "./turn.ts"

/** The program answered in the model's place. */
export const substitute = (state: Conversation, decision: RespondWith<unknown>): unknown => {
  state.transcript.synthetic(textOf(decision.output))
  return decision.output
}

const fail = (state: Conversation, issues: ReadonlyArray<Issue>) =>
  Effect.fail(new InvalidOutput({ agent: state.program.name, issues }))

/** Asks once more for an answer that fits: as an object of the schema where the output is not text. */
const corrected = (state: Conversation, issues: ReadonlyArray<Issue>): Effect.Effect<unknown, unknown, unknown> => {
  const { output, name } = state.program
  const { run, transcript } = state
  const Answer = Schema.Struct({ answer: output.schema })
  transcript.user(correction(issues))
  return Effect.andThen(
    emit(run, () => ({ _tag: "OutputCorrection", issues: issues.map((issue) => issue.expected) })),
    output.isText
      ? Effect.flatMap(
        turn(
          state,
          replyCodec,
          (events) => ask(events, { prompt: transcript.snapshot(), toolkit: Toolkit.empty })
        ),
        (reply) => isSubstitute(reply) ? Effect.succeed(substitute(state, reply)) : finish(state, reply, false)
      )
      : Effect.flatMap(
        turn(
          state,
          objectCodec(Answer),
          (events) => askObject(events, transcript.snapshot(), `${name}_answer`, Answer)
        ),
        (answer) => {
          if (isSubstitute(answer)) return Effect.succeed(substitute(state, answer))
          transcript.assistant(answer.content)
          return Result.match(answer.value, {
            onFailure: (again) => fail(state, again),
            onSuccess: (value) => Effect.succeed((value as { readonly answer: unknown }).answer)
          })
        }
      )
  )
}

/** The model answered without calling a tool: its text is the output, if it fits. */
export const finish = (
  state: Conversation,
  reply: Reply,
  mayCorrect: boolean
): Effect.Effect<unknown, unknown, unknown> => {
  if (!mayCorrect) state.transcript.assistant(reply.content)
  return Effect.flatMap(
    state.program.output.read(reply.text),
    Result.match({
      onFailure: (issues) => mayCorrect ? corrected(state, issues) : fail(state, issues),
      onSuccess: Effect.succeed
    })
  )
}
