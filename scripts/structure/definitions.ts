/**
 * Definitions of the numbers of `pnpm structure`, as data: a reader checks a number by its definition, and an older
 * commit is counted by the same one. Comments and imports are not counted.
 */

/** Rooms of the core in which the state of a run is kept. */
export const rooms: ReadonlyArray<string> = ["run", "call", "round", "loop", "agent"]

/** Rooms that a call goes through. */
export const wayOfCall: ReadonlyArray<string> = ["run", "call", "round", "recovery", "result"]

/** Names that ask if something was done before, and names that look like it and ask something else. */
export const doneBefore = {
  uses: [
    /\b(?:is|has|may|was|were|had|can|cannot|does|should|knows|unless|stoppedUnless)(?:Have)?[A-Za-z]*(?:Begun|Before|Earlier|Start(?:ed)?|Met|Match(?:ed|es)?|Record(?:ed)?|Sought|Done|Written|Happened|Resumed|Replayed|New|Left|GivenBack|Back|AnotherWay|CutOff|Interrupted|CameBy|Intent|Unmatched|Diverge(?:nt|s)?|Failed)[A-Za-z]*\b/g,
    /\b(?:begun|keyed|keys|done|failed|earlier|recorded|started)(?:Before|Earlier|Within|In|Otherwise|Beside|Under|Write|Record|Keys|Of)\b/g,
    /\b(?:cameBy|comingBy|noteCameBy|heldBack|otherKey|underEarlierKeys|comesBack|countAgain)\b/g
  ],
  others: new Set([
    "keysOf",
    "isLeft",
    "isLeftOut",
    "isRolledBack",
    "isInterrupted",
    "isBefore",
    "isDoneInPart"
  ])
} as const

/**
 * A grammar of keys is a function that composes an address: a template with the address of something around (the pattern), a separator and something else.
 */
export const grammar = { around: /place|scope|path(?:Of)?\b|Path\b/i, separator: /^[/#@]/ } as const

/** Address schemes: ways to name a call, a run or a write. A scheme is there if its pattern matches in one of the rooms. */
export const schemes: ReadonlyArray<{ readonly name: string; readonly pattern: RegExp }> = [
  {
    name: "scope of a run and tool and id: ledger keys, compensations",
    pattern: /`\$\{(?:run\.)?scope\}\/\$\{(?:\w+\.)*(?:name|tool)\.length\}/
  },
  { name: "place of a run in its journal", pattern: /`\$\{run\.(?:start\.)?place\}\// },
  { name: "identity of a call within a call", pattern: /within\.identity \?\? within\.callId/ },
  { name: "place of a call and number of its attempt", pattern: /placeOf\(record\.parent\)\}@/ },
  { name: "id of a nested run", pattern: /parent\.agentRunId\}\// },
  { name: "id of a call below the ids around it", pattern: /idWithin\(/ },
  { name: "position of a step among the steps of a composed agent", pattern: /positions\+\+/ },
  { name: "path by content", pattern: /ofCallWithin\(/ }
]

/** Suppressions of the rules on the length of files and functions. */
export const lengthRule = /oxlint-disable(?:-next-line)?[^\n]*\bmax-lines(?:-per-function)?\b/g

/** Types whose values change in place. */
export const mutableType = /^(?:new )?(?:Map|Set|Array|WeakMap)\b/

/** A class or an interface is a state holder if it has this many members that can change. */
export const changingMembers = 2

/** The numbers, in the order of the report, with their subjects. */
export const numbers = {
  files: "files of the core of which a run with one read executes a function, after a first run",
  switches: "function calls of that run that enter another file than the call before",
  stateHolders: `classes and interfaces in ${rooms.join(", ")} with ${changingMembers} or more members that can change`,
  sharedHolders: "of these, those with a field that another file assigns",
  assignments: "fields of the core's classes and interfaces that another file than their own assigns",
  largestState: "fields of the largest class or interface with such a field",
  largestInterface: `fields of the largest interface or class in ${wayOfCall.join(", ")}`,
  grammars: `functions in ${rooms.join(", ")} that compose an address of another one, a separator and a part`,
  schemes: "address schemes (see `schemes`)",
  doneBefore: "uses of names that ask if something was done before",
  coreLines: "lines of the core's source",
  lengthSuppressions: "suppressions of max-lines and max-lines-per-function in all packages, scripts and tests"
} as const

export type Measured = { readonly [K in keyof typeof numbers]: number | undefined }
