/** The arguments of a person or a fixer: at any end of the call, the audit and the history name the real ones. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Option, Redacted, Schema } from "effect"
import { Agent, Approval, Audit, History, Policy, Recovery, RunRecord, Tool } from "@recourse/core"
import { createHash } from "node:crypto"

const Args = Schema.Struct({ amount: Schema.Number })

type Clerk = Agent.Agent<string, string, unknown, never> & Agent.Resumable<string, string, unknown, never, never>

type Execute = (amount: number) => Effect.Effect<number, string>

const shown = 500
const edited = 90

/** A clerk that pays: unapproved calls wait, and a fixer answers the edited amount for arguments that do not fit. */
const clerk = (execute: Execute, options: object = {}, needsApproval = true): Clerk =>
  Agent.make("clerk", {
    tools: [
      Tool.make("pay", {
        parameters: Args,
        success: Schema.Number,
        effects: "write",
        needsApproval,
        execute: ({ amount }) => execute(amount)
      }).pipe(
        Tool.onError(
          Recovery.fix(
            "InvalidArgs",
            Agent.fromFunction("fixer", () => Effect.succeed(JSON.stringify({ amount: edited })))
          )
        )
      )
    ],
    defaults: { onError: Recovery.standard },
    ...options
  } as never) as never as Clerk

const hashOf = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("hex")

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

/** Runs here have the same ids as those of other tests. */
const resumptions = Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) })

/** Outcome of a run, its audit with the amount, and its call in the history. */
const played = (run: Effect.Effect<Approval.Outcome<string>, unknown>, identity: number, params: object) =>
  Effect.gen(function*() {
    const audit: Array<readonly [string, number | undefined]> = []
    const amounts = new Map([shown, edited].map((amount) => [hashOf({ amount }), amount]))
    let requests: ReadonlyArray<ScriptedModel.Request> = []
    const { exit } = yield* VirtualTime.run(
      Effect.flatMap(
        ScriptedModel.ScriptedModel,
        (script) => Effect.onExit(run, () => Effect.map(script.requests, (all) => requests = all))
      ).pipe(
        Effect.provide(Layer.mergeAll(
          key,
          resumptions,
          ScriptedModel.layer(({ prompt }) =>
            prompt.content.at(-1)?.role === "tool"
              ? ScriptedModel.text("done")
              : ScriptedModel.call("pay", params, { id: "c" })
          ),
          Audit.layer(({ argumentsHash, decision }) =>
            Effect.sync(() => void audit.push([decision, amounts.get(argumentsHash)]))
          )
        ))
      ),
      { identity }
    )
    const record = Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined
    const history = record?.transcript ?? requests.at(-1)?.prompt
    const claims = history === undefined ? [] : History.claims(history).map(({ params, state }) => [state, params])
    return { audit, claims, exit }
  })

const paused = ({ exit }: { readonly exit: Exit.Exit<Approval.Outcome<string>, unknown> }): Approval.Paused => {
  if (Exit.isSuccess(exit) && exit.value instanceof Approval.Paused) return exit.value
  throw new Error(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "not paused")
}

let runs = 0

/** A waiting call that resumes with its decision. */
const decided = (make: () => Clerk, params: object, decide: (call: Approval.PendingCall) => Approval.Decision) =>
  Effect.gen(function*() {
    const pause = paused(yield* played(make().start("go"), ++runs, params))
    const snapshot = JSON.parse(JSON.stringify(pause.snapshot))
    return yield* played(make().resume(snapshot, pause.pending.map(decide)), ++runs, params)
  })

const edit = (call: Approval.PendingCall) => Approval.edit(call, { amount: edited }, { by: "ada" })

const closed = {
  policies: [
    Policy.make(
      "closed",
      ({ arguments: args }) => (args as typeof Args.Type).amount === edited ? Policy.deny("closed") : Policy.allow
    )
  ]
}

describe("edited by a person", () => {
  const ends: Readonly<Record<string, readonly [Execute, object, string, string]>> = {
    "and done": [Effect.succeed, {}, "done", ""],
    "and denied by a policy": [Effect.succeed, closed, "denied", "denied"],
    "and lost, which is told the model": [() => Effect.fail("lost"), {}, "unknown", "outcome_unknown"],
    "and lost, which ends the run": [() => Effect.fail("lost"), { defaults: {} }, "unknown", "outcome_unknown"],
    "and cut off": [() => Effect.never, { budget: { duration: "1 second" } }, "unknown", "outcome_unknown"],
    "and dead": [() => Effect.die("bug"), {}, "unknown", "outcome_unknown"]
  }
  for (const [name, [execute, options, state, decision]] of Object.entries(ends)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { audit, claims } = yield* decided(() => clerk(execute, options), { amount: shown }, edit)
        assert.deepStrictEqual(claims, [[state, { amount: edited }]])
        assert.deepStrictEqual(audit, [
          ["edited", edited],
          ...(name === "and dead" ? [["defect", edited] as const] : []),
          ...(decision === "" ? [] : [[decision, edited] as const])
        ])
      }))
  }
})

describe("given by a fixer", () => {
  it.effect("and denied by a policy", () =>
    Effect.gen(function*() {
      const { audit, claims } = yield* played(
        clerk(Effect.succeed, closed, false).start("go"),
        ++runs,
        { amount: "much" }
      )
      assert.deepStrictEqual(claims, [["denied", { amount: edited }]])
      assert.deepStrictEqual(audit, [["denied", edited]])
    }))

  const decisions: Readonly<Record<string, readonly [(call: Approval.PendingCall) => Approval.Decision, string]>> = {
    approved: [(call) => Approval.approve(call), "done"],
    rejected: [(call) => Approval.reject(call, "no"), "denied"],
    responded: [(call) => Approval.respond(call, 3), "done"]
  }
  for (const [decision, [decide, state]] of Object.entries(decisions)) {
    it.effect(`and ${decision} by a person, who was shown them`, () =>
      Effect.gen(function*() {
        const { audit, claims } = yield* decided(() => clerk(Effect.succeed), { amount: "much" }, decide)
        assert.deepStrictEqual(claims, [[state, { amount: edited }]])
        assert.deepStrictEqual(audit, [[decision, edited]])
      }))
  }
})
