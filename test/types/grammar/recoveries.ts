/** Random recovery: the library's operators and Effect's own, piped. */
import { and, type Left, quoted, without, type Writer } from "./writer.ts"

export interface Operator {
  readonly code: string
  readonly left: Left
}

type MakeOperator = (writer: Writer, left: Left) => Operator | undefined

const projectable = ["InvalidArgs", "ExecutionError", "Timeout", "OutcomeUnknown", "CircuitOpen"]
const replaceable = ["InvalidArgs", "ExecutionError", "Timeout", "CircuitOpen"]

const present = (left: Left, tags: ReadonlyArray<string>): ReadonlyArray<string> =>
  tags.filter((tag) => left.tags.has(tag))

/** Without tags: the reasons go with `ExecutionError`. */
const handled = (left: Left, tags: ReadonlyArray<string>, ...added: ReadonlyArray<string>): Left => ({
  tags: and(without(left.tags, tags), ...added),
  reasons: tags.includes("ExecutionError") ? new Set() : left.reasons
})

/** Errors of the program that have a tag of the library's. */
const lookalikes = [
  "OwnEscalation()",
  "OwnInvalidArgs()",
  "OwnNotApproved()",
  "OwnExecutionError({ reason: new Down() })"
]

const other = ({ draw }: Writer): string =>
  draw.pick([
    () => "c.act()",
    () => "c.act(new Mine())",
    () => "Effect.flatMap(Beta, () => c.act())",
    () => `c.act(new ${draw.pick(lookalikes)})`
  ])()

/** An agent that fixes. */
const fixer = (writer: Writer): string => {
  const { draw } = writer
  const made = () =>
    draw.pick([
      () => `Agent.fromFunction("fixer", (_: Recovery.FixRequest) => Effect.as(c.act(), "{\\"n\\":1}"))`,
      () => `Agent.fromFunction("fixer", (_: Recovery.FixRequest) => Effect.as(c.act(new Broken()), "{\\"n\\":1}"))`,
      () => `Agent.fromFunction("fixer", (_: Recovery.FixRequest) => Effect.as(Beta, "{\\"n\\":1}"))`,
      () => `Agent.make("fixer", { instructions: "fixer", tools: [Tool.escalate, Tool.throwException] })`
    ])()
  const one = writer.declare("fixer", made())
  return draw.chance(20) ? `(c.flag() ? ${one} : ${writer.declare("fixer", made())})` : one
}

const entry = (writer: Writer, tag: string): string => {
  const { draw } = writer
  const ending = draw.pick(["\"escalate\" as const", "\"rethrow\" as const"])
  if (tag === "InvalidArgs" && draw.chance(30)) return `{ fix: ${fixer(writer)}, otherwise: ${ending} }`
  if ((tag === "ExecutionError" || tag === "Timeout") && draw.chance(30)) {
    return `{ retry: { times: 1 }, otherwise: ${ending} }`
  }
  return draw.chance(15) ? "c.flag() ? \"escalate\" as const : \"rethrow\" as const" : ending
}

/** A table for tools. */
export const policy = (writer: Writer): string => {
  const { draw } = writer
  if (draw.chance(25)) return "Recovery.standard"
  const tags = draw.some([...projectable, "InvalidResult", "PartialSuccess", "LedgerUnavailable"])
  const entries = tags.map((tag) =>
    writer.draw.chance(20)
      ? `...(c.flag() ? { ${tag}: ${entry(writer, tag)} } : {}),`
      : `${tag}: ${entry(writer, tag)},`
  )
  return `Recovery.policy({ ${entries.join(" ")} })`
}

const operators: ReadonlyArray<MakeOperator> = [
  (_, left) => ({ code: "Recovery.retry({ times: 1 })", left }),
  (_, left) => ({ code: "Effect.retry({ times: 1 })", left }),
  ({ draw }, left) => {
    const tags = draw.some(present(left, projectable))
    return tags.length === 0
      ? undefined
      : { code: `Recovery.escalate(${quoted(tags)})`, left: handled(left, tags, "Escalation") }
  },
  ({ draw }, left) => {
    const tags = present(left, projectable)
    if (tags.length < 2) return undefined
    const [one, two] = tags
    return {
      code: draw.pick([
        `Recovery.escalate(c.flag() ? "${one}" : "${two}")`,
        `Recovery.escalate(...c.some(["${one}", "${two}"]))`
      ]),
      left: handled(left, [one!, two!], "Escalation")
    }
  },
  ({ draw }, left) => {
    const tags = present(left, projectable)
    if (tags.length === 0) return undefined
    const tag = draw.pick(tags)
    return {
      code: `Recovery.escalateWith("${tag}", () => ({ reason: "r" }))`,
      left: handled(left, [tag], "Escalation")
    }
  },
  (writer, left) => {
    const tags = writer.draw.some(present(left, replaceable))
    if (tags.length === 0) return undefined
    const list = tags.length === 1 ? quoted(tags) : `[${quoted(tags)}]`
    const listed = writer.draw.chance(30) ? `c.some([${quoted(tags)}])` : list
    return { code: `Recovery.fallback(${listed}, ${other(writer)})`, left: handled(left, tags) }
  },
  (writer, left) => {
    const reasons = [...left.reasons]
    if (reasons.length === 0) return undefined
    const reason = writer.draw.pick(reasons)
    const rest = without(left.reasons, [reason])
    return {
      code: `Recovery.catchReason("${reason}", () => ${other(writer)})`,
      left: { tags: rest.size === 0 ? without(left.tags, ["ExecutionError"]) : left.tags, reasons: rest }
    }
  },
  (writer, left) => {
    const reasons = [...left.reasons]
    if (reasons.length === 0) return undefined
    const caught = writer.draw.some(reasons)
    const cases = caught.map((reason) =>
      writer.draw.chance(30)
        ? `...(c.flag() ? { ${reason}: () => ${other(writer)} } : {}),`
        : `${reason}: () => ${other(writer)},`
    )
    const rest = without(left.reasons, caught)
    return {
      code: `Recovery.catchReasons({ ${cases.join(" ")} })`,
      left: { tags: rest.size === 0 ? without(left.tags, ["ExecutionError"]) : left.tags, reasons: rest }
    }
  },
  (writer, left) =>
    left.tags.has("InvalidArgs")
      ? { code: `Recovery.fix("InvalidArgs", ${fixer(writer)})`, left }
      : undefined,
  (_, left) => ({
    code: "Recovery.circuitBreaker()",
    left: { ...left, tags: and(left.tags, "CircuitOpen") }
  }),
  ({ draw }, left) => ({
    code: draw.pick([
      "Recovery.idempotent()",
      "Recovery.idempotent({ reconcile: () => Effect.map(Beta, () => Reconciliation.completed(\"a\")) })"
    ]),
    left: { ...left, tags: and(left.tags, "OutcomeUnknown", "LedgerUnavailable", "IdempotencyConflict") }
  }),
  (writer, left) => ({ code: policy(writer), left: handled(left, [...left.tags]) }),
  (writer, left) => {
    const tags = [...without(left.tags, ["Escalation"])]
    if (tags.length === 0) return undefined
    const tag = writer.draw.pick(tags)
    return { code: `Effect.catchTag("${tag}", () => ${other(writer)})`, left: handled(left, [tag]) }
  },
  (writer) => ({
    code: `Effect.catch(() => ${other(writer)})`,
    left: { tags: new Set(), reasons: new Set() }
  }),
  (writer, left) => ({
    code: `Effect.timeoutOrElse({ duration: "2 seconds", orElse: () => ${other(writer)} })`,
    left
  }),
  (_, left) => ({
    code: "Effect.timeout(\"2 seconds\"), Effect.retry({ times: 1 })",
    left: { ...left, tags: and(left.tags, "TimeoutError") }
  }),
  () => ({
    code: "Effect.mapError(() => new Mine())",
    left: { tags: new Set(["Mine"]), reasons: new Set() }
  }),
  (_, left) => ({ code: "Effect.provideService(Alpha, { on: true })", left }),
  ({ draw }, left) => ({
    code: draw.pick(["Effect.repeat({ times: 1 })", "Effect.catchDefect((defect) => Effect.die(defect))"]),
    left
  })
]

const operator = (writer: Writer, left: Left): Operator => {
  const made = writer.draw.pick(operators)(writer, left) ?? { code: "Recovery.retry({ times: 1 })", left }
  // Stored first, and used then: its subject is unknown at its definition.
  if (writer.draw.chance(8) && /^Recovery\.(retry|circuitBreaker|policy|fallback|escalate\()/.test(made.code)) {
    return { code: writer.declare("stored", made.code), left: made.left }
  }
  return made
}

/** A function from a call to an effect, and the errors that it certainly leaves. */
export const recovery = (writer: Writer, left: Left): Operator => {
  const { draw } = writer
  const steps: Array<Operator> = [operator(writer, left)]
  while (steps.length < 3 && draw.chance(45)) steps.push(operator(writer, steps.at(-1)!.left))
  const ended = steps.at(-1)!.left
  const piped = steps.map(({ code }) => code).join(", ")
  if (draw.chance(12)) {
    return {
      code: `(call) => Effect.gen(function*() { return c.flag() ? yield* call.pipe(${piped}) : yield* call })`,
      left: { tags: new Set(), reasons: new Set() }
    }
  }
  return {
    code: steps.length === 1 && draw.chance(30) && piped.startsWith("Recovery.") && !piped.includes("() =>") &&
        !piped.startsWith("Recovery.catchReason")
      ? piped
      : `(call) => call.pipe(${piped})`,
    left: ended
  }
}
