/** Virtual time: runs an effect with its own clock. If all fibers wait, the clock moves to the next wake-up. */
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
