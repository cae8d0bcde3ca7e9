/** Skills: named groups of instructions and tools, of which an agent uses one in a run. */
export { type Any, make, type Skill } from "./internal/tool/skill.ts"
