/** The fingerprint of an agent's tools, which a snapshot is bound to. */
import type * as Tool from "./tool.ts"

/** What a snapshot's fingerprint is made of: whatever an approval of a call relies on. */
export const describeTools = (tools: ReadonlyArray<Tool.Any>): unknown =>
  tools.map(({ effects, info, name, trust }) => ({
    name,
    effects,
    trust,
    description: info.description,
    parameters: info.jsonSchema()
  }))
