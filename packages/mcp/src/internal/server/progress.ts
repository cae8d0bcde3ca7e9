/** Progress of a call, for a client that has requested it: the run's work, and its liveness. */
import { type AgentEvent, listen } from "@recourse/core/AgentEvent"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import * as Queue from "effect/Queue"
import type * as McpSchema from "effect/ai/McpSchema"
import type * as McpServer from "effect/ai/McpServer"

/** Interval of liveness reports to a client. */
const heartbeat = "10 seconds"

const describe = (event: AgentEvent): string | undefined => {
  switch (event._tag) {
    case "ToolAttempt":
      return event.attempt === 1 ? `${event.tool}` : `${event.tool}, attempt ${event.attempt}`
    case "ToolRetry":
      return `${event.tool} is tried again in ${Math.ceil(event.delay)} ms`
    case "ToolProgress":
      return event.message ?? `${event.tool}: ${event.progress}${event.total === undefined ? "" : ` of ${event.total}`}`
    case "AgentStarted":
      return `${event.path.at(-1)} begins`
    case "ModelTurnStarted":
      return `${event.path.at(-1)}, turn ${event.turn}`
    case "ApprovalRequested":
      return `${event.tool} waits for an approval`
    default:
      return undefined
  }
}

/** The token by which a request asks for progress. */
const tokenOf = ({ requestMetadata }: McpSchema.McpRequestContext["Service"]): string | number | undefined => {
  const token = Predicate.isReadonlyObject(requestMetadata) ? requestMetadata["progressToken"] : undefined
  return typeof token === "string" || typeof token === "number" ? token : undefined
}

/** Reports the progress of a call to a client, if requested. A client that does not read delays no call. */
export const withProgress = <A, E, R>(
  { notifications }: McpServer.McpServer["Service"],
  request: McpSchema.McpRequestContext["Service"],
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const progressToken = tokenOf(request)
  if (progressToken === undefined) return call
  return Effect.scoped(Effect.gen(function*() {
    const queue = yield* Queue.sliding<string, Cause.Done>(16)
    let last = "It runs"
    let progress = 0
    const notify = (message: string) =>
      Effect.ignoreCause(notifications["notifications/progress"]({ progressToken, progress: ++progress, message }))
    const notifier = yield* Effect.forkScoped(
      Effect.ignore(Effect.forever(Effect.flatMap(Queue.take(queue), notify)))
    )
    yield* Effect.sync(() => Queue.offerUnsafe(queue, last)).pipe(
      Effect.delay(heartbeat),
      Effect.forever,
      Effect.forkScoped
    )
    const listener = listen((event) =>
      Effect.sync(() => {
        const message = describe(event)
        if (message === undefined) return
        last = message
        Queue.offerUnsafe(queue, message)
      })
    )
    return yield* Effect.onExit(Effect.provide(call, listener), (exit) => {
      // Progress comes before the result. A client that does not read still gets its result.
      Queue.endUnsafe(queue)
      return Exit.isFailure(exit) ? Effect.void : Effect.timeoutOption(Fiber.await(notifier), "1 second")
    })
  })) as Effect.Effect<A, E, R>
}
