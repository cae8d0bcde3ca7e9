/**
 * Questions that a resumed or ended run abandons: each is withdrawn once, at its path, for listeners and for the audit.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel, VirtualTime } from "@recourse/testing"
import {
  Agent,
  AgentEvent,
  Approval,
  Audit,
  ErrorProjection,
  Recovery,
  RunRecord,
  Tool,
  type ToolCall
} from "@recourse/core"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Option, Redacted, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { instantDigests } from "../support/instantDigests.ts"
import { collect } from "../support/kit.ts"

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "Closed.", outcome: "not_done" })
) {}

type Call = Effect.Effect<unknown, unknown, ToolCall.ToolCall>
type Named = Tool.Any & { readonly call: Call }
type Agents =
  & Agent.Agent<string, string, unknown, never>
  & Agent.Resumable<string, string, unknown, never, never>

const tool = (name: string, options: object): Named =>
  Tool.make(name, { success: Schema.Unknown, failure: Declined, ...options } as never) as never

const agentOf = (name: string, tools: ReadonlyArray<Tool.Any>, options: object = {}): Agents =>
  Agent.make(
    name,
    { instructions: name, tools, defaults: { onError: Recovery.standard }, ...options } as never
  ) as never

const toolOf = (agent: Agents, options: object = {}): Named =>
  Agent.asTool((agent as never as { readonly name: string }).name, {
    description: "Does it",
    parameters: Schema.Struct({}),
    success: Schema.String,
    ...options
  } as never)(agent as never) as never

const input = { input: Schema.Unknown }

/** The tools of all agents, and their executions. */
const world = () => {
  const log: Array<string> = []
  const does = (name: string) => Effect.sync(() => (log.push(name), `${name} is done`))
  const ask = tool("ask", { effects: "write", needsApproval: true, execute: () => does("ask") })
  const look = tool("look", { effects: "read", execute: () => does("look") })
  const book = tool("book", {
    effects: "write",
    execute: () => does("book"),
    compensate: () => Effect.sync(() => void log.push("unbook"))
  })
  const made = (name: string, call: Call, options: object = {}): Named =>
    tool(name, { effects: "read", mayRequestApproval: true, execute: () => call, ...options })
  /** Ends the run that it is called in, once it is approved. */
  const gate = tool("gate", { effects: "read", needsApproval: true, execute: () => Effect.die("closed") })
  return { ask, book, does, gate, log, look, made }
}

const ids = (names: string): ReadonlyArray<ScriptedModel.Turn> => [
  ScriptedModel.calls(names.split(" ").map((name) => ({ id: name, name, params: {} }))),
  ScriptedModel.text("done")
]

/** Each agent makes its calls in one answer, with the names of the tools as ids. */
const models = (calls: Readonly<Record<string, string>>) =>
  ScriptedModel.layer((request, index) => {
    const { content } = request.prompt.content[0]!
    return ScriptedModel.steps(ids(calls[content as string]!) as never)(request, index)
  })

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

/** An execution of a run, and its events and audit. */
const played = (calls: Readonly<Record<string, string>>, effect: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    const audit: Array<string> = []
    const exit = yield* Effect.exit(effect).pipe(Effect.provide(Layer.mergeAll(
      layer,
      key,
      models(calls),
      Audit.layer(({ callId, decision, path }) =>
        Effect.sync(() => void audit.push(`${path.join("/")} ${decision} ${callId}`))
      )
    )))
    return {
      audit,
      events,
      exit,
      results: events.flatMap((event) =>
        event._tag === "ToolResult" ? [`${event.path.join("/")} ${event.callId} ${event.code ?? "done"}`] : []
      ),
      started: events.flatMap((event) =>
        event._tag === "ToolCallStarted" ? [`${event.path.join("/")} ${event.callId}`] : []
      ),
      interrupted: events.flatMap((event) =>
        event._tag === "ToolAttemptFailed" && event.error === "Interrupted"
          ? [`${event.path.join("/")} ${event.callId} ${event.tool} ${event.attempt}`]
          : []
      )
    }
  })

const pausedOf = ({ exit }: { readonly exit: Exit.Exit<unknown, unknown> }): Approval.Paused => {
  if (Exit.isSuccess(exit) && exit.value instanceof Approval.Paused) return exit.value
  throw new Error(`not paused: ${JSON.stringify(exit)}`)
}

/** Resumes the pause like another process, with some decisions. */
const goneOn = (
  calls: Readonly<Record<string, string>>,
  agent: Agents,
  behind: Agents,
  decide: (call: Approval.PendingCall) => ReadonlyArray<Approval.Decision>
) =>
  Effect.gen(function*() {
    const first = yield* played(calls, agent.start("go"))
    const { pending, snapshot } = pausedOf(first)
    const went = yield* played(calls, behind.resume(JSON.parse(JSON.stringify(snapshot)), pending.flatMap(decide)))
    /** Path of a call: the agent's run, and the outer call. */
    const placeOf = ({ agentRunId, path, parent }: AgentEvent.AgentEvent) => JSON.stringify([agentRunId, path, parent])
    const places = new Map(
      first.events.flatMap((event) =>
        event._tag === "ToolCallStarted" ? [[`${event.path.join("/")} ${event.callId}`, placeOf(event)]] : []
      )
    )
    return {
      ...went,
      asked: pending.map(({ callId }) => callId),
      /** Results that are emitted with another path than their calls. */
      elsewhere: went.events.filter((event) =>
        (event._tag === "ToolResult" || event._tag === "ToolCompensated") &&
        places.get(`${event.path.join("/")} ${event.callId}`) !== placeOf(event)
      )
    }
  })

const only = (id: string) => (call: Approval.PendingCall) => call.callId === id ? [Approval.approve(call)] : []

describe("a run that ends before its waiting calls resume", () => {
  it.effect("withdraws every question, also nested, and ends outer calls", () =>
    Effect.gen(function*() {
      const { ask, book, gate, log, look, made } = world()
      const deep = toolOf(agentOf("deep", [look, ask], input))
      const outer = made("outer", Effect.andThen(book.call, ask.call))
      const mid = toolOf(agentOf("mid", [look, ask, outer, deep, made("other", ask.call)], input))
      const boss = agentOf("boss", [mid, look, ask, made("plain", ask.call), gate])
      const calls = { boss: "mid look ask plain gate", mid: "look ask outer deep other", deep: "look ask" }
      const { asked, audit, elsewhere, exit, interrupted, results, started } = yield* goneOn(
        calls,
        boss,
        boss,
        only("gate")
      )
      assert.deepStrictEqual(asked, [
        "mid/ask",
        "mid/outer/ask_1",
        "mid/deep/ask",
        "mid/other/ask_1",
        "ask",
        "plain/ask_1",
        "gate"
      ])
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(elsewhere, [])
      // Earlier events are not repeated: no call except the approved one, and no result of `look`.
      assert.deepStrictEqual(started, ["boss gate"])
      assert.deepStrictEqual(results, [
        "boss/mid/deep ask approval_required",
        "boss/mid outer/ask_1 approval_required",
        "boss/mid other/ask_1 approval_required",
        "boss/mid ask approval_required",
        "boss/mid outer outcome_unknown",
        "boss/mid deep approval_required",
        "boss/mid other approval_required",
        "boss plain/ask_1 approval_required",
        "boss mid outcome_unknown",
        "boss ask approval_required",
        "boss plain approval_required",
        "boss gate not_run"
      ])
      assert.deepStrictEqual(interrupted, ["boss/mid deep deep 1", "boss mid mid 1"])
      assert.deepStrictEqual(audit, [
        "boss approved gate",
        "boss defect gate",
        "boss/mid outcome_unknown outer",
        "boss outcome_unknown mid",
        "boss cancelled gate"
      ])
      assert.deepStrictEqual(log, ["look", "book", "look", "look"])
    }))

  it.effect("withdraws unreached calls", () =>
    Effect.gen(function*() {
      const { ask, book, gate, log, look, made } = world()
      const deep = toolOf(agentOf("deep", [look, ask], input))
      const outer = made("outer", Effect.andThen(book.call, ask.call))
      const mid = toolOf(agentOf("mid", [look, ask, outer, deep], input))
      const boss = agentOf("boss", [gate, mid, look, ask, made("plain", ask.call)], { concurrency: 1 })
      const calls = { boss: "gate mid look ask plain", mid: "look ask outer deep", deep: "look ask" }
      const { audit, exit, interrupted, results, started } = yield* goneOn(calls, boss, boss, only("gate"))
      assert.isTrue(Exit.isFailure(exit))
      // Each was emitted before the pause.
      assert.deepStrictEqual(started, ["boss gate"])
      assert.deepStrictEqual(results, [
        "boss/mid/deep ask approval_required",
        "boss/mid outer/ask_1 approval_required",
        "boss/mid ask approval_required",
        "boss/mid outer outcome_unknown",
        "boss/mid deep approval_required",
        "boss plain/ask_1 approval_required",
        "boss gate not_run",
        "boss mid outcome_unknown",
        "boss ask not_run",
        "boss plain not_run"
      ])
      assert.deepStrictEqual(interrupted, ["boss/mid deep deep 1", "boss mid mid 1"])
      assert.deepStrictEqual(audit, [
        "boss approved gate",
        "boss defect gate",
        "boss/mid outcome_unknown outer",
        "boss cancelled plain/ask_1",
        "boss cancelled gate",
        "boss outcome_unknown mid",
        "boss cancelled ask",
        "boss cancelled plain"
      ])
      assert.deepStrictEqual(log, ["look", "book", "look", "look"])
    }))

  for (
    const [what, within, isRunning] of [
      ["waits itself", undefined, false],
      ["is an agent that waits", "boss/ask ask", true],
      ["waits for a call of its tool", "boss ask/ask_1", true]
    ] as const
  ) {
    it.effect(`when recovery fails around a call that ${what}`, () =>
      Effect.gen(function*() {
        const { ask, log, made } = world()
        const one = {
          "waits itself": ask,
          "is an agent that waits": toolOf(agentOf("ask", [ask], input)),
          "waits for a call of its tool": made("ask", ask.call)
        }[what]
        const breaking = (one as never as Tool.Tool<string, never, never, never, never>).pipe(
          Tool.onError(((call: Call) => Effect.ensuring(call, Effect.die("no"))) as never)
        ) as never as Named
        const { exit, interrupted, results } = yield* played(
          { boss: "ask", ask: "ask" },
          agentOf("boss", [breaking]).start("go")
        )
        const defects = Exit.isFailure(exit)
          ? exit.cause.reasons.flatMap((one) => Cause.isDieReason(one) ? [one.defect] : [])
          : []
        assert.deepStrictEqual(defects, ["no"])
        assert.deepStrictEqual(results, [
          ...(within === undefined ? [] : [`${within} approval_required`]),
          "boss ask not_run"
        ])
        assert.deepStrictEqual(interrupted, isRunning ? ["boss ask ask 1"] : [])
        assert.deepStrictEqual(log, [])
      }))
  }

  it.effect("is refused without withdrawals if a waiting agent is missing", () =>
    Effect.gen(function*() {
      const { ask, gate, log } = world()
      const mid = toolOf(agentOf("mid", [ask], input))
      const calls = { boss: "mid gate", mid: "ask" }
      const gone = yield* goneOn(calls, agentOf("boss", [mid, gate]), agentOf("boss", [gate]), only("gate"))
      assert.deepStrictEqual([gone.results, gone.audit], [[], []])
      assert.isTrue(Exit.isFailure(gone.exit))
      assert.deepStrictEqual(log, [])
    }))

  it.effect("withdraws the question of a composed agent's step at its path", () =>
    Effect.gen(function*() {
      const { ask, gate } = world()
      const mid = toolOf(Agent.all("mid", [agentOf("deep", [ask], input)] as never) as never)
      const boss = agentOf("boss", [mid, gate])
      const { elsewhere, interrupted, results } = yield* goneOn(
        { boss: "mid gate", deep: "ask" },
        boss,
        boss,
        only("gate")
      )
      assert.deepStrictEqual(results, [
        "boss/mid/deep ask approval_required",
        "boss mid approval_required",
        "boss gate not_run"
      ])
      assert.deepStrictEqual(interrupted, ["boss mid mid 1"])
      assert.deepStrictEqual(elsewhere, [])
    }))

  it.effect("compensates the agents that waited", () =>
    Effect.gen(function*() {
      const { ask, book, gate, log } = world()
      const deep = toolOf(agentOf("deep", [book, ask], { ...input, compensation: {} }))
      const mid = toolOf(agentOf("mid", [deep], input))
      const boss = agentOf("boss", [mid, gate])
      const calls = { boss: "mid gate", mid: "deep", deep: "book ask" }
      const { audit, elsewhere } = yield* goneOn(calls, boss, boss, only("gate"))
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.deepStrictEqual(elsewhere, [])
      assert.include(audit, "boss/mid/deep compensated book")
    }))
})

describe("a run that ends while an agent resumes, at each event", () => {
  it.effect.each([1, 2])(
    "each call that was told has one result, and what is cut off is undone once: part %i",
    (part) =>
      Effect.gen(function*() {
        const calls = { boss: "mid gate", mid: "deep", deep: "book ask" }
        let cutOff = 0
        for (let last = part; last < 30; last += 2) {
          const { ask, book, log } = world()
          const heard = yield* Deferred.make<void>()
          let told = 0
          const gate = tool("gate", {
            effects: "read",
            needsApproval: true,
            execute: () => Effect.andThen(Deferred.await(heard), Effect.die("no"))
          })
          /** Listeners are slow, and in the second execution one of them opens the gate. */
          const listening = AgentEvent.listen((event) =>
            Effect.andThen(
              Effect.suspend(() => {
                if (event._tag === "RunStarted" && event.path.length === 1) lives++
                if (lives < 2) return Effect.void
                // Behind the whole of it at the latest.
                isWhole ||= told + 1 < last && event._tag === "ToolResult" && event.callId === "mid"
                return ++told === last || isWhole ? Deferred.succeed(heard, undefined) : Effect.void
              }),
              Effect.forEach(Array.from({ length: 10 }), () => Effect.yieldNow, { discard: true })
            )
          )
          let lives = 0
          let isWhole = false
          const deep = toolOf(agentOf("deep", [book, ask], { ...input, compensation: {} }))
          const mid = toolOf(agentOf("mid", [deep], input))
          const boss = agentOf("boss", [mid, gate])
          const { events, results } = yield* goneOn(calls, boss, boss, (call) => [Approval.approve(call)]).pipe(
            Effect.provide(listening)
          )
          if (isWhole) break
          const about = `event ${last}: ${results.join(", ")}`
          const ended = new Map(results.map((line) => line.split(/ (?=\S+$)/) as [string, string]))
          assert.deepStrictEqual([...ended.keys()].toSorted(), [
            "boss gate",
            "boss mid",
            "boss/mid deep",
            "boss/mid/deep ask"
          ], about)
          assert.strictEqual(results.length, 4, about)
          // An agent that has answered is not compensated, also if its call was interrupted after that.
          const isDone = events.some((event) =>
            event._tag === "AgentFinished" && event.path.at(-1) === "deep" && event.outcome === "success"
          )
          const askEnded = ended.get("boss/mid/deep ask")!
          assert.include(
            isDone ? ["done"] : ["approval_required", "done", "not_run", "outcome_unknown"],
            askEnded,
            about
          )
          const isMade = log.includes("ask")
          if (askEnded === "done" || askEnded === "outcome_unknown") assert.isTrue(isMade, about)
          else assert.isFalse(isMade, about)
          assert.deepStrictEqual(log, ["book", ...(isMade ? ["ask"] : []), ...(isDone ? [] : ["unbook"])], about)
          assert.include(isDone ? ["done", "outcome_unknown"] : ["outcome_unknown"], ended.get("boss mid"), about)
          if (!isMade) cutOff++
        }
        assert.isAbove(cutOff, 0)
      }).pipe(Effect.provide(instantDigests))
  )
})

it.effect("a resumption interrupted at its start withdraws none: snapshot stays usable", () =>
  Effect.gen(function*() {
    const { ask, log } = world()
    const boss = agentOf("boss", [ask])
    const { pending, snapshot } = pausedOf(yield* played({ boss: "ask" }, boss.start("go")))
    const started = yield* Deferred.make<void>()
    const { events, layer } = collect()
    const audit: Array<string> = []
    const resumed = boss.resume(JSON.parse(JSON.stringify(snapshot)), pending.map((call) => Approval.approve(call)))
    const fiber = yield* Effect.forkChild(Effect.provide(resumed, [
      key,
      models({ boss: "ask" }),
      layer,
      AgentEvent.listen(({ _tag }) =>
        _tag === "RunStarted"
          ? Effect.andThen(
            Deferred.succeed(started, undefined),
            Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow, { discard: true })
          )
          : Effect.void
      ),
      Audit.layer(({ decision }) => Effect.sync(() => void audit.push(decision)))
    ]))
    yield* Deferred.await(started)
    yield* Fiber.interrupt(fiber)
    assert.deepStrictEqual(events.filter(({ _tag }) => _tag === "ToolResult"), [])
    assert.notInclude(audit, "cancelled")
    assert.deepStrictEqual(log, [])
  }))

it.effect.each([0, 1, 2])(
  "a run that is interrupted behind a write undoes what waited, though nobody has come to it yet: part %i",
  (part) =>
    Effect.gen(function*() {
      const calls = { boss: "pay mid", mid: "deep", deep: "book ask" }
      const make = () => {
        const { ask, book, does, log } = world()
        const pay = tool("pay", { effects: "write", needsApproval: true, execute: () => does("pay") })
        const deep = toolOf(agentOf("deep", [book, ask], { ...input, compensation: {} }))
        const boss = agentOf("boss", [pay, toolOf(agentOf("mid", [deep], input))], { concurrency: 1 })
        return { boss, log }
      }
      const { pending, snapshot } = pausedOf(yield* played(calls, make().boss.start("go")))
      const decisions = pending.map((call) => Approval.approve(call))
      const cutOff = (interruptAt: number) => {
        const { boss, log } = make()
        const again = Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) })
        const resumed = Effect.provide(
          boss.resume(JSON.parse(JSON.stringify(snapshot)), decisions),
          [key, models(calls), again]
        )
        return Effect.map(
          VirtualTime.run(resumed as Effect.Effect<unknown>, { interruptAt }),
          ({ operations }) => ({ log, operations })
        )
      }
      const { operations } = yield* cutOff(Infinity)
      const firstWith = Effect.fnUntraced(function*(what: string) {
        let from = 1
        for (let to = operations; from < to;) {
          const middle = Math.floor((from + to) / 2)
          if ((yield* cutOff(middle)).log.includes(what)) to = middle
          else from = middle + 1
        }
        return from
      })
      const from = yield* firstWith("pay")
      const to = yield* firstWith("ask")
      assert.isBelow(from, to)
      for (let at = from + 4 * part; at < to; at += 12) {
        const { log } = yield* cutOff(at)
        assert.deepStrictEqual(log, ["pay", "unbook"], `operation ${at} of ${from} to ${to}`)
      }
    })
)

describe("a call that resumes", () => {
  const calls = { boss: "outer" }
  const approve = (call: Approval.PendingCall) => [Approval.approve(call)]
  const reject = (call: Approval.PendingCall) => [Approval.reject(call, "too much")]

  for (const isPart of [false, true]) {
    const about = isPart ? "behind a write" : "with nothing done before"
    const outerOf = ({ ask, book, made }: ReturnType<typeof world>) => {
      let times = 0
      const asks = isPart ? Effect.andThen(book.call, ask.call) : ask.call
      return made("outer", Effect.suspend(() => times++ === 0 ? asks : Effect.succeed("without")))
    }

    it.effect(`without the approved call withdraws the question: ${about}`, () =>
      Effect.gen(function*() {
        const here = world()
        const boss = agentOf("boss", [outerOf(here)])
        const { audit, results } = yield* goneOn(calls, boss, boss, approve)
        assert.deepStrictEqual(audit, ["boss approved outer/ask_1", "boss cancelled outer/ask_1"])
        assert.deepStrictEqual(results, ["boss outer/ask_1 approval_required", "boss outer done"])
        assert.notInclude(here.log, "ask")
      }))

    it.effect(`with a rejection names its author, audited once: ${about}`, () =>
      Effect.gen(function*() {
        const here = world()
        const boss = agentOf("boss", [outerOf(here)])
        const { audit, events, results } = yield* goneOn(calls, boss, boss, reject)
        assert.deepStrictEqual(audit, ["boss rejected outer/ask_1"])
        assert.deepStrictEqual(results, [
          "boss outer/ask_1 permission_denied",
          `boss outer ${isPart ? "outcome_unknown" : "permission_denied"}`
        ])
        const told = events.flatMap((event) => event._tag === "ToolResult" ? [event] : [])
        assert.deepInclude(told[0], { callId: "outer/ask_1", tool: "ask", deniedBy: "person" })
        assert.include(JSON.stringify(told[0]), "too much")
        assert.notInclude(here.log, "ask")
      }))
  }

  it.effect("and makes the approved call emits its result, without the question", () =>
    Effect.gen(function*() {
      const { ask, log, made } = world()
      const boss = agentOf("boss", [made("outer", ask.call)])
      const { audit, results } = yield* goneOn(calls, boss, boss, approve)
      assert.deepStrictEqual(audit, ["boss approved outer/ask_1"])
      assert.deepStrictEqual(results, ["boss outer/ask_1 done", "boss outer done"])
      assert.deepStrictEqual(log, ["ask"])
    }))

  it.effect("and waits for the next one does not mention the first", () =>
    Effect.gen(function*() {
      const { ask, log, made } = world()
      const pay = tool("pay", { effects: "write", needsApproval: true, execute: () => Effect.succeed("paid") })
      const boss = agentOf("boss", [made("outer", Effect.andThen(ask.call, pay.call))])
      const { audit, results } = yield* goneOn(calls, boss, boss, approve)
      assert.deepStrictEqual(audit, ["boss approved outer/ask_1", "boss approval_requested outer/pay_1"])
      assert.deepStrictEqual(results, ["boss outer/ask_1 done"])
      assert.deepStrictEqual(log, ["ask"])
    }))

  it.effect("and makes the approved call under another id ends the question", () =>
    Effect.gen(function*() {
      const { ask, log, made } = world()
      let times = 0
      const middle = made("middle", Effect.suspend(() => times++ % 2 === 0 ? Effect.succeed("early") : ask.call))
      const twice = (call: Call) => Effect.andThen(call, call)
      const outer = made("outer", middle.call) as never as Tool.Tool<string, never, never, never, never>
      const boss = agentOf("boss", [outer.pipe(Tool.onError(twice as never)) as never])
      const { asked, audit, results } = yield* goneOn(calls, boss, boss, approve)
      assert.deepStrictEqual(asked, ["outer/middle_2/ask_1"])
      assert.deepStrictEqual(audit, ["boss approved outer/middle_2/ask_1"])
      assert.deepStrictEqual(results, [
        "boss outer/middle_2 done",
        "boss outer/middle_1/ask_1 done",
        "boss outer/middle_1 done",
        "boss outer/middle_2/ask_1 approval_required",
        "boss outer done"
      ])
      assert.deepStrictEqual(log, ["ask"])
    }))

  it.effect("and ends with the approved call running withdraws none", () =>
    Effect.gen(function*() {
      for (const effects of ["write", "read"]) {
        const { does, log, look, made } = world()
        const ask = tool("ask", {
          effects,
          needsApproval: true,
          execute: () => Effect.andThen(does("ask"), Effect.never)
        })
        let lives = 0
        const aside = Effect.andThen(Effect.forkChild(ask.call, { startImmediately: true }), Effect.sleep("1 second"))
        const boss = agentOf("boss", [made("outer", Effect.suspend(() => lives++ === 0 ? ask.call : aside)), look])
        const { audit, results } = yield* Drive.drive(goneOn({ boss: "outer look" }, boss, boss, approve))
        assert.deepStrictEqual(audit, ["boss approved outer/ask_1"])
        assert.deepStrictEqual(results, [
          "boss outer done",
          `boss outer/ask_1 ${effects === "write" ? "outcome_unknown" : "not_run"}`
        ])
        assert.include(log, "ask")
      }
    }))

  it.effect("with a rejection, interrupted anywhere, is either rejected or cancelled", () =>
    Effect.gen(function*() {
      const { ask, made } = world()
      const boss = agentOf("boss", [made("outer", ask.call)])
      const { pending, snapshot } = pausedOf(yield* played(calls, boss.start("go")))
      const seen = new Set<string>()
      for (let interruptAt = 1, isOver = false; !isOver; interruptAt += 7) {
        const { events, layer } = collect()
        const audit: Array<string> = []
        const resumed = boss.resume(JSON.parse(JSON.stringify(snapshot)), pending.flatMap(reject)).pipe(Effect.provide([
          key,
          models(calls),
          layer,
          Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) }),
          Audit.layer(({ callId, decision }) => Effect.sync(() => void audit.push(`${decision} ${callId}`)))
        ]))
        const { exit } = yield* VirtualTime.run(resumed as Effect.Effect<unknown>, { interruptAt })
        isOver = Exit.isSuccess(exit)
        const codes = events.flatMap((event) => event._tag === "ToolResult" ? [`${event.callId} ${event.code}`] : [])
        seen.add([...audit, ...codes].join(", "))
      }
      assert.deepStrictEqual([...seen].toSorted(), [
        "",
        "cancelled outer/ask_1, cancelled outer, outer/ask_1 approval_required, outer not_run",
        "rejected outer/ask_1, outer/ask_1 permission_denied, outer permission_denied"
      ])
    }))

  it.effect("and waits for another call instead withdraws the first question", () =>
    Effect.gen(function*() {
      const { ask, log, made } = world()
      const pay = tool("pay", { effects: "write", needsApproval: true, execute: () => Effect.succeed("paid") })
      let times = 0
      const boss = agentOf("boss", [made("outer", Effect.suspend(() => times++ === 0 ? ask.call : pay.call))])
      const { audit, exit, results } = yield* goneOn(calls, boss, boss, approve)
      assert.deepStrictEqual(audit, [
        "boss approved outer/ask_1",
        "boss cancelled outer/ask_1",
        "boss approval_requested outer/pay_1"
      ])
      assert.deepStrictEqual(results, ["boss outer/ask_1 approval_required"])
      assert.deepStrictEqual(pausedOf({ exit }).pending.map(({ callId }) => callId), ["outer/pay_1"])
      assert.deepStrictEqual(log, [])
    }))

  it.effect("asks again if the approval was late, withdrawing none", () =>
    Effect.gen(function*() {
      const { ask, log, made } = world()
      const boss = agentOf("boss", [made("outer", ask.call)], { approval: { timeToLive: "1 hour" } })
      const { pending, snapshot } = pausedOf(yield* played(calls, boss.start("go")))
      yield* TestClock.adjust("61 minutes")
      const late = yield* played(calls, boss.resume(JSON.parse(JSON.stringify(snapshot)), pending.flatMap(approve)))
      assert.deepStrictEqual(
        pausedOf(late).pending.map(({ callId, code }) => [callId, code]),
        [["outer/ask_1", "approval_expired"]]
      )
      assert.deepStrictEqual([late.audit, late.results], [["boss approval_expired outer/ask_1"], []])
      assert.deepStrictEqual(log, [])
    }))

  for (const undecided of ["outer", "mid", "ask"]) {
    it.effect(`keeps undecided calls pending: ${undecided}`, () =>
      Effect.gen(function*() {
        const { ask, log, made } = world()
        const mid = toolOf(agentOf("mid", [ask], input))
        const boss = agentOf("boss", [made("outer", ask.call), mid, ask])
        const { asked, audit, exit, results } = yield* goneOn(
          { boss: "outer mid ask", mid: "ask" },
          boss,
          boss,
          (call) => call.callId.startsWith(undecided) ? [] : [Approval.approve(call)]
        )
        const id = { outer: "outer/ask_1", mid: "mid/ask", ask: "ask" }[undecided]!
        assert.deepStrictEqual(pausedOf({ exit }).pending.map(({ callId }) => callId), [id])
        assert.deepStrictEqual(asked, ["outer/ask_1", "mid/ask", "ask"])
        assert.strictEqual(log.length, 2)
        assert.deepStrictEqual(audit.filter((line) => line.startsWith("boss ") && line.endsWith(` ${id}`)), [])
        assert.isFalse(results.some((line) => line.includes("approval_required")))
      }))
  }

  it.effect("with something else instead of its agent withdraws inner questions", () =>
    Effect.gen(function*() {
      const { ask, book, log, look } = world()
      // Another agent runs instead of the resumed one: it has the path of the first run.
      const other = Effect.as(agentOf("other", [look], input).run({} as never), "skipped")
      const agent = (isSkipped: boolean) => {
        const mid = toolOf(agentOf("mid", [book, ask], { ...input, compensation: {} }))
        const skips = (call: Call) => isSkipped ? other : call
        const skipping = (mid as never as Tool.Tool<string, never, never, never, never>).pipe(
          Tool.onError(skips as never)
        ) as never as Named
        return agentOf("boss", [skipping])
      }
      const { audit, elsewhere, interrupted, results } = yield* goneOn(
        { boss: "mid", mid: "book ask", other: "look" },
        agent(false),
        agent(true),
        approve
      )
      assert.deepStrictEqual(results, ["boss/other look done", "boss/mid ask approval_required", "boss mid done"])
      assert.deepStrictEqual(elsewhere.filter(({ path }) => path.at(-1) === "mid"), [])
      assert.deepStrictEqual(interrupted, ["boss mid mid 1"])
      assert.deepStrictEqual(log, ["book", "look", "unbook"])
      assert.deepStrictEqual(audit, ["boss/mid compensated book"])
    }))
})

it.effect("an agent resumed by hand after a model failure fails normally", () =>
  Effect.gen(function*() {
    const { look } = world()
    const mid = agentOf("mid", [look], input)
    const ended: Array<unknown> = []
    const hand = tool("hand", {
      effects: "read",
      execute: () =>
        Effect.gen(function*() {
          const first = yield* Effect.sandbox(Effect.flip(Effect.sandbox(mid.run({} as never))))
          const snapshot = yield* RunRecord.snapshot(Option.getOrThrow(RunRecord.fromCause(first)))
          const second = yield* Effect.flip(Effect.sandbox(mid.resume(Option.getOrThrow(snapshot), [])))
          ended.push(...[first, second].map(({ reasons }) => reasons.map((reason) => reason._tag)))
          return "tried twice"
        }) as never
    })
    const script = ScriptedModel.layer((request, index) =>
      request.prompt.content[0]!.content === "mid"
        ? ScriptedModel.failure("NetworkError")
        : ScriptedModel.steps(ids("hand") as never)(request, index)
    )
    yield* agentOf("boss", [hand]).run("go").pipe(Effect.provide([key, script]))
    assert.deepStrictEqual(ended, [["Fail"], ["Fail"]])
  }))

describe("an agent within a tool of the run that ends", () => {
  it.effect("is called off with the call of the agent, live", () =>
    Effect.gen(function*() {
      const { ask, made } = world()
      const deep = toolOf(agentOf("deep", [ask], input))
      const mid = toolOf(agentOf("mid", [deep, ask, made("outer", ask.call)], input))
      const boom = tool("boom", { effects: "read", execute: () => Effect.delay(Effect.die("no"), "1 second") })
      const boss = agentOf("boss", [mid, made("plain", ask.call), boom])
      const { exit, interrupted, results, started } = yield* Drive.drive(
        played({ boss: "mid plain boom", mid: "deep ask outer", deep: "ask" }, boss.report("go"))
      )
      const report = (Exit.isSuccess(exit) ? exit.value : assert.fail()) as RunRecord.RunRecord
      assert.deepStrictEqual(
        report.executed.map(({ attempt, callId, outcome, tool }) => `${tool} ${callId} ${attempt} ${outcome}`)
          .toSorted(),
        [
          "boom boom 1 failure",
          "deep deep 1 interrupted",
          "mid mid 1 interrupted",
          "outer outer 1 failure",
          "plain plain 1 failure"
        ]
      )
      assert.deepStrictEqual(results.toSorted(), [
        "boss boom not_run",
        "boss mid approval_required",
        "boss plain approval_required",
        "boss plain/ask_1 approval_required",
        "boss/mid ask approval_required",
        "boss/mid deep approval_required",
        "boss/mid outer approval_required",
        "boss/mid outer/ask_1 approval_required",
        "boss/mid/deep ask approval_required"
      ])
      assert.deepStrictEqual(
        started.toSorted(),
        results.map((line) => line.slice(0, line.lastIndexOf(" "))).toSorted()
      )
      assert.deepStrictEqual(interrupted.toSorted(), [
        "boss mid mid 1",
        "boss plain plain 1",
        "boss/mid deep deep 1",
        "boss/mid outer outer 1"
      ])
    }))

  it.effect("is withdrawn in the waiting attempt; the failed one stays failed", () =>
    Effect.gen(function*() {
      const { ask } = world()
      let times = 0
      const fails = Agent.fromFunction(
        "fails",
        () => times++ === 0 ? Effect.fail(new Declined()) : Effect.succeed("go")
      )
      const again = fails.pipe(
        Agent.andThen(agentOf("mid", [ask], input) as never),
        Agent.asTool("mid", { description: "Does it", parameters: Schema.Struct({}), success: Schema.String } as never),
        Tool.onError(Recovery.retry({ times: 1, schedule: Schedule.forever }) as never) as never
      ) as never as Named
      const boom = tool("boom", { effects: "read", execute: () => Effect.delay(Effect.die("no"), "1 second") })
      const { events, exit, interrupted } = yield* Drive.drive(
        played({ boss: "mid boom", mid: "ask" }, agentOf("boss", [again, boom]).report("go"))
      )
      const report = (Exit.isSuccess(exit) ? exit.value : assert.fail()) as RunRecord.RunRecord
      assert.deepStrictEqual(
        report.executed.flatMap(({ attempt, outcome, tool }) => tool === "boom" ? [] : [`${attempt} ${outcome}`]),
        ["1 failure", "2 interrupted"]
      )
      assert.deepStrictEqual(interrupted, ["boss mid mid 2"])
      const runsWith = (tag: "ToolCallStarted" | "ToolResult") =>
        events.flatMap((event) => event._tag === tag && event.callId === "ask" ? [event.agentRunId] : [])
      assert.deepStrictEqual(runsWith("ToolResult"), runsWith("ToolCallStarted"))
    }))

  it.effect("is withdrawn next to a failed attempt, which has ended once", () =>
    Effect.gen(function*() {
      const { ask } = world()
      let times = 0
      const fails = Agent.fromFunction(
        "fails",
        () => ++times === 2 ? Effect.fail(new Declined()) : Effect.succeed("go")
      )
      const raced = fails.pipe(
        Agent.andThen(agentOf("mid", [ask], input) as never),
        Agent.asTool("mid", { description: "Does it", parameters: Schema.Struct({}), success: Schema.String } as never),
        Tool.onError(((call: Call) => Effect.race(call, call)) as never)
      ) as never as Named
      const boom = tool("boom", { effects: "read", execute: () => Effect.delay(Effect.die("no"), "1 second") })
      const { events, results } = yield* Drive.drive(
        played({ boss: "mid boom", mid: "ask" }, agentOf("boss", [raced, boom]).report("go"))
      )
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event._tag === "ToolAttemptFailed" && event.callId === "mid" ? [`${event.attempt} ${event.error}`] : []
        ),
        ["2 ExecutionError", "1 Interrupted"]
      )
      assert.include(results, "boss mid approval_required")
    }))
})
