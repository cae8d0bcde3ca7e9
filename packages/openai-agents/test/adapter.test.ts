import { openAiAgents } from "../../../test/support/adapters/openAiAgents.ts"
import { testAdapter } from "../../../test/support/adapters/testAdapter.ts"

// The runner parses the arguments itself: text that is no JSON reaches no tool. It fails with `ModelBehaviorError` if the model
// calls a tool that is not there, and skips a call whose id a call of the conversation has.
testAdapter(openAiAgents, ["brokenJson", "unknownTool", "polled", "reusedId"])
