/** Callbacks that fail: each way in which a callback of a program does not answer. */
import { Effect } from "effect"
import type { Composition } from "./composition.ts"

type Callback = Composition["callbacks"][number]

const ways: Readonly<Record<Callback["fails"], () => Effect.Effect<never>>> = {
  throws: () => {
    throw new TypeError("a callback throws")
  },
  dies: () => Effect.die(new TypeError("a callback dies")),
  // An error that the type of the callback does not have.
  fails: () => Effect.fail("a callback fails") as Effect.Effect<never, never>,
  hangs: () => Effect.never
}

/** Failure of a callback of a composition, if it has one. */
export const failureOf = (
  { callbacks }: Composition,
  name: Callback["of"]
): (() => Effect.Effect<never>) | undefined => {
  const found = callbacks.find((callback) => callback.of === name)
  return found && ways[found.fails]
}

/** A callback of a composition: the given one, unless it is to fail. */
export const callback = <Args extends ReadonlyArray<unknown>, A>(
  composition: Composition,
  name: Callback["of"],
  answers: (...args: Args) => A
): (...args: Args) => A | Effect.Effect<never> => failureOf(composition, name) ?? answers
