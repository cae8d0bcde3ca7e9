/** World commands: what users do, and what happens meanwhile. */
import { Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as FaultPlan from "../../FaultPlan.ts"
import { pick, spread } from "../arbitrary/weighted.ts"
import { StoreFault } from "./stores.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** How a run ends that is not left to itself: its user cancels it, or its process is killed, at an operation. */
export const Ending = Schema.Struct({
  how: Schema.Literals(["by itself", "cancelled", "killed"]),
  at: between(1, 900)
})

/** A fault of a tool: which of the tools, which fault, and at which of its executions in the run. */
const ToolFault = Schema.Struct({
  tool: between(0, 7),
  type: Schema.Literals([
    "network_error_after_commit",
    "timeout_after_commit",
    "network_error",
    "timeout",
    "failure",
    "hang",
    "defect"
  ]),
  from: between(1, 2)
})

const happens = {
  ending: Ending,
  /** Faults of tools. */
  faults: Schema.Array(ToolFault).check(Schema.isMaxLength(2)),
  store: Schema.Array(StoreFault).check(Schema.isMaxLength(1)),
  /** By how much the clock of the process is wrong, in milliseconds. */
  skew: Schema.Literals([0, 300_000, -300_000])
}

/** A user's request; `twice`: sent to two processes at the same time. */
const Ask = Schema.TaggedStruct("Ask", { scenario: between(0, 7), twice: Schema.Literals([false, true]), ...happens })

/** A person's decision about the calls of a waiting run. */
const Decide = Schema.TaggedStruct("Decide", {
  run: between(0, 3),
  decision: Schema.Literals(["approve", "reject", "edit"]),
  ...happens
})

/** Nobody does anything for a while. */
const Wait = Schema.TaggedStruct("Wait", { hours: between(1, 48) })

/** What a user does. */
export const Command = Schema.Union([Ask, Decide, Wait])

/** What a user does. */
export type Command = typeof Command.Type

const fault = Arbitrary.schema(ToolFault)

const drawnHappens = {
  ending: Arbitrary.all({
    how: pick<typeof Ending.Type["how"]>(["by itself", 5], ["cancelled", 2], ["killed", 3]),
    at: spread(300, 3)
  }),
  faults: Arbitrary.map(
    Arbitrary.all([pick([0, 3], [1, 3], [2, 1]), fault, fault]),
    ([most, first, second]) => [first, second].slice(0, most)
  ),
  store: Arbitrary.map(
    Arbitrary.all([pick([0, 4], [1, 1]), Arbitrary.schema(StoreFault)]),
    ([most, one]) => [one].slice(0, most)
  ),
  skew: pick<0 | 300_000 | -300_000>([0, 6], [300_000, 1], [-300_000, 1])
}

const askedOf = (scenarios: number) =>
  Arbitrary.map(
    Arbitrary.all({
      scenario: pick(...Array.from({ length: scenarios }, (_, index) => [index, 1] as const)),
      twice: pick([false, 4], [true, 1]),
      ...drawnHappens
    }),
    (drawn): Command => ({ _tag: "Ask", ...drawn })
  )

const decided = Arbitrary.map(
  Arbitrary.all({
    run: pick([0, 4], [1, 2], [2, 1], [3, 1]),
    decision: pick<"approve" | "reject" | "edit">(["approve", 6], ["reject", 1], ["edit", 1]),
    ...drawnHappens
  }),
  (drawn): Command => ({ _tag: "Decide", ...drawn })
)

const waited = Arbitrary.map(spread(48, 1), (hours): Command => ({ _tag: "Wait", hours }))

/** Draws commands; `mayWait` says whether runs may wait for decisions. */
export const drawnCommand = (scenarios: number, mayWait: boolean): Arbitrary.Arbitrary<Command> =>
  Arbitrary.flatMap(
    pick<"ask" | "decide" | "wait">(["ask", 6], ["decide", mayWait ? 6 : 0], ["wait", 1]),
    (which) => which === "ask" ? askedOf(scenarios) : which === "decide" ? decided : waited
  )

/** A plan of the faults of a command. */
export const planOf = (command: Exclude<Command, { readonly _tag: "Wait" }>, tools: ReadonlyArray<string>) =>
  FaultPlan.make(
    tools.length === 0
      ? []
      : command.faults.map(({ from, tool, type }) => FaultPlan.onTool(tools[tool % tools.length]!, { type }, { from }))
  )

/** A command as text for people. */
export const print = (command: Command, scenarios: ReadonlyArray<string>, tools: ReadonlyArray<string>): string => {
  if (command._tag === "Wait") return `wait ${command.hours} hours`
  const { ending, faults, skew, store } = command
  return [
    command._tag === "Ask"
      ? `ask "${scenarios[command.scenario % scenarios.length]}"${command.twice ? ", by two processes at once" : ""}`
      : `${command.decision} what run ${command.run + 1} of those that wait asks`,
    ...(ending.how === "by itself" ? [] : [`${ending.how} at operation ${ending.at}`]),
    ...(tools.length === 0 ?
      [] :
      faults.map(({ from, tool, type }) => `${tools[tool % tools.length]}: ${type} at execution ${from}`)),
    ...store.map(({ at, fault, store }) => `${store}: ${fault} at operation ${at}`),
    ...(skew === 0 ? [] : [`its clock is wrong by ${skew / 60_000} minutes`])
  ].join("; ")
}
