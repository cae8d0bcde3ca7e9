import { mastra } from "../../../test/support/adapters/mastra.ts"
import { testAdapter } from "../../../test/support/adapters/testAdapter.ts"

// Mastra gives a tool `{}` if the arguments are no JSON: their text reaches no tool. It runs the calls of one answer one after the other.
// It does not name the answer that a call belongs to.
testAdapter(mastra, ["brokenJson", "equal", "reusedId"])
