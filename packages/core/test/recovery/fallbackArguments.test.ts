/** Inputs of a fallback: the error, and the real arguments. */
import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Data, Effect, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"
import { lastResults } from "../support/kit.ts"

const { call, calls, text } = ScriptedModel

class Down extends Data.TaggedError("Down")<{ readonly id: string }> {}

const parameters = Schema.Struct({ id: Schema.String, since: Schema.DateTimeUtcFromString })

const told = Effect.gen(function*() {
  const { lastRequest } = yield* ScriptedModel.ScriptedModel
  return lastResults((yield* lastRequest).prompt).map(({ result }) => result)
})

describe("a fallback", () => {
  it.effect("is made of the error, each time that it answers", () =>
    Effect.gen(function*() {
      const Find = Tool.make("find", {
        parameters: Schema.Struct({ id: Schema.String }),
        success: Schema.String,
        effects: "read",
        execute: ({ id }) => Effect.fail(new Down({ id }))
      }).pipe(Tool.onError((call) =>
        call.pipe(
          Recovery.fallback("ExecutionError", ({ attempt, reason }) => Effect.succeed(`${reason.id} ${attempt}`)),
          Recovery.escalate("InvalidArgs")
        )
      ))
      yield* Agent.make("a", { tools: [Find] }).run("x")
      assert.deepStrictEqual(yield* told, ["A 1", "B 1"])
    }).pipe(Effect.provide(ScriptedModel.layer([
      calls([{ name: "find", params: { id: "A" } }, { name: "find", params: { id: "B" } }]),
      text("ok")
    ]))))

  it.effect("gets the decoded arguments: a fixer's if used, each call its own", () =>
    Effect.gen(function*() {
      const fixer = Agent.fromFunction(
        "fixer",
        ({ arguments: args }: Recovery.FixRequest<unknown>) =>
          Effect.succeed(JSON.stringify({ ...JSON.parse(args), since: "2026-01-02T00:00:00Z" }))
      )
      const Find = Tool.make("find", {
        parameters,
        success: Schema.String,
        effects: "read",
        execute: ({ id }) => Effect.fail(new Down({ id }))
      }).pipe(Tool.onError((call, params) =>
        call.pipe(
          Recovery.fix("InvalidArgs", fixer),
          Recovery.fallback(
            "ExecutionError",
            Effect.map(params, ({ id, since }) => `${id} ${since.epochMilliseconds}`)
          ),
          Recovery.escalate("InvalidArgs")
        )
      ))
      yield* Agent.make("a", { tools: [Find] }).run("x")
      const at = (day: string) => Date.parse(`2026-01-0${day}T00:00:00Z`)
      assert.deepStrictEqual(yield* told, [`A ${at("1")}`, `B ${at("2")}`])
    }).pipe(Effect.provide(ScriptedModel.layer([
      calls([
        { name: "find", params: { id: "A", since: "2026-01-01T00:00:00Z" } },
        { name: "find", params: { id: "B", since: "tomorrow" } }
      ]),
      text("ok")
    ]))))

  it.effect("of two parameters gets them decoded, if the tool is known", () =>
    Effect.gen(function*() {
      const Find = Tool.make("find", {
        parameters,
        success: Schema.String,
        effects: "read",
        execute: ({ id }) => Effect.fail(new Down({ id }))
      })
      const answer = <E, R>(
        by: string,
        params: Effect.Effect<typeof parameters.Type, E, R>
      ): Effect.Effect<string, E, R> => Effect.map(params, ({ id, since }) => `${by} ${id} ${since.epochMilliseconds}`)
      const agents = [
        Find.pipe(
          Tool.onError(Recovery.fallback("ExecutionError", ({ reason }, params) => answer(reason._tag, params)))
        ),
        Find.pipe(Tool.onError(Recovery.catchReason("Down", (reason, params) => answer(reason._tag, params)))),
        Find.pipe(Tool.onError(Recovery.catchReasons({ Down: (reason, params) => answer(reason._tag, params) })))
      ].map((tool) => Agent.make("a", { tools: [tool] })).concat([
        Agent.make("a", {
          tools: [Find],
          onToolError: {
            find: Recovery.fallback("ExecutionError", ({ reason }, params) => answer(reason._tag, params))
          }
        }),
        Agent.make("a", {
          tools: [Find],
          onToolError: { find: Recovery.catchReason("Down", (reason, params) => answer(reason._tag, params)) }
        }),
        Agent.make("a", {
          tools: [Find],
          onToolError: { find: Recovery.catchReasons({ Down: (reason, params) => answer(reason._tag, params) }) }
        }),
        Agent.make("a", {
          tools: [Find],
          onToolError: { find: (call, params) => Effect.catchTag(call, "ExecutionError", () => answer("Down", params)) }
        })
      ])
      for (const agent of agents) {
        const results = yield* Effect.andThen(agent.run("x"), told).pipe(
          Effect.provide(ScriptedModel.layer([call("find", { id: "A", since: "2026-01-01T00:00:00Z" }), text("ok")]))
        )
        assert.deepStrictEqual(results, [`Down A ${Date.parse("2026-01-01T00:00:00Z")}`])
      }
    }))

  it.effect("gets a failure if no arguments fit", () =>
    Effect.gen(function*() {
      const Find = Tool.make("find", {
        parameters,
        success: Schema.String,
        effects: "read",
        execute: () => Effect.succeed("never")
      }).pipe(Tool.onError((call, params) =>
        call.pipe(
          Recovery.fallback("InvalidArgs", () => Effect.map(params, ({ id }) => id)),
          Effect.catchTag(
            "InvalidArgs",
            ({ issues }) => Effect.succeed(issues.map(({ path }) => path.join(".")).join())
          )
        )
      ))
      yield* Agent.make("a", { tools: [Find] }).run("x")
      assert.deepStrictEqual(yield* told, ["since"])
    }).pipe(Effect.provide(ScriptedModel.layer([call("find", { id: "A", since: "never" }), text("ok")]))))

  it.effect("that throws is a defect, like any function of a program", () =>
    Effect.gen(function*() {
      const Find = Tool.make("find", { effects: "read", execute: () => Effect.fail(new Down({ id: "x" })) }).pipe(
        Tool.onError(Recovery.fallback("ExecutionError", (): Effect.Effect<void> => {
          throw new Error("bug")
        }))
      )
      const exit = yield* Effect.exit(Agent.make("a", { tools: [Find] }).run("x"))
      assert.include(String(exit), "bug")
    }).pipe(Effect.provide(ScriptedModel.layer([call("find", {}), text("ok")]))))
})
