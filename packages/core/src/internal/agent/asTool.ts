/** Agents as tools of other agents. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaGetter from "effect/SchemaGetter"
import type * as Types from "effect/Types"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { type ApprovalRequired, DecisionRefused, SnapshotRefused } from "../approval/outcome.ts"
import * as Arguments from "../call/arguments/toolArguments.ts"
import { plain } from "./runMode.ts"
import { repeatStop, rootOf, stopped } from "../call/record/record.ts"
import { addQuestion, endContinuation, noteContinued } from "../call/record/admission.ts"
import { noteExecuted } from "../call/record/outcome.ts"
import type { ToolInfo } from "../call/tool/toolInfo.ts"
import { CurrentRun } from "../run/run.ts"
import type { Effects } from "../../Policy.ts"
import type { ExecuteError, SchemaServices, WriteError } from "../tool/callTypes.ts"
import { make as makeTool } from "../tool/makeTool.ts"
import { checkName } from "../foundation/options/checkName.ts"
import { anObject, checkArgument } from "../foundation/options/optionCheck.ts"
import type * as Tool from "../tool/tool.ts"
import { type Call, ToolCall } from "../call/call.ts"
import { escalate } from "../call/execute/executorAnswers.ts"
import { Escalated, type Escalation, type InvalidArgs, type InvalidResult, type NotApproved } from "../../ToolError.ts"
import { type Agent, anAgent, type Any, type Input, type Output, ownToolsOf } from "./agent.ts"
import type { Among, IsStored, Single } from "../foundation/errorTags.ts"
import type { Inferred } from "../foundation/options/inferredOptions.ts"
import type { OnlyKnown } from "../foundation/options/misspeltName.ts"
import { type Described, descriptionOf } from "./modelAgent.ts"
import type { StartErrorOf } from "./compose/composedAgent.ts"
import { isResumable } from "./services/provideLayer.ts"
import type { Resumable } from "./resume/resumableRun.ts"

/**
 * Errors of an agent as a tool: its escalations and pauses become those of the tool. A member of a type, because such
 * types are displayed expanded.
 *
 * @category utility types
 * @since 0.2.0
 */
export type AgentToolError<E, Resume, Eff, Start> = {
  readonly error:
    | WriteError<Eff>
    | InvalidArgs
    | InvalidResult
    | ExecuteError<
      Exclude<
        E,
        | Escalated
        | (unknown extends Resume ? never : Exclude<Extract<E, ApprovalRequired>, StartErrorOf<never, Start>>)
      >
    >
    | ([Among<E, Escalated>] extends [never] ? never : Escalation)
    | ([Among<E, ApprovalRequired>] extends [never] ? never : NotApproved)
}["error"]

/**
 * Parameters of a tool whose agent takes no object: models give arguments by name.
 *
 * @category utility types
 * @since 0.2.0
 */
export type InputField<Input extends Schema.Top> = Schema.Codec<
  Input["Type"],
  Readonly<Record<"input", Input["Encoded"]>>,
  Input["DecodingServices"],
  Input["EncodingServices"]
>

/**
 * Parameters that a model gives an agent with a described input. Models give arguments by name: an input that is no object
 * is in `input`.
 *
 * @category utility types
 * @since 0.2.0
 */
export type OwnParameters<Known> = Known extends Described<infer Input, infer _Output>
  ? [Single<Input["Encoded"]>] extends [string | number | boolean | bigint | null | undefined | ReadonlyArray<unknown>]
    ? InputField<Input>
  : Input
  : never

/**
 * Requires the schemas that an agent does not have itself.
 *
 * @category utility types
 * @since 0.2.0
 */
export type SaysBoth<Known, O> = O extends Record<"parameters" | "success", unknown> ? unknown
  : [Pick<O, keyof O & ("parameters" | "success")>] extends [Required<Pick<O, keyof O & ("parameters" | "success")>>]
    ? IsStored<Known> extends true ? "Say `parameters` and `success`: the agent is not known yet."
    : Known extends Described<infer _Input, infer _Output> ? unknown
    : "Say `parameters` and `success`: only agents of Agent.make say them."
  : "Say `parameters` and `success` always or never: no condition changes a type."

/** The parameters of the tool that an agent is. */
const parametersOf = (input: Schema.Top): Schema.Top =>
  SchemaAST.isObjects(Schema.toEncoded(input).ast)
    ? input
    : Schema.Struct({ input }).pipe(
      Schema.decodeTo(
        Schema.toType(input),
        {
          decode: SchemaGetter.transform(({ input }: { readonly input: unknown }) => input),
          encode: SchemaGetter.transform((input: unknown) => ({ input }))
        }
      )
    ) as Schema.Top

/**
 * Requires that the parameters of a tool fit the input of its agent.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ParametersFit<Known, Given> = IsStored<Known> extends true ? unknown
  : Known extends Any ? [Given] extends [Input<Known>] ? unknown : "The parameters have to fit the agent's input."
  : unknown

/**
 * Requires that the result of a tool is the output of its agent.
 *
 * @category utility types
 * @since 0.2.0
 */
export type SuccessFits<Known, Answer> = IsStored<Known> extends true ? unknown
  : Known extends Any ? [Output<Known>] extends [Answer] ? unknown : "`success` has to be the agent's output."
  : unknown

/**
 * Makes a tool of an agent. The agent's error is the tool's `ExecutionError`. An `escalate` of the agent is an
 * `Escalation` of the call: the model of the agent with the tool receives the reason. If the agent waits for an
 * approval, the outer run pauses, and the agent's pending calls are among its own.
 *
 * `parameters` and `success` are by default the input and output of an agent of `Agent.make`. An input that is no
 * object, such as a text, is the parameter `input`. Throws `ConfigurationError` for another agent without both.
 *
 * **Example** (An agent with a model, unchanged)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, ToolCall } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Poet = Agent.make("poet", { instructions: "Answer in verse." }).pipe(
 *   Agent.asTool("ask_poet", { description: "Asks a poet" })
 * )
 *
 * await Effect.runPromise(
 *   Poet.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { input: "The sea" } })),
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.text("Blue it is")]))
 *   )
 * ) // => "Blue it is"
 * ```
 *
 * **Example** (An agent that another agent can ask)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, ToolCall } from "@recourse/core"
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
 *
 * @category constructors
 * @since 0.2.0
 */
export const asTool = <
  Known,
  const Name extends string,
  Parameters extends Schema.Top = OwnParameters<Known>,
  Success extends Schema.Top = Known extends Described<infer _Input, infer Output> ? Output : never,
  const Eff extends Effects | undefined = undefined,
  O = {}
>(
  name: Name,
  options:
    & SaysBoth<Known, O>
    & {
      readonly description: string
      /** Default: the agent's input; an input that is no object is in `input`. */
      readonly parameters?: Parameters & ParametersFit<Known, Parameters["Type"]>
      /** Default: the agent's output. */
      readonly success?: Success & SuccessFits<Known, Success["Type"]>
      readonly effects?: Eff
    }
    & Inferred<O>
    & OnlyKnown<O, "description" | "parameters" | "success" | "effects">
) =>
<E, R, Resume, Start>(
  self:
    & Agent<
      unknown extends Known ? Parameters["Type"] : Input<Known>,
      unknown extends Known ? Success["Type"] : Output<Known>,
      E,
      R
    >
    & { readonly resume?: Resume; readonly start?: Start }
    & Known
): Tool.Tool<
  Name,
  // The inline type of a tool's parameters does not infer absent options.
  Types.NoInfer<Parameters>,
  Types.NoInfer<Success>,
  AgentToolError<E, Resume, Eff, Start>,
  Exclude<R, ToolCall> | SchemaServices<Parameters, Success>
> => {
  checkName("Agent.asTool", "tool", "ask_expert", name)
  checkArgument(`Tool "${name}"`, "its options", options, anObject)
  checkArgument(`Tool "${name}"`, "its agent", self, anAgent)
  const { run } = self as Agent<Parameters["Type"], Success["Type"], E, R>
  const own = descriptionOf(self)
  const parameters = options.parameters ?? (own && parametersOf(own.input) as Parameters)
  const success = options.success ?? own?.output as Success | undefined
  if (parameters === undefined || success === undefined) {
    throw new ConfigurationError({
      subject: `Tool "${name}"`,
      problem: "its agent has no schemas: give `parameters` and `success`"
    })
  }
  const tool: Tool.Any = makeTool(name, {
    ...options,
    parameters,
    success,
    execute: (params: Parameters["Type"]): Effect.Effect<Success["Type"], unknown, unknown> =>
      Effect.catchIf(
        isResumable<Parameters["Type"]>(self) ? waiting(self, tool.info, params) : run(params),
        (error): error is Escalated => error instanceof Escalated,
        ({ reason, severity }) => escalate({ reason, severity })
      )
  })
  Object.assign(tool.info, { isAgent: true })
  return Object.assign(
    tool,
    isResumable(self)
      ? {
        resumes: self.check,
        explains: self.explain,
        ends: self.end,
        shouldCompensate: self.shouldCompensate,
        runsAgentWithApprovals: self.mayAsk
      }
      : undefined,
    { ownTools: () => ownToolsOf(self) }
  ) as never
}

/** Runs an agent for a call of its tool. The call waits if the agent does, and resumes with it. */
const waiting = <In>(
  agent: Resumable<In, unknown, unknown, unknown>,
  tool: ToolInfo,
  input: In
): Effect.Effect<unknown, unknown, unknown> =>
  Effect.flatMap(ToolCall, (call) => {
    const { record } = call
    const canWait = record.waitsFor === tool
    const continuation = canWait ? record.admission.continuation : undefined
    // A further attempt of the call starts from the beginning.
    endContinuation(record)
    let withdraw: Effect.Effect<void> = Effect.void
    const outcome = Effect.flatMap(CurrentRun, (run) => {
      const mode = {
        ...plain,
        mayPause: canWait && run!.start.mayPause,
        onQuestions: (effect: Effect.Effect<void>) => {
          withdraw = effect
          addQuestion(rootOf(record), effect)
        }
      }
      return continuation === undefined
        ? agent.proceed({ input }, mode)
        : Effect.catchIf(
          agent.proceed(continuation, { ...mode, onStarted: () => noteContinued(continuation) }),
          (error) => error instanceof SnapshotRefused || error instanceof DecisionRefused,
          (error) => stopped(call, { _tag: "Refused", error })
        )
    })
    return Effect.flatMap(outcome, (ended) => {
      if (ended._tag === "Completed") return Effect.succeed(ended.output)
      if (!canWait) return cannotWait(call, agent.end(ended.snapshot, {}))
      // Another attempt waits, if the call is raced with itself: one call asks a person only once.
      if (record.admission.stop?._tag === "Nested") return Effect.andThen(withdraw, repeatStop)
      // It is not done, so its key is free until the agent resumes; unless another attempt has executed something.
      if (record.outcome.running === 1 && record.outcome.known === "no") noteExecuted(record, false)
      const args = Result.getOrThrow(Arguments.read(call.arguments))
      return stopped(call, { _tag: "Nested", attempt: call.attempt, arguments: args, paused: ended, withdraw })
    })
  })

/** A call of a tool that is run by hand, by another tool, or in a toolkit cannot be resumed. */
const cannotWait = (
  call: Call,
  end: Effect.Effect<void, never, unknown>
): Effect.Effect<never, never, unknown> =>
  Effect.andThen(
    Effect.flatMap(CurrentRun, (run) =>
      run === undefined
        ? end
        : Effect.forEach(rootOf(call.record).admission.questions!, (withdraw) => withdraw, { discard: true })),
    stopped(call, { _tag: "Denied", policy: "approval", reason: "Its agent waits, and no run can resume it" })
  )
