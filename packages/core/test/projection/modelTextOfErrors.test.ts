/** The model's text of an error alone, rule by rule. */

import { assert, describe, it } from "@effect/vitest"
import { ErrorProjection, ToolError } from "@recourse/core"
import { Schema } from "effect"
import { ofCalls } from "../support/callTexts.ts"
import { ofErrors } from "../support/errorTexts.ts"
import { escalated, failures, missing, of, slow, unclear, where } from "../support/toolFailures.ts"

const told = (error: unknown) => ErrorProjection.toolFailure(error, "run-1")

describe("an escalation", () => {
  it("under its error's code keeps the error's instruction", () => {
    const { message_for_model, ...rest } = told(escalated("timeout", slow))
    const { message_for_model: _, ...inner } = told(slow)
    assert.deepStrictEqual(rest, { ...inner, severity: "high" } as never)
    assert.strictEqual(message_for_model, "Ask the desk")
  })

  it("under another code keeps repeatability, and no instruction", () => {
    const { instruction, safe_to_retry } = told(escalated("desk", slow))
    assert.deepStrictEqual([instruction, safe_to_retry], [undefined, told(slow).safe_to_retry])
    assert.strictEqual(told(escalated("desk", unclear)).safe_to_retry, false)
  })

  it("an escalation without an error is not safe to retry", () =>
    assert.strictEqual(told(escalated("desk")).safe_to_retry, false))
})

it.each([null, undefined, 5, "hunter2", {}, []])(
  "what is no error of the library has no code of its own: %j",
  (error) => {
    const { code, message_for_model } = told(error)
    assert.strictEqual(code, "execution_error")
    assert.notInclude(message_for_model, "hunter2")
  }
)

describe("an agent", () => {
  it("that escalated: its reason, and the call must not be repeated", () => {
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

  it("name no path if there is none", () =>
    assert.notProperty(invalid([{ path: [], expected: "an object", problem: "invalid" }]), "field"))
})

describe("texts for model and user", () => {
  const rows = [...ofErrors.map(([error, ...row]) => [told(error), ...row] as const), ...ofCalls]
  for (const [index, [failure, code, model, user, isSafe, more = {}]] of rows.entries()) {
    it(`${index < ofErrors.length ? "of an error" : "of a call"}: ${code}, "${model.slice(0, 40)}"`, () => {
      assert.deepStrictEqual(failure, {
        status: "error",
        code,
        message_for_model: model,
        message_for_user: user,
        safe_to_retry: isSafe,
        trace_id: "run-1",
        ...more
      } as never)
      // The schema of a failure has all its fields.
      assert.deepStrictEqual(Schema.decodeUnknownSync(ErrorProjection.ToolFailure)(failure), failure as never)
    })
  }

  it("texts of an untrusted tool name it in the failure schema", () => {
    const decode = Schema.decodeUnknownExit(ErrorProjection.ToolFailure)
    const failure = { ...of("denied"), untrusted: "page" }
    assert.deepStrictEqual(Schema.decodeUnknownSync(ErrorProjection.ToolFailure)(failure), failure)
    for (
      const change of [{ status: "ok" }, { code: undefined }, { failed: [{ item: 1 }] }, { retry_after_ms: 0.5 }]
    ) {
      assert.strictEqual(decode({ ...failure, ...change })._tag, "Failure")
    }
  })
})

describe("a failure that consists of the library's own texts passes no guard", () => {
  const { isOwn } = failures as unknown as {
    readonly isOwn: (failure: ErrorProjection.ToolFailure, user: (code: string) => string) => boolean
  }
  const user = (code: string) => told(escalated(code)).message_for_user
  const invalid = told(new ToolError.InvalidArgs({ ...where, issues: [missing] }))
  const cases: ReadonlyArray<readonly [what: string, failure: ErrorProjection.ToolFailure, isOwn: boolean]> = [
    ["a fixed sentence", of("denied"), true],
    ["what is made of a schema", invalid, true],
    ["not run", of("notRun", false), true],
    ["not finished", of("notRun", true), true],
    ["a person's reason", of("rejected", "too dear"), false],
    ["another text for the user", { ...of("denied"), message_for_user: "No!" }, false],
    ["another text with issues", { ...invalid, message_for_model: "Hm." }, false],
    ["the sentence of another code", { ...of("denied"), message_for_model: of("waiting").message_for_model }, false],
    ["another text of a call that was not run", { ...of("notRun", true), message_for_model: "Hm." }, false],
    ["a code of a program with a sentence of ours", {
      ...told(escalated("desk")),
      message_for_model: of("notRun", true).message_for_model
    }, false]
  ]
  for (const [what, failure, expected] of cases) {
    it(`${what}: ${expected}`, () => assert.strictEqual(isOwn(failure, user), expected))
  }
})
