/** Starts and resumptions of an agent's runs, for agents with and without waits. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Agent from "@recourse/core/Agent"
import {
  ApprovalRequired,
  Completed,
  type Decision,
  DecisionRefused,
  type Explanation,
  type Outcome,
  Paused,
  SnapshotRefused
} from "@recourse/core/Approval"
import * as RequestInput from "@recourse/core/RequestInput"
import type { Definition, From } from "../agent/definition.ts"

/** Starts or resumes a run. */
export type Proceeding = (from: From, runId: string) => Effect.Effect<Outcome<unknown>, unknown, unknown>

interface CanWait {
  readonly explain: (snapshot: unknown) => Effect.Effect<Explanation, never, unknown>
  readonly check: (snapshot: unknown, decisions: ReadonlyArray<Decision>) => Effect.Effect<unknown, unknown, unknown>
  readonly start: (input: unknown, options: Agent.RunOptions) => Effect.Effect<Outcome<unknown>, unknown, unknown>
  readonly resume: (
    snapshot: unknown,
    decisions: ReadonlyArray<Decision>,
    options: Pick<Agent.RunOptions, "streaming">
  ) => Effect.Effect<Outcome<unknown>, unknown, unknown>
}

const proceeding = (agent: Agent.Any, streaming: boolean): Proceeding => {
  const any = agent as unknown as Agent.Agent<unknown, unknown, unknown, unknown> & Partial<CanWait>
  const { resume, start } = any
  if (start !== undefined && resume !== undefined) {
    return (from, runId) =>
      "input" in from ? start(from.input, { runId, streaming }) : resume(from.snapshot, from.decisions, { streaming })
  }
  return (from, runId) =>
    "input" in from
      ? Effect.map(any.run(from.input, { runId, streaming }), (output) => new Completed({ output }))
      // Its version of today is made otherwise: it cannot wait.
      : Effect.fail(new SnapshotRefused({ agent: any.name, reason: "agent" }))
}

/** Pauses of an agent that cannot say so as a value. */
const withPauses = (proceed: Proceeding): Proceeding => (from, runId) =>
  Effect.catchIf(
    RequestInput.withTools(proceed(from, runId)),
    (error): error is ApprovalRequired => error instanceof ApprovalRequired,
    ({ snapshot }) => Effect.succeed(new Paused({ snapshot, pending: snapshot.round?.pending ?? [] }))
  )

/** Checks if an agent accepts the decisions. The resumption itself decides the rest. */
export const checkingOf = (agent: Agent.Any): Definition["check"] => {
  const { check } = agent as unknown as Partial<CanWait>
  return (snapshot, decisions) =>
    check === undefined
      ? Effect.void
      : Effect.matchCauseEffect(RequestInput.withTools(check(snapshot, decisions)), {
        onSuccess: () => Effect.void,
        onFailure: ({ reasons }) => {
          const refused = reasons.find(Cause.isFailReason)?.error
          return refused instanceof DecisionRefused ? Effect.fail(refused) : Effect.void
        }
      })
}

/** Explains snapshots of an agent, if it can wait. */
export const explainingOf = (agent: Agent.Any): Definition["explain"] => {
  const { explain } = agent as unknown as Partial<CanWait>
  return explain && ((snapshot) => RequestInput.withTools(explain(snapshot)))
}

/** Starts or resumes runs of an agent. */
export const proceedingOf = (agent: Agent.Any, streaming: boolean): Proceeding =>
  withPauses(proceeding(agent, streaming))
