/**
 * Fault injection: a layer injects the faults of a plan into the tools, the model and the stores of a program, without changing
 * the program.
 */
export { FaultLog, layer, layerStores, type Options } from "./internal/faults/faults.ts"
export type { Injected } from "./internal/faults/injector.ts"
export { InjectedFailure, promptInjection } from "./internal/faults/spoil.ts"
