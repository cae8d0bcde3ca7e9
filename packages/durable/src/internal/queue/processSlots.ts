/**
 * Slots of a process: its number of concurrent runs. A run that waits for another one releases its slot, and gets one
 * back before it continues.
 */
import * as Effect from "effect/Effect"
import type { Place } from "./slot.ts"

/** The places of a process. */
export class Places {
  private readonly concurrency: number
  /** Runs that have a place, or have given theirs away; those that are being added among them. */
  private readonly owned: () => number
  private readonly onGiven: () => void
  private lent = 0
  private waiting: Array<() => void> = []

  constructor(concurrency: number, owned: () => number, onGiven: () => void) {
    this.concurrency = concurrency
    this.owned = owned
    this.onGiven = onGiven
  }

  /** Number of possible starts: runs that want their slot back come first. */
  get room(): number {
    return this.free - this.waiting.length
  }

  private get free(): number {
    return this.concurrency - this.owned() + this.lent
  }

  /** Places may be free: whoever wants his back has it. */
  settle(): void {
    while (this.free > 0 && this.waiting.length > 0) this.waiting.shift()!()
  }

  /** The place of one run. `end` is called when the run has ended here. */
  place(): Place & { readonly end: () => void } {
    let isLent = false
    const back = (): void => {
      if (!isLent) return
      isLent = false
      this.lent--
    }
    return {
      give: Effect.sync(() => {
        isLent = true
        this.lent++
        this.settle()
        this.onGiven()
      }),
      take: Effect.callback<void>((resume) => {
        const taken = (): void => {
          back()
          resume(Effect.void)
        }
        this.waiting.push(taken)
        this.settle()
        return Effect.sync(() => {
          this.waiting = this.waiting.filter((one) => one !== taken)
        })
      }),
      end: back
    }
  }
}
