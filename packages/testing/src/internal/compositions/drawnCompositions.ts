/** Drawn compositions. Shrinking goes to the first alternative. */
import * as Arbitrary from "effect/Arbitrary"
import { pick, spread } from "../arbitrary/weighted.ts"
import type { Composition, Step } from "./composition.ts"

type Drawn<A> = Arbitrary.Arbitrary<A>
type Of<K extends keyof Composition> = Composition[K] extends ReadonlyArray<infer A> ? A : Composition[K]

const step: Drawn<Step> = Arbitrary.all({
  does: pick<Step["does"]>(["pay", 3], ["clerk", 5], ["teller", 3], ["reader", 3], ["obey", 3], ["page", 1], [
    "otherBank",
    2
  ]),
  how: pick<Step["how"]>(
    ["once", 6],
    ["retry", 2],
    ["recovery", 1],
    ["timeout", 1],
    ["race", 1],
    ["all", 1],
    ["detached", 2]
  )
})

const operator = pick<Of<"recovery">>(
  ["retry", 3],
  ["effectRetry", 2],
  ["fix", 2],
  ["fixByProgram", 1],
  ["fallback", 2],
  ["catch", 1],
  ["race", 1]
)

const payOperator = pick<Of<"payRecovery">>(["fix", 3], ["retry", 2], ["effectRetry", 1], ["fixByProgram", 1], [
  "race",
  1
])

const call: Drawn<Of<"turns">[number]> = Arbitrary.all({
  tool: pick<"do" | "pay">(["do", 3], ["pay", 1]),
  order: pick<"a" | "b" | "none">(["a", 4], ["b", 2], ["none", 2])
})

/** A list of at most so many, and an empty one in most draws. */
const seldom = <A>(item: Drawn<A>, maxLength: number, empty: number): Drawn<ReadonlyArray<A>> =>
  Arbitrary.map(
    Arbitrary.all([
      pick([0, empty], ...Array.from({ length: maxLength }, (_, n) => [n + 1, 1] as const)),
      Arbitrary.array(item, { minLength: maxLength, maxLength })
    ]),
    ([length, items]) => items.slice(0, length)
  )

/** Compositions. */
export const drawnComposition: Drawn<Composition> = Arbitrary.all({
  steps: Arbitrary.array(step, { minLength: 1, maxLength: 3 }),
  ends: pick<Of<"ends">>(["answers", 5], ["fails", 3], ["hangs", 1], ["dies", 1]),
  effects: pick<Of<"effects">>(["write", 3], ["undeclared", 3], ["read", 2], ["idempotent", 1]),
  recovery: seldom(operator, 2, 2),
  payRecovery: seldom(payOperator, 1, 2),
  keyed: pick<Of<"keyed">>(["no", 3], ["order", 3], ["call", 1]),
  bank: seldom(
    pick<Of<"bank">>(["ok", 2], ["lost", 3], ["declined", 2], ["hang", 1], ["slow", 1], ["dies", 1]),
    3,
    2
  ),
  failures: pick([0, 3], [1, 3], [2, 1], [3, 1]),
  turns: Arbitrary.array(Arbitrary.array(call, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
  last: pick<Of<"last">>(["answers", 3], ["fails", 2]),
  preset: pick<Of<"preset">>(["keepGoing", 3], ["standard", 1], ["chatSafe", 1]),
  onTainted: pick<Of<"onTainted">>(["deny", 1], ["approve", 1]),
  decisions: seldom(pick<Of<"decisions">>(["approve", 1], ["reject", 1]), 2, 2),
  compensates: pick([false, 1], [true, 1]),
  callbacks: seldom(
    Arbitrary.all({
      of: pick<Of<"callbacks">["of"]>(["reconcile", 3], ["compensate", 2], ["policy", 1], ["audit", 1], ["report", 1], [
        "ledger",
        1
      ]),
      fails: pick<Of<"callbacks">["fails"]>(["throws", 1], ["dies", 1], ["fails", 1], ["hangs", 1])
    }),
    2,
    3
  ),
  executions: seldom(
    Arbitrary.all({ how: pick<"killed" | "stopped">(["killed", 2], ["stopped", 1]), at: spread(300, 37) }),
    2,
    3
  ),
  deployed: pick<Of<"deployed">>(["same", 2], ["described", 1], ["keyed", 1], ["withoutDo", 1], ["mended", 1], [
    "withoutJournal",
    1
  ]),
  interruptAt: Arbitrary.map(Arbitrary.all([pick([0, 3], [1, 1]), spread(300, 37)]), ([is, at]) => is * at),
  order: pick([0, 4], [7, 1], [38, 1], [69, 1])
})
