/** An empty conversation: the answering agent, its tools, and first messages. */
import { Icon } from "../shared/Icon.tsx"
import { humanized } from "./sentences.ts"
import type { Agent } from "./server.ts"

interface Props {
  readonly agent: Agent
  readonly onSuggestion: (text: string) => void
}

export const Welcome = ({ agent, onSuggestion }: Props) => (
  <div className="welcome">
    <span className="welcome-mark">
      <Icon name="agent" />
    </span>
    <h2>{agent.title ?? humanized(agent.name)}</h2>
    {agent.description === undefined ? null : <p className="welcome-description">{agent.description}</p>}
    {(agent.suggestions ?? []).length === 0 ? null : (
      <ul className="suggestions" aria-label="Ways to begin">
        {agent.suggestions?.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => onSuggestion(text)}>{text}</button>
          </li>
        ))}
      </ul>
    )}
    {agent.tools.length === 0 ? null : (
      <details className="abilities">
        <summary>
          What it can do <Icon name="chevron" />
        </summary>
        <dl>
          {agent.tools.map(({ description, name }) => (
            <div key={name}>
              <dt>{humanized(name)}</dt>
              {description === undefined ? null : <dd>{description}</dd>}
            </div>
          ))}
        </dl>
      </details>
    )}
  </div>
)
