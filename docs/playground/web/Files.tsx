/** The files of the program, as tabs. */
import type { KeyboardEvent, ReactNode } from "react"
import { CopyButton } from "../../../packages/studio/web/shared/CopyButton.tsx"
import { Code } from "./Code.tsx"

export interface File {
  readonly name: string
  readonly text: string
  /** Shown in place of the text. */
  readonly editor?: ReactNode
}

interface Props {
  readonly files: ReadonlyArray<File>
  readonly chosen: string
  readonly action: ReactNode
  readonly onChoose: (name: string) => void
}

export const Files = ({ action, chosen, files, onChoose }: Props) => {
  const file = files.find(({ name }) => name === chosen) ?? files[0]!
  const moveBy = (event: KeyboardEvent<HTMLButtonElement>, index: number): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
    if (step === 0) return
    const next = (index + step + files.length) % files.length
    onChoose(files[next]!.name)
    ;(event.currentTarget.parentElement?.children[next] as HTMLElement).focus()
  }
  return (
    <section className="panel files" aria-label="Program">
      <header>
        <div role="tablist" aria-label="Files">
          {files.map(({ name }, index) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`tab-${name}`}
              aria-controls="file"
              aria-selected={name === file.name}
              tabIndex={name === file.name ? 0 : -1}
              onClick={() => onChoose(name)}
              onKeyDown={(event) => moveBy(event, index)}
            >
              {name}
            </button>
          ))}
        </div>
        <div className="tools">
          <CopyButton label={`Copy ${file.name}`} text={file.text} />
          {action}
        </div>
      </header>
      <div id="file" role="tabpanel" aria-labelledby={`tab-${file.name}`}>
        {file.editor ?? <Code label={file.name} text={file.text} />}
      </div>
    </section>
  )
}
