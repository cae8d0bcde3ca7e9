/** Agents over a pause. */

import { assert } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Redacted } from "effect"
import { Agent, Approval, Recovery } from "@recourse/core"
import { Refund } from "./refundTools.ts"

export const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

const { call, text } = ScriptedModel

export const refund = call("refund", { order: "A", amount: 500 }, { id: "r" })

export const stored = <A>(value: A): A => JSON.parse(JSON.stringify(value))

/** It waits before it pays, in every execution. */
export const model = ScriptedModel.layer(({ prompt }) => prompt.content.at(-1)?.role === "tool" ? text("paid") : refund)

export const clerk = (log: Array<string>, name = "clerk") =>
  Agent.make(name, { tools: [Refund(log)], defaults: { onError: Recovery.standard } })

export const says = (name: string, value: unknown) => Agent.fromFunction(name, (_: string) => Effect.succeed(value))

export const paused = (outcome: Approval.Outcome<unknown>): Approval.Paused => {
  assert.strictEqual(outcome._tag, "Paused")
  return outcome as Approval.Paused
}
