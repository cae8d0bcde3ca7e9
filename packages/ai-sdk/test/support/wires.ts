import { createAnthropic } from "@ai-sdk/anthropic"
import { createAnthropic as createAnthropicV3 } from "@ai-sdk/anthropic-v3"
import { createGoogle } from "@ai-sdk/google"
import { createGoogleGenerativeAI as createGoogleV3 } from "@ai-sdk/google-v3"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAI as createOpenAIV3 } from "@ai-sdk/openai-v3"
import type { AiSdk } from "@recourse/ai-sdk"

/** The key of every test client: it must never show up in an error message. */
export const apiKey = "sk-test-very-secret"

const event = (data: unknown, name?: string) =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

/** A provider's form of its answers, as needed by the tests. */
export interface Wire {
  readonly name: "chat" | "responses" | "anthropic" | "google"
  /** The frames of a streamed answer: some text, then one tool call, then its end mark. */
  readonly begin: ReadonlyArray<string>
  readonly call: (args: string) => ReadonlyArray<string>
  readonly finish: ReadonlyArray<string>
  /** The same answer without streaming. */
  readonly whole: (args: string) => unknown
  readonly error: (code: string) => unknown
  /** An error event inside a stream that started with status 200, and its reason. */
  readonly errorEvent: { readonly frame: string; readonly tag: string }
  readonly quotaCode: string | undefined
  readonly authCode: string
}

const responsesItem = (args: string) => ({
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "add",
  arguments: args,
  status: "completed"
})
const responsesBody = {
  id: "resp_1",
  object: "response",
  created_at: 1_700_000_000,
  model: "m-1",
  service_tier: null,
  incomplete_details: null,
  usage: {
    input_tokens: 5,
    input_tokens_details: { cached_tokens: 2 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 3 }
  }
}
const responsesText = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  content: [{ type: "output_text", text: "Adding", annotations: [] }]
}

const chatChunk = (delta: unknown, finish_reason: string | null = null) =>
  event({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "m-1",
    choices: [{ index: 0, delta, finish_reason }]
  })

const chat: Wire = {
  name: "chat",
  begin: [chatChunk({ role: "assistant", content: "Add" }), chatChunk({ content: "ing" })],
  call: (args) => [
    chatChunk({
      tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "add", arguments: "" } }]
    }),
    chatChunk({ tool_calls: [{ index: 0, function: { arguments: args } }] })
  ],
  finish: [chatChunk({}, "tool_calls"), event("[DONE]")],
  whole: (args) => ({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "m-1",
    choices: [{
      index: 0,
      finish_reason: "tool_calls",
      message: {
        role: "assistant",
        content: "Adding",
        tool_calls: [{ id: "call_1", type: "function", function: { name: "add", arguments: args } }]
      }
    }],
    usage: {
      prompt_tokens: 5,
      completion_tokens: 7,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 }
    }
  }),
  error: (code) => ({ error: { message: "prose about " + apiKey, type: "some_error", param: null, code } }),
  errorEvent: {
    frame: event({ error: { message: "prose", type: "insufficient_quota", code: "insufficient_quota" } }),
    tag: "QuotaExhaustedError"
  },
  quotaCode: "insufficient_quota",
  authCode: "invalid_api_key"
}

const responses: Wire = {
  name: "responses",
  begin: [
    event({ type: "response.created", sequence_number: 0, response: responsesBody }),
    event({
      type: "response.output_item.added",
      sequence_number: 1,
      output_index: 0,
      item: { ...responsesText, content: [] }
    }),
    event({
      type: "response.output_text.delta",
      sequence_number: 2,
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "Adding",
      logprobs: []
    }),
    event({ type: "response.output_item.done", sequence_number: 3, output_index: 0, item: responsesText })
  ],
  call: (args) => [
    event({
      type: "response.output_item.added",
      sequence_number: 4,
      output_index: 1,
      item: { ...responsesItem(""), status: "in_progress" }
    }),
    event({
      type: "response.function_call_arguments.delta",
      sequence_number: 5,
      item_id: "fc_1",
      output_index: 1,
      delta: args
    }),
    event({ type: "response.output_item.done", sequence_number: 6, output_index: 1, item: responsesItem(args) })
  ],
  finish: [event({ type: "response.completed", sequence_number: 7, response: responsesBody })],
  whole: (args) => ({ ...responsesBody, output: [responsesText, responsesItem(args)] }),
  error: chat.error,
  errorEvent: {
    frame: event({ type: "error", sequence_number: 4, code: "server_error", message: "prose", param: null }),
    tag: "InternalProviderError"
  },
  quotaCode: "insufficient_quota",
  authCode: "invalid_api_key"
}

const anthropicEvent = (data: { readonly type: string; readonly [key: string]: unknown }) => event(data, data.type)

const anthropic: Wire = {
  name: "anthropic",
  begin: [
    anthropicEvent({
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m-1",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 1 }
      }
    }),
    anthropicEvent({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    anthropicEvent({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Adding" } }),
    anthropicEvent({ type: "content_block_stop", index: 0 })
  ],
  call: (args) => [
    anthropicEvent({
      type: "content_block_start",
      index: 1,
      content_block: { type: "tool_use", id: "call_1", name: "add", input: {} }
    }),
    anthropicEvent({
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json: args }
    }),
    anthropicEvent({ type: "content_block_stop", index: 1 })
  ],
  finish: [
    anthropicEvent({
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 7 }
    }),
    anthropicEvent({ type: "message_stop" })
  ],
  whole: (args) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m-1",
    content: [{ type: "text", text: "Adding" }, {
      type: "tool_use",
      id: "call_1",
      name: "add",
      input: JSON.parse(args)
    }],
    stop_reason: "tool_use",
    stop_sequence: null,
    usage: { input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 7 }
  }),
  error: (code) => ({ type: "error", error: { type: code, message: "prose about " + apiKey } }),
  errorEvent: {
    frame: anthropicEvent({ type: "error", error: { type: "overloaded_error", message: "prose" } }),
    tag: "InternalProviderError"
  },
  quotaCode: "billing_error",
  authCode: "authentication_error"
}

const googleChunk = (parts: ReadonlyArray<unknown>, finishReason?: string) =>
  event({
    responseId: "resp_1",
    modelVersion: "m-1",
    candidates: [{
      index: 0,
      content: { role: "model", parts },
      ...(finishReason === undefined ? undefined : { finishReason })
    }],
    usageMetadata: {
      promptTokenCount: 5,
      cachedContentTokenCount: 2,
      candidatesTokenCount: 4,
      thoughtsTokenCount: 3,
      totalTokenCount: 12
    }
  })

const google: Wire = {
  name: "google",
  begin: [googleChunk([{ text: "Add" }]), googleChunk([{ text: "ing" }])],
  call: (args) => [googleChunk([{ functionCall: { id: "call_1", name: "add", args: JSON.parse(args) } }])],
  finish: [googleChunk([], "STOP")],
  whole: (args) =>
    JSON.parse(
      googleChunk([{ text: "Adding" }, { functionCall: { id: "call_1", name: "add", args: JSON.parse(args) } }], "STOP")
        .slice("data: ".length)
    ),
  error: (code) => ({
    error: {
      code: 400,
      message: "prose about " + apiKey,
      status: "INVALID_ARGUMENT",
      details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: code }]
    }
  }),
  errorEvent: {
    frame: event({ error: { code: 429, message: "prose", status: "RESOURCE_EXHAUSTED" } }),
    tag: "RateLimitError"
  },
  quotaCode: undefined,
  authCode: "API_KEY_INVALID"
}

export interface Provider {
  readonly name: string
  readonly wire: Wire
  readonly model: (url: string, fetch?: typeof globalThis.fetch) => AiSdk.Model
}

const withFetch = (fetch: typeof globalThis.fetch | undefined) => fetch === undefined ? {} : { fetch }

/** The real provider packages, of both generations. */
export const providers: ReadonlyArray<Provider> = [
  {
    name: "openai.chat (V4)",
    wire: chat,
    model: (url, fetch) => createOpenAI({ baseURL: `${url}/v1`, apiKey, ...withFetch(fetch) }).chat("gpt-4o")
  },
  {
    name: "openai.responses (V4)",
    wire: responses,
    model: (url, fetch) => createOpenAI({ baseURL: `${url}/v1`, apiKey, ...withFetch(fetch) }).responses("gpt-4o")
  },
  {
    name: "anthropic (V4)",
    wire: anthropic,
    model: (url, fetch) => createAnthropic({ baseURL: `${url}/v1`, apiKey, ...withFetch(fetch) })("claude-sonnet-4-5")
  },
  {
    name: "google (V4)",
    wire: google,
    model: (url, fetch) => createGoogle({ baseURL: `${url}/v1beta`, apiKey, ...withFetch(fetch) })("gemini-2.5-flash")
  },
  {
    name: "openai.chat (V3)",
    wire: chat,
    model: (url, fetch) => createOpenAIV3({ baseURL: `${url}/v1`, apiKey, ...withFetch(fetch) }).chat("gpt-4o")
  },
  {
    name: "openai.responses (V3)",
    wire: responses,
    model: (url, fetch) => createOpenAIV3({ baseURL: `${url}/v1`, apiKey, ...withFetch(fetch) }).responses("gpt-4o")
  },
  {
    name: "anthropic (V3)",
    wire: anthropic,
    model: (url, fetch) => createAnthropicV3({ baseURL: `${url}/v1`, apiKey, ...withFetch(fetch) })("claude-sonnet-4-5")
  },
  {
    name: "google (V3)",
    wire: google,
    model: (url, fetch) => createGoogleV3({ baseURL: `${url}/v1beta`, apiKey, ...withFetch(fetch) })("gemini-2.5-flash")
  }
]
