/** Tools that answer with pictures. */

import { Effect } from "effect"
import type { Tool } from "@recourse/core"
import { Agent, Recovery, Redaction } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"

/** A model with its recorded requests. */
export const recorded = (turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.sync(() => {
    const requests: Array<ScriptedModel.Request> = []
    const layer = ScriptedModel.layer((request) => {
      requests.push(request)
      return turns[requests.length - 1]!
    })
    return { layer, requests }
  })

export const hides = (secret: string) =>
  Redaction.layer({ results: true, text: (text) => text.replaceAll(secret, "[hidden]") })

export const agentWith = <T extends Tool.Any>(tool: T) =>
  Agent.make("viewer", { tools: [tool], defaults: { onError: Recovery.standard }, onTainted: "deny" })
