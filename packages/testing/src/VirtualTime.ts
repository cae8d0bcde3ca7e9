/**
 * Runs an effect in a time of its own: when nothing is left to do but to wait, the clock goes to the next moment at which
 * somebody wakes up.
 */
export {
  type Control,
  type Ended,
  type Options,
  type Process,
  type ProcessOptions,
  run,
  runAll,
  type TimeOptions
} from "./internal/time/virtualTime.ts"
