/** Conversation with the model: asks it, runs the calls that it makes, until it answers or a call waits. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { taintedBy } from "../../Quarantine.ts"
import { replyCodec } from "../model/answerRecord.ts"
import { ask, type Reply } from "../model/callModel.ts"
import type { RespondWith } from "../model/modelDecision.ts"
import { executedElsewhere } from "../tool/from/toolkitGate.ts"
import { withUniqueIds } from "../model/responseParts.ts"
import { newRoundContext } from "../round/roundContext.ts"
import { runCalls } from "./answerCalls.ts"
import { again, compactIfFull, orCompact } from "./compaction.ts"
import { Change } from "../../Guardrail.ts"
import { guardOutput as guardAnswer, type InputGuard } from "./guards.ts"
import { joinMessages } from "./joinedMessages.ts"
import { Pause } from "./pause.ts"
import type { Conversation, Delay, Program } from "./program.ts"
import { currentTools } from "./tools/liveTools.ts"
import { withFinder, withinLimit } from "./tools/toolSearch.ts"
import { offer, type ToolSet } from "./tools/toolSet.ts"
import { turn } from "./turn.ts"
import { withRequestContexts } from "./requestContext.ts"
import { aPlan, asPlanned, checked, promptOf, toolsOf, type TurnPlan } from "./turnPlan.ts"
import { taintRun } from "../run/state/runState.ts"
import { resultOrEffect } from "../foundation/options/hookResult.ts"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Context from "effect/Context"
import * as Result from "effect/Result"
import { InvalidOutput } from "../../AgentError.ts"
import { transformerOf } from "../../ModelProvider.ts"
import type { Format } from "../model/sendRequest.ts"
import { textOf } from "./inputText.ts"
import { corrected, correction } from "./outputText.ts"
import { emit, type Run } from "../run/run.ts"

/** The program answered in the model's place. */
export const substitute = (state: Conversation, decision: RespondWith<unknown>): unknown => {
  state.transcript.synthetic(textOf(decision.output))
  return decision.output
}

/** The response format of a request: none for text. A correction is more urgent than tools are. */
const formatOf = ({ program: { name, output }, session }: Conversation): Format | undefined =>
  output.isText ? undefined : {
    objectName: `${name}_answer`.replaceAll(/[^\w-]/g, "_").slice(0, 64),
    schema: output.format,
    prefer: session.isCorrected ? "format" : "tools"
  }

/**
 * The model answered without calling a tool: its text is the output, if it fits. One that does not fit is corrected once; until
 * the model answers again it may call tools.
 */
const finish = (
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

/** True if results of a tool are trusted; those of an unknown tool are not. */
export const isTrusted = ({ byName }: ToolSet) => (name: string): boolean => byName.get(name)?.tool.trust === "trusted"

/** True if all tools of a run are offered: none is hidden, or waits for a task. */
const isWhole = ({ hasStatusTools }: ToolSet, { reading: { hidden } }: Run): boolean =>
  !hasStatusTools && hidden.size === 0

/** State before the next request, and the agent's plan for it. */
const planned = (
  { program: { name }, run, session, transcript }: Conversation,
  tools: ToolSet,
  first: ToolSet,
  prepareTurn: Exclude<Program["prepareTurn"], undefined>
): Effect.Effect<TurnPlan | undefined, unknown, unknown> =>
  Effect.flatMap(isWhole(tools, run) ? Effect.succeed(tools) : offer(tools, run, transcript), ({ finder, names }) => {
    const plan = resultOrEffect({ subject: `Agent "${name}"`, name: "prepareTurn", kind: aPlan }, () =>
      prepareTurn({
        turn: session.turn + 1,
        prompt: session.sent(),
        tools: finder === undefined ? names : names.filter((name) => name !== finder.tool.name),
        taintedBy: [...run.reading.taintedBy],
        usage: { ...run.counts.usage }
      }))
    return Effect.map(plan, (plan) => checked(name, tools, plan, first))
  })

/** Starts to ask the model for its next answer. */
const askNext = (
  state: Conversation,
  tools: ToolSet,
  plan: TurnPlan | undefined,
  isDelayed: Delay
): Effect.Effect<Reply | RespondWith<unknown>, unknown, unknown> => {
  const { program, run, session, transcript } = state
  // Also if the answer is in the journal, and there is no request.
  if (plan !== undefined) session.tools = { byName: tools.byName, names: toolsOf(tools, plan).names }
  return turn(
    state,
    replyCodec,
    (events) =>
      Effect.flatMapEager(isWhole(tools, run) ? Effect.succeed(tools) : offer(tools, run, transcript), (offered) => {
        const left = plan === undefined ? offered : toolsOf(offered, plan)
        const format = formatOf(state)
        // A tool that is not among them, and that the model knows, is there all the same.
        session.tools = { byName: tools.byName, names: left.names }
        // A form may be sent as a tool.
        const reserved = format === undefined ? 0 : 1
        const { finder } = left
        const { foreign, toolkit } = finder === undefined ? left : withinLimit(
          left,
          finder,
          program.maxTools,
          reserved,
          () => transcript.snapshot().content
        )
        if (foreign.length > 0) taintRun(run, foreign)
        const sent = session.request.hasContext ? withRequestContexts(session.sent()) : session.sent()
        if (plan === undefined) return ask(run, events, { prompt: sent, toolkit, format })
        const prompt = promptOf(sent, plan)
        taintRun(run, taintedBy(prompt))
        return asPlanned(ask(run, events, { prompt, toolkit, format, toolChoice: plan.toolChoice }), plan)
      }),
    isDelayed
  )
}

/**
 * Calls the model and runs its calls, until the model answers or a call waits. Returns a `Change` if the input guard
 * replaces the input.
 */
export const converse = (
  state: Conversation,
  tools: ToolSet,
  inputGuard?: InputGuard
): Effect.Effect<unknown, unknown, unknown> => {
  state.session.tools = tools
  const isDelayed = state.program.guardOutput !== undefined ? () => true : inputGuard && (() => !inputGuard.hasPassed())
  const conversed = turns(state, tools, isDelayed, inputGuard)
  // A turn stays open while its events are delayed, also behind the model's answer: any end there drops them.
  return isDelayed === undefined
    ? conversed
    : Effect.onExit(
      conversed,
      (exit) => Exit.isSuccess(exit) ? Effect.void : Effect.suspend(() => state.events?.discard ?? Effect.void)
    )
}

const turns = Effect.fnUntraced(function*(
  state: Conversation,
  first: ToolSet,
  isDelayed: Delay,
  inputGuard?: InputGuard
): Effect.fn.Return<unknown, unknown, unknown> {
  const { program, run, session, transcript } = state
  const { compaction, guardOutput, prepareTurn } = program
  let guard = inputGuard
  let isCompacted = false
  let tools = first
  while (true) {
    if (tools.lists.length > 0 && program.compile !== undefined) {
      const current = yield* currentTools(tools, program.compile)
      if (current !== tools) tools = withFinder(current, program.maxTools)
      session.tools = { byName: tools.byName, names: session.tools.names }
    }
    if (state.inbox !== undefined && !isCompacted) yield* joinMessages(state, state.inbox)
    if (compaction !== undefined && !isCompacted) yield* compactIfFull(state, compaction)
    const plan = prepareTurn === undefined ? undefined : yield* planned(state, tools, first, prepareTurn)
    const asked = () => askNext(state, tools, plan, isDelayed)
    const attempted = (): Effect.Effect<Reply | RespondWith<unknown> | typeof again, unknown, unknown> =>
      compaction === undefined || isCompacted ? asked() : orCompact(state, compaction, Effect.suspend(asked))
    const answer: Reply | RespondWith<unknown> | typeof again | Change<unknown> = yield* (
      guard === undefined ? attempted() : guard.runInParallel(Effect.suspend(attempted))
    )
    if (answer instanceof Change) return answer
    guard = undefined
    session.isResumable = true
    isCompacted = answer === again
    if (answer === again) continue
    if ("_tag" in answer) return substitute(state, answer)
    const { calls: raws, content } = withUniqueIds(answer.content, session.callIds)
    if (content.some(({ type }) => type === "tool-result")) taintRun(run, executedElsewhere(content, isTrusted(tools)))
    if (raws.length === 0 && answer.finishReason !== "pause") {
      const finished = () => {
        transcript.assistant(content, run.reading.taintedBy)
        return finish(state, answer, plan?.model)
      }
      const output = yield* (
        guardOutput === undefined ? finished() : guardAnswer(state, guardOutput, Effect.suspend(finished))
      )
      if (output !== corrected) return output
      continue
    }
    if (raws.length === 0) transcript.assistant(content, run.reading.taintedBy)
    if (guardOutput !== undefined) yield* state.events?.release ?? Effect.void
    if (raws.length > 0) {
      const offered = newRoundContext(state, tools.byName, session.tools.names)
      const ran = yield* runCalls(state, offered, raws, () => transcript.assistant(content, run.reading.taintedBy))
      if (ran instanceof Pause) return ran
    }
  }
})
