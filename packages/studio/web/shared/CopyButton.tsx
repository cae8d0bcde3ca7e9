/** Copies a text, and says that it did. */
import { useState } from "react"
import { announce } from "./announce.ts"
import { IconButton } from "./Button.tsx"

export const CopyButton = ({ label, text }: { readonly label: string; readonly text: string }) => {
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(() => {
      setCopied(true)
      announce("Copied")
      setTimeout(() => setCopied(false), 1500)
    }, () => announce("This browser does not let the page copy"))
  }
  return (
    <IconButton
      variant="quiet"
      size="small"
      icon={isCopied ? "check" : "copy"}
      label={isCopied ? "Copied" : label}
      onClick={copy}
    />
  )
}
