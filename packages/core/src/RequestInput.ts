/**
 * Request input: what a page adds to a user's message, for servers. Tools that the page executes, and context that the model reads as data
 * from outside. Both stand in the options of the message, so that they are kept where the conversation is.
 */
export { addRequestContext as addContext, isAdded, type RequestContext } from "./internal/loop/requestContext.ts"
export { addRequestTools as addTools, withTools } from "./internal/loop/tools/addRequestTools.ts"
export { requestToolsIn as toolsIn } from "./internal/loop/tools/requestTools.ts"
export type { RequestTool } from "./internal/tool/clientTool.ts"
