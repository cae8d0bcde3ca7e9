/** Fields of `RunAgentInput` and of its messages, in the form of AG-UI 1.0 and 0.0.59 clients. */
import { type Fields, inert, isEmpty, refused, used } from "./fields.ts"

const ofPage = "It is the page's own"

const isDataAddress = (value: unknown): boolean => typeof value === "string" && value.startsWith("data:")

/** A part of a user's message. `binary` is the form of 0.0.59. */
const agUiPartFields: Fields = {
  type: used,
  text: used,
  source: {
    use: "used",
    fields: { type: used, value: used, mimeType: used, provider: inert("The server fetches no files") }
  },
  mimeType: used,
  data: used,
  url: refused("Send files as data: the server fetches no files for a page", isDataAddress),
  filename: used,
  id: inert(ofPage),
  metadata: inert(ofPage)
}

/**
 * The message that the server reads: the last one, or the results of client tools behind it.
 *
 * @category schemas
 * @since 0.2.0
 */
export const agUiMessageFields: Fields = {
  id: used,
  role: used,
  content: { use: "used", items: agUiPartFields },
  toolCallId: used,
  error: used,
  name: inert("The principal of the request is the user"),
  encryptedValue: inert(ofPage),
  metadata: inert(ofPage),
  subagentRunId: inert(ofPage)
}

/**
 * The request of `POST /agents/:agent/ag-ui`.
 *
 * @category schemas
 * @since 0.2.0
 */
export const agUiFields: Fields = {
  threadId: used,
  runId: used,
  protocolVersion: used,
  messages: used,
  resume: {
    use: "used",
    items: { interruptId: used, status: used, payload: used, metadata: inert(ofPage) }
  },
  parentRunId: inert("A run continues at the end of its thread"),
  tools: {
    use: "used",
    items: { name: used, description: used, parameters: used, metadata: inert(ofPage) }
  },
  context: { use: "used", items: { description: used, value: used } },
  state: refused("The server was given no `onPageInput`", isEmpty),
  forwardedProps: refused("The server was given no `onPageInput`", isEmpty)
}

/** The request to a server with `onPageInput`. */
export const agUiFieldsWithInput: Fields = { ...agUiFields, state: used, forwardedProps: used }
