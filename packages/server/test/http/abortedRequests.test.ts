/** A request whose client leaves, like a closed page, is interrupted anywhere: it is executed whole, or not at all. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Conversation, Runs, Tool } from "@recourse/core"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { MemoryRuns } from "@recourse/server"
import { Effect, Exit, Layer, Redacted } from "effect"
import { Prompt } from "effect/ai"
import { operationsBetween } from "../../../core/test/support/operations.ts"
import { Chats, type Message, type TestedChats } from "../support/chats.ts"

const key = { owner: "ada", thread: "t1" }
const message = (messageId: string): Message => ({ agent: "clerk", ...key, messageId, message: messageId })

/** Books, asks before it pays, and answers. */
const clerk = (log: Array<string>) => {
  const book = Tool.make("book", {
    effects: "write",
    execute: () => Effect.sync(() => void log.push("book")),
    compensate: () => Effect.sync(() => void log.push("unbook"))
  })
  const pay = Tool.make("pay", {
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => void log.push("pay"))
  })
  return Agent.make("clerk", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [book, pay],
    compensation: {}
  })
}

const paying = [ScriptedModel.call("book", {}, { id: "b" }), ScriptedModel.call("pay", {}, { id: "p" })]
const answering = ScriptedModel.delay("100 millis", ScriptedModel.text("Hello"))

/** Ids are the same in each run: one's resumed snapshots are not the other's. */
const unused = () => {
  const claimed = new Set<string>()
  return Layer.succeed(Approval.Resumptions, {
    claim: (id) => Effect.sync(() => claimed.size < claimed.add(id).size),
    release: (id) => Effect.sync(() => void claimed.delete(id))
  })
}

interface World {
  readonly chats: TestedChats
  readonly runs: Runs.RunsService
  readonly log: ReadonlyArray<string>
  /** State of the thread, busy or not, and its messages, by roles. */
  readonly thread: Effect.Effect<string>
}

interface Scene<A> {
  readonly turns: ReadonlyArray<ScriptedModel.Turn>
  readonly onBusy?: "refuse" | "queue" | "join" | "interrupt"
  readonly before: (world: World) => Effect.Effect<A, unknown>
  readonly request: (world: World, before: A) => Effect.Effect<unknown, unknown>
  /** State a minute later. */
  readonly look: (world: World, before: A) => Effect.Effect<string, unknown>
}

/** A scene whose request is interrupted at an operation of the whole. */
const played = <A>({ before, look, onBusy = "refuse", request, turns }: Scene<A>, interruptAt: number) =>
  Effect.suspend(() => {
    let hasStarted = false
    let isCut = false
    let told = ""
    const log: Array<string> = []
    const around = Layer.mergeAll(MemoryRuns.layer({ agents: [clerk(log)] }), Conversation.layerMemory).pipe(
      Layer.provide([ScriptedModel.layer(turns as never), Approval.layerKey(Redacted.make("k".repeat(32))), unused()])
    )
    const all = (restore: <B, E>(effect: Effect.Effect<B, E>) => Effect.Effect<B, E>) =>
      Effect.gen(function*() {
        const runs = yield* Runs.Runs
        const conversations = yield* Conversation.Conversations
        const chats = new Chats(runs, conversations, yield* Effect.scope, { onBusy })
        const thread = Effect.map(Effect.exit(conversations.read(key)), (exit) => {
          if (Exit.isFailure(exit)) return "nothing"
          const roles = exit.value.entries.flatMap(({ event }) =>
            event._tag === "MessageAdded" ? [(event.message as { readonly role: string }).role] : []
          )
          return [exit.value.thread.isRunning ? "busy" : "free", ...roles].join(" ")
        })
        const world: World = { chats, runs, log, thread }
        const made = yield* before(world)
        const exit = yield* Effect.exit(restore(Effect.suspend(() => {
          hasStarted = true
          return request(world, made)
        })))
        isCut = Exit.isFailure(exit)
        yield* Effect.sleep("1 minute")
        told = yield* look(world, made)
      })
    const effect = Effect.uninterruptibleMask((restore) =>
      Effect.scoped(Effect.provide(all(restore as never), around))
    ) as Effect.Effect<void, unknown>
    return Effect.map(VirtualTime.run(effect, { interruptAt }), ({ operations }) => ({
      hasStarted,
      isCut,
      operations,
      told
    }))
  })

/** The operations are closer together at the beginning of a request. */
const near = 50

/** State behind a request that is interrupted, at each of its operations; `whole` if it is not. */
const cutAnywhere = Effect.fnUntraced(function*<A>(scene: Scene<A>) {
  const { operations, told: whole } = yield* played(scene, Infinity)
  let from = 1
  for (let to = operations; from < to;) {
    const middle = Math.floor((from + to) / 2)
    if ((yield* played(scene, middle)).hasStarted) to = middle
    else from = middle + 1
  }
  const cut = new Set<string>()
  const places = [
    ...operationsBetween(from, Math.min(operations, from + near), 2),
    ...operationsBetween(from + near, operations, 9)
  ]
  for (const at of places) {
    const { isCut, told } = yield* played(scene, at)
    if (!isCut) break
    cut.add(told)
  }
  assert.isAbove(cut.size, 0)
  return { cut: [...cut], whole }
})

const waiting = ({ chats, runs }: World) =>
  Effect.gen(function*() {
    const { runId } = yield* chats.send(message("m1"))
    while ((yield* runs.get(runId)).status !== "waiting") yield* Effect.sleep("1 second")
    return runId
  })

const statusOf = (runs: Runs.RunsService) =>
  Effect.map(runs.list({}), (found) => found.map(({ status }) => status).join(" ") || "no run")

const look = ({ log, runs, thread }: World) =>
  Effect.map(
    Effect.all([thread, statusOf(runs)]),
    ([said, status]) => [said, status, log.join(" ")].filter((text) => text !== "").join(", ")
  )

describe("a request whose client disconnects, at each operation", () => {
  it.effect("sends its message and has it answered, or sends none", () =>
    Effect.gen(function*() {
      const { cut, whole } = yield* cutAnywhere({
        turns: [answering],
        before: () => Effect.void,
        request: ({ chats }) => chats.send(message("m1")),
        look
      })
      assert.strictEqual(whole, "free user assistant, completed")
      assert.deepStrictEqual(cut.toSorted(), ["free user assistant, completed", "nothing, no run"])
    }))

  const one = "free user assistant, completed"
  const two = "free user assistant user assistant, completed completed"
  const interrupted = "free user user assistant, completed cancelled"
  for (
    const [onBusy, behind] of [
      ["refuse", [one]],
      ["queue", [one, two]],
      ["join", [one, two]],
      ["interrupt", [one, interrupted]]
    ] as const
  ) {
    it.effect(`sends its message during a run or sends none: ${onBusy}`, () =>
      Effect.gen(function*() {
        const { cut, whole } = yield* cutAnywhere({
          turns: [answering, answering],
          onBusy,
          before: ({ chats }) => chats.send(message("m1")),
          request: ({ chats }) => chats.send(message("m2")),
          look
        })
        assert.strictEqual(whole, behind.at(-1))
        assert.sameMembers(cut, [...behind])
      }))
  }

  it.effect("decides and has the run continue, or the run waits", () =>
    Effect.gen(function*() {
      const { cut, whole } = yield* cutAnywhere({
        turns: [...paying, answering],
        before: waiting,
        request: ({ chats }, runId) =>
          chats.decide({ ...key, by: "ada" }, [[{ runId, segment: 0, callId: "p" }, { decision: "approve" }]]),
        look
      })
      assert.strictEqual(whole, "free user assistant tool assistant tool assistant, completed, book pay")
      assert.deepStrictEqual(cut.toSorted(), [whole, "free user, waiting, book"])
    }))

  it.effect("stops a waiting run and compensates it, or the run waits", () =>
    Effect.gen(function*() {
      const { cut, whole } = yield* cutAnywhere({
        turns: paying,
        before: waiting,
        request: ({ chats }, runId) => chats.stop(runId, "ada"),
        look
      })
      assert.strictEqual(whole, "free user assistant tool assistant tool, cancelled, book unbook")
      assert.deepStrictEqual(cut.toSorted(), [whole, "free user, waiting, book"])
    }))

  it.effect("stops a running run, or the run continues", () =>
    Effect.gen(function*() {
      const { cut, whole } = yield* cutAnywhere({
        turns: [ScriptedModel.call("book", {}, { id: "b" }), answering],
        before: ({ chats }) =>
          Effect.tap(Effect.map(chats.send(message("m1")), ({ runId }) => runId), Effect.sleep("50 millis")),
        request: ({ chats }, runId) => chats.stop(runId, "ada"),
        look
      })
      assert.strictEqual(whole, "free user assistant tool, cancelled, book unbook")
      assert.deepStrictEqual(cut.toSorted(), ["free user assistant tool assistant, completed, book", whole])
    }))

  it.effect("adds its message once, if the start failed and is repeated", () =>
    Effect.gen(function*() {
      const runs = yield* Runs.Runs
      const conversations = yield* Conversation.Conversations
      let times = 0
      const start: Runs.RunsService["start"] = (request) =>
        times++ === 0
          ? Effect.fail(new Runs.RunsUnavailable({ operation: "start", reason: new Error("away") }))
          : runs.start(request)
      const chats = new Chats({ ...runs, start }, conversations, yield* Effect.scope, { onBusy: "refuse" })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(chats.send(message("m1")))))
      const { runId } = yield* chats.send(message("m1"))
      yield* runs.wait(runId)
      yield* Effect.yieldNow
      const { entries } = yield* conversations.read(key)
      assert.deepStrictEqual(
        Conversation.visibleMessages(entries).map(({ message }) => message.role),
        ["user", "assistant"]
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(
        Layer.mergeAll(MemoryRuns.layer({ agents: [clerk([])] }), Conversation.layerMemory).pipe(
          Layer.provide([
            ScriptedModel.layer([ScriptedModel.text("Hello")]),
            Approval.layerKey(Redacted.make("k".repeat(32)))
          ])
        )
      )
    ))
})
