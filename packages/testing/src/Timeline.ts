/** A run as text: what happened when, one line for each event and each injected fault. */
export { render } from "./internal/simulation/timeline.ts"
