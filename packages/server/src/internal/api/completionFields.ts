/** Fields of a chat completion's request, in the form of OpenAI's clients. */
import { type Fields, inert, isEmpty, isOneOf, refused, used } from "./fields.ts"

/** Why settings of a model have no effect: clients send them by default. */
const ofModel = "The agent's model has settings of its own"

const ofProvider = "It concerns OpenAI's service"

const ofTools = "The agent has tools of its own, and calls of a client's tools have no way back over this protocol"

/** Fields that a request may set, and fields that the agent decides itself. Shared by both of OpenAI's protocols. */
const sharedFields: Fields = {
  model: used,
  stream: used,
  tools: refused(ofTools, isEmpty),
  tool_choice: refused(ofTools, isOneOf("auto", "none")),
  parallel_tool_calls: inert("The agent decides how its tools run"),
  temperature: inert(ofModel),
  top_p: inert(ofModel),
  top_logprobs: refused("The server has no log probabilities", isOneOf(0)),
  metadata: inert("Runs carry no metadata of a client"),
  user: inert("The principal of the request is the user"),
  safety_identifier: inert("The principal of the request is the user"),
  service_tier: inert(ofProvider),
  prompt_cache_key: inert(ofProvider),
  prompt_cache_options: inert(ofProvider),
  prompt_cache_retention: inert(ofProvider),
  moderation: refused("The server moderates by the guardrails of the agent")
}

const isText = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.hasOwn(value, "type") &&
  (value as { readonly type: unknown }).type === "text" && Object.keys(value).length === 1

/** Parts of a message. */
const partFields: Fields = {
  type: used,
  text: used,
  refusal: used,
  image_url: {
    use: "used",
    fields: { url: used, detail: inert(ofModel) }
  },
  file: {
    use: "used",
    fields: {
      file_data: used,
      filename: used,
      file_id: refused("The server keeps no files: send the file as a data: address in `file_data`")
    }
  },
  input_audio: refused("Send sound as `file` with a data: address"),
  prompt_cache_breakpoint: inert(ofProvider),
  cache_control: inert("It concerns the service of a model")
}

const messageFields: Fields = {
  role: used,
  content: { use: "used", items: partFields },
  tool_calls: used,
  tool_call_id: used,
  refusal: used,
  name: inert("Models of agents see one user"),
  annotations: inert("Clients send answers back as they received them"),
  reasoning_content: inert("Models of agents read reasoning of their own only"),
  reasoning: inert("Models of agents read reasoning of their own only"),
  audio: refused("The server keeps no sound of earlier answers"),
  function_call: refused("Send calls as `tool_calls`")
}

/**
 * The request of `POST /v1/chat/completions`.
 *
 * @category schemas
 * @since 0.2.0
 */
export const completionFields: Fields = {
  ...sharedFields,
  messages: { use: "used", items: messageFields },
  stream_options: {
    use: "used",
    fields: {
      include_usage: used,
      include_obfuscation: inert("The server sends no padding")
    }
  },
  max_tokens: used,
  max_completion_tokens: used,
  n: refused("An agent gives one answer", isOneOf(1)),
  stop: refused("An agent's answer ends by itself", isEmpty),
  response_format: refused("The agent declares the form of its answer as `output`", isText),
  logprobs: refused("The server has no log probabilities", isOneOf(false)),
  logit_bias: refused(ofModel, isEmpty),
  modalities: refused("Agents answer by text", (value) => Array.isArray(value) && value.every((one) => one === "text")),
  audio: refused("Agents answer by text"),
  functions: refused(ofTools, isEmpty),
  function_call: refused(ofTools, isOneOf("auto", "none")),
  prediction: refused("Agents take no predicted answer"),
  web_search_options: refused("The agent has tools of its own"),
  store: refused("The server stores no chat completions: use threads", isOneOf(false)),
  frequency_penalty: inert(ofModel),
  presence_penalty: inert(ofModel),
  reasoning_effort: inert(ofModel),
  verbosity: inert(ofModel),
  seed: inert(ofModel)
}
