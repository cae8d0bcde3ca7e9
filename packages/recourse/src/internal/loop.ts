/** The agent loop: ask the model, run the calls it makes, until it answers. One interpreter, streamed or not. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import * as Prompt from "effect/ai/Prompt"
import type * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { InvalidOutput, SkillNotChosen } from "../AgentError.ts"
import { consult, type Handler, type RespondWith, rethrow } from "../ModelError.ts"
import type { Checkpoint, Decision } from "../Approval.ts"
import type { Any as Policy } from "../Policy.ts"
import type * as Skill from "../Skill.ts"
import type { Issue } from "../ToolError.ts"
import * as TransportRetry from "../TransportRetry.ts"
import { callIdsIn, withUniqueIds } from "./callIds.ts"
import { ask, askObject, type Reply } from "./modelCall.ts"
import { type Showing, showing } from "./delivery.ts"
import { type InputWriter, textOf } from "./input.ts"
import { correction, type OutputReader } from "./output.ts"
import { before, emit, type Run, use } from "./run.ts"
import { errorName, inSpan } from "./span.ts"
import * as Telemetry from "./telemetry.ts"
import { Pause } from "./pause.ts"
import type { AgentTool } from "./pipeline.ts"
import { resultsOf, type Session } from "./session.ts"
import type { Calls } from "./calls.ts"
import { type Resumed, runAll } from "./toolCalls.ts"
import type { Transcript } from "./transcript.ts"

/** An agent, put together. */
export interface Program {
  readonly name: string
  readonly instructions: string | undefined
  readonly input: InputWriter
  readonly prompt: ((input: unknown) => Prompt.RawInput) | undefined
  readonly output: OutputReader
  readonly tools: ToolSet
  readonly skills: ReadonlyArray<ProgramSkill>
  /** Names a skill; left out, the model chooses where there are several. */
  readonly chooseSkill: ((input: unknown) => string | Effect.Effect<string, unknown, unknown>) | undefined
  readonly onModelError: Handler<unknown, unknown, unknown> | undefined
  readonly concurrency: number | "unbounded"
  readonly repeatedFailures: number
  readonly policies: ReadonlyArray<Policy>
  /** What holds besides once the run is tainted. */
  readonly quarantine: Policy
  /** How long an approval may take, in milliseconds. */
  readonly approvalTimeToLive: number
}

export interface ProgramSkill {
  readonly skill: Skill.Any
  /** The tools of an agent that has chosen the skill: its own and the skill's. */
  readonly tools: ToolSet
}

/** The tools of a run, by name and as the toolkit that the model is offered. */
export interface ToolSet {
  readonly byName: ReadonlyMap<string, AgentTool>
  readonly names: ReadonlyArray<string>
  /** Whether some are offered only once a task is pending. */
  readonly hasStatusTools: boolean
  readonly toolkit: Toolkit.Toolkit<Record<string, AiTool.Any>>
}

/** Makes the tools of a run. */
export const toolSet = (tools: ReadonlyArray<AgentTool>): ToolSet => ({
  byName: new Map(tools.map((tool) => [tool.tool.name, tool])),
  names: tools.map(({ tool }) => tool.name),
  hasStatusTools: tools.some(({ statusOf }) => statusOf !== undefined),
  toolkit: Toolkit.make(...tools.map(({ tool }) => tool.definition))
})

/** What the model is offered now: not what is hidden, and questions for the state of tasks only if there are any. */
const offer = (tools: ToolSet, run: Run, transcript: Transcript): Effect.Effect<ToolSet> => {
  if (!tools.hasStatusTools && run.hidden.size === 0) return Effect.succeed(tools)
  return Effect.clockWith((clock) => {
    const now = clock.currentTimeMillisUnsafe()
    const all = [...tools.byName.values()]
    const offered = all.filter(({ statusOf, tool }) =>
      (run.hidden.get(tool.name) ?? 0) <= now && (statusOf === undefined || transcript.hasPending(statusOf))
    )
    return Effect.succeed(offered.length === all.length ? tools : toolSet(offered))
  })
}

interface State {
  readonly program: Program
  readonly run: Run
  readonly transcript: Transcript
  readonly session: Session
  readonly shown: Showing
}

type ModelEffect<A> = Effect.Effect<A, AiError.AiError, LanguageModel.LanguageModel>

const inChatSpan = <A>(run: Run, call: ModelEffect<A>): ModelEffect<A> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const model = Option.getOrElse(Context.getOption(context, Model.ModelName), () => "unknown")
    return inSpan(
      run.clock,
      `chat ${model}`,
      { kind: "client", attributes: { "gen_ai.operation.name": "chat", "gen_ai.request.model": model } },
      call,
      reasonOf
    )
  })

const reasonOf = (cause: Cause.Cause<AiError.AiError>): string =>
  cause.reasons.find(Cause.isFailReason)?.error.reason._tag ?? errorName(cause)

/** One turn of the model: every call is charged, and what to do about its failures is asked for and done. */
const turn = <A>(
  state: State,
  call: (turn: number, onContent: () => void) => ModelEffect<A>
): Effect.Effect<A | RespondWith<unknown>, unknown, unknown> =>
  Effect.suspend(() => {
    const { program, run } = state
    const number = ++state.session.turn
    const errors: Array<AiError.AiError> = []
    let hasContent = false
    const begin = Effect.suspend(() =>
      before(run.ledger.require("tokens"), () =>
        before(run.ledger.chargeNow("turns"), () =>
          before(emit(run, () => ({ _tag: "ModelTurnStarted", turn: number })), () => {
            use(run, "turns", 1)
            hasContent = false
            return inChatSpan(
              run,
              call(number, () => {
                hasContent = true
              })
            )
          })))
    )
    const attempt: Effect.Effect<A | RespondWith<unknown>, unknown, unknown> = begin.pipe(
      Effect.catchTag("AiError", (error) => {
        errors.push(error)
        return Effect.flatMap(
          consult(
            program.onModelError ?? (() =>
              rethrow),
            errors,
            {
              mayRetry: !hasContent,
              onRetry: ({ delay, error, retry }) =>
                Effect.andThen(
                  emit(run, () => ({
                    _tag: "ModelRetry",
                    turn: number,
                    retry,
                    delay: Duration.toMillis(delay),
                    error: error.reason._tag
                  })),
                  Telemetry.countModelRetry(program.name, error.reason._tag)
                )
            }
          ),
          (decision) =>
            decision === "again"
              ? attempt
              : Effect.as(
                emit(run, () => ({ _tag: "ModelSubstituted", turn: number, error: error.reason._tag })),
                decision
              )
        )
      })
    )
    return attempt
  })

const isSubstitute = <A>(answer: A | RespondWith<unknown>): answer is RespondWith<unknown> =>
  typeof answer === "object" && answer !== null && "_tag" in answer && answer._tag === "RespondWith"

const substitute = (state: State, decision: RespondWith<unknown>): unknown => {
  state.transcript.synthetic(textOf(decision.output))
  return decision.output
}

const fail = (state: State, issues: ReadonlyArray<Issue>) =>
  Effect.fail(new InvalidOutput({ agent: state.program.name, issues }))

/** Asks once more for an answer that fits: as an object of the schema where the output is not text. */
const corrected = (state: State, issues: ReadonlyArray<Issue>): Effect.Effect<unknown, unknown, unknown> => {
  const { output, name } = state.program
  const { run, transcript } = state
  transcript.user(correction(issues))
  return Effect.andThen(
    emit(run, () => ({ _tag: "OutputCorrection", issues: issues.map((issue) => issue.expected) })),
    output.isText
      ? Effect.flatMap(
        turn(
          state,
          (number, onContent) => ask(run, number, { prompt: transcript.snapshot(), toolkit: Toolkit.empty }, onContent)
        ),
        (reply) => isSubstitute(reply) ? Effect.succeed(substitute(state, reply)) : finish(state, reply, false)
      )
      : Effect.flatMap(
        turn(
          state,
          (number) =>
            askObject(run, number, transcript.snapshot(), `${name}_answer`, Schema.Struct({ answer: output.schema }))
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
const finish = (state: State, reply: Reply, mayCorrect: boolean): Effect.Effect<unknown, unknown, unknown> => {
  if (!mayCorrect) state.transcript.assistant(reply.content)
  return Effect.flatMap(
    state.program.output.read(reply.text),
    Result.match({
      onFailure: (issues) => mayCorrect ? corrected(state, issues) : fail(state, issues),
      onSuccess: Effect.succeed
    })
  )
}

const Choice = Schema.Struct({ skills: Schema.Array(Schema.String) })

const chooseByModel = (
  state: State,
  input: string
): Effect.Effect<ProgramSkill | RespondWith<unknown>, unknown, unknown> => {
  const { name, skills } = state.program
  const prompt = Prompt.make([
    {
      role: "system",
      content: [
        "Choose the one skill that fits the request. The skills are:",
        ...skills.map(({ skill }) => `- ${skill.name}: ${skill.description}`)
      ].join("\n")
    },
    { role: "user", content: [{ type: "text", text: input }] }
  ])
  return Effect.flatMap(
    turn(state, (number) => askObject(state.run, number, prompt, `${name}_skill`, Choice)),
    (answer): Effect.Effect<ProgramSkill | RespondWith<unknown>, SkillNotChosen> =>
      isSubstitute(answer)
        ? Effect.succeed(answer)
        : pick(state, Result.match(answer.value, { onFailure: () => [], onSuccess: ({ skills }) => skills }))
  )
}

const pick = (state: State, chosen: ReadonlyArray<string>): Effect.Effect<ProgramSkill, SkillNotChosen> => {
  const { name: agent, skills } = state.program
  const available = skills.map(({ skill }) => skill.name)
  const found = skills.find(({ skill }) => skill.name === chosen[0])
  const reason = chosen.length === 0 ? "none" : chosen.length > 1 ? "ambiguous" : found === undefined ? "unknown" : "ok"
  if (reason !== "ok" || found === undefined) {
    return Effect.fail(new SkillNotChosen({ agent, reason: reason === "ok" ? "unknown" : reason, chosen, available }))
  }
  return Effect.as(emit(state.run, () => ({ _tag: "SkillChosen", skill: found.skill.name })), found)
}

const choose = (
  state: State,
  input: unknown,
  text: string
): Effect.Effect<ProgramSkill | RespondWith<unknown> | undefined, unknown, unknown> => {
  const { chooseSkill, skills } = state.program
  if (chooseSkill !== undefined) {
    return Effect.suspend(() => {
      const chosen = chooseSkill(input)
      return Effect.flatMap(
        Effect.isEffect(chosen) ? chosen : Effect.succeed(chosen),
        (name) => pick(state, [name])
      )
    })
  }
  if (skills.length === 0) return Effect.undefined
  return skills.length === 1
    ? pick(state, [skills[0]!.skill.name])
    : chooseByModel(state, text)
}

const begin = (
  state: State,
  input: unknown,
  text: string,
  skill: Skill.Any | undefined
): void => {
  const { instructions, output, prompt } = state.program
  const system = [instructions, skill?.instructions, output.instructions].filter((part) => part !== undefined)
  if (system.length > 0) state.transcript.system(system.join("\n\n"))
  if (prompt === undefined) return state.transcript.user(text)
  const earlier = Prompt.make(prompt(input))
  state.transcript.prompt(earlier)
  for (const id of callIdsIn(earlier)) state.session.callIds.add(id)
}

/** Charges and reports what is repeated below the model calls of a run. */
const observer = (
  state: State,
  outer: (retry: TransportRetry.Retry) => Effect.Effect<void>
) =>
(retry: TransportRetry.Retry): Effect.Effect<void> => {
  const { run } = state
  return run.ledger.charge("transportRetries").pipe(
    Effect.andThen(emit(run, () => ({
      _tag: "TransportRetry",
      turn: state.session.turn,
      retry: retry.attempt,
      delay: Duration.toMillis(retry.delay),
      error: retry.failure._tag === "Status" ? String(retry.failure.status) : retry.failure.code ?? "connection",
      host: retry.host
    }))),
    Effect.andThen(Effect.suspend(() => {
      use(run, "transportRetries", 1)
      return outer(retry)
    }))
  )
}

/** What a run begins with: an input, or what another run was. */
export type Start = { readonly input: unknown } | {
  readonly checkpoint: Checkpoint
  readonly decisions: ReadonlyMap<string, Decision>
}

const callsOf = ({ program, run, session, shown }: State, tools: ToolSet): Calls => ({
  run,
  session,
  shown,
  tools: tools.byName,
  offered: tools.names,
  gate: {
    policies: () => run.taintedBy.length === 0 ? program.policies : [program.quarantine, ...program.policies],
    runId: run.id,
    path: run.path,
    taintedBy: () => run.taintedBy,
    messages: () => session.transcript.snapshot().content
  },
  approvalTimeToLive: program.approvalTimeToLive,
  concurrency: program.concurrency,
  repeatedFailures: program.repeatedFailures
})

/** Runs the calls of an answer: answers how the run ends if some of them wait. */
const round = (
  { run, session, transcript }: State,
  calls: Calls,
  raws: Reply["calls"],
  resumed?: Resumed
): Effect.Effect<Pause | undefined, unknown, unknown> =>
  Effect.suspend(() => {
    const asked = transcript.length
    return Effect.flatMap(runAll(calls, raws, resumed), ({ allFailed, pending, results }) =>
      pending.length > 0
        ? Effect.succeed(
          new Pause(() =>
            session.checkpoint(run, { transcript: transcript.snapshot(asked), calls: raws, results, pending })
          )
        )
        : before(run.ledger.round(allFailed), () =>
          before(run.ledger.require("allFailureRounds"), () => Effect.undefined)))
  })

/** Asks and runs, until the model answers or a call waits. */
const converse = (state: State, calls: Calls, tools: ToolSet): Effect.Effect<unknown, unknown, unknown> =>
  Effect.gen(function*() {
    const { run, session, transcript } = state
    while (true) {
      const answer = yield* turn(
        state,
        (number, onContent) =>
          Effect.flatMapEager(offer(tools, run, transcript), ({ names, toolkit }) => {
            calls.offered = names
            return ask(run, number, { prompt: transcript.snapshot(), toolkit }, onContent)
          })
      )
      if (isSubstitute(answer)) return substitute(state, answer)
      const reply = unique(answer, session.callIds)
      transcript.assistant(reply.content)
      if (reply.calls.length > 0) {
        const pause = yield* round(state, calls, reply.calls)
        if (pause !== undefined) return pause
      } else if (reply.finishReason !== "pause") {
        return yield* finish(state, reply, true)
      }
    }
  })

const start = (state: State, input: unknown): Effect.Effect<unknown, unknown, unknown> => {
  const { program, session } = state
  return Effect.flatMapEager(
    program.input.write(input),
    (text) =>
      Effect.flatMapEager(choose(state, input, text), (skill) => {
        if (skill !== undefined && isSubstitute(skill)) return Effect.sync(() => substitute(state, skill))
        begin(state, input, text, skill?.skill)
        session.skill = skill?.skill.name
        session.begun = true
        const tools = skill?.tools ?? program.tools
        return converse(state, callsOf(state, tools), tools)
      })
  )
}

const goOn = (
  state: State,
  checkpoint: Checkpoint,
  decisions: ReadonlyMap<string, Decision>
): Effect.Effect<unknown, unknown, unknown> =>
  Effect.gen(function*() {
    const { program, session } = state
    session.restore(checkpoint)
    const skill = program.skills.find(({ skill }) => skill.name === checkpoint.skill)
    const tools = skill?.tools ?? program.tools
    const calls = callsOf(state, tools)
    if (checkpoint.round !== undefined) {
      const pause = yield* round(state, calls, checkpoint.round.calls, {
        results: resultsOf(checkpoint.round),
        pending: new Map(checkpoint.round.pending.map((pending) => [pending.callId, pending])),
        decisions
      })
      if (pause !== undefined) return pause
    }
    return yield* converse(state, calls, tools)
  })

/** Runs an agent once. Answers its output, or a {@link Pause}. */
export const loop = (
  program: Program,
  from: Start,
  run: Run,
  session: Session
): Effect.Effect<unknown, unknown, unknown> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const state: State = { program, run, session, transcript: session.transcript, shown: showing(context) }
    return Effect.updateService(
      "input" in from ? start(state, from.input) : goOn(state, from.checkpoint, from.decisions),
      TransportRetry.Observer,
      (outer) => observer(state, outer)
    )
  })

const unique = (reply: Reply, seen: Set<string>): Reply => {
  if (reply.calls.length === 0) return reply
  const content = withUniqueIds(reply.content, seen)
  return {
    ...reply,
    content,
    calls: content.filter((part) => part.type === "tool-call" && !part.providerExecuted) as never
  }
}
