/** Numbers of the steps of a composed agent: among those of one name for its id, and among all for its path. */
import { idPart, ofEqual } from "./path.ts"

/** Address of a step: the id that events and snapshots have, and the position that its path has. */
export interface Step {
  readonly id: string
  readonly position: number
}

export class StepNumbers {
  private readonly byName = new Map<string, number>()
  private all = 0

  /** Returns the address of the next step with a name. */
  next(name: string): Step {
    const base = idPart(name)
    const nth = (this.byName.get(base) ?? 0) + 1
    this.byName.set(base, nth)
    return { id: nth === 1 ? base : ofEqual(base, nth), position: this.all++ }
  }
}
