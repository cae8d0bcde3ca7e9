/** Preparation of a case: resolves the names in the file to a plan, a scenario and expectations. */
import { Effect, Schema } from "effect"
import * as Expectation from "../../Expectation.ts"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Subject } from "../../Subject.ts"
import { meant } from "../text/spelling.ts"
import { type SuiteError, suiteError } from "./suiteError.ts"
import type { Case } from "./suiteFile.ts"

type Expectations = Readonly<Record<string, Expectation.Expectation>>

/** The subject of a fault: a tool or its callback, a store, the audit, or else the model. */
interface Target {
  readonly tool: string | undefined
  readonly store: FaultPlan.Store | undefined
  readonly callback: FaultPlan.Callback | undefined
}

/** A case that can be run. */
export interface Prepared extends Target {
  readonly case: Case
  readonly fault: string
  readonly scenario: string
  readonly plan: FaultPlan.FaultPlan
  readonly expected: ReadonlyArray<
    readonly [name: string, expectation: Expectation.Expectation, parameter: string | undefined]
  >
}

const targetOf = (one: Case, tools: ReadonlyArray<string>): Effect.Effect<Target, SuiteError> =>
  Effect.gen(function*() {
    const { id } = one
    const tool = one.tool === undefined ? undefined : meant(one.tool, tools)
    if (one.tool !== undefined && tool === undefined) return yield* suiteError("unknown tool", one.tool, tools, id)

    const stores = FaultPlan.Store.literals
    const store = one.store === undefined ? undefined : meant(one.store, stores)
    if (one.store !== undefined && store === undefined) {
      return yield* suiteError("unknown store", one.store, stores, id)
    }
    if (tool !== undefined && store !== undefined) {
      return yield* suiteError("tool and store", `${tool}, ${store}`, [], id)
    }

    const callbacks = FaultPlan.Callback.literals
    const callback = one.callback === undefined ? undefined : meant(one.callback, callbacks)
    const isOfTool = callback !== undefined && callback !== "audit"
    if (one.callback !== undefined) {
      if (callback === undefined) return yield* suiteError("unknown callback", one.callback, callbacks, id)
      if (isOfTool !== (tool !== undefined)) return yield* suiteError("callback of no tool", callback, [], id)
    }
    return { tool, store, callback }
  })

/** The faults of a target, and the prefix that their names may leave out. */
const faultsOf = ({ callback, store, tool }: Target): readonly [faults: ReadonlyArray<string>, prefix: string] =>
  callback !== undefined
    ? [FaultPlan.callbackFaults, "callback"]
    : tool !== undefined
    ? [[...FaultPlan.toolFaults, ...FaultPlan.approvalFaults, ...FaultPlan.serviceFaults], "tool"]
    : store !== undefined
    ? [FaultPlan.storeFaults, "store"]
    : [FaultPlan.modelFaults, "model"]

const planOf = (one: Case, target: Target): Effect.Effect<Pick<Prepared, "fault" | "plan">, SuiteError> =>
  Effect.gen(function*() {
    const { from, probability, times, ...written } = one.fault
    const [faults, prefix] = faultsOf(target)
    const type = meant(written.type, faults, prefix) ?? meant(`${prefix}_${written.type}`, faults)
    if (type === undefined) return yield* suiteError("unknown fault", written.type, faults, one.id)
    const injection = { ...target, fault: { ...written, type }, from, probability, times }
    const known = Object.entries(injection).filter(([, value]) => value !== undefined)
    const plan = yield* Schema.decodeUnknownEffect(FaultPlan.FaultPlan)(
      { seed: one.seed ?? 1, injections: [Object.fromEntries(known)] },
      { onExcessProperty: "error" }
    ).pipe(Effect.mapError(({ issue }) => suiteError("invalid fault", String(issue), [], one.id)))
    return { fault: type, plan }
  })

const expectedOf = (one: Case, expectations: Expectations): Effect.Effect<Prepared["expected"], SuiteError> =>
  Effect.forEach(typeof one.expected === "string" ? [one.expected] : one.expected, (written) => {
    const known = Object.keys(expectations)
    const name = meant(Expectation.nameOf(written), known)
    if (name === undefined) {
      return Effect.fail(suiteError("unknown expectation", Expectation.nameOf(written), known, one.id))
    }
    const parameter = Expectation.parameterOf(written)
    const shown = parameter === undefined ? name : `${name}:${parameter}`
    return Effect.succeed([shown, expectations[name]!, parameter] as const)
  })

/** Prepares a case for a subject. */
export const prepareCase = <In, Out, E>(
  { scenarios, tools }: Subject<In, Out, E>,
  expectations: Expectations,
  one: Case
): Effect.Effect<Prepared, SuiteError> =>
  Effect.gen(function*() {
    const target = yield* targetOf(one, tools.map(({ name }) => name))
    const planned = yield* planOf(one, target)
    const expected = yield* expectedOf(one, expectations)
    const { tool } = target
    const scenario = one.scenario ?? (tool !== undefined && Object.hasOwn(scenarios, tool) ? tool : "default")
    if (!Object.hasOwn(scenarios, scenario)) {
      return yield* suiteError("unknown scenario", scenario, Object.keys(scenarios), one.id)
    }
    return { case: one, ...target, ...planned, scenario, expected }
  })
