/** A world of flights and hotels, and programs that book in it over several executions. */

import { Drive, ScriptedModel } from "@recourse/testing"
import { Clock, Effect, Exit, Layer, Schedule, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { ToolError } from "@recourse/core"
import {
  Agent,
  AgentEvent,
  ErrorProjection,
  IdempotencyLedger,
  Journal,
  Recovery,
  type RunRecord,
  Tool,
  ToolCall
} from "@recourse/core"
import { Cut, type CutAt, journalOf } from "./interruptedRuns.ts"
import { lastResults } from "./kit.ts"

export class Busy extends Schema.TaggedError<Busy>()(
  "Busy",
  { since: Schema.Date },
  ErrorProjection.declare({ code: "rate_limited", model: "Busy.", outcome: "not_done", retryAfter: () => "3 seconds" })
) {}

/** External effects, and the journal's content, over all executions. */
export const worldOf = () => {
  const kept = new Map<string, Schema.Json>()
  const world = {
    kept,
    /** Executions, and when. */
    ran: [] as Array<readonly [what: string, at: number]>,
    /** Errors that recovery received, in the present execution. */
    met: [] as Array<string>,
    /** Rows of transactions. */
    rows: [] as Array<string>,
    /** Outcomes of the next commits. */
    commits: [] as Array<"lost" | "refused" | "slow" | "stuck">,
    /** Events of attempts and retries, over all executions. */
    told: [] as Array<string>,
    requests: [] as Array<unknown>
  }
  const lives = journalOf(kept)
  const life = (cut?: CutAt): Journal.Journal => {
    const { journal, write } = lives.life(cut)
    return {
      ...journal,
      transaction: (effect, { onFate, recordOf }) =>
        Effect.gen(function*() {
          const before = [...world.rows]
          const rollBack = Effect.sync(() => void (world.rows = before))
          const exit = yield* Effect.exit(Effect.onInterrupt(effect, () => rollBack))
          const fate = Exit.isFailure(exit) ? undefined : world.commits.shift()
          if (Exit.isFailure(exit) || fate === "refused") {
            world.rows = before
            return Exit.isFailure(exit) ? yield* exit : yield* new Journal.TransactionFailed({ reason: "refused" })
          }
          const row = yield* Effect.orDie(recordOf(exit.value))
          if (fate === "stuck") yield* Effect.onInterrupt(Effect.never, () => rollBack)
          if (fate === "lost") {
            onFate("unknown")
            return yield* new Journal.TransactionFailed({ reason: "lost" })
          }
          const isCut = write(row.kind, row.key, row.value)
          if (isCut && !kept.has(`${row.kind} ${row.key}`)) world.rows = before
          onFate("done")
          if (fate === "slow") yield* Effect.sleep("5 seconds")
          return isCut ? yield* Effect.die(new Cut()) : exit.value
        })
    }
  }
  return { ...world, world, life }
}

export type Execute = () => Effect.Effect<string, unknown, ToolCall.ToolCall>

export type World = ReturnType<typeof worldOf>["world"]

export type Inner = Effect.Effect<string, ToolError.ToolError, ToolCall.ToolCall>

export const tool = (world: World, name: string, execute: Execute, options?: object): Tool.Any =>
  Tool.make(name, {
    success: Schema.String,
    effects: "read",
    execute: () =>
      Effect.andThen(Effect.map(Clock.currentTimeMillis, (at) => void world.ran.push([name, at])), execute()),
    ...options
  } as never) as never

/** Fails in the first attempts, and then answers. */
export const failing = (times: number, error: () => Effect.Effect<never, unknown>): Execute => () =>
  Effect.delay(
    Effect.flatMap(ToolCall.ToolCall, ({ attempt }) => attempt <= times ? error() : Effect.succeed("done")),
    "100 millis"
  )

/** An error as JSON. Durations depend on the start of an execution: only their presence counts. */
export const shown = (error: unknown): string =>
  JSON.stringify(error).replace(/"millis":(\d+)/, (_, millis) => `"tookLong":${Number(millis) >= 1000}`)

export const recovered = (made: Tool.Any, by: (call: Inner) => unknown): Tool.Any =>
  (made as never as Tool.Tool<string, never, never, ToolError.ToolError, never>).pipe(
    Tool.onError(by as never) as never
  ) as never

/** Retries a tool after two seconds, and records its errors. */
export const retried = (
  world: World,
  made: Tool.Any,
  times = 4,
  schedule: Schedule.Schedule<unknown> = Schedule.spaced("2 seconds")
): Tool.Any =>
  recovered(made, (call) =>
    call.pipe(
      Effect.tapError((error) => Effect.sync(() => void world.met.push(`${made.name} ${shown(error)}`))),
      Recovery.retry({ times, schedule, while: () => true } as never)
    ))

export const busy = () => Effect.fail(new Busy({ since: new Date(7) }))

/** One line for each emitted attempt and retry. */
export const lineOf = (event: AgentEvent.AgentEvent): ReadonlyArray<string> =>
  event._tag === "ToolAttempt"
    ? [`${event.callId} attempt ${event.attempt} after ${event.delay}`]
    : event._tag === "ToolRetry"
    ? [`${event.callId} retry ${event.retry} in ${event.delay}`]
    : []

/** An agent whose model makes calls of one tool. */
export const program = (
  make: (world: World) => Tool.Any,
  { around, calls = 1, options, ...outside }: {
    readonly around?: ((call: Inner) => unknown) | undefined
    readonly calls?: number | undefined
    readonly options?: object
    readonly lives?: ReturnType<typeof worldOf>
  } = {}
) => {
  const { life, world } = outside.lives ?? worldOf()
  const made = make(world)
  const onError = around === undefined
    ? Recovery.keepGoing
    : Object.assign((call: Inner) => Recovery.keepGoing(around(call) as Inner), Recovery.policy({}))
  const agent = Agent.make("a", {
    tools: [made],
    defaults: { onError },
    budget: { retriesPerTool: 3 * calls },
    ...options
  } as never) as never as Agent.Agent<string, string, unknown, never>
  const script = ScriptedModel.steps([
    ScriptedModel.calls(Array.from({ length: calls }, (_, n) => ({ name: made.name, params: {}, id: `c${n}` }))),
    ScriptedModel.text("done")
  ])
  const model = ScriptedModel.layer((request, index) => {
    world.requests.push(lastResults(request.prompt).map(({ result }) => result))
    return script(request, index)
  })
  const live = (cut?: CutAt) =>
    Effect.suspend(() => {
      world.met.length = 0
      return Drive.drive(
        agent.report("go", { runId: "run_1" }).pipe(
          Effect.provideService(Journal.CurrentJournal, life(cut)),
          Effect.provide(AgentEvent.listen((event) => Effect.sync(() => void world.told.push(...lineOf(event)))))
        ),
        { step: "1 second" }
      )
    })
  const breaker = CircuitBreaker.layer({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "1500 millis" })
  const layer = Layer.mergeAll(
    model,
    Layer.fresh(IdempotencyLedger.layerMemory),
    Layer.provide(breaker, CircuitBreaker.layerStoreMemory())
  )
  return { world, live, layer }
}

export const within = <A>(
  make: (world: World) => Tool.Any,
  use: (lives: Omit<ReturnType<typeof program>, "layer">) => Effect.Effect<A>,
  options?: Parameters<typeof program>[1]
) =>
  Effect.suspend(() => {
    const { layer, ...lives } = program(make, options)
    return use(lives).pipe(Effect.provide(layer))
  })

export const timesOf = ({ ran }: World) => {
  const times: Record<string, number> = {}
  for (const [what] of ran) times[what] = (times[what] ?? 0) + 1
  return times
}

export const answerOf = ({ requests }: World) => {
  const [result] = requests.at(-1) as ReadonlyArray<unknown>
  return typeof result === "object" && result !== null && "code" in result
    ? result.code
    : typeof result === "object" && result !== null && "content" in result
    ? result.content
    : result
}

/**
 * Executions by call: the order of one answer's calls depends on the entries, and so does the number of an inner call.
 */
export const byCall = ({ executed }: RunRecord.RunRecord) =>
  executed.map((call) => ({ ...call, callId: call.callId.replace(/_\d+$/, "") }))
    .toSorted((a, b) => a.callId < b.callId ? -1 : a.callId > b.callId ? 1 : 0)
