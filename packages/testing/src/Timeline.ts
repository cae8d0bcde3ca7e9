/** Timeline: a run as text, with one line for each event and each injected fault. */
export { render } from "./internal/simulation/timeline.ts"
