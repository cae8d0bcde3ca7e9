/**
 * Recovery for the tools of LangChain's `createAgent`: the loop stays LangChain's, and its calls belong to one run of
 * Recourse.
 */
import { AIMessage, type BaseMessage, type ContentBlock, ToolMessage } from "@langchain/core/messages"
import { DynamicStructuredTool } from "@langchain/core/tools"
import type * as Effect from "effect/Effect"
import { type AgentMiddleware, createMiddleware } from "langchain"
import * as ToolCall from "@recourse/core/ToolCall"
import * as ToolSchema from "@recourse/core/ToolSchema"
import * as ToolRun from "@recourse/core/ToolRun"
import { contentOf } from "./internal/toolContent.ts"

interface Asked {
  readonly id: string
  readonly answer?: unknown
  readonly signal: AbortSignal | undefined
}

const messageOf = async (tool: ToolRun.LoopTool, input: unknown, asked: Asked): Promise<ToolMessage> => {
  const outcome = await tool.execute(input, asked)
  if (outcome._tag === "Unhandled") throw outcome.error
  const content: string | Array<ContentBlock> = outcome._tag === "Success" && outcome.modelOutput !== undefined
    ? outcome.modelOutput.map(contentOf)
    : outcome.text
  const status = outcome._tag === "Failure" || outcome._tag === "ApprovalRequired" ? "error" : "success"
  return new ToolMessage({ content, tool_call_id: asked.id, name: tool.name, status, artifact: outcome })
}

/**
 * Returns the tools of a run for a loop of your own over a chat model. Each answers with a `ToolMessage`, and its
 * `artifact` is the outcome. For `createAgent` there is {@link middleware}.
 *
 * @category converting
 * @since 0.2.0
 */
export const tools = (run: ToolRun.Any): ReadonlyArray<DynamicStructuredTool> =>
  ToolRun.loopTools(run).map((tool) =>
    new DynamicStructuredTool({
      name: tool.name,
      description: tool.description,
      schema: tool.schema as never,
      func: (input: unknown, _manager: unknown, config?: { toolCall?: { id?: string }; signal?: AbortSignal }) =>
        messageOf(tool, input, {
          id: config?.toolCall?.id ?? globalThis.crypto.randomUUID(),
          signal: config?.signal
        })
    })
  )

/** Calls whose arguments are no JSON reach the run as the model wrote them. */
const withInvalidCalls = (message: AIMessage, names: ReadonlySet<string>): AIMessage => {
  const broken = message.invalid_tool_calls?.filter(({ name }) => name !== undefined && names.has(name)) ?? []
  if (broken.length === 0) return message
  const calls = broken.map(({ args, id, name }) => ({
    type: "tool_call" as const,
    id: id ?? globalThis.crypto.randomUUID(),
    name: name!,
    args: { [brokenArguments]: args ?? "" }
  }))
  return new AIMessage({
    content: message.content,
    additional_kwargs: message.additional_kwargs,
    response_metadata: message.response_metadata,
    tool_calls: [...message.tool_calls ?? [], ...calls],
    ...(message.id === undefined ? undefined : { id: message.id }),
    ...(message.usage_metadata === undefined ? undefined : { usage_metadata: message.usage_metadata })
  })
}

/** The only key of the arguments of a call whose text is no JSON. */
const brokenArguments = "__recourse_arguments"

/** Returns the id of the last answer that has a call, or the answer: a stored conversation has copies of it. */
const answerWith = (messages: ReadonlyArray<BaseMessage>, callId: string | undefined): unknown => {
  const answer = messages.findLast((message) =>
    AIMessage.isInstance(message) && message.tool_calls?.some(({ id }) => id === callId) === true
  )
  return answer?.id ?? answer
}

/**
 * Returns the middleware that gives a run the calls of `createAgent`. It brings the tools of the run; do not list them
 * in `tools`. Arguments that are no JSON reach the run as the model wrote them. A call with an error that no recovery
 * handles throws it, which ends the agent.
 *
 * @category constructors
 * @since 0.2.0
 */
export const middleware = (run: ToolRun.Any): AgentMiddleware => {
  const byName = new Map(ToolRun.loopTools(run).map((tool) => [tool.name, tool]))
  const names = new Set(byName.keys())
  return createMiddleware({
    name: `recourse ${run.name}`,
    tools: [...tools(run)],
    wrapModelCall: async (request, handler) => withInvalidCalls(await handler(request) as AIMessage, names),
    wrapToolCall: (request, handler) => {
      const { args, id, name } = request.toolCall
      const tool = byName.get(name)
      if (tool === undefined) return handler(request)
      const text = (args as Readonly<Record<string, unknown>>)[brokenArguments]
      return messageOf(tool, typeof text === "string" ? text : args, {
        id: id ?? globalThis.crypto.randomUUID(),
        signal: request.runtime.signal,
        answer: answerWith(request.state.messages, id)
      })
    }
  }) as AgentMiddleware
}

/**
 * The `configurable` of a tool's config, with the key of Recourse.
 *
 * @category models
 * @since 0.2.0
 */
export interface Configurable {
  /** The key to pass on to the service; `undefined` if the tool declares no `idempotency`. */
  readonly idempotencyKey: string | undefined
}

/** True for a `Command` of LangGraph. */
const isCommand = (result: unknown): boolean =>
  typeof result === "object" && result !== null && "lg_name" in result && result.lg_name === "Command"

/** The content of a result. A tool reports a failure by the status of a message. */
const contentIn = (result: unknown): unknown => {
  if (isCommand(result)) {
    throw new Error("The tool returned a Command, which only a graph of LangGraph can apply: return its content")
  }
  if (!ToolMessage.isInstance(result)) return result
  if (result.status === "error") throw result
  return result.content
}

/**
 * Makes an executor of a tool of LangChain, for the `execute` of `Tool.fromStandardSchema`: the function stays as it is. It
 * receives `idempotencyKey` in `config.configurable`. A returned `ToolMessage` is its content; one with the status
 * `"error"`, and a `Command`, are exceptions. `catchError` makes an error of an exception. Default: the exception is the
 * error.
 *
 * @category constructors
 * @since 0.2.0
 */
export const execute = <Input, Output, E = unknown>(
  tool: { readonly invoke: (input: Input, config?: never) => Promise<Output>; readonly schema?: unknown },
  catchError?: (exception: unknown) => E
): (input: Input) => Effect.Effect<Output, E, ToolCall.ToolCall> =>
(input) =>
  ToolCall.tryPromise<Output, E>(
    async ({ idempotencyKey, signal }) => {
      const configurable: Configurable = { idempotencyKey }
      const sent = ToolSchema.inputOf(tool.schema, input) as Input
      return contentIn(await tool.invoke(sent, { signal, configurable } as never)) as Output
    },
    catchError
  )
