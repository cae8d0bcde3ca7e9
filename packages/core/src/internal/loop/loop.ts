/** The agent loop: starts or resumes a run, and converses with the model. One interpreter, streamed or not. */
import * as Prompt from "effect/ai/Prompt"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Checkpoint } from "../approval/snapshot.ts"
import type { Decision } from "../approval/decision.ts"
import { noteWritesBeforePause } from "../round/recordedCall.ts"
import { SnapshotKey } from "../approval/snapshotKey.ts"
import type * as Skill from "../tool/skill.ts"
import { converse, isTrusted, substitute } from "./converse.ts"
import { callIdsIn } from "../model/responseParts.ts"
import { mend, type Mending } from "../history/mendHistory.ts"
import { runCalls } from "./answerCalls.ts"
import { callAround, newRoundContext } from "../round/roundContext.ts"
import { Change } from "../../Guardrail.ts"
import { guardInput, type InputGuard } from "./guards.ts"
import type { InputText } from "./inputText.ts"
import { choose } from "./tools/chooseSkill.ts"
import { CurrentRunInbox, type RunInbox } from "../../RunInbox.ts"
import { CurrentExchange, type Exchange, makeExchange } from "../foundation/effect/retriedFailures.ts"
import { Observer } from "../model/transportObserver.ts"
import { presentationOf } from "../result/delivery.ts"
import { isSubstitute } from "../model/modelDecision.ts"
import { waitingCalls } from "../round/resume/nestedPauses.ts"
import { withdrawQuestions } from "../round/resume/withdrawQuestions.ts"
import { Pause } from "./pause.ts"
import type { Conversation, Program } from "./program.ts"
import { toolsAt } from "./tools/checkpointTools.ts"
import { requestToolsIn, withRequestTools } from "./tools/requestTools.ts"
import { emit, type Run } from "../run/run.ts"
import { taintedBy } from "../../Quarantine.ts"
import { executedElsewhereIn } from "../tool/from/toolkitGate.ts"
import { resultsOf, type Session } from "../run/session.ts"
import { hasRequestContext } from "../run/transcript.ts"
import { withFinder } from "./tools/toolSearch.ts"
import type { ToolSet } from "./tools/toolSet.ts"
import { chooseSkill, taintRun, use } from "../run/state/runState.ts"
import { plainResult, resultOrEffect } from "../foundation/options/hookResult.ts"
import { aString, type Kind } from "../foundation/options/optionCheck.ts"

const begin = (
  state: Conversation,
  tools: ToolSet,
  input: unknown,
  text: InputText,
  skill: Skill.Any | undefined,
  instructions: string | undefined,
  conversation: Prompt.Prompt | undefined
): ReadonlyArray<Mending> => {
  const { output } = state.program
  const system = [instructions, skill?.instructions, output.instructions].filter((part) => part !== undefined)
  const asked = conversation === undefined ? text() : ""
  if (system.length > 0) state.transcript.system(system.join("\n\n"))
  if (conversation === undefined) {
    state.transcript.user(asked)
    return []
  }
  const { mended, prompt: earlier } = mend(conversation)
  state.transcript.prompt(earlier)
  if (state.session.isReplaced) state.session.replacedInput = Prompt.isPrompt(input) ? input : earlier
  taintRun(state.run, taintedBy(earlier))
  taintRun(state.run, executedElsewhereIn(earlier, isTrusted(tools)))
  for (const id of callIdsIn(earlier)) state.session.callIds.add(id)
  return mended
}

/** Start of a run: an input, or the state of another run. */
export type Start = { readonly input: unknown } | {
  readonly checkpoint: Checkpoint
  readonly decisions: ReadonlyMap<string, Decision>
}

/** The instructions of a run. */
const instructionsFor = (
  { instructions, name }: Program,
  input: unknown
): Effect.Effect<string | undefined, unknown, unknown> =>
  typeof instructions !== "function"
    ? Effect.succeed(instructions)
    : resultOrEffect({ subject: `Agent "${name}"`, name: "instructions", kind: aString }, () => instructions(input))

/** Messages as `Prompt.make` takes them. */
const someMessages: Kind = {
  is: (value) =>
    typeof value === "string" || Prompt.isPrompt(value) ||
    (typeof value === "object" && value !== null && Symbol.iterator in value),
  called: "a text, messages or a Prompt"
}

/** The messages that a program makes of an input; absent if it makes none. */
const promptOf = ({ name, prompt }: Program, input: unknown): Prompt.Prompt | undefined =>
  prompt && Prompt.make(plainResult({ subject: `Agent "${name}"`, name: "prompt", kind: someMessages }, prompt(input)))

/** Starts with an input: with its guard in parallel, if it has one. */
const beginWith = (
  state: Conversation,
  input: unknown,
  guard: InputGuard | undefined
): Effect.Effect<unknown, unknown, unknown> => {
  const { program, session } = state
  return Effect.flatMapEager(
    program.input.write(input),
    (text) => {
      const hasSkills = program.skills.length > 0 || program.chooseSkill !== undefined
      const asksModel = program.skills.length > 1 && program.chooseSkill === undefined
      const isDelayed = guard && (() => !guard.hasPassed())
      const chosen = hasSkills ? choose(state, input, text, isDelayed) : Effect.undefined
      return Effect.flatMapEager(guard !== undefined && asksModel ? guard.runInParallel(chosen) : chosen, (skill) => {
        if (skill instanceof Change) return startAgain(state, skill.value)
        if (skill !== undefined && isSubstitute(skill)) return Effect.sync(() => substitute(state, skill))
        const conversation = promptOf(program, input)
        if (conversation !== undefined) {
          session.request = { tools: requestToolsIn(conversation), hasContext: hasRequestContext(conversation) }
        }
        const own = skill?.tools ?? program.tools
        const requested = session.request.tools
        const offered = requested === undefined ? Effect.succeed(own) : withRequestTools(own, requested)
        return Effect.flatMapEager(offered, (all) => {
          const tools = all.byName.size > program.maxTools ? withFinder(all, program.maxTools) : all
          return Effect.flatMapEager(instructionsFor(program, input), (instructions) => {
            const mended = begin(state, tools, input, text, skill?.skill, instructions, conversation)
            if (state.run.reading.skill !== skill?.skill.name) chooseSkill(state.run, skill?.skill.name)
            // An input that the guard has not passed is not resumed.
            session.isResumable = guard === undefined || guard.hasPassed()
            return Effect.flatMapEager(
              mended.length === 0 ? Effect.void : emit(state.run, () => ({ _tag: "HistoryMended", mended })),
              () => {
                const talk = converse(state, tools, asksModel ? undefined : guard)
                return guard === undefined
                  ? talk
                  : Effect.flatMap(
                    talk,
                    (said) => said instanceof Change ? startAgain(state, said.value) : Effect.succeed(said)
                  )
              }
            )
          })
        })
      })
    }
  )
}

/** Begins with the input that a guard has put in the place of the first. */
const startAgain = (state: Conversation, input: unknown): Effect.Effect<unknown, unknown, unknown> =>
  Effect.suspend(() => {
    state.session.clear()
    // No guard checks this one.
    return beginWith(state, input, undefined)
  })

const start = (state: Conversation, input: unknown): Effect.Effect<unknown, unknown, unknown> => {
  const { program } = state
  if (program.given !== undefined) {
    state.session.tools = program.tools
    return program.given.run(state, input)
  }
  return program.guardInput === undefined ? beginWith(state, input, undefined) : Effect.flatMap(
    guardInput(state, program.guardInput, input),
    (guard) => Effect.onExit(beginWith(state, input, guard), () => guard.end)
  )
}

const resumeRun = Effect.fnUntraced(function*(
  state: Conversation,
  checkpoint: Checkpoint,
  decisions: ReadonlyMap<string, Decision>
): Effect.fn.Return<unknown, unknown, unknown> {
  const { program, session } = state
  const tools = yield* toolsAt(program, checkpoint)
  session.tools = tools
  const calls = newRoundContext(state, tools.byName, tools.names)
  noteWritesBeforePause(calls, checkpoint)
  if (checkpoint.round === undefined) session.restore(checkpoint)
  else {
    const ran = yield* runCalls(state, calls, checkpoint.round.calls, () => session.restore(checkpoint), {
      results: resultsOf(checkpoint.round),
      waiting: waitingCalls(checkpoint.round.pending, checkpoint.round.nested ?? [], checkpoint.round.within ?? []),
      decisions
    })
    if (ran instanceof Pause) return ran
    if (program.given !== undefined) return program.given.answer(ran)
  }
  return yield* converse(state, tools)
})

/** Returns the inbox that a run reads: the outermost one, if no input guard would be passed by. */
const inboxOf = (
  context: Context.Context<never>,
  program: Pick<Program, "guardInput">,
  run: Run
): RunInbox | undefined => {
  if (run.parent !== undefined || program.guardInput !== undefined) return undefined
  const inbox = Context.get(context, CurrentRunInbox)
  return inbox?.runId === run.id ? inbox : undefined
}

/** All services of a run: it hears of its transport retries before the observer of the context does. */
const servicesOf = (
  context: Context.Context<never>,
  run: Run,
  session: Session,
  exchange: Exchange
): Context.Context<never> => {
  const outer = Context.get(context, Observer)
  const services = context.pipe(
    Context.add(CurrentExchange, exchange),
    Context.add(Observer, (retry) =>
      run.account.charge("transportRetries").pipe(
        Effect.andThen(emit(run, () => ({
          _tag: "TransportRetry",
          turn: session.turn,
          retry: retry.attempt,
          delay: Duration.toMillis(retry.delay),
          error: retry.failure._tag === "Status" ? String(retry.failure.status) : retry.failure.code ?? "connection",
          host: retry.host
        }))),
        Effect.andThen(Effect.suspend(() => {
          use(run, "transportRetries", 1)
          return outer(retry)
        }))
      ))
  )
  // In one map: a run looks its services up more often than it adds to them.
  return Context.makeUnsafe(services.mapUnsafe)
}

/** Runs an agent once, with the services of its boundary. Answers its output, or a {@link Pause}. */
export const loop = (
  program: Program,
  from: Start,
  run: Run,
  session: Session,
  context: Context.Context<never>
): Effect.Effect<unknown, unknown, unknown> => {
  const shown = presentationOf(context, program.resultLimit)
  const within = callAround(context)
  const exchange = makeExchange((millis) => run.account.hasTime(millis))
  const services = servicesOf(context, run, session, exchange)
  // Until the round has started. The caller of the outermost agent still has the snapshot. An inner run has executed no
  // call by then, so its snapshot is given back, and the outer run ends it as a whole.
  if ("checkpoint" in from && run.parent !== undefined) {
    session.withdraw = Effect.suspend(() => withdrawQuestions(run, shown, from.checkpoint.round))
  }
  const state: Conversation = {
    canPause: run.start.mayPause && Context.getOrUndefined(context, SnapshotKey) !== undefined,
    program,
    run,
    session,
    context: services,
    exchange,
    transcript: session.transcript,
    inbox: inboxOf(context, program, run),
    shown,
    within
  }
  return Effect.updateContext(
    "input" in from ? start(state, from.input) : resumeRun(state, from.checkpoint, from.decisions),
    () => services as Context.Context<unknown>
  )
}
