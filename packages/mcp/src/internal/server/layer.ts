/** `Mcp.layerServer`: tools of Recourse for the clients of an MCP server. */
import * as Agent from "@recourse/core/Agent"
import { SnapshotKey } from "@recourse/core/Approval"
import type * as Tool from "@recourse/core/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import * as WebCrypto from "effect/crypto/WebCrypto"
import { failed } from "./answer.ts"
import { failureOf, run, type Runner } from "./call.ts"
import { descriptorOf } from "./descriptor.ts"
import { checkServed } from "./servedKinds.ts"
import * as Once from "./once.ts"
import { withProgress } from "./progress.ts"
import { type ClientRequest, fingerprint, identify } from "./request.ts"
import { writtenArguments } from "./writtenArguments.ts"

/**
 * Options of served tools: those of `Agent.forCalls`, which apply to each call, and these.
 *
 * @category options
 * @since 0.2.0
 */
export interface ServerOptions<Tools extends ReadonlyArray<Tool.Any>, O = {}> extends Agent.ForCallsOptions<Tools, O> {
  /** The name of the runs in spans, events and audit. Default: `"mcp"`. */
  readonly name?: string | undefined
  /**
   * Identifies clients: an idempotency key, and a waiting call, belong to one client. Default: the `authorization`
   * header; clients without one are the same client.
   */
  readonly clientOf?: ((request: ClientRequest) => string) | undefined
}

/**
 * Services of served tools: of them, their recoveries and the policies. A key for waiting calls is made if there is
 * none.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ServerServices<Tools extends ReadonlyArray<Tool.Any>, O> = Exclude<
  Agent.CallRunServices<Tools, O>,
  SnapshotKey
>

/** A key that exists as long as the process. */
const randomKey = Effect.map(
  WebCrypto.WebCrypto,
  (crypto) => Redacted.make(`${crypto.randomUUID()}${crypto.randomUUID()}`)
)

const statusOf = (tool: Tool.Any): ReadonlyArray<Tool.Any> => tool.status === undefined ? [] : [tool.status]

/**
 * Registers tools with an MCP server: give the layer to `McpServer.layerStdio` or `McpServer.layerHttp` as `registrations`.
 *
 * Each call of a client is a run of its own: with the tool's recovery, and with the declared budget, policies, events
 * and audit. The client has a model's view of a call: its result, or a failure with `isError: true`, and never a cause.
 *
 * - `effects` become the annotations `readOnlyHint`, `idempotentHint`, `destructiveHint`; `success` becomes `outputSchema`.
 * - A call that needs an approval asks the person at the client by elicitation. A client that cannot ask reads
 *   `approval_required`, and the call is not executed.
 * - A request that is sent again is one call, while it runs and for ten minutes after, for tools that do not declare
 *   `effects: "read"`. It is known by `_meta["recourse/idempotency-key"]`, or by session and request id.
 * - A request that the client cancels interrupts its call.
 * - A client that sends a progress token hears of attempts and of nested agents.
 *
 * An agent is served as the tool that `Agent.asTool` makes of it. Throws `ConfigurationError` for two tools of one name, and for
 * parameters that are no object.
 *
 * **Example** (Tools over standard input and output)
 *
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { McpServer } from "effect/ai"
 * import { Recovery, Tool } from "@recourse/core"
 * import { Mcp } from "@recourse/mcp"
 *
 * const Double = Tool.make("double", {
 *   description: "Doubles a number",
 *   parameters: Schema.Struct({ n: Schema.Number }),
 *   success: Schema.Struct({ twice: Schema.Number }),
 *   effects: "read",
 *   execute: ({ n }) => Effect.succeed({ twice: n * 2 })
 * })
 *
 * const server = McpServer.layerStdio({
 *   name: "numbers",
 *   version: "1.0.0",
 *   protocols: Mcp.protocols,
 *   registrations: Mcp.layerServer({ tools: [Double], defaults: { onError: Recovery.standard } })
 * }).pipe(Layer.provide(Mcp.layerExactStdio))
 * // Layer.launch(server).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerServer = <
  const Tools extends ReadonlyArray<Tool.Any>,
  O = {}
>(
  options:
    & ServerOptions<Tools, O>
    & {
      readonly [K in keyof O]: K extends never ? O[K] : K extends keyof ServerOptions<[]> ? unknown : never
    }
): Layer.Layer<never, never, McpServer.McpServer | ServerServices<Tools, O>> => {
  checkServed(options)
  return Layer.effectDiscard(Effect.gen(function*() {
    const { clientOf, name = "mcp" } = options
    const runner = Agent.forCalls(name, options as never) as unknown as Runner
    const server = yield* McpServer.McpServer
    const services = yield* Effect.context<never>()
    const keys = Option.getOrUndefined(Context.getOption(services, SnapshotKey)) ?? (yield* randomKey)
    const once = yield* Once.make<McpSchema.CallToolResult | McpSchema.InputRequired>()

    for (const tool of options.tools.flatMap((tool) => [tool, ...statusOf(tool)])) {
      const descriptor = descriptorOf(tool)
      const isStructured = descriptor.outputSchema !== undefined
      yield* server.addTool({
        tool: descriptor,
        annotations: Context.empty(),
        services,
        handle: (args) =>
          Effect.gen(function*() {
            const request = yield* McpSchema.McpRequestContext
            const call = {
              tool: tool.name,
              arguments: yield* writtenArguments(tool.name, args),
              isStructured,
              fingerprint: yield* fingerprint(tool.name, args)
            }
            const identified = yield* identify(clientOf, call.fingerprint)
            const { key, runId } = identified
            const ran = withProgress(server, request, run(runner, keys, call, identified))
            return yield* key === undefined || tool.effects === "read"
              ? ran
              : once.run(key, call.fingerprint, ran, (cause) => {
                const failure = failureOf(cause, runId)
                return failure.safe_to_retry ? undefined : failed(failure)
              })
          })
      })
    }
  })) as never
}
