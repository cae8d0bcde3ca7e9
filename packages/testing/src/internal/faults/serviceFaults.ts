/** Faults of services: at the requests that executors make of the doubles of services. */
import { Context, Data, Effect, Option } from "effect"
import { ToolCall } from "@recourse/core"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Injector } from "./injector.ts"

/**
 * A service has failed, or its answer was lost: the caller cannot distinguish them.
 *
 * @category errors
 * @since 0.2.0
 */
export class ServiceFailed extends Data.TaggedError("ServiceFailed")<{
  /** The tool whose service it is. */
  readonly tool: string
  readonly message: string
}> {}

/** A request to a service for a tool, with its fault. */
export type Requests = <A, R>(tool: string, done: Effect.Effect<A, never, R>) => Effect.Effect<A, ServiceFailed, R>

/** Faults of requests below; by default there are none. */
export const CurrentRequests: Context.Reference<Requests> = Context.Reference<Requests>("@recourse/testing/Requests", {
  defaultValue: () => (_, done) => done
})

const counterOf = (tool: string): string => `service ${tool}`

/** Number of requests for a tool. */
export const requestsOf = ({ counted }: Injector, tool: string): number => counted(counterOf(tool))

/** The requests of a run, with the faults of a plan. */
export const injected = ({ log, next }: Injector, secret: string | undefined): Requests => (tool, done) =>
  Effect.gen(function*() {
    const found = next(
      counterOf(tool),
      (injection) => FaultPlan.isOfService(injection) && injection.tool === tool
    )
    if (found === undefined) return yield* done
    const call = Option.getOrUndefined(yield* Effect.serviceOption(ToolCall.ToolCall))
    yield* log(found, { tool, ...(call === undefined ? undefined : { callId: call.id, attempt: call.attempt }) })
    const failed = new ServiceFailed({ tool, message: `No answer${secret === undefined ? "" : `: ${secret}`}` })
    switch ((found.fault as FaultPlan.ServiceFault).type) {
      case "service_fails":
        return yield* failed
      case "service_answer_lost":
        return yield* Effect.andThen(done, failed)
      case "service_hangs":
        return yield* Effect.never
    }
  })
