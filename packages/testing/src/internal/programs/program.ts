/** Programs with agents as values: drawn, shrunk, printed and built. */
import { Schema } from "effect"
import { Drawn } from "../faults/storeFaults.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/**
 * Outcome of a tool's execution.
 *
 * - `ok`, `slow`: it does it and answers, at once or after two seconds.
 * - `declined`: no effect, and an error that the tool declares as that.
 * - `failure`: no effect, and an error that leaves it open.
 * - `lost`: it does it, and fails. `hang`: it does it, and does not answer. `defect`: it does it, and dies.
 * - `unsure`: it does it, and fails with `OutcomeUnknown` itself.
 */
export const Outcome = Schema.Literals(["ok", "slow", "declined", "failure", "lost", "hang", "defect", "unsure"])

/** An operator around a call. `times` is the maximum of its repetitions, if they are allowed. */
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
  /** Outcomes of its executions, in turn; later ones succeed. */
  outcomes: Schema.Array(Outcome).check(Schema.isMaxLength(3)),
  /** Calls of its executor: none, the tool behind it, the one behind that, both in turn, the first one twice. */
  calls: between(0, 4),
  /** Its result: text, or a value that is not JSON itself. */
  result: Schema.Literals(["text", "date", "bigint", "optional"]),
  recovery: Schema.Array(Step).check(Schema.isMaxLength(3)),
  /** True if it returns a Stream, and reports progress. */
  streams: Schema.Boolean,
  /** True if it gives the model a text and a picture instead of its result. */
  parts: Schema.Boolean,
  /** Its compensation, unless it only reads, and the outcome. */
  undo: Schema.Literals(["no", "ok", "fails", "hangs"])
})

/** A call by the model: of which tool, with which argument; `"none"` leaves the argument out. */
const CallSpec = Schema.Struct({ tool: between(0, 2), order: Schema.Literals(["a", "b", "none"]) })

/**
 * Fault of the answer to the nth request.
 *
 * - `fails`: there is none. `cut`: it ends behind its first part. `hangs`: it does not come. `slow`: it takes five seconds.
 * - `strange`: it calls a tool that is not there, too.
 */
export const ModelFault = Schema.Struct({
  at: between(1, 6),
  fault: Schema.Literals(["fails", "cut", "hangs", "slow", "strange"])
})

/**
 * Events of a chat behind its first message.
 *
 * - `say`: another message, also if the run waits. `two`: two messages at once.
 * - `decide`: a decision about the last question that was asked; `decideFirst`: about the first one. Both may be too late.
 * - `both`: a decision about the last question and a message at once.
 */
export const ChatStep = Schema.Literals(["say", "decide", "decideFirst", "two", "both"])

/**
 * A program, and its events.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Program = Schema.Struct({
  tools: Schema.Array(ToolSpec).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
  /** True if its tools have the names of inherited properties. */
  inherited: Schema.Boolean,
  /** The calls of each answer of the model. */
  turns: Schema.Array(Schema.Array(CallSpec).check(Schema.isMinLength(1), Schema.isMaxLength(3)))
    .check(Schema.isMinLength(1), Schema.isMaxLength(2)),
  /**
   * Composition of the agent: alone, as a tool of another, in a row with another, twice by hand, in parallel with
   * another, in a race with another, in turn with another by the decision of a function or an agent.
   */
  form: Schema.Literals(["alone", "tool", "twice", "hand", "all", "race", "branch", "route"]),
  /**
   * The other agent: the same one, one with tools of its own, or a function that answers or fails after a second.
   */
  beside: Schema.Literals(["same", "works", "answers", "fails"]),
  /** A policy's verdict on calls of the last tool. */
  policy: Schema.Literals(["none", "deny", "ask"]),
  standard: Schema.Boolean,
  /** True if agents compensate their failed runs. */
  compensates: Schema.Boolean,
  /** True if the outer composition compensates too. */
  undoesAround: Schema.Boolean,
  onTainted: Schema.Literals(["approve", "deny"]),
  /**
   * Handling of a long conversation: none, keep its end or drop results above some tokens, keep the fitting part once
   * the provider has refused it.
   */
  compact: Schema.Literals(["no", "end", "results", "refused"]),
  /** Faults of the model's answers. */
  model: Schema.Array(ModelFault).check(Schema.isMaxLength(2)),
  /**
   * Handling of a failed answer: end with the error, request again once after a second, or answer instead of the model.
   */
  onModelError: Schema.Literals(["end", "again", "answer"]),
  /** Tools that `prepareTurn` offers the model: all of them, or the first alone. */
  offers: Schema.Literals(["all", "first"]),
  /**
   * Behaviour of the agent's guards, a second after their start: pass, refuse the input or the answer, or replace both.
   */
  guards: Schema.Literals(["none", "replace", "refuseInput", "refuseAnswer"]),
  concurrency: between(1, 3),
  /** Number of the conversation's runs. */
  runs: between(1, 2),
  /** True if another resumption follows an interrupted one, of the same snapshot and with the same decisions. */
  again: Schema.Boolean,
  /**
   * Place of questions about waiting calls: outside, once the run has stopped; within the agents with tools; or around
   * the whole.
   */
  asks: Schema.Literals(["outside", "within", "around"]),
  /** Events behind the first message of a chat. Empty: it is no chat, and has `runs`. */
  chat: Schema.Array(ChatStep).check(Schema.isMaxLength(4)),
  /** A person's decisions about waiting calls, in turn; later ones are approvals. */
  decisions: Schema.Array(Schema.Literals(["approve", "reject", "edit", "later", "late"]))
    .check(Schema.isMaxLength(3)),
  /** Store of keys: a store of texts, which can only be read and written, or one with atomic changes. */
  ledger: Schema.Literals(["texts", "steps"]),
  store: Schema.Array(Drawn).check(Schema.isMaxLength(2)),
  /** Behaviour of listeners and of the audit. */
  observers: Schema.Literals(["fine", "die", "hang"]),
  /** Position of the interruption: an operation, modulo their number. */
  interruptAt: between(1, 50_000),
  /** The order in which fibers take turns: 0 is first come, first served. */
  order: between(0, 1000)
})

/**
 * A program, and its events.
 *
 * @category models
 * @since 0.2.0
 */
export type Program = typeof Program.Type

/** A tool of a program. */
export type ToolSpec = typeof ToolSpec.Type

/** Event of a chat. */
export type ChatStep = typeof ChatStep.Type

/** An operator around a call. */
export type Step = typeof Step.Type

/** Forms in which there is another agent. */
export const pairs: ReadonlySet<Program["form"]> = new Set(["twice", "all", "race", "branch", "route"])

/** Names of inherited properties, in alphabetical order, like plain names. */
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
    ...(undo === "no" ? [] : [`compensates: ${undo}`]),
    ...(within.length === 0 ? [] : [`calls ${within.map((at) => toolName(program, at)).join(" and ")}`]),
    ...(outcomes.length === 0 ? [] : [`executions: ${outcomes.join(", ")}`]),
    ...(recovery.length === 0 ? [] : [`recovery: ${recovery.map(({ op, times }) => `${op}(${times})`).join(" | ")}`])
  ].join("; ")
}

/**
 * A program as text for people.
 *
 * @category formatting
 * @since 0.2.0
 */
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
      ...(undoesAround ? ["the outer composition compensates"] : []),
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
