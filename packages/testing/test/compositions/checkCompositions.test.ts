/** Drawn compositions: each kind keeps the laws, and is found to break one if its executor goes around the library. */
import { assert, describe, it } from "@effect/vitest"
import { Programs } from "@recourse/testing"
import { ToolCall } from "@recourse/core"
import { Context, Effect } from "effect"

type Hands = NonNullable<Programs.CompositionOptions["hands"]>
type Any = Effect.Effect<any, any, any>

const { hands } = await import(
  new URL("../../src/internal/compositions/executors.ts", import.meta.url).href
) as { readonly hands: Hands }

type Composition = Programs.Composition
type Step = Composition["steps"][number]

/** References of the core by which a call knows its run, and the call that it is made in. */
const isOfRun = (key: string): boolean => key.startsWith("@recourse/core/") && /Run|Call/.test(key)

/** Runs an effect as if no run was around it. */
const outside = (effect: Any, args: unknown): Any =>
  Effect.updateContext(
    Effect.provideService(effect, ToolCall.ToolCall, ToolCall.make({ id: "outside", arguments: args })),
    (context: Context.Context<any>): Context.Context<any> =>
      Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => !isOfRun(key))))
  )

/** An executor that hides its calls and its agents from the run. */
const hiding: Hands = {
  call: (tool, args) => outside((tool as unknown as { readonly call: Any }).call, args),
  run: (agent, input) => outside(agent.run(input), undefined)
}

/** An executor that also hides how its calls failed. */
const denying: Hands = { ...hiding, call: (tool, args) => Effect.mapError(hiding.call(tool, args), () => "down") }

/** An executor that asks the wrong bank at each second call. */
const mistaken = (): Hands => {
  let calls = 0
  let first: Parameters<Hands["call"]>[0]
  return {
    ...hands,
    call: (tool, args) => {
      if (calls++ % 2 === 0) first = tool
      return hands.call(first, args)
    }
  }
}

const once = (...does: ReadonlyArray<Step["does"]>): ReadonlyArray<Step> => does.map((does) => ({ does, how: "once" }))

const plain = { executions: [], interruptAt: 0, callbacks: [], bank: [] } as const
const calling = { turns: [[{ tool: "do", order: "a" }]], recovery: [], ends: "answers", order: 0 } as const

interface Kind {
  /** Fixed fields of each random composition, also if its executor is wrong. */
  readonly only: Partial<Composition>
  readonly wrong: Partial<Composition>
  readonly law: Programs.CompositionLaw
  readonly hands: () => Hands
}

const kinds: Readonly<Record<string, Kind>> = {
  "fixers and executors that read untrusted text": {
    only: { payRecovery: ["fix"], recovery: ["fix"], ...plain },
    wrong: { ...calling, steps: once("reader", "obey") },
    law: "untrusted_is_not_obeyed",
    hands: () => hiding
  },
  "two tools of one name": {
    only: { keyed: "order", ...plain },
    wrong: { ...calling, steps: once("pay", "otherBank"), keyed: "no" },
    law: "writes_reach_their_own_service",
    hands: mistaken
  },
  "agents run by hand": {
    only: { steps: [{ does: "clerk", how: "retry" }, { does: "teller", how: "timeout" }], failures: 2, ...plain },
    wrong: calling,
    law: "one_write_for_each_decision",
    hands: () => hiding
  },
  "detached fibers": {
    only: { steps: [{ does: "clerk", how: "detached" }, { does: "pay", how: "detached" }], ...plain },
    wrong: calling,
    law: "no_write_starts_after_its_call",
    hands: () => hiding
  },
  "callbacks that throw or hang": {
    only: {
      callbacks: [{ of: "reconcile", fails: "throws" }, { of: "compensate", fails: "hangs" }],
      keyed: "order",
      compensates: true
    },
    wrong: { ...calling, ...plain, steps: once("pay"), effects: "read", keyed: "no", bank: ["lost"] },
    law: "started_is_reported",
    hands: () => denying
  },
  "a reconcile that throws, and no journal": {
    only: {
      ...calling,
      steps: once("page"),
      callbacks: [{ of: "reconcile", fails: "throws" }],
      executions: [{ how: "stopped", at: 329 }],
      deployed: "withoutJournal",
      keyed: "order",
      bank: ["hang"],
      turns: [[{ tool: "pay", order: "a" }]]
    },
    wrong: { ...calling, ...plain, steps: once("pay"), effects: "read", keyed: "no", bank: ["lost"] },
    law: "started_is_reported",
    hands: () => denying
  },
  "two kills and a deployment": {
    only: {
      executions: [{ how: "killed", at: 370 }, { how: "killed", at: 740 }],
      compensates: true,
      last: "fails"
    },
    wrong: { ...calling, callbacks: [], steps: once("pay"), effects: "idempotent", keyed: "no" },
    law: "failed_runs_compensate_or_report",
    hands: () => hiding
  }
}

describe("drawn compositions", () => {
  for (const [name, { hands, law, only, wrong }] of Object.entries(kinds)) {
    it.effect(`keep the laws: ${name}`, () =>
      Effect.gen(function*() {
        const report = yield* Programs.checkCompositions({ runs: 15, only: (drawn) => ({ ...drawn, ...only }) })
        assert.strictEqual(report.compositions, 15)
        assert.isAbove(report.payments, 5)
      }))

    it.effect(`are found to break ${law}: ${name}`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Programs.checkCompositions({
          runs: 15,
          shrinks: 0,
          laws: [law],
          hands: hands(),
          only: (drawn) => ({ ...drawn, ...only, ...wrong })
        }))
        assert.strictEqual(error.law, law)
        assert.include(error.message, "do: ")
      }))
  }

  it.effect("keep the laws: any of them", () =>
    Effect.gen(function*() {
      const runs = Number(process.env["RECOURSE_COMPOSITIONS"] ?? 25)
      const report = yield* Programs.checkCompositions({ runs })
      assert.isAbove(report.pauses, 0)
      assert.isAbove(report.compensated, runs / 10)
      assert.isAbove(report.stopped, runs / 10)
    }), 600_000)
})
