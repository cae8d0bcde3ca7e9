/** A visitor's choice: the tool, the fault and the declared recoveries. The address of the page holds it. */

export const tools = ["read", "write"] as const
export type ToolKind = typeof tools[number]

export const faults = [
  "none",
  "no-answer",
  "lost-answer",
  "down",
  "cut-arguments",
  "bad-result",
  "rate-limit",
  "cut-stream",
  "rejected",
  "edited",
  "late"
] as const
export type FaultName = typeof faults[number]

export const frequencies = ["once", "always"] as const
export type Frequency = typeof frequencies[number]

/** The declarations, in the order of their places in the program. */
export const declarations = [
  "key",
  "approval",
  "compensate",
  "fix",
  "retry",
  "fallback",
  "escalate",
  "standard",
  "model-retry"
] as const
export type Declaration = typeof declarations[number]

/** Declarations that only a write has: a read has no effect to approve, to repeat under a key, or to compensate. */
const ofWrites: ReadonlySet<Declaration> = new Set(["key", "approval", "compensate"])

const ofPeople: ReadonlySet<FaultName> = new Set(["rejected", "edited", "late"])

/** Returns true if the fault is a decision of a person. It happens only to a tool that declares "approval". */
export const isOfApproval = (fault: FaultName): boolean => ofPeople.has(fault)

/** The faults that a tool can have. */
export const faultsOf = (tool: ToolKind): ReadonlyArray<FaultName> =>
  tool === "write" ? faults : faults.filter((name) => !isOfApproval(name))

/** The declarations that a tool can have. */
export const declarationsOf = (tool: ToolKind): ReadonlyArray<Declaration> =>
  tool === "write" ? declarations : declarations.filter((name) => !ofWrites.has(name))

export interface Choice {
  readonly tool: ToolKind
  readonly fault: FaultName
  readonly often: Frequency
  readonly declared: ReadonlySet<Declaration>
}

/** The part of a choice that the compiler sees: faults change no type. */
export type Declared = Pick<Choice, "declared" | "tool">

/** The choice of an address that names none: a service that is down once, and an agent that declares nothing. */
export const initial: Choice = { tool: "read", fault: "down", often: "once", declared: new Set() }

const known = <A extends string>(all: ReadonlyArray<A>, value: string | null, otherwise: A): A =>
  all.find((name) => name === value) ?? otherwise

/** Reads a choice from the query of an address. Unknown names count as absent. */
export const parseChoice = (query: string): Choice => {
  const parameters = new URLSearchParams(query)
  const named = new Set(parameters.get("with")?.split(" "))
  const tool = known(tools, parameters.get("tool"), initial.tool)
  return {
    tool,
    fault: known(faultsOf(tool), parameters.get("fault"), initial.fault),
    often: known(frequencies, parameters.get("often"), initial.often),
    declared: new Set(declarationsOf(tool).filter((name) => named.has(name)))
  }
}

/** Prints the query of a choice: one text for each choice, which people can read. */
export const printChoice = ({ declared, fault, often, tool }: Choice): string =>
  [
    `?tool=${tool}`,
    `fault=${fault}`,
    ...(often === initial.often ? [] : [`often=${often}`]),
    ...(declared.size === 0 ? [] : [`with=${declarations.filter((name) => declared.has(name)).join("+")}`])
  ].join("&")

/** The name of a program: one for each combination of tool and declarations. */
export const nameOf = ({ declared, tool }: Declared): string =>
  [tool, ...declarations.filter((name) => declared.has(name))].join("+")

/** Every combination of a tool and declarations. */
export const programs: ReadonlyArray<Declared> = tools.flatMap((tool) => {
  const possible = declarationsOf(tool)
  return Array.from({ length: 2 ** possible.length }, (_, bits) => ({
    tool,
    declared: new Set(possible.filter((_, index) => (bits >> index) % 2 === 1))
  }))
})
