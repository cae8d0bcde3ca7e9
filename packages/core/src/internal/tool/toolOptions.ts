/** Options of `Tool.make`. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type * as Types from "effect/Types"
import type * as Prompt from "effect/ai/Prompt"
import type { OnUnknownKeys } from "../call/tool/toolInfo.ts"
import type { HookError, HookServices } from "../foundation/options/inferredOptions.ts"
import type { NeedsApproval, StatusOf } from "./callTypes.ts"

/**
 * Option of a tool whose schema is of effect or imported to it: other schemas decide about unknown keys by themselves.
 *
 * @category options
 * @since 0.2.0
 */
export interface UnknownKeysOption {
  /**
   * Treatment of unknown keys in the arguments: the call is refused, or it runs without the key. Default: `"refuse"`
   * for `effects: "write"`, because a dropped `dry_run: true` is another call than the intended one; `"drop"` for all
   * others.
   */
  readonly onUnknownKeys?: OnUnknownKeys | undefined
}

/**
 * Options of a tool without its parameters.
 *
 * @category options
 * @since 0.2.0
 */
export interface BaseOptions<Params, SuccessSchema extends Schema.Top, D, R, Eff, A, Tr, Id, O = {}> {
  /** Purpose of the tool, which the model reads. Default: none. */
  readonly description?: string | undefined
  /**
   * Schema of the result, which is checked behind all recovery. Default: `Schema.Void`, no result: the model reads `null`. The last type
   * is a sentence, which the compiler shows for a schema of another library.
   */
  readonly success?: SuccessSchema | "success is a Schema of effect, such as Schema.String" | undefined
  /**
   * Effects of a call: `"read"`, `"idempotent"` (a repeated call changes no more), or `"write"`. Without it only the
   * tool's own recovery may repeat a call. Default: not declared.
   */
  readonly effects?: Eff
  /** Time limit of one attempt. A read fails with `Timeout`, a write with `OutcomeUnknown`. Default: none. */
  readonly timeout?: Duration.Input | undefined
  /**
   * Number of characters of a result that the model reads: of a longer one it receives the beginning, in an
   * `ErrorProjection.TruncatedResult`. Code and events have the whole. `Infinity` is no limit. Default: the agent's,
   * 32,768.
   */
  readonly resultLimit?: number | undefined
  /**
   * The model's parts of a result: texts, pictures and files, made with `Prompt.textPart` and `Prompt.filePart`. Code,
   * events and the ledger have the result itself. The parts are guarded, redacted and marked like it; `resultLimit`
   * applies to their texts. A value that is no part fails with `InvalidResult`. A provider that takes text only
   * receives a notice instead of a file. Default: the result.
   */
  readonly toModelOutput?: ((result: SuccessSchema["Type"]) => ReadonlyArray<Prompt.ToolModelOutputPart>) | undefined
  /** True if a person has to approve a call: always, or by its arguments. The run pauses. Default: false. */
  readonly needsApproval?: NeedsApproval<Params, A>
  /**
   * Declares that `execute` calls tools that may need an approval: the run waits for them, and the agent's type
   * includes the pause. Without it, such a call is denied in `run` and `stream`, unless the agent may wait anyway.
   * Required if `execute` fails with `NotApproved`.
   */
  readonly mayRequestApproval?: true | undefined
  /** `"untrusted"`: the results hold text from outside (web pages, mail, other people's tools). */
  readonly trust?: Tr
  /** Schema of the errors of `execute`, annotated with their public texts: see `ErrorProjection.declare`. */
  readonly failure?: Schema.Top | undefined
  /**
   * Says that identical calls are meant: the tool returns a state that changes by itself, or takes a step each time. Then the agent's
   * `repeatedCalls` does not count them, and all equal calls of one answer are executed. Default: `false`: of equal calls of one answer the
   * first is executed and the others fail as `duplicate_call`, unless `effects` is `"read"` or `"idempotent"`, or `idempotency` has a `key`, by
   * which they are one. A tool's `status` always polls.
   */
  readonly allowIdenticalCalls?: boolean | undefined
  /**
   * Says that calls of one answer with the same arguments are one: the tool is executed once, and each call has its result. For
   * `effects: "read"`. Default: `false`.
   */
  readonly coalesce?: (Eff extends "read" ? boolean : never) | undefined
  /**
   * Runs the tool. Of a Stream the last element is the result; each element is emitted (`ToolPreliminaryResult`), and
   * the model reads the result only. The last type is a sentence: no value has it, and the compiler shows it for an
   * executor that returns a promise.
   */
  readonly execute: (
    params: Params
  ) =>
    | Effect.Effect<SuccessSchema["Type"], D, R>
    | Stream.Stream<SuccessSchema["Type"], D, R>
    | { readonly "execute has to answer an Effect: wrap a promise in Effect.tryPromise": never }
  /**
   * Calls are done once for each key, across retries and restarts. It says that `execute` passes `ToolCall.idempotencyKey`
   * on to a service that honours it: so a write whose outcome is unknown may be repeated under its key. Needs an
   * `IdempotencyLedger`.
   */
  readonly idempotency?: Id
  /**
   * True if `execute` only writes to the database of the durable runs, by the same `SqlClient`. Its writes are
   * committed with the outcome of the call, so that each call is executed once, also after crashes. A failure rolls it
   * back, and the call may be repeated. For `effects: "write"` without `idempotency`. It has no effect in a run that is
   * not durable. Default: `false`.
   */
  readonly transaction?: (Eff extends "write" ? boolean : never) | undefined
  /**
   * Compensates a call when the run of an agent with `compensation` fails. It receives the arguments and the result;
   * `ToolCall.idempotencyKey` is a key for the compensation, the same in each attempt. It has the tool's `timeout`, or
   * the agent's. For tools with effects, and not for `effects: "read"`. Its failure is reported in `NotCompensated`.
   */
  readonly compensate?:
    | ((
      params: Params,
      result: Types.NoInfer<SuccessSchema>["Type"]
    ) => Effect.Effect<unknown, HookError<O, "compensate">, HookServices<O, "compensate">>)
    | undefined
  /**
   * Returns the state of a task that `execute` has started with `ToolCall.pending`: its result, or `ToolCall.pending`
   * again. The model is offered it as the tool `{name}_status` once a task is pending. It is a read, under the same
   * recovery as the tool.
   */
  readonly status?: StatusOf<SuccessSchema["Type"], O> | undefined
}

/**
 * Options of a tool.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options<
  Parameters extends Schema.Top,
  SuccessSchema extends Schema.Top,
  D,
  R,
  Eff,
  A,
  Tr,
  Id,
  O = {}
> extends BaseOptions<Parameters["Type"], SuccessSchema, D, R, Eff, A, Tr, Id, O>, UnknownKeysOption {
  /**
   * The arguments. The last type is a sentence: no value has it, and the compiler reports it for a zod schema or a plain object. For a
   * JSON Schema there is {@link fromJsonSchema}.
   */
  readonly parameters?:
    | Parameters
    | { readonly "parameters is a Schema of effect: Schema.Struct({ city: Schema.String })": never }
    | undefined
}
