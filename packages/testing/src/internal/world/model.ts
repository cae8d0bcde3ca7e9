/** World model: entities, operations on them, and invariants. */
import { Context, Effect, Layer } from "effect"
import { CurrentRequests, type ServiceFailed } from "../faults/serviceFaults.ts"

/**
 * An operation: from the present world and an input to the next world, and an answer.
 *
 * @category models
 * @since 0.2.0
 */
export type Operation<S, Input, Answer> = (state: S, input: Input) => readonly [state: S, answer: Answer]

/**
 * A side effect: an operation on the world.
 *
 * @category models
 * @since 0.2.0
 */
export interface SideEffect {
  readonly operation: string
  readonly input: unknown
  readonly key: string | undefined
  /** True if the key was known, so that it had no effect. */
  readonly duplicate: boolean
  /** The invariants that do not hold behind it. */
  readonly broken: ReadonlyArray<string>
}

/**
 * A world at a moment.
 *
 * @category models
 * @since 0.2.0
 */
export interface Instance {
  readonly perform: (operation: string, input: unknown, key: string | undefined) => unknown
  readonly state: () => unknown
  readonly sideEffects: () => ReadonlyArray<SideEffect>
}

/**
 * The world that programs act on.
 *
 * @category services
 * @since 0.2.0
 */
export class CurrentWorld extends Context.Service<CurrentWorld, Instance>()("@recourse/testing/World") {}

/**
 * Operations by name.
 *
 * @category models
 * @since 0.2.0
 */
export type Operations<S> = Readonly<Record<string, Operation<S, never, unknown>>>

/**
 * The input of an operation.
 *
 * @category utility types
 * @since 0.2.0
 */
export type InputOf<O> = O extends (state: never, input: infer Input) => unknown ? Input : never

/**
 * The answer of an operation.
 *
 * @category utility types
 * @since 0.2.0
 */
export type AnswerOf<O> = O extends (...args: never) => readonly [unknown, infer Answer] ? Answer : never

/**
 * A model of the world.
 *
 * @category models
 * @since 0.2.0
 */
export interface World<S, Ops extends Operations<S>> {
  readonly invariants: ReadonlyArray<string>
  /** The names of the operations. */
  readonly operations: ReadonlyArray<string>
  /** An untouched world. */
  readonly instance: () => Instance
  /** A layer of such a world, for tests of your own. */
  readonly layer: Layer.Layer<CurrentWorld>
  /** Does something. With a `key` it is done once, and answered as it was then. */
  readonly perform: <const Name extends keyof Ops & string>(
    operation: Name,
    input: InputOf<Ops[Name]>,
    options?: { readonly key?: string | undefined }
  ) => Effect.Effect<AnswerOf<Ops[Name]>, never, CurrentWorld>
  /** The same as a request of a service, which may fail, hang, or lose its answer as the check draws it. */
  readonly request: <const Name extends keyof Ops & string>(
    operation: Name,
    input: InputOf<Ops[Name]>,
    options?: { readonly key?: string | undefined }
  ) => Effect.Effect<AnswerOf<Ops[Name]>, ServiceFailed, CurrentWorld>
  readonly state: Effect.Effect<S, never, CurrentWorld>
  /** Actions so far. */
  readonly sideEffects: Effect.Effect<ReadonlyArray<SideEffect>, never, CurrentWorld>
}

/**
 * Describes a world. Operations are pure: they answer the next world. Invariants are checked behind each of them.
 *
 * **Example** (An order is charged at most once)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { World } from "@recourse/testing"
 *
 * const shop = World.make({
 *   initial: { charges: [] as ReadonlyArray<string> },
 *   operations: {
 *     charge: ({ charges }, { order }: { readonly order: string }) => [{ charges: [...charges, order] }, `charged ${order}`]
 *   },
 *   invariants: {
 *     "an order is charged at most once": ({ charges }) => new Set(charges).size === charges.length
 *   }
 * })
 *
 * const program = Effect.gen(function*() {
 *   yield* shop.perform("charge", { order: "A" }, { key: "A" })
 *   yield* shop.perform("charge", { order: "A" }, { key: "A" })
 *   yield* shop.perform("charge", { order: "A" })
 *   return (yield* shop.sideEffects).map(({ broken, duplicate }) => [duplicate, broken])
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(shop.layer)))
 * // => [[false, []], [true, []], [false, ["an order is charged at most once"]]]
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = <S, const Ops extends Operations<S>>(options: {
  readonly initial: S
  readonly operations: Ops
  readonly invariants: Readonly<Record<string, (state: S) => boolean>>
}): World<S, Ops> => {
  const { initial, invariants, operations } = options
  const instance = (): Instance => {
    let state = initial
    const answers = new Map<string, unknown>()
    const sideEffects: Array<SideEffect> = []
    return {
      perform: (operation, input, key) => {
        const id = `${operation} ${key}`
        const duplicate = key !== undefined && answers.has(id)
        if (!duplicate) {
          const [next, answer] = operations[operation]!(state, input as never)
          state = next
          answers.set(id, answer)
        }
        const broken = Object.entries(invariants).flatMap(([name, holds]) => holds(state) ? [] : [name])
        sideEffects.push({ operation, input, key, duplicate, broken })
        return answers.get(id)
      },
      state: () => state,
      sideEffects: () => [...sideEffects]
    }
  }
  const perform = (operation: string, input: unknown, options: { readonly key?: string | undefined } | undefined) =>
    Effect.map(CurrentWorld, (world) => world.perform(operation, input, options?.key) as never)
  return {
    invariants: Object.keys(invariants),
    operations: Object.keys(operations),
    instance,
    layer: Layer.sync(CurrentWorld, instance),
    perform,
    request: (operation, input, options) =>
      Effect.flatMap(CurrentRequests, (requests) => requests(operation, perform(operation, input, options))),
    state: Effect.map(CurrentWorld, (world) => world.state() as S),
    sideEffects: Effect.map(CurrentWorld, (world) => world.sideEffects())
  }
}
