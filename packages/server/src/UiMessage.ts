/**
 * UI messages of the AI SDK: a page's state after the chunks of a UI message stream, for servers that store or reload
 * messages.
 */
import type { UiMessageChunk } from "./UiMessageChunk.ts"

/**
 * A part of a message, in the form of `UIMessage` of the package `ai`.
 *
 * @category models
 * @since 0.2.0
 */
export type UiPart = { readonly type: string; readonly [field: string]: unknown }

/**
 * A message of a thread, in the form of `UIMessage` of the package `ai`.
 *
 * @category models
 * @since 0.2.0
 */
export interface UiMessage {
  readonly id: string
  readonly role: "user" | "assistant"
  readonly metadata?: unknown
  readonly parts: ReadonlyArray<UiPart>
}

type Draft = { type: string } & Record<string, unknown>

/**
 * The assistant's message after the chunks. A text that is not ended stays `"streaming"`.
 *
 * @category converting
 * @since 0.2.0
 */
// oxlint-disable-next-line max-lines-per-function -- one reducer, with a case for each part
export const assemble = (messageId: string, chunks: Iterable<UiMessageChunk>): UiMessage => {
  let parts: Array<Draft> = []
  let stepStart = 0
  let metadata: Record<string, unknown> | undefined
  const open = new Map<string, Draft>()
  const calls = new Map<string, Draft>()
  const written = new Map<string, string>()
  const data = new Map<string, Draft>()
  const add = (part: Draft): Draft => {
    parts.push(part)
    return part
  }
  const call = (toolCallId: string, toolName: string): Draft => {
    const known = calls.get(toolCallId)
    if (known !== undefined) return known
    const part = add({ type: "dynamic-tool", toolName, toolCallId })
    calls.set(toolCallId, part)
    return part
  }
  for (const chunk of chunks) {
    switch (chunk.type) {
      case "start":
      case "finish":
      case "message-metadata":
        metadata = Object.assign(metadata ?? {}, chunk.messageMetadata)
        break
      case "start-step":
        stepStart = parts.length
        add({ type: "step-start" })
        break
      case "reset-step":
        // The step's shown parts are removed, its start stays.
        parts = parts.slice(0, stepStart + 1)
        for (const [id, part] of calls) if (!parts.includes(part)) calls.delete(id)
        open.clear()
        break
      case "text-start":
      case "reasoning-start":
        open.set(
          chunk.id,
          add({ type: chunk.type === "text-start" ? "text" : "reasoning", text: "", state: "streaming" })
        )
        break
      case "text-delta":
      case "reasoning-delta": {
        const part = open.get(chunk.id)
        if (part !== undefined) part["text"] = `${String(part["text"])}${chunk.delta}`
        break
      }
      case "text-end":
      case "reasoning-end": {
        const part = open.get(chunk.id)
        if (part !== undefined) part["state"] = "done"
        open.delete(chunk.id)
        break
      }
      case "tool-input-start":
        Object.assign(call(chunk.toolCallId, chunk.toolName), { state: "input-streaming", input: undefined })
        written.set(chunk.toolCallId, "")
        break
      case "tool-input-delta":
        written.set(chunk.toolCallId, (written.get(chunk.toolCallId) ?? "") + chunk.inputTextDelta)
        break
      case "tool-input-available":
        delete calls.get(chunk.toolCallId)?.["output"]
        delete calls.get(chunk.toolCallId)?.["preliminary"]
        Object.assign(call(chunk.toolCallId, chunk.toolName), {
          state: "input-available",
          input: chunk.input,
          ...(chunk.providerExecuted === undefined ? undefined : { providerExecuted: true })
        })
        break
      case "tool-input-error":
        Object.assign(call(chunk.toolCallId, chunk.toolName), {
          state: "output-error",
          input: chunk.input,
          errorText: chunk.errorText
        })
        break
      case "tool-approval-request": {
        const { approvalDescriptor: descriptor, approvalId: id, reason } = chunk
        const part = calls.get(chunk.toolCallId)
        if (part === undefined) break
        part["state"] = "approval-requested"
        part["approval"] = { id, descriptor, ...(reason === undefined ? undefined : { requestReason: reason }) }
        break
      }
      case "tool-approval-response": {
        const part = [...calls.values()].find(({ approval }) =>
          typeof approval === "object" && approval !== null && "id" in approval && approval.id === chunk.approvalId
        )
        if (part === undefined) break
        part["state"] = "approval-responded"
        part["approval"] = { ...part["approval"] as object, approved: chunk.approved }
        break
      }
      case "tool-output-available":
      case "tool-output-error": {
        const part = calls.get(chunk.toolCallId)
        if (part === undefined) break
        const isError = chunk.type === "tool-output-error"
        part["state"] = isError ? "output-error" : "output-available"
        delete part["output"]
        delete part["preliminary"]
        if (isError) part["errorText"] = chunk.errorText
        else part["output"] = chunk.output
        if (!isError && chunk.preliminary === true) part["preliminary"] = true
        break
      }
      case "tool-output-denied": {
        const part = calls.get(chunk.toolCallId)
        if (part !== undefined) part["state"] = "output-denied"
        break
      }
      case "source-url":
      case "source-document":
      case "file":
        add({ ...chunk })
        break
      case "data-recovery":
      case "data-approval":
      case "data-outcome":
      case "data-agent":
      case "data-budget":
      case "data-skill":
      case "data-joined":
      case "data-output": {
        const key = `${chunk.type}/${chunk.id}`
        const known = data.get(key)
        if (known !== undefined && parts.includes(known)) known["data"] = chunk.data
        else data.set(key, add({ type: chunk.type, id: chunk.id, data: chunk.data }))
        break
      }
      default:
        break
    }
  }
  return { id: messageId, role: "assistant", ...(metadata === undefined ? undefined : { metadata }), parts }
}
