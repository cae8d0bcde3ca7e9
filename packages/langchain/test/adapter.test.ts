import { langChain } from "../../../test/support/adapters/langChain.ts"
import { testAdapter } from "../../../test/support/adapters/testAdapter.ts"

testAdapter(langChain)
