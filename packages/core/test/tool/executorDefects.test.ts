/** Defects of executors: under each preset, of each kind of tool, and those that are not of an executor. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Schema } from "effect"
import { Agent, Audit, IdempotencyLedger, Recovery, Tool, ToolCall, ToolError, ToolInterceptor } from "@recourse/core"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { collect, lastResults } from "../support/kit.ts"

const secret = "postgres://root:hunter2@db"
const boom = () => new Error(secret)

/** Ends of an executor that its type does not contain. */
const endings = {
  throw: (): Effect.Effect<string> => {
    throw boom()
  },
  rejection: (): Effect.Effect<string> => Effect.promise(() => Promise.reject(boom())),
  promise: (() => Promise.reject(boom())) as unknown as () => Effect.Effect<string>,
  interruption: (): Effect.Effect<string> => Effect.interrupt,
  misfit: (): Effect.Effect<string> => Effect.succeed(7 as unknown as string)
}
type Ending = keyof typeof endings

const presets = { standard: Recovery.standard, keepGoing: Recovery.keepGoing, chatSafe: Recovery.chatSafe }
type Preset = keyof typeof presets
type Kind = Tool.Effects | "undeclared"

const observed = (preset: Preset, ending: Ending, kind: Kind) =>
  Effect.gen(function*() {
    const audit: Array<Audit.Decision> = []
    const { events, layer } = collect()
    let runs = 0
    const tool = Tool.make("find", {
      success: Schema.String,
      ...(kind === "undeclared" ? undefined : { effects: kind }),
      execute: () => {
        runs++
        return endings[ending]()
      }
    })
    const agent = Agent.make("a", {
      tools: [tool as unknown as Tool.Tool<"find", typeof Schema.String, typeof Schema.String, never, never>],
      defaults: { onError: presets[preset] }
    })
    return yield* Effect.gen(function*() {
      const exit = yield* Effect.exit(agent.run("go"))
      const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      const told = lastResults(prompt)[0]?.result as { readonly code: string; readonly message_for_model: string }
      assert.notInclude(JSON.stringify([prompt, events]), "hunter2")
      return {
        runs,
        audit,
        ends: Exit.isSuccess(exit) ? told.code : "ends",
        says: told?.message_for_model,
        cause: Exit.isSuccess(exit) ? undefined : exit.cause
      }
    }).pipe(Effect.provide([
      Audit.layer((record) => Effect.sync(() => void audit.push(record.decision))),
      layer,
      ScriptedModel.layer([ScriptedModel.call("find", {}), ScriptedModel.text("done")])
    ]))
  })

/** The model's next text, or "ends", by ending and preset: for a read and an undeclared tool, and for a write. */
const rows: Record<Ending, Record<Preset, readonly [read: string, write: string]>> = {
  throw: {
    standard: ["ends", "ends"],
    keepGoing: ["ends", "ends"],
    chatSafe: ["execution_error", "outcome_unknown"]
  },
  rejection: {
    standard: ["ends", "ends"],
    keepGoing: ["ends", "ends"],
    chatSafe: ["execution_error", "outcome_unknown"]
  },
  promise: {
    standard: ["ends", "ends"],
    keepGoing: ["ends", "ends"],
    chatSafe: ["execution_error", "outcome_unknown"]
  },
  interruption: { standard: ["ends", "ends"], keepGoing: ["ends", "ends"], chatSafe: ["ends", "ends"] },
  misfit: {
    standard: ["ends", "ends"],
    keepGoing: ["ends", "ends"],
    chatSafe: ["invalid_result", "invalid_result"]
  }
}

const page = readFileSync(join(import.meta.dirname, "../../../../docs/presets.md"), "utf8")
const documented = new Map(
  page.split("\n").filter((line) => line.startsWith("| ")).map((line) => {
    const [row = "", ...cells] = line.slice(1, -1).split("|").map((cell) => cell.trim())
    return [row, cells] as const
  })
)

/** The row of the guide for each ending. */
const rowOf: Record<Exclude<Ending, "promise">, string> = {
  throw: "a throw or a rejected promise in `execute`",
  rejection: "a throw or a rejected promise in `execute`",
  interruption: "an interruption within `execute`",
  misfit: "a result that does not fit"
}

/** A cell of the guide for the outcomes of a read and a write. */
const cellOf = ([read, write]: readonly [string, string], isDefect: boolean): string => {
  const audit = isDefect ? ", audit" : ""
  return read === "ends"
    ? `ends${audit}`
    : `model${audit}${write === "outcome_unknown" ? "; of a write: outcome unknown" : ""}`
}

describe("executor defects", () => {
  for (const [ending, row] of Object.entries(rowOf) as ReadonlyArray<[keyof typeof rowOf, string]>) {
    it(`docs/presets.md has the row of ${ending}`, () => {
      const isDefect = ending === "throw" || ending === "rejection"
      const { chatSafe, keepGoing, standard } = rows[ending]
      assert.deepStrictEqual(
        documented.get(row)?.slice(0, 3),
        [standard, keepGoing, chatSafe].map((cell) => cellOf(cell, isDefect))
      )
    })
  }

  for (const ending of Object.keys(rows) as ReadonlyArray<Ending>) {
    for (const preset of Object.keys(presets) as ReadonlyArray<Preset>) {
      for (const kind of ["read", "undeclared", "idempotent", "write"] as const) {
        it.effect(`${preset} handles a ${ending} of a tool with effects ${kind}`, () =>
          Effect.gen(function*() {
            const seen = yield* observed(preset, ending, kind)
            assert.strictEqual(seen.runs, 1)
            assert.strictEqual(seen.ends, rows[ending][preset][kind === "write" ? 1 : 0])
            const isDefect = ending !== "interruption" && ending !== "misfit"
            assert.strictEqual(seen.audit.filter((decision) => decision === "defect").length, isDefect ? 1 : 0)
            if (seen.ends === "execution_error") assert.strictEqual(seen.says, "Tool execution failed.")
            if (seen.ends === "outcome_unknown") assert.include(seen.audit, "outcome_unknown")
            if (isDefect && seen.cause !== undefined) {
              const text = Cause.pretty(seen.cause)
              assert.match(text, /tool "find" \(call call_1, attempt 1\)/)
              assert.notInclude(text, "hunter2")
            }
          }))
      }
    }
  }

  const Lookup = Tool.make("lookup", { success: Schema.String, effects: "read", execute: endings.throw })
  const ends = <A, E>(effect: Effect.Effect<A, E, never>) =>
    Effect.map(Effect.exit(effect), (exit) => Exit.isSuccess(exit) ? "answers" : Cause.pretty(exit.cause))
  const script = (tool: string) => ScriptedModel.layer([ScriptedModel.call(tool, {}), ScriptedModel.text("done")])

  it.effect("names the inner tool on a defect of a nested call", () =>
    Effect.gen(function*() {
      const Outer = Tool.make("outer", {
        success: Schema.String,
        effects: "read",
        execute: () => Effect.orDie(Lookup.call)
      })
      const agent = Agent.make("a", { tools: [Outer], defaults: { onError: Recovery.standard } })
      const text = yield* ends(agent.run("go").pipe(Effect.provide(script("outer"))))
      assert.include(text, "tool \"lookup\"")
      assert.notInclude(text, "tool \"outer\"")
      const safe = Agent.make("a", { tools: [Outer], defaults: { onError: Recovery.chatSafe } })
      assert.strictEqual(yield* ends(safe.run("go").pipe(Effect.provide(script("outer")))), "answers")
    }))

  it.effect("ends a chat with a defect of an interceptor", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { tools: [Lookup], defaults: { onError: Recovery.chatSafe } })
      const text = yield* ends(
        agent.run("go").pipe(
          Effect.provideService(ToolInterceptor.ToolInterceptor, () => Effect.die(new Error("interceptor"))),
          Effect.provide(script("lookup"))
        )
      )
      assert.include(text, "interceptor")
      assert.notInclude(text, "The executor of")
    }))

  it.effect("ends a chat with a defect of a ledger within an executor", () =>
    Effect.gen(function*() {
      const Pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        idempotency: true,
        execute: () => Effect.succeed("ok")
      })
      const Outer = Tool.make("outer", {
        success: Schema.String,
        effects: "write",
        execute: () => Effect.orDie(Pay.call)
      })
      const agent = Agent.make("a", { tools: [Outer], defaults: { onError: Recovery.chatSafe } })
      const broken = Layer.succeed(
        IdempotencyLedger.IdempotencyLedger,
        new Proxy({} as never, {
          get: () => () => Effect.die(new Error("ledger"))
        })
      )
      const text = yield* ends(agent.run("go").pipe(Effect.provide([broken, script("outer")])))
      assert.include(text, "ledger")
      assert.notInclude(text, "The executor of")
    }))

  it.effect("ends a chat with a defect of a recovery", () =>
    Effect.gen(function*() {
      const Down = Tool.make("down", {
        success: Schema.String,
        effects: "read",
        execute: () => Effect.fail("down" as const)
      })
        .pipe(Tool.onError((call) => Effect.catchTag(call, "ExecutionError", () => Effect.die(new Error("recovery")))))
      const agent = Agent.make("a", { tools: [Down], defaults: { onError: Recovery.chatSafe } })
      assert.include(yield* ends(agent.run("go").pipe(Effect.provide(script("down")))), "recovery")
    }))

  it.effect("keeps the executor's own error on the defect", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(
        Effect.provideService(Lookup.call, ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} }))
      )
      const defect = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isDieReason)?.defect : undefined
      assert.instanceOf(defect, ToolError.ExecutorDefect)
      assert.strictEqual(((defect as ToolError.ExecutorDefect).reason as Error).message, secret)
    }))

  it.effect("says in a promise's place which tool has to wrap it", () =>
    Effect.gen(function*() {
      const { cause } = yield* observed("standard", "promise", "read")
      assert.include(Cause.pretty(cause!), "Tool \"find\": execute returned a promise. It has to return an Effect")
    }))
})
