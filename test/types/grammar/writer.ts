/** Writer of a program, and ways to write conditional parts. */
import type { Draw } from "../draw.ts"

export class Writer {
  readonly draw: Draw
  readonly lines: Array<string> = []
  /** True if the compiler may refuse the program: it contains a possible fault. */
  mayBeRefused = false
  /** True if the written tools only read. */
  onlyReads = false
  #names = 0

  constructor(draw: Draw) {
    this.draw = draw
  }

  fresh(prefix: string): string {
    return `${prefix}${++this.#names}`
  }

  declare(prefix: string, expression: string): string {
    const name = this.fresh(prefix)
    this.lines.push(`const ${name} = ${expression}`)
    return name
  }

  /** An option, an absent one, or one that only a run knows. */
  option(key: string, value: string, percent: number): { readonly code: string; readonly certain: boolean } {
    if (!this.draw.chance(percent)) return { code: "", certain: false }
    switch (this.draw.below(6)) {
      case 4:
        return { code: `${key}: c.flag() ? ${value} : undefined,`, certain: false }
      case 5:
        return { code: `...(c.flag() ? { ${key}: ${value} } : {}),`, certain: false }
      default:
        return { code: `${key}: ${value},`, certain: true }
    }
  }
}

/** The errors that an effect certainly has in its type; it may have others. */
export interface Left {
  readonly tags: ReadonlySet<string>
  /** Tags of the executor's own errors. */
  readonly reasons: ReadonlySet<string>
}

export const without = (set: ReadonlySet<string>, gone: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set([...set].filter((tag) => !gone.includes(tag)))

export const and = (set: ReadonlySet<string>, ...more: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set([...set, ...more])

export const quoted = (tags: ReadonlyArray<string>): string => tags.map((tag) => `"${tag}"`).join(", ")
