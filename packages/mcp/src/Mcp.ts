/**
 * MCP, both ways: tools of servers for agents, and tools of agents for clients (`layerServer`). Over stdio and
 * streamable HTTP, with arguments checked before a request and results after it, distinct failures, and a connection
 * that is restored after a loss.
 */
import { fromTool, type Listed, type Options as ToolOptions, type ToolList } from "@recourse/core/AiToolkit"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as Recovery from "@recourse/core/Recovery"
import * as Tool from "@recourse/core/Tool"
import * as ToolError from "@recourse/core/ToolError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { McpClientError, TimeoutError } from "effect/ai/McpClientError"
import type * as McpSchema from "effect/ai/McpSchema"
import * as AiTool from "effect/ai/Tool"
import { checkServerOptions } from "./internal/client/serverOptionKinds.ts"
import { callTool, hasExpired, isExpired, SessionExpired } from "./internal/client/call.ts"
import { type LeftOut, skipped, warnOf } from "./internal/client/leftOut.ts"
import { listTools } from "./internal/client/listing.ts"
import { usableSchemas } from "./internal/client/schemas.ts"
import { type ServerRead, type ServerReadOptions, serverReads } from "./internal/client/serverReads.ts"
import { type Connect, type Connection, type Live, make as makeConnection } from "./internal/connection.ts"
import type { About } from "./internal/errors.ts"
import { safeNames } from "./internal/names.ts"
import { type McpResult, modelOutput, resultSchema } from "./internal/result.ts"
import { McpError, McpInvalidArgs, McpServerGone, McpToolError, McpUnknownTool } from "./McpError.ts"

export { http } from "./internal/client/http.ts"
export type { HttpOptions } from "./internal/client/httpOptions.ts"
export type { LeftOut } from "./internal/client/leftOut.ts"
export type { Peer } from "./internal/client/peer.ts"
export { protocols, type ProtocolVersion } from "./internal/client/protocols.ts"
export type { ServerReadOptions } from "./internal/client/serverReads.ts"
export { sse } from "./internal/client/sse.ts"
export { type ConnectOptions, stdio } from "./internal/client/stdio.ts"
export type { Connect, Live } from "./internal/connection.ts"
export type { McpResult } from "./internal/result.ts"
export { layerExactStdio } from "./internal/server/exactStdio.ts"
export { layerServer, type ServerOptions, type ServerServices } from "./internal/server/layer.ts"
export type { ClientRequest } from "./internal/server/request.ts"

/**
 * Errors that the model can handle: the tool's own message, arguments that the server refuses, a missing tool.
 *
 * @category models
 * @since 0.2.0
 */
export type ReportedError = McpToolError | McpInvalidArgs | McpUnknownTool

/**
 * A tool of an MCP server. Whether it is a write the server says, so that a call may always be `OutcomeUnknown`.
 *
 * @category models
 * @since 0.2.0
 */
export type McpTool<Failures extends "escalate" | "fail" = "escalate"> = Tool.Tool<
  string,
  Schema.Codec<unknown>,
  Schema.Codec<McpResult, unknown>,
  | ToolError.InvalidArgs
  | ToolError.InvalidResult
  | ToolError.ExecutionError<Failures extends "escalate" ? Exclude<McpError, ReportedError> : McpError>
  | ToolError.Timeout
  | ToolError.OutcomeUnknown
  | ToolError.NotApproved
  | (Failures extends "escalate" ? ToolError.Escalation : never),
  never
>

/**
 * Options of a server and its tools.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options<R, Failures extends "escalate" | "fail"> extends ServerReadOptions {
  /** The server's name: the prefix of its tools' names, and its name in errors. */
  readonly name: string
  /** Its connection: `Mcp.stdio`, `Mcp.http`. */
  readonly connect: Connect<R>
  /** Prefix of the tools' names. Default: the server's name and `_`. */
  readonly prefix?: string | undefined
  /** Trust in results. Default: `"untrusted"`: they, and the server's errors, reach models in an envelope. */
  readonly trust?: Tool.Trust | undefined
  /**
   * Time limit of one attempt of a call, which is then cancelled at the server; progress that the server reports
   * restarts it. It also applies to connecting and to a list of tools. Default: 60 seconds.
   */
  readonly timeout?: Duration.Input | undefined
  /**
   * Use of the server's list changes (`notifications/tools/list_changed`): a run receives them between its turns, or
   * ignores them. An agent with only some of the tools gets no new ones. Default: `"between-turns"`.
   */
  readonly listChanges?: "between-turns" | "ignore" | undefined
  /** Time limit of an attempt with all progress. Default: 10 minutes, or `timeout` if that is longer. */
  readonly maxTimeout?: Duration.Input | undefined
  /** Options of single tools by the names that the server has for them, or a function of the server's definition. */
  readonly options?:
    | { readonly [tool: string]: ToolOptions }
    | ((tool: McpSchema.Tool) => ToolOptions | undefined)
    | undefined
  /** Predicate of used tools. Default: all. */
  readonly filter?: ((tool: McpSchema.Tool) => boolean) | undefined
  /**
   * Treatment of {@link ReportedError}. `"escalate"`: the model reads them, and the run continues. `"fail"`: they are in the
   * tool's error type, in the `reason` of `ExecutionError`, and end the run unless your recovery handles them. Default:
   * `"escalate"`.
   */
  readonly toolErrors?: Failures | undefined
  /** Keywords of the server's JSON Schemas that need not be checked: see `Tool.fromJsonSchema`. Default: `"any"`. */
  readonly unchecked?: Tool.JsonSchemaOptions["unchecked"]
}

/**
 * A server, connected.
 *
 * @category models
 * @since 0.2.0
 */
export interface Server<Failures extends "escalate" | "fail"> {
  /** Lists the server's tools. A tool or a page that cannot be used is left out, and does not fail the list: see `leftOut`. */
  readonly tools: Effect.Effect<ReadonlyArray<McpTool<Failures>>, McpServerGone | McpClientError>
  /**
   * Tools left out of the last list, and the amount of skipped output of the server. It is logged as a warning, too.
   */
  readonly leftOut: Effect.Effect<ReadonlyArray<LeftOut>>
}

/** Effects by the annotations. MCP calls them hints: for an untrusted server declare `effects` yourself. */
const effectsOf = ({ annotations }: McpSchema.Tool): Tool.Effects | undefined =>
  annotations === undefined
    ? undefined
    : annotations.readOnlyHint
    ? "read"
    : annotations.idempotentHint
    ? "idempotent"
    : annotations.destructiveHint
    ? "write"
    : undefined

const isReported = (error: unknown): error is ToolError.ExecutionError<ReportedError> =>
  error instanceof ToolError.ExecutionError &&
  (error.reason instanceof McpToolError || error.reason instanceof McpInvalidArgs ||
    error.reason instanceof McpUnknownTool)

/** Default limit up to which progress extends a timeout, in milliseconds. */
const defaultMaxTimeout = 600_000

/** The times of a tool's calls: a tool's own `timeout` may be longer than the server's `maxTimeout`. */
const timeoutsOf = <R, F extends "escalate" | "fail">(options: Options<R, F>, said: ToolOptions | undefined) => {
  const timeout = Duration.fromInputUnsafe(said?.timeout ?? options.timeout ?? "60 seconds")
  const maxTimeout = Duration.max(timeout, Duration.fromInputUnsafe(options.maxTimeout ?? defaultMaxTimeout))
  return { timeout, maxTimeout: said?.maxTimeout ?? maxTimeout }
}

const optionsOf = <R, F extends "escalate" | "fail">(
  { options }: Options<R, F>,
  descriptor: McpSchema.Tool
): ToolOptions | undefined =>
  typeof options === "function"
    ? options(descriptor)
    : options !== undefined && Object.hasOwn(options, descriptor.name)
    ? options[descriptor.name]
    : undefined

/** A tool, or why its schemas cannot be used. */
const toolOf = <R, F extends "escalate" | "fail">(
  connection: Connection,
  options: Options<R, F>,
  name: string,
  descriptor: McpSchema.Tool,
  listed: Listed | undefined,
  read: ServerRead | undefined
): McpTool<F> | string => {
  const said = optionsOf(options, descriptor)
  const unchecked = said?.unchecked ?? options.unchecked ?? "any"
  const schemas = usableSchemas(name, descriptor, { ...said, unchecked })
  if (typeof schemas === "string") return schemas
  const definition = AiTool.dynamic(name, {
    description: descriptor.description ?? descriptor.title,
    parameters: descriptor.inputSchema,
    success: resultSchema(schemas.output),
    failure: McpError,
    toModelOutput: modelOutput
  }).annotate(AiTool.Strict, false)
  const about = { server: options.name, tool: descriptor.name }
  const tool = fromTool(
    definition,
    (params) => callTool(connection, about, descriptor, params as Record<string, unknown>, read),
    {
      effects: effectsOf(descriptor),
      trust: options.trust ?? "untrusted",
      failure: McpError,
      ...said,
      ...timeoutsOf(options, said),
      listed,
      unchecked
    }
  )
  if (options.toolErrors === "fail") return tool as never
  return Tool.onError(
    tool,
    (attempt) =>
      Effect.catchIf(attempt, isReported, (error) => Effect.fail(error).pipe(Recovery.escalate("ExecutionError")))
  ) as never
}

/** Number of a client's reported list changes at the time of the listing. */
const changesSeen = new WeakMap<Live, number>()

/** True if the list of the present client has not been read, or has changed since. */
const isStale = (connection: Connection): boolean => {
  const live = connection.current()
  return live?.peer !== undefined && live.peer.inbox.toolListChanges() !== changesSeen.get(live)
}

/** Lists the tools of a connection: once more if the session has expired. */
const listOf = (connection: Connection, about: About, timeout: Duration.Duration) => {
  const once = connection.live.pipe(
    Effect.mapError(({ reason, retryAfter }) =>
      reason ?? new McpServerGone({ ...about, retryAfter, description: "The server could not be reached" })
    ),
    Effect.flatMap((live) =>
      connection.using(
        live,
        Effect.suspend(() => {
          changesSeen.set(live, live.peer?.inbox.toolListChanges() ?? 0)
          return listTools(live)
        }).pipe(
          Effect.timeoutOrElse({
            duration: timeout,
            orElse: () => Effect.fail(new McpClientError({ reason: new TimeoutError({ operation: "tools/list" }) }))
          }),
          Effect.map((listing) => ({ live, listing })),
          Effect.catch((error) =>
            Effect.flatMap(hasExpired(live, error), (isExpired) =>
              Effect.andThen(connection.lost(live), Effect.fail(isExpired ? new SessionExpired(error) : error)))
          )
        )
      )
    )
  )
  return once.pipe(
    Effect.catchIf(isExpired, () => once),
    Effect.mapError((error) => isExpired(error) ? error.error : error)
  )
}

/** Throws for options of a tool that the server does not have. */
const refuseUnknown = <R, F extends "escalate" | "fail">(
  { name, options }: Options<R, F>,
  listed: ReadonlyArray<string>
): void => {
  const unknown = typeof options === "object" ? Object.keys(options).find((name) => !listed.includes(name)) : undefined
  if (unknown === undefined) return
  throw new ConfigurationError({
    subject: `MCP server "${name}"`,
    problem: `there is no tool "${unknown}". There is ${listed.join(", ") || "none"}`
  })
}

/**
 * Connects to an MCP server, whose tools can be listed again between runs. The connection exists as long as the scope,
 * and is restored after a loss. A server that cannot be reached twice in a row is left alone for half a second, then
 * longer, and calls fail with `McpServerGone` meanwhile.
 *
 * ```ts
 * import { Agent } from "@recourse/core"
 * import { Mcp } from "@recourse/mcp"
 * import { Effect } from "effect"
 *
 * export const answer = Effect.gen(function*() {
 *   const server = yield* Mcp.connect({ name: "search", connect: Mcp.http("https://example.com/mcp") })
 *   // Listed anew for each question.
 *   const agent = Agent.make("librarian", { tools: yield* server.tools })
 *   return yield* agent.run("Which of our books are about bees?")
 * })
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const connect = Effect.fnUntraced(function*<R, const F extends "escalate" | "fail" = "escalate">(
  options: Options<R, F>
): Effect.fn.Return<Server<F>, never, R | Scope.Scope> {
  checkServerOptions(options)
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "60 seconds")
  const connection = yield* makeConnection(options.connect, timeout)
  const list = listOf(connection, { server: options.name, tool: "" }, timeout)
  let leftOut: ReadonlyArray<LeftOut> = []
  let version = 0
  let text = ""
  let last: ReadonlyArray<McpTool<F>> = []
  let notUsable: ReadonlyArray<LeftOut> = []
  const tools: Server<F>["tools"] = Effect.flatMap(list, ({ listing, live }) => {
    const reads = serverReads(options, live, listing.tools.map(({ name }) => name))
    const descriptors = [...listing.tools, ...reads.map(({ descriptor }) => descriptor)]
    refuseUnknown(options, [...descriptors.map(({ name }) => name), ...listing.leftOut.map(({ name }) => name)])
    const taken = options.filter === undefined ? descriptors : descriptors.filter(options.filter)
    const before = text
    text = JSON.stringify(taken)
    const isChanged = text !== before
    const unusable: Array<LeftOut> = []
    if (isChanged) {
      const names = safeNames(options.prefix ?? `${options.name}_`, taken.map(({ name }) => name))
      const made: Array<string> = []
      const listed = options.listChanges === "ignore" ? undefined : { list: changing, version: ++version, names: made }
      last = taken.flatMap((descriptor) => {
        const tool = toolOf(
          connection,
          options,
          names.get(descriptor.name)!,
          descriptor,
          listed,
          reads.find((one) => one.descriptor === descriptor)
        )
        if (typeof tool !== "string") {
          made.push(tool.name)
          return [tool]
        }
        unusable.push({ kind: "tool", name: descriptor.name, reason: tool })
        return []
      })
      notUsable = unusable
    }
    const earlier = leftOut
    leftOut = [...listing.leftOut, ...notUsable, ...skipped(live.peer?.inbox.noise() ?? 0)]
    return Effect.as(warnOf(options.name, earlier, leftOut), last)
  })
  const changing: ToolList<Tool.Any> = {
    changedSince: (known) =>
      Effect.suspend(() => {
        const changed = () => version === known ? undefined : { version, tools: last }
        if (!isStale(connection)) return Effect.succeed(changed())
        const read = Effect.catchCause(tools, (cause) =>
          Effect.logWarning(`MCP server "${options.name}": its changed list of tools could not be read`, cause))
        return Effect.map(read, changed)
      })
  }
  return { tools, leftOut: Effect.sync(() => leftOut) }
})

/**
 * The tools of an MCP server: connects, and lists them once. As {@link connect}, which can list them again.
 *
 * Arguments are checked by the tool's JSON Schema before the request, and a structured result by its `outputSchema` after it. An
 * unknown name in `options` is a defect with a `ConfigurationError`.
 *
 * ```ts
 * import { Mcp } from "@recourse/mcp"
 * import { ChildProcess } from "effect/process"
 *
 * export const files = Mcp.tools({
 *   name: "files",
 *   connect: Mcp.stdio(ChildProcess.make("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."])),
 *   options: { write_file: { needsApproval: true } }
 * })
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const tools = <R, const F extends "escalate" | "fail" = "escalate">(
  options: Options<R, F>
): Effect.Effect<ReadonlyArray<McpTool<F>>, McpServerGone | McpClientError, R | Scope.Scope> =>
  Effect.flatMap(connect<R, F>(options), (server) => server.tools)
