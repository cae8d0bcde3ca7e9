/** Tools at a checkpoint: the tools of a resumed run. */
import * as Effect from "effect/Effect"
import type { Checkpoint } from "../../approval/snapshot.ts"
import { currentTools } from "./liveTools.ts"
import { type Program, toolsWith } from "../program.ts"
import { withRequestTools } from "./requestTools.ts"
import { withFinder } from "./toolSearch.ts"
import type { ToolSet } from "./toolSet.ts"

/** The tools of a run that is resumed: those of its skill and of its request, with lists as they are now. */
export const toolsAt = Effect.fnUntraced(
  function*(program: Program, { requestTools, skill }: Checkpoint): Effect.fn.Return<ToolSet> {
    const tools = yield* withRequestTools(toolsWith(program, skill), requestTools)
    const current = program.compile === undefined ? tools : yield* currentTools(tools, program.compile)
    return withFinder(current, program.maxTools)
  }
)
