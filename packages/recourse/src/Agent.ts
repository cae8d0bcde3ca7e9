/**
 * Agents: a model, its tools, and what to do when they fail, as one Effect with typed input, output and errors.
 *
 * `agent.run` is an ordinary Effect: whatever Effect's operators do, they do to agents. An agent that is run within
 * another one's run (as a fixer, as a tool, or by hand) shares its budget, its events and its trace.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Function from "effect/Function"
import type * as Layer from "effect/Layer"
import type * as Pipeable from "effect/Pipeable"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import { pipeArguments } from "effect/Pipeable"
import type { AgentError } from "./AgentError.ts"
import type { AgentEvent } from "./AgentEvent.ts"
import {
  ApprovalRequired,
  Completed,
  type Decision,
  type DecisionRefused,
  type Outcome,
  Paused,
  type SnapshotKey,
  type SnapshotRefused
} from "./Approval.ts"
import type { Budget, BudgetExceeded, Extension } from "./Budget.ts"
import { ConfigurationError } from "./ConfigurationError.ts"
import { type Declaration, type Mode, plain, within } from "./internal/boundary.ts"
import { readResult } from "./internal/decide.ts"
import { inputWriter } from "./internal/input.ts"
import { caps } from "./internal/ledger.ts"
import { loop, type Program, type Start, toolSet } from "./internal/loop.ts"
import { isText, outputReader } from "./internal/output.ts"
import { Pause } from "./internal/pause.ts"
import { type AgentTool, agentTools } from "./internal/pipeline.ts"
import { Session } from "./internal/session.ts"
import { claim, describeTools, match, open, seal } from "./internal/snapshot.ts"
import type * as ModelError from "./ModelError.ts"
import type * as Policy from "./Policy.ts"
import type { AnyPolicy, NoPolicy, PolicyTypeId, Recovered } from "./recovery/policy.ts"
import { type OnTainted, policy as quarantine } from "./Quarantine.ts"
import { Annotation, emptyTranscript, type RunRecord, type RunReport } from "./RunRecord.ts"
import type * as Skill from "./Skill.ts"
import * as Tool from "./Tool.ts"
import type { ToolCall } from "./ToolCall.ts"
import { escalate as escalateCall } from "./ToolCall.ts"
import { Escalated, type Escalation, type NotApproved, type Pending } from "./ToolError.ts"

/** The brand of agents. */
export const TypeId = "~recourse/Agent" as const

/** Something that can be run with an input. */
export interface Agent<in In, out Out, out E = never, out R = never> extends Pipeable.Pipeable {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  /** Runs the agent. */
  readonly run: (input: In) => Effect.Effect<Out, E, R>
  /** Runs the agent with streamed model calls; ends after the `RunFinished` event, and fails as `run` fails. */
  readonly stream: (input: In) => Stream.Stream<AgentEvent, E, R>
  /** Runs the agent and tells how it ended and what it did until then. Does not fail. */
  readonly report: (input: In) => Effect.Effect<RunReport<Out, E>, never, R>
  /** @internal */
  readonly execute: (input: In, mode: Mode) => Effect.Effect<Out, E, R>
}

/** What a model with tools can do besides: wait for approvals, and go on where it stopped. */
export interface Resumable<in In, out Out, out E, out R, out Resume = R | SnapshotKey> {
  /** Runs the agent; a run that waits for an approval is an answer, not a failure. */
  readonly start: (input: In) => Effect.Effect<Outcome<Out>, E, R>
  /**
   * Goes on with a run that waits, or that a failure ended: see `RunRecord.snapshot`. `snapshot` is a `Snapshot` or JSON
   * that was one. Calls that have a result do not run again; calls without a decision wait on. Budgets go on counting.
   */
  readonly resume: (
    snapshot: unknown,
    decisions: ReadonlyArray<Decision>
  ) => Effect.Effect<Outcome<Out>, E | SnapshotRefused | DecisionRefused, Resume>
  /** @internal Either of them, with a mode. */
  readonly proceed: (
    from: From<In>,
    mode: Mode
  ) => Effect.Effect<Outcome<Out>, E | SnapshotRefused | DecisionRefused, R | Resume>
}

/** @internal What a run that can wait begins with. */
export type From<In> =
  | { readonly input: In }
  | { readonly snapshot: unknown; readonly decisions: ReadonlyArray<Decision> }

/** Any agent. */
export interface Any extends Agent<never, unknown, unknown, unknown> {}

/** What an agent takes. */
export type Input<A> = A extends Agent<infer In, infer _Out, infer _E, infer _R> ? In : never

/** What an agent answers. */
export type Output<A> = A extends Agent<infer _In, infer Out, infer _E, infer _R> ? Out : never

/** What an agent fails with. */
export type Error<A> = A extends Agent<infer _In, infer _Out, infer E, infer _R> ? E : never

/** What an agent needs. */
export type Services<A> = A extends Agent<infer _In, infer _Out, infer _E, infer R> ? R : never

const Proto = {
  [TypeId]: TypeId,
  pipe() {
    return pipeArguments(this, arguments)
  }
}

const stream = <In, Out, E, R>(execute: Agent<In, Out, E, R>["execute"], input: In): Stream.Stream<AgentEvent, E, R> =>
  Stream.callback<AgentEvent, E, R>((queue) =>
    Effect.onExit(
      execute(input, {
        streaming: true,
        listener: (event) => Queue.offerUnsafe(queue, event) ? Effect.void : Effect.asVoid(Queue.offer(queue, event))
      }),
      (exit) => Exit.isSuccess(exit) ? Queue.end(queue) : Queue.failCause(queue, exit.cause)
    )
  )

const report = <In, Out, E, R>(
  execute: Agent<In, Out, E, R>["execute"],
  input: In
): Effect.Effect<RunReport<Out, E>, never, R> =>
  Effect.suspend(() => {
    let record: RunRecord | undefined
    const onRecord = (ended: () => RunRecord) => {
      record = ended()
    }
    return Effect.map(Effect.exit(execute(input, { streaming: false, onRecord })), (exit) => ({ ...record!, exit }))
  })

const fromExecute = <In, Out, E, R>(
  name: string,
  execute: Agent<In, Out, E, R>["execute"],
  takesText = false
): Agent<In, Out, E, R> =>
  Object.assign(Object.create(Proto), {
    name,
    execute,
    takesText,
    run: (input: In) => execute(input, plain),
    stream: (input: In) => stream(execute, input),
    report: (input: In) => report(execute, input)
  })

const named = (name: string): string => {
  if (name === "") throw new ConfigurationError({ subject: "Agent", problem: "an agent needs a name" })
  return name
}

const unbounded = (name: string): Declaration<never> => ({ name, caps: {}, thresholds: [], onExceeded: undefined })

/** An agent without a conversation of its own around an effect. */
const around = <In, Out, E, R>(name: string, run: (input: In) => Effect.Effect<Out, E, R>): Agent<In, Out, E, R> =>
  fromExecute(named(name), (input, mode) =>
    within(
      unbounded(name),
      mode,
      input,
      () => emptyTranscript,
      () => run(input)
    ) as Effect.Effect<Out, E, R>)

/**
 * An agent that is a function: deterministic, without a model.
 *
 * **Example** (A fixer that costs no model call)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "recourse"
 *
 * const double = Agent.fromFunction("double", (n: number) => Effect.succeed(n * 2))
 *
 * await Effect.runPromise(double.run(21)) // => 42
 * ```
 */
export const fromFunction: <In, Out, E = never, R = never>(
  name: string,
  run: (input: In) => Effect.Effect<Out, E, R>
) => Agent<In, Out, E, R> = around

// --- make -----------------------------------------------------------------------------------------------------------

/** The tool of a list with a name. */
type Named<T extends Tool.Any, Name> = Extract<T, { readonly name: Name }>

type SkillTools<S extends Skill.Any> = S["tools"][number]

type ErrorOf<F> = F extends Effect.Effect<infer _A, infer E, infer _R> ? E : never
type ServicesOf<F> = F extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

type AfterAgent<T extends Tool.Any, H> = T extends Tool.Any
  ? T["name"] extends keyof H ? ErrorOf<H[T["name"]]> | Extract<Tool.Error<T>, Tool.BehindRecovery>
  : Tool.Error<T>
  : never

type Decided<P extends AnyPolicy> = P[typeof PolicyTypeId]

/**
 * The errors of an agent: its own, and those that its tools' recoveries leave. Escalations and tasks that go on are for its
 * model.
 */
export type RunError<T extends Tool.Any, H, P extends AnyPolicy> =
  | AgentError
  | Exclude<Recovered<AfterAgent<T, H>, Decided<P>["handles"], Decided<P>["adds"]>, Escalation | Pending | NotApproved>

type Asks<T extends Tool.Any, PS extends ReadonlyArray<Policy.Any>> =
  | Extract<Tool.Error<T>, NotApproved>
  | Extract<Policy.VerdictOf<PS[number]>, Policy.RequireApproval>

/** What `run` fails with when the run waits: nothing, unless a tool or a policy may ask for an approval. */
export type PauseError<T extends Tool.Any, PS extends ReadonlyArray<Policy.Any>> = [Asks<T, PS>] extends [never] ? never
  : ApprovalRequired

/** What a run that may wait needs. */
export type PauseServices<T extends Tool.Any, PS extends ReadonlyArray<Policy.Any>> = [Asks<T, PS>] extends [never]
  ? never
  : SnapshotKey

/** What an agent needs: its model, and what its tools and their recoveries need. */
export type RunServices<T extends Tool.Any, H, P extends AnyPolicy> =
  | LanguageModel.LanguageModel
  | Tool.Services<T>
  | Exclude<ServicesOf<H[keyof H]>, ToolCall>
  | Decided<P>["services"]

/** What an agent needs besides what its own functions need, to be run and to be resumed. */
export type Needs<
  Input extends Schema.Top,
  Output extends Schema.Top,
  T extends Tool.Any,
  H,
  P extends AnyPolicy,
  PS extends ReadonlyArray<Policy.Any>
> =
  | RunServices<T, H, P>
  | PauseServices<T, PS>
  | Policy.Services<PS[number]>
  | Input["EncodingServices"]
  | Output["DecodingServices"]

/** Recoveries by tool name; `H` holds what each makes of its call. */
export type ToolRecoveries<T extends Tool.Any, H> = {
  readonly [N in keyof H]: (call: Tool.CallOf<Named<T, N>>) => H[N]
}

/** Asks that each recovery answers what its tool answers. */
export type Recoveries<T extends Tool.Any, H> = {
  readonly [N in keyof H]: Effect.Effect<Tool.Success<Named<T, N>>, unknown, unknown>
}

/** Marks an agent that takes text, so that it can be asked by text. */
export type TakesText<In> = [In] extends [string] ? { readonly takesText: true } : unknown

/** How an agent is declared. */
export interface Options<
  Input extends Schema.Top,
  Output extends Schema.Top,
  Tools extends ReadonlyArray<Tool.Any>,
  Skills extends ReadonlyArray<Skill.Any>,
  H,
  P,
  CE,
  CR,
  ME,
  MR,
  BR,
  PS
> {
  /** What the model is told to do, as a system message. */
  readonly instructions?: string | undefined
  /** What the agent takes. Default: a string, which is the user's message; anything else becomes JSON. */
  readonly input?: Input | undefined
  /** The conversation that the input becomes, in place of one user message. */
  readonly prompt?: ((input: Input["Type"]) => Prompt.RawInput) | undefined
  /** What the agent answers. Default: the text of the model's answer. */
  readonly output?: Output | undefined
  readonly tools?: Tools | undefined
  /** Groups of instructions and tools, of which one is chosen for a run: by the model, unless `skill` says otherwise. */
  readonly skills?: Skills | undefined
  /** The skill's name, or what names it. */
  readonly skill?:
    | Skills[number]["name"]
    | ((input: Input["Type"]) => Skills[number]["name"] | Effect.Effect<string, CE, CR>)
    | undefined
  /** Recovery of single tools, around their own. */
  readonly onToolError?:
    | (
      & ToolRecoveries<Tools[number] | SkillTools<Skills[number]>, H>
      & {
        readonly [N in Exclude<keyof H, (Tools[number] | SkillTools<Skills[number]>)["name"]>]: never
      }
    )
    | undefined
  /** Recovery of all tools, around everything else. */
  readonly defaults?: { readonly onError?: P | undefined } | undefined
  /** What to do when a model call fails. Default: `ModelError.rethrow`. */
  readonly onModelError?: ModelError.Handler<NoInfer<Output>["Type"], ME, MR> | undefined
  readonly budget?: Budget | undefined
  /** What is said about each call before it runs. All are asked; the strictest verdict counts. */
  readonly policies?: PS | undefined
  /** What a run may do once it has read what an untrusted tool answered. Default: `"approve"`. */
  readonly onTainted?: OnTainted | undefined
  /** How long a call may wait: an approval that comes later asks again. Default: 24 hours. */
  readonly approval?: { readonly timeToLive: Duration.Input } | undefined
  /** Asked when a cap is reached: `Budget.extend` lets the run go on, nothing ends it. */
  readonly onBudgetExceeded?: ((error: BudgetExceeded) => Effect.Effect<Extension | undefined, never, BR>) | undefined
  /** How many calls of one answer run at the same time. Default: 8. */
  readonly concurrency?: number | "unbounded" | undefined
  /** How often the same call may fail in the same way before the model is told to stop. Default: 3. */
  readonly repeatedFailures?: number | undefined
}

type Erased = (call: Effect.Effect<unknown, unknown, unknown>) => Effect.Effect<unknown, unknown, unknown>

const namesOf = (tools: ReadonlyArray<Tool.Any>): ReadonlyArray<string> =>
  tools.flatMap((tool) => tool.status === undefined ? [tool.name] : [tool.name, tool.status.name])

const uniqueNames = (agent: string, names: ReadonlyArray<string>): void => {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) {
    throw new ConfigurationError({ subject: `Agent "${agent}"`, problem: `there are two tools named "${twice}"` })
  }
}

/**
 * Makes an agent that is a model with tools.
 *
 * Its error type is exact: `AgentError` (the model, budgets, input and output), and every error that a tool's own
 * recovery, `onToolError` and `defaults` leave. Throws `ConfigurationError` for what types cannot catch: two tools of one
 * name, a recovery for a tool that is not there, a negative budget.
 *
 * **Example** (An agent with one tool)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "recourse"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Add = Tool.make("add", {
 *   parameters: Schema.Struct({ a: Schema.Number, b: Schema.Number }),
 *   success: Schema.Number,
 *   effects: "read",
 *   execute: ({ a, b }) => Effect.succeed(a + b)
 * })
 *
 * const adder = Agent.make("adder", {
 *   instructions: "Add with the tool.",
 *   output: Schema.Number,
 *   tools: [Add],
 *   defaults: { onError: Recovery.standard },
 *   budget: { turns: 4 }
 * })
 *
 * await Effect.runPromise(
 *   adder.run("What is 2 + 3?").pipe(
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.call("add", { a: 2, b: 3 }), ScriptedModel.text("5")]))
 *   )
 * ) // => 5
 * ```
 */
export const make = <
  Input extends Schema.Top = typeof Schema.String,
  Output extends Schema.Top = typeof Schema.String,
  const Tools extends ReadonlyArray<Tool.Any> = readonly [],
  const Skills extends ReadonlyArray<Skill.Any> = readonly [],
  H extends Recoveries<Tools[number] | SkillTools<Skills[number]>, H> = {},
  P extends AnyPolicy = NoPolicy,
  CE = never,
  CR = never,
  ME = never,
  MR = never,
  BR = never,
  const PS extends ReadonlyArray<Policy.Any> = readonly []
>(
  name: string,
  options: Options<Input, Output, Tools, Skills, H, P, CE, CR, ME, MR, BR, PS>
):
  & Agent<
    Input["Type"],
    Output["Type"],
    | RunError<Tools[number] | SkillTools<Skills[number]>, H, P>
    | CE
    | ME
    | PauseError<Tools[number] | SkillTools<Skills[number]>, PS>,
    Needs<Input, Output, Tools[number] | SkillTools<Skills[number]>, H, P, PS> | CR | MR | BR
  >
  & Resumable<
    Input["Type"],
    Output["Type"],
    RunError<Tools[number] | SkillTools<Skills[number]>, H, P> | CE | ME,
    Needs<Input, Output, Tools[number] | SkillTools<Skills[number]>, H, P, PS> | CR | MR | BR
  >
  & TakesText<Input["Type"]> =>
{
  const tools = options.tools ?? []
  const skills = options.skills ?? []
  for (const skill of skills) uniqueNames(name, namesOf([...tools, ...skill.tools]))
  uniqueNames(name, namesOf(tools))
  uniqueNames(`${name}, skills`, skills.map((skill) => skill.name))

  const recoveries = (options.onToolError ?? {}) as Readonly<Record<string, Erased>>
  const known = new Set([...tools, ...skills.flatMap((skill) => skill.tools)].map((tool) => tool.name))
  for (const recovered of Object.keys(recoveries)) {
    if (!known.has(recovered)) {
      throw new ConfigurationError({
        subject: `Agent "${name}"`,
        problem: `onToolError names "${recovered}", which is none of its tools`
      })
    }
  }
  const policy = options.defaults?.onError as (Erased & AnyPolicy) | undefined
  const compile = (tool: Tool.Any): ReadonlyArray<AgentTool> => agentTools(tool, recoveries[tool.name], policy)
  const input = options.input ?? Schema.String

  const { skill } = options
  const program: Program = {
    name,
    instructions: options.instructions,
    input: inputWriter(name, input),
    prompt: options.prompt,
    output: outputReader(options.output ?? Schema.String),
    tools: toolSet(tools.flatMap(compile)),
    skills: skills.map((skill) => ({ skill, tools: toolSet([...tools, ...skill.tools].flatMap(compile)) })),
    chooseSkill: typeof skill === "string" ? () => skill : skill,
    onModelError: options.onModelError,
    concurrency: options.concurrency ?? 8,
    repeatedFailures: options.repeatedFailures ?? 3,
    policies: options.policies ?? [],
    quarantine: quarantine(options.onTainted ?? "approve", allTools(tools, skills).some(mayAsk)),
    approvalTimeToLive: Duration.toMillis(options.approval?.timeToLive ?? "24 hours")
  }
  const declaration: Declaration<BR> = {
    name: named(name),
    caps: caps(name, options.budget ?? {}),
    thresholds: options.budget?.thresholds ?? [0.8],
    onExceeded: options.onBudgetExceeded
  }
  return Object.assign(
    fromExecute(
      name,
      (input: Input["Type"], mode) =>
        Effect.flatMap(driven(program, declaration, { input }, mode, input), orFail(name)),
      isText(input)
    ),
    resumable(program, declaration)
  ) as never
}

const allTools = (tools: ReadonlyArray<Tool.Any>, skills: ReadonlyArray<Skill.Any>): ReadonlyArray<Tool.Any> => [
  ...tools,
  ...skills.flatMap((skill) => skill.tools)
]

/** Whether the agent's type says that it may pause because of this tool. */
const mayAsk = ({ info }: Tool.Any): boolean => info.untrusted || info.needsApproval !== undefined

/** What a run that ended is: an output, or a pause with its record. */
type Driven = { readonly output: unknown } | { readonly paused: Paused; readonly record: RunRecord | undefined }

const toolsOf = ({ skills, tools }: Program): ReadonlyArray<Tool.Any> => [
  ...new Set(
    [tools, ...skills.map(({ tools }) => tools)].flatMap(({ byName }) => [...byName.values()])
      .map(({ tool }) => tool)
  )
]

/** Runs a program within its boundary; where it waits, a snapshot is made. */
const driven = (
  program: Program,
  declaration: Declaration<unknown>,
  from: Start,
  mode: Mode,
  input: unknown
): Effect.Effect<Driven, unknown, unknown> =>
  Effect.suspend(() => {
    const session = new Session()
    const tools = () => describeTools(toolsOf(program))
    let record: (() => RunRecord) | undefined
    const onRecord = (ended: () => RunRecord) => {
      record = ended
      mode.onRecord?.(ended)
    }
    return Effect.flatMap(
      within(
        declaration,
        { ...mode, onRecord },
        input,
        () => session.transcript.snapshot(),
        (run) => loop(program, from, run, session),
        (run) => session.begun ? { checkpoint: () => session.checkpoint(run, undefined), tools } : undefined
      ),
      (answer): Effect.Effect<Driven, never, SnapshotKey> => {
        if (!(answer instanceof Pause)) return Effect.succeed({ output: answer })
        return Effect.map(seal(answer.checkpoint(), tools()), (snapshot) => ({
          paused: new Paused({ snapshot, pending: snapshot.round?.pending ?? [] }),
          record: record?.()
        }))
      }
    )
  })

/** A run that waits is a failure to who cannot wait. */
const orFail = (agent: string) => (ended: Driven): Effect.Effect<unknown, ApprovalRequired> => {
  if ("output" in ended) return Effect.succeed(ended.output)
  const cause = Cause.fail(new ApprovalRequired({ agent, snapshot: ended.paused.snapshot }))
  return Effect.failCause(
    ended.record === undefined ? cause : Cause.annotate(cause, Context.make(Annotation, ended.record))
  )
}

const asOutcome = (ended: Driven): Outcome<unknown> =>
  "output" in ended ? new Completed({ output: ended.output }) : ended.paused

const resumable = <R>(
  program: Program,
  declaration: Declaration<R>
): Resumable<unknown, unknown, unknown, unknown> => {
  const { name } = program
  const owner = declaration as Declaration<unknown>
  /** Whether the results that were decided fit, before anything runs. */
  const fits = (tool: string, decision: Decision): Effect.Effect<unknown, DecisionRefused, unknown> => {
    const found = toolsOf(program).find((candidate) => candidate.name === tool)
    return decision._tag !== "Respond" || found === undefined ? Effect.void : readResult(found, decision)
  }
  const start = (input: unknown, mode: Mode) => Effect.map(driven(program, owner, { input }, mode, input), asOutcome)
  const resume = (value: unknown, decisions: ReadonlyArray<Decision>, mode: Mode) =>
    Effect.gen(function*() {
      const snapshot = yield* open(name, describeTools(toolsOf(program)), value)
      const byCall = yield* Result.match(match(snapshot, decisions), {
        onFailure: Effect.fail,
        onSuccess: Effect.succeed
      })
      for (const { callId, tool } of snapshot.round?.pending ?? []) {
        const decision = byCall.get(callId)
        if (decision !== undefined) yield* fits(tool, decision)
      }
      yield* claim(snapshot)
      const from = { checkpoint: snapshot, decisions: byCall }
      return asOutcome(yield* driven(program, owner, from, { ...mode, resumed: snapshot }, undefined))
    })
  return {
    start: (input) => start(input, plain),
    resume: (value, decisions) => resume(value, decisions, plain),
    proceed: (from, mode) => "input" in from ? start(from.input, mode) : resume(from.snapshot, from.decisions, mode)
  }
}

// --- combinators ----------------------------------------------------------------------------------------------------

/**
 * Runs one agent on the output of another.
 *
 * **Example** (Two steps)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "recourse"
 *
 * const trim = Agent.fromFunction("trim", (text: string) => Effect.succeed(text.trim()))
 * const length = Agent.fromFunction("length", (text: string) => Effect.succeed(text.length))
 *
 * await Effect.runPromise(trim.pipe(Agent.andThen(length)).run("  abc ")) // => 3
 * ```
 */
export const andThen: {
  <Out, Out2, E2, R2>(
    that: Agent<Out, Out2, E2, R2>
  ): <In, E, R>(self: Agent<In, Out, E, R>) => Agent<In, Out2, E | E2, R | R2>
  <In, Out, E, R, Out2, E2, R2>(
    self: Agent<In, Out, E, R>,
    that: Agent<Out, Out2, E2, R2>
  ): Agent<In, Out2, E | E2, R | R2>
} = Function.dual(
  2,
  <In, Out, E, R, Out2, E2, R2>(
    self: Agent<In, Out, E, R>,
    that: Agent<Out, Out2, E2, R2>
  ): Agent<In, Out2, E | E2, R | R2> =>
    around(`${self.name} > ${that.name}`, (input) => Effect.flatMap(self.run(input), that.run))
)

/**
 * Runs several agents on the same input, in parallel, and answers with all outputs, in the order of the agents.
 *
 * **Example** (Three opinions)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "recourse"
 *
 * const plus = (n: number) => Agent.fromFunction(`plus ${n}`, (x: number) => Effect.succeed(x + n))
 *
 * await Effect.runPromise(Agent.all("sums", [plus(1), plus(2), plus(3)]).run(10)) // => [11, 12, 13]
 * ```
 */
export const all = <const Agents extends ReadonlyArray<Any>>(
  name: string,
  agents: Agents
): Agent<
  InputOfAll<Agents>,
  { readonly [K in keyof Agents]: Output<Agents[K]> },
  Error<Agents[number]>,
  Services<Agents[number]>
> =>
  around(
    name,
    (input: InputOfAll<Agents>) =>
      Effect.forEach(agents, (agent) => agent.run(input as never), { concurrency: "unbounded" })
  ) as never

/** What several agents take that are given the same input. */
export type InputOfAll<Agents extends ReadonlyArray<Any>> =
  (Agents[number] extends infer A ? A extends Any ? (input: Input<A>) => void : never : never) extends
    (input: infer In) => void ? In : never

const race = <In, Out, E, R>(name: string, agents: ReadonlyArray<Agent<In, Out, E, R>>): Agent<In, Out, E, R> => {
  if (agents.length === 0) {
    throw new ConfigurationError({ subject: `Agent "${name}"`, problem: "there is no agent to run" })
  }
  return around(name, (input) => Effect.raceAll(agents.map((agent) => agent.run(input))))
}

/**
 * Runs several agents on the same input, in parallel, and answers with the first success; the others are interrupted and
 * awaited. Fails if all fail.
 *
 * **Example** (Whoever knows)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "recourse"
 *
 * const broken = Agent.fromFunction("broken", (_: string) => Effect.fail("down" as const))
 * const works = Agent.fromFunction("works", (text: string) => Effect.succeed(text.length))
 *
 * await Effect.runPromise(Agent.firstOf("any", [broken, works]).run("abc")) // => 3
 * ```
 */
export const firstOf = <const Agents extends readonly [Any, ...ReadonlyArray<Any>]>(
  name: string,
  agents: Agents
): Agent<InputOfAll<Agents>, Output<Agents[number]>, Error<Agents[number]>, Services<Agents[number]>> =>
  race(name, agents as never) as never

/**
 * Runs the same agent `n` times in parallel and answers with the first success.
 *
 * **Example** (Three tries at once)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "recourse"
 *
 * let tries = 0
 * const third = Agent.fromFunction("third", (_: string) =>
 *   Effect.suspend(() => ++tries === 3 ? Effect.succeed(tries) : Effect.fail("not yet" as const)))
 *
 * await Effect.runPromise(third.pipe(Agent.speculative(3)).run("")) // => 3
 * ```
 */
export const speculative = (n: number) => <In, Out, E, R>(self: Agent<In, Out, E, R>): Agent<In, Out, E, R> => {
  if (!Number.isInteger(n) || n < 1) {
    throw new ConfigurationError({ subject: `Agent "${self.name}"`, problem: "speculative needs an integer >= 1" })
  }
  return race(`${self.name} × ${n}`, Array.from({ length: n }, () => self))
}

/**
 * Runs an agent again on its own output until that satisfies a predicate, at most `times` times; then answers with the
 * last output, satisfying or not.
 *
 * **Example** (Until it is short enough)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "recourse"
 *
 * const halve = Agent.fromFunction("halve", (text: string) => Effect.succeed(text.slice(0, text.length / 2)))
 *
 * await Effect.runPromise(halve.pipe(Agent.loopUntil((text) => text.length < 3, { times: 10 })).run("abcdefgh")) // => "ab"
 * ```
 */
export const loopUntil = <InOut>(
  predicate: (output: NoInfer<InOut>) => boolean,
  options: { readonly times: number }
) =>
<E, R>(self: Agent<InOut, InOut, E, R>): Agent<InOut, InOut, E, R> => {
  const step = (input: InOut, left: number): Effect.Effect<InOut, E, R> =>
    Effect.flatMap(
      self.run(input),
      (output) => left <= 1 || predicate(output) ? Effect.succeed(output) : step(output, left - 1)
    )
  return around(`${self.name} until`, (input) => step(input, options.times))
}

/**
 * Runs one of two agents, as the input decides.
 *
 * **Example** (Short and long)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "recourse"
 *
 * const say = (text: string) => Agent.fromFunction(text, (_: string) => Effect.succeed(text))
 * const size = Agent.branch("size", (text: string) => text.length > 3, { onTrue: say("long"), onFalse: say("short") })
 *
 * await Effect.runPromise(size.run("abcdef")) // => "long"
 * ```
 */
export const branch = <In, Out, E, R, Out2, E2, R2>(
  name: string,
  predicate: (input: In) => boolean,
  agents: { readonly onTrue: Agent<In, Out, E, R>; readonly onFalse: Agent<In, Out2, E2, R2> }
): Agent<In, Out | Out2, E | E2, R | R2> =>
  around(
    name,
    (input: In): Effect.Effect<Out | Out2, E | E2, R | R2> =>
      predicate(input) ? agents.onTrue.run(input) : agents.onFalse.run(input)
  )

/**
 * Gives an agent what it needs: a model of its own, for example.
 *
 * **Example** (A fixer with a model of its own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "recourse"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const poet = Agent.make("poet", { instructions: "Answer in verse." }).pipe(
 *   Agent.provide(ScriptedModel.layer([ScriptedModel.text("Roses are red")]))
 * )
 *
 * await Effect.runPromise(poet.run("Hi")) // => "Roses are red"
 * ```
 */
export const provide =
  <ROut, E2, RIn>(layer: Layer.Layer<ROut, E2, RIn>) =>
  <In, Out, E, R, Self extends Agent<In, Out, E, R>>(
    self: Self & Agent<In, Out, E, R>
  ):
    & Agent<In, Out, E | E2, RIn | Exclude<R, ROut>>
    & Provided<Self, E2, RIn, ROut>
    & Pick<Self, Extract<keyof Self, "takesText">> =>
  {
    const provided = fromExecute(
      self.name,
      (input: In, mode) => Effect.provide(self.execute(input, mode), layer),
      "takesText" in self && self.takesText === true
    )
    if (!isResumable(self)) return provided as never
    const { proceed, resume, start } = self
    return Object.assign(provided, {
      proceed: (from: From<In>, mode: Mode) => Effect.provide(proceed(from, mode), layer),
      start: (input: In) => Effect.provide(start(input), layer),
      resume: (snapshot: unknown, decisions: ReadonlyArray<Decision>) =>
        Effect.provide(resume(snapshot, decisions), layer)
    }) as never
  }

/** Whether an agent can wait for approvals, and be resumed. */
export const isResumable = <In>(u: object): u is Resumable<In, unknown, unknown, unknown> =>
  "start" in u && "resume" in u

/** An agent that can be resumed still can when it is given what it needs. */
export type Provided<Self, E2, RIn, ROut> = Self extends Resumable<infer In, infer Out, infer E, infer R, infer Resume>
  ? Resumable<In, Out, E | E2, RIn | Exclude<R, ROut>, RIn | Exclude<Resume, ROut>>
  : unknown

/**
 * Makes a tool of an agent. What the agent fails with is the tool's `ExecutionError`, except that an `escalate` of the
 * agent is an `Escalation` of the call: the reason goes to the model of the agent that has the tool.
 *
 * **Example** (An agent that another agent can ask)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, ToolCall } from "recourse"
 *
 * const upper = Agent.fromFunction("upper", ({ text }: { readonly text: string }) => Effect.succeed(text.toUpperCase()))
 * const Upper = upper.pipe(
 *   Agent.asTool("upper", {
 *     description: "Writes a text in capitals",
 *     parameters: Schema.Struct({ text: Schema.String }),
 *     success: Schema.String
 *   })
 * )
 *
 * await Effect.runPromise(
 *   Upper.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { text: "abc" } }))
 *   )
 * ) // => "ABC"
 * ```
 */
export const asTool = <
  const Name extends string,
  Parameters extends Schema.Top,
  Success extends Schema.Top,
  const Eff extends Tool.Effects | undefined = undefined
>(name: Name, options: {
  readonly description: string
  readonly parameters: Parameters
  readonly success: Success
  readonly effects?: Eff
}) =>
<E, R>(self: Agent<Parameters["Type"], Success["Type"], E, R>) =>
  Tool.make(name, {
    ...options,
    execute: (params: Parameters["Type"]) =>
      Effect.catchIf(
        self.run(params),
        (error): error is Extract<E, Escalated> & Escalated => error instanceof Escalated,
        ({ reason, severity }) => escalateCall({ reason, severity })
      ) as Effect.Effect<
        Success["Type"],
        Exclude<E, Escalated> | ([Extract<E, Escalated>] extends [never] ? never : Escalation),
        R | ToolCall
      >
  })

export { make as skill } from "./Skill.ts"
