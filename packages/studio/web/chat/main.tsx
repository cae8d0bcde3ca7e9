/** The chat. */
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import "../shared/theme.css"
import "../shared/base.css"
import { App } from "./App.tsx"

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>
)
