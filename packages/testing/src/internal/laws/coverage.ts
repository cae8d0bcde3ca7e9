/** Coverage of a check: injected faults by place, and reached events. */
import { AgentEvent } from "@recourse/core"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Subject } from "../../Subject.ts"
import { placeOf } from "../faults/injector.ts"
import type * as Simulation from "../simulation/simulation.ts"

/**
 * A fault that no plan has injected, and why.
 *
 * @category models
 * @since 0.2.0
 */
export interface Missed {
  /** The tool, the store, the callback (`"pay.compensate"`, `"audit"`), or `"model"`. */
  readonly tool: string
  readonly fault: string
  /** `not_called`: no run calls the tool, or the callback. `does_not_fit`: its answers had no text to alter. */
  readonly because: "not_called" | "does_not_fit" | "not_drawn"
}

/**
 * Counts by place (a tool, a store, a callback, the model), and by subject.
 *
 * @category models
 * @since 0.2.0
 */
export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Further places of faults in a subject's runs besides its tools and its model. */
export interface Besides {
  /** The tools about whose calls a person may be asked. */
  readonly asks: ReadonlySet<string>
  /** The tools whose services can fail, and at most how many requests a run without faults had of each. */
  readonly services: ReadonlyMap<string, number>
  /** The stores that its runs use and that are the kit's, and at most how many operations a run without faults had of each. */
  readonly stores: ReadonlyMap<FaultPlan.Store, number>
  /** The callbacks that its tools declare, and the audit. */
  readonly callbacks: ReadonlyArray<CalledBack>
}

/** A callback, and the tool that it is of. */
export interface CalledBack {
  readonly callback: FaultPlan.Callback
  readonly tool?: string | undefined
}

/** The faults of a callback: an audit has no error to fail with. */
export const faultsOfCallback = (callback: FaultPlan.Callback): ReadonlyArray<FaultPlan.CallbackFault["type"]> =>
  (FaultPlan.callbackFaults as ReadonlyArray<FaultPlan.CallbackFault["type"]>).filter((type) =>
    callback !== "audit" || type !== "callback_fails"
  )

/** Counts faults and events. */
export interface Coverage {
  /** Adds a run, and returns whether it has reached a new event. */
  readonly add: (run: Simulation.Observation) => boolean
  /** Number of effective injections of each fault: by tool, by store, and `"model"`. */
  readonly met: () => Counts
  readonly missed: (besides: Besides) => ReadonlyArray<Missed>
  /** Number of events of each kind: by tool, and `"run"`. */
  readonly reached: () => Counts
  /** The events that no run had. */
  readonly unreached: () => ReadonlyArray<AgentEvent.AgentEvent["_tag"]>
}

/** The kind of an event: its tag, with its code, error, outcome or answer. */
const kindOf = (event: AgentEvent.AgentEvent): string => {
  const { answer, code, error, outcome } = event as {
    readonly [key in "answer" | "code" | "error" | "outcome"]?: string
  }
  return [event._tag, code, error, outcome, answer].filter((part) => typeof part === "string").join(" ")
}

/** Events of the pieces of an answer, or of the network: no counted run has them. */
const ofProviders: ReadonlySet<string> = new Set([
  "TextDelta",
  "TextFinished",
  "ReasoningDelta",
  "ReasoningFinished",
  "ToolCallDelta",
  "ModelRequested",
  "TransportRetry"
])

const tags = AgentEvent.AgentEvent.members.map((member) => member.fields._tag.schema.literal)

const counter = () => {
  const counts = new Map<string, Map<string, number>>()
  return {
    has: (place: string, what: string) => counts.get(place)?.has(what) === true,
    add: (place: string, what: string) => {
      const here = counts.get(place) ?? new Map<string, number>()
      counts.set(place, here.set(what, (here.get(what) ?? 0) + 1))
    },
    all: (): Counts => Object.fromEntries([...counts].map(([place, here]) => [place, Object.fromEntries(here)]))
  }
}

/** Counts faults and events. */
export const coverage = <In, Out, E>(subject: Subject<In, Out, E>): Coverage => {
  const met = counter()
  const reached = counter()
  const seen = new Set<string>()
  const called = new Set<string>()
  const unfit = new Set<string>()
  return {
    add: (run) => {
      let isNew = false
      for (const event of run.events) {
        seen.add(event._tag)
        const place = "tool" in event ? event.tool : "run"
        if ("tool" in event) called.add(place)
        const kind = kindOf(event)
        isNew ||= !reached.has(place, kind)
        reached.add(place, kind)
      }
      for (const name of Object.keys(run.callbacksOf)) called.add(name)
      for (const fault of run.injected) {
        const place = placeOf(fault)
        if (fault.applied) met.add(place, fault.type)
        else unfit.add(`${place} ${fault.type}`)
      }
      return isNew
    },
    met: met.all,
    missed: ({ asks, callbacks, services, stores }) => {
      const missedAt = (place: string, faults: ReadonlyArray<string>, isCalled: boolean) =>
        faults.flatMap((fault): ReadonlyArray<Missed> =>
          met.has(place, fault) ? [] : [{
            tool: place,
            fault,
            because: !isCalled ? "not_called" : unfit.has(`${place} ${fault}`) ? "does_not_fit" : "not_drawn"
          }]
        )
      return [
        ...subject.tools.flatMap(({ name }) =>
          missedAt(
            name,
            [
              ...FaultPlan.toolFaults,
              ...(asks.has(name) ? FaultPlan.approvalFaults : []),
              ...(services.has(name) ? FaultPlan.serviceFaults : [])
            ],
            called.has(name)
          )
        ),
        ...missedAt("model", FaultPlan.modelFaults, true),
        ...[...stores.keys()].flatMap((store) => missedAt(store, FaultPlan.storeFaults, true)),
        ...callbacks.flatMap(({ callback, tool }) => {
          const name = FaultPlan.callbackName(callback, tool)
          return missedAt(name, faultsOfCallback(callback), called.has(name))
        })
      ]
    },
    reached: reached.all,
    unreached: () => tags.filter((tag) => !seen.has(tag) && !ofProviders.has(tag))
  }
}
