/** The choices of a visitor: tool, fault, and recoveries. */
import {
  type Choice,
  type Declaration,
  declarationsOf,
  type FaultName,
  faultsOf,
  frequencies,
  isOfApproval,
  tools
} from "../src/choice.ts"
import { cases, declarationWords, faultWords, frequencyWords, toolWords, type Words } from "../src/words.ts"
import { parseChoice, setChoice } from "./address.ts"

interface OptionProps extends Words {
  readonly type: "checkbox" | "radio"
  readonly name: string
  readonly isChosen: boolean
  readonly guide?: string
  /** True if the explanation is shown only while the option is chosen. */
  readonly isBrief?: boolean
  readonly onChoose: () => void
}

const Option = ({ explanation, guide, isBrief = false, isChosen, label, name, onChoose, type }: OptionProps) => (
  <div className="option">
    <label>
      <input type={type} name={name} checked={isChosen} onChange={onChoose} />
      <span className="option-label">{label}</span>
      {isBrief && !isChosen ? null : <span className="option-text">{explanation}</span>}
    </label>
    {guide === undefined ? null : <a href={`../${guide}/`} aria-label={`Guide: ${label}`}>guide</a>}
  </div>
)

const toggled = (declared: ReadonlySet<Declaration>, name: Declaration): ReadonlySet<Declaration> =>
  declared.has(name) ? declared.difference(new Set([name])) : declared.union(new Set([name]))

const Fault = (
  { choice, isEdited, name }: { readonly choice: Choice; readonly isEdited: boolean; readonly name: FaultName }
) => (
  <Option
    {...faultWords[name]}
    type="radio"
    isBrief
    name="fault"
    isChosen={choice.fault === name}
    onChoose={() =>
      setChoice({
        ...choice,
        fault: name,
        // Only a tool that asks has a person who decides.
        declared: isOfApproval(name) && !isEdited ? choice.declared.union(new Set(["approval"])) : choice.declared
      })}
  />
)

const Often = ({ choice }: { readonly choice: Choice }) => (
  <div className="segments" role="radiogroup" aria-label="How often the fault happens">
    {frequencies.map((often) => (
      <label key={often}>
        <input
          type="radio"
          name="often"
          checked={choice.often === often}
          disabled={choice.fault === "none" || isOfApproval(choice.fault)}
          onChange={() => setChoice({ ...choice, often })}
        />
        <span>{frequencyWords[often]}</span>
      </label>
    ))}
  </div>
)

export const Cases = ({ query }: { readonly query: string }) => (
  <nav className="cases" aria-label="Cases">
    {cases.map((one) => (
      <a
        key={one.query}
        href={one.query}
        aria-current={one.query === query ? "true" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return
          event.preventDefault()
          setChoice(parseChoice(one.query))
        }}
      >
        {one.label}
      </a>
    ))}
  </nav>
)

export const Choices = ({ choice, isEdited }: { readonly choice: Choice; readonly isEdited: boolean }) => (
  <form
    className="choices"
    aria-label="Your choice"
    onSubmit={(event) => event.preventDefault()}
  >
    <fieldset disabled={isEdited}>
      <legend>Tool</legend>
      {tools.map((tool) => (
        <Option
          key={tool}
          {...toolWords[tool]}
          type="radio"
          name="tool"
          isChosen={choice.tool === tool}
          onChoose={() =>
            setChoice({
              ...choice,
              tool,
              fault: faultsOf(tool).includes(choice.fault) ? choice.fault : "none",
              declared: choice.declared.intersection(new Set(declarationsOf(tool)))
            })}
        />
      ))}
    </fieldset>
    <fieldset>
      <legend>Fault</legend>
      {faultsOf(choice.tool).map((name) => <Fault key={name} choice={choice} isEdited={isEdited} name={name} />)}
      <Often choice={choice} />
    </fieldset>
    <fieldset disabled={isEdited}>
      <legend>Recovery</legend>
      {declarationsOf(choice.tool).map((name) => (
        <Option
          key={name}
          {...declarationWords[name]}
          type="checkbox"
          name={name}
          isChosen={choice.declared.has(name)}
          onChoose={() => setChoice({ ...choice, declared: toggled(choice.declared, name) })}
        />
      ))}
    </fieldset>
  </form>
)
