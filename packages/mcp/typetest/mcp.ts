/** What tools of MCP servers leave in the error type, and what must not compile. */
import { Agent, type Approval, Recovery, type Tool, type ToolError } from "@recourse/core"
import { Mcp, type McpError } from "@recourse/mcp"
import type { Effect } from "effect"
import { type Equals, holds } from "../../core/typetest/assert.ts"

declare const connect: Mcp.Connect<never>

type Element<T> = T extends Effect.Effect<ReadonlyArray<infer A>, infer _E, infer _R> ? A : never
type Left<T> = Exclude<Tool.Error<Element<T>>, never>

const told = Mcp.tools({ name: "a", connect })
holds<
  Equals<
    Left<typeof told>,
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | ToolError.ExecutionError<Exclude<McpError.McpError, Mcp.ReportedError>>
    | ToolError.Timeout
    | ToolError.OutcomeUnknown
    | ToolError.NotApproved
    | ToolError.Escalation
  >
>()

const failing = Mcp.tools({ name: "a", connect, toolErrors: "fail" })
holds<
  Equals<
    Extract<Left<typeof failing>, { readonly _tag: "ExecutionError" }>,
    ToolError.ExecutionError<McpError.McpError>
  >
>()

declare const tools: ReadonlyArray<Element<typeof told>>
const agent = Agent.make("a", { tools, defaults: { onError: Recovery.standard } })
// What is left of the server's failures is the program's.
holds<
  Equals<
    Extract<Agent.Error<typeof agent>, { readonly _tag: "ExecutionError" }>,
    ToolError.ExecutionError<Exclude<McpError.McpError, Mcp.ReportedError>>
  >
>()
holds<
  Equals<Agent.Services<typeof agent> extends infer S ? Extract<S, Approval.SnapshotKey> : never, Approval.SnapshotKey>
>()

// @ts-expect-error there is no such way
Mcp.tools({ name: "a", connect, toolErrors: "ignore" })
// @ts-expect-error a server has to be reached
Mcp.tools({ name: "a" })
