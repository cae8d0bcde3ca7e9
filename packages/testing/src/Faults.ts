/**
 * Fault injection: a layer injects the faults of a plan into the tools and the model of a program, without changing the
 * program.
 */
export { FaultLog, layer, type Options } from "./internal/faults/faults.ts"
export type { Injected } from "./internal/faults/injector.ts"
export { InjectedFailure, promptInjection } from "./internal/faults/spoil.ts"
