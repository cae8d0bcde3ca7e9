/**
 * Draws programs. Common constructs are more frequent than those that stop a program early. Shrinking goes to the first
 * alternative.
 */
import { Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { pick, spread } from "../arbitrary/weighted.ts"
import { type ChatStep, type Outcome, type Program, type Step, type ToolSpec } from "./program.ts"

const between = (minimum: number, maximum: number) =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })))

const yes = (share: number) => pick([false, 10 - share], [true, share])

const outcome = pick<typeof Outcome.Type>(
  ["ok", 2],
  ["lost", 4],
  ["failure", 3],
  ["slow", 2],
  ["declined", 2],
  ["hang", 2],
  ["defect", 1],
  ["unsure", 1]
)

const step: Arbitrary.Arbitrary<Step> = Arbitrary.all({
  op: pick<Step["op"]>(
    ["retry", 3],
    ["effectRetry", 3],
    ["fallbackTool", 4],
    ["timeoutRetry", 2],
    ["race", 2],
    ["standard", 2],
    ["timeout", 1],
    ["repeat", 1],
    ["raceFirst", 1],
    ["both", 1],
    ["unfitRetry", 1],
    ["fix", 1],
    ["catchTool", 1],
    ["fallbackValue", 1],
    ["catchValue", 1]
  ),
  times: pick([1, 2], [2, 2], [3, 1])
})

const tool: Arbitrary.Arbitrary<ToolSpec> = Arbitrary.all({
  effects: pick<ToolSpec["effects"]>(["write", 6], ["read", 3], ["idempotent", 1]),
  keyed: pick<ToolSpec["keyed"]>(["no", 4], ["call", 4], ["order", 1]),
  timeout: yes(4),
  approval: yes(3),
  untrusted: yes(2),
  outcomes: Arbitrary.array(outcome, { maxLength: 3 }),
  calls: pick([0, 5], [1, 2], [2, 1], [3, 3], [4, 2]),
  result: pick<ToolSpec["result"]>(["text", 7], ["date", 1], ["bigint", 1], ["optional", 1]),
  recovery: Arbitrary.array(step, { maxLength: 3 }),
  streams: yes(2),
  parts: yes(2),
  undo: pick<ToolSpec["undo"]>(["no", 4], ["ok", 8], ["fails", 1], ["hangs", 1])
})

const call = Arbitrary.all({
  tool: pick([0, 2], [1, 1], [2, 1]),
  order: pick<"a" | "b" | "none">(["a", 5], ["b", 3], ["none", 1])
})

const storeFault: Arbitrary.Arbitrary<Program["store"][number]> = Arbitrary.all({
  store: pick<"ledger" | "resumptions">(["ledger", 3], ["resumptions", 1]),
  at: pick([1, 3], [2, 3], [3, 2], [4, 2], [5, 1], [6, 1], [7, 1], [8, 1]),
  fault: pick<Program["store"][number]["fault"]>(["fails", 1], ["lost", 1], ["twice", 1], ["hangs", 1])
})

const modelFault: Arbitrary.Arbitrary<Program["model"][number]> = Arbitrary.all({
  at: pick([1, 2], [2, 3], [3, 3], [4, 2], [5, 1], [6, 1]),
  fault: pick<Program["model"][number]["fault"]>(["fails", 3], ["cut", 3], ["hangs", 1], ["slow", 1], ["strange", 2])
})

const chats: Arbitrary.Arbitrary<Program["chat"]> = Arbitrary.map(
  Arbitrary.all([
    yes(2),
    Arbitrary.array(
      pick<ChatStep>(["say", 3], ["decide", 4], ["decideFirst", 1], ["two", 1], ["both", 1]),
      { minLength: 1, maxLength: 3 }
    )
  ]),
  ([isChat, steps]) => isChat ? steps : []
)

/** Programs. */
export const drawnProgram: Arbitrary.Arbitrary<Program> = Arbitrary.all({
  tools: Arbitrary.array(tool, { minLength: 1, maxLength: 3 }),
  turns: Arbitrary.array(Arbitrary.array(call, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
  inherited: yes(2),
  form: pick<Program["form"]>(
    ["alone", 7],
    ["tool", 3],
    ["twice", 2],
    ["hand", 1],
    ["all", 2],
    ["race", 2],
    ["branch", 1],
    ["route", 1]
  ),
  beside: pick<Program["beside"]>(["same", 2], ["works", 2], ["answers", 1], ["fails", 1]),
  policy: pick<Program["policy"]>(["none", 6], ["deny", 1], ["ask", 1]),
  standard: yes(7),
  compensates: yes(5),
  undoesAround: yes(3),
  onTainted: pick<Program["onTainted"]>(["approve", 1], ["deny", 1]),
  compact: pick<Program["compact"]>(["no", 6], ["end", 1], ["results", 1], ["refused", 1]),
  model: Arbitrary.map(
    Arbitrary.all([pick([0, 6], [1, 2], [2, 1]), Arbitrary.array(modelFault, { maxLength: 2 })]),
    ([most, faults]) => faults.slice(0, most)
  ),
  onModelError: pick<Program["onModelError"]>(["end", 2], ["again", 2], ["answer", 1]),
  offers: pick<Program["offers"]>(["all", 9], ["first", 1]),
  guards: pick<Program["guards"]>(["none", 12], ["replace", 2], ["refuseInput", 1], ["refuseAnswer", 1]),
  concurrency: between(1, 3),
  runs: pick([1, 3], [2, 2]),
  again: yes(5),
  asks: pick<Program["asks"]>(["outside", 8], ["within", 1], ["around", 1]),
  chat: chats,
  decisions: Arbitrary.array(
    pick<Program["decisions"][number]>(["approve", 3], ["reject", 1], ["edit", 1], ["later", 1], ["late", 1]),
    { maxLength: 3 }
  ),
  ledger: pick<Program["ledger"]>(["texts", 1], ["steps", 1]),
  store: Arbitrary.map(
    Arbitrary.all([pick([0, 5], [1, 1], [2, 1]), Arbitrary.array(storeFault, { maxLength: 2 })]),
    ([most, faults]) => faults.slice(0, most)
  ),
  observers: pick<Program["observers"]>(["fine", 10], ["die", 1], ["hang", 1]),
  interruptAt: spread(500, 97),
  order: pick([0, 5], ...Array.from({ length: 5 }, (_, index) => [index * 31 + 7, 1] as const))
})
