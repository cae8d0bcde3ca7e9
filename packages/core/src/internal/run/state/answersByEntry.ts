/** Calls that entries of an idempotency ledger answered with another call's write, by the ids of the entries. */

/** A call that an entry answered. */
export interface LedgerAnswer<Run> {
  readonly run: Run
  /** The call of the run's conversation: the call itself, or the one that it was made in. */
  readonly root: string
}

export class AnswersByEntry<Run> {
  private entries: Map<string, ReadonlyArray<LedgerAnswer<Run>>> | undefined

  /** All entries, with the calls that they answered. */
  all(): ReadonlyArray<readonly [entry: string, answers: ReadonlyArray<LedgerAnswer<Run>>]> {
    return this.entries === undefined ? [] : [...this.entries]
  }

  /** The calls that an entry answered. */
  of(entry: string): ReadonlyArray<LedgerAnswer<Run>> {
    return this.entries?.get(entry) ?? []
  }

  add(entry: string, answer: LedgerAnswer<Run>): void {
    ;(this.entries ??= new Map()).set(entry, [...this.of(entry), answer])
  }

  /** Forgets the calls that a predicate is true for. */
  forget(isForgotten: (answer: LedgerAnswer<Run>) => boolean): void {
    for (const [entry, answers] of this.all()) {
      const remaining = answers.filter((answer) => !isForgotten(answer))
      if (remaining.length === 0) this.entries?.delete(entry)
      else this.entries?.set(entry, remaining)
    }
  }
}
