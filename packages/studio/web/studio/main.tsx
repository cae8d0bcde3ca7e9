/** The operator's page. */
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import "../shared/theme.css"
import "../shared/base.css"
import "./studio.css"
import { Studio } from "./Studio.tsx"

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Studio />
  </StrictMode>
)
