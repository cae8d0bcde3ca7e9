/** Timeline: a run as text, with one line for each event and each injected fault. */
export { render, type Shown } from "./internal/simulation/timeline.ts"
