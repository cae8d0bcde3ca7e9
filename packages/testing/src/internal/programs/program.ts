/** Programs with agents as values: drawn, shrunk, printed and built. */
import { Schema } from "effect"
import { Drawn } from "../faults/storeFaults.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/**
 * How an execution of a tool goes.
 *
 * - `ok`, `slow`: it does it and answers, at once or after two seconds.
 * - `declined`: it does nothing, and fails with an error that the tool declares to say so.
 * - `failure`: it does nothing, and fails with an error that says nothing of it.
 * - `lost`: it does it, and fails. `hang`: it does it, and does not answer. `defect`: it does it, and dies.
 * - `unsure`: it does it, and fails with `OutcomeUnknown` itself.
 */
export const Outcome = Schema.Literals(["ok", "slow", "declined", "failure", "lost", "hang", "defect", "unsure"])

/** An operator around a call. `times` is how often it may run the call again, where it may. */
export const Step = Schema.Struct({
  op: Schema.Literals([
    "retry",
    "effectRetry",
    "repeat",
    "timeout",
    "timeoutRetry",
    "race",
    "raceFirst",
    "both",
    "unfitRetry",
    "standard",
    "fix",
    "fallbackValue",
    "fallbackTool",
    "catchTool",
    "catchValue"
  ]),
  times: between(1, 3)
})

/** A tool. */
export const ToolSpec = Schema.Struct({
  effects: Schema.Literals(["write", "read", "idempotent"]),
  /** The idempotency key: none, one for each call, or one of the arguments. */
  keyed: Schema.Literals(["no", "call", "order"]),
  timeout: Schema.Boolean,
  approval: Schema.Boolean,
  untrusted: Schema.Boolean,
  /** How its executions go, in turn; after that they go well. */
  outcomes: Schema.Array(Outcome).check(Schema.isMaxLength(3)),
  /** What its executor calls: nothing, the tool behind it, the one behind that, both in turn, the first one twice. */
  calls: between(0, 4),
  /** What it answers: text, or what is not JSON as it is. */
  result: Schema.Literals(["text", "date", "bigint", "optional"]),
  recovery: Schema.Array(Step).check(Schema.isMaxLength(3)),
  /** Whether it answers a Stream, and says how far it is. */
  streams: Schema.Boolean,
  /** Whether it gives the model a text and a picture in place of its result. */
  parts: Schema.Boolean,
  /** Whether it can undo what it has done, unless it only reads, and how that goes. */
  undo: Schema.Literals(["no", "ok", "fails", "hangs"])
})

/** A call by the model: of which tool, with which argument; `"none"` leaves the argument out. */
export const CallSpec = Schema.Struct({ tool: between(0, 2), order: Schema.Literals(["a", "b", "none"]) })

/**
 * What is wrong with the answer to the nth request.
 *
 * - `fails`: there is none. `cut`: it ends behind its first part. `hangs`: it does not come. `slow`: it takes five seconds.
 * - `strange`: it calls a tool that is not there, too.
 */
export const ModelFault = Schema.Struct({
  at: between(1, 6),
  fault: Schema.Literals(["fails", "cut", "hangs", "slow", "strange"])
})

/**
 * What happens to a chat behind its first message.
 *
 * - `say`: another message, also where the run waits. `two`: two messages at once.
 * - `decide`: a decision about the last question that was asked; `decideFirst`: about the first one. Both may be too late.
 * - `both`: a decision about the last question and a message at once.
 */
export const ChatStep = Schema.Literals(["say", "decide", "decideFirst", "two", "both"])

/** A program, and what happens to it. */
export const Program = Schema.Struct({
  tools: Schema.Array(ToolSpec).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
  /** Whether its tools have names of what every object inherits. */
  inherited: Schema.Boolean,
  /** The calls of each answer of the model. */
  turns: Schema.Array(Schema.Array(CallSpec).check(Schema.isMinLength(1), Schema.isMaxLength(3)))
    .check(Schema.isMinLength(1), Schema.isMaxLength(2)),
  /**
   * How the agent is run: as it is, as a tool of another, in a row with another, twice by hand, at once with another, in a race with another,
   * in turn with another by what a function or an agent decides.
   */
  form: Schema.Literals(["alone", "tool", "twice", "hand", "all", "race", "branch", "route"]),
  /**
   * The other agent: the same one, one with tools of its own, or a function that answers or fails after a second.
   */
  beside: Schema.Literals(["same", "works", "answers", "fails"]),
  /** What a policy says about calls of the last tool. */
  policy: Schema.Literals(["none", "deny", "ask"]),
  standard: Schema.Boolean,
  /** Whether agents undo what their runs have done where they end badly. */
  compensates: Schema.Boolean,
  /** Whether what is around these agents undoes, too. */
  undoesAround: Schema.Boolean,
  onTainted: Schema.Literals(["approve", "deny"]),
  /**
   * What agents do about a conversation that is too long: nothing, keep its end or leave results out once it has some tokens, keep
   * what fits once the provider has refused it.
   */
  compact: Schema.Literals(["no", "end", "results", "refused"]),
  /** What is wrong with answers of the model. */
  model: Schema.Array(ModelFault).check(Schema.isMaxLength(2)),
  /** What agents do about an answer that fails: end with the error, ask again once after a second, or answer in the model's place. */
  onModelError: Schema.Literals(["end", "again", "answer"]),
  /** Which tools `prepareTurn` offers the model: all of them, or the first alone. */
  offers: Schema.Literals(["all", "first"]),
  /**
   * What the agent's guards do, a second after they are asked: nothing, refuse the input or the answer, or put others in the places of
   * both.
   */
  guards: Schema.Literals(["none", "replace", "refuseInput", "refuseAnswer"]),
  concurrency: between(1, 3),
  /** How many runs the conversation has. */
  runs: between(1, 2),
  /** Whether a resumption that is interrupted is followed by another one, of the same snapshot and with the same decisions. */
  again: Schema.Boolean,
  /** Where a person is asked about calls that wait: outside, once the run has stopped; within the agents with tools; or around the whole. */
  asks: Schema.Literals(["outside", "within", "around"]),
  /** What happens behind the first message of a chat. Nothing: it is no chat, and has `runs`. */
  chat: Schema.Array(ChatStep).check(Schema.isMaxLength(4)),
  /** What a person says about calls that wait, in turn; after that, yes. */
  decisions: Schema.Array(Schema.Literals(["approve", "reject", "edit", "later", "late"]))
    .check(Schema.isMaxLength(3)),
  /** What keeps keys: a store of texts, which can only be read and written, or one that changes what it has in one step. */
  ledger: Schema.Literals(["texts", "steps"]),
  store: Schema.Array(Drawn).check(Schema.isMaxLength(2)),
  /** What listeners and the audit do. */
  observers: Schema.Literals(["fine", "die", "hang"]),
  /** Where the interrupted run is interrupted: an operation, modulo how many there are. */
  interruptAt: between(1, 50_000),
  /** The order in which fibers take turns: 0 is first come, first served. */
  order: between(0, 1000)
})

/** A program, and what happens to it. */
export type Program = typeof Program.Type

/** A tool of a program. */
export type ToolSpec = typeof ToolSpec.Type

/** What happens in a chat. */
export type ChatStep = typeof ChatStep.Type

/** An operator around a call. */
export type Step = typeof Step.Type

/** Forms in which there is another agent. */
export const pairs: ReadonlySet<Program["form"]> = new Set(["twice", "all", "race", "branch", "route"])

/** Names of what every object inherits, in the order of the alphabet, as plain names are. */
const inheritedNames = ["__proto__", "constructor", "toString"]

/** The name of the nth tool. */
export const toolName = ({ inherited }: Pick<Program, "inherited">, index: number): string =>
  inherited ? inheritedNames[index]! : `t${index}`

/** The tool that the nth tool falls back to: one behind it, so that there is no circle. */
export const behind = ({ tools }: Program, index: number, steps: number): number | undefined =>
  steps === 0 || index + steps >= tools.length ? undefined : index + steps

const called = [[], [1], [2], [1, 2], [1, 1]]

/** The tools that the executor of the nth tool calls, in turn. */
export const calledBy = (program: Program, index: number): ReadonlyArray<number> =>
  called[program.tools[index]!.calls]!.flatMap((steps) => behind(program, index, steps) ?? [])

const tool = (program: Program) => (spec: ToolSpec, index: number): string => {
  const { approval, effects, keyed, outcomes, parts, recovery, result, streams, timeout, undo, untrusted } = spec
  const within = calledBy(program, index)
  return [
    `${toolName(program, index)}: ${effects}`,
    ...(keyed === "no" ? [] : [keyed === "call" ? "a key for each call" : "a key of its argument"]),
    ...(timeout ? ["timeout 3 s"] : []),
    ...(approval ? ["needs approval"] : []),
    ...(untrusted ? ["untrusted"] : []),
    ...(result === "text" ? [] : [`answers a ${result}`]),
    ...(streams ? ["as a Stream"] : []),
    ...(parts ? ["shows a picture"] : []),
    ...(undo === "no" ? [] : [`undoes what it has done: ${undo}`]),
    ...(within.length === 0 ? [] : [`calls ${within.map((at) => toolName(program, at)).join(" and ")}`]),
    ...(outcomes.length === 0 ? [] : [`executions: ${outcomes.join(", ")}`]),
    ...(recovery.length === 0 ? [] : [`recovery: ${recovery.map(({ op, times }) => `${op}(${times})`).join(" | ")}`])
  ].join("; ")
}

/** A program as text for people. */
export const print = (program: Program): string => {
  const {
    again,
    asks,
    beside,
    chat,
    compact,
    compensates,
    concurrency,
    decisions,
    form,
    guards,
    ledger,
    model,
    observers,
    offers,
    onModelError,
    onTainted,
    order,
    policy,
    runs,
    standard,
    store,
    turns,
    undoesAround
  } = program
  return [
    ...program.tools.map(tool(program)),
    ...turns.map((calls, turn) =>
      `answer ${turn + 1}: ${
        calls.map(({ order, tool }) => `${toolName(program, tool % program.tools.length)}(${order})`)
      }`
    ),
    [
      `agent: ${form}${pairs.has(form) && beside !== "same" ? ` with one that ${beside}` : ""}`,
      `concurrency ${concurrency}`,
      `onTainted ${onTainted}`,
      ...(standard ? ["Recovery.standard"] : []),
      ...(compensates ? ["undoes"] : []),
      ...(undoesAround ? ["what is around it undoes"] : []),
      ...(asks === "outside" ? [] : [`asks ${asks}`]),
      ...(chat.length === 0 ? [] : [`chat: say, ${chat.join(", ")}`]),
      ...(compact === "no" ? [] : [`compacts: ${compact}`]),
      ...(offers === "all" ? [] : [`offers ${toolName(program, 0)} alone`]),
      ...(onModelError === "end" ? [] : [`on a failed answer: ${onModelError}`]),
      ...(guards === "none" ? [] : [`guards: ${guards}`]),
      ...(policy === "none" ? [] : [`policy ${policy} for ${toolName(program, program.tools.length - 1)}`]),
      ...(runs === 1 ? [] : [`${runs} runs`]),
      ...(again ? ["resumes again"] : []),
      ...(decisions.length === 0 ? [] : [`decisions: ${decisions.join(", ")}`]),
      ...(observers === "fine" ? [] : [`observers ${observers}`]),
      ...(order === 0 ? [] : [`order ${order}`])
    ].join("; "),
    ...(model.length === 0
      ? []
      : [`model: ${model.map(({ at, fault }) => `answer to request ${at} ${fault}`).join(", ")}`]),
    ...(store.length === 0 ? [] : [
      `stores (ledger of ${ledger}): ${
        store.map(({ at, fault, store }) => `${store} ${fault} at operation ${at}`).join(", ")
      }`
    ])
  ].join("\n")
}
