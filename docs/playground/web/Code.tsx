/** Coloured code, which scrolls by keyboard. */
import { memo } from "react"
import { highlight } from "../../../packages/studio/web/shared/highlight.ts"

export const Code = memo(({ label, text }: { readonly label: string; readonly text: string }) => (
  <pre className="code" tabIndex={0} role="region" aria-label={label}>
    <code>
      {highlight(text, "ts").map(({ look, text }, index) =>
        look === "plain" ? text : <span key={index} className={`code-${look}`}>{text}</span>
      )}
    </code>
  </pre>
))
