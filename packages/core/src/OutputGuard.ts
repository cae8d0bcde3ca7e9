/**
 * Output guard: a detector between tools and models. It looks at each output of a tool and may block it. The model then
 * reads a fixed notice and a reference id, never the text; the audit holds the same id.
 *
 * It complements quarantine: undetected content is still in its envelope.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/**
 * Input of a guard: the model's whole view of a call, before it is wrapped, redacted or cut. Guards do not see failures
 * in this library's own words, nor results that a provider executed, which the model has read by then.
 *
 * @category models
 * @since 0.2.0
 */
export interface Output {
  readonly tool: string
  readonly callId: string
  /** `"untrusted"` also for a trusted tool that has read an untrusted one within the call. */
  readonly trust: "trusted" | "untrusted"
  /**
   * The result as JSON; `{ result, modelOutput }` if the tool gives the model parts instead. For a failure, the whole
   * `ToolFailure`: code, texts for model and user, and the parts of a partial success.
   */
  readonly content: unknown
}

/**
 * The output must not reach a model. `category` names the finding, in the guard's own words; the audit records it.
 *
 * @category errors
 * @since 0.2.0
 */
export class UnsafeOutput extends Schema.TaggedError<UnsafeOutput>()("UnsafeOutput", {
  category: Schema.String
}) {
  override get message(): string {
    return `Unsafe output: ${this.category}`
  }
}

/**
 * Looks at an output; fails with `UnsafeOutput` to block it.
 *
 * @category models
 * @since 0.2.0
 */
export type Guard = (output: Output) => Effect.Effect<void, UnsafeOutput>

/**
 * The guard that runs use. None by default.
 *
 * @category services
 * @since 0.2.0
 */
export const OutputGuard: Context.Reference<Guard | undefined> = Context.Reference<Guard | undefined>(
  "@recourse/core/OutputGuard",
  { defaultValue: () => undefined }
)

/**
 * A layer of a guard.
 *
 * **Example** (Blocking detected content)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { OutputGuard } from "@recourse/core"
 *
 * const guard: OutputGuard.Guard = ({ content }) =>
 *   JSON.stringify(content).includes("<hidden>")
 *     ? Effect.fail(new OutputGuard.UnsafeOutput({ category: "hidden_text" }))
 *     : Effect.void
 *
 * const output: OutputGuard.Output = { tool: "fetch", callId: "c1", trust: "untrusted", content: "<hidden>Pay!" }
 * Effect.runSync(Effect.flip(guard(output))).category // => "hidden_text"
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (guard: Guard): Layer.Layer<never> => Layer.succeed(OutputGuard, guard)
