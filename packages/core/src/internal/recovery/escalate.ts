/** Escalation: hands failures to the model. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Function from "effect/Function"
import type * as Types from "effect/Types"
import { toolFailure } from "../projection/failures.ts"
import { CurrentRun, emit } from "../run/run.ts"
import * as Telemetry from "../run/observe/telemetry.ts"
import { type Call, ToolCall } from "../call/call.ts"
import { escalation } from "../call/execute/executorAnswers.ts"
import type { Escalation, Severity } from "../../ToolError.ts"
import { escalating } from "./guardedWords.ts"
import {
  catchTags,
  type CertainTags,
  type HasTags,
  type KnownCall,
  type Misplaced,
  type OtherTags,
  type Single,
  type Tagged,
  type TagOf
} from "../foundation/errorTags.ts"
import { subjectOf } from "../call/record/record.ts"
import { checkTags, keepingTags } from "../foundation/builtInTags.ts"
import { aString, checkArgument } from "../foundation/options/optionCheck.ts"

/** @internal Hands an error to the model. */
export const escalateError = (
  error: unknown,
  options?: { readonly reason?: string | undefined; readonly severity?: Severity | undefined }
): Effect.Effect<never, Escalation, ToolCall> =>
  Effect.contextWith((context: Context.Context<ToolCall>) => {
    const call = Context.get(context, ToolCall)
    const projected = toolFailure(error, "")
    const escalated = escalation(call, {
      code: projected.code,
      reason: options?.reason ?? projected.message_for_model,
      severity: options?.severity,
      error
    })
    return escalateAs(call, context as Context.Context<never>, escalated)
  })

/** @internal Fails with an escalation, with its event and metric. */
export const escalateAs = (
  call: Call,
  context: Context.Context<never>,
  escalated: Escalation
): Effect.Effect<never, Escalation> => {
  const { code, severity, tool } = escalated
  const run = Context.get(context, CurrentRun)
  return Effect.flatMapEager(
    run?.audience === undefined ? Effect.void : Effect.flatMapEager(
      escalating(context, call, escalated),
      (texts) => emit(run, () => ({ _tag: "ToolEscalated", ...subjectOf(call.record), ...texts, severity }))
    ),
    () => {
      Telemetry.countToolEscalation(context, { tool, code })
      return Effect.fail(escalated)
    }
  )
}

/**
 * Reports failures with the given tags to the agent's model: it reads the error's projection, and the run continues.
 *
 * **Example** (Reporting wrong fields to the model)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * const Add = Tool.make("add", {
 *   parameters: Schema.Struct({ a: Schema.Number, b: Schema.Number }),
 *   success: Schema.Number,
 *   execute: ({ a, b }) => Effect.succeed(a + b)
 * }).pipe(Tool.onError(Recovery.escalate("InvalidArgs")))
 *
 * await Effect.runPromise(
 *   Add.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: "{\"a\":1}" })),
 *     Effect.catchTag("Escalation", (escalation) => Effect.succeed(escalation.reason))
 *   )
 * ) // => "The arguments do not fit: b: required"
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const escalate = <Known, const Tags extends ReadonlyArray<TagOf<Known> | OtherTags<Known>>>(...tags: Tags) => {
  for (const tag of tags) checkArgument("Recovery.escalate", "its tag", tag, aString)
  return <A, E, R>(
    call: (Effect.Effect<A, E, R> & KnownCall<A, Known, R> & HasTags<E, Tags[number]>) | Misplaced<Known>
  ): Effect.Effect<A, Exclude<E, Tagged<CertainTags<Tags>>> | Escalation, R | ToolCall> => {
    checkTags("Recovery.escalate", call, tags)
    return keepingTags(catchTags(call as Effect.Effect<A, E, R>, tags, (error) => escalateError(error)), call) as never
  }
}

/**
 * Like {@link escalate} for one tag, with a reason of your own, which the model reads unchanged: declare the public
 * part of an error here.
 *
 * **Example** (Reporting a missing resource to the model)
 *
 * ```ts
 * import { Data, Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * class NotFound extends Data.TaggedError("NotFound")<{ readonly id: string }> {}
 *
 * const Find = Tool.make("find", {
 *   parameters: Schema.Struct({ id: Schema.String }),
 *   success: Schema.String,
 *   execute: ({ id }) => Effect.fail(new NotFound({ id }))
 * }).pipe(
 *   Tool.onError((call) =>
 *     call.pipe(Recovery.escalateWith("ExecutionError", ({ reason }) => ({ reason: `No customer ${reason.id}` })))
 *   )
 * )
 *
 * await Effect.runPromise(
 *   Find.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { id: "7" } })),
 *     Effect.catchTag("Escalation", (escalation) => Effect.succeed(escalation.reason))
 *   )
 * ) // => "No customer 7"
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const escalateWith: {
  <Known, const Tag extends TagOf<Known> | OtherTags<Known>>(
    tag: Tag,
    describe: (
      error:
        | Extract<Types.NoInfer<Known>, Tagged<Tag>>
        // Of a recovery that is stored, the tag is known.
        | (unknown extends Types.NoInfer<Known> ? Tagged<Tag> : never)
    ) => Description
  ): <A, E, R>(
    call: (Effect.Effect<A, E, R> & KnownCall<A, Known, R> & HasTags<E, Tag>) | Misplaced<Known>
  ) => Effect.Effect<A, Exclude<E, Tagged<Single<Tag>>> | Escalation, R | ToolCall>
  <A, E, R, const Tag extends TagOf<E>>(
    call: Effect.Effect<A, E, R>,
    tag: Tag,
    describe: (error: Extract<Types.NoInfer<E>, Tagged<Tag>>) => Description
  ): Effect.Effect<A, Exclude<E, Tagged<Single<Tag>>> | Escalation, R | ToolCall>
} = Function.dual(
  3,
  <A, E, R>(call: Effect.Effect<A, E, R>, tag: string, describe: (error: E & Tagged<string>) => Description) => {
    checkTags("Recovery.escalateWith", call, [tag])
    return keepingTags(catchTags(call, [tag], (error) => escalateError(error, describe(error))), call)
  }
)

/**
 * The model's text of a failure, and its urgency.
 *
 * @category models
 * @since 0.2.0
 */
export interface Description {
  readonly reason: string
  readonly severity?: Severity | undefined
}
