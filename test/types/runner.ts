/** Runs a program under random faults, in virtual time, with the services that its type asks for and no others. */
import {
  type Agent,
  Approval,
  ConfigurationError,
  IdempotencyLedger,
  Policy,
  RetryBudget,
  ToolError
} from "@recourse/core"
import * as Drive from "@recourse/testing/Drive"
import * as ScriptedModel from "@recourse/testing/ScriptedModel"
import { Cause, Effect, Exit, Layer, Redacted } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { TestClock } from "effect/testing"
import { seeded } from "../../packages/core/test/support/seeded.ts"
import type { Declared } from "./declared.ts"
import { Draw } from "./draw.ts"
import { Alpha, Beta, Gamma, type World } from "./world.ts"

/** Behaviour of a run that its type does not contain. */
export type Finding =
  | { readonly _tag: "Undeclared"; readonly way: "run" | "start" | "resume"; readonly error: string }
  | { readonly _tag: "MissingService"; readonly way: "run" | "start" | "resume"; readonly service: string }
  | { readonly _tag: "Defect"; readonly way: "run" | "start" | "resume"; readonly defect: string }

/** Use of a program, for any of its types. */
type Runnable =
  & Agent.Agent<unknown, unknown, unknown, unknown>
  & Partial<Pick<Agent.Resumable<unknown, unknown, unknown, unknown>, "start" | "resume">>

const fields = { tool: "t", callId: "c", attempt: 1, causes: [] }

/** The name of an error, like in `NamesOf`. */
export const nameOf = (error: unknown): string => {
  if (error === undefined) return "undefined"
  if (typeof error === "string") return "text"
  if (typeof error !== "object" || error === null) return "other"
  if ("label" in error) return String(error.label)
  if (error instanceof ToolError.ExecutionError) return `ExecutionError(${nameOf(error.reason)})`
  if ("_tag" in error) return String(error._tag)
  return error instanceof Error ? "Error" : "other"
}

/** True if a declared error covers an observed one: `Error` covers all its instances. */
const covers = (declared: string, seen: string): boolean => {
  if (declared === seen || declared === "Error" || declared === "any" || declared === "unknown") return true
  const [outer, inner] = [declared, seen].map((name) => /^ExecutionError\((.*)\)$/.exec(name)?.[1])
  return outer !== undefined && inner !== undefined && covers(outer, inner)
}

const missing = /^Service not found: (\S+)/

/** Unreported needs: services that a contained part needed. */
interface Unheard {
  readonly missing: Array<string>
}

const worldOf = (draw: Draw, unheard: Unheard): World => {
  const wide = (): Error =>
    draw.pick([
      () => new Error("wide"),
      () => new ToolError.AgentException({ agent: "a", reason: "r" }),
      () => new ToolError.Escalated({ agent: "a", reason: "r", severity: "low" }),
      () => new ToolError.Escalation({ ...fields, code: "c", reason: "r", severity: "low" }),
      () => new ToolError.NotApproved({ tool: "t", callId: "c" }),
      () => new Approval.SnapshotRefused({ agent: "a", reason: "used" })
    ])()
  const decide = (value: unknown, ...errors: ReadonlyArray<unknown>): Effect.Effect<never, never> =>
    Effect.suspend((): Effect.Effect<unknown, unknown> => {
      const outcome = errors.length > 0 && draw.chance(55) ? Effect.fail(draw.pick(errors)) : Effect.succeed(value)
      return draw.chance(25) ? Effect.andThen(Effect.sleep("5 seconds"), outcome) : outcome
    }) as never
  return {
    flag: () => draw.chance(50),
    name: (name) => name,
    some: (list) => list.filter(() => draw.chance(50)),
    act: (...errors) => Effect.suspend(() => decide(draw.chance(15) ? "" : "a", ...errors)),
    decide,
    wide,
    left: (left) =>
      Effect.sync(() => {
        for (const { reason } of left) {
          const service = missing.exec(reason instanceof Error ? reason.message : "")?.[1]
          if (service !== undefined) unheard.missing.push(service)
        }
      }),
    verdict: () => draw.pick([Policy.allow, Policy.deny("no"), Policy.requireApproval(), Policy.substitute("a")])
  }
}

const argumentsOf = (draw: Draw, tool: string): unknown => {
  if (draw.chance(25)) return draw.pick([{}, "{", { n: "one" }])
  if (tool.endsWith("_status")) return { task_id: "job" }
  return tool === "escalate" || tool === "throwException" ? { reason: "r" } : { n: 1 }
}

const behaviour = (draw: Draw): ScriptedModel.Behaviour => ({ format, tools }) => {
  if (draw.chance(8)) return ScriptedModel.failure(draw.pick(["InternalProviderError", "QuotaExhaustedError"]))
  if (format === "json") return ScriptedModel.object({ skills: draw.pick([["one"], [], ["two"]]) })
  if (tools.length === 0 || draw.chance(25)) return ScriptedModel.text(draw.pick(["a", "{\"n\":1}", ""]))
  const call = () => {
    const name = draw.chance(4) ? "unknown" : draw.pick(tools)
    return { name, params: argumentsOf(draw, name) }
  }
  return ScriptedModel.calls(draw.chance(30) ? [call(), call()] : [call()])
}

const breaker = CircuitBreaker.layer({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "30 seconds" }).pipe(
  Layer.provide(CircuitBreaker.layerStoreMemory())
)

const services: Readonly<Record<string, (draw: Draw) => Layer.Layer<never>>> = {
  [Alpha.key]: () => Layer.succeed(Alpha, { on: true }),
  [Beta.key]: () => Layer.succeed(Beta, { on: true }),
  [Gamma.key]: () => Layer.succeed(Gamma, { on: true }),
  [Approval.SnapshotKey.key]: () => Approval.layerKey(Redacted.make("k".repeat(32))),
  [IdempotencyLedger.IdempotencyLedger.key]: () => IdempotencyLedger.layerMemory,
  [CircuitBreaker.CircuitBreaker.key]: () => breaker,
  "effect/ai/LanguageModel": (draw: Draw) => ScriptedModel.layer(behaviour(draw))
} as never

const provided = (needs: ReadonlyArray<string>, draw: Draw): Layer.Layer<never> =>
  needs.reduce((all: Layer.Layer<never>, key) => {
    const layer = services[key]
    return layer === undefined ? all : Layer.merge(all, layer(draw))
  }, Layer.empty)

const keyOfOthers = Approval.layerKey(Redacted.make("o".repeat(32)))

/** A process that pays for no retry. */
const noRetries = RetryBudget.layer({ share: 0, minPerSecond: 0 })

const decisions = (draw: Draw, pending: ReadonlyArray<Approval.PendingCall>): ReadonlyArray<Approval.Decision> =>
  pending.filter(() => draw.chance(90)).map((call) =>
    draw.pick([
      () => Approval.approve(call),
      () => Approval.edit(call, draw.pick([{ n: 2 }, {}])),
      () => Approval.reject(call, "no"),
      () => Approval.respond(call, draw.pick(["a", "a", ""]))
    ])()
  )

const findingsOf = (
  exit: Exit.Exit<unknown, unknown>,
  way: Finding["way"],
  declared: Declared
): ReadonlyArray<Finding> =>
  Exit.isSuccess(exit) ? [] : exit.cause.reasons.flatMap((reason): ReadonlyArray<Finding> => {
    if (Cause.isFailReason(reason)) {
      const error = nameOf(reason.error)
      return declared[way].some((name) => covers(name, error)) ? [] : [{ _tag: "Undeclared", way, error }]
    }
    if (!Cause.isDieReason(reason) || reason.defect instanceof ConfigurationError.ConfigurationError) return []
    // An executor that lacks a service dies with the tool and call named on its defect.
    const defect = reason.defect instanceof ToolError.ExecutorDefect ? reason.defect.reason : reason.defect
    const text = defect instanceof Error ? defect.message : nameOf(defect)
    const service = missing.exec(text)?.[1]
    return [service === undefined ? { _tag: "Defect", way, defect: text } : { _tag: "MissingService", way, service }]
  })

/** One run of a program, and its findings. The seed decides everything that the program leaves open. */
export const run = (
  program: (world: World) => unknown,
  declared: Declared,
  seed: number
): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.suspend(() => {
    const draw = new Draw(seeded(seed))
    const unheard: Unheard = { missing: [] }
    const budget = draw.chance(20) ? noRetries : Layer.empty
    // A program has keys for other agents: that one is there makes no run wait whose type says that it does not.
    const ambient = seed % 2 === 0 ? keyOfOthers : Layer.empty
    const ended = (
      way: Finding["way"],
      needs: ReadonlyArray<string>,
      effect: Effect.Effect<unknown, unknown, unknown>
    ) =>
      Effect.exit(
        Drive.drive(effect as Effect.Effect<unknown, unknown>, { step: "1 second", max: 2_000 }).pipe(
          Effect.provide(Layer.mergeAll(provided(needs, draw), budget, ambient)),
          Effect.provide(TestClock.layer())
        )
      ).pipe(Effect.map((exit) => ({
        exit,
        findings: [
          ...findingsOf(exit, way, declared),
          ...unheard.missing.splice(0).map((service): Finding => ({ _tag: "MissingService", way, service }))
        ]
      })))
    const agent = program(worldOf(draw, unheard)) as Runnable
    const { resume, start } = agent
    if (start === undefined || resume === undefined || draw.chance(40)) {
      return Effect.map(ended("run", declared.runNeeds, agent.run("go")), ({ findings }) => findings)
    }
    return Effect.gen(function*() {
      const started = yield* ended("start", declared.startNeeds, start("go"))
      const findings = [...started.findings]
      let { exit } = started
      for (let times = 0; times < 3; times++) {
        if (Exit.isFailure(exit) || !(exit.value instanceof Approval.Paused)) break
        const { pending, snapshot } = exit.value
        const resumed = yield* ended("resume", declared.resumeNeeds, resume(snapshot, decisions(draw, pending)))
        exit = resumed.exit
        findings.push(...resumed.findings)
      }
      return findings
    })
  })
