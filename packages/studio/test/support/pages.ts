/** The pages that tests open are built from the sources of now. */
import { buildPages } from "../../pages.ts"

export default async (): Promise<void> => {
  await buildPages()
}
