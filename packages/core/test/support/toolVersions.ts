/** Two versions of an agent's tools. */

import { assert } from "@effect/vitest"
import type { Approval } from "@recourse/core"
import { Tool } from "@recourse/core"
import { Effect, Schema } from "effect"
import * as Shops from "../fixtures/pausedShops.ts"

/** A tool of an agent as data, so that a change of it can be drawn. */
export interface Spec {
  readonly name: string
  readonly description: string
  readonly schema: "amount" | "amount and note"
  readonly effects: "read" | "write"
  readonly trust: "trusted" | "untrusted"
}

export const spec = (name: string, effects: Spec["effects"] = "read"): Spec => ({
  name,
  description: `Does ${name}`,
  schema: "amount",
  effects,
  trust: "trusted"
})

export const schemas = {
  amount: Schema.Struct({ amount: Schema.Int }),
  "amount and note": Schema.Struct({ amount: Schema.Int, note: Schema.optionalKey(Schema.String) })
}

export const needing = new Set(["pay", "book", "inner", "refund"])

export type Log = Array<string>

export const plainTool = (log: Log, { description, effects, name, schema, trust }: Spec): Tool.Any =>
  Tool.make(name, {
    description,
    parameters: schemas[schema],
    success: Schema.String,
    effects,
    trust,
    ...(needing.has(name) ? { needsApproval: true } : undefined),
    execute: () =>
      Effect.sync(() => {
        if (effects === "write" || needing.has(name)) log.push(name)
        return name
      })
  } as never)

export const systemOf = (
  request: { readonly prompt: { readonly content: ReadonlyArray<{ readonly content: unknown }> } }
) => String(request.prompt.content[0]?.content)

export const pausedOf = (outcome: Approval.Outcome<unknown>): Approval.Paused => {
  assert(outcome._tag === "Paused")
  return outcome
}

/** A round trip through JSON, like in a database. */
export const stored = (snapshot: unknown): unknown => JSON.parse(JSON.stringify(snapshot))

export const shops = {
  clerk: (...tools: Parameters<typeof Shops.clerk>) => Shops.clerk(...tools) as unknown as Shops.Waits,
  desk: (...tools: Parameters<typeof Shops.desk>) => Shops.desk(...tools) as unknown as Shops.Waits,
  office: (...tools: Parameters<typeof Shops.office>) => Shops.office(...tools) as unknown as Shops.Waits
}
