/** One run of a subject under a plan of faults, in virtual time, and everything that can be observed of it. */
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
