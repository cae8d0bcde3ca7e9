/** Agents with services of their own: each way to run one provides them, and so does a compensation behind its end. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schema, Stream } from "effect"
import { Agent, Approval, Journal, Tool } from "@recourse/core"
import {
  boss,
  call,
  fails,
  key,
  type Log,
  models,
  running,
  type Runs,
  standard,
  text,
  tool,
  type Waits,
  watched
} from "../support/bookings.ts"

class House extends Context.Service<House, { readonly isOpen: () => boolean }>()("House") {}
class Desk extends Context.Service<Desk, { readonly does: (what: string) => Effect.Effect<void> }>()("Desk") {}

/** A resource that is opened and closed with a layer. */
const opened = Effect.acquireRelease(
  Effect.sync(() => {
    let isOpen = true
    return { isOpen: () => isOpen, close: () => void (isOpen = false) }
  }),
  ({ close }) => Effect.sync(close)
)

const house = Layer.effect(House, opened)

/** A desk in a house: it works while both are open. */
const desk = (log: Log) =>
  Layer.effect(
    Desk,
    Effect.map(Effect.all([opened, House]), ([here, around]) => ({
      does: (what: string) =>
        here.isOpen() && around.isOpen() ? Effect.sync(() => void log.push(what)) : Effect.die("closed")
    }))
  )

const at = (what: string) => Effect.flatMap(Desk, ({ does }) => does(what))

/** Books, and waits before it pays, at its desk. */
const clerk = (compensation?: object) =>
  Agent.make("clerk", {
    ...standard,
    instructions: "clerk",
    input: Schema.Unknown,
    tools: [
      Tool.make("book", { effects: "write", execute: () => at("book"), compensate: () => at("unbook") }),
      Tool.make("pay", { effects: "write", needsApproval: true, execute: () => at("pay") }),
      Tool.make("rest", { effects: "read", execute: () => Effect.sleep("1 hour") })
    ],
    ...(compensation === undefined ? undefined : { compensation })
  } as never) as never as
    & Agent.Agent<unknown, unknown, unknown, Desk>
    & Agent.Resumable<unknown, unknown, unknown, Desk>

const ways: Readonly<Record<string, (log: Log, compensation?: object) => Waits>> = {
  "by one layer": (log, compensation) =>
    clerk(compensation).pipe(Agent.provide(Layer.provide(desk(log), house))) as never,
  "by two, of which one needs the other": (log, compensation) =>
    clerk(compensation).pipe(Agent.provide(desk(log)), Agent.provide(house)) as never
}

const paused = (outcome: Approval.Outcome<unknown>): Approval.Paused => {
  assert.strictEqual(outcome._tag, "Paused")
  return outcome as Approval.Paused
}
const approved = ({ pending }: Approval.Paused) => pending.map((one) => Approval.approve(one))
const within: Readonly<Record<string, (agent: Waits) => Waits>> = {
  "alone": (agent) => agent,
  "as a step": (agent) => Agent.all("all", [agent]) as never,
  "as a tool": (agent) => boss([tool(agent, "clerk")]) as never
}
/** The journal of a recovered run, without storage. */
const journal: Journal.Journal = {
  runId: "r",
  isResumed: false,
  isCancelled: () => false,
  elapsedBefore: 0,
  find: () => undefined,
  entries: () => [],
  record: () => Effect.void,
  claim: (entry) => entry.slice(0, 32)
}

const turns = { boss: [call("clerk", {}, { id: "c" }), text("done")] } as const

for (const [way, made] of Object.entries(ways)) {
  describe(`an agent's services, provided ${way}`, () => {
    for (const [where, around] of Object.entries(within)) {
      it.effect(`exist at start and resumption, ${where}`, () =>
        Effect.gen(function*() {
          const log: Log = []
          const agent = around(made(log))
          const waiting = paused(yield* agent.start({}))
          const ended = yield* agent.resume(waiting.snapshot, approved(waiting))
          assert.strictEqual(ended._tag, "Completed")
          assert.deepStrictEqual(log, ["book", "pay"])
        }).pipe(Effect.provide([key, models(turns)])))

      it.effect(`exist for streamed events, ${where}`, () =>
        Effect.gen(function*() {
          const log: Log = []
          const agent = around(made(log))
          const error = yield* Effect.flip(Stream.runDrain(agent.stream({})))
          assert.instanceOf(error, Approval.ApprovalRequired)
          const waiting = error as Approval.ApprovalRequired
          const events = yield* Stream.runCollect(
            agent.resumeStream(waiting.snapshot, waiting.pending.map((one) => Approval.approve(one)))
          )
          assert.include(events.map(({ _tag }) => _tag), "TextDelta")
          assert.deepInclude(events.at(-1), { _tag: "RunFinished", outcome: "success" })
          assert.deepStrictEqual(log, ["book", "pay"])
        }).pipe(Effect.provide([key, models(turns)])))

      it.effect(`exist for a refused decision before any call, ${where}`, () =>
        Effect.gen(function*() {
          const log: Log = []
          const agent = around(made(log))
          const waiting = paused(yield* agent.start({}))
          const wrong = approved(waiting).map((one) => ({ ...one, argumentsHash: "0" }))
          const refused = yield* Effect.flip(agent.resume(waiting.snapshot, wrong))
          assert.deepInclude(refused, { _tag: "DecisionRefused", callId: waiting.pending[0]!.callId })
          assert.deepStrictEqual(log, ["book"])
        }).pipe(Effect.provide([key, models(turns)])))
    }

    it.effect("exist for the compensation next to a failing agent", () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const agent = Agent.all("all", [made(log, {}), fails]) as never as Runs
        assert.isTrue(Exit.isFailure(yield* running(agent.run({}), seen)))
        assert.deepStrictEqual(log, ["book", "unbook"])
        assert.deepStrictEqual(seen.messages, [])
      }))

    for (const [where, around] of Object.entries(within)) {
      it.effect(`exist for a running journaled one next to a failure, ${where}`, () =>
        Effect.gen(function*() {
          const log: Log = []
          const seen = watched()
          const agent = Agent.all("all", [around(made(log, {})), fails]) as never as Runs
          const exit = yield* running(
            agent.run({}, { runId: journal.runId }).pipe(Effect.provideService(Journal.CurrentJournal, journal)),
            seen,
            { ...turns, clerk: [call("book", {}, { id: "b" }), call("rest", {}, { id: "r" })] }
          )
          assert.isTrue(Exit.isFailure(exit))
          assert.deepStrictEqual(log, ["book", "unbook"])
          assert.deepStrictEqual(seen.messages, [])
        }))
    }

    it.effect("exist for one paused earlier, next to a failure now", () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        let lives = 0
        const other = Agent.make("other", {
          ...standard,
          instructions: "other",
          input: Schema.Unknown,
          tools: [Tool.make("ask", { effects: "read", needsApproval: true, execute: () => Effect.die("no") })]
        })
        const agent = Agent.all("all", [made(log, {}), other]) as never as Waits
        const exit = yield* running(
          Effect.gen(function*() {
            const waiting = paused(yield* agent.start({}))
            lives++
            return yield* agent.resume(
              waiting.snapshot,
              approved(waiting).filter(({ callId }) => callId === "other/ask")
            )
          }),
          seen,
          { other: [call("ask", {}, { id: "ask" })] }
        )
        assert.strictEqual(lives, 1)
        assert.isTrue(Exit.isFailure(exit))
        assert.deepStrictEqual(log, ["book", "unbook"])
        assert.deepStrictEqual(seen.messages, [])
      }))
  })
}

it.effect("missing behind the end are logged; the run ends normally", () =>
  Effect.gen(function*() {
    const log: Log = []
    const seen = watched()
    let times = 0
    const once = Layer.effect(House, Effect.suspend(() => times++ === 0 ? opened : Effect.die("no house")))
    const made = clerk({}).pipe(Agent.provide(Layer.provide(desk(log), once)))
    const exit = yield* running((Agent.all("all", [made as never, fails]) as never as Runs).run({}), seen)
    assert.strictEqual(
      Exit.isFailure(exit) && (exit.cause.reasons[0] as { error?: { _tag?: string } }).error?._tag,
      "Away"
    )
    assert.deepStrictEqual(log, ["book"])
    assert.strictEqual(seen.messages.length, 1)
    assert.include(seen.messages[0], "A service of agent \"clerk\" is missing")
  }))
