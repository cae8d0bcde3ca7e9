/** The page of the playground. */
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import "../../../packages/studio/web/shared/theme.css"
import "../../../packages/studio/web/shared/base.css"
import "./playground.css"
import { Playground } from "./Playground.tsx"

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Playground />
  </StrictMode>
)
