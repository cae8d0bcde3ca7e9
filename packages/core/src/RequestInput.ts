/**
 * Request input: additions of a page to a user's message, for servers. They are tools that the page executes, and
 * context that the model reads as untrusted data. Both are in the options of the message, so that they are stored with
 * the conversation.
 */
export { addRequestContext as addContext, isAdded, type RequestContext } from "./internal/loop/requestContext.ts"
export { addRequestTools as addTools, withTools } from "./internal/loop/tools/addRequestTools.ts"
export { requestToolsIn as toolsIn } from "./internal/loop/tools/requestTools.ts"
export type { RequestTool } from "./internal/tool/clientTool.ts"
