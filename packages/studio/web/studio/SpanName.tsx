/** What a step is, and its name; a name that says what it is says it once. */
import type { Span } from "@recourse/server/RunTimeline"

export const SpanName = ({ span: { kind, name } }: { readonly span: Span }) => (
  <>
    {name.startsWith(kind) ? null : (
      <>
        <span className="kind">{kind}</span>
        {" "}
      </>
    )}
    <span className="step-name">{name}</span>
  </>
)
