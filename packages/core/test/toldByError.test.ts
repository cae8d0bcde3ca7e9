/** What the model is told by an error alone, rule by rule. */
import { assert, describe, it } from "@effect/vitest"
import { ErrorProjection, ToolError } from "@recourse/core"
import { Duration } from "effect"

const where = { tool: "pay", callId: "c1", attempt: 1, causes: [] } as const
const told = (error: unknown) => ErrorProjection.toolFailure(error, "run-1")
const unclear = new ToolError.OutcomeUnknown({ ...where, after: Duration.seconds(1) })
const slow = new ToolError.Timeout({ ...where, after: Duration.seconds(1) })
const escalated = (code: string, error?: unknown) =>
  new ToolError.Escalation({
    ...where,
    code,
    reason: "Ask the desk",
    severity: "high",
    ...error === undefined ? {} : { error }
  })

describe("an escalation", () => {
  it("under the code of its error keeps what the error says to do", () => {
    const { message_for_model, ...rest } = told(escalated("timeout", slow))
    const { message_for_model: _, ...inner } = told(slow)
    assert.deepStrictEqual(rest, { ...inner, severity: "high" } as never)
    assert.strictEqual(message_for_model, "Ask the desk")
  })

  it("under another code keeps whether the call may be made again, and no instruction", () => {
    const { instruction, safe_to_retry } = told(escalated("desk", slow))
    assert.deepStrictEqual([instruction, safe_to_retry], [undefined, told(slow).safe_to_retry])
    assert.strictEqual(told(escalated("desk", unclear)).safe_to_retry, false)
  })

  it("without an error is not to be made again", () => assert.strictEqual(told(escalated("desk")).safe_to_retry, false))
})

describe("an agent", () => {
  it("that escalated: its reason, and the call is not to be made again", () => {
    const { code, message_for_model, safe_to_retry } = told(
      new ToolError.Escalated({ agent: "judge", reason: "A person decides", severity: "high" })
    )
    assert.deepStrictEqual([code, message_for_model, safe_to_retry], ["escalated", "A person decides", false])
  })

  it("that threw an exception: that the run ends, and not why", () => {
    const failure = told(new ToolError.AgentException({ agent: "judge", reason: "hunter2" }))
    assert.deepStrictEqual([failure.code, failure.message_for_model], ["exception", "The run ends."])
    assert.notInclude(JSON.stringify(failure), "hunter2")
  })
})

describe("arguments that do not fit", () => {
  const invalid = (issues: ReadonlyArray<ToolError.Issue>) =>
    told(new ToolError.InvalidArgs({ ...where, issues } as never))

  it("name the first place that has a path, and may be corrected", () => {
    const { field, safe_to_retry } = invalid([
      { path: [], expected: "an object", problem: "invalid" },
      { path: ["order", 0], expected: "text", problem: "invalid" }
    ])
    assert.deepStrictEqual([field, safe_to_retry], ["order.0", true])
  })

  it("name no place where there is none", () =>
    assert.notProperty(invalid([{ path: [], expected: "an object", problem: "invalid" }]), "field"))
})
