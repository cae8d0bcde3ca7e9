import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { ScriptedModel, SideEffects, VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer } from "effect"
import { type Agent, type AgentError, Audit, Catalogue, ErrorProjection, ToolError } from "@recourse/core"
import { ask, desk } from "../src/desk.ts"
import * as Double from "../src/double.ts"
import { program } from "../src/program.ts"
import { BadCredentials, Forbidden } from "../src/tickets.ts"

type Left = Exclude<Agent.Error<typeof desk>, AgentError.AgentError>

const close = (id: string) => ScriptedModel.call("close_ticket", { id })
const get = (id: string) => ScriptedModel.call("get_ticket", { id })
const done = ScriptedModel.text("done")

/** Runs the desk once in virtual time, and returns everything that a rule is about. */
const run = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.gen(function*() {
    const audit: Array<Audit.AuditRecord> = []
    const observed = Effect.gen(function*() {
      const { elapsed, exit } = yield* VirtualTime.run(desk.report("Tidy up"))
      const report = yield* exit
      const script = yield* ScriptedModel.ScriptedModel
      yield* script.assertComplete
      const requests = yield* script.requests
      const message = requests.at(-1)?.prompt.content.at(-1)
      const results = (message?.role === "tool" ? message.content : []).filter((part) => part.type === "tool-result")
      return {
        exit: report.exit,
        elapsed,
        requests: requests.length,
        // The model's results, if it is called again.
        told: results.map(({ isFailure, result }) => isFailure ? result as ErrorProjection.ToolFailure : result),
        transcript: JSON.stringify(report.transcript),
        attempts: report.executed.map(({ tool, outcome }) => [tool, outcome]),
        closed: (yield* (yield* SideEffects.SideEffects).all).map(({ details }) => details),
        said: Exit.isSuccess(report.exit)
          ? report.exit.value
          : (yield* ErrorProjection.forUser(Cause.squash(report.exit.cause), report.runId)).message
      }
    })
    const layer = Double.layer.pipe(
      Layer.provideMerge(SideEffects.layer),
      Layer.merge(ScriptedModel.layer(turns)),
      Layer.merge(Audit.layer((record) => Effect.sync(() => audit.push(record))))
    )
    return {
      ...(yield* Effect.provide(observed, layer)),
      audit: audit.map(({ callId, decision, tool }) => [callId, tool, decision])
    }
  })

/** Asserted part of a failure that the model reads. */
const brief = (told: unknown) => {
  const { code, message_for_model, message_for_user, safe_to_retry } = told as ErrorProjection.ToolFailure
  return [code, message_for_model, message_for_user, safe_to_retry]
}

describe("the error type of the run", () => {
  it("contains exactly the fatal failures", () => {
    expectTypeOf<Left>().toEqualTypeOf<ToolError.ExecutionError<Forbidden | BadCredentials>>()
    // And not less exactly than that.
    expectTypeOf<Left["reason"]>().toEqualTypeOf<Forbidden | BadCredentials>()
  })
})

describe("failures that the model can handle go to the model", () => {
  it.effect("not found: which one", () =>
    Effect.gen(function*() {
      const { attempts, audit, closed, requests, said, told } = yield* run(close("T-9"), done)
      assert.deepStrictEqual(told.map(brief), [
        ["not_found", "There is no ticket T-9.", "I could not find that.", false]
      ])
      assert.deepStrictEqual([requests, said], [2, "done"])
      assert.deepStrictEqual(attempts, [["close_ticket", "failure"]])
      assert.deepStrictEqual([closed, audit], [[], []])
    }))

  it.effect("bad arguments: reports the paths, not the values", () =>
    Effect.gen(function*() {
      const { attempts, audit, closed, said, told, transcript } = yield* run(
        ScriptedModel.calls([{ name: "close_ticket", params: { id: 987654 } }, { name: "get_ticket", params: {} }]),
        done
      )
      assert.deepStrictEqual(told.map(brief), [
        [
          "invalid_arguments",
          "The arguments do not fit: id: expected string",
          "I need more information to do that.",
          true
        ],
        [
          "missing_required_field",
          "The arguments do not fit: id: required",
          "I need more information to do that.",
          true
        ]
      ])
      assert.strictEqual(transcript.split("987654").length, 2, "in the model's own call, and nowhere else")
      assert.deepStrictEqual([said, attempts, closed, audit], ["done", [], [], []])
    }))

  it.effect("a timeout, once the read was tried again", () =>
    Effect.gen(function*() {
      const { attempts, audit, elapsed, said, told } = yield* run(get("T-4"), done)
      assert.deepStrictEqual(told.map(brief), [[
        "timeout",
        "The tool did not answer in time.",
        "The service is temporarily slow. Please try again later.",
        true
      ]])
      assert.deepStrictEqual(attempts, [["get_ticket", "failure"], ["get_ticket", "failure"]])
      assert.strictEqual(elapsed, 2000 + 500 + 2000)
      assert.deepStrictEqual([said, audit], ["done", []])
    }))

  it.effect("a write's timeout is not retried: it may have happened", () =>
    Effect.gen(function*() {
      const { attempts, audit, elapsed, said, told } = yield* run(close("T-4"), done)
      assert.deepStrictEqual(told.map(brief), [[
        "outcome_unknown",
        "No answer came back. The requested action may have happened.",
        "I could not confirm whether this was done. Please check before trying again.",
        false
      ]])
      assert.deepStrictEqual(attempts, [["close_ticket", "unknown"]])
      assert.deepStrictEqual([elapsed, said], [2000, "done"])
      assert.deepStrictEqual(audit, [["call_1", "close_ticket", "outcome_unknown"]])
    }))

  it.effect("an unknown tool: which there are", () =>
    Effect.gen(function*() {
      const { audit, closed, said, told } = yield* run(ScriptedModel.call("delete_ticket", { id: "T-1" }), done)
      const [failure] = told as ReadonlyArray<ErrorProjection.ToolFailure>
      assert.strictEqual(failure?.code, "tool_not_found")
      assert.deepStrictEqual(failure?.available_tools, ["get_ticket", "close_ticket"])
      assert.deepStrictEqual([said, closed, audit], ["done", [], []])
    }))
})

describe("failures that it cannot handle end the run", () => {
  const cases = [
    {
      name: "permission denied",
      id: "T-2",
      reason: Forbidden,
      said: "This is not allowed.",
      decision: "denied",
      secret: "of the board"
    },
    {
      name: "our credentials are refused",
      id: "T-3",
      reason: BadCredentials,
      said: "The service is not available.",
      decision: "authentication",
      secret: "key-4711"
    }
  ] as const

  for (const { decision, id, name, reason, said, secret } of cases) {
    it.effect(`${name}: ends at once with its typed error, without model calls`, () =>
      Effect.gen(function*() {
        const observed = yield* run(close(id))
        const error = Exit.isFailure(observed.exit) ? Cause.squash(observed.exit.cause) : undefined
        assert.instanceOf(error, ToolError.ExecutionError)
        assert.isTrue(error.reason instanceof reason)
        assert.deepStrictEqual([observed.requests, observed.elapsed], [1, 0])
        assert.deepStrictEqual(observed.attempts, [["close_ticket", "failure"]])
        assert.deepStrictEqual(observed.closed, [])
        assert.deepStrictEqual(observed.audit, [["call_1", "close_ticket", decision]])
        assert.strictEqual(observed.said, said)
        assert.notInclude(observed.said + observed.transcript, secret)
      }))

    it.effect(`${name}: ends for any tool, and keeps completed calls`, () =>
      Effect.gen(function*() {
        const observed = yield* run(close("T-1"), get(id))
        assert.isTrue(Exit.isFailure(observed.exit))
        assert.deepStrictEqual(observed.closed, ["T-1"])
        assert.deepStrictEqual(observed.attempts, [["close_ticket", "success"], ["get_ticket", "failure"]])
        assert.deepStrictEqual(observed.audit, [["call_2", "get_ticket", decision]])
      }))
  }
})

describe("the user", () => {
  const asked = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
    ask("Close it").pipe(Effect.provide(
      Layer.merge(Double.layer.pipe(Layer.provideMerge(SideEffects.layer)), ScriptedModel.layer(turns))
    ))

  it.effect("reads the answer, or the error, in the user's language", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* asked(close("T-1"), done), "done")
      assert.strictEqual(
        yield* Effect.provide(asked(close("T-2")), Catalogue.layerLocale("zh-CN")),
        "不允许执行此操作。"
      )
    }))

  it.effect("reads it from the program too", () =>
    Effect.gen(function*() {
      const paragraphs = yield* program
      assert.strictEqual(paragraphs.length, 8)
      assert.include(paragraphs[0], "tickets closed      1")
      for (const paragraph of paragraphs.slice(1)) assert.include(paragraph, "tickets closed      0")
      for (const paragraph of paragraphs.slice(-2)) assert.include(paragraph, "the model is asked no more")
    }))
})
