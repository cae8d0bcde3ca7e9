/**
 * Request fields: the server's treatment of each field of its protocols, in tables. A field that is in no table is
 * refused with 400.
 *
 * **Example** (The fields that chat completions refuse)
 *
 * ```ts
 * import { RequestFields } from "@recourse/server"
 *
 * RequestFields.chatCompletions["n"]?.use // => "refused"
 * RequestFields.chatCompletions["temperature"]?.use // => "inert"
 * ```
 */
export { agUiFields as agUi, agUiMessageFields as agUiMessage } from "./internal/api/agUiFields.ts"
export { completionFields as chatCompletions } from "./internal/api/completionFields.ts"
export { type Field, type Fields } from "./internal/api/fields.ts"
export { uiChatFields as useChat, uiMessageFields as useChatMessage } from "./internal/api/uiChatFields.ts"
