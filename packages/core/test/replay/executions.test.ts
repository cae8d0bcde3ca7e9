/**
 * Executions of a run: one interrupted at any entry of its journal recovers as if it had not been, after any failures,
 * waits, starts and commits.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Clock, Data, Duration, Effect, Exit, Layer, Schedule, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import {
  Agent,
  AgentEvent,
  Budget,
  ErrorProjection,
  IdempotencyLedger,
  Journal,
  Recovery,
  type RunRecord,
  Tool,
  ToolCall,
  ToolError
} from "@recourse/core"
import { Cut, type CutAt, cuts, journalOf } from "../support/interruptedRuns.ts"
import { Down, lastResults } from "../support/kit.ts"

class Odd extends Data.TaggedError("Odd")<{ readonly at: Date }> {}

class Busy extends Schema.TaggedError<Busy>()(
  "Busy",
  { since: Schema.Date },
  ErrorProjection.declare({ code: "rate_limited", model: "Busy.", outcome: "not_done", retryAfter: () => "3 seconds" })
) {}

/** External effects, and the journal's content, over all executions. */
const worldOf = () => {
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

type Execute = () => Effect.Effect<string, unknown, ToolCall.ToolCall>
type World = ReturnType<typeof worldOf>["world"]
type Inner = Effect.Effect<string, ToolError.ToolError, ToolCall.ToolCall>

const tool = (world: World, name: string, execute: Execute, options?: object): Tool.Any =>
  Tool.make(name, {
    success: Schema.String,
    effects: "read",
    execute: () =>
      Effect.andThen(Effect.map(Clock.currentTimeMillis, (at) => void world.ran.push([name, at])), execute()),
    ...options
  } as never) as never

/** Fails in the first attempts, and then answers. */
const failing = (times: number, error: () => Effect.Effect<never, unknown>): Execute => () =>
  Effect.delay(
    Effect.flatMap(ToolCall.ToolCall, ({ attempt }) => attempt <= times ? error() : Effect.succeed("done")),
    "100 millis"
  )

/** Calls a tool, and fails behind it in the first attempt. */
const notYet = (inner: Tool.Any): Execute => () =>
  Effect.flatMap(
    ToolCall.ToolCall,
    ({ attempt }) =>
      Effect.andThen(inner.call as never as Inner, (answer) =>
        attempt === 1 ? Effect.fail("not yet") : Effect.succeed(answer))
  )

/** An error as JSON. Durations depend on the start of an execution: only their presence counts. */
const shown = (error: unknown): string =>
  JSON.stringify(error).replace(/"millis":(\d+)/, (_, millis) => `"tookLong":${Number(millis) >= 1000}`)

const recovered = (made: Tool.Any, by: (call: Inner) => unknown): Tool.Any =>
  (made as never as Tool.Tool<string, never, never, ToolError.ToolError, never>).pipe(
    Tool.onError(by as never) as never
  ) as never

/** Retries a tool after two seconds, and records its errors. */
const retried = (
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

const again = (call: Inner) =>
  call.pipe(Recovery.retry({ times: 4, schedule: Schedule.spaced("2 seconds"), while: () => true } as never))

const busy = () => Effect.fail(new Busy({ since: new Date(7) }))

/** Ways in which a call fails and is retried: the number of its tools' executions, and the outcome of the call. */
const ways: Readonly<
  Record<
    string,
    readonly [
      tools: (world: World) => Tool.Any,
      ran: Readonly<Record<string, number>>,
      answer: string,
      more?: {
        /** Number of parallel calls of the model. */
        readonly calls?: number
        /** The agent's own level around the tool's. */
        readonly around?: (call: Inner) => unknown
        /** A component outside of the run's journal knows of it: a missing entry does not undo it. */
        readonly isSeen?: true
      }
    ]
  >
> = {
  "an error with a schema": [
    (world) => retried(world, tool(world, "look", failing(2, busy), { failure: Busy })),
    { look: 3 },
    "done"
  ],
  "an error that is JSON": [
    (world) => retried(world, tool(world, "look", failing(2, () => Effect.fail({ code: 7, more: [1, null] })))),
    { look: 3 },
    "done"
  ],
  "an error that is no JSON, so that its attempt is made again": [
    (world) => retried(world, tool(world, "look", failing(1, () => Effect.fail(new Odd({ at: new Date(7) }))))),
    { look: 2 },
    "done"
  ],
  "no error at all": [
    (world) => retried(world, tool(world, "look", failing(1, () => Effect.fail(undefined)))),
    { look: 2 },
    "done"
  ],
  "no answer in time": [
    (world) => retried(world, tool(world, "look", failing(1, () => Effect.never), { timeout: "1 second" })),
    { look: 2 },
    "done"
  ],
  "an error from outside": [
    (world) => retried(world, tool(world, "look", failing(2, () => Effect.fail("down")), { trust: "untrusted" })),
    { look: 3 },
    "done"
  ],
  "a write with a key that gives no answer in time": [
    (world) =>
      retried(
        world,
        tool(world, "pay", failing(1, () => Effect.never), { effects: "write", idempotency: true, timeout: "1 second" })
      ),
    { pay: 2 },
    "done"
  ],
  "a write with a key of its arguments, and an error": [
    (world) =>
      retried(
        world,
        tool(world, "pay", failing(2, () => Effect.fail("down")), {
          effects: "write",
          idempotency: { key: () => "order-1" }
        })
      ),
    { pay: 3 },
    "done"
  ],
  "a call that a tool makes": [
    (world) => {
      const inner = retried(world, tool(world, "inner", failing(2, () => Effect.fail({ code: 8 }))))
      return retried(world, tool(world, "outer", () => inner.call as never))
    },
    { outer: 1, inner: 3 },
    "done"
  ],
  "a call that a tool makes in each of its attempts": [
    (world) => {
      const inner = retried(world, tool(world, "inner", failing(1, () => Effect.fail({ code: 8 }))))
      return retried(
        world,
        tool(
          world,
          "outer",
          notYet(inner)
        )
      )
    },
    { outer: 2, inner: 4 },
    "done"
  ],
  "an outcome that the executor says to be unknown, under a key": [
    (world) =>
      retried(
        world,
        tool(
          world,
          "pay",
          failing(1, () =>
            Effect.fail(
              new ToolError.OutcomeUnknown({
                tool: "bank",
                callId: "b",
                attempt: 1,
                causes: [],
                after: Duration.millis(5)
              })
            )),
          { effects: "write", idempotency: true, failure: ToolError.OutcomeUnknown }
        )
      ),
    { pay: 2 },
    "done"
  ],
  "calls of one answer, each with its own failures": [
    (world) => retried(world, tool(world, "look", failing(2, busy), { failure: Busy })),
    { look: 9 },
    "done",
    { calls: 3 }
  ],
  "arguments that do not fit, which no journal has": [
    (world) =>
      retried(world, tool(world, "look", () => Effect.succeed("?"), { parameters: Schema.Struct({ n: Schema.Int }) })),
    {},
    "missing_required_field"
  ],
  "a failure before the first attempt, of which no journal knows": [
    (world) => {
      const failed: Array<string> = []
      return retried(
        world,
        recovered(
          tool(world, "look", failing(2, busy), { failure: Busy }),
          (call) =>
            Effect.flatMap(call as Effect.Effect<string, unknown>, Effect.succeed).pipe((call) =>
              Effect.suspend((): Effect.Effect<string, unknown> =>
                world.met.length === 0 && failed.push("once") > 0 ? Effect.fail(new Down()) : call
              )
            )
        )
      )
    },
    { look: 3 },
    "done"
  ],
  "a wait that is too short for the journal, on a schedule that ends with the time": [
    (world) =>
      retried(
        world,
        tool(world, "look", failing(99, () => Effect.fail({ code: 8 }))),
        4,
        Schedule.exponential("400 millis", 4).pipe(Schedule.upTo({ duration: "1500 millis" }))
      ),
    { look: 3 },
    "execution_error"
  ],
  "a circuit that is open when the next life begins": [
    (world) =>
      retried(
        world,
        recovered(tool(world, "look", failing(2, () => Effect.fail({ code: 8 }))), (call) =>
          call.pipe(
            Recovery.circuitBreaker({ isFailure: () => true } as never) as never
          ))
      ),
    { look: 3 },
    "done",
    { isSeen: true }
  ],
  "a write that a tool makes in an attempt that fails": [
    (world) => {
      const inner = tool(world, "inner", () => Effect.succeed("written"), { effects: "write", idempotency: true })
      return retried(
        world,
        tool(
          world,
          "outer",
          notYet(inner),
          { effects: "idempotent" }
        )
      )
    },
    { outer: 2, inner: 1 },
    "written"
  ],
  "a failure that is tried again in vain, which no level around tries again": [
    (world) => retried(world, tool(world, "look", failing(99, busy), { failure: Busy }), 2),
    { look: 3 },
    "rate_limited",
    { around: again }
  ],
  "failures that take turns, which no level around tries again": [
    (world) =>
      retried(
        world,
        tool(world, "look", () =>
          Effect.flatMap(ToolCall.ToolCall, ({ attempt }) =>
            Effect.fail({ _tag: attempt % 2 === 1 ? "A" : "B" }))),
        2
      ),
    { look: 3 },
    "execution_error",
    { around: again }
  ],
  "a failure within that is tried again in vain, which no call around tries again": [
    (world) => {
      const inner = retried(world, tool(world, "inner", failing(99, busy), { failure: Busy }), 2)
      return retried(world, tool(world, "outer", () => inner.call as never))
    },
    { outer: 1, inner: 3 },
    "execution_error"
  ],
  "all attempts that the budget pays for": [
    (world) => retried(world, tool(world, "look", failing(99, () => Effect.fail("down"))), 9),
    { look: 4 },
    "execution_error"
  ]
}

/** One line for each emitted attempt and retry. */
const lineOf = (event: AgentEvent.AgentEvent): ReadonlyArray<string> =>
  event._tag === "ToolAttempt"
    ? [`${event.callId} attempt ${event.attempt} after ${event.delay}`]
    : event._tag === "ToolRetry"
    ? [`${event.callId} retry ${event.retry} in ${event.delay}`]
    : []

/** An agent whose model makes calls of one tool. */
const program = (
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

const within = <A>(
  make: (world: World) => Tool.Any,
  use: (lives: Omit<ReturnType<typeof program>, "layer">) => Effect.Effect<A>,
  options?: Parameters<typeof program>[1]
) =>
  Effect.suspend(() => {
    const { layer, ...lives } = program(make, options)
    return use(lives).pipe(Effect.provide(layer))
  })

const timesOf = ({ ran }: World) => {
  const times: Record<string, number> = {}
  for (const [what] of ran) times[what] = (times[what] ?? 0) + 1
  return times
}

const answerOf = ({ requests }: World) => {
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
const byCall = ({ executed }: RunRecord.RunRecord) =>
  executed.map((call) => ({ ...call, callId: call.callId.replace(/_\d+$/, "") }))
    .toSorted((a, b) => a.callId < b.callId ? -1 : a.callId > b.callId ? 1 : 0)

describe("a run interrupted at any entry recovers as if it was not", () => {
  for (const [way, [make, ran, answer, more = {}]] of Object.entries(ways)) {
    it.effect(`behind ${way}`, () =>
      Effect.gen(function*() {
        const whole = yield* within(
          make,
          ({ live, world }) => Effect.map(live(), (report) => ({ report, world })),
          more
        )
        assert.deepStrictEqual(whole.report.exit, Exit.succeed("done"))
        assert.deepStrictEqual(timesOf(whole.world), ran)
        assert.strictEqual(answerOf(whole.world), answer)
        const waits = [...whole.world.kept.keys()].filter((key) => key.startsWith("wait")).length
        assert.isAbove(waits, 0)
        for (const { about, ...cut } of cuts(whole.world.kept.size)) {
          if (more.isSeen === true && !cut.behind) continue
          yield* within(make, ({ live, world }) =>
            Effect.gen(function*() {
              yield* live(cut)
              const kept = [...world.kept.keys()]
              const last = yield* live()
              assert.deepStrictEqual(last.exit, whole.report.exit, about)
              // Recorded waits are emitted once, and so are attempts with recorded failures: each with the wait behind
              // it.
              if (cut.behind && more.calls === undefined && !("inner" in ran) && !("pay" in ran)) {
                const told = ({ told }: World) => told.filter((line) => !way.includes("no") || line.includes("retry"))
                assert.deepStrictEqual(told(world), told(whole.world), about)
              }
              // A write that the ledger answers is not executed.
              if (cut.behind || !("pay" in ran)) {
                assert.deepStrictEqual(last.usage, whole.report.usage, about)
                assert.deepStrictEqual(byCall(last), byCall(whole.report), about)
              }
              assert.deepStrictEqual(last.transcript, whole.report.transcript, about)
              assert.deepStrictEqual(last.taintedBy, whole.report.taintedBy, about)
              assert.deepStrictEqual(world.requests.at(-1), whole.world.requests.at(-1), about)
              // Only unrecorded work is repeated.
              if (cut.behind && !way.includes("made again") && more.calls === undefined) {
                assert.deepStrictEqual(
                  { ...timesOf(world), outer: ran["outer"] },
                  { ...ran, outer: ran["outer"] },
                  about
                )
              }
              if (way.includes("made again") && kept.at(-1)?.startsWith("wait") === true) {
                assert.isAbove(world.ran.length, whole.world.ran.length, about)
              }
              // Recovery meets each failure as it was, unless the call is on record, or the attempt around it.
              if (!kept.some((key) => key.startsWith("call")) && ran["outer"] !== 2) {
                assert.deepStrictEqual(world.met.toSorted(), whole.world.met.toSorted(), about)
              }
              const third = yield* live()
              assert.deepStrictEqual(third.usage, last.usage, about)
              assert.deepStrictEqual(byCall(third), byCall(last), about)
              assert.deepStrictEqual(world.met, [], about)
            }), more)
        }
      }))
  }
})

describe("a recovered run", () => {
  /**
   * A first execution that is interrupted behind the first wait, and a second one with another tool, or another agent.
   */
  const changed = (first: Execute, second: { readonly tool: object; readonly options?: object }) =>
    Effect.gen(function*() {
      const lives = worldOf()
      const { world } = lives
      const life = (more: object, options: object | undefined, cut?: CutAt) =>
        within(
          (world) => retried(world, tool(world, "look", first, { failure: Busy, ...more })),
          ({ live }) => live(cut),
          { lives, ...(options === undefined ? undefined : { options }) }
        )
      yield* life({ trust: "untrusted" }, undefined, { at: 2, behind: true })
      assert.deepStrictEqual([...world.kept.keys()].map((key) => key.split(" ")[0]), ["model", "wait"])
      return { world, report: yield* life(second.tool, second.options) }
    })

  it.effect("makes an attempt again whose failure the tool of today cannot read", () =>
    Effect.gen(function*() {
      class Busy extends Schema.TaggedError<Busy>()("Busy", { since: Schema.Boolean }) {}
      const { report, world } = yield* changed(failing(1, busy), { tool: { failure: Busy, trust: "untrusted" } })
      assert.deepStrictEqual([report.exit, answerOf(world)], [Exit.succeed("done"), "done"])
      assert.deepStrictEqual(timesOf(world), { look: 3 })
    }))

  it.effect("repeats attempts if it cannot decode the wait behind them", () =>
    Effect.gen(function*() {
      const damages: ReadonlyArray<(wait: { readonly failed: ReadonlyArray<object> }) => object> = [
        (wait) => wait,
        (wait) => ({ ...wait, until: "later" }),
        (wait) => ({ ...wait, failed: wait.failed.map((failed) => ({ ...failed, error: "Another" })) }),
        (wait) => ({ ...wait, failed: [{}] })
      ]
      for (const [at, damage] of damages.entries()) {
        const lives = worldOf()
        const live = (cut?: CutAt) =>
          within(
            (world) => retried(world, tool(world, "look", failing(1, busy), { failure: Busy })),
            ({ live }) => live(cut),
            { lives }
          )
        yield* live({ at: 2, behind: true })
        const [place, wait] = [...lives.kept].find(([key]) => key.startsWith("wait"))!
        lives.kept.set(place, damage(wait as never) as never)
        const { exit } = yield* live()
        assert.deepStrictEqual([exit, answerOf(lives.world)], [Exit.succeed("done"), "done"])
        assert.deepStrictEqual(timesOf(lives.world), { look: at === 0 ? 2 : 3 })
      }
    }))

  it.effect("replays earlier reads, also without time for another attempt", () =>
    Effect.gen(function*() {
      const { report, world } = yield* changed(failing(1, busy), {
        tool: { trust: "untrusted" },
        options: { budget: { duration: "2 seconds" } }
      })
      assert.deepStrictEqual([answerOf(world), report.taintedBy], ["rate_limited", ["look"]])
      assert.deepStrictEqual(timesOf(world), { look: 1 })
    }))

  it.effect("counts its program's calls over all executions", () =>
    Effect.gen(function*() {
      const made = () => {
        const { life, world } = worldOf()
        const look = retried(world, tool(world, "look", failing(1, busy), { failure: Busy }))
        const early = recovered(tool(world, "early", failing(1, busy), { failure: Busy }), (call) =>
          Effect.suspend((): Inner =>
            world.met.push("early") % 2 === 1 ? Effect.fail(new Down()) as never : call
          ).pipe(
            Recovery.retry({ times: 3, schedule: Schedule.spaced("2 seconds"), while: () => true } as never)
          ))
        const call = (id: string) =>
          Effect.provideService(
            ((id === "c" ? early : look) as never as { readonly recovered: Inner }).recovered,
            ToolCall.ToolCall,
            ToolCall.make({ id, arguments: {} })
          )
        const agent = Agent.fromFunction(
          "program",
          (_: string) => Effect.forEach(["a", "b", "c"], call)
        ) as never as Agent.Agent<string, ReadonlyArray<string>, unknown, never>
        const live = (cut?: CutAt) =>
          Drive.drive(
            agent.report("go", { runId: "run_1" }).pipe(Effect.provideService(Journal.CurrentJournal, life(cut))),
            { step: "1 second" }
          )
        return { live, world }
      }
      const whole = made()
      const report = yield* whole.live()
      assert.deepStrictEqual([report.usage.toolCalls, report.usage.retries], [6, 3])
      for (const { about, ...cut } of cuts(whole.world.kept.size)) {
        const { live } = made()
        yield* live(cut)
        const last = yield* live()
        assert.deepStrictEqual(
          [last.exit, last.usage, byCall(last)],
          [report.exit, report.usage, byCall(report)],
          about
        )
      }
    }))
})

/** Takes a seat, unless this attempt of it does something else. */
const booking = (
  world: World,
  instead: Readonly<Record<number, Effect.Effect<never, unknown>>> = {},
  options?: object
) =>
  retried(
    world,
    tool(world, "book", () =>
      Effect.flatMap(ToolCall.ToolCall, ({ attempt }) =>
        Effect.suspend(() => {
          world.rows.push(`seat ${attempt}`)
          return instead[attempt] ?? Effect.succeed("booked")
        })), { effects: "write", transaction: true, ...options })
  )

describe("writes committed with the record of their outcome", () => {
  /** The final rows of the database, the number of the tool's executions, and the model's result. */
  const cases: Readonly<
    Record<
      string,
      readonly [make: (world: World) => Tool.Any, rows: ReadonlyArray<string>, ran: number, told: unknown]
    >
  > = {
    "an answer": [(world) => booking(world), ["seat 1"], 1, "booked"],
    "an answer that is nothing": [
      (world) => booking(world, { 1: Effect.void as never }, { success: Schema.Void }),
      ["seat 1"],
      1,
      null
    ],
    "is nothing of an attempt that fails": [
      (world) => booking(world, { 1: Effect.fail("sold out") }),
      ["seat 2"],
      2,
      "booked"
    ],
    "is nothing of an attempt that gives no answer in time": [
      (world) => booking(world, { 1: Effect.never }, { timeout: "1 second" }),
      ["seat 2"],
      2,
      "booked"
    ],
    "is nothing where it cannot be committed": [
      (world) => (world.commits.push("refused"), booking(world)),
      ["seat 2"],
      2,
      "booked"
    ],
    "is nothing of an attempt that is not committed in time": [
      (world) => (world.commits.push("stuck"), booking(world, {}, { timeout: "1 second" })),
      ["seat 2"],
      2,
      "booked"
    ],
    "is done though the time ran out behind the commit": [
      (world) => (world.commits.push("slow"), booking(world, {}, { timeout: "1 second" })),
      ["seat 1"],
      1,
      "booked"
    ],
    "is unknown where the commit gave no answer": [
      (world) => (world.commits.push("lost"), booking(world)),
      ["seat 1"],
      1,
      "outcome_unknown"
    ]
  }
  for (const [name, [make, rows, ran, told]] of Object.entries(cases)) {
    it.effect(`${name}: in any execution`, () =>
      Effect.gen(function*() {
        const whole = yield* within(make, ({ live, world }) => Effect.map(live(), (report) => ({ report, world })))
        assert.deepStrictEqual(whole.report.exit, Exit.succeed("done"))
        assert.deepStrictEqual([whole.world.rows, timesOf(whole.world)], [rows, { book: ran }])
        assert.strictEqual(answerOf(whole.world), told)
        for (const { about, ...cut } of cuts(whole.world.kept.size)) {
          yield* within(make, ({ live, world }) =>
            Effect.gen(function*() {
              yield* live(cut)
              const last = yield* live()
              assert.deepStrictEqual(last.exit, whole.report.exit, about)
              // An unknown commit leaves no record: its call is repeated in another execution.
              if (told === "outcome_unknown") return
              assert.strictEqual(world.rows.length, 1, about)
              assert.strictEqual(answerOf(world), told, about)
              assert.isFalse([...world.kept.keys()].some((key) => key.startsWith("write")), about)
            }))
        }
      }))
  }
})

describe("writes meant to be committed with a record", () => {
  it.effect("run without a journal in a database, or without a run", () =>
    Effect.gen(function*() {
      const { life, world } = worldOf()
      const book = booking(world)
      const byHand = (book as never as { readonly call: Inner }).call.pipe(
        Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c", arguments: {} }))
      )
      assert.strictEqual(yield* Drive.drive(byHand), "booked")
      const { transaction: _, ...plain } = life()
      for (const journal of [undefined, plain]) {
        const agent = Agent.make("clerk", { tools: [book] } as never) as never as Agent.Agent<
          string,
          string,
          unknown,
          never
        >
        const model = ScriptedModel.layer(
          ScriptedModel.steps([ScriptedModel.call("book", {}), ScriptedModel.text("done")])
        )
        const run = agent.run("go", { runId: "run_1" }).pipe(
          Effect.provideService(Journal.CurrentJournal, journal),
          Effect.provide(model)
        )
        assert.strictEqual(yield* Drive.drive(run), "done")
      }
      assert.deepStrictEqual(world.rows, ["seat 1", "seat 1", "seat 1"])
    }))
})

describe("a budget over all executions of a run", () => {
  const Q = Schema.Struct({ q: Schema.String })
  type Options = { readonly budget: Budget.Budget; readonly extends?: Budget.Budget; readonly fails?: boolean }
  /** An agent that calls a keyed write, and an agent that calls it, in turns. */
  const spending = ({ budget, extends: more, fails = false }: Options) => {
    const { life, world } = worldOf()
    const Pay = retried(
      world,
      tool(
        world,
        "pay",
        () =>
          Effect.flatMap(ToolCall.ToolCall, ({ attempt }) => attempt === 1 || fails ? busy() : Effect.succeed("paid")),
        { effects: "write", idempotency: true, failure: Busy }
      ),
      1
    )
    const inner = Agent.make("inner", {
      instructions: "inner",
      input: Q,
      tools: [Pay],
      defaults: { onError: Recovery.keepGoing }
    } as never).pipe(
      Agent.asTool("ask", { description: "Asks", parameters: Q, success: Schema.String }) as never
    ) as never as Tool.Any
    const agent = Agent.make("outer", {
      tools: [Pay, inner],
      defaults: { onError: Recovery.keepGoing },
      budget,
      ...(more === undefined ? undefined : { onBudgetExceeded: () => Effect.succeed(Budget.extend(more)) })
    } as never) as never as Agent.Agent<string, string, unknown, never>
    const turnOf = ({ prompt }: ScriptedModel.Request) =>
      prompt.content.filter(({ role }) => role === "assistant").length
    const model = ScriptedModel.layer((request) => {
      const turn = turnOf(request)
      if (request.prompt.content[0]?.role === "system") {
        return turn === 0 ? ScriptedModel.call("pay", {}, { id: "p" }) : ScriptedModel.text("asked")
      }
      return turn > 5
        ? ScriptedModel.text("done")
        : turn % 2 === 0
        ? ScriptedModel.call("pay", {}, { id: `p${turn}` })
        : ScriptedModel.call("ask", { q: "?" }, { id: `a${turn}` })
    })
    const live = (cut?: CutAt) =>
      Effect.suspend(() =>
        Drive.drive(
          agent.report("go", { runId: "run_1" }).pipe(Effect.provideService(Journal.CurrentJournal, life(cut))),
          { step: "1 second" }
        )
      )
    return { world, live, layer: Layer.merge(model, Layer.fresh(IdempotencyLedger.layerMemory)) }
  }
  const within = <A>(
    options: Options,
    use: (lives: Omit<ReturnType<typeof spending>, "layer">) => Effect.Effect<A>
  ) =>
    Effect.suspend(() => {
      const { layer, ...lives } = spending(options)
      return use(lives).pipe(Effect.provide(layer))
    })
  const cases: Readonly<Record<string, Options & { readonly ends: boolean }>> = {
    "turns that are enough": { budget: { turns: 13 }, ends: true },
    turns: { budget: { turns: 8 }, ends: false },
    "turns that are extended": { budget: { turns: 5 }, extends: { turns: 4 }, ends: true },
    toolCalls: { budget: { toolCalls: 7 }, ends: false },
    tokens: { budget: { tokens: 100 }, ends: false },
    retriesPerTool: { budget: { retriesPerTool: 3 }, ends: true },
    "calls in a row": { budget: { sameToolInARow: 1 }, ends: true },
    "rounds that all fail": { budget: { allFailureRounds: 1 }, fails: true, ends: false }
  }
  for (const [name, { ends, ...options }] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const whole = yield* within(options, ({ live, world }) => Effect.map(live(), (report) => ({ report, world })))
        assert.strictEqual(Exit.isSuccess(whole.report.exit), ends, String(whole.report.exit))
        const size = whole.world.kept.size
        for (const { about, ...cut } of cuts(size, Math.ceil(size / 4))) {
          yield* within(options, ({ live, world }) =>
            Effect.gen(function*() {
              yield* live(cut)
              const { exit, usage } = yield* live()
              assert.deepStrictEqual(Exit.findErrorOption(exit), Exit.findErrorOption(whole.report.exit), about)
              // The ledger answers a call whose outcome was not recorded, and the answer is not charged: the run may come one step further.
              assert.include(cut.behind ? [size] : [size, size + 1], world.kept.size, about)
              if (cut.behind) assert.deepStrictEqual(usage, whole.report.usage, about)
            }))
        }
      }))
  }
})
