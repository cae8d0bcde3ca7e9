import { aiSdk } from "../../../test/support/adapters/aiSdk.ts"
import { testAdapter } from "../../../test/support/adapters/testAdapter.ts"

testAdapter(aiSdk)
