/** Quarantine gate in a toolkit of `effect/ai`: its `needsApproval` asks whether a call needs an approval. */
import type * as AiTool from "effect/ai/Tool"
import * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import { type OnTainted, policy, taintedBy } from "../../../Quarantine.ts"
import type { Any } from "../tool.ts"
import { resultOrEffect } from "../../foundation/options/hookResult.ts"
import { aBoolean } from "../../foundation/options/optionCheck.ts"

/** Context of a call in `effect/ai`. */
interface CallContext {
  readonly toolCallId: string
  readonly messages: ReadonlyArray<Prompt.Message>
}

type Asked = boolean | Effect.Effect<boolean, never, never>

/** Names of calls that a provider executed, unless a tool of that name is trusted. */
export const executedElsewhere = (
  parts: ReadonlyArray<Response.AnyPart | Prompt.Part>,
  isTrusted: (name: string) => boolean
): ReadonlyArray<string> => {
  const names: Array<string> = []
  for (const part of parts) {
    if (part.type !== "tool-result" || part.providerExecuted !== true) continue
    if (!isTrusted(part.name)) names.push(part.name)
  }
  return names
}

/** Returns the calls that a provider executed in a conversation, like {@link executedElsewhere}. */
export const executedElsewhereIn = (
  { content }: Prompt.Prompt,
  isTrusted: (name: string) => boolean
): ReadonlyArray<string> =>
  content.flatMap((message) => message.role === "system" ? [] : executedElsewhere(message.content, isTrusted))

/** The gate of one toolkit. */
export interface ToolkitGate {
  /** The definition of a tool, which requests an approval if the conversation is tainted. */
  readonly definition: (tool: Any) => AiTool.Any
  /** Returns whether a call was denied; true once. */
  readonly denies: (callId: string) => boolean
}

/**
 * Makes the gate of a toolkit. The messages before a call decide about it, so that the decision outlives each request.
 */
export const toolkitGate = (
  onTainted: OnTainted,
  isTrusted: (name: string) => boolean,
  /** The tools whose descriptions are from outside: the model reads them with its first request. */
  foreign: ReadonlyArray<string>
): ToolkitGate => {
  const rule = policy(onTainted)
  const denied = new Set<string>()
  const verdict = (tool: Any, params: unknown, { messages, toolCallId }: CallContext) => {
    const prompt = Prompt.fromMessages(messages)
    return rule.decide({
      runId: toolCallId,
      path: [],
      tool: tool.name,
      callId: toolCallId,
      effects: tool.effects,
      arguments: params,
      taintedBy: [...foreign, ...taintedBy(prompt), ...executedElsewhereIn(prompt, isTrusted)],
      calls: []
    })
  }
  return {
    definition: (tool) => {
      const { definition } = tool
      if (tool.effects === "read") return definition
      const { needsApproval } = definition
      return definition.setNeedsApproval(
        ((params: never, context: CallContext) =>
          Effect.flatMap(verdict(tool, params, context), (said): Effect.Effect<boolean> => {
            if (said._tag === "RequireApproval") return Effect.succeed(true)
            if (said._tag === "Deny") {
              denied.add(context.toolCallId)
              return Effect.succeed(false)
            }
            const hook = { subject: `Tool "${tool.name}"`, name: "needsApproval", kind: aBoolean }
            return resultOrEffect(
              hook,
              () =>
                (typeof needsApproval === "function" ? needsApproval(params, context) : needsApproval ?? false) as Asked
            )
          })) as never
      )
    },
    denies: (callId) => denied.delete(callId)
  }
}
