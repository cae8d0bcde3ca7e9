/**
 * Option names of other libraries, each with the name that Recourse has for it. Users of the AI SDK, LangChain and OpenAI's SDKs type
 * them. The compiler and the run-time check read the same table.
 */

const budgetTurns = "budget: { turns: 8 }"
const listener = "AgentEvent.listen"
const ofModel = "the option of the model's layer"

/** For `Agent.make`. */
export const otherAgentNames = {
  system: "instructions",
  systemPrompt: "instructions",
  system_prompt: "instructions",
  systemMessage: "instructions",
  system_message: "instructions",
  instruction: "instructions",
  developer: "instructions",
  preamble: "instructions",
  messages: "input: Prompt.Prompt with prompt",
  maxSteps: budgetTurns,
  maxTurns: budgetTurns,
  max_turns: budgetTurns,
  maxIterations: budgetTurns,
  max_iterations: budgetTurns,
  recursionLimit: budgetTurns,
  recursion_limit: budgetTurns,
  stopWhen: budgetTurns,
  maxRetries: "onModelError: () => ModelError.retry({ times: 2 })",
  max_retries: "onModelError: () => ModelError.retry({ times: 2 })",
  onError: "defaults: { onError: Recovery.standard }",
  onFinish: listener,
  onStepFinish: listener,
  onChunk: listener,
  callbacks: listener,
  hooks: listener,
  model: "a model's layer with Effect.provide",
  llm: "a model's layer with Effect.provide",
  provider: "a model's layer with Effect.provide",
  temperature: ofModel,
  topP: ofModel,
  top_p: ofModel,
  maxTokens: ofModel,
  max_tokens: ofModel,
  maxOutputTokens: ofModel,
  seed: ofModel,
  modelSettings: ofModel,
  model_settings: ofModel,
  providerOptions: ofModel,
  deps: "Effect.provide",
  depsType: "Effect.provide",
  deps_type: "Effect.provide",
  context: "Effect.provide",
  contextSchema: "Effect.provide",
  mcpServers: "tools: yield* Mcp.tools({ ... })",
  mcp_servers: "tools: yield* Mcp.tools({ ... })",
  agents: "Agent.asTool",
  schema: "output",
  outputSchema: "output",
  output_schema: "output",
  outputType: "output",
  output_type: "output",
  responseFormat: "output",
  response_format: "output",
  structuredOutput: "output",
  timeout: "budget: { duration: \"1 minute\" }",
  maxDuration: "budget: { duration: \"1 minute\" }",
  abortSignal: "an interruption of the run",
  signal: "an interruption of the run",
  toolChoice: "prepareTurn",
  tool_choice: "prepareTurn",
  activeTools: "prepareTurn",
  prepareStep: "prepareTurn",
  functions: "tools",
  toolSearch: "maxTools",
  tool_search: "maxTools",
  handoffs: "Agent.handoff",
  subagents: "Agent.asTool",
  middleware: "policies",
  inputGuardrails: "guardInput",
  input_guardrails: "guardInput",
  outputGuardrails: "guardOutput",
  output_guardrails: "guardOutput",
  memory: "Conversation",
  checkpointer: "Conversation",
  description: "the description of Agent.asTool",
  name: "the first argument of Agent.make",
  maxParallelCalls: "concurrency",
  parallelToolCalls: "concurrency",
  parallel_tool_calls: "concurrency"
} as const

const interruption = "Effect.runPromise(program, { signal })"
const ofAgent = "budget: { turns: 8 } of Agent.make"

/** For `agent.run`, and the other ways to run an agent. */
export const otherRunNames = {
  abortSignal: interruption,
  signal: interruption,
  maxTurns: ofAgent,
  maxSteps: ofAgent,
  stopWhen: ofAgent,
  context: "Effect.provide",
  stream: "agent.stream",
  memory: "Conversation.send",
  threadId: "Conversation.send",
  thread: "Conversation.send"
} as const

/** For `Tool.make`. */
export const otherToolNames = {
  parameter: "parameters",
  params: "parameters",
  args: "parameters",
  input: "parameters",
  inputSchema: "parameters",
  input_schema: "parameters",
  argsSchema: "parameters",
  args_schema: "parameters",
  schema: "parameters",
  output: "success",
  outputSchema: "success",
  output_schema: "success",
  returns: "success",
  result: "success",
  func: "execute",
  function: "execute",
  fn: "execute",
  handler: "execute",
  run: "execute",
  call: "execute",
  invoke: "execute",
  implementation: "execute",
  callback: "execute",
  needs_approval: "needsApproval",
  requireApproval: "needsApproval",
  requiresApproval: "needsApproval",
  error: "failure",
  errorSchema: "failure",
  failureErrorFunction: "Tool.onError",
  handleToolError: "Tool.onError",
  onError: "Tool.onError",
  retry: "Tool.onError(Recovery.retry({ times: 2 }))",
  retries: "Tool.onError(Recovery.retry({ times: 2 }))",
  maxRetries: "Tool.onError(Recovery.retry({ times: 2 }))",
  max_retries: "Tool.onError(Recovery.retry({ times: 2 }))",
  timeoutMs: "timeout: \"10 seconds\"",
  readOnly: "effects: \"read\"",
  readOnlyHint: "effects: \"read\"",
  destructive: "effects: \"write\"",
  destructiveHint: "effects: \"write\"",
  idempotent: "effects: \"idempotent\"",
  idempotentHint: "effects: \"idempotent\"",
  strict: "onUnknownKeys: \"refuse\"",
  undo: "compensate",
  rollback: "compensate",
  experimental_toToolResultContent: "toModelOutput",
  name: "the first argument of Tool.make",
  id: "the first argument of Tool.make",
  title: "description"
} as const

/**
 * Names that options have in other libraries: the compiler suggests the ones of this library. The tables can change in each version.
 *
 * @category utility types
 * @since 0.2.0
 */
export interface OtherNames {
  /** @internal Of `Agent.make`. */
  readonly agent: typeof otherAgentNames
  /** @internal Of `Tool.make` and `Tool.fromJsonSchema`. */
  readonly tool: typeof otherToolNames
  /** @internal Of `Tool.fromStandardSchema`: its schema decides about unknown keys. */
  readonly standardTool: typeof otherToolNames & {
    readonly onUnknownKeys: "a strict schema, such as z.strictObject"
  }
}
