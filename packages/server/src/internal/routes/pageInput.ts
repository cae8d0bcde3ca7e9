/** Page input: `state` and `forwardedProps` of an AG-UI request, and the program's function that reads them. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { RequestContext } from "@recourse/core/RequestInput"
import { BadRequest } from "../http/errors.ts"

/**
 * The `state` and the `forwardedProps` of a page's AG-UI request.
 *
 * @category models
 * @since 0.2.0
 */
export interface PageInput {
  readonly agent: string
  readonly owner: string
  readonly threadId: string
  readonly runId: string
  readonly state: unknown
  readonly forwardedProps: unknown
}

/**
 * The program refuses the `state` or the `forwardedProps` of a page: 400. The page gets `problem`, so do not repeat values in it.
 *
 * **Example** (A cart without books)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Server } from "@recourse/server"
 *
 * const onPageInput: Server.OnPageInput = ({ state }) =>
 *   state === null ? Effect.fail(new Server.PageInputRefused({ field: "state", problem: "Send the cart" })) : Effect.succeed([])
 *
 * const input = { agent: "clerk", owner: "ada", threadId: "t1", runId: "r1", state: null, forwardedProps: {} }
 * const error = await Effect.runPromise(Effect.flip(onPageInput(input)))
 * error._tag // => "PageInputRefused"
 * ```
 *
 * @category errors
 * @since 0.2.0
 */
export class PageInputRefused extends Schema.TaggedError<PageInputRefused>()("PageInputRefused", {
  field: Schema.Literals(["state", "forwardedProps"]),
  problem: Schema.String
}) {
  override get message(): string {
    return `${this.field}: ${this.problem}`
  }
}

/**
 * Reads the input of a page before a run starts. The model reads the returned entries like the page's context. A `PageInputRefused` and the
 * `SchemaError` of a decoder are answered with 400, and no run starts. Handle other errors in the function.
 *
 * @category models
 * @since 0.2.0
 */
export type OnPageInput = (
  input: PageInput
) => Effect.Effect<ReadonlyArray<RequestContext> | void, PageInputRefused | Schema.SchemaError>

const refused = (error: PageInputRefused | Schema.SchemaError): BadRequest =>
  error._tag === "PageInputRefused"
    ? new BadRequest({ problem: error.message, param: error.field })
    : new BadRequest({ problem: `state or forwardedProps: ${error.message}` })

/** Returns the entries for the model; fails with `BadRequest` if the program refuses the input. */
export const readPageInput = (
  onPageInput: OnPageInput,
  input: PageInput
): Effect.Effect<ReadonlyArray<RequestContext>, BadRequest> =>
  Effect.suspend(() => onPageInput(input)).pipe(
    Effect.map((entries) => entries ?? []),
    Effect.mapError(refused)
  )
