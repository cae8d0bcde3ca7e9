/** Fault targets of a subject besides its tools and its model: persons, services, stores and callbacks. */
import { Agent } from "@recourse/core"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Subject } from "../../Subject.ts"
import type * as Simulation from "../simulation/simulation.ts"
import type { Besides } from "./coverage.ts"

/**
 * Returns further places of faults: the tools whose calls may need a person, by declaration and by runs without faults, the
 * used stores, and the declared callbacks. Runs with decisions provide the audit records.
 */
export const faultTargets = <In, Out, E>(
  subject: Subject<In, Out, E>,
  faultless: ReadonlyArray<Simulation.Observation>
): Besides => ({
  asks: Agent.isResumable(subject.agent)
    ? new Set([
      ...subject.tools.flatMap(({ info, name }) => info.approval.isNeeded === undefined ? [] : [name]),
      ...faultless.flatMap(({ pauses }) => pauses.flatMap(({ pending }) => pending.map(({ tool }) => tool)))
    ])
    : new Set(),
  services: new Map(
    subject.tools.flatMap(({ name }) => {
      const requests = Math.max(...faultless.map(({ requestsOf }) => requestsOf[name] ?? 0))
      return requests === 0 ? [] : [[name, requests] as const]
    })
  ),
  stores: new Map(
    FaultPlan.Store.literals.flatMap((store) => {
      const operations = Math.max(...faultless.map(({ operationsOf }) => operationsOf[store]))
      return operations === 0 ? [] : [[store, operations] as const]
    })
  ),
  callbacks: [
    ...subject.tools.flatMap(({ info: { compensation }, name: tool }) =>
      compensation === undefined ? [] : [
        { callback: "compensate", tool } as const,
        ...(compensation.canReconcile ? [{ callback: "reconcile", tool } as const] : [])
      ]
    ),
    ...(faultless.some(({ audit }) => audit.length > 0) ? [{ callback: "audit" } as const] : [])
  ]
})
