import { assert, describe, it } from "@effect/vitest"
import { Programs } from "@recourse/testing"
import { Effect } from "effect"
import { operationsBetween } from "../../../core/test/support/operations.ts"
import { program, tool } from "../support/plainProgram.ts"

/** Number of random programs, and the seed of the first: `RECOURSE_PROGRAMS=1000` for more. */
const runs = Number(process.env["RECOURSE_PROGRAMS"] ?? 25)
const seed = Number(process.env["RECOURSE_SEED"] ?? 1)

const names = Object.keys(Programs.laws) as ReadonlyArray<Programs.ProgramLaw>

it.effect(`${runs} programs keep the laws`, () =>
  Effect.gen(function*() {
    yield* Programs.check({ runs, seed })
    // The same programs in each test run come to something: tools run, runs wait, and there are many operations to be interrupted at.
    const report = yield* Programs.check({ runs: 25, seed: 1 })
    assert.isAbove(report.sideEffects, 25)
    assert.isAbove(report.pauses, 25 / 20)
    assert.isAbove(report.operations, 500 * 25)
  }), 600 * Math.max(500, runs))

describe("a run that is interrupted at any operation, waits and resumptions included", () => {
  const asks = { ...tool, approval: true }
  const read = { ...tool, effects: "read" } as const
  const within = { ...program, tools: [{ ...read, calls: 1 }, asks] }
  /** A program, and how far apart the operations are at which it is interrupted. */
  const cases: Readonly<Record<string, readonly [program: Programs.Program, every: number]>> = {
    "beside a call that waits, one fails": [{
      ...program,
      tools: [asks, { ...read, outcomes: ["lost"] }],
      turns: [[{ tool: 0, order: "a" }, { tool: 1, order: "a" }, { tool: 0, order: "b" }]],
      standard: false,
      concurrency: 2
    }, 5],
    "a call begins as another one ends": [{
      ...program,
      tools: [read, { ...read, outcomes: ["hang"] }],
      turns: [[{ tool: 0, order: "a" }, { tool: 0, order: "b" }, { tool: 1, order: "a" }]],
      concurrency: 2,
      order: 1
    }, 7],
    "a tool's call waits, and is rejected": [{ ...within, decisions: ["reject"] }, 5],
    "a tool's call waits, too late": [{ ...within, decisions: ["late"] }, 5],
    "what was approved is not met again": [{
      ...program,
      tools: [{ ...read, outcomes: ["lost"], recovery: [{ op: "fallbackTool", times: 1 }] }, asks]
    }, 7],
    "a tool answers a Stream": [{ ...program, tools: [{ ...read, streams: true, parts: true, untrusted: true }] }, 5],
    "a run undoes what it has done": [{
      ...program,
      tools: [{ ...tool, undo: "ok" }, { ...tool, undo: "hangs", calls: 0 }, { ...tool, outcomes: ["defect"] }],
      turns: [[{ tool: 0, order: "a" }, { tool: 1, order: "a" }], [{ tool: 2, order: "a" }]],
      compensates: true
    }, 7],
    "an agent waits in a function": [{ ...program, form: "hand", tools: [asks] }, 5],
    "agents in a row wait, and wait again": [{
      ...program,
      form: "twice",
      tools: [{ ...read, approval: true }],
      turns: [[{ tool: 0, order: "a" }, { tool: 0, order: "b" }]],
      decisions: ["later"]
    }, 29],
    "an agent waits that is a tool": [{ ...within, form: "tool" }, 23],
    "a call of a chat waits again, after a part of it was done": [{
      ...program,
      tools: [{ ...read, calls: 4 }, asks],
      asks: "within",
      chat: ["say"]
    }, 41]
  }
  for (const [name, [program, every]] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const plain = yield* Programs.observe(program)
        const operations = plain.parts[0]!.operations
        for (const interruptAt of operationsBetween(1, operations + 1, every)) {
          const run = yield* Programs.observe(program, { interruptAt })
          const violations = names.flatMap((name) =>
            Programs.laws[name]({ plain: run, streamed: run, interrupted: run }).map(({ problem }) => problem)
          )
          assert.deepStrictEqual(violations, [], `operation ${interruptAt}`)
        }
      }), 120_000)
  }
})

describe("a program that once broke a law keeps all of them", () => {
  const once: Readonly<Record<string, Programs.Program>> = {
    "what the ledger answers of a call that was raced stands where it was done, among what is undone": {
      ...program,
      tools: [
        { ...tool, effects: "read" },
        {
          ...tool,
          effects: "idempotent",
          timeout: true,
          calls: 4,
          parts: true,
          recovery: [{ op: "raceFirst", times: 2 }, { op: "unfitRetry", times: 1 }]
        },
        {
          ...tool,
          effects: "idempotent",
          keyed: "call",
          timeout: true,
          parts: true,
          outcomes: ["lost", "lost", "hang"],
          undo: "ok"
        }
      ],
      turns: [[{ tool: 1, order: "b" }, { tool: 1, order: "a" }, { tool: 2, order: "b" }]],
      standard: false,
      compensates: true,
      compact: "refused",
      concurrency: 3,
      ledger: "steps",
      order: 69
    },
    "a call starts within a branch of a race whose other branch has ended": {
      ...program,
      tools: [
        { ...tool, keyed: "call", streams: true, calls: 1, recovery: [{ op: "race", times: 3 }] },
        { ...tool, keyed: "call", calls: 1, outcomes: ["declined"], undo: "ok" },
        { ...tool, effects: "read", streams: true }
      ],
      compensates: true
    },
    "a call that fails within another one says nothing of whether that one may be made again": {
      ...program,
      tools: [
        { ...tool, calls: 1 },
        { ...tool, keyed: "order", outcomes: ["lost"], recovery: [{ op: "standard", times: 1 }] }
      ]
    },
    "an agent has done something and waits, and the run around it dies": {
      ...program,
      tools: [{ ...tool, outcomes: ["ok", "defect"] }, { ...tool, approval: true }],
      turns: [[{ tool: 0, order: "a" }, { tool: 1, order: "a" }]],
      form: "tool"
    },
    "an agent that continues has done something before, waits again, and the run around it dies": {
      ...program,
      tools: [tool, { ...tool, effects: "read", approval: true, outcomes: ["ok", "defect"] }],
      turns: [[{ tool: 0, order: "a" }, { tool: 1, order: "a" }], [{ tool: 1, order: "b" }]],
      form: "tool"
    },
    "a budget that ends a run beside a call that is denied": {
      ...program,
      tools: [{ ...tool, timeout: true, calls: 1, undo: "hangs" }, {
        ...tool,
        undo: "ok",
        streams: true,
        parts: true,
        recovery: [{ op: "timeoutRetry", times: 1 }, { op: "race", times: 2 }, { op: "fix", times: 1 }]
      }],
      turns: [[{ tool: 0, order: "b" }], [{ tool: 1, order: "none" }]],
      policy: "deny",
      compensates: true,
      order: 38
    },
    "a write that waits in a read which runs beside itself": {
      ...program,
      tools: [{ ...tool, effects: "read", calls: 1, recovery: [{ op: "both", times: 1 }] }, {
        ...tool,
        approval: true
      }],
      order: 131
    },
    "a write in a read in a read that is made anew": {
      ...program,
      tools: [
        { ...tool, effects: "read", calls: 1, outcomes: ["failure"], recovery: [{ op: "retry", times: 1 }] },
        { ...tool, effects: "read", calls: 1 },
        tool
      ]
    }
  }
  for (const [name, program] of Object.entries(once)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const run = yield* Programs.observe(program)
        const trial = { plain: run, streamed: run, interrupted: run }
        assert.deepStrictEqual(names.flatMap((name) => Programs.laws[name](trial).map(({ problem }) => problem)), [])
      }))
  }
})
