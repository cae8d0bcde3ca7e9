/** Final answer: reads the agent's output from the model's last text, and asks for one correction. */
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { InvalidOutput } from "../../AgentError.ts"
import { transformerOf } from "../../ModelProvider.ts"
import type { RespondWith } from "../model/modelDecision.ts"
import type { Format } from "../model/sendRequest.ts"
import { textOf } from "./inputText.ts"
import type { Reply } from "../model/callModel.ts"
import { correction } from "./outputText.ts"
import type { Conversation } from "./program.ts"
import { emit } from "../run/run.ts"

/** The program answered in the model's place. */
export const substitute = (state: Conversation, decision: RespondWith<unknown>): unknown => {
  state.transcript.synthetic(textOf(decision.output))
  return decision.output
}

/** The response format of a request: none for text. A correction is more urgent than tools are. */
export const formatOf = ({ program: { name, output }, session }: Conversation): Format | undefined =>
  output.isText ? undefined : {
    objectName: `${name}_answer`.replaceAll(/[^\w-]/g, "_").slice(0, 64),
    schema: output.format,
    prefer: session.isCorrected ? "format" : "tools"
  }

/** The answer does not fit, and the model has been asked for another one. */
export const corrected = Symbol.for("@recourse/core/loop/corrected")

/**
 * The model answered without calling a tool: its text is the output, if it fits. One that does not fit is corrected once; until
 * the model answers again it may call tools.
 */
export const finish = (
  state: Conversation,
  reply: Reply,
  model: LanguageModel.LanguageModel | undefined
): Effect.Effect<unknown, unknown, unknown> =>
  state.program.output.isPlain ? Effect.succeed(reply.text) : Effect.contextWith((context: Context.Context<never>) => {
    const { program: { name, output }, run, session, transcript } = state
    const asked = model ?? Context.getOrUndefined(context, LanguageModel.LanguageModel)
    const transformer = asked && transformerOf(asked)
    return Effect.flatMap(
      output.read(reply.text, transformer),
      Result.match({
        onSuccess: (value): Effect.Effect<unknown, unknown> => Effect.succeed(value),
        onFailure: (issues) => {
          if (session.isCorrected) return Effect.fail(new InvalidOutput({ agent: name, issues }))
          session.isCorrected = true
          transcript.user(correction(issues))
          return Effect.as(
            emit(run, () => ({ _tag: "OutputCorrection", issues: issues.map((issue) => issue.expected) })),
            corrected
          )
        }
      })
    )
  })
