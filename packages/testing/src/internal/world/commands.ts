/** World commands: users' actions, and simultaneous events. */
import { Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as FaultPlan from "../../FaultPlan.ts"
import { pick, spread } from "../arbitrary/weighted.ts"
import * as StoreFault from "../faults/storeFaults.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** End of a run from outside: its user cancels it, or its process is killed, at an operation. */
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

/** A fault of a request: of which of the world's operations, which fault, and at which of them in the run. */
const RequestFault = Schema.Struct({
  operation: between(0, 7),
  type: Schema.Literals(["service_answer_lost", "service_fails", "service_hangs"]),
  from: between(1, 2)
})

const happens = {
  ending: Ending,
  /** Faults of tools. */
  faults: Schema.Array(ToolFault).check(Schema.isMaxLength(2)),
  /** A fault of executors' requests by `World.request`. */
  request: Schema.optionalKey(RequestFault),
  store: Schema.Array(StoreFault.Drawn).check(Schema.isMaxLength(1)),
  /** By how much the clock of the process is wrong, in milliseconds. */
  skew: Schema.Literals([0, 300_000, -300_000]),
  /** Its clock is put forward or back while it runs: after how many milliseconds, and by how many. */
  jump: Schema.optionalKey(Schema.Struct({ after: between(0, 60_000), by: Schema.Literals([3_600_000, -3_600_000]) })),
  /** Seed of the random order of simultaneously ready fibers. Absent: first come, first served. */
  order: Schema.optionalKey(between(1, 1_000_000))
}

/** A user's request; `twice`: sent to two processes at the same time; `thread`: which of the chats it is said in. */
const Ask = Schema.TaggedStruct("Ask", {
  scenario: between(0, 7),
  twice: Schema.Literals([false, true]),
  thread: Schema.optionalKey(between(0, 7)),
  ...happens
})

/** A person's decision about the calls of a waiting run; `twice`: sent to two processes at the same time. */
const Decide = Schema.TaggedStruct("Decide", {
  run: between(0, 3),
  twice: Schema.optionalKey(Schema.Literals([false, true])),
  decision: Schema.Literals(["approve", "reject", "edit"]),
  ...happens
})

/** A time without actions. */
const Wait = Schema.TaggedStruct("Wait", { hours: between(1, 48) })

/** A deployment: processes that start later have another version of the agent. 0 is the first one. */
const Deploy = Schema.TaggedStruct("Deploy", { version: between(0, 7) })

/**
 * Action of a user, or of an operator.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Command = Schema.Union([Ask, Decide, Wait, Deploy])

/**
 * Action of a user, or of an operator.
 *
 * @category models
 * @since 0.2.0
 */
export type Command = typeof Command.Type

/** A command that a process executes. */
export type Executed = Exclude<Command, { readonly _tag: "Wait" | "Deploy" }>

const fault = Arbitrary.schema(ToolFault)

const requestFault = Arbitrary.schema(RequestFault)

const drawnHappens = {
  ending: Arbitrary.all({
    how: pick<typeof Ending.Type["how"]>(["by itself", 5], ["cancelled", 2], ["killed", 3]),
    at: spread(300, 3)
  }),
  faults: Arbitrary.map(
    Arbitrary.all([pick([0, 3], [1, 3], [2, 1]), fault, fault]),
    ([most, first, second]) => [first, second].slice(0, most)
  ),
  request: Arbitrary.map(
    Arbitrary.all([pick([false, 2], [true, 1]), requestFault]),
    ([isDrawn, one]) => isDrawn ? one : undefined
  ),
  store: Arbitrary.map(
    Arbitrary.all([pick([0, 4], [1, 1]), Arbitrary.schema(StoreFault.Drawn)]),
    ([most, one]) => [one].slice(0, most)
  ),
  skew: pick<0 | 300_000 | -300_000>([0, 6], [300_000, 1], [-300_000, 1]),
  jump: pick(
    [undefined, 10],
    [{ after: 50, by: -3_600_000 } as const, 1],
    [{ after: 1000, by: -3_600_000 } as const, 1],
    [{ after: 50, by: 3_600_000 } as const, 1]
  ),
  order: pick(...Array.from({ length: 32 }, (_, nth) => [nth < 16 ? undefined : nth, 1] as const))
}

/** Random values, without default ones. */
const settled = <
  A extends {
    readonly order: number | undefined
    readonly jump: typeof happens.jump.Type | undefined
    readonly request: typeof happens.request.Type | undefined
  }
>(
  { jump, order, request, ...drawn }: A
) => ({
  ...drawn,
  ...(request === undefined ? undefined : { request }),
  ...(jump === undefined ? undefined : { jump }),
  ...(order === undefined ? undefined : { order })
})

const askedOf = (scenarios: number, threads: number) =>
  Arbitrary.map(
    Arbitrary.all({
      scenario: pick(...Array.from({ length: scenarios }, (_, index) => [index, 1] as const)),
      twice: pick([false, 4], [true, 1]),
      thread: pick(...Array.from({ length: Math.max(1, threads) }, (_, index) => [index, 1] as const)),
      ...drawnHappens
    }),
    ({ thread, ...drawn }): Command => ({
      _tag: "Ask",
      ...(threads === 0 ? undefined : { thread }),
      ...settled(drawn)
    })
  )

const decided = Arbitrary.map(
  Arbitrary.all({
    run: pick([0, 4], [1, 2], [2, 1], [3, 1]),
    decision: pick<"approve" | "reject" | "edit">(["approve", 6], ["reject", 1], ["edit", 1]),
    twice: pick([false, 6], [true, 1]),
    ...drawnHappens
  }),
  (drawn): Command => ({ _tag: "Decide", ...settled(drawn) })
)

const waited = Arbitrary.map(spread(48, 1), (hours): Command => ({ _tag: "Wait", hours }))

const deployed = (versions: number) =>
  Arbitrary.map(
    pick(...Array.from({ length: versions }, (_, version) => [version, 1] as const)),
    (version): Command => ({ _tag: "Deploy", version })
  )

/** The commands of a program: how many scenarios, chats and versions it has, and if its runs may wait for decisions. */
export interface Commanded {
  readonly scenarios: number
  readonly mayWait: boolean
  readonly threads: number
  readonly versions: number
}

/** Draws commands. */
export const drawnCommand = ({ mayWait, scenarios, threads, versions }: Commanded): Arbitrary.Arbitrary<Command> =>
  Arbitrary.flatMap(
    pick<Command["_tag"]>(["Ask", 6], ["Decide", mayWait ? 6 : 0], ["Wait", 1], ["Deploy", versions > 1 ? 4 : 0]),
    (which) =>
      which === "Ask"
        ? askedOf(scenarios, threads)
        : which === "Decide"
        ? decided
        : which === "Wait"
        ? waited
        : deployed(versions)
  )

/** Places of faults: the names of the tools, and of the operations of the world. */
export interface Places {
  readonly tools: ReadonlyArray<string>
  readonly operations: ReadonlyArray<string>
}

/** A plan of the faults of a command. */
export const planOf = (
  { faults, request }: Executed,
  { operations, tools }: Places
) =>
  FaultPlan.make([
    ...(tools.length === 0
      ? []
      : faults.map(({ from, tool, type }) => FaultPlan.onTool(tools[tool % tools.length]!, { type }, { from }))),
    ...(request === undefined
      ? []
      : [
        FaultPlan.onService(
          operations[request.operation % operations.length]!,
          { type: request.type },
          { from: request.from }
        )
      ])
  ])

/** A command as text for people. */
export const print = (command: Command, scenarios: ReadonlyArray<string>, { operations, tools }: Places): string => {
  if (command._tag === "Wait") return `wait ${command.hours} hours`
  if (command._tag === "Deploy") return `deploy version ${command.version + 1}`
  const { ending, faults, jump, order, request, skew, store } = command
  const twice = command.twice === true ? ", by two processes at once" : ""
  return [
    command._tag === "Ask"
      ? `ask "${scenarios[command.scenario % scenarios.length]}"${
        command.thread === undefined ? "" : ` in chat ${command.thread + 1}`
      }${twice}`
      : `${command.decision} what run ${command.run + 1} of those that wait asks${twice}`,
    ...(ending.how === "by itself" ? [] : [`${ending.how} at operation ${ending.at}`]),
    ...(tools.length === 0 ?
      [] :
      faults.map(({ from, tool, type }) => `${tools[tool % tools.length]}: ${type} at execution ${from}`)),
    ...(request === undefined
      ? []
      : [`request of ${operations[request.operation % operations.length]} ${request.from}: ${request.type}`]),
    ...store.map(({ at, fault, store }) => `${store}: ${fault} at operation ${at}`),
    ...(skew === 0 ? [] : [`its clock is wrong by ${skew / 60_000} minutes`]),
    ...(jump === undefined ? [] : [`its clock is put on by ${jump.by / 60_000} minutes after ${jump.after} ms`]),
    ...(order === undefined ? [] : [`in the order that ${order} draws`])
  ].join("; ")
}

const withoutEach = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.map((_, index) => items.toSpliced(index, 1))

const simplerCommands = (command: Command): ReadonlyArray<Command> => {
  if (command._tag === "Wait") return command.hours === 1 ? [] : [{ ...command, hours: 1 }]
  if (command._tag === "Deploy") return command.version === 0 ? [] : [{ ...command, version: 0 }]
  const { order, ...inOrder } = command
  const { jump, ...steady } = command
  const { request, ...answered } = command
  const { ending, faults, skew, store, twice } = command
  return [
    ...(ending.how === "by itself" ? [] : [{ ...command, ending: { how: "by itself", at: 1 } } as const]),
    ...withoutEach(faults).map((fewer) => ({ ...command, faults: fewer })),
    ...(request === undefined ? [] : [answered]),
    ...withoutEach(store).map((fewer) => ({ ...command, store: fewer })),
    ...(twice === true ? [{ ...command, twice: false }] : []),
    ...(skew === 0 ? [] : [{ ...command, skew: 0 } as const]),
    ...(jump === undefined ? [] : [steady]),
    ...(order === undefined ? [] : [inOrder]),
    ...(command._tag === "Decide" && command.run > 0 ? [{ ...command, run: 0 }] : []),
    ...(command._tag === "Ask" && (command.thread ?? 0) > 0 ? [{ ...command, thread: 0 }] : []),
    ...(ending.at === 1 ? [] : [{ ...command, ending: { ...ending, at: Math.ceil(ending.at / 2) } }]),
    ...faults.flatMap((fault, nth) =>
      fault.from === 1 ? [] : [{ ...command, faults: faults.with(nth, { ...fault, from: 1 }) }]
    )
  ]
}

/** Simpler sequences, the simplest first: one command less, or one in which less happens. */
export const simplerThan = (commands: ReadonlyArray<Command>): ReadonlyArray<ReadonlyArray<Command>> => [
  ...(commands.length === 1 ? [] : withoutEach(commands)),
  ...commands.flatMap((command, nth) => simplerCommands(command).map((simpler) => commands.with(nth, simpler)))
]
