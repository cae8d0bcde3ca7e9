/** Makes, compiles and runs many programs, and shrinks the ones that something is found in. */
import { Effect } from "effect"
import { seeded } from "../../packages/core/test/support/seeded.ts"
import { compile, type Compiled } from "./declared.ts"
import { Draw, simpler } from "./draw.ts"
import { generate, type Program } from "./grammar/program.ts"
import { type Finding, run } from "./runner.ts"
import type { World } from "./world.ts"

/** A program in which something was found. */
export interface Example {
  readonly kind: string
  readonly detail: string
  readonly seed: number
  readonly drawn: ReadonlyArray<number>
  readonly source: string
}

export interface Report {
  readonly accepted: number
  readonly runs: number
  readonly refused: ReadonlyArray<Example>
  readonly kinds: ReadonlyArray<{ readonly kind: string; readonly count: number; readonly example: Example }>
}

interface Made {
  readonly seed: number
  readonly drawn: ReadonlyArray<number>
  readonly program: Program
  readonly runs: number
}

const make = (seed: number, draw: Draw, runs: number): Made => {
  const program = generate(draw)
  return { seed, drawn: draw.drawn, program, runs }
}

const kindOf = (finding: Finding): string => {
  switch (finding._tag) {
    case "Undeclared":
      return `${finding.way} fails with ${finding.error}, which is not in its type`
    case "MissingService":
      return `${finding.way} needs ${finding.service}, which is not in its type`
    case "Defect":
      return `${finding.way} dies: ${finding.defect}`
  }
}

/** Findings in a type without a run. */
const inTypes = (compiled: Compiled): ReadonlyArray<string> => {
  if ("refused" in compiled) return compiled.program.mayBeRefused ? [] : ["the compiler refuses it"]
  return Object.entries(compiled.declared).flatMap(([member, names]) =>
    (names as ReadonlyArray<string>).filter((name) => /\b(any|unknown)\b/.test(name)).map((name) =>
      `${member} is ${name}`
    )
  )
}

let generation = 0

const examine = (all: ReadonlyArray<Made>): Effect.Effect<{
  readonly examples: ReadonlyArray<Example>
  readonly refused: ReadonlyArray<Example>
  readonly runs: number
}> =>
  Effect.gen(function*() {
    const compiled = compile(all.map(({ program }) => program))
    // Modules are loaded once for each address.
    const version = ++generation
    const examples: Array<Example> = []
    const refused: Array<Example> = []
    let total = 0
    for (const [index, one] of compiled.entries()) {
      const { drawn, program, runs, seed } = all[index]!
      const found = (kind: string, detail: string): Example => ({ kind, detail, seed, drawn, source: program.source })
      examples.push(...inTypes(one).map((kind) => found(kind, "refused" in one ? one.refused.join("\n") : "")))
      if ("refused" in one) {
        refused.push(found("refused", one.refused.join("\n")))
        continue
      }
      const module = yield* Effect.promise(() => import(`${one.file}?${version}`))
      const kinds = new Map<string, number>()
      for (let i = 0; i < runs; i++) {
        total++
        const outcome = yield* Effect.exit(
          run(module.program as (world: World) => unknown, one.declared, seed * 1000 + i)
        )
        if (outcome._tag === "Failure") continue
        for (const finding of outcome.value) kinds.set(kindOf(finding), i)
      }
      for (const [kind, i] of kinds) examples.push(found(kind, `run ${i}; its type: ${JSON.stringify(one.declared)}`))
    }
    return { examples, refused, runs: total }
  })

/** One example for each kind, the shortest, and how many there are. */
const grouped = (examples: ReadonlyArray<Example>): Report["kinds"] => {
  const kinds = new Map<string, { count: number; example: Example }>()
  for (const example of examples) {
    const known = kinds.get(example.kind)
    if (known === undefined) kinds.set(example.kind, { count: 1, example })
    else {
      known.count++
      if (example.source.length < known.example.source.length) known.example = example
    }
  }
  return [...kinds].map(([kind, { count, example }]) => ({ kind, count, example }))
}

/**
 * Searches random programs, and programs of the caller: `sources`. One run of the compiler reads all of them. `found` has the findings
 * in the sources, with the number of each.
 */
export const search = (options: {
  readonly programs: number
  readonly runs: number
  readonly seed: number
  readonly sources: ReadonlyArray<string>
  /** Runs of each source. */
  readonly sourceRuns: number
}): Effect.Effect<Report & { readonly found: ReadonlyArray<{ readonly number: number; readonly kind: string }> }> => {
  const given = options.sources.map((source, index): Made => ({
    seed: index + 1,
    drawn: [],
    program: { source, mayBeRefused: false },
    runs: options.sourceRuns
  }))
  const random = Array.from({ length: options.programs }, (_, index) => {
    const seed = options.seed + index
    return make(seed, new Draw(seeded(seed)), options.runs)
  })
  const isGiven = ({ source }: Example): boolean => options.sources.includes(source)
  return Effect.map(examine([...given, ...random]), ({ examples, refused, runs }) => {
    const drawn = refused.filter((one) => !isGiven(one))
    return {
      found: examples.filter(isGiven).map(({ kind, seed }) => ({ number: seed, kind })),
      accepted: options.programs - drawn.length,
      runs: runs - (given.length - (refused.length - drawn.length)) * options.sourceRuns,
      refused: drawn,
      kinds: grouped(examples.filter((one) => !isGiven(one)))
    }
  })
}

/** The simplest example of the same kind that a few rounds find. */
export const shrink = (example: Example, runs: number, rounds = 6): Effect.Effect<Example> =>
  Effect.gen(function*() {
    let smallest = example
    for (let round = 0; round < rounds; round++) {
      const candidates = simpler(smallest.drawn)
        .map((drawn) => make(smallest.seed, Draw.replay(drawn), runs * 2))
        .filter(({ program }) => program.source.length < smallest.source.length)
      const different = [...new Map(candidates.map((one) => [one.program.source, one])).values()]
        .toSorted((a, b) => a.program.source.length - b.program.source.length).slice(0, 60)
      if (different.length === 0) break
      const { examples } = yield* examine(different)
      const better = examples.filter(({ kind }) => kind === example.kind)
        .toSorted((a, b) => a.source.length - b.source.length)[0]
      if (better === undefined) break
      smallest = better
    }
    return smallest
  })
