/**
 * Shared layers: a memo map that keeps services without resources. A layer without finalizer has no resource to
 * release, so its services serve each later build with the same outer services. Overlapping builds share other layers;
 * the last releases them.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { isOfRun } from "../runKeys.ts"

type Services = Context.Context<never>
type AnyLayer = Layer.Layer<never, unknown, unknown>
type Build = (memoMap: Layer.MemoMap, scope: Scope.Scope) => Effect.Effect<Services, unknown, unknown>

/** State of a layer. One that is kept is not released, so that its users are not counted. */
type State =
  | { readonly _tag: "Building"; readonly users: number }
  | { readonly _tag: "Built"; readonly services: Services; readonly users: number }
  | { readonly _tag: "Kept"; readonly services: Services }

/** A layer that is being built, or has been, with some services. */
interface Entry {
  readonly given: ReadonlyMap<string, unknown>
  readonly scope: Scope.Closeable
  /** Its services; `undefined` if the run that built it was interrupted. */
  readonly built: Deferred.Deferred<Services | undefined, unknown>
  state: State
}

/** Builds that use a layer, if it is to be released after them. */
const usersOf = ({ state }: Entry): number => state._tag === "Kept" ? 0 : state.users

const addUsers = (entry: Entry, more: number): void => {
  if (entry.state._tag !== "Kept") entry.state = { ...entry.state, users: entry.state.users + more }
}

/** The layers that several builds share: of each the newest entries first. */
export type Entries = Map<AnyLayer, ReadonlyArray<Entry>>

/** So many entries of a layer are kept: a build with services that were not given for longer builds it again. */
const mostEntries = 100

/** The services that a layer may have been built with: those of the program, and none of a run. */
export const programServices = ({ mapUnsafe }: Services): ReadonlyMap<string, unknown> =>
  new Map([...mapUnsafe].filter(([key]) => !isOfRun(key)))

const isSame = (one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean =>
  one.size === other.size && [...one].every(([key, value]) => other.has(key) && Object.is(value, other.get(key)))

const isScope = (key: object): key is Scope.Scope => "state" in key && "strategy" in key

/** Returns whether a finalizer is registered in a scope, or in one that was forked from it: a fork is registered under itself. */
const hasFinalizer = ({ state }: Scope.Scope): boolean => {
  if (state._tag !== "Open") return false
  const keys = state.finalizers === undefined ? [state.finalizerKey] : [...state.finalizers.keys()]
  return keys.some((key) => key !== undefined && (!isScope(key) || hasFinalizer(key)))
}

/** The memo map of one build over shared entries. A layer that `parent` has built comes from there, as with Effect's own memo map. */
export class SharedLayers implements Layer.MemoMap {
  readonly "~effect/Layer/MemoMap" = "~effect/Layer/MemoMap"
  private readonly entries: Entries
  private readonly parent: Layer.MemoMap | undefined
  /** The entries of this build. */
  private readonly own = new Map<AnyLayer, Entry>()

  constructor(entries: Entries, parent: Layer.MemoMap | undefined) {
    this.entries = entries
    this.parent = parent
  }

  get<RIn, E, ROut>(layer: Layer.Layer<ROut, E, RIn>, scope: Scope.Scope) {
    const entry = this.own.get(layer as AnyLayer)
    if (entry === undefined || entry.state._tag === "Building") return this.parent?.get(layer, scope)
    addUsers(entry, 1)
    return Effect.as(this.observe(layer as AnyLayer, entry, scope), entry.state.services as Context.Context<ROut>)
  }

  getOrElseMemoize<RIn, E, ROut>(
    layer: Layer.Layer<ROut, E, RIn>,
    scope: Scope.Scope,
    build: (memoMap: Layer.MemoMap, scope: Scope.Scope) => Effect.Effect<Context.Context<ROut>, E, RIn>
  ): Effect.Effect<Context.Context<ROut>, E, RIn> {
    return this.found(layer as AnyLayer, scope, build as never as Build) as Effect.Effect<Context.Context<ROut>, E, RIn>
  }

  private found(layer: AnyLayer, scope: Scope.Scope, build: Build): Effect.Effect<Services, unknown, unknown> {
    return Effect.contextWith((context: Services) => {
      const known = this.get(layer, scope)
      if (known !== undefined) return known
      const given = programServices(context)
      const entry = this.own.get(layer) ?? this.entries.get(layer)?.find((one) => isSame(one.given, given))
      if (entry === undefined) return this.make(layer, given, scope, build)
      this.own.set(layer, entry)
      return Effect.flatMap(
        this.join(layer, entry, scope),
        (services) => services === undefined ? this.found(layer, scope, build) : Effect.succeed(services)
      )
    })
  }

  private make(
    layer: AnyLayer,
    given: ReadonlyMap<string, unknown>,
    scope: Scope.Scope,
    build: Build
  ): Effect.Effect<Services, unknown, unknown> {
    const entry: Entry = {
      given,
      scope: Scope.makeUnsafe(),
      built: Deferred.makeUnsafe(),
      state: { _tag: "Building", users: 1 }
    }
    const built = Effect.suspend(() => {
      this.own.set(layer, entry)
      this.entries.set(layer, [entry, ...this.entries.get(layer) ?? []].slice(0, mostEntries))
      return build(this, entry.scope)
    })
    return Effect.onExit(built, (exit) => {
      if (Exit.isSuccess(exit)) {
        const services = exit.value
        entry.state = hasFinalizer(entry.scope)
          ? { _tag: "Built", services, users: usersOf(entry) }
          : { _tag: "Kept", services }
        Deferred.doneUnsafe(entry.built, exit)
        return this.observe(layer, entry, scope)
      }
      this.forget(layer, entry)
      const isInterrupted = Cause.hasInterruptsOnly(exit.cause)
      Deferred.doneUnsafe(entry.built, isInterrupted ? Exit.succeed(undefined) : exit)
      return Scope.close(entry.scope, exit)
    })
  }

  /** Waits for the run that builds the layer. Returns `undefined` if that was interrupted. */
  private join(layer: AnyLayer, entry: Entry, scope: Scope.Scope): Effect.Effect<Services | undefined, unknown> {
    return Effect.uninterruptibleMask((restore) => {
      addUsers(entry, 1)
      return Effect.onExit(restore(Deferred.await(entry.built)), (exit) => {
        if (Exit.isSuccess(exit) && exit.value !== undefined) return this.observe(layer, entry, scope)
        this.own.delete(layer)
        return this.leave(layer, entry, exit)
      })
    })
  }

  /** Releases the layer with a scope, unless it is kept. */
  private observe(layer: AnyLayer, entry: Entry, scope: Scope.Scope): Effect.Effect<void> {
    return entry.state._tag === "Kept"
      ? Effect.void
      : Scope.addFinalizerExit(scope, (exit) => this.leave(layer, entry, exit))
  }

  private leave(layer: AnyLayer, entry: Entry, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    return Effect.suspend(() => {
      addUsers(entry, -1)
      if (entry.state._tag === "Kept" || usersOf(entry) > 0) return Effect.void
      this.forget(layer, entry)
      return Scope.close(entry.scope, exit)
    })
  }

  private forget(layer: AnyLayer, entry: Entry): void {
    if (this.own.get(layer) === entry) this.own.delete(layer)
    const others = (this.entries.get(layer) ?? []).filter((one) => one !== entry)
    if (others.length === 0) this.entries.delete(layer)
    else this.entries.set(layer, others)
  }
}
