/**
 * Interrupted resumptions: a run that resumes after a pause is interrupted at any operation, and resumed again. No call
 * is repeated, the conversation exists whenever the run has ended, and each emitted question, call and run has its end.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Option, Redacted, Schema } from "effect"
import type { Prompt } from "effect/ai"
import { Agent, AgentEvent, Approval, IdempotencyLedger, Recovery, RunRecord, Tool, ToolCall } from "@recourse/core"
import { operationsBetween } from "../support/operations.ts"

type Resumable = Agent.Agent<string, string, unknown, never> & Agent.Resumable<string, string, unknown, never, never>

const Args = Schema.Struct({ n: Schema.Number })

interface World {
  paid: number
  begun: number
}

const payOf = (world: World, keyed: boolean) =>
  Tool.make("pay", {
    parameters: Args,
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    ...(keyed ? { idempotency: true as const } : undefined),
    execute: () =>
      Effect.suspend(() => {
        world.begun++
        return Effect.delay(Effect.sync(() => `receipt ${++world.paid}`), "1 second")
      })
  }) as never as Tool.Any & { readonly call: Effect.Effect<string, unknown, ToolCall.ToolCall> }

const look = Tool.make("look", {
  parameters: Args,
  success: Schema.String,
  effects: "read",
  execute: () => Effect.succeed("seen")
})

const bundleOf = (pay: ReturnType<typeof payOf>) =>
  Tool.make("bundle", {
    parameters: Args,
    success: Schema.String,
    effects: "read",
    mayRequestApproval: true,
    execute: (args: unknown) =>
      Effect.provideService(pay.call, ToolCall.ToolCall, ToolCall.make({ id: "p", arguments: args }))
  } as never) as never as Tool.Any

const agentOf = (name: string, tools: ReadonlyArray<unknown>): Resumable =>
  Agent.make(
    name,
    {
      instructions: name,
      input: Schema.Unknown,
      prompt: () => "go",
      tools,
      defaults: { onError: Recovery.standard }
    } as never
  ) as never

const asTool = (agent: Resumable): unknown =>
  Agent.asTool("ask", { description: "Asks", parameters: Schema.Struct({}), success: Schema.String } as never)(
    agent as never
  )

/** Places of the waiting call. */
const places: Readonly<Record<string, (world: World, keyed: boolean) => Resumable>> = {
  "a call of the model": (world, keyed) => agentOf("clerk", [payOf(world, keyed), look]),
  "a call of a tool": (world, keyed) => agentOf("clerk", [bundleOf(payOf(world, keyed)), look]),
  "a call of an agent that is a tool": (world, keyed) =>
    agentOf("desk", [asTool(agentOf("clerk", [payOf(world, keyed), look])), look]),
  "a call of a tool of an agent that is a tool": (world, keyed) =>
    agentOf("desk", [asTool(agentOf("clerk", [bundleOf(payOf(world, keyed)), look])), look])
}

const modelOf = (place: string): ScriptedModel.Behaviour => ({ prompt }) => {
  const system = prompt.content.find(({ role }) => role === "system")
  if (prompt.content.at(-1)?.role === "tool") return ScriptedModel.text("done")
  const own = place.startsWith("a call of a tool") ? "bundle" : "pay"
  const name = system?.content === "desk" ? "ask" : own
  return ScriptedModel.calls([{ name, params: name === "ask" ? {} : { n: 1 } }, { name: "look", params: { n: 2 } }])
}

interface Played {
  readonly exit: Exit.Exit<Approval.Outcome<string>, unknown>
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
  readonly operations: number
}

/** One execution: its exit, and its events. Listeners are slow. */
const life = (
  place: string,
  run: Effect.Effect<Approval.Outcome<string>, unknown>,
  kept: Layer.Layer<never>,
  interruptAt?: number
): Effect.Effect<Played> => {
  const events: Array<AgentEvent.AgentEvent> = []
  const slowly = Effect.forEach([1, 2, 3, 4], () => Effect.yieldNow, { discard: true })
  const layer = Layer.mergeAll(
    kept,
    AgentEvent.listen((event) => Effect.andThen(Effect.sync(() => void events.push(event)), slowly)),
    ScriptedModel.layer(modelOf(place))
  )
  return Effect.map(
    VirtualTime.run(Effect.provide(run, layer) as typeof run, interruptAt === undefined ? {} : { interruptAt }),
    ({ exit, fibers, operations, stopped }) => {
      assert.deepStrictEqual([fibers, stopped], [0, undefined])
      return { exit, events, operations }
    }
  )
}

/** The calls of a conversation that have no result, or more than one. */
const unanswered = ({ content }: Prompt.Prompt): ReadonlyArray<string> => {
  const results = content.flatMap((message) =>
    message.role === "tool" ? message.content.flatMap((part) => part.type === "tool-result" ? [part.id] : []) : []
  )
  return content.flatMap((message) =>
    message.role === "assistant" ? message.content.flatMap((part) => part.type === "tool-call" ? [part.id] : []) : []
  ).filter((id) => results.filter((result) => result === id).length !== 1)
}

/** The text of a message in any stored form. */
const saidIn = ({ content, role }: Prompt.Message): string =>
  `${role}: ${
    typeof content === "string"
      ? content
      : content.map((part) => part.type === "text" ? part.text : "id" in part ? part.id : part.type).join(" ")
  }`

const recordOf = ({ exit }: Played): RunRecord.RunRecord | undefined =>
  Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined

const finishedOf = ({ events }: Played) => events.findLast((event) => event._tag === "RunFinished")

/** Faults of an interrupted execution. */
const judge = (played: Played, paused: Prompt.Prompt): ReadonlyArray<string> => {
  const record = recordOf(played)
  const finished = finishedOf(played)
  const isCut = Exit.isFailure(played.exit) && Cause.hasInterrupts(played.exit.cause)
  const before = paused.content.filter(({ role }) => role !== "tool").map(saidIn)
  const conversations = [
    ...(record === undefined ? [] : [["record", record.transcript] as const]),
    ...(finished === undefined ? [] : [["end", finished.transcript] as const])
  ]
  return [
    ...(isCut && finished !== undefined && finished.outcome !== "success" && record === undefined
      ? ["it has no record"]
      : []),
    ...conversations.flatMap(([where, transcript]) => [
      ...unanswered(transcript).map((id) => `${id} has no result in the conversation of its ${where}`),
      ...before.filter((message) => !transcript.content.map(saidIn).includes(message))
        .map((message) => `the conversation of its ${where} lacks ${message}`)
    ]),
    ...(played.events.filter(({ _tag }) => _tag === "RunStarted").length ===
        played.events.filter(({ _tag }) => _tag === "RunFinished").length
      ? []
      : ["it has no end"])
  ]
}

const decide = ({ pending }: Approval.Paused, decision: "approve" | "reject") =>
  pending.map((call) => decision === "approve" ? Approval.approve(call) : Approval.reject(call, "no"))

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

/** A snapshot belongs to its owner: a resumption does not change it. */
const frozen = (value: unknown): unknown => {
  if (typeof value === "object" && value !== null) {
    for (const within of Object.values(value)) frozen(within)
    Object.freeze(value)
  }
  return value
}

/** A store of resumptions of its own: each run here has the same id. */
const resumptions = () => {
  const used = new Set<string>()
  return Layer.succeed(Approval.Resumptions, {
    claim: (id: string) => Effect.sync(() => !used.has(id) && used.add(id) === used),
    release: (id: string) => Effect.sync(() => void used.delete(id))
  })
}

describe("a resumption that is interrupted at any operation and repeated", () => {
  for (const [place, make] of Object.entries(places)) {
    it.effect(`waits for ${place}`, () =>
      Effect.gen(function*() {
        let cutBefore = 0
        for (const keyed of [false, true]) {
          for (const decision of ["approve", "reject"] as const) {
            const interruptedAt = (at: number) =>
              Effect.gen(function*() {
                const world: World = { paid: 0, begun: 0 }
                const ledger = yield* Effect.provide(
                  IdempotencyLedger.IdempotencyLedger,
                  Layer.fresh(IdempotencyLedger.layerMemory)
                )
                const kept = Layer.mergeAll(
                  key,
                  resumptions(),
                  Layer.succeed(IdempotencyLedger.IdempotencyLedger, ledger)
                ) as Layer.Layer<never>
                const agent = () => make(world, keyed)
                const first = yield* life(place, agent().start("go"), kept)
                const pause = Exit.isSuccess(first.exit) ? first.exit.value : undefined
                if (!(pause instanceof Approval.Paused)) return assert.fail(`it does not wait: ${String(first.exit)}`)
                const transcript = finishedOf(first)!.transcript
                const snapshot = frozen(JSON.parse(JSON.stringify(pause.snapshot)))
                const resume = () => agent().resume(snapshot, decide(pause, decision))
                const cut = yield* life(place, resume(), kept, at)
                const about = `${decision}, ${keyed ? "keyed" : "no key"}, interrupted at ${at}`
                assert.deepStrictEqual(judge(cut, transcript), [], about)
                const begun = world.begun
                if (begun === 0 && Exit.isFailure(cut.exit)) cutBefore++
                const again = yield* life(place, resume(), kept)
                // Released if no tool had run; otherwise its record has the next snapshot.
                const record = recordOf(cut)
                const hasRun = record !== undefined && record.executed.length > pause.snapshot.executed.length
                if (hasRun) assert.isTrue(Option.isSome(yield* Effect.provide(RunRecord.snapshot(record), key)), about)
                else if (Exit.isFailure(cut.exit) && finishedOf(cut)?.outcome !== "success") {
                  assert.isTrue(
                    Exit.isSuccess(again.exit) && again.exit.value._tag === "Completed",
                    `${about}: ${String(again.exit)}`
                  )
                }
                assert.strictEqual(world.begun <= 1 || keyed, true, about)
                assert.isAtMost(world.paid, keyed ? 2 : 1, about)
                if (decision === "reject") assert.strictEqual(world.begun, 0, about)
                return cut.operations
              })
            const operations = yield* interruptedAt(Infinity)
            for (const at of operationsBetween(1, operations + 1, 47)) yield* interruptedAt(at)
          }
        }
        assert.isAbove(cutBefore, 10)
      }), 120_000)
  }
})
