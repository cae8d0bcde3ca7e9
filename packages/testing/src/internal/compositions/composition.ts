/** Compositions as values: an executor made of calls and agents run by hand, its recovery, and the faults around it. */
import { Schema } from "effect"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/**
 * One step of the executor.
 *
 * - `page`: calls a tool that reads an untrusted page. `reader`: runs an agent that reads it, and answers an order of the page.
 * - `pay`: pays the order of the call at bank A, by a call by hand. `obey`: pays the answer of the step before.
 *   `otherBank`: pays at bank B, by another tool of the same name.
 * - `clerk`: runs an agent whose model pays at bank A. `teller`: runs another agent of the same name, whose model pays at bank B.
 */
const Does = Schema.Literals(["page", "reader", "pay", "obey", "otherBank", "clerk", "teller"])

/**
 * Execution of a step.
 *
 * - `once`. `retry`: by `Effect.retry`, two more times. `recovery`: by `Recovery.retry`, two more times.
 * - `timeout`: for one second, and a second time. `race`: twice in an `Effect.race`. `all`: twice in an `Effect.all`.
 * - `detached`: in a detached fiber, a second later.
 */
const How = Schema.Literals(["once", "retry", "recovery", "timeout", "race", "all", "detached"])

/** One step of the executor. */
export const Step = Schema.Struct({ does: Does, how: How })

/**
 * A bank's execution of a payment: `lost`, `hang` and `dies` follow the payment, `declined` means that it is not paid.
 */
export const Outcome = Schema.Literals(["ok", "slow", "declined", "lost", "hang", "dies"])

/** An operator of a recovery. `fix` and `fixByProgram` answer with an untrusted page's text. */
export const Operator = Schema.Literals(["retry", "effectRetry", "fix", "fixByProgram", "fallback", "catch", "race"])

/** Failure of a callback of the program. */
const Fails = Schema.Literals(["throws", "dies", "fails", "hangs"])

/** A callback that fails. */
export const Callback = Schema.Struct({
  of: Schema.Literals(["reconcile", "compensate", "policy", "audit", "report", "ledger"]),
  fails: Fails
})

/** An execution that does not end by itself: its process is killed, or is stopped in order, at an operation. */
export const Ending = Schema.Struct({ how: Schema.Literals(["killed", "stopped"]), at: between(1, 20_000) })

/** A call of the model; `none` leaves the argument out. */
export const Call = Schema.Struct({ tool: Schema.Literals(["do", "pay"]), order: Schema.Literals(["a", "b", "none"]) })

/**
 * A composition, and its faults.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Composition = Schema.Struct({
  /** Steps of the executor of the tool `do`. */
  steps: Schema.Array(Step).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
  /** End of the executor's first run, after its steps. */
  ends: Schema.Literals(["answers", "fails", "hangs", "dies"]),
  /** Declared effects of the tool `do`. */
  effects: Schema.Literals(["write", "undeclared", "read", "idempotent"]),
  /** Recovery of the tool `do`, and of the payments. */
  recovery: Schema.Array(Operator).check(Schema.isMaxLength(2)),
  payRecovery: Schema.Array(Operator).check(Schema.isMaxLength(1)),
  /** Idempotency keys of the payments: none, one for each call, or one of the order. */
  keyed: Schema.Literals(["no", "call", "order"]),
  /** Outcomes of the first payments; later ones succeed. */
  bank: Schema.Array(Outcome).check(Schema.isMaxLength(3)),
  /** Number of failures of inner agents' models after their payment. */
  failures: between(0, 3),
  /** The calls of each answer of the outer model, and how it ends. */
  turns: Schema.Array(Schema.Array(Call).check(Schema.isMinLength(1), Schema.isMaxLength(2)))
    .check(Schema.isMinLength(1), Schema.isMaxLength(2)),
  last: Schema.Literals(["answers", "fails"]),
  preset: Schema.Literals(["keepGoing", "standard", "chatSafe"]),
  onTainted: Schema.Literals(["deny", "approve"]),
  /** Decisions of the person who is asked, in turn; after that, yes. */
  decisions: Schema.Array(Schema.Literals(["approve", "reject"])).check(Schema.isMaxLength(2)),
  compensates: Schema.Boolean,
  callbacks: Schema.Array(Callback).check(Schema.isMaxLength(2)),
  /** Executions before the last one, over one journal. */
  executions: Schema.Array(Ending).check(Schema.isMaxLength(2)),
  /**
   * Differences of the later executions from the first one; `withoutJournal`: no execution has a journal, all have one
   * run id and one ledger.
   */
  deployed: Schema.Literals(["same", "described", "keyed", "withoutDo", "mended", "withoutJournal"]),
  /** The operation at which the run is interrupted, if there is one execution; 0: none. */
  interruptAt: between(0, 20_000),
  /** The order in which fibers take turns: 0 is first come, first served. */
  order: between(0, 1000)
})

/**
 * A composition, and its faults.
 *
 * @category models
 * @since 0.2.0
 */
export type Composition = typeof Composition.Type

/** A step of the executor. */
export type Step = typeof Step.Type

const stepText = ({ does, how }: Step): string => how === "once" ? does : `${does} (${how})`

const listed = (name: string, items: ReadonlyArray<string>): ReadonlyArray<string> =>
  items.length === 0 ? [] : [`${name}: ${items.join(", ")}`]

/**
 * A composition as text for people.
 *
 * @category formatting
 * @since 0.2.0
 */
export const printComposition = (composition: Composition): string =>
  [
    [
      `do: ${composition.effects}, ${composition.steps.map(stepText).join(", then ")}; ${composition.ends}`,
      ...listed("recovery", composition.recovery)
    ],
    [
      `pay: key ${composition.keyed}`,
      ...listed("recovery", composition.payRecovery),
      ...listed("outcomes", composition.bank)
    ],
    [
      `agent: ${composition.preset}, onTainted ${composition.onTainted}`,
      ...(composition.compensates ? ["compensates"] : []),
      ...listed("decisions", composition.decisions)
    ],
    [
      ...composition.turns.map((calls, nth) =>
        `answer ${nth + 1}: ${calls.map(({ order, tool }) => `${tool}(${order})`).join(", ")}`
      ),
      `then it ${composition.last}`
    ],
    listed("callbacks", composition.callbacks.map(({ fails, of }) => `${of} ${fails}`)),
    listed("executions", composition.executions.map(({ at, how }) => `${how} at operation ${at}`)),
    [
      ...(composition.failures === 0 ? [] : [`models within fail ${composition.failures} times`]),
      ...(composition.executions.length === 0 || composition.deployed === "same"
        ? []
        : [`deployed: ${composition.deployed}`]),
      ...(composition.interruptAt === 0 ? [] : [`interrupted at operation ${composition.interruptAt}`]),
      ...(composition.order === 0 ? [] : [`order ${composition.order}`])
    ]
  ].flatMap((parts) => parts.length === 0 ? [] : [parts.join("; ")]).join("\n")
