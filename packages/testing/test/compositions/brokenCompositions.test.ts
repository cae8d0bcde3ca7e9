/** Compositions that have broken a law once: each is the smallest one that was found. */
import { assert, describe, it } from "@effect/vitest"
import { Programs } from "@recourse/testing"
import { Effect } from "effect"

const base: Programs.Composition = {
  steps: [{ does: "pay", how: "once" }],
  ends: "answers",
  effects: "undeclared",
  recovery: [],
  payRecovery: [],
  keyed: "no",
  bank: [],
  failures: 0,
  turns: [[{ tool: "do", order: "a" }]],
  last: "answers",
  preset: "keepGoing",
  onTainted: "deny",
  decisions: [],
  compensates: false,
  callbacks: [],
  executions: [],
  deployed: "same",
  interruptAt: 0,
  order: 0
}

const compositions: Readonly<Record<string, Partial<Programs.Composition>>> = {
  "a call that waits although an earlier attempt of it has paid, and is rejected": {
    steps: [{ does: "otherBank", how: "timeout" }, { does: "reader", how: "timeout" }],
    ends: "fails",
    effects: "read",
    recovery: ["retry", "retry"],
    keyed: "order",
    turns: [[{ tool: "do", order: "b" }]],
    onTainted: "approve",
    decisions: ["reject"],
    compensates: true,
    callbacks: [{ of: "compensate", fails: "dies" }],
    order: 69
  },
  "a call that the ledger answered, and a kill before the compensation of its payment": {
    steps: [{ does: "teller", how: "retry" }],
    ends: "fails",
    effects: "write",
    keyed: "order",
    bank: ["ok"],
    failures: 1,
    turns: [[{ tool: "pay", order: "a" }, { tool: "pay", order: "a" }], [{ tool: "do", order: "a" }]],
    last: "fails",
    decisions: ["approve", "reject"],
    compensates: true,
    executions: [{ how: "killed", at: 2406 }]
  },
  "a call that the ledger answered, and two ends in order before the compensation": {
    steps: [{ does: "reader", how: "recovery" }],
    ends: "fails",
    effects: "idempotent",
    recovery: ["retry", "fix"],
    keyed: "order",
    bank: ["slow", "declined", "ok"],
    failures: 1,
    turns: [[{ tool: "pay", order: "a" }, { tool: "pay", order: "a" }]],
    last: "fails",
    onTainted: "approve",
    compensates: true,
    callbacks: [{ of: "reconcile", fails: "hangs" }],
    executions: [{ how: "stopped", at: 9251 }, { how: "stopped", at: 4922 }],
    deployed: "keyed"
  },
  "raced attempts whose payment may have been made, and a kill": {
    steps: [{ does: "obey", how: "retry" }],
    ends: "hangs",
    effects: "read",
    recovery: ["race"],
    keyed: "order",
    bank: ["dies", "lost"],
    failures: 1,
    turns: [[{ tool: "do", order: "a" }, { tool: "do", order: "a" }]],
    last: "fails",
    decisions: ["reject", "reject"],
    callbacks: [{ of: "reconcile", fails: "fails" }, { of: "reconcile", fails: "throws" }],
    executions: [{ how: "killed", at: 5292 }]
  },
  "an agent that is run again after a kill in its keyed payment": {
    steps: [{ does: "clerk", how: "retry" }],
    effects: "read",
    payRecovery: ["fixByProgram"],
    keyed: "call",
    bank: ["lost", "dies"],
    failures: 3,
    turns: [[{ tool: "pay", order: "none" }, { tool: "do", order: "b" }]],
    preset: "standard",
    decisions: ["reject"],
    compensates: true,
    callbacks: [{ of: "compensate", fails: "throws" }, { of: "reconcile", fails: "fails" }],
    executions: [{ how: "killed", at: 1518 }],
    deployed: "described",
    order: 69
  },
  "a keyed payment whose ledger is down after a kill": {
    steps: [{ does: "teller", how: "retry" }],
    ends: "hangs",
    recovery: ["effectRetry"],
    keyed: "order",
    failures: 1,
    turns: [[{ tool: "pay", order: "a" }, { tool: "do", order: "a" }], [{ tool: "do", order: "none" }]],
    onTainted: "approve",
    callbacks: [{ of: "ledger", fails: "throws" }],
    executions: [{ how: "killed", at: 9584 }, { how: "killed", at: 7882 }],
    deployed: "keyed"
  },
  "two tools of one name in raced attempts": {
    steps: [{ does: "obey", how: "once" }, { does: "otherBank", how: "once" }],
    ends: "hangs",
    recovery: ["race", "effectRetry"],
    keyed: "call",
    decisions: ["reject", "approve"],
    compensates: true,
    deployed: "described"
  },
  "payments that an earlier execution has compensated, within a tool that was removed": {
    steps: [{ does: "obey", how: "once" }],
    ends: "dies",
    recovery: ["effectRetry", "fix"],
    failures: 2,
    turns: [[{ tool: "pay", order: "a" }, { tool: "pay", order: "a" }], [{ tool: "do", order: "b" }, {
      tool: "do",
      order: "a"
    }]],
    last: "fails",
    onTainted: "approve",
    compensates: true,
    callbacks: [{ of: "report", fails: "throws" }, { of: "compensate", fails: "fails" }],
    executions: [{ how: "killed", at: 3331 }],
    deployed: "withoutDo"
  },
  "one key of two tools over a kill": {
    steps: [{ does: "clerk", how: "retry" }, { does: "teller", how: "once" }],
    recovery: ["fixByProgram"],
    keyed: "order",
    bank: ["lost"],
    last: "fails",
    preset: "chatSafe",
    compensates: true,
    callbacks: [{ of: "report", fails: "hangs" }],
    executions: [{ how: "killed", at: 5477 }, { how: "killed", at: 6328 }],
    deployed: "described",
    order: 38
  },
  "a payment without a key whose tool has a key after the kill": {
    steps: [{ does: "otherBank", how: "once" }],
    effects: "write",
    bank: ["lost", "dies", "ok"],
    failures: 1,
    turns: [[{ tool: "do", order: "none" }, { tool: "pay", order: "a" }]],
    last: "fails",
    onTainted: "approve",
    decisions: ["approve"],
    compensates: true,
    callbacks: [{ of: "reconcile", fails: "fails" }],
    executions: [{ how: "killed", at: 9288 }, { how: "killed", at: 4256 }],
    deployed: "keyed",
    interruptAt: 2813,
    order: 38
  },
  "a detached payment that runs when its run fails": {
    steps: [{ does: "obey", how: "detached" }, { does: "obey", how: "retry" }],
    payRecovery: ["fixByProgram"],
    keyed: "call",
    bank: ["declined", "hang", "hang"],
    failures: 1,
    turns: [[{ tool: "do", order: "b" }]],
    last: "fails",
    onTainted: "approve",
    decisions: ["reject"],
    compensates: true,
    deployed: "withoutJournal"
  },
  "a payment of an agent whose tool has a key after the kill": {
    steps: [{ does: "clerk", how: "once" }],
    ends: "fails",
    effects: "read",
    recovery: ["fix"],
    payRecovery: ["fix"],
    bank: ["dies", "hang", "lost"],
    failures: 2,
    turns: [[{ tool: "pay", order: "none" }], [{ tool: "do", order: "b" }]],
    decisions: ["approve", "reject"],
    compensates: true,
    callbacks: [{ of: "reconcile", fails: "fails" }],
    executions: [{ how: "stopped", at: 8622 }, { how: "killed", at: 6772 }],
    deployed: "keyed"
  },
  "raced attempts that run one agent each, and a kill": {
    steps: [{ does: "clerk", how: "once" }, { does: "pay", how: "once" }],
    ends: "fails",
    recovery: ["race"],
    turns: [[{ tool: "do", order: "a" }], [{ tool: "pay", order: "none" }]],
    last: "fails",
    compensates: true,
    executions: [{ how: "killed", at: 8437 }],
    deployed: "keyed",
    order: 69
  },
  "raced attempts that share the claim of a payment": {
    steps: [{ does: "clerk", how: "once" }, { does: "pay", how: "once" }],
    effects: "read",
    recovery: ["race"],
    keyed: "order",
    turns: [[{ tool: "do", order: "a" }, { tool: "do", order: "none" }], [{ tool: "pay", order: "a" }]],
    last: "fails",
    preset: "standard",
    decisions: ["reject", "reject"],
    compensates: true,
    deployed: "described",
    order: 69
  },
  "raced agents whose payments were refused, over two ends": {
    steps: [{ does: "clerk", how: "once" }, { does: "pay", how: "once" }],
    effects: "read",
    recovery: ["race"],
    payRecovery: ["retry"],
    failures: 3,
    turns: [[{ tool: "do", order: "a" }, { tool: "do", order: "none" }], [{ tool: "do", order: "b" }, {
      tool: "do",
      order: "a"
    }]],
    preset: "chatSafe",
    onTainted: "approve",
    compensates: true,
    executions: [{ how: "killed", at: 6920 }, { how: "stopped", at: 1888 }],
    deployed: "mended",
    order: 38
  },
  "recorded payments that the ledger had answered": {
    steps: [{ does: "teller", how: "all" }, { does: "obey", how: "retry" }],
    effects: "read",
    recovery: ["race"],
    keyed: "order",
    preset: "standard",
    onTainted: "approve",
    callbacks: [{ of: "reconcile", fails: "fails" }],
    executions: [{ how: "stopped", at: 3886 }, { how: "stopped", at: 8030 }],
    deployed: "keyed"
  },
  "a payment whose ledger gives no answer in the next execution": {
    steps: [{ does: "reader", how: "all" }],
    effects: "read",
    recovery: ["fallback", "catch"],
    payRecovery: ["race"],
    keyed: "order",
    bank: ["dies", "hang"],
    turns: [[{ tool: "pay", order: "a" }, { tool: "do", order: "b" }], [{ tool: "do", order: "a" }]],
    last: "fails",
    onTainted: "approve",
    compensates: true,
    callbacks: [{ of: "ledger", fails: "hangs" }],
    executions: [{ how: "killed", at: 926 }, { how: "stopped", at: 10879 }],
    deployed: "mended"
  }
}

describe("a composition that has broken a law keeps all of them", () => {
  for (const [name, composition] of Object.entries(compositions)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const report = yield* Programs.checkCompositions({
          runs: 1,
          shrinks: 0,
          only: () => ({ ...base, ...composition })
        })
        assert.isAbove(report.payments, 0)
      }))
  }
})
