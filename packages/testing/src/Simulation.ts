/** Simulation: one run of a subject under a plan of faults, in virtual time, with everything observed. */
export {
  attempts,
  type Execution,
  type Observation,
  type Options,
  outcome,
  type Pause,
  run,
  type SpanRecord
} from "./internal/simulation/simulation.ts"
