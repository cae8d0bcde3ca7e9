/** Parts of a UI message: the state after the chunks of a stream. */
import type { UiMessageChunk } from "../../../UiMessageChunk.ts"

type Draft = { type: string } & Record<string, unknown>

type Of<Type extends UiMessageChunk["type"]> = Extract<UiMessageChunk, { readonly type: Type }>

type DataChunk = Extract<UiMessageChunk, { readonly type: `data-${string}`; readonly id: string }>

/** The parts and the metadata of one message. */
export class MessageParts {
  list: Array<Draft> = []
  metadata: Record<string, unknown> | undefined
  private stepStart = 0
  /** Texts and reasonings that have not ended, by id. */
  private readonly open = new Map<string, Draft>()
  private readonly calls = new Map<string, Draft>()
  private readonly data = new Map<string, Draft>()

  /** Applies the next chunk. */
  apply(chunk: UiMessageChunk): void {
    switch (chunk.type) {
      case "start":
      case "finish":
      case "message-metadata":
        this.metadata = Object.assign(this.metadata ?? {}, chunk.messageMetadata)
        return
      case "start-step":
        this.stepStart = this.list.length
        this.add({ type: "step-start" })
        return
      case "reset-step":
        return this.resetStep()
      case "text-start":
        return this.startText("text", chunk.id)
      case "reasoning-start":
        return this.startText("reasoning", chunk.id)
      case "text-delta":
      case "reasoning-delta":
        return this.extendText(chunk.id, chunk.delta)
      case "text-end":
      case "reasoning-end":
        return this.endText(chunk.id)
      case "source-url":
      case "source-document":
      case "file":
        this.add({ ...chunk })
        return
      case "data-recovery":
      case "data-approval":
      case "data-outcome":
      case "data-agent":
      case "data-budget":
      case "data-skill":
      case "data-joined":
      case "data-output":
        return this.setData(chunk)
      default:
        return this.applyToCall(chunk)
    }
  }

  private add(part: Draft): Draft {
    this.list.push(part)
    return part
  }

  /** Removes the shown parts of the step. Its start stays. */
  private resetStep(): void {
    this.list = this.list.slice(0, this.stepStart + 1)
    for (const [id, part] of this.calls) if (!this.list.includes(part)) this.calls.delete(id)
    this.open.clear()
  }

  private startText(type: "text" | "reasoning", id: string): void {
    this.open.set(id, this.add({ type, text: "", state: "streaming" }))
  }

  private extendText(id: string, delta: string): void {
    const part = this.open.get(id)
    if (part !== undefined) part["text"] = `${String(part["text"])}${delta}`
  }

  private endText(id: string): void {
    const part = this.open.get(id)
    if (part !== undefined) part["state"] = "done"
    this.open.delete(id)
  }

  private setData(chunk: DataChunk): void {
    const key = `${chunk.type}/${chunk.id}`
    const known = this.data.get(key)
    if (known !== undefined && this.list.includes(known)) known["data"] = chunk.data
    else this.data.set(key, this.add({ type: chunk.type, id: chunk.id, data: chunk.data }))
  }

  private applyToCall(chunk: UiMessageChunk): void {
    switch (chunk.type) {
      case "tool-input-start":
        Object.assign(this.call(chunk), { state: "input-streaming", input: undefined })
        return
      case "tool-input-available": {
        const part = this.call(chunk)
        removeOutput(part)
        Object.assign(part, {
          state: "input-available",
          input: chunk.input,
          ...(chunk.providerExecuted === undefined ? undefined : { providerExecuted: true })
        })
        return
      }
      case "tool-input-error":
        Object.assign(this.call(chunk), { state: "output-error", input: chunk.input, errorText: chunk.errorText })
        return
      case "tool-approval-request":
        return requestApproval(this.calls.get(chunk.toolCallId), chunk)
      case "tool-approval-response":
        return respondToApproval(this.calls.values(), chunk)
      case "tool-output-available":
      case "tool-output-error":
        return setOutput(this.calls.get(chunk.toolCallId), chunk)
      case "tool-output-denied": {
        const part = this.calls.get(chunk.toolCallId)
        if (part !== undefined) part["state"] = "output-denied"
        return
      }
      default:
    }
  }

  private call({ toolCallId, toolName }: { readonly toolCallId: string; readonly toolName: string }): Draft {
    const known = this.calls.get(toolCallId)
    if (known !== undefined) return known
    const part = this.add({ type: "dynamic-tool", toolName, toolCallId })
    this.calls.set(toolCallId, part)
    return part
  }
}

const removeOutput = (call: Draft): void => {
  delete call["output"]
  delete call["preliminary"]
}

const requestApproval = (
  call: Draft | undefined,
  { approvalDescriptor: descriptor, approvalId: id, reason }: Of<"tool-approval-request">
): void => {
  if (call === undefined) return
  call["state"] = "approval-requested"
  call["approval"] = { id, descriptor, ...(reason === undefined ? undefined : { requestReason: reason }) }
}

const respondToApproval = (
  calls: Iterable<Draft>,
  { approvalId, approved }: Of<"tool-approval-response">
): void => {
  const call = [...calls].find(({ approval }) =>
    typeof approval === "object" && approval !== null && "id" in approval && approval.id === approvalId
  )
  if (call === undefined) return
  call["state"] = "approval-responded"
  call["approval"] = { ...call["approval"] as object, approved }
}

const setOutput = (call: Draft | undefined, chunk: Of<"tool-output-available" | "tool-output-error">): void => {
  if (call === undefined) return
  removeOutput(call)
  if (chunk.type === "tool-output-error") {
    call["state"] = "output-error"
    call["errorText"] = chunk.errorText
    return
  }
  call["state"] = "output-available"
  call["output"] = chunk.output
  if (chunk.preliminary === true) call["preliminary"] = true
}
