/** Makes the pages of the API and the reference of options, without the playground. */
import { buildApi } from "./api/build.ts"

await buildApi()
