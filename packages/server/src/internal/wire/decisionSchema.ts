/** JSON Schema of an answer to an interrupt: the four decisions of `Approval`, without the call that they are about. */
export const decisionSchema = {
  type: "object",
  oneOf: [
    { properties: { decision: { const: "approve" } }, required: ["decision"] },
    { properties: { decision: { const: "reject" }, reason: { type: "string" } }, required: ["decision"] },
    { properties: { decision: { const: "edit" }, arguments: { type: "object" } }, required: ["decision", "arguments"] },
    { properties: { decision: { const: "respond" }, result: {} }, required: ["decision", "result"] }
  ]
} as const
