/** Skills: named groups of instructions and tools. A run uses one of them. */
export { type Any, make, type Skill } from "./internal/tool/skill.ts"
