/** Basic plans: each fault of each tool once, of each person who is asked, of the model, and of each operation of a store. */
import { Effect, Option, Predicate, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import type { Tool } from "@recourse/core"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Subject } from "../../Subject.ts"
import type * as Simulation from "../simulation/simulation.ts"
import { type Besides, type CalledBack, faultsOfCallback } from "./coverage.ts"
import { type Drawn, toAnswer } from "./randomPlans.ts"

/** A plan, in a scenario, with its other random values. */
export type Case = Drawn

/** The faults of a tool without parameters. */
export const basicOfTools = FaultPlan.toolFaults as ReadonlyArray<FaultPlan.ToolFault["type"]>

const basicOfApprovals = ["approval_rejected", "approval_missing", "approval_late"] as const

const basicOfModels: ReadonlyArray<FaultPlan.ModelFault> = [
  { type: "model_error", reason: "InternalProviderError" },
  { type: "model_error", reason: "AuthenticationError" },
  { type: "rate_limit", retryAfter: 2000 },
  { type: "model_hang" },
  { type: "model_delay", millis: 2000 },
  { type: "stream_cut", after: 1 },
  { type: "malformed_tool_call" },
  { type: "unknown_tool" },
  { type: "duplicate_ids" },
  { type: "empty_answer" },
  { type: "truncated_answer" }
]

/**
 * Faults of calls, and late faults, show no new behaviour at the last call of the model, behind all completed calls.
 */
const ofCalls: ReadonlySet<FaultPlan.ModelFault["type"]> = new Set([
  "rate_limit",
  "model_delay",
  "malformed_tool_call",
  "unknown_tool",
  "duplicate_ids"
])

const basicOfStores = FaultPlan.storeFaults as ReadonlyArray<FaultPlan.StoreFault["type"]>

const basicOfServices = FaultPlan.serviceFaults as ReadonlyArray<FaultPlan.ServiceFault["type"]>

/** Number of calls of each callback in a run, for places of faults. */
const calledBackIn = ({ callbacksOf }: Simulation.Observation): ReadonlyArray<readonly [CalledBack, number]> =>
  Object.entries(callbacksOf).map(([name, times]) => {
    const callback = FaultPlan.Callback.literals.find((one) => name === one || name.endsWith(`.${one}`))!
    return [name === callback ? { callback } : { callback, tool: name.slice(0, -callback.length - 1) }, times]
  })

/** The tools that a run calls. */
export const calledIn = (run: Simulation.Observation): ReadonlySet<string> =>
  new Set(run.executions.map(({ tool }) => tool))

/** The tools about whose calls a person is asked in a run. */
const askedAboutIn = ({ pauses }: Simulation.Observation): ReadonlySet<string> =>
  new Set(pauses.flatMap(({ pending }) => pending.map(({ tool }) => tool)))

/** A random value of a schema; none if effect cannot generate one. */
const sample = (schema: Schema.Top): Effect.Effect<Option.Option<unknown>> =>
  Effect.suspend(() =>
    Arbitrary.sampleEffect(Arbitrary.schema(Schema.toType(schema) as Schema.Codec<unknown>), { count: 1, seed: 1 })
  ).pipe(
    Effect.map(([value]) => value),
    Effect.catchCause(() => Effect.undefined),
    Effect.map(Option.fromUndefinedOr)
  )

const isError = Schema.is(FaultPlan.ToolFault.members[0].fields.error.schema)

/** One of each of the failures that a tool declares, in JSON. */
const declaredBy = ({ info: { failure } }: Tool.Any): Effect.Effect<ReadonlyArray<{ readonly _tag: string }>> =>
  failure === undefined ? Effect.succeed([]) : Effect.map(
    Effect.forEach(
      Predicate.hasProperty(failure, "members") ? failure.members as ReadonlyArray<Schema.Top> : [failure],
      (member) =>
        Effect.map(sample(member), (found) =>
          found.pipe(
            Option.flatMap(Schema.encodeUnknownOption(Schema.toCodecJson(member as Schema.Codec<unknown>))),
            Option.filter(isError),
            Option.toArray
          ))
    ),
    (found) => found.flat()
  )

/** Decisions of a person other than approval, and about the arguments and the answer. */
const saidAbout = (tool: Tool.Any): Effect.Effect<ReadonlyArray<FaultPlan.ApprovalFault>> =>
  Effect.gen(function*() {
    const drawn = [["approval_edited", tool.parameters], ["approval_responded", tool.success]] as const
    const answers = yield* Effect.forEach(drawn, ([type, schema]) =>
      Effect.map(
        sample(schema),
        Option.flatMap((value) => Option.fromUndefinedOr(toAnswer(type, value, tool)))
      ))
    return [
      ...basicOfApprovals.map((type) => ({ type })),
      ...answers.flatMap((found) => Option.toArray(found) as ReadonlyArray<FaultPlan.ApprovalFault>)
    ]
  })

/** Basic plans, those of tools as soon as it is known how they are called. */
export interface Basics {
  readonly cases: ReadonlyArray<Case>
  /**
   * Receives a run, and adds plans for tools and callbacks that no run before has called: behind the faults that have
   * led to their calls.
   */
  readonly saw: (one: Case, run: Simulation.Observation) => void
}

/** At most so many operations of a store, and requests of a service, have faults of their own. */
const mostOperations = 4

/** At most so many calls of a callback have faults of their own. */
const mostCallbacks = 2

/** Gives, run by run, the faults of callbacks that were called more often than in any run before. */
const newlyCalledBack = () => {
  const most = new Map<string, number>()
  return (run: Simulation.Observation): ReadonlyArray<FaultPlan.Injection> =>
    calledBackIn(run).flatMap(([one, times]) => {
      const name = FaultPlan.callbackName(one.callback, one.tool)
      const before = most.get(name) ?? 0
      const until = Math.min(times, mostCallbacks)
      most.set(name, Math.max(before, until))
      return Array.from({ length: Math.max(0, until - before) }, (_, nth) => before + nth + 1).flatMap((from) =>
        faultsOfCallback(one.callback).map((type) =>
          ({ ...one, fault: { type }, from, times: 1 }) as FaultPlan.Injection
        )
      )
    })
}

/** The basic plans of a subject: each fault that fits, once. */
export const basics = <In, Out, E>(
  subject: Subject<In, Out, E>,
  faultless: Readonly<Record<string, Simulation.Observation>>,
  { asks, services, stores }: Besides
): Effect.Effect<Basics> =>
  Effect.gen(function*() {
    const faults = new Map<string, ReadonlyArray<FaultPlan.Injection>>()
    for (const tool of subject.tools) {
      const { name } = tool
      const tagged = Object.keys(subject.failures).map((_tag) => ({ _tag }))
      const declared = (yield* declaredBy(tool)).filter(({ _tag }) => !Object.hasOwn(subject.failures, _tag))
      const said = asks.has(name) ? yield* saidAbout(tool) : []
      faults.set(name, [
        ...basicOfTools.map((type) => FaultPlan.onTool(name, { type })),
        ...[...tagged, ...declared].map((error) => FaultPlan.onTool(name, { type: "failure", error })),
        ...said.map((fault) => FaultPlan.onApproval(name, fault))
      ])
    }
    const scenarios = Object.keys(subject.scenarios)
    const called = Object.entries(faultless).map(([scenario, run]) => [scenario, calledIn(run)] as const)
    const cases: Array<Case> = []
    const known = new Set<string>()
    const faultsOfCallbacks = newlyCalledBack()
    const add = (scenario: string, ...injections: ReadonlyArray<FaultPlan.Injection>) => {
      const nth = cases.length
      cases.push({ scenario, interruptAt: 1 + nth * 97 % 1000, plan: FaultPlan.make(injections, { seed: nth }) })
    }
    /** A scenario that has so many operations of a store. */
    const using = (store: FaultPlan.Store, operations: number): string =>
      scenarios.find((name) => faultless[name]!.operationsOf[store] >= operations)!
    for (const { name } of subject.tools) {
      const calling = called.filter(([, tools]) => tools.has(name))
      if (calling.length === 0) continue
      known.add(name)
      const asked = calling.filter(([scenario]) => askedAboutIn(faultless[scenario]!).has(name))
      for (const fault of faults.get(name)!) {
        const fitting = FaultPlan.isOfApproval(fault) && asked.length > 0 ? asked : calling
        add(fitting[cases.length % fitting.length]![0], fault)
      }
    }
    for (const [name, requests] of services) {
      const asking = scenarios.find((scenario) => faultless[scenario]!.requestsOf[name] === requests)!
      for (let from = 1; from <= Math.min(requests, mostOperations); from++) {
        for (const type of basicOfServices) add(asking, FaultPlan.onService(name, { type }, { from }))
      }
    }
    for (const [nth, fault] of basicOfModels.entries()) {
      const scenario = scenarios[nth % scenarios.length]!
      const last = faultless[scenario]!.requests.length
      add(scenario, FaultPlan.onModel(fault))
      if (last > 1 && !ofCalls.has(fault.type)) add(scenario, FaultPlan.onModel(fault, { from: last }))
    }
    for (const [store, operations] of stores) {
      for (let from = 1; from <= Math.min(operations, mostOperations); from++) {
        for (const type of basicOfStores) {
          add(using(store, from), FaultPlan.onStore(store, { type }, { from }))
        }
      }
    }
    return {
      cases,
      saw: ({ plan, scenario }, run) => {
        for (const name of calledIn(run)) {
          const own = faults.get(name)
          if (own === undefined || known.has(name)) continue
          known.add(name)
          for (const fault of own) add(scenario, ...plan.injections, fault)
        }
        for (const fault of faultsOfCallbacks(run)) add(scenario, ...plan.injections, fault)
      }
    }
  })
