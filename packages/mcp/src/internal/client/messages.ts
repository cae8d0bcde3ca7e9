/** JSON-RPC messages as servers write them: single or in batches, between lines and fields that are not JSON-RPC. */
import * as JsonText from "@recourse/core/JsonText"
import * as McpSchema from "effect/ai/McpSchema"
import * as Predicate from "effect/Predicate"

/** Returns a value's own property, whatever the value is. */
export const own = (value: unknown, key: string): unknown =>
  Predicate.isObject(value) && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined

const isId = (value: unknown): value is string | number =>
  typeof value === "string" || (typeof value === "number" && Number.isFinite(value))

/** The id of a response: many servers write the number of a request as text. The program's own texts are no numbers. */
const answeredId = (value: unknown): unknown =>
  typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value

const paramsOf = (value: unknown) => Predicate.isReadonlyObject(value) ? { params: value } : {}

/** The fields of a response that does not name its version. JSON with other fields is noise, such as a line of a log. */
const ofResponse = new Set(["id", "result", "error"])

const isMessage = (value: unknown): boolean => {
  const version = own(value, "jsonrpc")
  return version === "2.0" ||
    (version === undefined && Predicate.isObject(value) && Object.keys(value).every((key) => ofResponse.has(key)))
}

const codeOf = (value: unknown): unknown =>
  typeof value === "string" && /^-\d{1,15}$/.test(value) ? Number(value) : value

/** The error of a response, in the form of JSON-RPC if it is any text or any object. */
const errorOf = (value: unknown): NonNullable<McpSchema.JsonRpcResponse["error"]> | undefined => {
  if (typeof value !== "string" && !Predicate.isObject(value)) return undefined
  const [code, message, data] = [codeOf(own(value, "code")), own(value, "message"), own(value, "data")]
  return {
    code: Number.isInteger(code) ? code as number : McpSchema.INTERNAL_ERROR_CODE,
    message: typeof value === "string" ? value : typeof message === "string" ? message : "",
    ...(data === undefined ? {} : { data })
  }
}

/**
 * Returns the message without unknown fields, or `undefined` if the value is no JSON-RPC message. `request` is the id of a response without
 * one, in the body that answers that request alone.
 */
const messageOf = (value: unknown, request: string | number | undefined): McpSchema.JsonRpcMessage | undefined => {
  if (!isMessage(value)) return undefined
  const jsonrpc = "2.0" as const
  const [id, method, result] = [own(value, "id"), own(value, "method"), own(value, "result")]
  if (typeof method === "string") {
    const params = paramsOf(own(value, "params"))
    return isId(id) ? { jsonrpc, id, method, ...params } : { jsonrpc, method, ...params }
  }
  const answered = answeredId(id ?? request)
  const error = errorOf(own(value, "error"))
  const isCoded = Number.isInteger(own(own(value, "error"), "code"))
  if (error !== undefined && (isCoded || (isId(answered) && (result ?? undefined) === undefined))) {
    return { jsonrpc, id: isId(answered) ? answered : null, error }
  }
  return isId(answered) && Object.hasOwn(value as object, "result") ? { jsonrpc, id: answered, result } : undefined
}

/** The answer to a request of a server: the client has no capabilities, so it answers pings, and refuses all else. */
export const replyTo = ({ id, method }: McpSchema.JsonRpcRequest): McpSchema.JsonRpcResponse =>
  method === "ping"
    ? { jsonrpc: "2.0", id, result: {} }
    : { jsonrpc: "2.0", id, error: { code: -32_601, message: `Unsupported MCP method: ${method}` } }

/** Returns whether a message is a request of the server. */
export const isRequest = (message: McpSchema.JsonRpcMessage): message is McpSchema.JsonRpcRequest =>
  "method" in message && "id" in message

/** Returns whether a message is a notification. */
export const isNotification = (message: McpSchema.JsonRpcMessage): message is McpSchema.JsonRpcNotification =>
  "method" in message && !("id" in message)

/** Only texts with such a run of digits have a whole number that parsing changes. */
const suspicious = /\d{16}/

const structured = ["result", "structuredContent"] as const

/** Parses JSON. In the structured content of a result, a whole number that loses digits is a string with all of them. */
const parse = (text: string): unknown => {
  const value: unknown = JSON.parse(text)
  if (!suspicious.test(text)) return value
  const messages: ReadonlyArray<readonly [unknown, ReadonlyArray<string | number>]> = Array.isArray(value)
    ? value.map((message, index) => [message, [index, ...structured]] as const)
    : [[value, structured]]
  for (const [message, path] of messages) {
    const result = own(message, "result")
    if (own(result, "structuredContent") === undefined) continue
    Object.assign(result as object, { structuredContent: JsonText.exactAt(text, path) })
  }
  return value
}

const parsed = (text: string, request?: string | number): ReadonlyArray<McpSchema.JsonRpcMessage> | undefined => {
  let value: unknown
  try {
    value = parse(text)
  } catch {
    return undefined
  }
  const messages = (Array.isArray(value) ? value : [value]).map((one) => messageOf(one, request))
  return messages.length > 0 && messages.every(Predicate.isNotUndefined) ? messages : undefined
}

/** The messages from a start to the end of a text, one behind the other: servers omit the end of line between two. */
const sequenceAt = (text: string, start: number): ReadonlyArray<McpSchema.JsonRpcMessage> | undefined => {
  const found: Array<McpSchema.JsonRpcMessage> = []
  for (let at = start; at < text.length;) {
    const end = text[at] === "{" ? JsonText.objectEnd(text, at) : undefined
    const messages = end === undefined ? undefined : parsed(text.slice(at, end))
    if (end === undefined || messages === undefined) return undefined
    found.push(...messages)
    at = end + text.slice(end).search(/\S|$/)
  }
  return found
}

/** Number of tried starts of an object in one line of noise. */
const maxTries = 8

/**
 * Returns the messages of a text: of a batch, all. Messages behind text that is not JSON, such as a progress bar
 * without an end of line, or behind each other are found. Returns `undefined` for noise. `request`: the id of the request that the text answers.
 */
export const messagesIn = (
  text: string,
  request?: string | number
): ReadonlyArray<McpSchema.JsonRpcMessage> | undefined => {
  const whole = parsed(text, request)
  if (whole !== undefined || !text.trimEnd().endsWith("}")) return whole
  let start = -1
  for (let tries = 0; tries < maxTries; tries++) {
    start = text.indexOf("{", start + 1)
    if (start < 0) return undefined
    const found = sequenceAt(text, start)
    if (found !== undefined) return found
  }
  return undefined
}
