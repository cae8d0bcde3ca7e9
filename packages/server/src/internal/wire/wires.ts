/** The wires of the server, by which readers find the frames that are made already. */
import * as EventJson from "@recourse/core/EventJson"
import { AgUiStream } from "../../AgUiStream.ts"
import { UiMessageStream } from "../../UiMessageStream.ts"
import { frame } from "../http/sse.ts"
import { completionMapper, type CompletionOptions } from "./completionStream.ts"
import type { Wire } from "./wire.ts"
import { publicEvent, withoutCompensable } from "./publicEvent.ts"

type Shows = (tool: string) => boolean

const cutOff = "The answer was cut off."

const restarts = "The server restarts. Connect again in a moment: the answer continues."

/** A message of the AI SDK. */
export const uiMessages = (messageId: string, threadId: string, shows: Shows): Wire => ({
  name: JSON.stringify(["ui", messageId, threadId]),
  restart: frame({ type: "error", errorText: restarts }),
  mapper: (approvalId) => {
    const stream = new UiMessageStream({ messageId, threadId, approvalId, shows })
    return {
      next: (event) => stream.next(event).map((chunk) => frame(chunk)),
      cut: () => stream.cut(cutOff).map((chunk) => frame(chunk))
    }
  }
})

/** A run of AG-UI. */
export const agUi = (
  { runId, speaksV1, threadId }: { readonly runId: string; readonly threadId: string; readonly speaksV1: boolean },
  shows: Shows
): Wire => ({
  name: JSON.stringify(["ag-ui", runId, threadId, speaksV1]),
  restart: frame({ type: "RUN_ERROR", message: restarts, code: "restart" }),
  mapper: (interruptId) => {
    const stream = new AgUiStream({ threadId, runId: () => runId, interruptId, shows, speaksV1 })
    return {
      next: (event) => stream.next(event).map((event) => frame(event)),
      cut: (at) => stream.cut(cutOff, at).map((event) => frame(event))
    }
  }
})

/** An `EventSource` reconnects by itself, and sends its last event id. */
const comeBack = "retry: 1000\n\n"

/**
 * Events in their owner's view. Numbers count from 1, because `Last-Event-ID` of an `EventSource` is empty before the
 * first one.
 */
export const numbered = (shows: Shows): Wire => ({
  name: "events",
  restart: comeBack,
  mapper: () => ({
    next: (event, number) => {
      const left = publicEvent(event, shows)
      return left === undefined ? [] : [frame(left, number + 1)]
    },
    cut: () => []
  })
})

/** Events as an operator may see them: all that is known but the whole conversation, which the requests to the model hold. */
export const operator: Wire = {
  name: "operator",
  restart: comeBack,
  mapper: () => ({
    next: (event, number) => {
      const { compacted: _compacted, replacedInput: _replaced, transcript: _transcript, ...left } = EventJson.encode(
        withoutCompensable(event)
      ) as { readonly compacted?: unknown; readonly replacedInput?: unknown; readonly transcript?: unknown }
      return [frame(left, number + 1)]
    },
    cut: () => []
  })
}

/** Chat completions. */
export const completions = (options: CompletionOptions): Wire => ({
  name: JSON.stringify(["completions", options]),
  restart: frame({ error: { message: restarts, type: "server_error", code: "restart" } }),
  mapper: () => completionMapper(options)
})
