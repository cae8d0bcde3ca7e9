/**
 * Quirks: how a server departs from OpenAI's chat completions. Data only. `Presets` holds the quirks of each server;
 * options override them.
 */

import * as TextCall from "@recourse/core/TextCall"

/**
 * An answer by which a server says that it takes no native tools. Every field given must match; `null` means that the answer must not have it.
 * `code`, `type` and `param` are the error object's. Rules without a code or a parameter are for servers that explain themselves in prose alone: then
 * the same request is tried once more with inline tools, and only if that succeeds is it remembered.
 *
 * @category models
 * @since 0.2.0
 */
export interface ToolRefusal {
  readonly status: number
  readonly code?: string | null
  readonly type?: string | null
  readonly param?: string | null
}

/**
 * Departures of one server from OpenAI's chat completions.
 *
 * @category models
 * @since 0.2.0
 */
export interface Quirks {
  /** `native`: the `tools` field. `inline`: tools are described in the prompt and called in the text. */
  readonly tools: "native" | "inline"
  /** Answers on which native tools are given up for inline ones. */
  readonly toolRefusals: ReadonlyArray<ToolRefusal>
  /** The server's spelling of "call some tool": `auto` if it has none. */
  readonly requiredToolChoice: "required" | "any" | "auto"
  /** True if `parallel_tool_calls` may be sent. */
  readonly parallelToolCalls: boolean
  /** Mistral takes only ids of nine letters and digits. */
  readonly toolCallId: "any" | "nine-alphanumerics"
  /**
   * Form of a past call whose arguments were not JSON. `raw`: the model's text. `wrapped`: `{"invalid_json": "…"}`,
   * because many servers parse the arguments of past calls and refuse the request if they cannot.
   */
  readonly invalidArguments: "raw" | "wrapped"
  /** `json_schema`, else `json_object` with the schema in the prompt, else the prompt alone. */
  readonly structuredOutput: "json_schema" | "json_object" | "prompt"
  /**
   * Meaning of an unknown `finish_reason` of a whole answer: `stop` if the server has words of its own for the usual
   * end.
   */
  readonly unknownFinishReason: "other" | "stop"
  readonly systemRole: "system" | "developer"
  readonly maxTokensField: "max_tokens" | "max_completion_tokens"
  /** True if `stream_options: { include_usage: true }` may be sent. */
  readonly streamUsage: boolean
  /**
   * The field in which the reasoning of past turns with tool calls is returned. `received`: the field in which this server sent it;
   * reasoning of other servers is not sent. `reasoning_content`: DeepSeek and Moonshot refuse calls without it, so a blank replaces
   * missing reasoning.
   */
  readonly reasoningHistory: "received" | "omit" | "reasoning_content" | "reasoning"
  /**
   * True if the text of an answer starts with thoughts: the chat template of the model (DeepSeek-R1, for example) has written `<think>`,
   * and the server leaves them in the text. A whole answer is recognised by its `</think>` in any case; a stream is not, because its first
   * texts have been emitted by then.
   */
  readonly startsWithReasoning: boolean
  /**
   * Fields of messages that the server sends and does not take back. All other fields that the protocol does not know are state of the
   * server, such as signatures of thoughts: they are returned to it unchanged, and to no other server.
   */
  readonly unreturnedFields: ReadonlyArray<string>
  /**
   * Spellings of calls that a server leaves in the text. Such a text is no answer if tools are offered: the request
   * fails with a retryable `InvalidOutputError`. Default: `TextCall.spellings` of the core; `[]` for texts with any
   * content.
   */
  readonly textCalls: ReadonlyArray<RegExp>
  /**
   * The role that may follow results of tools. `assistant`: Mistral's servers and templates refuse a user message there, so a short
   * message of the assistant has to be between them.
   */
  readonly roleAfterTool: "any" | "assistant"
  /**
   * Form of schemas of tools and answers. `subset`: without references, `const`, numbers in an `enum` and other keywords that
   * OpenAPI 3.0 does not have. Arguments are checked by the whole schema in any case.
   */
  readonly schemas: "json-schema" | "subset"
  /** The most tools of a request that the server takes; more fail before the request with `InvalidRequestError`. Default: no limit. */
  readonly maxTools: number
  /**
   * Form of files in results of tools. `user`: in a user message behind the tool messages, because a tool message
   * contains only text. `omit`: a note instead, for models without vision.
   */
  readonly toolFiles: "user" | "omit"
}

/**
 * Defaults of an unknown server.
 *
 * @category constants
 * @since 0.2.0
 */
export const defaults: Quirks = {
  tools: "native",
  toolRefusals: [
    { status: 400, param: "tools", code: "unsupported_parameter" },
    { status: 400, param: "tools", code: "unsupported_value" },
    { status: 400, param: "tools", code: null },
    { status: 400, param: "tool_choice", code: "unsupported_parameter" },
    { status: 422, param: "tools", code: null },
    { status: 501, param: "tools" },
    { status: 400, code: "tools_not_supported" },
    { status: 400, code: "tool_use_not_supported" },
    { status: 404, code: "tools_not_supported" },
    { status: 501, code: "tools_not_supported" }
  ],
  requiredToolChoice: "required",
  parallelToolCalls: true,
  toolCallId: "any",
  invalidArguments: "wrapped",
  structuredOutput: "json_schema",
  unknownFinishReason: "other",
  systemRole: "system",
  maxTokensField: "max_tokens",
  streamUsage: true,
  reasoningHistory: "received",
  startsWithReasoning: false,
  unreturnedFields: ["audio", "executed_tools", "citations", "search_results", "context"],
  textCalls: TextCall.spellings,
  roleAfterTool: "any",
  schemas: "json-schema",
  maxTools: Number.POSITIVE_INFINITY,
  toolFiles: "user"
}
