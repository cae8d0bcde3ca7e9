/** Statements of durable runs on their database: those of the table in `docs/sizing.md`. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { type Duration, Effect, Layer, Redacted, Schema, Stream } from "effect"
import { Prompt } from "effect/ai"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"
import { type Hook, watchedSql } from "../support/watchedSql.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

const tool = (name: string, effects: "read" | "write", needsApproval = false) =>
  Tool.make(name, { success: Schema.String, effects, needsApproval, execute: () => Effect.succeed(name) })

const Clerk = Durable.make(
  Agent.make("clerk", {
    tools: [tool("look", "read"), tool("book", "write"), tool("pay", "write", true)],
    defaults: { onError: Recovery.keepGoing }
  })
)

const Chat = Durable.make(
  Agent.make("chat", { input: Prompt.Prompt, prompt: (conversation) => conversation }),
  { input: Prompt.Prompt }
)

/** Calls the tools that the input names, one after the other. */
const model = ScriptedModel.layer(({ prompt }) => {
  const user = prompt.content.find(({ role }) => role === "user")
  const names = JSON.stringify(user).match(/look|book|pay/g) ?? []
  const name = names[prompt.content.filter(({ role }) => role === "assistant").length]
  return name === undefined ? ScriptedModel.text("Done.") : ScriptedModel.call(name, {})
})

const wordOf = (statement: string): string =>
  statement.startsWith("WITH given")
    ? "step"
    : statement.startsWith("INSERT INTO \"recourse_runs\"")
    ? "start"
    : statement.includes("status = 'running', lent = 0, epoch = epoch + 1")
    ? "claim"
    : statement.split(" ", 1)[0]!

/** A runner with a log of its statements: a word for each, and one for each transaction with its number of statements. */
const withLog = async (
  open: (typeof supported)[number]["open"],
  poll: Duration.Input,
  test: (take: () => ReadonlyArray<string>) => Effect.Effect<void, unknown, Runs.Runs>
) => {
  const { address, close } = await open()
  const sql = sqlLayer(address)
  let log: Array<string> = []
  /** Of the connections that are in a transaction: its number of statements. */
  const transactions = new Map<unknown, number>()
  const before: Hook = (text, connection) =>
    Effect.sync(() => {
      const word = wordOf(text.trim().replaceAll(/\s+/g, " "))
      const within = transactions.get(connection)
      if (word === "BEGIN") transactions.set(connection, 0)
      else if (word === "COMMIT") {
        log.push(`transaction of ${within}`)
        transactions.delete(connection)
      } else if (within === undefined) log.push(word)
      else transactions.set(connection, within + 1)
    })
  /** The statements since the last time, with transactions as one. */
  const take = () => {
    const words = log
    log = []
    return words
  }
  await Effect.runPromise(Effect.scoped(Layer.build(RunStore.layerSql().pipe(Layer.provide(sql)))))
  const store = RunStore.layerSql({ create: false }).pipe(
    Layer.provide(watchedSql({ before, after: () => Effect.void }))
  )
  const runners = Durable.layer([Clerk, Chat], { poll, lease: "10 minutes" }).pipe(
    Layer.provide([store, model, Approval.layerKey(Redacted.make("a key of at least thirty-two bytes"))]),
    Layer.provide(sql)
  )
  try {
    await Effect.runPromise(test(take).pipe(Effect.provide(runners), Effect.scoped))
  } finally {
    await close()
  }
}

describe.each(supported)("statements of a durable run: $name", ({ name, open }) => {
  it("are one for start, read, write record, outcome, and end", () =>
    withLog(open, "10 minutes", (take) =>
      Effect.gen(function*() {
        yield* Effect.sleep("100 millis")
        take()
        yield* Clerk.run("r1", "look book")
        const words = take().filter((word) => word !== "claim" && word !== "SELECT")
        // SQLite takes no statement that writes to two tables.
        const end = name.startsWith("PostgreSQL") ? ["step"] : ["transaction of 2"]
        assert.deepStrictEqual(words, ["start", "step", "step", "step", "step", ...end])
      })))

  it("are two for a start with a conversation, transactional on SQLite", () =>
    withLog(open, "10 minutes", (take) =>
      Effect.gen(function*() {
        yield* Effect.sleep("100 millis")
        take()
        const prompt = Prompt.concat(Prompt.make("Good day"), "How are you?")
        yield* Chat.start("r1", prompt)
        const start = name.startsWith("PostgreSQL") ? ["SELECT", "WITH"] : ["transaction of 3"]
        assert.deepStrictEqual(take().slice(0, start.length), start)
        yield* Chat.await("r1")
        const end = name.startsWith("PostgreSQL") ? "step" : "transaction of 3"
        assert.strictEqual(take().findLast((word) => word.startsWith("transaction") || word === "step"), end)
      })))

  it("are a transaction of five for a wait, two for resumption", () =>
    withLog(open, "10 minutes", (take) =>
      Effect.gen(function*() {
        yield* Effect.sleep("100 millis")
        take()
        yield* Clerk.start("r1", "pay")
        const waits = Effect.map(Clerk.poll("r1"), ({ status }) => status === "waiting")
        yield* Effect.repeat(Effect.delay(waits, "20 millis"), { until: (is) => is })
        assert.include(take(), "transaction of 5")
        const { pending } = yield* Clerk.poll("r1")
        yield* Clerk.decide("r1", pending.map((call) => Approval.approve(call)))
        yield* Clerk.await("r1")
        const ofDecision = take().filter((word) => word.startsWith("transaction"))
        assert.deepStrictEqual(ofDecision.slice(0, 2), ["transaction of 4", "transaction of 2"])
      })))

  it("are one and a transaction for an approval by a client", async () => {
    const { address, close } = await open()
    const log: Array<string> = []
    const before: Hook = (text) => Effect.sync(() => void log.push(wordOf(text.trim())))
    const sql = sqlLayer(address)
    const stored = RunStore.layerSql().pipe(Layer.provide(sql))
    const key = Approval.layerKey(Redacted.make("a key of at least thirty-two bytes"))
    const runner = Durable.layer([Clerk]).pipe(Layer.provide([stored, model, key]))
    const watched = RunStore.layerSql({ create: false }).pipe(
      Layer.provide(watchedSql({ before, after: () => Effect.void })),
      Layer.provide(sql)
    )
    const waits = Effect.map(Clerk.poll("r1"), ({ status }) => status === "waiting")
    const paused = Effect.andThen(
      Clerk.start("r1", "pay"),
      Effect.repeat(Effect.delay(waits, "20 millis"), { until: (is) => is })
    )
    const decided = Effect.gen(function*() {
      const { pending } = yield* Clerk.poll("r1")
      log.length = 0
      yield* Clerk.decide("r1", pending.map((call) => Approval.approve(call)))
    })
    try {
      await Effect.runPromise(Effect.scoped(Effect.provide(paused, runner)))
      await Effect.runPromise(
        Effect.scoped(Effect.provide(decided, Durable.layerClient([Clerk]).pipe(Layer.provide(watched))))
      )
      assert.deepStrictEqual(log.slice(0, 2), ["SELECT", "BEGIN"])
    } finally {
      await close()
    }
  })

  it("are one for each poll of a runner without runs", () =>
    withLog(open, "20 millis", (take) =>
      Effect.gen(function*() {
        yield* Effect.sleep("100 millis")
        take()
        yield* Effect.sleep("200 millis")
        const words = take()
        assert.deepStrictEqual([...new Set(words)], ["claim"])
        assert.isAtMost(words.length, 11)
      })))

  it("are two for each remote poll, and one for five seconds", async () => {
    const { address, close } = await open()
    const log: Array<string> = []
    const before: Hook = (text) => Effect.sync(() => void log.push(wordOf(text.trim())))
    const sql = sqlLayer(address)
    const stored = RunStore.layerSql().pipe(Layer.provide(sql))
    const Slow = Durable.make(Agent.make("slow", {}))
    const runner = Durable.layer([Slow]).pipe(
      Layer.provide([stored, ScriptedModel.layer([ScriptedModel.delay("1 minute", ScriptedModel.text("Done."))])])
    )
    const client = Durable.layerClient([Slow], { poll: "50 millis" }).pipe(
      Layer.provide(
        RunStore.layerSql({ create: false }).pipe(
          Layer.provide(watchedSql({ before, after: () => Effect.void })),
          Layer.provide(sql)
        )
      )
    )
    const reader = Effect.gen(function*() {
      yield* Effect.forkScoped(Stream.runDrain((yield* Runs.Runs).events("r1", 0)))
      yield* Effect.sleep("500 millis")
      log.length = 0
      yield* Effect.sleep("1 second")
      return [...log]
    }).pipe(Effect.provide(client), Effect.scoped)
    try {
      const words = await Effect.runPromise(
        Effect.andThen(Slow.start("r1", "Hi"), Effect.andThen(Effect.sleep("200 millis"), reader)).pipe(
          Effect.provide(runner),
          Effect.scoped
        )
      )
      const selects = words.filter((word) => word === "SELECT").length
      assert.isAbove(selects, 3)
      // It was marked as read in the first half second.
      assert.strictEqual(words.length, selects)
    } finally {
      await close()
    }
  })
})
