/**
 * Markdown of a model, which is not trusted: it becomes elements of an allow-list, and HTML in it is text. Links open
 * outside with no referrer, and images of other hosts are links, so that showing an answer sends no data to other
 * hosts.
 */
import { memo, type ReactNode } from "react"
import Markdown, { type Components, defaultUrlTransform } from "react-markdown"
import remarkGfm from "remark-gfm"
import { CopyButton } from "./CopyButton.tsx"
import { highlight } from "./highlight.ts"
import "./markdown.css"

const isData = (url: string): boolean => /^data:image\/(?:png|jpeg|gif|webp);base64,/.test(url)

const textOf = (node: ReactNode): string => {
  if (typeof node === "string") return node
  if (Array.isArray(node)) return node.map(textOf).join("")
  if (node !== null && typeof node === "object" && "props" in node) {
    return textOf((node.props as { readonly children?: ReactNode }).children)
  }
  return ""
}

/** Coloured code: each piece is a text of its own. */
const Code = memo(({ language, text }: { readonly text: string; readonly language: string }) => (
  <code>
    {highlight(text, language).map(({ look, text }, index) =>
      look === "plain" ? text : <span key={index} className={`code-${look}`}>{text}</span>
    )}
  </code>
))

const CodeBlock = ({ children }: { readonly children?: ReactNode }) => {
  const className = (children as { readonly props?: { readonly className?: string } } | undefined)?.props?.className
  const language = /language-([\w+#-]+)/.exec(className ?? "")?.[1] ?? "text"
  return (
    <figure className="code-block">
      <figcaption>
        <span>{language}</span>
        <CopyButton text={textOf(children)} label="Copy code" />
      </figcaption>
      <pre
        tabIndex={0}
        role="region"
        aria-label={`Code: ${language}`}
      ><Code text={textOf(children)} language={language} /></pre>
    </figure>
  )
}

const components: Components = {
  // An address that may not be opened is none.
  a: ({ children, href = "" }) =>
    href === ""
      ? <span>{children}</span>
      : <a href={href} target="_blank" rel="noopener noreferrer nofollow">{children}</a>,
  img: ({ alt, src }) => {
    if (typeof src !== "string" || src === "") return <span>{alt}</span>
    if (isData(src)) return <img src={src} alt={alt ?? ""} />
    return <a href={src} target="_blank" rel="noopener noreferrer nofollow">{alt === "" ? src : alt}</a>
  },
  pre: CodeBlock,
  table: ({ children }) => (
    <div className="table" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => <input type="checkbox" checked={checked ?? false} disabled aria-label="Done" />,
  // A page has one title: headings of the model are below it.
  h1: ({ children }) => <h2 dir="auto">{children}</h2>,
  h2: ({ children }) => <h3 dir="auto">{children}</h3>,
  h3: ({ children }) => <h4 dir="auto">{children}</h4>,
  h4: ({ children }) => <h5 dir="auto">{children}</h5>,
  h5: ({ children }) => <h6 dir="auto">{children}</h6>,
  // Each part of a text has a direction of its own.
  p: ({ children }) => <p dir="auto">{children}</p>,
  ul: ({ children, className }) => <ul dir="auto" className={className}>{children}</ul>,
  ol: ({ children, className, start }) => <ol dir="auto" className={className} start={start}>{children}</ol>,
  blockquote: ({ children }) => <blockquote dir="auto">{children}</blockquote>,
  th: ({ children, style }) => <th dir="auto" style={style}>{children}</th>,
  td: ({ children, style }) => <td dir="auto" style={style}>{children}</td>
}

const plugins = [remarkGfm]

const transform = (url: string): string => isData(url) ? url : defaultUrlTransform(url)

export const SafeMarkdown = memo(({ text }: { readonly text: string }) => (
  <div className="markdown">
    <Markdown remarkPlugins={plugins} components={components} urlTransform={transform}>{text}</Markdown>
  </div>
))
