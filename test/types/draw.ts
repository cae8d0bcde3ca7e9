/** Random numbers that can be replayed and shrunk: whatever is drawn as 0 is the simplest there is. */

export class Draw {
  /** The random choices, in order: replayed, they make the same. */
  readonly drawn: Array<number> = []
  readonly #next: () => number

  constructor(next: () => number) {
    this.#next = next
  }

  /** Replays the choices; beyond their end, zeros. */
  static replay(drawn: ReadonlyArray<number>): Draw {
    let index = 0
    return new Draw(() => drawn[index++] ?? 0)
  }

  below(n: number): number {
    const value = this.#next() % n
    this.drawn.push(value)
    return value
  }

  pick<const A>(choices: ReadonlyArray<A>): A {
    return choices[this.below(choices.length)]!
  }

  /** True in `percent` of 100. */
  chance(percent: number): boolean {
    return this.below(100) >= 100 - percent
  }

  /** Some of a list, in its order; at least `least` of them. */
  some<A>(choices: ReadonlyArray<A>, least = 1): ReadonlyArray<A> {
    const taken = choices.filter(() => this.chance(50))
    return taken.length >= least ? taken : choices.slice(0, least)
  }
}

/** Simpler sequences to try in place of one: without a part of it, or with zeros in the place of a part. */
export const simpler = (drawn: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<number>> => {
  const candidates: Array<ReadonlyArray<number>> = []
  for (let size = Math.ceil(drawn.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < drawn.length; from += size) {
      const part = drawn.slice(from, from + size)
      candidates.push([...drawn.slice(0, from), ...drawn.slice(from + size)])
      if (part.some((value) => value !== 0)) {
        candidates.push([...drawn.slice(0, from), ...part.map(() => 0), ...drawn.slice(from + size)])
      }
    }
  }
  return candidates
}
