/** The whole page: choices, program, error type, and the run. */
import { lazy, Suspense, useEffect, useMemo, useState } from "react"
import { Button, IconButton } from "../../../packages/studio/web/shared/Button.tsx"
import { announce } from "../../../packages/studio/web/shared/announce.ts"
import { nameOf, parseChoice } from "../src/choice.ts"
import { agentFile, runFile, worldFile } from "../src/program.ts"
import { refusal } from "../src/words.ts"
import { useQuery } from "./address.ts"
import { Cases, Choices } from "./Choices.tsx"
import { useCompiled } from "./compiled.ts"
import { ErrorType } from "./ErrorType.tsx"
import { Files } from "./Files.tsx"
import type { Program } from "../src/run/program.ts"
import { effectsOf, Outcome } from "./Outcome.tsx"
import { Requests } from "./Requests.tsx"
import { type Result, run } from "./runs.ts"
import { setTheme, type Theme, useTheme } from "./theme.ts"
import { Timeline } from "./Timeline.tsx"
import { useChecked, useSettled } from "./useChecked.ts"
import { useEdited } from "./useEdited.ts"

const nextTheme: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" }
const themeIcons = { system: "system", light: "sun", dark: "moon" } as const

const Header = () => {
  const theme = useTheme()
  const copyLink = (): void => {
    navigator.clipboard.writeText(location.href).then(
      () => announce("The link is copied"),
      () => announce("This browser does not let the page copy")
    )
  }
  return (
    <header className="top">
      <a href="../" className="home">Recourse</a>
      <h1>Playground</h1>
      <p>Break a tool, choose its recovery, and see how the run ends.</p>
      <Button size="small" icon="copy" onClick={copyLink}>Copy link</Button>
      <IconButton
        variant="quiet"
        icon={themeIcons[theme]}
        label={`Theme: ${theme}. Change to: ${nextTheme[theme]}`}
        onClick={() => setTheme(nextTheme[theme])}
      />
    </header>
  )
}

const Asked = ({ onRun }: { readonly onRun: () => void }) => (
  <section className="panel quiet" aria-label="Outcome">
    <p>The text of agent.ts comes from a link. Read it before you run it: it is a program in your browser.</p>
    <Button size="small" onClick={onRun}>Run the text</Button>
  </section>
)

const Results = ({ result }: { readonly result: Result | undefined }) => {
  if (result === undefined) {
    return (
      <section className="panel quiet" aria-label="Outcome">
        <p>The run is starting.</p>
      </section>
    )
  }
  if ("problem" in result) {
    return (
      <section className="panel outcome bad" aria-label="Outcome">
        <header>
          <h2>There is no run</h2>
        </header>
        <p className="answer">{result.problem}</p>
      </section>
    )
  }
  return (
    <>
      <Outcome report={result} />
      <Timeline lines={result.timeline} />
      <Requests requests={result.requests} />
    </>
  )
}

/** A program of an address. */
interface Named {
  readonly query: string
  readonly program: Program
  /** The result without a run, if there is none. */
  readonly instead: Result | undefined
}

const refused: Result = { problem: "The program does not compile, so it is not run." }
const notRun: Result = { problem: "The text comes from a link. It is not run before you allow it." }

/** Runs a program each time that it changes. Its result names its address; the one before stays until then. */
const useRun = ({ instead, program: { agent, isEdited, isStreaming, world }, query }: Named) => {
  const [ran, setRan] = useState<{ readonly query: string; readonly result: Result }>()
  useEffect(() => {
    let isCurrent = true
    const running = instead === undefined ? run({ agent, world, isStreaming, isEdited }) : Promise.resolve(instead)
    void running.then((result) => {
      if (!isCurrent) return
      setRan({ query, result })
      announce("problem" in result ? result.problem : `Run: ${result.outcome}. ${effectsOf(result.services)}`)
    })
    return () => {
      isCurrent = false
    }
  }, [agent, world, isStreaming, isEdited, instead, query])
  return ran
}

const Editor = lazy(() => import("./editor/Editor.tsx").then(({ Editor }) => ({ default: Editor })))

export const Playground = () => {
  const query = useQuery()
  const choice = useMemo(() => parseChoice(query), [query])
  const all = useCompiled()
  const known = all?.[nameOf(choice)]
  const base = all?.[choice.tool]
  const world = worldFile(choice)
  const [file, setFile] = useState("agent.ts")
  const { allow, edited, problem, setText } = useEdited(nameOf(choice), query)
  const isEdited = edited !== undefined
  const isAsked = isEdited && !edited.mayRun
  const agent = edited?.text ?? agentFile(choice)
  const checking = useChecked(edited?.text, world)
  const { checked } = checking
  const live = checked === undefined ? undefined : { errors: checked.errors ?? [], services: [] }
  const isRefused = !isEdited && known !== undefined && "messages" in known
  const settled = useSettled(agent, isEdited ? 300 : 0)
  const program = { agent: settled, world, isStreaming: choice.fault === "cut-stream", isEdited }
  const ran = useRun({ query, program, instead: isAsked ? notRun : isRefused ? refused : undefined })
  const result = ran?.result
  const outcome = result === undefined || "problem" in result ? undefined : result.outcome
  const problems = checked?.problems ?? []
  const editor = edited === undefined ?
    undefined :
    (
      <Suspense fallback={<p className="quiet">The editor is loading.</p>}>
        <Editor key={edited.initialText} initialText={edited.text} problems={problems} onChange={setText} />
      </Suspense>
    )
  const files = [
    { name: "agent.ts", text: agent, editor },
    { name: "world.ts", text: world },
    { name: "run.ts", text: runFile(choice) }
  ]
  const edit = (): void => {
    setFile("agent.ts")
    setText(isEdited ? undefined : agent)
  }
  return (
    <>
      <a className="skip" href="#results">To the results</a>
      <Header />
      <Cases query={query} />
      <main>
        <Choices choice={choice} isEdited={isEdited} />
        <div className="program">
          {problem === undefined ? null : <p role="alert" className="problem">{problem}</p>}
          <Files
            files={files}
            chosen={file}
            onChoose={setFile}
            action={
              <Button size="small" variant="quiet" icon={isEdited ? "close" : "edit"} onClick={edit}>
                {isEdited ? "Discard edits" : "Edit"}
              </Button>
            }
          />
          <ErrorType
            compiled={isEdited ? live : known}
            base={base !== undefined && "errors" in base ? base.errors : []}
            outcome={outcome}
            origin={checking.problem ?? (isEdited ? "live, by TypeScript 5.9" : "by the compiler, TypeScript 7")}
            problems={problems}
            isChecking={checking.isChecking}
            reason={refusal}
          />
        </div>
        <div className="results" id="results" tabIndex={-1} data-query={ran?.query}>
          {isAsked ? <Asked onRun={allow} /> : <Results result={result} />}
        </div>
      </main>
    </>
  )
}
